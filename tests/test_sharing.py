import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import Block, Category, Event, EventKind, HybridMemory, Right, Scope, ScopedMemory, SpaceMemory
from hybrid_memory.errors import AccessDeniedError, IdConflictError, InvalidInputError
from hybrid_memory.facts.fact import Claim
from hybrid_memory.facts.learn import Extractors
from hybrid_memory.memory.faces import BlockHandle
from hybrid_memory.runtime.runners import INLINE, drive
from tests.doubles import Line, line_to, texts
from tests.faces import Child, Face, Open
from tests.world import user

pytestmark = pytest.mark.in_pairs("face", "memory")

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
RANKS: list[Right | None] = [None, *Right]


@pytest.fixture
def team(memory: HybridMemory) -> SpaceMemory:
    """A space of Alice's with three turns in it."""
    team = memory.scoped(user="alice").space("team").create()
    team.remember(["The launch is on Friday.", "The budget is 400 euros.", "Ann books the room."])
    return team


def rights(kind: type) -> dict[str, Right]:
    """What each verb takes, as it says itself."""
    members = inspect.getmembers(kind, lambda member: getattr(member, "asked", None) is not None)
    return {verb.asked.verb: verb.asked.needed for name, verb in members if verb.__name__ == name}


BLOCK_VERBS = {
    "block_history": "history", "edit_block": "edit", "put_block": "put",
    "remove_block": "remove", "undo_block": "undo",
}  # fmt: skip
RIGHTS = rights(SpaceMemory) | rights(BlockHandle)
READING = "block_history blocks expand facts fetch flush grants history profile recall summary why"
WRITING = "assemble compact edit_block learn mirror offload put_block remember remove_block reset resolve undo_block"
DECIDING = "approve audit events forget grant kept_out quarantined reject revoke rollback"


def ask(owner: SpaceMemory, verb: str, values: Sequence[Any], named: dict[str, Any]) -> None:
    """Call a verb of the space, or of a block of it."""
    if verb in BLOCK_VERBS:
        getattr(owner.block(values[0]), BLOCK_VERBS[verb])(*values[1:], **named)
    else:
        getattr(owner, verb)(*values, **named)


def seat(memory: HybridMemory, team: SpaceMemory, right: Right | None, *, trust: float = 1.0) -> SpaceMemory:
    """Bob's handle of the space, with this right."""
    if right is not None:
        team.grant(user="bob", right=right, trust=trust)
    return memory.scoped(user="bob").space(str(team.scope.space))


