"""A question about an earlier part of a conversation, whether a text contains its answer, and where it comes from."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from hybrid_memory import Event, EventKind, Line, Message, Role, Scope, Section
from hybrid_memory.analysis import Ledger, candidates, is_observation, prose, read_ledger
from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory.text.tokenize import cjk_share, terms


class ProbeKind(StrEnum):
    """The kind of a probe.

    ``RECALL``: something that was said, such as the first error. ``ARTIFACT``: what happened to files.
    ``CONTINUATION``: what to do next. ``DECISION``: what was decided, and why.
    """

    RECALL = "recall"
    ARTIFACT = "artifact"
    CONTINUATION = "continuation"
    DECISION = "decision"


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with its exact answer.

    Attributes:
        id: unique within its transcript.
        question: the question, asked at the end of the conversation.
        gold: the correct answer, as text.
        keys: the strings that make up the answer; survival counts these.
        sources: ids of the messages that contain the answer, oldest first.
        any_of: whether one of the keys is enough.
        by: the origin of the probe: ``ledger``, ``statements``, ``decisions``, ``next steps`` or ``labels``.
    """

    id: str
    kind: ProbeKind
    question: str
    gold: str
    keys: tuple[str, ...]
    sources: tuple[str, ...]
    any_of: bool = False
    by: str = "labels"

    def share(self, text: str) -> float:
        """The share of the keys that a text contains, in [0, 1]; with ``any_of`` 0 or 1."""
        within = plain(text)
        present = [held(within, key) for key in self.keys]
        return float(any(present)) if self.any_of else statistics.fmean(present)

    def as_dict(self) -> dict[str, Any]:
        """The probe as JSON."""
        return asdict(self)


_LATIN = "0-9a-z\u00df-\u024f"


def plain(text: str) -> str:
    """The text in NFKC and lower case, without punctuation, with single spaces."""
    return " ".join(re.sub(r"[^\w\s]|_", " ", unicodedata.normalize("NFKC", text).lower()).split())


def holds(text: str, phrase: str) -> bool:
    """Whether the text contains the words in this order, not as part of a longer word or number.

    Case and punctuation are ignored; in Chinese, spaces too.
    """
    return held(plain(text), phrase)


def held(within: str, phrase: str) -> bool:
    """`holds` for a text that is `plain` already."""
    words = plain(phrase)
    if not words:
        return False
    if cjk_share(phrase):
        words, within = words.replace(" ", ""), within.replace(" ", "")
        before = "(?<![0-9])" if words[0].isdigit() else ""
        return re.search(before + re.escape(words), within) is not None
    return re.search(rf"(?<![{_LATIN}]){re.escape(words)}(?![{_LATIN}])", within) is not None


CHINESE = 0.5
"""The share of Chinese in a probe's sources at which its question is in Chinese."""

_SCOPE = Scope(user="user")
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_YOU = re.compile(r"\byou(?:r|'re|'ll)?\b|[你您]", re.IGNORECASE)
_EDGES = " \t\r\n.,;:!?\"'“”‘’`*_()[]，。；：！？、（）「」…-"


