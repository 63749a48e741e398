"""What the pages read: the memory of one owner, now or at an earlier time, unchangeable; and what they call things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from hybrid_memory import Event, EventKind, HybridMemory, Scope, ScopedMemory, Tier
from hybrid_memory.analysis import QueueState
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

MESSAGES = (EventKind.MESSAGE,)
STATES = (EventKind.COMPACTION, EventKind.RESET)
RECENT = 1000
"""Events among which sessions are looked for; a log is never read as a whole."""

ESCAPE = "~"
"""The per cent sign in the name of an owner."""

_KEEP: Any = object()


def key_of(scope: Scope) -> str:
    """Names a scope in a path: percent-encoded with another sign, since whoever handles a path decodes it."""
    parts = {part.name: getattr(scope, part.name) for part in fields(scope)}
    named = {name: value for name, value in parts.items() if value is not None}
    return urlencode(named, quote_via=quote, safe="").replace(ESCAPE, "%7E").replace("%", ESCAPE)


def scope_of(key: str) -> Scope:
    """The scope that a key names.

    Raises:
        InvalidInputError: it names none.
    """
    names = dict(parse_qsl(key.replace(ESCAPE, "%"), keep_blank_values=True, errors="surrogateescape"))
    if not names.keys() <= {part.name for part in fields(Scope)}:
        raise InvalidInputError(f"no owner is named {shown(key)}")
    return Scope(**names)


def moment_of(text: str) -> int | datetime | None:
    """The place in the log or the instant that a field names, in UTC where it has no zone; None if it is empty.

    Raises:
        InvalidInputError: it names neither.
    """
    words = text.strip()
    if not words:
        return None
    number = words.removeprefix("#")
    if number.isdecimal():
        return int(number)
    try:
        instant = datetime.fromisoformat(words)
    except ValueError:
        raise InvalidInputError(
            f"{shown(words)} is neither a position such as #120 nor a time such as 2026-05-01 18:00"
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


@dataclass(frozen=True)
class PageRequest:
    """What a page is asked for.

    Attributes:
        memory: to be read only.
        scope: whose, and perhaps which session.
        at: as of when; None is now.
        query: the rest of the address, each name once.
    """

    memory: HybridMemory
    scope: Scope
    at: int | datetime | None
    query: dict[str, str]

    @property
    def scoped(self) -> ScopedMemory:
        """The memory of the scope, as of then."""
        return self.seen(self.scope)

    def seen(self, scope: Scope) -> ScopedMemory:
        """The memory of this scope, as of then."""
        scoped = self.memory.for_scope(scope)
        return scoped if self.at is None else scoped.as_of(self.at)

    @property
    def moment(self) -> str:
        """As of when, as a field takes it."""
        if isinstance(self.at, datetime):
            return self.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return "" if self.at is None else str(self.at)

    def url(self, page: str, *, session: str | None = _KEEP, at: str = _KEEP, **query: object) -> str:
        """The address of another page of the same owner, session and time, unless they are given."""
        scope = self.scope if session is _KEEP else replace(self.scope, session=session)
        moment = self.moment if at is _KEEP else at
        named = {name: value for name, value in query.items() if value not in (None, "")}
        asked = {**named, **({"at": moment} if moment else {})}
        return f"/o/{key_of(scope)}/{page}{f'?{urlencode(asked)}' if asked else ''}"

    def number(self, name: str, default: int, *, least: int = 1, most: int = 2**53) -> int:
        """A number of the address.

        Raises:
            InvalidInputError: it is none, or out of range.
        """
        text = self.query.get(name, "").strip().removeprefix("#")
        if not text:
            return default
        if not text.isdecimal() or not least <= int(text) <= most:
            raise InvalidInputError(f"{name} must be a whole number from {least} to {most}, got {shown(text)}")
        return int(text)

    def sessions(self) -> list[str]:
        """The sessions of the owner's newest events, the last one first."""
        recent = self.seen(self.scope.owner).events(limit=RECENT)
        return list(dict.fromkeys(event.scope.session for event in reversed(recent) if event.scope.session))


def state_of(request: PageRequest, session: str | None) -> QueueState:
    """Where the queue of a session begins, as of then."""
    scoped = request.seen(replace(request.scope, session=session))
    # Without a session every session is read, but the queue of none has a state of its own.
    result = scoped.events(kinds=STATES, limit=RECENT if session is None else 1)
    return QueueState.of(next((event for event in reversed(result) if event.scope.session == session), None))


def tiers_of(request: PageRequest, events: Sequence[Event]) -> dict[int, list[Tier]]:
    """By position, the tiers that have an event above the log, which has all of them; else the log alone."""
    sessions = {event.scope.session for event in events if event.kind is EventKind.MESSAGE}
    states = {session: state_of(request, session) for session in sessions}
    records = request.memory.records(request.scope.owner, [event.position for event in events])
    indexed = {record.id for record in records}

    def queued(event: Event) -> bool:
        if event.kind is not EventKind.MESSAGE:
            return False
        state = states[event.scope.session]
        return event.position > state.cursor or event.position in (*state.kept, state.anchor)

    return {
        event.position: [
            *([Tier.CONTEXT] if queued(event) else []),
            *([Tier.SEMANTIC] if event.position in indexed else []),
        ]
        or [Tier.EPISODIC]
        for event in events
    }


KINDS = {
    EventKind.MESSAGE: "message",
    EventKind.COMPACTION: "compaction",
    EventKind.RESET: "conversation reset",
    EventKind.RECALLED: "prompt",
    EventKind.PAYLOAD: "offloaded text",
    EventKind.CLAIM: "claim",
    EventKind.LEARNED: "facts extracted",
    EventKind.ROLLBACK: "rollback",
    EventKind.SUPERSEDED: "edit",
    EventKind.ERASED: "forgotten",
    EventKind.GRANT: "grant",
    EventKind.DENIED: "access denied",
    EventKind.ITEM: "item",
    EventKind.USED: "recall count",
    EventKind.BLOCK: "block edit",
    EventKind.FILE: "file change",
}

TIERS = {
    "context": ("L1 only", "the next prompt has it verbatim, but no search returns it yet"),
    "semantic": ("L2 only", "a search returns it, but the next prompt does not have it verbatim"),
    "episodic": ("L3 only", "neither prompt nor search has it"),
}
"""The mark of a message that one tier alone has, and what it means; what prompt and search have gets none."""

SIGNALS = {
    "vector": "near the query in meaning, against the other hits",
    "text": "words in common with the query (BM25)",
    "coverage": "share of the query's words that it has, rare ones first",
    "neighbours": "the turns next to it fit the query",
    "segment": "the conversation around it fits the query",
    "statement": "states something, rather than asks or greets",
    "speaker": "said by whom the query is about",
    "kind": "has what is asked for, such as a date or a number",
    "recency": "how new it is",
    "importance": "how important it is",
    "use": "how often it was recalled",
    "exact": "has the quotes, paths and ids of the query",
    "temporal": "from the time that the query names",
}


def holds(text: str, query: str) -> bool:
    """Whether the text contains each word of the query, in any case."""
    return all(word in text.casefold() for word in query.casefold().split())


def split(text: str, query: str) -> list[tuple[str, bool]]:
    """The text in stretches, each with whether it is one of the wanted words, in any case."""
    words = sorted(query.split(), key=len, reverse=True)
    if not words:
        return [(text, False)]
    parts = re.split(f"({'|'.join(map(re.escape, words))})", text, flags=re.IGNORECASE)
    return [(part, row % 2 == 1) for row, part in enumerate(parts) if part]
