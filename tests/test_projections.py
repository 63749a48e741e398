"""Everything that is derived from the log is registered, and what walks the registered ones reaches all of it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, ScopedMemory, check_store, open_memory
from hybrid_memory.documents.items import PutItem, batch
from hybrid_memory.memory.opening import projections
from hybrid_memory.runtime.runners import InlineRunner, drive
from hybrid_memory.store.projection import append_revision, revision_id
from hybrid_memory.text.tokens import estimate_tokens

CANARY = "zirconquokka"

HOLDS_NO_WORDS = {
    EventKind.LEARNED, EventKind.RESET, EventKind.ROLLBACK, EventKind.SUPERSEDED, EventKind.ERASED, EventKind.USED,
    EventKind.GRANT, EventKind.DENIED,
}  # fmt: skip
"""Positions, ids, counts and rights; or, of an item, words that are no turn's: items have an owner of their own."""


@pytest.fixture
def memory() -> Any:
    config = MemoryConfig(url="memory://", embedder="hashing", learning={"background": False})  # type: ignore[arg-type]
    with open_memory(config, token_counter=estimate_tokens) as store:
        yield store


def test_every_kind_of_event_is_claimed_once() -> None:
    claimed = Counter(kind for projection in projections() for kind in projection.kinds)
    claimed.update(  # of the log itself
        {EventKind.MESSAGE, EventKind.PAYLOAD, EventKind.ROLLBACK, EventKind.SUPERSEDED, EventKind.ERASED}
    )
    assert claimed == Counter(EventKind)


def test_what_may_repeat_words_is_a_projections_own_and_every_other_kind_is_known_to_hold_none() -> None:
    repeats = {kind for projection in projections() for kind in projection.repeats}
    assert all(projection.repeats <= projection.kinds for projection in projections())
    said = {EventKind.MESSAGE, EventKind.PAYLOAD}
    assert repeats | said | HOLDS_NO_WORDS == set(EventKind)


def full_of(memory: HybridMemory) -> ScopedMemory:
    """A user of whom every kind of event that can repeat words repeats the canary."""
    alice = memory.scoped(user="alice", session="s1")
    told = alice.remember([f"I live in {CANARY}.", *(f"Room {number} has {number} chairs." for number in range(8))])
    alice.offload(f"A file about {CANARY}. " * 50, max_tokens=20)
    alice.flush()
    alice.remember(f"Where is {CANARY}?")
    alice.assemble(max_tokens=2000)
    alice.remember("It is far away.", role="assistant")
    alice.compact(keep=1)
    alice.block("user").put(f"Lives in {CANARY}.")
    drive(put_item(alice))
    alice.files().write(f"/notes/{CANARY}.md", f"{CANARY} is far away.")
    assert told.ids
    return alice


async def put_item(handle: ScopedMemory) -> None:
    put = PutItem(("pets",), "first", {"name": CANARY}, texts=(f"A {CANARY}.", "And more."))
    await batch(InlineRunner(), handle._services, handle.scope.owner, [put])


def holding(memory: HybridMemory) -> set[EventKind]:
    """Kinds of events in the whole log that hold the canary."""
    log = memory._runtime.services.truth
    return {event.kind for owner in log.heads() for event in log.read(owner) if CANARY in json.dumps(event.payload)}


@pytest.mark.parametrize("whole", [True, False], ids=["the user", "the words"])
def test_forgetting_reaches_each(memory: HybridMemory, whole: bool) -> None:
    alice = full_of(memory)
    repeats = {kind for projection in projections() for kind in projection.repeats}
    assert holding(memory) == {*repeats, EventKind.MESSAGE, EventKind.PAYLOAD}
    if whole:
        memory.forget(user="alice")
    else:
        alice.forget(query=CANARY)
    assert not holding(memory)
    assert alice.recall(CANARY) == [] or not whole


def test_of_two_revisions_of_one_number_the_first_counts(memory: HybridMemory) -> None:
    run, services, owner = InlineRunner(), memory._runtime.services, memory.scoped(user="alice").scope

    def draft(text: str) -> Any:
        return services.draft(EventKind.BLOCK, {"text": text}, id=revision_id("plan", 1))

    first = drive(append_revision(run, services, owner, draft("a")))
    assert first is not None
    assert [event.position for event in first] == [1]
    assert drive(append_revision(run, services, owner, draft("b"))) is None
    assert [event.payload["text"] for event in services.truth.read(owner)] == ["a"]


def test_the_doctor_names_every_event_that_cannot_be_read(tmp_path: Path) -> None:
    config = MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="none")
    with open_memory(config, token_counter=estimate_tokens) as memory:
        services, owner = memory._runtime.services, full_of(memory).scope.owner
        assert all(finding.state != "wrong" for finding in check_store(config))
        kinds = (EventKind.CLAIM, EventKind.COMPACTION, EventKind.RECALLED, EventKind.BLOCK, EventKind.FILE)
        broken = services.truth.append(owner, [services.draft(kind, {"odd": 1}) for kind in kinds])
    told = [finding.detail for finding in check_store(config) if finding.state == "wrong"]
    assert sorted(line.split()[0] for line in told) == sorted(f"#{event.position}" for event in broken)
