"""PersonaBench: what was learned of a person, compared with the questions about them and their answers."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from hybrid_memory import Fact
from hybrid_memory_evaluation.probing.probe import holds, plain

QUESTIONS_PER_LIMIT = 10
"""Where the conversations are limited, so many questions of each person are asked, of the sessions that answer them."""

RELATIONS = {
    "friend": "friend", "colleague": "colleague", "neighbor": "neighbour", "sister": "sibling", "brother": "sibling",
    "cousin": "relative",
}  # fmt: skip
"""By the answer to "how is X related to me" the attribute that says so."""

_RELATED = re.compile(
    r"(?:what|who|how) is (?P<who>.+?)(?:'s relationship to me| in relation to me| related to me)\?", re.IGNORECASE
)
_FORMER = re.compile(r"previously|earlier", re.IGNORECASE)
_KIN = re.compile(r"\bmy (?P<kin>sister|brother)\b")
_UNASKED = re.compile(r"^Subjective")


def asked(persona: dict[str, Any], limit: int | None) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """The person, the turns, and the questions that are counted."""
    person = persona["conv"].rpartition("/")[2]
    questions = [q for q in persona["questions"] if not _UNASKED.match(q["category"]) and q["answer"] != "N/A"]
    if limit is None:
        return person, persona["turns"], questions
    questions = questions[: QUESTIONS_PER_LIMIT * limit]
    sessions = {session for question in questions for session in question["ev_sessions"]}
    return person, [turn for turn in persona["turns"] if turn["session"] in sessions], questions


def answers(answer: Any) -> list[str]:
    """The single values of an answer; of a value with a name the value."""
    if isinstance(answer, dict):
        return [str(value) for value in answer.values()]
    if isinstance(answer, list):
        return [value for part in answer for value in answers(part)]
    return [str(answer)]


def found(facts: Sequence[Fact], person: str, questions: Sequence[dict[str, Any]]) -> list[bool]:
    """For each value of each answer, whether a fact carries it."""
    return [right for question in questions for right in _found(facts, person, question)]


def matches(one: str, other: str) -> bool:
    """Whether one of two values holds the other, whatever their case, width and punctuation."""
    if not plain(one) or not plain(other):
        return False
    return holds(one, other) or holds(other, one)


def _found(facts: Sequence[Fact], person: str, question: dict[str, Any]) -> Iterator[bool]:
    """For each value of the answer, whether a fact about the one who is asked about carries it."""
    related = _RELATED.search(question["question"])
    if related is not None:
        said = RELATIONS.get(str(question["answer"]))
        told = [fact for fact in facts if fact.attribute == said and fact.subject == person]
        yield any(matches(fact.value, related["who"]) for fact in told)
        return
    subjects = _subjects(facts, person, question)
    former = _FORMER.search(question["question"]) is not None
    values = [fact.value for fact in facts if fact.subject in subjects and (former or fact.current)]
    for value in answers(question["answer"]):
        yield any(matches(value, said) for said in values)


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
