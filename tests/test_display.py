"""What a notebook shows: every word is text, every section has its tier, and nothing is drawn that was not said."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, Receipt, ScopedMemory, display, open_memory
from hybrid_memory.recall.hit import parts
from hybrid_memory.store.migrate import Migration

CRAFTED = (
    "<script>alert(1)</script> **bold** \u202etxt.exe \u200b [red](javascript:alert(1)) <img src=x onerror=alert(1)>"
)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


class Page(HTMLParser):
    """The tags, attributes and text of a page; tags must be closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


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
        "scoped": trip, "hits": hits, "hit": hits[0],
        "nothing": memory.scoped(user="nobody").recall(CRAFTED), "context": trip.assemble("And what is txt.exe?"),
        "profile": trip.profile(), "facts": trip.facts(history=True),
    }  # fmt: skip


def test_crafted_words_are_text_in_every_display(memory: HybridMemory, trip: ScopedMemory) -> None:
    told = ""
    for name, value in shown_by(memory, trip).items():
        page = Page(value._repr_html_())  # type: ignore[attr-defined]
        assert not {"script", "img", "a", "iframe"} & set(page.tags), name
        assert page.attributes <= {"style", "title", "role", "aria-label", "scope"}, name
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


def test_the_parts_of_a_bar_add_up_to_the_score(trip: ScopedMemory) -> None:
    for hit in trip.recall("What did we decide on Porto?"):
        made = parts(hit)
        own = hit.score if hit.own is None else hit.own
        assert sum(part.share for part in made) == pytest.approx(own, abs=1e-6)
        shares = [part.share for part in made if part.label != "current"]
        assert shares == sorted(shares, reverse=True)


def test_short_reprs_tell_what_was_done(trip: ScopedMemory) -> None:
    assert repr(Receipt()) == "<Receipt nothing was done>"
    assert repr(Receipt(ids=("a", "b"), positions=(3, 4), indexed=2)) == "<Receipt 2 events, at #3-4, 2 indexed>"
    assert repr(Receipt(erased={"turns": 2, "claims": 0}, dry_run=True)) == "<Receipt of a dry run 2 erased turns>"
    assert repr(Migration(1, 2, 3, 0, "0123456789")) == (
        "<Migration of 1 owner, 2 events; 3 records, 0 vectors made; checksum 01234567>"
    )
    (entry,) = trip.profile().sources["work"]
    assert repr(entry) == f"<ProfileEntry 'works at Acme' (current, {entry.confidence:.2f}, from 2026-05-01, 1 turn)>"


def test_stats_tell_how_far_the_index_is_behind_and_that_a_memory_is_closed(memory: HybridMemory) -> None:
    assert "7 to be indexed" in repr(replace(memory.stats(), unindexed=7))
    closed = open_memory("memory://")
    alice = closed.scoped(user="alice")
    closed.close()
    assert "closed" in Page(alice._repr_html_()).text


def test_facts_show_when_they_held_and_the_turns_that_say_so(trip: ScopedMemory) -> None:
    facts = trip.facts(attribute="employer", history=True)
    page = Page(facts._repr_html_())
    assert "2 facts" in page.text
    for fact in facts:
        assert f"{fact.value}{fact.state}{fact.valid_from:%Y-%m-%d}" in page.text
        assert f"#{fact.positions[0]}" in page.text
    profile = Page(trip.profile()._repr_html_()).text
    assert "Acme" in profile
    assert "Timber (superseded" in profile


@given(st.text())
def test_any_text_is_shown_whole_without_what_nobody_sees(words: str) -> None:
    page = Page(display.text(words))
    assert page.tags == ["bdi"]
    seen = page.text.replace("\r", "\n")
    for char in set(words):
        assert char in seen or f"⟨U+{ord(char):04X}⟩" in seen
    assert not {"\u202e", "\u200b", "\x1b", "\x00"} & set(seen)


def test_a_hit_that_stands_before_a_better_one_says_why() -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        bo = memory.scoped(user="bo")
        for month, place in enumerate(("the mill by the river", "the old barn on the hill"), 1):
            bo.remember(f"The key of the cellar hangs at {place}.", at=MAY.replace(month=month))
            bo.remember(f"Nothing else happened in month {month}, as far as I know.", at=MAY.replace(month=month))
        found = {
            query: bo.recall(query, k=4)
            for query in ("Where does the key of the cellar hang now?", "the key of the cellar at the mill")
        }
    for hits in found.values():
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            assert ("above higher scores" in hit.why()) == (hit.own is not None and hit.own < hit.score)
    now, mill = found.values()
    assert "the old barn" in now[0].record.text
    assert any("above higher scores" in hit.why() for hit in now)
    assert "the mill" in mill[0].record.text
    assert not any("above higher scores" in hit.why() for hit in mill)


KILLED = """
import os, signal
from tqdm import tqdm
from hybrid_memory.display import progress_bar

lock = tqdm.get_lock()
reading, writing = os.pipe()
child = os.fork()
if not child:
    lock.acquire()
    os.write(writing, b".")
    signal.pause()
os.read(reading, 1)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
for shown in (None, False, True):
    with progress_bar("indexing", shown=shown) as advance:
        advance(1, 2)
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_bar_does_not_wait_for_a_process_that_was_killed() -> None:
    """As a worker of a server may be, which has the lock of tqdm in common with all the others."""
    ended = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert ended.stdout == "done\n", ended.stderr


def test_a_count_names_what_it_counts() -> None:
    plural = ["summaries rewritten", "turns", "changes of files", "notes of what was recalled", "quarantined"]
    singular = ["summary rewritten", "turn", "change of files", "note of what was recalled", "quarantined"]
    assert [display.amount(1, name) for name in plural] == [f"1 {name}" for name in singular]
    assert [display.amount(2000, name) for name in plural] == [f"2,000 {name}" for name in plural]
