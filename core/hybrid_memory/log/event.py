"""The entries of the log, and what a write and a store report."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from ast import literal_eval
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any
from uuid import UUID

from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.origin import Origin, lowest
from hybrid_memory.scope import Scope


class Tier(StrEnum):
    """How lasting: the context window, the searchable index, the durable log."""

    CONTEXT = "context"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"


class EventKind(StrEnum):
    """What an event of the log says.

    A message was said; a compaction folded the oldest turns of a session into its summary; a reset let its
    conversation start anew; recalled is what a turn was shown beside its question; a payload was put aside.
    A claim was read from a turn; learned says how far the turns were read; a rollback hides what came after a place
    in the log, or shows it again; superseded names messages that were edited, or said
    anew. Erased says what was forgotten. In a shared space: a grant gives or takes a right,
    or lets messages out of quarantine; a denial says who was refused; quarantined is a message of somebody who is not
    trusted yet. An item is a value that an application put, refreshed or destroyed under a key of its own. Used says
    how often which records were recalled. Block is a change of an agent's working context, step one of its steps, file
    a change of a file.
    """

    MESSAGE = "message"
    COMPACTION = "compaction"
    RESET = "reset"
    RECALLED = "recalled"
    PAYLOAD = "payload"
    CLAIM = "claim"
    LEARNED = "learned"
    ROLLBACK = "rollback"
    SUPERSEDED = "superseded"
    ERASED = "erased"
    GRANT = "grant"
    DENIED = "denied"
    QUARANTINED = "quarantined"
    ITEM = "item"
    USED = "used"
    BLOCK = "block"
    STEP = "step"
    FILE = "file"


@dataclass(frozen=True)
class Event:
    """An entry of the log.

    Attributes:
        position: its place in the log, from 1; grows with every append, with gaps.
        id: the caller's, or a time-ordered UUIDv7; unique within its scope.
        payload: JSON; for a message its fields other than id and time.
        sources: ids of the events that it was made from.
        author: who wrote it, in a shared space; empty where the owner is the author.
    """

    position: int
    id: str
    scope: Scope
    kind: EventKind
    at: datetime
    payload: dict[str, Any]
    sources: tuple[str, ...] = ()
    author: str = ""

    @cached_property
    def message(self) -> Message:
        """The message of a message event, with its id and time."""
        message = Message(**self.payload, id=self.id, at=self.at)
        if message.role is Role.SYSTEM and message.origin is None and self.scope.space is not None:
            return message.model_copy(update={"origin": Origin.PERSON})  # as version 0.9 stored it
        return message

    @property
    def mark(self) -> str:
        """See `mark_of`."""
        return mark_of(self.id, self.at)

    @property
    def origin(self) -> Origin:
        """Whose words it holds; of what is derived, the lowest of what it was made from, where it says so.

        In a shared space nobody speaks as operator or user to the others, but for the messages of admins, which say so.
        """
        if self.kind in (EventKind.MESSAGE, EventKind.QUARANTINED):
            spoken = self.message.spoken_by
            shared = self.scope.space is not None and self.message.origin is None
            return lowest((spoken, Origin.PERSON)) if shared else spoken
        stated = self.payload.get("origin")
        return Origin(stated) if stated in tuple(Origin) else Origin.IMPORTED


def mark_of(event_id: str, at: datetime) -> str:
    """16 characters that tell an event from any other, also from one that has its position in a log that was set back.

    They stay when the event gets another payload.
    """
    return hashlib.blake2b(f"{event_id}\x00{at.timestamp():.6f}".encode(), digest_size=8).hexdigest()


def handle(first: int, last: int) -> str:
    """Names a stretch of the log: ``#12`` for one position, ``#12-40`` for several."""
    return f"#{first}" if first == last else f"#{first}-{last}"


def author_of(principal: Scope) -> str:
    """The user and the agent as the text that events carry."""
    return str(Scope(user=principal.user, agent=principal.agent))


def principal_of(author: str) -> Scope:
    """The user and the agent behind `author_of`."""
    return Scope(**{name: literal_eval(value) for name, value in _PART.findall(author)})


_PART = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")

QUARANTINE = "quarantined:"
"""Begins the ids of messages that wait for an admin; the rest is the id that the message then gets."""

MAX_COUNTER = 0xFFF
"""The 12 bits of rand_a in a UUID of version 7."""


class TimeOrderedIds:
    """UUIDs of version 7 (RFC 9562): milliseconds, a counter, random bits; ordered within a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def __call__(self) -> str:
        """A new id."""
        with self._lock:
            now = time.time_ns() // 1_000_000
            millis, counter = self._last
            # The counter takes the 12 bits of rand_a; when it or the clock runs back, borrow from the next millisecond.
            if now > millis:
                millis, counter = now, 0
            elif counter < MAX_COUNTER:
                counter += 1
            else:
                millis, counter = millis + 1, 0
            self._last = (millis, counter)
        value = millis << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(UUID(int=value))
