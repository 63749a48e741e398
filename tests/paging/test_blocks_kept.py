"""Blocks and answers: copied with a memory, destroyed with their sources, encrypted, and shared by several agents."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, ScopedMemory, SpaceMemory, open_memory
from hybrid_memory.errors import IdConflictError, InvalidInputError
from hybrid_memory.log.port import EventLog
from hybrid_memory_paging import PagedAgent
from tests.faces import Face, Open
from tests.paging.conftest import Script, call, says, shown
from tests.world import holding

CANARY = "zirconquokka"
WORDS = (CANARY, "锆石短尾袋鼠")


def talked(memory: HybridMemory, *answers: str, said: str = "Hello.", **options: Any) -> Script:
    """A model that gives these answers, and then says goodbye."""
    script = Script(*answers, otherwise=says("Goodbye."))
    with PagedAgent(memory, agent="coach", user="ada", model=script, **options) as agent:
        agent.send(said)
    return script


def remembered(memory: HybridMemory) -> ScopedMemory:
    """Ada's coach, after a conversation about the words, with edits of all sorts."""
    coach = memory.scoped(user="ada", agent="coach", session="main")
    coach.block("human").put("Likes jazz.", description="Who the user is.")
    coach.block("persona").put("I am calm.")
    first, second = WORDS
    talked(
        memory,
        call("core_memory_append", label="human", content=f"Lives in {first}."),
        call("core_memory_replace", label="human", old_content=first, new_content=f"{first} near {second}"),
        call("core_memory_append", label="persona", content=f"I never name {second}."),
        call("archival_memory_insert", content=f"{first} is a town."),
        said=f"I live in {first}, near {second}.",
    )
    talked(memory, call("core_memory_append", label="human", content="Plays the cello."), said="I play the cello.")
    talked(memory, call("core_memory_append", label="human", content=f"Was in {second}."), said=f"And {second}!")
    return coach


def test_forgetting_a_user_leaves_no_block_and_no_word(face: Face, opened: Open, tmp_path: Path) -> None:
    with opened(embedder="none") as memory:
        coach = remembered(memory)
        memory.scoped(user="bob").block("human").put("Name: Bob")
        assert f"Lives in {CANARY} near" in coach.blocks()["human"].value
        face(memory).forget(user="ada")
        assert face(coach).blocks() == {}
        with pytest.raises(InvalidInputError, match="no block 'human'"):
            coach.block("human").history()
        truth, kinds = memory._runtime.services.truth, (EventKind.BLOCK, EventKind.MESSAGE)
        assert [event.kind for owner in truth.heads() for event in truth.read(owner, kinds=kinds)] == [EventKind.BLOCK]
        assert memory.scoped(user="bob").blocks()["human"].value == "Name: Bob"
    assert holding(tmp_path, WORDS) == []
    with opened(embedder="none") as memory:
        script = talked(memory, call("core_memory_append", label="human", content="Name: Ada"))
        assert "Name: Ada" in shown(script.prompts[1])
        assert "cello" not in "".join(map(shown, script.prompts))
        coach = memory.scoped(user="ada", agent="coach")
        assert [block.change for block in coach.block("human").history()] == ["put", "append"]


def test_forgetting_words_takes_their_lines_out_of_blocks_and_history(face: Face, opened: Open, tmp_path: Path) -> None:
    with opened(embedder="none") as memory, opened(embedder="none") as other:
        remembered(memory)
        coach = memory.scoped(user="ada", agent="coach")
        coach.block("secret").put(f"{CANARY}\nand more", description=f"About {CANARY}.")
        place = coach.remember("Until here.").positions[0]
        coach.block("secret").edit(append=f"hidden {CANARY.upper()}")
        coach.rollback(place)
        watching = other.scoped(user="ada", agent="coach")
        assert watching.blocks() == coach.blocks()
        for word in WORDS:
            before = coach.blocks()
            dry = face(coach).forget(query=word, dry_run=True)
            assert coach.blocks() == before
            done = face(coach).forget(query=word)
            assert done.erased["changes of blocks rewritten"] == dry.erased["changes of blocks rewritten"] > 0
        for owner in (coach, watching):
            there = face(owner).blocks()
            assert {label: block.value for label, block in there.items()} == {
                "human": "Likes jazz.\nPlays the cello.",
                "persona": "I am calm.",
                "secret": "and more",
            }
            for label in there:
                history = owner.block(label).history()
                assert not [block for block in history for word in WORDS if word in block.value + block.description]
        while True:
            try:
                shown = face(coach.block("human")).undo().value
            except InvalidInputError:
                break
            assert not any(word in shown for word in WORDS)
        assert not any(word in face(coach).assemble("Who?", max_tokens=900).text for word in WORDS)
    assert holding(tmp_path, [*WORDS, CANARY.upper()]) == []


