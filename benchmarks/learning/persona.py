"""PersonaBench: what was learned of a person, compared with the questions about them and their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmarks.learning.sets import Tally, matches
from hybrid_memory import Fact

QUESTIONS_PER_LIMIT = 10
"""Where the conversations are limited, so many questions of each person are asked, of the sessions that answer them."""

ATTRIBUTES = {
    r"\bage\b|years old": ("age",),
    r"gender": ("gender",),
    r"country of origin|nationality|to which nation": ("nationality",),
    r"born|birth|come into this world": ("hometown",),
    r"currently live|live at the moment|reside in": ("home",),
    r"for a living|kind of work|for work previously|engaged in earlier": ("profession",),
    r"currently employed\?|organization am i associated": ("employer",),
    r"go to school|name of the school": ("school",),
    r"study during|primary focus": ("field_of_study",),
    r"\bpets\b": ("pet",),
}
"""By question the attributes whose values its answer lists completely, so that another value is wrong."""

RELATIONS = {
    "friend": ("friend",),
    "colleague": ("colleague",),
    "neighbor": ("neighbour",),
    "sister": ("sibling",),
    "brother": ("sibling",),
    "cousin": ("relative",),
}
"""By the answer to "how is X related to me" the attributes that say so."""

_RELATED = re.compile(
    r"(?:what|who|how) is (?P<who>.+?)(?:'s relationship to me| in relation to me| related to me)\?", re.IGNORECASE
)
_FORMER = re.compile(r"previously|earlier", re.IGNORECASE)
_KIN = re.compile(r"\bmy (?P<kin>sister|brother)\b")
_UNASKED = re.compile(r"^Subjective")


def asked(persona: dict[str, Any], limit: int | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The turns and the questions that are counted."""
    questions = [q for q in persona["questions"] if not _UNASKED.match(q["category"]) and q["answer"] != "N/A"]
    if limit is None:
        return persona["turns"], questions
    questions = questions[: QUESTIONS_PER_LIMIT * limit]
    sessions = {session for question in questions for session in question["ev_sessions"]}
    return [turn for turn in persona["turns"] if turn["session"] in sessions], questions


def answers(answer: Any) -> list[str]:
    """The single values of an answer; of a value with a name the value."""
    if isinstance(answer, dict):
        return [str(value) for value in answer.values()]
    if isinstance(answer, list):
        return [value for part in answer for value in answers(part)]
    return [str(answer)]


def compare(facts: Sequence[Fact], person: str, questions: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Tally]]:
    """What the facts know of the answers, by category, and how many outdated values they still hold for current."""
    tallies: dict[str, Tally] = {}
    for question in questions:
        tally = tallies.setdefault(question["category"], Tally())
        for value, found in _found(facts, person, question):
            tally.know(found, (question["question"], value))
    yield from tallies.items()
    precise, stale = Tally(), Tally()
    known = _complete(questions)
    for fact in facts:
        if fact.subject == person and fact.attribute in known:
            precise.claim(any(matches(fact.value, value) for value in known[fact.attribute]), str(fact))
    yield "complete answers", precise
    mine = [fact for fact in facts if fact.subject == person]
    for question in questions:
        for value in question["outdated"] or ():
            told = [fact for fact in mine if matches(fact.value, value)]
            if told:
                stale.claim(not any(fact.current for fact in told), (question["question"], value))
    yield "(outdated values, no longer current)", stale


def _complete(questions: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """By attribute everything that any question about it is answered with, now or before."""
    known: dict[str, list[str]] = {}
    for question in questions:
        for pattern, names in ATTRIBUTES.items():
            if question["category"].startswith("Basic") and re.search(pattern, question["question"], re.IGNORECASE):
                for name in names:
                    known.setdefault(name, []).extend([*answers(question["answer"]), *(question["outdated"] or ())])
    return known


def _found(facts: Sequence[Fact], person: str, question: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each value of the answer, and whether a fact about the one who is asked about carries it."""
    related = _RELATED.search(question["question"])
    if related is not None:
        relation = str(question["answer"])
        told = [fact for fact in facts if fact.attribute in RELATIONS.get(relation, ()) and fact.subject == person]
        yield relation, any(matches(fact.value, related["who"]) for fact in told)
        return
    subjects = _subjects(facts, person, question)
    former = _FORMER.search(question["question"]) is not None
    values = [fact.value for fact in facts if fact.subject in subjects and (former or fact.current)]
    for value in answers(question["answer"]):
        yield value, any(matches(value, said) for said in values)


def _subjects(facts: Sequence[Fact], person: str, question: dict[str, Any]) -> set[str]:
    """Whom a question asks about."""
    kin = _KIN.search(question["question"])
    if kin is not None:
        if question["question"].startswith("Who"):
            return {person}
        named = {fact.value for fact in facts if fact.subject == person and fact.attribute == "sibling"}
        return {f"{person}'s {kin['kin']}", *named}
    if question["category"].startswith("Social"):
        return {fact.subject for fact in facts if fact.subject != person and fact.subject in question["question"]}
    return {person}
