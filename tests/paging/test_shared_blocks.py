"""Blocks of a shared space that several agents have attached: who may do what, and what comes of edits at once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import pytest

from hybrid_memory import HybridMemory, PagingConfig, Right, ScopedMemory, SpaceMemory
from hybrid_memory.errors import AccessDeniedError, IdConflictError, InvalidInputError
from hybrid_memory.log.port import EventLog
from tests.faces import Face, Open

THREADS = 16
EDITS: list[tuple[str, dict[str, Any]]] = [
    ("edit", {"append": "Bob was here."}), ("edit", {"old": "hall", "new": "room"}), ("edit", {"value": "Nothing."}),
    ("put", {"value": "Nothing."}), ("undo", {}),
]  # fmt: skip


@pytest.fixture
def team(memory: HybridMemory) -> SpaceMemory:
    """A space of Alice's with a block that was changed once."""
    team = memory.scoped(user="alice").space("team").create()
    team.block("task").put("Book a room.", description="What to do.")
    team.block("task").edit(old="a room", new="the hall")
    return team


def attached(
    memory: HybridMemory, team: SpaceMemory, user: str, agent: str | None = None, **given: Any
) -> ScopedMemory:
    """Somebody's memory with the block of the space in it."""
    team.grant(user=user, agent=agent, **{"right": "write", **given})
    owner = memory.scoped(user=user, agent=agent, session="s")
    owner.block("task").attach(space="team")
    return owner


def text(owner: ScopedMemory) -> str:
    return owner.blocks()["task"].value


@pytest.mark.parametrize(
    ("given", "may"),
    [({"right": "read"}, False), ({"trust": 0.4}, False), ({"trust": 0.5}, True), ({"right": "admin"}, True)],
    ids=str,
)
def test_an_edit_takes_the_right_to_write_and_trust(
    face: Face, memory: HybridMemory, team: SpaceMemory, given: dict[str, Any], *, may: bool
) -> None:
    bob = attached(memory, team, "bob", **given)
    assert face(bob).blocks()["task"].value == "Book the hall."
    assert len(face(bob.block("task")).history()) == 2
    for verb, options in EDITS if not may else []:
        with pytest.raises(AccessDeniedError, match=f"user='bob' may not {verb}_block in the space 'team'"):
            getattr(face(bob.block("task")), verb)(**options)
    assert len(team.block("task").history()) == 2
    denied = [(denial.who, denial.verb, denial.needed) for denial in team.audit()]
    assert denied == ([] if may else [("user='bob'", f"{verb}_block", Right.WRITE) for verb, _ in EDITS])
    for verb, options in EDITS if may else []:
        getattr(face(bob.block("task")), verb)(**options)
    # To detach it is his own affair.
    face(bob.block("task")).remove()
    assert face(bob).blocks() == {}
    assert "task" in team.blocks()