def test_forgetting_a_message_takes_out_what_an_agent_noted_of_it(face: Face, opened: Open) -> None:
    memory = opened(embedder="none")
    memory.scoped(user="ada", agent="coach").block("human").put("Likes jazz.")
    talked(memory, call("core_memory_append", label="human", content="Lives in Rome."), said="I live in Rome.")
    talked(memory, call("core_memory_append", label="human", content="Plays the cello."), said="I play the cello.")
    coach = memory.scoped(user="ada", agent="coach", session="main")
    (said,) = [message for message in coach.history() if message.text == "I live in Rome."]
    face(coach).forget(ids=said.id)
    assert face(coach).blocks()["human"].value == "Likes jazz.\nPlays the cello."
    assert not [block for block in coach.block("human").history() if "Rome" in block.value]
    script = talked(memory, said="Where do I live?")
    assert "<human>" in shown(script.prompts[0])
    assert "Plays the cello." in shown(script.prompts[0])


@pytest.mark.parametrize(
    "later",
    [{"old": "Rome", "new": "Rome with a cat"}, {"value": "Likes jazz. Rome. Has a cat."}],
    ids=["replaced", "rewritten"],
)
def test_what_was_made_of_a_forgotten_line_goes_too(face: Face, opened: Open, later: dict[str, Any]) -> None:
    alice = opened(embedder="none").scoped(user="alice", session="s")
    alice.block("human").put("Likes jazz.")
    first, second = alice.remember(["I live in Rome.", "I have a cat."]).ids
    alice.block("human").edit(append="Lives in Rome.", source=first)
    alice.block("human").edit(**later, source=second)
    alice.block("human").edit(append="Plays the cello.")
    face(alice).forget(ids=first)
    assert not [block for block in alice.block("human").history() if "Rome" in block.value]
    assert "Plays the cello." in alice.blocks()["human"].value
    assert alice.block("human").history()[0].value == "Likes jazz."


def test_forgetting_who_wrote_into_a_shared_block_leaves_what_others_wrote(face: Face, opened: Open) -> None:
    memory = opened(embedder="none")
    team = memory.scoped(user="alice").space("team").create()
    team.block("task").put("Book a room.", description="What to do.")
    team.grant(user="bob", right="write")
    owners: list[dict[str, Any]] = [{"user": "bob"}, {"user": "bob", "agent": "coach"}]
    for who in owners:
        bob = memory.scoped(**who).space("team")
        bob.block("task").edit(append=f"The PIN of {len(who)} is 5550{len(who)}.")
    team.block("task").edit(append="Order cake.")
    team.block("task").edit(old="55501.", new="55501, says Bob.")
    memory.scoped(user="bob").space("team").block("plan").put("55503", description="The PIN is 55504.")
    face(memory).forget(user="bob")
    assert face(team).blocks()["task"].value == "Book a room.\nOrder cake."
    for label in ("task", "plan"):
        history = face(team.block(label)).history()
        assert not [block for block in history if "5550" in block.value + block.description]
    assert team.blocks()["task"].description == "What to do."


LINES = st.sampled_from(["a cat", "the dog", CANARY, f"my {CANARY.title()}!", "茶", f"茶 {WORDS[1]}"])
EDITS = st.lists(
    st.tuples(st.sampled_from(["append", "value", "undo", "remove", "put"]), st.lists(LINES, min_size=1, max_size=3)),
    min_size=1,
    max_size=8,
)


@given(EDITS, EDITS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_no_forgotten_word_comes_back(before: list[tuple[str, list[str]]], after: list[tuple[str, list[str]]]) -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="none")) as memory:
        alice = memory.scoped(user="alice")
        alice.block("human").put()
        play(alice, before)
        kept = [clean(block.value) for block in alice.block("human").history()]
        for word in WORDS:
            alice.forget(query=word)
        assert [block.value for block in alice.block("human").history()] == kept
        play(alice, [(change, [line for line in lines if clean(line)] or ["tea"]) for change, lines in after])
        values = [block.value for block in alice.block("human").history()]
        assert not any(word.casefold() in value.casefold() for word in WORDS for value in values)


