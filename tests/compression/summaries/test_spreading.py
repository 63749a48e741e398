"""A summary without a model tells all of a long conversation, the newest decisions and open points for certain."""

from __future__ import annotations

import pytest

from hybrid_memory import CompactionConfig, HybridMemory, Line, MemoryConfig, Message, Role, open_memory
from hybrid_memory.context.lines import shown
from hybrid_memory.context.summary import written
from hybrid_memory.facts.fact import Claim
from hybrid_memory.text.tokens import estimate_tokens

BUDGET = 2000
ROOM, SPARE = (int(share * BUDGET) for share in (CompactionConfig().summary_ratio, CompactionConfig().artifact_ratio))


class Silent:
    """Finds no facts: there is a portrait in no prompt, which would grow with the conversation."""

    name = "silent"

    def extract(self, turns: object, before: object) -> list[Claim]:
        return []


ENGLISH = {
    "decision": "We decided to paint wall {n} of the {place} in colour {m}.",
    "plan": "We still need to order {n} tiles for the {place}.",
    "fact": "My sister Vera likes lamp {n} in the {place}.",
    "talk": "How does the {place} look today?",
    "answer": "The {place} looks fine to me.",
    "places": "kitchen bathroom garage garden attic cellar hallway balcony roof office",
}
CHINESE = {
    "decision": "我们决定把{place}的{n}号墙刷成{m}号颜色。", "plan": "{place}还需要订{n}块瓷砖。",
    "fact": "我妹妹喜欢{place}的{n}号灯。", "talk": "今天{place}看起来怎么样？", "answer": "{place}看起来不错。",
    "places": "厨房 浴室 车库 花园 阁楼 地下室 走廊 阳台 屋顶 书房",
}  # fmt: skip


def told(memory: HybridMemory, language: dict[str, str], rounds: int) -> tuple[list[Line], list[int], str]:
    """The lines that a prompt shows after so many rounds, the positions that were folded, and the whole prompt."""
    chat = memory.scoped(user="a", session="s")
    kinds = {0: "decision", 3: "plan", 6: "fact"}
    places = language["places"].split()
    said: list[Message] = []
    for number in range(rounds):
        text = language[kinds.get(number % 9, "talk")]
        place = places[number % len(places)]
        said.append(Message(content=text.format(n=number, m=7 * number, place=place)))
        if number % 10 == 0:
            chat.remember(said)
            chat.assemble(k=0, max_tokens=BUDGET)
            said.clear()
        said.append(Message(role=Role.ASSISTANT, content=language["answer"].format(place=place)))
    chat.remember(said)
    prompt = chat.assemble(k=0, max_tokens=BUDGET).text
    found = chat.summary()
    folded = [place for first, last in found.stretches for place in (first, last)]
    return shown(found.lines, max_tokens=ROOM, spare=SPARE, count=estimate_tokens), folded, prompt


@pytest.mark.parametrize("rounds", [500])
@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_lines_come_from_every_fifth_of_a_long_conversation(language: dict[str, str], rounds: int) -> None:
    config = MemoryConfig(url="memory://", embedder="none")
    with open_memory(config, token_counter=estimate_tokens, extractor=Silent()) as memory:
        lines, folded, prompt = told(memory, language, rounds)
        events = memory.scoped(user="a", session="s").expand(memory.scoped(user="a", session="s").summary())
    first, size = folded[0], folded[-1] - folded[0] + 1
    fifths = {(line.last - first) * 5 // size for line in lines}
    assert fifths == {0, 1, 2, 3, 4}
    told_as = written(lines, chinese=language is CHINESE, handles=False)  # nothing in this prompt reads a handle
    assert 0.9 * ROOM <= estimate_tokens(written(lines)) <= ROOM + SPARE
    for kind in ("decision", "plan"):
        start = language[kind].partition("{")[0] or language[kind].partition("}")[2].partition("{")[0]
        newest = [event.text for event in events if start in event.text][-1]
        assert any(newest in line.text for line in lines), newest
    assert told_as in prompt
