"""Who may claim what: facts about the user come from the user, so do all instructions, and pages claim nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybrid_memory.facts.attributes import is_order
from hybrid_memory.facts.fact import USER, Claim
from hybrid_memory.log.event import Event, principal_of
from hybrid_memory.log.message import INSTRUCTING, Origin, Role
from hybrid_memory.text.speakers import voice
from hybrid_memory.text.tokenize import terms

NAMED_CHARS = 200
"""How much of the beginning of a turn is searched for a name."""

_PEOPLE = frozenset((*INSTRUCTING, Origin.PERSON, Origin.ASSISTANT))


def heard(turns: Iterable[Event]) -> list[Event]:
    """The turns of people, to extract claims from or use as context; none of tools, the web and imports."""
    return [turn for turn in turns if turn.origin in _PEOPLE]


def admitted(
    claims: Iterable[tuple[Event, Claim]], before: Sequence[Event], origins: Sequence[str]
) -> list[tuple[Event, Claim]]:
    """The claims that the speakers of their turns may make, if facts are learned from these origins.

    ``before`` are the turns before and among them.
    """
    return [
        (turn, claim)
        for turn, claim in claims
        if ("user" in origins and (turn.origin in INSTRUCTING or _repeats_the_user(turn, claim, before)))
        or ("assistant" in origins and _notes_of_the_user(turn, claim))
        or ("person" in origins and turn.origin not in INSTRUCTING and _about_themselves(turn, claim))
    ]


def _about_themselves(turn: Event, claim: Claim) -> bool:
    """Whether someone other than the user speaks about themselves under their own name, and gives no instructions.

    In a shared space, which has no user, they may speak about anything, as each fact names its author; but what the
    assistant noted for a member is not a fact about that member.
    """
    subject, name = person_of(claim.subject), person_of(" ".join(_name_of(turn).split()))
    return (
        turn.origin in _PEOPLE
        and not is_order(claim.attribute)
        and subject != USER
        and (subject == name != "" or _may_be_shared(turn, subject))
    )


def _may_be_shared(turn: Event, subject: str) -> bool:
    if turn.scope.space is None:
        return False
    writer = principal_of(turn.author).user if turn.author else None
    return turn.origin is Origin.PERSON or subject != person_of(writer or "")


def _notes_of_the_user(turn: Event, claim: Claim) -> bool:
    """Whether it is the assistant's note about the user, in the user's role, and not an instruction."""
    if turn.message.role is not Role.USER or turn.origin is not Origin.ASSISTANT or turn.message.name:
        return False
    return not is_order(claim.attribute) and person_of(claim.subject) == USER


def _repeats_the_user(turn: Event, claim: Claim, before: Sequence[Event]) -> bool:
    """Whether a note about the user repeats what they have just said."""
    if not _notes_of_the_user(turn, claim):
        return False
    earlier = [event.message.text for event in before if event.position < turn.position and event.origin in INSTRUCTING]
    said = {term for text in earlier for term in terms(text)}
    wanted = terms(claim.value)
    return bool(wanted) and said.issuperset(wanted)


def person_of(subject: str) -> str:
    """The person a subject is or relates to: for "Tom's boss", Tom."""
    return subject.replace("’", "'").partition("'s ")[0].strip().casefold()


def speaker_of(turn: Event) -> str:
    """The name under which the user speaks; empty without a name, and for turns of others."""
    return _name_of(turn) if turn.origin in INSTRUCTING else ""


def _name_of(turn: Event) -> str:
    return turn.message.name or voice(turn.message.text[:NAMED_CHARS].strip())[0]


def names_of_user(claims: Iterable[Event], user: str | None) -> set[str]:
    """The names of the user as a person: the id, and those in these claims."""
    names = (user or "", *(event.payload.get("speaker", "") for event in claims))
    return {person_of(name) for name in names if name}


def by_the_user(claim: Event) -> bool:
    """Whether it comes from the user, from before claims had an origin, or from the application."""
    return claim.payload.get("origin") in {None, *INSTRUCTING}