def arguments(verb: str, team: SpaceMemory) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What to call a verb with, so that nothing but a missing right can be wrong."""
    named = {
        "block_history": ("task",), "edit_block": ("task",),
        "expand": (team.history()[0].id,), "fetch": (team.history()[0].id,),
        "mirror": ([user("One more thing.")],),
        "offload": ("a long note",), "put_block": ("task", "Book the hall."), "recall": ("launch",),
        "remember": ("One more thing.",), "remove_block": ("task",),
        "rollback": (NOON,), "undo_block": ("task",), "why": ("goals",),
    }  # fmt: skip
    keyed: dict[str, dict[str, Any]] = {
        "assemble": {"query": "When is the launch?"},
        "edit_block": {"append": "Order cake."}, "forget": {"ids": team.history()[0].id},
        "grant": {"user": "carol", "right": "read"}, "revoke": {"user": "carol"},
    }  # fmt: skip
    if verb in ("approve", "reject"):
        return (team.quarantined(),), {}
    if verb == "resolve":
        return (team.facts()[0],), {}
    return named.get(verb, ()), keyed.get(verb, {})


class ClaimsFriday:
    """Reads from every turn that its word about the launch holds."""

    name = "friday"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        return [
            Claim("launch", "day", turn.message.text, Category.KNOWLEDGE, turn.position, single=True, by="friday")
            for turn in turns
            if "launch" in turn.message.text
        ]


def prepared(memory: HybridMemory, name: str) -> SpaceMemory:
    """A space with turns, a fact and a block, a grant of Carol's, and a message of Dave's in quarantine."""
    services = memory._runtime.services
    services.state(Extractors).rules = ClaimsFriday()
    team = memory.scoped(user="alice").space(name).create()
    team.remember(["The launch is on Friday.", "The budget is 400 euros."])
    team.block("task").put()
    team.block("task").edit(append="Book a room.")
    team.grant(user="carol", right="read")
    team.grant(user="dave", right="write", trust=0.1)
    memory.scoped(user="dave").space(name).remember("Let me in.")
    return team


@pytest.mark.parametrize("held", RANKS, ids=str)
def test_a_verb_takes_its_right(face: Face, opened: Open, held: Right) -> None:
    memory = opened(url="memory://", embedder="none")
    for verb, needed in RIGHTS.items():
        team = prepared(memory, f"team for {verb}")
        bob = seat(memory, team, held)
        values, named = arguments(verb, team)
        said, settled = team.history(), team.grants()
        if RANKS.index(held) >= RANKS.index(needed):
            ask(face(bob), verb, values, named)
            assert team.audit() == []
            continue
        with pytest.raises(AccessDeniedError, match=f"user='bob' may not {verb} in the space 'team for {verb}'"):
            ask(face(bob), verb, values, named)
        (denial,) = team.audit()
        assert (denial.who, denial.verb, denial.needed, denial.held) == ("user='bob'", verb, needed, held)
        assert (team.history(), team.grants(), len(team.quarantined())) == (said, settled, 1)


def test_who_is_not_trusted_may_read_and_remember_only(face: Face, opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    for verb, needed in RIGHTS.items():
        team = prepared(memory, f"team for {verb}")
        team.grant(user="bob", right="admin")
        team.grant(user="bob", agent="planner", right="write", trust=0.4)
        planner = memory.scoped(user="bob", agent="planner").space(f"team for {verb}")
        values, named = arguments(verb, team)
        if needed is Right.READ or verb == "remember":
            ask(face(planner), verb, values, named)
        else:
            with pytest.raises(AccessDeniedError, match=r"it takes a trust of 0\.5 or more"):
                ask(face(planner), verb, values, named)


def test_blocks_to_begin_with_take_the_right_to_write(face: Face, opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    team = memory.scoped(user="alice").space("team").create()
    reader = face(seat(memory, team, Right.READ))
    with pytest.raises(AccessDeniedError, match="may not begin_blocks in the space 'team'"):
        reader.blocks(begin=[Block("plan", "Mine.")])
    assert reader.blocks() == {}
    team.grant(user="bob", right=Right.WRITE)
    assert reader.blocks(begin=[Block("plan", "Mine."), Block("notes")])["plan"].value == "Mine."
    assert list(reader.blocks(begin=[Block("late")])) == ["plan", "notes"], "nothing begins twice"


def test_every_verb_has_its_right() -> None:
    pinned = {Right.READ: READING, Right.WRITE: WRITING, Right.ADMIN: DECIDING}
    assert {verb: right for right, verbs in pinned.items() for verb in verbs.split()} == RIGHTS


def test_a_verb_that_does_not_ask_reaches_nothing(opened: Open) -> None:
    team = prepared(opened(url="memory://", embedder="none"), "team")
    for verb in rights(SpaceMemory):
        values, named = arguments(verb, team)
        with pytest.raises(AccessDeniedError, match="nobody may"):
            drive(inspect.unwrap(getattr(SpaceMemory, verb))(team, INLINE, *values, **named))


def test_the_last_word_for_somebody_counts(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    for right in ("read", "write", "read"):
        face(team).grant(user="bob", right=right, trust=0.75)
    first, second = face(team).grants()
    assert (first.user, first.right, first.by) == ("alice", Right.ADMIN, "user='alice'")
    assert (second.user, second.agent, second.right, second.trust) == ("bob", None, Right.READ, 0.75)
    face(team).revoke(user="bob")
    assert face(team).grants() == [first]
    with pytest.raises(InvalidInputError, match="no grant for user='bob'"):
        face(team).revoke(user="bob")


def test_the_last_admin_stays(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    for change in ("revoke", "grant"):
        with pytest.raises(InvalidInputError, match="the last admin"):
            getattr(face(team), change)(user="alice", **({"right": "write"} if change == "grant" else {}))
    face(team).grant(user="alice", right="admin", trust=0.6)
    face(team).grant(agent="keeper", right="admin")
    face(team).revoke(user="alice")
    assert [grant.agent for grant in memory.scoped(agent="keeper").space("team").grants()] == ["keeper"]
    with pytest.raises(AccessDeniedError):
        face(team).grants()


def test_a_grant_that_makes_no_sense_is_refused(face: Face, team: SpaceMemory) -> None:
    wrong: list[dict[str, Any]] = [
        {"right": "read"}, {"user": "bob", "right": "owner"}, {"user": "bob", "right": None},
        {"user": "", "right": "read"}, {"agent": 7, "right": "read"}, {"user": "bob", "right": "admin", "trust": 0.4},
        *({"user": "bob", "right": "read", "trust": trust} for trust in (1.1, float("nan"), "much", True)),
    ]  # fmt: skip
    for named in wrong:
        with pytest.raises(InvalidInputError):
            face(team).grant(**named)
    assert len(team.grants()) == 1
    past: Any = face(team.as_of(NOON))
    for verb, named in (("grant", {"user": "bob", "right": "read"}), ("revoke", {"user": "alice"}), ("audit", {})):
        with pytest.raises(InvalidInputError, match="view of the past"):
            getattr(past, verb)(**named)


def test_revoking_counts_at_once_and_for_every_handle(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    bob = memory.scoped(user="bob")
    seat_of_bob = seat(memory, team, Right.WRITE)
    seat_of_bob.remember("Bob was here.")
    past = seat_of_bob.as_of(seat_of_bob.remember("Twice.").positions[0])
    assert len(face(past).history()) == 5
    for _ in range(2):  # answers that are kept
        (hit,) = face(bob).recall("launch", spaces=["team"], k=1)
        assert face(bob).recall("launch", spaces="all", k=1) == [hit]
        assert len(face(past).recall("launch")) == len(face(seat_of_bob).recall("launch")) > 0
    assert face(bob).expand(hit)[0].text == "The launch is on Friday."
    face(team).revoke(user="bob")
    refused: list[tuple[ScopedMemory, str, Any]] = [
        (seat_of_bob, "remember", "Still here?"), (seat_of_bob, "history", None), (seat_of_bob, "recall", "launch"),
        (past, "history", None), (past, "recall", "launch"), (bob, "expand", hit), (bob, "why", hit),
    ]  # fmt: skip
    for handle, verb, value in refused:
        with pytest.raises(AccessDeniedError):
            getattr(face(handle), verb)(*([] if value is None else [value]))
    with pytest.raises(AccessDeniedError):
        face(bob).recall("launch", spaces=["team"], k=1)
    assert face(bob).recall("launch", spaces="all", k=1) == []
    assert [denial.verb for denial in face(team).audit()] == [*(verb for _, verb, _ in refused), "recall"]
    face(team).grant(user="bob", right="read")
    assert len(face(seat_of_bob).history()) == 5


def test_a_rollback_leaves_rights_and_audit_as_they_are(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    before = team.remember("The last thing that stays.").positions[0]
    team.grant(user="bob", right="read")
    team.remember("Gone after the rollback.")
    with pytest.raises(AccessDeniedError):
        face(memory.scoped(user="eve").space("team")).history()
    face(team).rollback(before)
    assert texts(face(memory.scoped(user="bob").space("team")).history())[-1] == "The last thing that stays."
    assert [denial.who for denial in face(team).audit()] == ["user='eve'"]


def test_what_is_written_names_its_author(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    memory._runtime.services.state(Extractors).rules = ClaimsFriday()
    team.grant(agent="planner", right="write")
    face(memory.scoped(user="bob", agent="planner").space("team")).remember("The launch moved to Monday.")
    alice = memory.scoped(user="alice")
    alice.remember("To myself.")
    (own,) = face(alice).recall("myself", k=1)
    assert (own.record.author, "written by" in own.why()) == ("", False)
    hits = [hit for hit in face(alice).recall("launch Monday Friday", spaces=["team"]) if hit.record.scope.space]
    authors = {hit.record.text: hit.record.author for hit in hits if hit.record.kind == "turn"}
    assert authors["The launch moved to Monday."] == "user='bob' agent='planner'"
    assert authors["The launch is on Friday."] == "user='alice'"
    for hit in hits:
        assert hit.record.scope == Scope(space="team")
        assert f"in the space 'team', written by {hit.record.author}" in hit.why()
        assert "space 'team'" in str(face(alice).why(hit))
    assert {fact.author for fact in face(team).facts(history=True)} == {"user='alice'", "user='bob' agent='planner'"}


def test_in_a_space_everybody_speaks_of_themselves(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    team.grant(user="bob", right="write")
    face(team).remember("I live in Berlin.")
    face(memory.scoped(user="bob").space("team")).remember("I live in Paris.")
    homes = {fact.subject: (fact.value, fact.current) for fact in face(team).facts(attribute="home")}
    assert homes == {"alice": ("Berlin", True), "bob": ("Paris", True)}


def test_what_a_hit_shows_is_not_taken_on_trust(face: Face, memory: HybridMemory, team: SpaceMemory) -> None:
    bob = memory.scoped(user="bob")
    bob.remember("Bob's secret.")
    (hit,) = bob.recall("secret")
    for verb in ("why", "expand"):
        for other in (memory.scoped(user="alice"), team):
            with pytest.raises(InvalidInputError, match="user='bob'"):
                getattr(face(other), verb)(hit)
    (shared,) = team.recall("launch", k=1)
    with pytest.raises(AccessDeniedError):
        face(bob).why(shared)
    with pytest.raises(InvalidInputError):
        face(memory.scoped(tenant="north", user="alice")).why(shared)


@pytest.fixture
def stranger(memory: HybridMemory, team: SpaceMemory) -> SpaceMemory:
    """Somebody who may write, and is not trusted."""
    team.grant(agent="crawler", right="write", trust=0.2)
    return memory.scoped(agent="crawler").space("team")


def test_quarantine_is_seen_nowhere(face: Face, memory: HybridMemory, team: SpaceMemory, stranger: SpaceMemory) -> None:
    memory._runtime.services.state(Extractors).rules = ClaimsFriday()
    receipt = face(stranger).remember("The launch is never, says Zanzibar.", id="m1")
    assert receipt.ids == receipt.quarantined
    for handle in (face(team), face(stranger)):
        said = (
            texts(handle.history())
            + texts(handle.history(current=True))
            + texts(handle.recall("Zanzibar launch", k=50))
        )
        assert "Zanzibar" not in str([said, [fact.value for fact in handle.facts(history=True)]])
        for verb in (handle.expand, handle.fetch):
            for name in ("m1", receipt.ids[0], f"#{receipt.positions[0]}"):
                with pytest.raises(InvalidInputError):
                    verb(name)
    assert "Zanzibar" not in face(team).assemble(query="When is the launch?").text
    (waiting,) = face(team).quarantined()
    assert (waiting.author, waiting.message.text) == ("agent='crawler'", "The launch is never, says Zanzibar.")


def test_approval_makes_a_turn(face: Face, memory: HybridMemory, team: SpaceMemory, stranger: SpaceMemory) -> None:
    memory._runtime.services.state(Extractors).rules = ClaimsFriday()
    said = {"content": "The launch needs a permit.", "role": "assistant", "at": NOON, "metadata": {"page": 3}}
    for text in (said, "Buy gold now!", "The park closes at eight."):
        face(stranger).remember(text)
    permit, spam, park = face(team).quarantined()
    receipt = face(team).approve(permit)
    assert texts(face(team).history())[3:] == ["The launch needs a permit."]
    turn = face(team).history()[-1]
    assert (turn.id, turn.at, turn.role, turn.metadata) == (receipt.ids[0], NOON, "assistant", {"page": 3})
    assert permit.id == f"quarantined:{turn.id}"
    (hit,) = face(team).recall("permit", kinds=["turn"], k=1)
    assert hit.record.author == "agent='crawler'"
    assert "agent='crawler'" in {fact.author for fact in face(team).facts(history=True)}
    assert face(team).quarantined() == [spam, park]
    face(team).reject(spam.id)
    assert face(team).quarantined() == [park]
    assert all("gold" not in hit.record.text for hit in face(team).recall("gold", k=50))
    face(team).approve([park.id])
    assert face(team).quarantined() == []


def test_only_what_waits_can_be_decided(face: Face, team: SpaceMemory, stranger: SpaceMemory) -> None:
    face(stranger).remember("Let me in.", id="m1")
    (waiting,) = face(team).quarantined()
    told = team.history()[0].id
    for verb in ("approve", "reject"):
        for wrong in ([], "m1", told, ["quarantined:m1", "other"], 7, None):
            with pytest.raises(InvalidInputError):
                getattr(face(team), verb)(wrong)
    assert face(team).quarantined() == [waiting]
    assert len(face(team).history()) == 3
    face(team).approve(waiting)
    for verb in ("approve", "reject"):
        with pytest.raises(InvalidInputError):
            getattr(face(team), verb)(waiting)
    assert len(face(team).history()) == 4


@pytest.mark.parametrize("waited", [False, True])
def test_what_was_approved_is_forgotten_in_both_forms(face: Face, opened: Open, tmp_path: Path, waited: bool) -> None:
    memory = opened()
    team = memory.scoped(user="alice").space("team").create()
    team.grant(agent="crawler", right="write", trust=0.2)
    crawler = memory.scoped(agent="crawler").space("team")
    face(crawler).remember(["The park closes at eight.", "Zanzibar7391 is the password."], at=NOON)
    face(team).approve(face(team).quarantined())
    assert len(face(team).recall("Zanzibar7391", k=9)) == 2
    name = next(event.id for event in memory._runtime.services.log.read(team.scope) if "Zanzibar" in str(event.payload))
    receipt = face(team).forget(ids=name if waited else name.removeprefix("quarantined:"))
    assert len(receipt.ids) == 2
    assert texts(face(team).history()) == ["The park closes at eight."]
    assert face(team).quarantined() == []
    memory.close()
    assert all(b"Zanzibar7391" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_an_id_given_twice_waits_once_and_takes_no_other(face: Face, team: SpaceMemory, stranger: SpaceMemory) -> None:
    first = face(stranger).remember("The same words.", id="m1")
    again = face(stranger).remember("The same words.", id="m1")
    assert again.duplicates == again.ids == first.ids
    with pytest.raises(IdConflictError):
        face(stranger).remember("Other words.", id="m1")
    face(team).remember("A member takes this id.", id="m1")
    with pytest.raises(IdConflictError):
        face(team).approve("quarantined:m1")
    assert [event.id for event in face(team).quarantined()] == ["quarantined:m1"]
    face(team).remember("The same words.", id="m2")
    face(stranger).remember("The same words.", id="m2")
    assert face(team).approve("quarantined:m2").duplicates == ("m2",)
    assert texts(face(team).history())[3:] == ["A member takes this id.", "The same words."]


def test_threads_and_processes_that_grant_at_once_lose_nothing(opened: Open, store: str, child: Child) -> None:
    memory = opened()
    team = memory.scoped(user="alice").space("team").create()
    with ThreadPoolExecutor(max_workers=2) as pool:
        done = list(pool.map(lambda process: child("at_once.py", "grant", store, process, "5"), ["one", "two"]))
    assert [result.stderr for result in done] == ["", ""]
    expected = {name for result in done for name in result.stdout.split()}
    assert len(expected) == 2 * 8 * 4
    assert {grant.user for grant in team.grants()} == {"alice", *expected}
    decisions = memory._runtime.services.log.read(Scope(space="team"), kinds=(EventKind.GRANT,))
    assert [event.id for event in decisions] == [f"hybrid-memory:grant:{n}" for n in range(1, len(decisions) + 1)]


def after_read(line: Line, number: int, what: Callable[[], object]) -> None:
    """Have something done behind the back of a verb, after so many reads of the log and one more."""
    line.during["read"] = partial(after_read, line, number - 1, what) if number else what


@pytest.mark.parametrize("reads", range(2))
def test_of_two_admins_who_revoke_each_other_one_stays(memory: HybridMemory, team: SpaceMemory, reads: int) -> None:
    team.grant(user="bob", right="admin")
    bob = memory.scoped(user="bob").space("team")
    after_read(line_to(memory, "log"), reads, partial(bob.revoke, user="alice"))
    with pytest.raises(AccessDeniedError):
        team.revoke(user="bob")
    assert [grant.user for grant in bob.grants()] == ["bob"]


@pytest.mark.parametrize("reads", range(5))
def test_two_approvals_at_once_add_one_turn(
    memory: HybridMemory, team: SpaceMemory, stranger: SpaceMemory, reads: int
) -> None:
    team.grant(user="bob", right="admin")
    bob = memory.scoped(user="bob").space("team")
    stranger.remember("Let me in.")
    waiting = team.quarantined()
    after_read(line_to(memory, "log"), reads, partial(bob.approve, waiting))
    with pytest.raises(InvalidInputError):
        team.approve(waiting)
    assert len(team.history()) == 4


def test_a_member_cannot_speak_as_another(face: Face, memory: HybridMemory) -> None:
    house = memory.scoped(user="alice").space("house").create()
    house.grant(user="bob", right="read")
    bob = memory.scoped(user="bob", session="s1")
    house.remember({"role": "user", "content": "The boiler may stay off.", "name": "bob"})
    house.remember({"role": "user", "content": "The boiler is old.", "name": "user"})
    text = face(bob).assemble("Is the boiler old, may it stay off?", spaces=["house"]).text
    assert "bob (by alice): The boiler may stay off." in text
    assert "alice: The boiler is old." in text
