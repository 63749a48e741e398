"""The entries of the log."""

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

from hybrid_memory.log.message import Message, Origin, lowest
from hybrid_memory.scope import Scope


class Tier(StrEnum):
    """The tier, from most volatile to most durable: context window, searchable index, durable log."""

    CONTEXT = "context"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"


class EventKind(StrEnum):
    """The kind of an event in the log.

    In a conversation: a message; a compaction, which moves the oldest turns of a session into its summary; a reset,
    which restarts the conversation; recalled, the memories that were added to a turn's prompt; a payload, an offloaded
    text. Of facts: a claim, extracted from a turn; learned, how far turns were read. Of the log: a rollback, which
    hides what follows a position, or shows it again; superseded, which names messages that were edited or regenerated;
    erased, which records what was forgotten. In a shared space: a grant, which changes a right; a denial, a
    refused access. Others:
    an item, a value that an application put, refreshed or deleted under its own key; used, how often records were
    recalled; a block, a change of an agent's working context; a file, a change of a file.
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
    ITEM = "item"
    USED = "used"
    BLOCK = "block"
    FILE = "file"


@dataclass(frozen=True)
class Event:
    """An entry of the log.

    Attributes:
        position: its place in the log, from 1; grows with every append, with gaps.
        id: the caller's, or a time-ordered UUIDv7; unique within its scope.
        payload: JSON; for a message its fields other than id and time.
        sources: ids of the events that it was made from.
        author: who wrote it, in a shared space; empty if the owner did.
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
        """The message in a message event, with its id and time."""
        return Message(**self.payload, id=self.id, at=self.at)

    @property
    def mark(self) -> str:
        """See `mark_of`."""
        return mark_of(self.id, self.at)

    @property
    def origin(self) -> Origin:
        """The origin of its words; for a derived event, the lowest origin of what it was made from, if recorded.

        In a shared space nobody speaks as operator or user to the others, except for admins' messages that say so.
        """
        if self.kind is EventKind.MESSAGE:
            spoken = self.message.spoken_by
            shared = self.scope.space is not None and self.message.origin is None
            return lowest((spoken, Origin.PERSON)) if shared else spoken
        stated = self.payload.get("origin")
        return Origin(stated) if stated in tuple(Origin) else Origin.IMPORTED


def mark_of(event_id: str, at: datetime) -> str:
    """16 characters that identify an event, even among events at the same position in other versions of a restored log.

    They stay the same when the event gets another payload.
    """
    return hashlib.blake2b(f"{event_id}\x00{at.timestamp():.6f}".encode(), digest_size=8).hexdigest()


def handle(first: int, last: int) -> str:
    """The handle of a part of the log: ``#12`` for one position, ``#12-40`` for several."""
    return f"#{first}" if first == last else f"#{first}-{last}"


def author_of(principal: Scope) -> str:
    """The user and the agent as the text stored in events."""
    return str(Scope(user=principal.user, agent=principal.agent))


def principal_of(author: str) -> Scope:
    """The user and the agent in the text made by `author_of`."""
    return Scope(**{name: literal_eval(value) for name, value in _PART.findall(author)})


_PART = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")


class TimeOrderedIds:
    """UUIDs of version 7 (RFC 9562): milliseconds, a counter, random bits; ordered within a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0  # milliseconds and, in 12 bits, the counter

    def __call__(self) -> str:
        """A new id."""
        with self._lock:
            # The counter takes the 12 bits of rand_a; when it or the clock runs back, borrow from the next millisecond.
            self._last = last = max(self._last + 1, time.time_ns() // 1_000_000 << 12)
        value = last >> 12 << 80 | 0x7 << 76 | (last & 0xFFF) << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(UUID(int=value))
