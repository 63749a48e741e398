"""A program of somebody who uses the library and checks types strictly: it is read by type checkers, and runs."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import assert_type

from pydantic import Field

from hybrid_memory import (
    Block,
    Context,
    Event,
    EventKind,
    Explanation,
    Fact,
    Hit,
    Hits,
    Host,
    HybridMemory,
    Intent,
    MemoryConfig,
    Message,
    RecallConfig,
    Receipt,
    Record,
    Right,
    Role,
    Scope,
    ScopedMemory,
    SpaceMemory,
    Stats,
    Summary,
    UserProfile,
    Weights,
    aopen_memory,
    open_memory,
)
from hybrid_memory.errors import AccessDeniedError
from hybrid_memory.sharing import Grant


class Patient(UserProfile):
    blood_group: str | None = None
    allergies: list[str] = Field(default_factory=list)


def main(memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice", session="s1")
    assert_type(alice, ScopedMemory)
    receipt = alice.remember("I live in Rome.", at=datetime(2026, 5, 3, tzinfo=UTC), metadata={"channel": "web"})
    assert_type(receipt, Receipt)
    assert_type(receipt.positions, tuple[int, ...])
    alice.remember([Message(content="Noted.", role=Role.ASSISTANT), {"role": "user", "content": "Thanks."}])

    hits = alice.recall("Where do I live?", k=3, intent=Intent.FACT, since=datetime.now(UTC) - timedelta(days=365))
    assert_type(hits, Hits)
    for hit in hits:
        assert_type(hit, Hit)
        assert_type(hit.record, Record)
        assert_type(hit.score, float)
        assert_type(hit.why(), str)
    alice.recall("Rome", weights=Weights(vector=1.0, text=0.0), kinds=["turn"], spaces="all")
    assert_type(alice.why("#1", "Rome"), Explanation)

    context = alice.assemble("Where do I live?", max_tokens=1000)
    assert_type(context, Context)
    assert_type(context.messages, tuple[Message, ...])
    assert_type(context.tokens, int)

    assert_type(alice.history(limit=10), list[Message])
    for fact in alice.facts(category="knowledge"):
        assert_type(fact, Fact)
    assert_type(alice.profile(), UserProfile)
    assert_type(alice.summary(), Summary)
    assert_type(alice.events(kinds=[EventKind.MESSAGE]), list[Event])
    assert_type(alice.block("task").put("Book the hall."), Block)
    assert_type(alice.block("task").edit(append="And the cake."), Block)
    assert_type(alice.block("task").history(), list[Block])
    assert_type(alice.blocks(), dict[str, Block])
    assert_type(alice.assemble("And?", host=Host(began="1"), reader="fetch"), Context)
    assert_type(alice.why("goals"), Explanation)
    assert_type(alice.expand("#1"), list[Message])
    assert_type(alice.as_of(datetime.now(UTC)), ScopedMemory)
    assert_type(alice.forget(ids=receipt.ids, dry_run=True), Receipt)
    alice.compact()
    alice.flush()

    team = alice.space("team").create()
    assert_type(team, SpaceMemory)
    assert_type(team.grant(user="bob", right=Right.READ), Receipt)
    assert_type(team.grants(), list[Grant])
    try:
        memory.scoped(user="bob").space("team").remember("Hello.")
    except AccessDeniedError as error:
        assert_type(str(error), str)
    assert_type(memory.stats(), Stats)
    assert_type(memory.owners(), list[Scope])


async def amain(memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    assert_type(await alice.aremember("I like tea."), Receipt)
    for hit in await alice.arecall("tea"):
        assert_type(hit, Hit)
    assert_type(await alice.aprofile(), UserProfile)
    assert_type(await alice.aassemble("tea?"), Context)
    assert_type(await alice.ablocks(), dict[str, Block])


def mistakes(alice: ScopedMemory) -> None:
    """What a type checker must not let pass; each comment that is not needed is an error too."""
    alice.recall("Rome", k="3")  # type: ignore[arg-type]
    alice.recall("Rome", scope="tenant")  # type: ignore[arg-type]
    alice.remember("Rome", at="yesterday")  # type: ignore[arg-type]
    alice.recall("Rome").whole()  # type: ignore[attr-defined]
    alice.remember("Rome", sessions="s1")  # type: ignore[call-arg]
    alice.assemble("Rome", host="s1")  # type: ignore[arg-type]
    alice.block("task").edit(appended="x")  # type: ignore[call-arg]


async def amistakes(alice: ScopedMemory) -> None:
    await alice.arecall("Rome", k="3")  # type: ignore[arg-type]
    await alice.aprofile(name=())  # type: ignore[call-arg]


async def opened() -> None:
    async with await aopen_memory("memory://") as memory:
        assert_type(memory, HybridMemory)
        await amain(memory)


if __name__ == "__main__":
    config = MemoryConfig(url="memory://", embedder="hashing", recall=RecallConfig(count_uses=False))
    with open_memory(config, profile=Patient) as made:
        main(made)
        asyncio.run(amain(made))
