from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.original.chats import Chat, Fact
from benchmarks.original.figures import answerable, figures, four, latency
from benchmarks.original.replay import AFTER, BEFORE, Replay
from hybrid_memory import Message, Role
from hybrid_memory.models.embedders import HashingEmbedder

GOLD = "periwinkle"
ASKED = "Which colour did I paint the old boat house?"
TOLD = f"I painted the old boat house {GOLD} last summer."


def turn(role: str, words: str = "words") -> Message:
    return Message(role=Role(role), content=words)


def rounds_of(count: int) -> list[Message]:
    return [
        Message(
            role=Role.ASSISTANT if row % 2 else Role.USER, content=f"Turn {row} is about the weather.", id=f"m{row}"
        )
        for row in range(2 * count)
    ]


def told(count: int) -> Chat:
    """A chat whose first turn tells the fact."""
    first = Message(content=TOLD, id="told")
    return Chat([first, *rounds_of(count)[1:]], [Fact(ASKED, (GOLD,), (0,))])


@given(at=st.integers(0, 130), length=st.integers(1, 260))
def test_a_question_is_due_when_so_many_rounds_lie_behind_the_last_of_its_evidence(at: int, length: int) -> None:
    chat = Chat(rounds_of(length), [Fact("?", ("x",), (0, 2 * min(at, length - 1)))])
    due = [(after, depth) for after, facts in chat.due().items() for depth, _ in facts]
    last = min(at, length - 1)
    assert due == [(last + depth, depth) for depth in (50, 100, 200) if last + depth < length]


def test_after_fifty_rounds_the_window_has_lost_what_the_memory_still_shows(tmp_path: Path) -> None:
    tally = Replay(told(103), HashingEmbedder(), 400, tmp_path).run()
    assert [answerable(tally, BEFORE, (depth,))["found"] for depth in (50, 100, 200)] == [0, 0, None]
    assert [answerable(tally, AFTER, (depth,))["found"] for depth in (50, 100, 200)] == [1, 1, None]
    assert max(prompt.tokens for prompts in tally.prompts.values() for prompt in prompts) <= 400
    assert not list(tmp_path.glob("copy*"))
    # Each turn is embedded for recall and known to the prompt, which compares it with statements too;
    # the question is known when it is asked again.
    assert tally.requests["turns"]["misses"] == 103
    assert 103 <= tally.requests["turns"]["hits"] <= 3 * 103
    assert tally.requests["questions"] == {"hits": 1, "misses": 1}
    assert tally.requests["writes"]["misses"] >= 2 * 102  # the last round is not followed by a pause
    for side in (BEFORE, AFTER):
        assert [latency(tally, side, (kind,))["calls"] for kind in ("turn", "first", "again")] == [103, 1, 1]
    table = four(figures(tally), "")
    cells = {row["figure"]: row for row in table.rows}
    assert cells["facts answerable"][BEFORE] == "0 %"
    assert cells["facts answerable"][AFTER] == "100 %"
    assert cells["facts answerable"]["case after"] == "92 %"
