"""Who may claim what, and where it applies.

Facts about the user come from the user, so do all instructions, and pages claim nothing. An instruction applies always,
or in the session it was given in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hybrid_memory.facts.attributes import is_order
from hybrid_memory.facts.fact import USER, Claim, Fact, FactScope
from hybrid_memory.log.event import Event, principal_of
from hybrid_memory.log.message import INSTRUCTING, Origin, Role
from hybrid_memory.text import lazy
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import person_named, voice

NAMED_CHARS = 200  # how much of the beginning of a turn is searched for a name

_PEOPLE = frozenset((*INSTRUCTING, Origin.PERSON, Origin.ASSISTANT))


def heard(turns: Iterable[Event]) -> list[Event]:
    """The turns of people, to extract claims from or use as context; none of tools, the web and imports."""
    return [turn for turn in turns if turn.origin in _PEOPLE]


def may_claim(turn: Event, claim: Claim, origins: Sequence[str]) -> bool:
    """Whether the speaker of the turn may make the claim, if facts are learned from these origins."""
    if turn.origin in INSTRUCTING:
        return "user" in origins
    note = turn.message.role is Role.USER and turn.origin is Origin.ASSISTANT and not turn.message.name
    if "assistant" in origins and note and not is_order(claim.attribute) and person_of(claim.subject) == USER:
        return True
    # Others speak about themselves alone, under their own name, and give no instructions. In a shared space, which has
    # no user, they may speak about anything, as each fact names its author; but what the assistant noted for a member
    # is not a fact about that member.
    subject, name = person_of(claim.subject), person_of(" ".join(name_of(turn).split()))
    writer = person_of((principal_of(turn.author).user if turn.author else None) or "")
    shared = turn.scope.space is not None and (turn.origin is Origin.PERSON or subject != writer)
    allowed = "person" in origins and turn.origin in _PEOPLE and not is_order(claim.attribute)
    return allowed and subject != USER and (shared or subject == name != "")


def person_of(subject: str) -> str:
    """The person a subject is or relates to: for "Tom's boss", Tom."""
    return subject.replace("’", "'").partition("'s ")[0].strip().casefold()


def name_of(turn: Event) -> str:
    """The name under which somebody speaks; empty without one."""
    return person_named(turn.message) or voice(turn.message.text[:NAMED_CHARS].strip())[0]


def names_of_user(claims: Iterable[Event], user: str | None) -> set[str]:
    """The names of the user as a person: the id, and those in these claims."""
    names = (user or "", *(event.payload.get("speaker", "") for event in claims))
    return {person_of(name) for name in names if name}


def by_the_user(claim: Event) -> bool:
    """Whether it comes from the user, from before claims had an origin, or from the application."""
    return claim.payload.get("origin") in {None, *INSTRUCTING}


MAX_ASIDE_CHARS = 60  # the longest sentence that only states the scope of the one before: "Only for this chat."

_HERE = r"(?:chat|conversation|session|thread|talk|discussion|answer|reply|response|question|task|round)"
_PIECE = (
    r"(?:letter|e-?mail|essay|text|post|poem|story|summary|report|document|article|translation|script|function|exercise|"
    r"draft|recipe|trip|call|meeting|presentation|interview|exam|problem|puzzle|game|paragraph|file|one|evening|week)"
)
_SESSION = lazy(
    rf"\bthis (?:time|once)\b(?! (?:zone|of|format|frame|series|stamp|slot|tracking|around the))|"
    rf"\b(?:in|during|throughout|within|for) (?:(?:the rest|the duration|the course) of )?(?:this|our|today's|the "
    rf"(?:current|present|next)) (?:\w+ )?{_HERE}\b|"
    rf"\bfor this (?:one|once|{_PIECE})\b|"
    r"\bfor (?:now(?! on\b)|today|tonight|the moment|the time being|the next (?:hour|few \w+))\b(?!')|"
    r"\b(?:just|only) (?:for )?(?:now|today|tonight|here|this (?:morning|afternoon|evening|week|chat|answer))\b|"
    r"\b(?:now|today|tonight) only\b|\buntil (?:tomorrow|tonight|we(?:'re| are) done|i say otherwise)\b|"
    r"(?:就|仅|只|但)?(?:这|这一|此|今)(?:次|回|趟|遍|篇|封|份|首|道题)(?!数|起|开始|以后|之后|元)|"
    r"本(?:次|轮|篇|条|场)(?!起|开始|数)|(?:这|这一|本|此|当前)(?:个|次|轮|场|段)?(?:对话|会话|聊天|回答|回复|任务|谈话)|"
    r"(?<!从)(?<!自)今[天晚](?:先|就|只|都|暂|内|之内)|(?:只|仅|就)(?:限)?今[天晚]|暂时|暂且|眼下|临时",
    re.IGNORECASE,
)
_BEYOND = lazy(  # words that extend the scope beyond the occasion they name
    r"\b(?:not (?:just|only)|more than just|as well as) (?:for |in )?(?:this|that|now|today)\b|"
    r"不(?:只|仅|光|单)是?(?:这|今|本)",
    re.IGNORECASE,
)

_ASIDE = lazy(  # the beginning of a sentence that only states the scope of the one before
    r"(?:(?:but|and|that'?s|this is|it'?s|or at least)\b[ ,]*)*(?:for|in|just|only)\b|(?:但|不过|也)?(?:就|仅|只)",
    re.IGNORECASE,
)


def scope_of(sentence: str) -> FactScope:
    """The scope that an instruction states."""
    passing = _SESSION.search(sentence) and not _BEYOND.search(sentence)
    return FactScope.SESSION if passing else FactScope.ALWAYS


def scope_in(claim: Claim, text: str) -> FactScope:
    """The scope of a claim extracted from this text, if it has none yet; only that of instructions is limited."""
    if claim.scope is not FactScope.ALWAYS or not is_order(claim.attribute):
        return claim.scope
    parts = sentences(text)
    value = " ".join(claim.value.rstrip("…").split()).casefold()
    place = next((number for number, part in enumerate(parts) if value in " ".join(part.split()).casefold()), None)
    said = [claim.value] if place is None else parts[place : place + 2]
    if len(said) > 1 and not (len(said[1]) <= MAX_ASIDE_CHARS and _ASIDE.match(said[1])):
        said.pop()
    return scope_of(" ".join(said))


def applying(facts: Iterable[Fact], session: str | None) -> list[Fact]:
    """The facts without instructions for other sessions; without a session, without all such instructions."""
    return [fact for fact in facts if fact.scope is FactScope.ALWAYS or (session and fact.session == session)]
