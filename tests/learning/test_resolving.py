"""What follows from claims: supersession, retraction, correction, tasks, disputes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Event, EventKind, Fact, FactState, HybridMemory, Scope, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import SETTLED, USER, Claim, Stance
from hybrid_memory.facts.facts import Knowledge
from hybrid_memory.facts.learn import Extractors
from hybrid_memory.facts.resolving import AT_ONCE
from tests.faces import Face, Open
from tests.world import rows

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def said(*claims: Claim, step: timedelta = timedelta(hours=1), authors: Sequence[str] = ()) -> list[Event]:
    """Claim events, one hour after the other by default; each stands behind its turn in the log."""
    return [
        Event(
            position=100 + number, id=f"c{number}", scope=Scope(user="u"), kind=EventKind.CLAIM,
            at=START + number * step, payload=claim.as_payload(), sources=(f"t{claim.source}",),
            author=authors[number] if authors else "",
        )
        for number, claim in enumerate(claims)
    ]  # fmt: skip


def claim(name: str, value: str, source: int, stance: Stance = Stance.HOLDS, **more: Any) -> Claim:
    about = attribute(name)
    subject = more.pop("subject", USER)
    return Claim(subject, name, value, about.category, source, stance, single=about.single, by="rule", **more)


def knowing(*batches: list[Event]) -> Knowledge:
    """What these come to, taken in one batch after the other."""
    known = Knowledge((), ())
    for number, batch in enumerate(batches):
        given = [replace(event, position=1000 * number + event.position) for event in batch]
        known.take(given, (1000 * (number + 1), ""))
    return known


def resolve(claims: list[Event]) -> list[Fact]:
    return knowing(claims).facts


def shown(facts: Sequence[Fact]) -> list[tuple[str, str]]:
    return [(fact.value, fact.state) for fact in facts]


def test_a_newer_value_supersedes_and_history_stays() -> None:
    old, new = resolve(said(claim("home", "Paris", 1), claim("home", "Berlin", 2)))
    assert (old.state, new.state) == (FactState.SUPERSEDED, FactState.CURRENT)
    assert old.valid_to == new.valid_from == START + timedelta(hours=1)
    assert (old.superseded_by, new.supersedes) == (new.id, old.id)
    assert (old.sources, new.sources) == (("t1",), ("t2",))


def test_what_is_said_later_counts_wherever_it_stands_in_the_log() -> None:
    early, late = said(claim("home", "Paris", 7), claim("home", "Berlin", 2))
    facts = resolve([replace(late, position=50), replace(early, position=60)])
    assert shown(facts) == [("Paris", "superseded"), ("Berlin", "current")]


def test_several_values_stand_side_by_side_where_there_may_be_several() -> None:
    facts = resolve(said(claim("likes", "jazz", 1), claim("likes", "tea", 2), claim("likes", "Jazz!", 3)))
    assert shown(facts) == [("jazz", "current"), ("tea", "current")]
    assert facts[0].sources == ("t1", "t3")
    assert facts[0].confidence > facts[1].confidence


def test_names_that_differ_in_a_sign_are_not_the_same() -> None:
    facts = resolve(said(claim("technology", "C", 1), claim("technology", "C++", 2), claim("technology", "c++", 3)))
    assert [(fact.value, fact.sources) for fact in facts] == [("C", ("t1",)), ("C++", ("t2", "t3"))]


@pytest.mark.parametrize(("liked", "words"), [("jazz", "jazz"), ("jazz music", "jazz"), ("爵士乐", "爵士乐")])
def test_a_retraction_ends_what_it_is_about(liked: str, words: str) -> None:
    facts = resolve(said(claim("likes", liked, 1), claim("likes", "tea", 2), claim("likes", words, 3, Stance.ENDED)))
    assert shown(facts) == [(liked, "ended"), ("tea", "current")]
    assert facts[0].valid_to == START + timedelta(hours=2)
    assert facts[0].positions == (1, 3)


def test_a_retraction_reaches_what_it_cannot_be_told_apart_from() -> None:
    facts = resolve(said(claim("interest", "tennis", 1), claim("habit", "tennis", 2, Stance.ENDED)))
    assert shown(facts) == [("tennis", "ended")]


def test_a_retraction_without_a_claim_is_history() -> None:
    (fact,) = resolve(said(claim("employer", "Siemens", 1, Stance.ENDED)))
    assert (fact.state, fact.value, fact.valid_to) == (FactState.ENDED, "Siemens", START)


def test_who_now_dislikes_a_thing_no_longer_likes_it() -> None:
    facts = resolve(said(claim("likes", "coriander", 1), claim("dislikes", "coriander", 2)))
    assert shown(facts) == [("coriander", "superseded"), ("coriander", "current")]


def test_a_correction_brings_back_what_was_right() -> None:
    facts = resolve(
        said(claim("home", "Paris", 1), claim("home", "Berlin", 2), claim("home", "Berlin", 3, Stance.WRONG))
    )
    assert shown(facts) == [("Paris", "current"), ("Berlin", "ended")]
    assert facts[1].valid_from == facts[1].valid_to


def test_a_correction_in_one_turn_replaces_and_a_model_takes_back_what_a_rule_misread() -> None:
    told = said(
        claim("name", "Anna", 1), claim("name", "Anna", 2, Stance.WRONG), claim("name", "Anne", 2), step=timedelta(0)
    )
    assert [fact.value for fact in resolve(told) if fact.current] == ["Anne"]
    rule, model = claim("home", "a dream", 1), claim("home", "a dream", 1, Stance.WRONG)
    assert not [fact for fact in resolve(said(rule, model, step=timedelta(0))) if fact.current]


def test_more_of_the_same_place_is_the_same_place() -> None:
    (fact,) = resolve(said(claim("home", "Berlin", 1), claim("home", "Berlin, Germany", 2)))
    assert (fact.value, fact.sources) == ("Berlin, Germany", ("t1", "t2"))


@pytest.mark.parametrize(("task", "words", "state"), rows("learning/tasks.tsv"))
def test_later_turns_change_the_state_of_a_task(task: str, words: str, state: str) -> None:
    stance = Stance(state)
    facts = resolve(said(claim("todo", task, 1), claim("todo", "buy milk", 2), claim("todo", words, 3, stance)))
    assert shown(facts)[:2] == [(task, state), ("buy milk", "open")]


def test_agents_who_disagree_at_once_are_disputed_until_one_says_so_again() -> None:
    claims = [claim("home", "Paris", 1), claim("home", "Berlin", 2)]
    authors = ["agent='a'", "agent='b'"]
    paris, berlin = resolve(said(*claims, step=AT_ONCE / 2, authors=authors))
    assert {paris.state, berlin.state} == {FactState.DISPUTED}
    assert (paris.rivals, berlin.rivals) == ((berlin.id,), (paris.id,))
    later = replace(said(claim("home", "Berlin", 3))[0], position=300, at=START + timedelta(days=1), author="agent='a'")
    facts = resolve([*said(*claims, step=AT_ONCE / 2, authors=authors), later])
    assert shown(facts) == [("Paris", "superseded"), ("Berlin", "current")]


def test_of_authors_who_disagree_later_the_newer_counts() -> None:
    facts = resolve(said(claim("home", "Paris", 1), claim("home", "Berlin", 2), authors=["agent='a'", "agent='b'"]))
    assert [fact.value for fact in facts if fact.current] == ["Berlin"]


def test_what_somebody_decided_is_not_disputed() -> None:
    told = [claim("home", "Paris", 1), replace(claim("home", "Berlin", 2), by=SETTLED)]
    facts = resolve(said(*told, step=AT_ONCE / 2, authors=["agent='a'", "agent='b'"]))
    assert shown(facts) == [("Paris", "superseded"), ("Berlin", "current")]


VALUES = st.sampled_from(["Paris", "Berlin", "Rome", "杭州"])
CLAIMS = st.lists(
    st.builds(
        claim,
        st.sampled_from(["home", "likes", "todo", "dislikes"]),
        VALUES,
        st.integers(1, 30),
        st.sampled_from(list(Stance)),
    ),
    max_size=12,
)


@given(CLAIMS, st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_the_order_of_the_claims_in_the_log_does_not_matter(claims: list[Claim], random: Any) -> None:
    told = said(*claims)
    shuffled = random.sample(told, len(told))
    assert resolve(shuffled) == resolve(told)


@given(st.lists(CLAIMS, max_size=5))
@settings(max_examples=80)
def test_facts_kept_up_are_those_made_anew(batches: list[list[Claim]]) -> None:
    known, together = Knowledge((), ()), list[Event]()
    for row, claims in enumerate(batches):
        batch = [replace(one, position=1000 * row + one.position) for one in said(*claims)]
        known.take(batch, (1000 * (row + 1), ""))
        together += batch
    assert known.facts == resolve(together)


@given(CLAIMS)
@settings(max_examples=80)
def test_facts_are_sound(claims: list[Claim]) -> None:
    facts = resolve(said(*claims))
    homes = [fact for fact in facts if fact.attribute == "home" and fact.current]
    assert len(homes) <= 1
    by_id = {fact.id: fact for fact in facts}
    assert len(by_id) == len(facts)
    for fact in facts:
        assert fact.sources
        assert fact.valid_to is None or fact.valid_to >= fact.valid_from
        assert (fact.valid_to is None) == fact.current
        assert fact.superseded_by is None or fact.superseded_by in by_id
    held = {f"t{one.source}" for one in claims if one.stance is Stance.HOLDS}
    assert held <= {source for fact in facts for source in fact.sources}, "nothing that was claimed is lost"


BERLIN = "I live in Berlin."


class Notes:
    """An extractor that files every sentence under another topic than the default one does."""

    name = "notes"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        return [
            replace(claim("note", turn.message.text, turn.position), verbatim=True, sentence=turn.message.text)
            for turn in turns
        ]


@pytest.fixture
def memory(opened: Open) -> HybridMemory:
    return opened(url="memory://", embedder="none", learning={"background": False})


def reread(memory: HybridMemory, *, other: bool) -> ScopedMemory:
    if other:
        memory._services.state(Extractors).rules = Notes()
    alice = memory.scoped(user="alice")
    alice.learn(again=True)
    return alice


@pytest.mark.parametrize("other", [False, True], ids=["same", "another extractor"])
def test_a_rejected_statement_does_not_return_by_reading_again(face: Face, memory: HybridMemory, other: bool) -> None:
    alice = memory.scoped(user="alice")
    alice.remember([BERLIN, "I work as a nurse, nights mostly."])
    home, work = alice.facts()
    alice = face(alice)
    for fact in (home, work):
        alice.resolve(fact, reject=True)
    assert alice.facts() == []
    alice = face(reread(memory, other=other))
    assert alice.facts() == []
    assert [(fact.text, str(fact.state), fact.reviewed) for fact in alice.facts(history=True)] == [
        (home.text, "ended", True),
        (work.text, "ended", True),
    ]
    alice.remember("I live in Berlin!")
    assert [fact.text for fact in alice.facts()] == ["I live in Berlin!"]


@pytest.mark.parametrize("other", [False, True], ids=["same", "another extractor"])
def test_an_approved_and_a_corrected_statement_stay_through_reading_again(
    face: Face, memory: HybridMemory, other: bool
) -> None:
    alice = memory.scoped(user="alice")
    alice.remember([BERLIN, "I work as a nurse, nights mostly."], at=START)
    home, work = alice.facts()
    face(alice).resolve(home, value="Ghent")
    face(alice).resolve(work)
    for alice in (memory.scoped(user="alice"), reread(memory, other=other)):
        facts = alice.facts()
        assert {(fact.attribute, fact.value, fact.text, fact.valid_from) for fact in facts} == {
            ("home", "Ghent", "I live in Ghent.", START),
            (work.attribute, work.value, work.text, START),
        }
        assert all(fact.reviewed for fact in facts)
        assert "Berlin" not in str(alice.profile())
    evening = memory.scoped(user="alice", session="new").assemble("Plan my evening in my town").text
    assert "I live in Ghent." in evening


def test_a_decision_needs_one_other_value(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    alice.remember(BERLIN)
    (home,) = alice.facts()
    for wrong in ({"value": "berlin"}, {"value": " "}, {"value": "Ghent", "reject": True}):
        with pytest.raises(InvalidInputError, match="another value"):
            face(alice).resolve(home, **wrong)
    assert [fact.value for fact in alice.facts()] == ["Berlin"]
