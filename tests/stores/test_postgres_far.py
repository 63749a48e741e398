"""A Postgres server that is far away: how often a verb waits for it, and that what was sent along is never outdated."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.engines.postgres import PostgresConnection
from tests.doubles import texts
from tests.faces import Face
from tests.world import user

QUIET: dict[str, Any] = {"embedder": "hashing", "orchestration": {"background": False, "engine_timeout": 60}}
COLOURS = ["red", "green", "blue", "white"]
ASKED = ["which lamp is green?", "where do I live?", "what did I buy last?"]


@pytest.fixture
def opened(postgres_url: str) -> Iterator[Callable[..., HybridMemory]]:
    """Opens the store once more, as another process would."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(open_memory(MemoryConfig.of({"url": postgres_url, **QUIET, **more})))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """How often a verb uses a connection; each time is one round trip, as nothing waits in between."""
    used: list[object] = []
    attempt = PostgresConnection.attempt

    def counted(self: PostgresConnection, work: Any) -> Any:
        used.append(work)
        return attempt(self, work)

    monkeypatch.setattr(PostgresConnection, "attempt", counted)

    def of(verb: Callable[[], object]) -> int:
        used.clear()
        verb()
        return len(used)

    return of


def test_a_verb_waits_for_the_server_a_few_times(
    face: Face, opened: Callable[..., HybridMemory], waits: Callable[[Callable[[], object]], int]
) -> None:
    memory = opened()
    alice = face(memory.scoped(user="alice", session="s"))
    alice.remember([f"I bought a {COLOURS[number % 4]} lamp number {number}" for number in range(60)])
    memory.flush(progress=False)
    for number in range(3):  # caches are filled
        alice.remember(f"I sold lamp {number}")
        alice.assemble(f"what did I sell for {number} crowns?")
        alice.recall(f"lamp {number}")
    assert waits(lambda: alice.recall("green lamp")) == 1
    assert waits(lambda: alice.remember("I sold the blue lamp")) == 1
    assert waits(lambda: alice.recall("who sold the lamp?")) == 3
    assert waits(lambda: alice.recall("what was sold?")) == 1
    alice.assemble("what do I sell?")
    assert waits(lambda: alice.assemble("what do I buy?")) == 3
    alice.remember("I bought it again")
    assert waits(lambda: alice.assemble("what did I buy again?")) <= 6


def seen(alice: ScopedMemory) -> dict[str, Any]:
    """What the verbs show that read the log and the index."""
    return {
        "prompt": alice.assemble(ASKED[0]).text,
        "hits": [[(hit.record.id, hit.record.text, round(hit.score, 4)) for hit in alice.recall(q)] for q in ASKED],
        "history": texts(alice.history()),
        "facts": [fact.text for fact in alice.facts()],
        "blocks": {label: block.value for label, block in alice.blocks().items()},
    }


def test_what_another_process_did_is_seen_at_once(postgres_url: str, opened: Callable[..., HybridMemory]) -> None:
    """Each of two processes shows, after whatever either did, what a third one shows that has just opened the store."""
    chance = random.Random(7)  # noqa: S311
    both = [opened().scoped(user="alice", session="s") for _ in range(2)]
    ids: list[str] = []

    def say(alice: ScopedMemory, number: int) -> None:
        ids.extend(alice.remember(f"I bought a {COLOURS[number % 4]} lamp number {number}.").ids)

    def edit(alice: ScopedMemory, number: int) -> None:
        alice.mirror([user(f"I live in {['Ghent', 'Oslo', 'Rome'][number % 3]}.", "m")])

    def forget(alice: ScopedMemory, number: int) -> None:
        alice.forget(ids=[ids.pop(chance.randrange(len(ids)))])

    def go_back(alice: ScopedMemory, number: int) -> None:
        alice.rollback(alice.events(limit=9)[0].position)

    def note(alice: ScopedMemory, number: int) -> None:
        alice.block("task").put(f"lamp {number}")

    def compact(alice: ScopedMemory, number: int) -> None:
        alice.compact(keep=2)

    steps = [say, edit, say, say, forget, say, note, edit, say, compact, say, go_back, edit]
    for number in range(26):
        step = steps[number % len(steps)]
        step(both[chance.randrange(2)], number)
        chance.shuffle(both)
        shown = [seen(alice) for alice in both]
        with open_memory(MemoryConfig.of({"url": postgres_url, **QUIET})) as third:
            assert shown == [seen(third.scoped(user="alice", session="s"))] * 2, (number, step)