def clean(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not any(word in line.casefold() for word in WORDS))


def play(owner: ScopedMemory, edits: list[tuple[str, list[str]]]) -> None:
    for change, lines in edits:
        try:
            if change in ("undo", "remove"):
                getattr(owner.block("human"), change)()
            elif change == "put":
                owner.block("human").put("\n".join(lines))
            else:
                owner.block("human").edit(**{change: "\n".join(lines)})  # type: ignore[arg-type]
        except InvalidInputError as error:
            assert "no block" in str(error) or "to undo" in str(error)  # noqa: PT017 - as the edits come


THREADS = 16


def member(memory: HybridMemory, team: SpaceMemory, user: str, agent: str | None = None) -> SpaceMemory:
    """Somebody's view of the space."""
    team.grant(user=user, agent=agent, right="write")
    return memory.scoped(user=user, agent=agent, session="s").space("team")


def text(owner: ScopedMemory) -> str:
    return owner.blocks()["task"].value


def test_all_members_edit_one_block(face: Face, memory: HybridMemory) -> None:
    team = memory.scoped(user="alice").space("team").create()
    team.block("task").put("Book a room.", description="What to do.")
    team.block("task").edit(old="a room", new="the hall")
    bob, coach = member(memory, team, "bob"), member(memory, team, "bob", "coach")
    assert face(bob.block("task")).edit(append="Order cake.").value == "Book the hall.\nOrder cake."
    face(team.block("task")).edit(append="Invite Ann.")
    face(coach.block("task")).edit(old="cake", new="two cakes")
    for owner in (bob, coach, team):
        block = face(owner).blocks()["task"]
        assert (block.value, block.description) == ("Book the hall.\nOrder two cakes.\nInvite Ann.", "What to do.")
    history = face(coach.block("task")).history()
    assert [(block.change, block.author) for block in history] == [
        ("put", "user='alice'"), ("replace", "user='alice'"), ("append", "user='bob'"), ("append", "user='alice'"),
        ("replace", "user='bob' agent='coach'"),
    ]  # fmt: skip
    assert face(bob.block("task")).undo().value == "Book the hall.\nOrder cake.\nInvite Ann."
    assert face(team.block("task")).history()[-1].author == "user='bob'"


def at_once(work: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(THREADS, "at once") as pool:
        return list(pool.map(work, range(THREADS)))


def crowd(team: SpaceMemory, memories: Sequence[HybridMemory]) -> list[SpaceMemory]:
    """Agents in the space, in these memories in turn."""
    return [member(memories[number % len(memories)], team, "alice", f"agent{number}") for number in range(THREADS)]


@dataclass
class Hesitant:
    """A log at which all that write at once meet before they write first: each has read what another then changes."""

    inner: Any
    meeting: threading.Barrier
    met: set[int] = field(default_factory=set)
    conflicts: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append(self, owner: Any, drafts: Any, **options: Any) -> Any:
        mine = threading.current_thread()
        if mine.name.startswith("at once") and mine.ident not in self.met:
            self.met.add(mine.ident or 0)
            self.meeting.wait(60)
        try:
            return self.inner.append(owner, drafts, **options)
        except IdConflictError:
            self.conflicts += 1
            raise


@pytest.fixture(params=[[{"url": "memory://"}], [{}, {}]], ids=["memory", "two on one sqlite"])
def memories(request: pytest.FixtureRequest, opened: Open) -> list[HybridMemory]:
    """One memory, or two on one store, where edits cross each other."""
    memories = [opened(embedder="none", **where) for where in request.param]
    meeting = threading.Barrier(THREADS)
    for memory in memories:
        services = memory._runtime.services
        services.log = cast("EventLog", Hesitant(services.log, meeting))
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

    def refusal(number: int) -> str:
        try:
            agents[number].block("task").edit(append=f"{number:09}")
        except InvalidInputError as error:
            return str(error)
        return ""

    told = at_once(refusal)
    assert sum(not error for error in told) == 5
    assert all("of 50 characters: shorten" in error for error in told if error)
    assert len(text(busy)) == 49
    assert all(len(block.value) <= 50 for block in busy.block("task").history())
