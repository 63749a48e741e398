"""A copy of a memory on another engine or with another embedder behaves as the original does."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from hybrid_memory import Event, HybridMemory, MemoryConfig, Record, Scope, ScopedMemory, open_memory
from hybrid_memory.documents.items import GetItem, PutItem
from hybrid_memory.errors import InvalidInputError, ModelError, StoreError, StoreUnavailableError
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.models.embedders import HashingEmbedder
from tests.archives import InMemoryArchive
from tests.doubles import FaultyEmbedder, end_of, line_to, texts
from tests.faces import Child, Face, Open

Make: TypeAlias = Callable[..., HybridMemory]

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
PAIRS = [("memory", "sqlite"), ("sqlite", "memory"), ("sqlite", "sqlite"), ("memory", "memory")]
FACES = ["async", "blocking", "async", "blocking"]
QUERIES = ["where does she live", "cat", "我住在哪里", "what happened last week"]


@pytest.fixture
def make(opened: Open, tmp_path: Path) -> Callable[..., HybridMemory]:
    """Opens an empty memory on an engine."""
    made = count()

    def on(engine: str, **settings: Any) -> HybridMemory:
        url = "memory://" if engine == "memory" else f"sqlite:///{tmp_path / f'{next(made)}.db'}"
        return opened(url=url, **{"clock": lambda: NOW, **settings})

    return on


def fill(memory: HybridMemory) -> None:
    """Turns, facts, a summary, what was forgotten and rolled back, a space, items, and other owners."""
    alice = memory.scoped(user="alice", session="s1")
    for number in range(6):
        alice.remember(f"I have cat number {number}.", at=NOW - number * DAY, metadata={"tag": number})
        memory.scoped(user="bob").remember(f"Bob says {'green ' * number}much.", at=NOW - 9 * DAY)
    alice.remember(["I live in Paris.", "我住在杭州。"], at=NOW - 8 * DAY)
    alice.remember("Noted.", role="assistant")
    alice.flush()
    memory.scoped(user="alice", session="s2").remember("I love jazz.", at=NOW)
    alice.forget(query="cat number 3")
    place = end_of(alice)
    alice.remember("I will take this back.", at=NOW)
    alice.rollback(place)
    alice.remember("I live in Berlin now.", at=NOW)
    alice.recall("cat")
    team = alice.space("团队 {1}").create()
    team.grant(user="carol", right="read")
    team.remember("The cat of the team.")
    memory.items("app").batch([PutItem(("users", "a"), "k", {"text": "tea"}, ("likes tea",))])
    memory.scoped(tenant="北", user="a:b {c}'\\", agent="g", session="s:1").remember("strange names")
    chat = memory.scoped(user="dora", session="s1")
    for number in range(12):
        chat.remember(
            [{"role": "user", "content": f"The plan is step {number}."}, {"role": "assistant", "content": "ok"}]
        )
    chat.compact()
    memory.flush()


def known(owner: ScopedMemory) -> list[tuple[Any, ...]]:
    return [(f.subject, f.attribute, f.value, f.state, f.valid_from, f.positions) for f in owner.facts(history=True)]


def found(owner: ScopedMemory, query: str, spaces: Any) -> list[Record]:
    """What is recalled, in the order of the log: engines keep vectors more or less precisely."""
    return sorted((hit.record for hit in owner.recall(query, spaces=spaces, k=50)), key=lambda record: record.id)


def scores(memory: HybridMemory) -> dict[str, float]:
    alice = memory.scoped(user="alice", session="s1")
    return {f"{query} {hit.record.id}": hit.score for query in QUERIES for hit in alice.recall(query, k=50)}


def seen(memory: HybridMemory) -> dict[str, Any]:
    """Whatever anybody can be shown."""
    alice = memory.scoped(user="alice", session="s1")
    people = {
        "alice": alice, "bob": memory.scoped(user="bob"), "dora": memory.scoped(user="dora", session="s1"),
        "strange": memory.scoped(tenant="北", user="a:b {c}'\\", agent="g", session="s:1"),
        "carol": memory.scoped(user="carol"),
    }  # fmt: skip
    shown: dict[str, Any] = {}
    for name, person in people.items():
        spaces: Any = "all" if person.scope.tenant is None else ()
        shown[name] = (
            [message.model_dump() for message in person.history()],
            known(person),
            person.profile(),
            person.summary().lines,
            [found(person, query, spaces) for query in QUERIES],
        )
    shown["past"] = texts(alice.as_of(NOW - 2 * DAY).history())
    shown["items"] = memory.items("app").batch([GetItem(("users", "a"), "k")])
    shown["positions"] = {
        str(owner): [(event.position, event.id, event.kind) for event in memory._runtime.services.truth.read(owner)]
        for owner in memory._runtime.services.truth.heads()
    }
    return shown


@pytest.mark.parametrize(
    ("face", "source", "target"), [(face, *pair) for face, pair in zip(FACES, PAIRS, strict=True)], indirect=["face"]
)
def test_the_copy_shows_what_the_original_shows(face: Face, make: Make, source: str, target: str) -> None:
    original, copy = make(source, recall={"count_uses": False}), make(target, recall={"count_uses": False})
    fill(original)
    expected = seen(original)
    done = face(original).migrate(copy)
    assert seen(copy) == expected
    assert scores(copy) == pytest.approx(scores(original), abs=1e-3)
    assert seen(original) == expected, "the original is as it was"
    ours, theirs = original.stats(), copy.stats()
    assert (done.owners, done.events) == (ours.owners, ours.events)
    for name in ("owners", "sessions", "events", "records", "vectors", "unindexed", "pending"):
        assert getattr(theirs, name) == getattr(ours, name), name
    assert (done.indexed, done.embedded) == (theirs.records, theirs.vectors)


@pytest.mark.parametrize(("source", "target"), PAIRS[:2])
def test_another_embedder_makes_vectors_of_its_own(face: Face, make: Make, source: str, target: str) -> None:
    other = HashingEmbedder(dim=32)
    original, copy = make(source), make(target, embedder=other)
    alice = original.scoped(user="alice")
    alice.remember(["my cat sleeps", "it rains"])
    original.flush()
    assert face(original).migrate(copy).embedded == 2
    stats = copy.stats()
    assert (stats.vectors, stats.embedder) == (2, "hashing-32")
    assert copy._runtime.services.index.embedder() == ("hashing-32", 32)
    hit = face(copy.scoped(user="alice")).recall("cat", k=1)[0]
    assert (hit.record.text, hit.signals.vector) == ("my cat sleeps", 1)
    assert original.stats().embedder == "hashing-256"


def test_an_embedder_that_fails_loses_no_event(face: Face, make: Make) -> None:
    embedder = FaultyEmbedder(HashingEmbedder(dim=32))
    original, copy = make("memory"), make("sqlite", embedder=embedder)
    original.scoped(user="alice").remember(["my cat sleeps", "it rains"])
    original.flush()
    with embedder.failing(ConnectionError("offline")), pytest.raises(ModelError, match="offline"):
        face(original).migrate(copy)
    assert len(copy.scoped(user="alice").history()) == 2
    assert face(original).migrate(copy).embedded == 2


@pytest.mark.parametrize("there", ["another owner", "other words", "more words", "other position"])
def test_a_target_with_memories_of_its_own_is_refused_unchanged(face: Face, make: Make, there: str) -> None:
    original, other = make("sqlite"), make("memory")
    original.scoped(user="alice").remember("my cat", id="a", at=NOW)
    if there == "another owner":
        other.scoped(user="bob").remember("my dog")
    elif there == "other words":
        other.scoped(user="alice").remember("my dog", id="a", at=NOW)
    else:
        if there == "other position":
            other.scoped(user="zoe").remember("x")
            other.forget(user="zoe")
        other.scoped(user="alice").remember("my cat", id="a", at=NOW)
        if there == "more words":
            other.scoped(user="alice").remember("and my dog")
    before = [other._runtime.services.truth.read(owner) for owner in other._runtime.services.truth.heads()]
    stats = other.stats()
    with pytest.raises(InvalidInputError, match="not here"):
        face(original).migrate(other)
    assert [other._runtime.services.truth.read(owner) for owner in other._runtime.services.truth.heads()] == before
    assert other.stats().events == stats.events


TWISTS: dict[str, Callable[[Sequence[Event]], Sequence[Event]]] = {
    "an event short": lambda events: list(events[:-1]),
    "other words": lambda events: [
        replace(event, payload={**event.payload, "content": "other words"}) for event in events
    ],
}


@pytest.mark.parametrize("twist", TWISTS.values(), ids=TWISTS)
def test_a_broken_copy_is_told(face: Face, make: Make, monkeypatch: pytest.MonkeyPatch, twist: Any) -> None:
    original, copy = make("memory"), make("sqlite")
    original.scoped(user="alice").remember(["one", "two", "three"])
    log = copy._runtime.services.log
    restore: Any = log.restore
    monkeypatch.setattr(log, "restore", lambda owner, events: restore(owner, twist(events)))
    with pytest.raises(StoreError, match="differs from the original"):
        face(original).migrate(copy)
    assert texts(original.scoped(user="alice").history()) == ["one", "two", "three"]


def test_what_waits_in_the_outbox_is_copied_too(make: Make, tmp_path: Path) -> None:
    original, copy = make("sqlite", outbox=str(tmp_path / "outbox.db")), make("memory")
    log = line_to(original, "log")
    log.error = StoreUnavailableError("down")
    original.scoped(user="alice").remember("said while it was down")
    log.error = None
    original.migrate(copy)
    assert texts(copy.scoped(user="alice").history()) == ["said while it was down"]


def test_what_is_written_meanwhile_is_copied_now_or_next_time(make: Make) -> None:
    original, copy = make("sqlite", embedder="none"), make("memory", embedder="none")
    alice = original.scoped(user="alice")
    alice.remember("first")

    def write() -> None:
        alice.remember(["second", "third"])
        original.scoped(user="zoe").remember("hello")

    log = line_to(original, "log")
    for verb in ("heads", "read", "count", "get"):
        log.during[verb] = write
        original.migrate(copy)
    assert {"heads", "read"} <= log.calls.keys()
    log.during.clear()
    original.migrate(copy)
    assert copy.scoped(user="alice").history() == alice.history()
    assert copy.stats().events == original.stats().events
    assert copy.stats().unindexed == 0


def test_a_copy_of_what_was_forgotten_since_is_refused(face: Face, make: Make) -> None:
    original, copy = make("sqlite"), make("sqlite")
    fill(original)
    face(original).migrate(copy)
    original.scoped(user="alice", session="s1").forget(query="cat number 4")
    with pytest.raises(InvalidInputError, match="forgotten here since: give an empty store"):
        face(original).migrate(copy)


def test_archived_messages_are_copied_where_the_archive_is_named(face: Face, make: Make, tmp_path: Path) -> None:
    file, archive = f"sqlite:///{tmp_path / 'hot.db'}", InMemoryArchive()
    with open_memory(MemoryConfig(url=file, embedder="none")) as memory:
        memory.scoped(user="alice").remember(["long ago", "then", "now"])
        log = memory._runtime.services.log
        ArchivedLog(log, archive).expire(Scope(user="alice"), datetime.now(UTC) + DAY)
        with pytest.raises(InvalidInputError, match=r"2 messages .* archive="):
            face(memory).migrate(make("memory"))
        memory._runtime.services.log = ArchivedLog(log, archive)
        copy = make("memory", embedder="none")
        assert face(memory).migrate(copy).events == 3
        assert texts(copy.scoped(user="alice").history()) == ["long ago", "then", "now"]
        memory._runtime.services.log = log


def test_a_copy_that_is_killed_anywhere_goes_on(child: Child, tmp_path: Path) -> None:
    source, target, notes = tmp_path / "source.db", tmp_path / "target.db", tmp_path / "restored"
    with open_memory(MemoryConfig(url=f"sqlite:///{source}", embedder="hashing"), clock=lambda: NOW) as original:
        fill(original)
        events = original.stats().events
        done = child("copier.py", f"sqlite:///{source}", f"sqlite:///{target}", str(notes))
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) >= 8, "times that it was killed"
        assert sum(map(int, notes.read_text().split())) == events, "nothing was copied twice"
        with open_memory(MemoryConfig(url=f"sqlite:///{target}", embedder="hashing"), clock=lambda: NOW) as copy:
            assert copy.stats().pending == copy.stats().unindexed == 0
            assert seen(copy) == seen(original)
