"""Facts stated as field and value instead of a sentence: the message that says it carries the claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.facts.attributes import attribute, is_order, statement
from hybrid_memory.facts.fact import USER, Claim, Fact, Stance
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import STATES
from hybrid_memory.log.origin import INSTRUCTING, Origin
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.voices import is_chinese

STATED = "stated"
"""The ``by`` of a stated claim."""

CONFIDENCE = 0.95


def stated(turns: Iterable[Event]) -> list[tuple[Event, Claim]]:
    """The claims that these turns carry, each with its turn."""
    return [
        (turn, replace(Claim.of(payload), source=turn.position))
        for turn in turns
        for payload in turn.payload.get("extra", {}).get(STATES, ())
    ]


def stating(subject: str, name: str, value: str, category: str | None = None) -> Claim:
    """A claim that this is true."""
    about = attribute(name)
    return Claim(
        subject,
        name,
        value,
        about.category if category is None else type(about.category)(category),
        source=0,
        single=about.single,
        confidence=CONFIDENCE,
        importance=about.importance,
        by=STATED,
    )


def ending(fact: Fact) -> Claim:
    """A claim that a fact is no longer true."""
    claim = stating(fact.subject, fact.attribute, fact.value, fact.category)
    return replace(claim, stance=Stance.ENDED, scope=fact.scope)


def words_of(claim: Claim) -> str:
    """The text of a message that states a claim."""
    said = statement(claim)
    if claim.stance is Stance.HOLDS:
        return said
    return f"不再如此：{said}" if is_chinese(claim.value) else f"No longer so: {said}"


def carried(claim: Claim) -> dict[str, Any]:
    """The ``extra`` fields of a message that carries claims."""
    return {STATES: [claim.as_payload()]}


def may_state(claim: Claim, origin: Origin, said: Sequence[Event], origins: Iterable[str], *, shared: bool) -> str:
    """Why words of this origin may not state a claim; empty if they may.

    As for extraction: the user may state anything, others no instructions; the assistant what the user said in these
    turns, and anything else if facts are learned from it. In a shared space, members may state anything.
    """
    if origin in INSTRUCTING:
        return ""
    if is_order(claim.attribute):
        return "only the user gives instructions"
    if origin is (Origin.PERSON if shared else Origin.ASSISTANT) and origin in origins:
        return ""
    if origin is not Origin.ASSISTANT:
        return f"what comes from {origin} is not taken as a fact here"
    spoken = {term for event in said if event.origin in INSTRUCTING for term in terms(event.message.text)}
    wanted = terms(claim.value)
    said_so = claim.subject == USER and wanted and spoken.issuperset(wanted)
    return "" if said_so else "the user did not say so in this session"
