"""The memory's own functions, as a model calls them, on both faces."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.tools import Answer
from hybrid_memory_paging import PAGING_FUNCTIONS
from tests.faces import Face, Open
from tests.world import cases

FUNCTIONS = {function.name: function for function in PAGING_FUNCTIONS}
MARCH = datetime(2026, 3, 5, 12, tzinfo=UTC)

Use = Callable[..., Answer]


@pytest.fixture
def use(face: Face) -> Use:
    """Calls a function with these arguments; ``known`` is what the executor adds."""
    return lambda memory, name, known=None, **arguments: face(FUNCTIONS[name]).run(memory, arguments, **(known or {}))


@pytest.fixture
def clerk(opened: Open) -> ScopedMemory:
    """An agent's memory with blocks."""
    memory = opened(url="memory://", embedder="none").scoped(user="ada", agent="clerk", session="s1")
    memory.block("human").put("Name: Ada", max_chars=100)
    memory.block("rules").put("Be kind.", read_only=True)
    return memory


def lines(answer: Answer) -> list[str]:
    assert not answer.failed, answer
    return [line for line in answer.text.splitlines() if not line.startswith(("(more", "(no more"))]


def paged(use: Use, memory: ScopedMemory, name: str, known: dict[str, Any] | None = None, **wanted: Any) -> list[str]:
    """All lines over all pages, as a model turns them over."""
    found, page = [], 0
    while True:
        answer = use(memory, name, known, page=page, **wanted)
        found += lines(answer)
        more = re.search(r"\(more: page=(\d+)\)$", answer.text)
        if more is None:
            assert answer.text.endswith("(no more)"), answer
            return found
        assert int(more[1]) == page + 1
        assert len(lines(answer)) == 5
        page += 1


def test_a_block_that_somebody_changed_is_not_written_over(clerk: ScopedMemory, use: Use) -> None:
    seen = {"human": clerk.blocks()["human"].revision}
    clerk.block("human").edit(append="Has a cat")
    refused = use(clerk, "core_memory_rethink", {"blocks": seen}, label="human", new_content="Ada")
    assert refused.failed
    assert "Has a cat" in refused.text, "the model is told what the block says now"
    assert clerk.blocks()["human"].value == "Name: Ada\nHas a cat"
    now = {"human": clerk.blocks()["human"].revision}
    assert not use(clerk, "core_memory_rethink", {"blocks": now}, label="human", new_content="Ada, cat").failed


@pytest.mark.parametrize("count", [1, 5, 6, 13])
def test_pages_of_archival_memory_hold_every_note_once(clerk: ScopedMemory, use: Use, count: int) -> None:
    for number in range(count):
        told = use(clerk, "archival_memory_insert", content=f"Boat {number} lies in the harbour 港口")
        assert re.fullmatch(r"Kept as #\d+\.", told.text)
    clerk.remember("The harbour is said, not noted.")
    found = paged(use, clerk, "archival_memory_search", query="harbour 港口")
    assert sorted(re.findall(r"Boat \d+", "\n".join(found))) == sorted(f"Boat {number}" for number in range(count))
    assert use(clerk, "archival_memory_search", query="harbour", page=9).text == "There are no more."


@pytest.mark.parametrize(("wanted", "expected"), cases("paging/functions.json", "days"))
def test_days_are_told_oldest_first(clerk: ScopedMemory, use: Use, wanted: dict[str, Any], expected: list[int]) -> None:
    for day in range(10):
        for hour in range(3):
            text = f"Day {day} hour {hour} at sea" if hour else f"第{day}天在海上"
            clerk.remember(text, at=MARCH + timedelta(days=day, hours=hour))
    found = paged(use, clerk, "conversation_search_date", **wanted)
    texts = [
        text
        for day in expected
        for text in (f"第{day}天在海上", f"Day {day} hour 1 at sea", f"Day {day} hour 2 at sea")
    ]
    assert [line.rpartition(": ")[2] for line in found] == texts
    assert found == sorted(found, key=lambda line: line[:18])


@pytest.mark.parametrize(("wanted", "hint"), cases("paging/functions.json", "spans"))
def test_a_wrong_span_is_explained(clerk: ScopedMemory, use: Use, wanted: dict[str, str], hint: str) -> None:
    answer = use(clerk, "conversation_search_date", **wanted)
    assert answer.failed
    assert hint in answer.text


PARAGRAPH = "The harbour was grey, and nobody had told the captain about the storm. 港口一片灰色，没有人告诉船长。"


@pytest.fixture(scope="module")
def full() -> Any:
    """A memory with long messages, notes and names."""
    with open_memory(MemoryConfig(url="memory://", embedder="none")) as memory:
        clerk = memory.scoped(user="ada", agent="clerk", session="s1")
        clerk.block("human").put(PARAGRAPH * 5)
        for row in range(12):
            text = f"{row} " + (PARAGRAPH * 40 if row % 2 else "港口" * 500)
            clerk.remember(Message(role=Role.USER, name=f"Captain {'x' * 30} {row}", content=text, at=MARCH))
            FUNCTIONS["archival_memory_insert"].run(clerk, {"content": text})
        yield clerk


def asking(*names: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.sampled_from(names), st.fixed_dictionaries(values))


WHERE = st.sampled_from(["", "c1-9000", "1"])
PATTERNS = st.sampled_from(["", "harbour", "港"])
CALLS = st.one_of(
    asking(
        "conversation_search",
        "archival_memory_search",
        query=st.sampled_from(["harbour", "港口", "captain storm"]),
        page=st.integers(0, 3),
    ),
    asking("conversation_search_date", start_date=st.just("2026-03-05"), page=st.integers(0, 3)),
    asking("fetch", handle=st.sampled_from(["#2", "#3", "#2-20", "#99"])),
    asking("fetch", handle=st.sampled_from(["#2", "#4"]), pattern=PATTERNS, where=WHERE),
    asking("core_memory_replace", label=st.just("human"), old_content=st.just("absent")),
    asking("core_memory_append", label=st.just("nobody"), content=st.just("x" * 5000)),
)


@given(wanted=CALLS, budget=st.integers(60, 2000))
@settings(max_examples=20)
def test_no_answer_exceeds_its_budget(full: ScopedMemory, wanted: tuple[str, dict[str, Any]], budget: int) -> None:
    name, arguments = wanted
    answer = FUNCTIONS[name].run(full, arguments, max_tokens=budget)
    assert estimate_tokens(answer.text) <= budget
    assert answer.text