class History:
    """A conversation, and which part of it is no longer visible.

    Args:
        transcript: the whole conversation; a probe's answer must be true at its end.
        truncated: how many of its first messages are no longer visible.
    """

    def __init__(self, transcript: Transcript, truncated: int) -> None:
        self.messages = transcript.messages
        self.truncated = truncated
        self.rows = {message.id or "": row for row, message in enumerate(self.messages)}

    @property
    def past(self) -> tuple[Message, ...]:
        """The messages that are no longer visible."""
        return self.messages[: self.truncated]

    @cached_property
    def events(self) -> list[Event]:
        """The messages as events of a log; positions count from 1, ids are those of the messages."""
        events: list[Event] = []
        at = _BEGINNING
        for position, message in enumerate(self.messages, 1):
            at = message.at or at + timedelta(minutes=1)
            payload = message.model_dump(mode="json", exclude={"id", "at"})
            events.append(Event(position, message.id or "", _SCOPE, EventKind.MESSAGE, at, payload))
        return events

    @cached_property
    def ledger(self) -> Ledger:
        """The artifact ledger at the end of the conversation."""
        return read_ledger(self.messages)

    @cached_property
    def lines(self) -> list[Line]:
        """People's sentences that are worth a line of a summary, without questions."""
        return [line for line in candidates(self.events, "light") if line.section is not Section.QUESTIONS]

    @cached_property
    def line_terms(self) -> list[frozenset[str]]:
        """The terms of each line."""
        return [frozenset(terms(line.text)) for line in self.lines]

    def spoken(self, line: Line) -> str:
        """The words of a line, without its speaker."""
        return line.text.removeprefix(f"{self.messages[line.first - 1].speaker}: ")

    def advises(self, line: Line) -> bool:
        """Whether the assistant advises the user, without anyone having agreed yet."""
        return self.messages[line.first - 1].role is Role.ASSISTANT and _YOU.search(line.text) is not None

    @cached_property
    def frequency(self) -> Counter[str]:
        """In how many messages each term occurs."""
        return Counter(term for message in self.messages for term in set(terms(message.text)))

    @cached_property
    def in_chinese(self) -> bool:
        """Whether people speak Chinese here, whatever the language of outputs and commands."""
        for role in (Role.USER, Role.ASSISTANT):
            said = " ".join(prose(message)[:500] for message in self.messages if message.role is role)
            if terms(said):
                return cjk_share(said) > CHINESE
        return False

    def chinese(self, sources: Iterable[str]) -> bool:
        """Whether these messages are mostly Chinese."""
        return cjk_share(" ".join(self.messages[self.rows[source]].text for source in sources)) > CHINESE

    def says(self, source: str, key: str) -> bool:
        """Whether the key occurs literally in this message."""
        return held(self._plain[self.rows[source]], key)

    def checked(self, probe: Probe) -> Probe | None:
        """The probe with its sources in order, without duplicates, if it is fair.

        Fair means: its keys occur literally in its sources, none of them in the question, and at least one source is no
        longer visible.
        """
        rows = sorted({self.rows.get(source, -1) for source in probe.sources})
        if not probe.keys or not rows or rows[0] < 0 or rows[0] >= self.truncated:
            return None
        asked = plain(probe.question)
        for key in probe.keys:
            if held(asked, key) or not held(self._whole, key) or not any(held(self._plain[row], key) for row in rows):
                return None
        return replace(probe, sources=tuple(self.messages[row].id or "" for row in rows))

    def hides(self, probe: Probe) -> bool:
        """Whether one of its keys occurs nowhere in the visible messages."""
        in_sight = self._plain[self.truncated :]
        return not all(any(held(text, key) for text in in_sight) for key in probe.keys)

    @cached_property
    def _plain(self) -> list[str]:
        return [plain(message.text) for message in self.messages]

    @cached_property
    def _whole(self) -> str:
        return plain("\n".join(message.text for message in self.messages))


def is_result(message: Message) -> bool:
    """Whether a message is tool output, even if an agent passes it on as a user message."""
    return message.role is Role.TOOL or (message.role is Role.USER and is_observation(message.text))


def trimmed(text: str) -> str:
    """The text in one line, without surrounding spaces and punctuation."""
    return " ".join(text.split()).strip(_EDGES)


def shortened(text: str, *, words: int = 6, characters: int = 14) -> str:
    """The first words of a text, or first characters of a Chinese one, after leading stop words."""
    text = trimmed(text)
    if cjk_share(text) > CHINESE:
        head = re.split(r"[，。；！？,;!?]", text, maxsplit=1)[0]
        cut = re.match(rf".{{{characters}}}(?:(?<=[0-9A-Za-z.])[0-9A-Za-z.-]*)?", head)
        return trimmed(cut[0] if cut else head)
    parts = text.split()
    while parts and not terms(parts[0]):
        parts.pop(0)
    parts = parts[:words]
    while parts and not terms(parts[-1]):
        parts.pop()
    return trimmed(" ".join(parts))
