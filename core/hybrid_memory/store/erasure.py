"""What to destroy: turns, everything derived from them, and everything that repeats the requested words."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import EARLIER, REPLACES
from hybrid_memory.log.port import EventLog
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import LETTER

SAID = (EventKind.MESSAGE, EventKind.PAYLOAD)  # kinds that contain someone's words and are not derived

NAMES = {EventKind.MESSAGE: "turns", EventKind.PAYLOAD: "payloads"}

STREAM_BATCH = 1_000

_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: zero-width and soft characters, selectors, direction marks."""

_LETTER = re.compile(LETTER)
_UNSPACED = re.compile("[\u0e00-\u109f\u1780-\u17ff]")
"""Thai, Lao, Tibetan, Burmese and Khmer; Chinese, Japanese and Korean are no `LETTER` either."""

_ENCODED = re.compile(r"(?:[A-Za-z0-9+/_=-]{60,}\s+)*[A-Za-z0-9+/_=-]{200,}\s*")
_DATA_URL = re.compile(r"data:[^,]{0,200},")


def plain(text: str) -> str:
    """The text normalised for searching words: ignoring case, width, spacing and invisible characters."""
    if not text.isascii():
        bare = _UNSEEN.sub("", unicodedata.normalize("NFKC", _UNSEEN.sub("", text)))
        text = unicodedata.normalize("NFKC", bare.casefold())
    return " ".join(text.casefold().split())


def holds(words: str, text: str) -> bool:
    """Whether the text has these words, both `plain`: whole words, or any part where a script joins its words."""
    start = text.find(words) if words else -1
    while start >= 0:
        end = start + len(words)
        apart = (text[start - 1 : start], words[0]), (words[-1], text[end : end + 1])
        if not any(_in_word(left) and _in_word(right) for left, right in apart):
            return True
        start = text.find(words, start + 1)
    return False


def _in_word(character: str) -> bool:
    """Whether a letter, mark or digit is of a script that separates words by spaces."""
    if not character or _UNSPACED.match(character):
        return False
    return _LETTER.match(character) is not None or unicodedata.category(character).startswith("M")


def texts_of(event: Event) -> str:
    """Every text of a message, for `plain`: words, names, metadata, addresses, calls; but no encoded data."""
    payload = event.payload
    if event.kind is EventKind.PAYLOAD:
        return str(payload["text"])
    content, calls = payload.get("content", ""), payload.get("tool_calls", ())
    extra = {key: value for key, value in payload.get("extra", {}).items() if key not in {EARLIER, REPLACES, "made_of"}}
    parts = [content] if isinstance(content, str) else ["\n".join(leaves([block.get("text") for block in content]))]
    parts += leaves([[] if isinstance(content, str) else content, payload.get("name"), payload.get("metadata")])
    parts += leaves([*extra.values(), [[call.get("name"), call.get("arguments")] for call in calls]])
    parts += [json.dumps(call.get("arguments"), ensure_ascii=False) for call in calls]
    return APART.join(parts)


APART = " \x00 "  # separates texts that must not be read as one


def is_encoded(text: str) -> bool:
    """Whether a text is data in the letters of base64, perhaps in a URL."""
    return _DATA_URL.match(text) is not None or _ENCODED.fullmatch(text) is not None


def leaves(value: Any) -> Iterator[str]:
    """The texts in JSON, including field names; addresses also decoded, encoded data left out."""
    if isinstance(value, str):
        if found := _DATA_URL.match(value):
            yield found[0]
        elif not is_encoded(value):
            yield value
            if "%" in value:
                yield unquote(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, Iterable):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield str(value)


@dataclass(slots=True)
class Erasure:
    """What to destroy and what to rewrite; projections add what was derived from the turns.

    Attributes:
        turns: messages and payloads to destroy.
        words: the requested words, normalised; whatever repeats them is destroyed. Empty for none.
        user: destroy everything of this user; empty if only turns are concerned.
        before: destroy what was put into blocks before this time; None for nothing.
        after: only events after this position are examined.
        derived: positions of other events to destroy; rewritten: new payloads by position.
        counts: the number of things destroyed, by their name for the caller.
        places, names: positions and ids of the turns; first: the first of them in each session.
    """

    scope: Scope
    turns: list[Event]
    words: str = ""
    user: str = ""
    before: datetime | None = None
    after: int = 0
    derived: set[int] = field(default_factory=set)
    rewritten: dict[int, dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    places: set[int] = field(default_factory=set)
    names: dict[str | None, set[str]] = field(default_factory=dict)
    first: dict[Scope, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        turns, self.turns = self.turns, []
        for turn in turns:
            self.add(turn)
        if not (self.words or self.user or self.before):
            self.after = max(self.after, min(self.places, default=1) - 1)

    def add(self, turn: Event) -> None:
        """Add a message or payload to destroy."""
        if turn.position not in self.places:
            self.turns.append(turn)
            self.places.add(turn.position)
            self.names.setdefault(turn.scope.session, set()).add(turn.id)
            self.first[turn.scope] = min(turn.position, self.first.get(turn.scope, turn.position))
            self.counts[NAMES[turn.kind]] += 1

    @property
    def everything(self) -> bool:
        """Whether the owner's whole memory is destroyed."""
        return bool(self.user) and self.scope.space is None

    @property
    def gone(self) -> list[int]:
        """Positions of everything to destroy."""
        return sorted(self.places | self.derived)

    def made_of(self, names: Iterable[Any], session: str | None = None) -> bool:
        """Whether one of these ids is destroyed, in this session or, without one, in any."""
        wanted = {name for name in names if isinstance(name, str)}
        sessions = self.names if session is None else (session,)
        return any(not wanted.isdisjoint(self.names.get(one, ())) for one in sessions)

    def has_words(self, value: Any) -> bool:
        """Whether a text, or a text in this JSON, contains the requested words."""
        return bool(self.words) and holds(self.words, plain(APART.join(leaves(value))))

    def rewrite(self, payloads: Mapping[int, dict[str, Any]], what: str) -> None:
        """Rewrite these events, counted under this name."""
        self.counts[what] += len(payloads.keys() - self.rewritten.keys())
        self.rewritten |= payloads

    def drop(self, events: Iterable[Event], what: str) -> None:
        """Destroy these events too, counted under this name."""
        new = {event.position for event in events} - self.derived
        self.derived |= new
        self.counts[what] += len(new)


async def stream(
    run: Runner,
    log: EventLog,
    scope: Scope,
    *,
    kinds: Collection[EventKind],
    after: int = 0,
    until: datetime | None = None,
    size: int = STREAM_BATCH,
) -> AsyncIterator[list[Event]]:
    """The events of these kinds, by position, in batches."""
    while events := await run.call(log.read, scope, after=after, until=until, kinds=kinds, limit=size):
        yield events
        if len(events) < size:
            return
        after = events[-1].position