def test_what_may_not_be_read_cannot_be_attached(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    eve = memory.scoped(user="eve")
    with pytest.raises(AccessDeniedError, match="user='eve' may not attach_block in the space 'team'"):
        face(eve.block("task")).attach(space="team")
    with pytest.raises(AccessDeniedError):
        face(memory.scoped(tenant="north", user="alice").block("task")).attach(space="team")
    assert face(eve).blocks() == {}
    assert [(denial.who, denial.verb) for denial in team.audit()] == [("user='eve'", "attach_block")]


def test_what_is_missing_or_taken_cannot_be_attached(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    bob = attached(memory, team, "bob")
    with pytest.raises(InvalidInputError, match="no block 'plan'; there are: 'task'"):
        face(bob.block("plan")).attach(space="team")
    wrong: list[Any] = ["", None, ["team"]]
    for name in wrong:
        with pytest.raises(InvalidInputError, match=r"name of a space|space must be text"):
            face(bob.block("task")).attach(space=name)
    alice = memory.scoped(user="alice")
    face(alice.block("task")).put("My own.")
    with pytest.raises(InvalidInputError, match="there is a block 'task' already: remove it first"):
        face(alice.block("task")).attach(space="team")
    face(alice.block("task")).remove()
    face(alice.block("task")).attach(space="team")
    assert text(alice) == "Book the hall."
    assert alice.block("task").history()[0].author == "user='alice'", "the history of the space, not of her own"


def test_a_revoked_right_takes_the_block_out_of_the_prompt(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    bob = attached(memory, team, "bob")
    bob.block("human").put("Name: Bob")
    bob.remember("Hello.")

    def prompts() -> str:
        paged = face(bob).assemble(max_tokens=1000, paging=PagingConfig(), layout="queue")
        return f"{face(bob).assemble('What is to do?', max_tokens=1000, k=0).text} {paged.text}"

    assert prompts().count("Book the hall.") == 2
    team.revoke(user="bob")
    assert list(face(bob).blocks()) == ["human"]
    assert "Book the hall." not in prompts()
    assert prompts().count("Name: Bob") == 2
    assert team.audit() == [], "a prompt asks for nothing"
    for verb, options in [*EDITS, ("history", {})]:
        with pytest.raises(AccessDeniedError):
            getattr(face(bob.block("task")), verb)(**options)
    assert [denial.verb for denial in team.audit()] == [*(f"{verb}_block" for verb, _ in EDITS), "block_history"]
    team.grant(user="bob", right="read")
    assert text(bob) == "Book the hall."


def test_a_block_that_its_space_removed_is_gone_for_all(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    bob, ann = (attached(memory, team, user) for user in ("bob", "ann"))
    face(team.block("task")).remove()
    assert face(bob).blocks() == face(ann).blocks() == {}
    with pytest.raises(InvalidInputError, match="no block 'task'"):
        face(bob.block("task")).edit(append="x")
    face(bob.block("task")).undo()
    assert text(ann) == text(team) == "Book the hall."
    face(team.block("task")).remove()
    face(team.block("task")).put("Anew.", read_only=True)
    assert text(ann) == "Anew."
    with pytest.raises(InvalidInputError, match="read-only"):
        face(ann.block("task")).edit(append="x")


def test_only_a_rollback_of_the_space_is_seen_by_all(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    bob, ann = (attached(memory, team, user) for user in ("bob", "ann"))
    place = team.remember("Until here.").positions[0]
    mine = bob.remember("Until here.").positions[0]
    bob.block("task").edit(append="Order cake.")
    face(bob).rollback(mine)
    assert text(ann) == text(bob) == "Book the hall.\nOrder cake."
    face(team).rollback(place)
    assert text(ann) == text(bob) == "Book the hall."
    assert face(ann.block("task")).edit(append="Invite Ann.").value == "Book the hall.\nInvite Ann."
    assert [block.change for block in team.block("task").history()] == ["put", "replace", "append"]


def at_once(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


def refusal(owner: ScopedMemory, **edit: Any) -> str:
    """Why the edit was refused; empty if it was made."""
    try:
        owner.block("task").edit(**edit)
    except InvalidInputError as error:
        return str(error)
    return ""


def crowd(team: SpaceMemory, memories: Sequence[HybridMemory]) -> list[ScopedMemory]:
    """Agents that have the block attached, in these memories in turn."""
    return [attached(memories[number % len(memories)], team, "alice", f"agent{number}") for number in range(THREADS)]


@dataclass
class Hesitant:
    """A log that lets others come between what was read and what is written."""

    inner: Any
    conflicts: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append(self, owner: Any, drafts: Any, **options: Any) -> Any:
        time.sleep(0.001)
        try:
            return self.inner.append(owner, drafts, **options)
        except IdConflictError:
            self.conflicts += 1
            raise


@pytest.fixture(params=["memory", "two on one sqlite"])
def memories(request: pytest.FixtureRequest, opened: Open) -> list[HybridMemory]:
    """One memory, or two on one store, where edits cross each other."""
    options: dict[str, Any] = {"embedder": "none", "power_safe": False}
    if request.param == "memory":
        memories = [opened(url="memory://", **options)]
    else:
        memories = [opened(**options) for _ in range(2 if "two" in request.param else 1)]
    for memory in memories:
        services = memory._runtime.services
        services.log = cast("EventLog", Hesitant(services.log))
    return memories


@pytest.fixture
def busy(memories: list[HybridMemory]) -> SpaceMemory:
    """A space with an empty block that has room."""
    team = memories[0].scoped(user="alice").space("team").create()
    team.block("task").put(max_chars=10_000)
    return team


@pytest.mark.parametrize("rolled_back", [False, True])
def test_of_appends_at_once_none_is_lost(memories: list[HybridMemory], busy: SpaceMemory, *, rolled_back: bool) -> None:
    agents = crowd(busy, memories)
    if rolled_back:
        place = busy.remember("Until here.").positions[0]
        busy.block("task").edit(append="Hidden.")
        busy.rollback(place)

    def work(number: int) -> None:
        for turn in range(4):
            agents[number].block("task").edit(append=f"agent{number} turn {turn}", id=f"{number}-{turn}")

    at_once(work)
    logs: list[Any] = [memory._runtime.services.log for memory in memories]
    assert all(log.conflicts for log in logs), "or nothing was shown"
    lines = text(busy).split("\n")
    assert Counter(lines) == Counter(f"agent{number} turn {turn}" for number in range(THREADS) for turn in range(4))
    for number in range(THREADS):
        turns = [line for line in lines if line.startswith(f"agent{number} ")]
        assert turns == [f"agent{number} turn {turn}" for turn in range(4)], "each agent's in its order"
    assert {text(agent) for agent in agents} == {text(busy)}
    history = busy.block("task").history()
    assert [block.revision for block in history] == [1, *range(2 + rolled_back, 4 * THREADS + 2 + rolled_back)]
    for before, block in pairwise(history):
        added = block.value.removeprefix(before.value).strip("\n")
        assert block.author == f"user='alice' agent={added.split()[0]!r}"


def test_a_block_that_many_fill_at_once_is_never_over_full(memories: list[HybridMemory], busy: SpaceMemory) -> None:
    agents = crowd(busy, memories)
    busy.block("task").put(max_chars=50)

    told = at_once(lambda number: refusal(agents[number], append=f"{number:09}"))
    assert sum(not error for error in told) == 5
    assert all("of 50 characters: shorten" in error for error in told if error)
    assert len(text(busy)) == 49
    assert all(len(block.value) <= 50 for block in busy.block("task").history())
