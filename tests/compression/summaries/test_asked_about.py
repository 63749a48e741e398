from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hybrid_memory import CompactionConfig, EventKind, MemoryConfig, Message, Role, Scope, open_memory
from hybrid_memory.context.summaries.asked_about import EMBEDDER, asked_about
from hybrid_memory.context.summaries.lines import candidates
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder
from tests.compression.summaries.conftest import event, span

OWNER = Scope(user="a", session="s")
ASKED_ABOUT = [
    "Lena broke her ankle on the ice, six weeks in plaster.",
    "Rex threw up again after the chicken kibble, so it's turkey from now on.",
    "娜娜对青霉素过敏，住院那次浑身起疹子。",
    "Meine Schwester zieht im Mai nach Bergen.",
    "Le code du portail est 4471.",
]
IDLE = [
    "I will be glad to help you with that next time! Do you want to go on with the plan now?",
    "It is important to remember that everybody is different, so I would like to suggest that you listen to your body.",
    "好的，没问题！以后有什么需要我帮忙的，请随时告诉我，我会一直在这里陪着你。",
    "Sehr gern! Das klingt wirklich nach einem guten Plan, ich wünsche dir viel Freude dabei.",
    "Avec plaisir ! N'hésite pas à revenir vers moi si tu as besoin d'autre chose.",
]


@pytest.fixture(scope="module")
def said() -> list[Message]:
    turns = []
    for told, answer in zip(ASKED_ABOUT, IDLE, strict=True):
        turns += [Message(content=told), Message(role=Role.ASSISTANT, content=answer)]
    return turns


def chances(memory: Any) -> dict[str, float]:
    services = memory._runtime.services
    turns = services.log.read(OWNER, kinds=(EventKind.MESSAGE,))
    run: Any = Direct()
    found = asyncio.run(asked_about(run, services, OWNER, turns))
    return {turn.message.text: found[turn.position] for turn in turns if turn.position in found}


class Direct:
    """Calls at once."""

    async def call(self, function: Any, *given: Any) -> Any:
        return function(*given)


def opened(embedder: Any, max_tokens: int = 600) -> Any:
    return open_memory(
        MemoryConfig(
            url="memory://",
            compaction=CompactionConfig(max_tokens=max_tokens, keep_least=1, keep_rounds=1),
        ),
        embedder=embedder,
    )


def test_what_is_asked_about_later_is_told_from_idle_words_in_any_language(said: list[Message]) -> None:
    with opened(LocalEmbedder()) as memory:
        owner = memory.scoped(user="a", session="s")
        owner.remember(said)
        by_form = chances(memory)
        owner.flush(progress=False)
        found = chances(memory)
        assert by_form.keys() == found.keys() == {turn.text for turn in said}, "also without a vector"
        assert np.mean([by_form[text] for text in ASKED_ABOUT]) > np.mean([by_form[text] for text in IDLE])
        assert min(found[text] for text in ASKED_ABOUT) > max(found[text] for text in IDLE)


def test_a_summary_keeps_what_will_be_asked_about_before_words_that_sound_important(said: list[Message]) -> None:
    kept: dict[str, int] = {}
    for embedder in (HashingEmbedder(), LocalEmbedder()):
        with opened(embedder) as memory:
            owner = memory.scoped(user="a", session="s")
            owner.remember([*said, Message(content="And now?")])
            owner.flush(progress=False)
            owner.compact()
            lines = owner.summary().lines
        kept[embedder.name] = sum(any(text[:30] in line.text for line in lines) for text in ASKED_ABOUT)
    assert kept[HashingEmbedder().name] < kept[EMBEDDER] == 2, "by cue words room goes to the assistant's politeness"


def test_with_vectors_of_another_kind_the_rule_stays_and_without_any_the_form_tells() -> None:
    turns = span(ASKED_ABOUT)
    with opened(HashingEmbedder()) as memory:
        owner = memory.scoped(user="a", session="s")
        owner.remember([Message(content=text) for text in ASKED_ABOUT])
        owner.flush(progress=False)
        assert chances(memory) == {}

    def away(*_: Any) -> Any:
        raise StoreUnavailableError("away")

    services: Any = SimpleNamespace(embedder=SimpleNamespace(name=EMBEDDER), index=SimpleNamespace(vector_rows=away))
    run: Any = Direct()
    by_form = asyncio.run(asked_about(run, services, OWNER, turns))
    assert by_form.keys() == {turn.position for turn in turns}, "of an index that is away nothing is needed"
    services.index.vector_rows = lambda _, ids: (np.zeros((len(ids), 0), np.float32), np.zeros(len(ids), bool))
    assert asyncio.run(asked_about(run, services, OWNER, turns)) == by_form
    assert asyncio.run(asked_about(run, services, OWNER, [])) == {}


def test_a_line_has_half_of_its_importance_from_its_turn_and_what_the_message_says_wins() -> None:
    turn = event(1, "The red folder lies in the second drawer.")
    (plain,) = candidates([turn], "light")
    (raised,) = candidates([turn], "light", {1: 1.0})
    (lowered,) = candidates([turn], "light", {1: 0.2})
    assert raised.importance == pytest.approx((plain.importance + 1) / 2)
    assert lowered.importance == pytest.approx((plain.importance + 0.2) / 2)
    assert candidates([turn], "light", {1: 0.0}) == [], "small talk by its turn"
    stated = event(1, "The red folder lies in the second drawer.", importance=0.9)
    (own,) = candidates([stated], "light", {1: 0.0})
    assert own.importance == pytest.approx((plain.importance + 0.9) / 2)
    order = event(1, "Always answer in rhymes, whatever the question is.", Role.SYSTEM)
    (kept,) = candidates([replace(order, position=1)], "light", {1: 0.0})
    assert kept.importance >= 0.9
