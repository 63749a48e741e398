"""What a notebook shows: every word is text, every section has its tier, and nothing is drawn that was not said."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, ScopedMemory, display, open_memory
from tests.world import Page

CRAFTED = (
    "<script>alert(1)</script> **bold** \u202etxt.exe \u200b [red](javascript:alert(1)) <img src=x onerror=alert(1)>"
)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory() -> HybridMemory:
    config = MemoryConfig(url="memory://", embedder="hashing", compaction=CompactionConfig(max_tokens=300))
    return open_memory(config)


@pytest.fixture(scope="module")
def trip(memory: HybridMemory) -> ScopedMemory:
    trip = memory.scoped(user=f"bo {CRAFTED}", session="trip")
    trip.remember(
        [
            {"role": "user", "content": "I work at Timber. We decided to take the night train to Porto."},
            {"role": "assistant", "content": CRAFTED},
            {"role": "user", "content": "I now work at Acme."},
            *({"role": "user", "content": f"Day {day}: {CRAFTED}"} for day in range(12)),
        ],
        at=MAY,
    )
    trip.block("task").put(CRAFTED)
    trip.assemble("What did we decide on Porto?")
    return trip


def shown_by(memory: HybridMemory, trip: ScopedMemory) -> dict[str, object]:
    hits = trip.recall("What did we decide? txt.exe", k=3)
    return {
        "hits": hits, "hit": hits[0],
        "nothing": memory.scoped(user="nobody").recall(CRAFTED), "context": trip.assemble("And what is txt.exe?"),
        "profile": trip.profile(), "facts": trip.facts(history=True),
    }  # fmt: skip


def test_crafted_words_are_text_in_every_display(memory: HybridMemory, trip: ScopedMemory) -> None:
    told = ""
    for name, value in shown_by(memory, trip).items():
        page = Page(value._repr_html_())  # type: ignore[attr-defined]
        assert not {"script", "img", "a", "iframe"} & {tag for tag, _ in page.elements}, name
        assert {key for _, has in page.elements for key in has} <= {"style", "title", "role", "aria-label", "scope"}, (
            name
        )
        assert "\u202e" not in page.text, name
        told += page.text
    assert "<script>alert(1)</script>" in told
    assert "⟨U+202E⟩txt.exe" in told


def test_plain_reprs_fit_one_line(memory: HybridMemory, trip: ScopedMemory) -> None:
    others = {
        "memory": memory, "summary": trip.summary(), "receipt": trip.forget(query="Porto", dry_run=True),
        "stats": memory.stats(), "work": memory.work, "block": trip.blocks()["task"],
        "why": trip.why(trip.recall("Porto")[0]), "why not": trip.why("#2", CRAFTED, k=1),
    }  # fmt: skip
    for name, value in {**shown_by(memory, trip), **others}.items():
        if not isinstance(value, list):  # of such
            assert "\n" not in repr(value), name
            assert len(repr(value)) < 600, name


def test_a_context_has_its_sections_and_its_plan_with_a_reason_for_every_part(trip: ScopedMemory) -> None:
    context = trip.assemble("What did we decide on Porto?", identity="You plan trips.")
    page = Page(context._repr_html_())
    for name, tokens in context.section_tokens.items():
        assert f"{name} {tokens}" in page.text
    assert f"{context.tokens} of 300 tokens" in page.text
    for tier in ("L1: kept in the context", "L2: found or learned", "the caller's own"):
        assert tier in page.text
    lost = sum(not piece.shown for piece in context.plan)
    assert lost == len(context.dropped)
    assert f"plan: {len(context.plan)} parts, {lost} left out" in page.text
    assert {piece.section for piece in context.plan} >= {"identity", "turns", "question", "blocks"}
    rows = page.text.partition("partwhattokenswhy")[2]
    for piece in context.plan:
        assert piece.handle in rows
        assert piece.reason in page.text
        assert f"{piece.tokens:,}" in rows


@given(st.text())
def test_any_text_is_shown_whole_without_what_nobody_sees(words: str) -> None:
    page = Page(display.text(words))
    assert [tag for tag, _ in page.elements] == ["bdi"]
    seen = page.text.replace("\r", "\n")
    for char in set(words):
        assert char in seen or f"⟨U+{ord(char):04X}⟩" in seen
    assert not {"\u202e", "\u200b", "\x1b", "\x00"} & set(seen)
