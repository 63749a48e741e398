"""A conversation whose beginning no longer fits, as probes are made from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from hybrid_memory import Event, EventKind, Fact, Line, Message, Role, Scope, Section
from hybrid_memory.analysis import (
    BilingualRules,
    Claim,
    Ledger,
    actions,
    candidates,
    is_observation,
    prose,
    read_ledger,
    resolve,
)
from hybrid_memory.apps.evaluation.probing.probe import Probe, held, plain
from hybrid_memory.apps.evaluation.transcripts.transcript import Transcript
from hybrid_memory.text.tokenize import cjk_share, terms

CHINESE = 0.5
"""The share of Chinese in what a probe was made from, from which on it asks in Chinese."""

MIN_CONFIDENCE = 0.6
"""Of a fact that is asked for."""

_SCOPE = Scope(user="user")
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_YOU = re.compile(r"\byou(?:r|'re|'ll)?\b|[你您]", re.IGNORECASE)
_EDGES = " \t\r\n.,;:!?\"'“”‘’`*_()[]，。；：！？、（）「」…-"


class History:
    """What was said, and which part of it is out of sight.

    Args:
        transcript: all of it; what stands at its end is what a probe may call true.
        truncated: how many of its first messages are out of sight.
    """

    def __init__(self, transcript: Transcript, truncated: int) -> None:
        self.messages = transcript.messages
        self.truncated = truncated
        self.rows = {message.id or "": row for row, message in enumerate(self.messages)}

    @property
    def past(self) -> tuple[Message, ...]:
        """What is out of sight."""
        return self.messages[: self.truncated]

    @cached_property
    def events(self) -> list[Event]:
        """The messages as the log would hold them; position is the place from 1, the id that of the message."""
        events: list[Event] = []
        at = _BEGINNING
        for position, message in enumerate(self.messages, 1):
            at = message.at or at + timedelta(minutes=1)
            payload = message.model_dump(mode="json", exclude={"id", "at"})
            events.append(Event(position, message.id or "", _SCOPE, EventKind.MESSAGE, at, payload))
        return events

    @cached_property
    def ledger(self) -> Ledger:
        """What the whole conversation did, as it stands at its end."""
        return read_ledger(self.messages)

    @cached_property
    def facts(self) -> list[Fact]:
        """What rules learn from the whole conversation, as far as it holds at its end; oldest first."""
        # What an agent says between two commands is about its steps, not about somebody.
        spoken = [event for event in self.events if not is_result(event.message) and not actions(event.message)]
        claims = BilingualRules().extract(spoken, [])
        return [
            fact
            for fact in resolve([self._as_event(number, claim) for number, claim in enumerate(claims)])
            if fact.current and fact.confidence >= MIN_CONFIDENCE and not fact.subject.isupper()
        ]

    def _as_event(self, number: int, claim: Claim) -> Event:
        turn = self.events[claim.source - 1]
        position = len(self.events) + number + 1
        return Event(
            position, f"claim-{number}", _SCOPE, EventKind.CLAIM, turn.at, claim.as_payload(), sources=(turn.id,)
        )

    @cached_property
    def lines(self) -> list[Line]:
        """What people said that is worth a line of a summary, sentence by sentence, without questions."""
        return [line for line in candidates(self.events, "light") if line.section is not Section.QUESTIONS]

    @cached_property
    def line_terms(self) -> list[frozenset[str]]:
        """The terms of each line."""
        return [frozenset(terms(line.text)) for line in self.lines]

    def spoken(self, line: Line) -> str:
        """The words of a line, without its speaker."""
        return line.text.removeprefix(f"{self.messages[line.first - 1].speaker}: ")

    def advises(self, line: Line) -> bool:
        """Whether the assistant tells the user what to do, which nobody has taken upon themselves yet."""
        return self.messages[line.first - 1].role is Role.ASSISTANT and _YOU.search(line.text) is not None

    @cached_property
    def frequency(self) -> Counter[str]:
        """In how many messages each term stands."""
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
        """Whether most of what these messages say is Chinese."""
        return cjk_share(" ".join(self.messages[self.rows[source]].text for source in sources)) > CHINESE

    def message(self, source: str) -> Message:
        """The message with this id."""
        return self.messages[self.rows[source]]

    def results(self, row: int) -> tuple[Message, ...]:
        """The messages behind an assistant's in which tools answer it."""
        end = row + 1
        while end < len(self.messages) and is_result(self.messages[end]):
            end += 1
        return self.messages[row + 1 : end]

    def asker(self, row: int) -> int | None:
        """The row of the assistant's message that a result in this row answers."""
        while row > 0 and is_result(self.messages[row]):
            row -= 1
        return row if self.messages[row].role is Role.ASSISTANT else None

    def says(self, source: str, key: str) -> bool:
        """Whether the key stands literally in this message."""
        return held(self._plain[self.rows[source]], key)

    def checked(self, probe: Probe) -> Probe | None:
        """The probe with its sources in order, each once, if it is a fair one.

        Its keys stand literally in its sources, none of them stands in the question, and one source at least is out
        of sight.
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
        """Whether one of its keys stands nowhere in sight."""
        in_sight = self._plain[self.truncated :]
        return not all(any(held(text, key) for text in in_sight) for key in probe.keys)

    @cached_property
    def _plain(self) -> list[str]:
        return [plain(message.text) for message in self.messages]

    @cached_property
    def _whole(self) -> str:
        return plain("\n".join(message.text for message in self.messages))


def is_result(message: Message) -> bool:
    """Whether a tool speaks, also where an agent hands its output on in the user's place."""
    return message.role is Role.TOOL or (message.role is Role.USER and is_observation(message.text))


def trimmed(text: str) -> str:
    """The text in one line, without blanks and punctuation around it."""
    return " ".join(text.split()).strip(_EDGES)


def shortened(text: str, *, words: int = 6, characters: int = 14) -> str:
    """The first words of a text, or the first characters of a Chinese one; what begins with stop words, behind them."""
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


def listed(items: Sequence[str], *, chinese: bool) -> str:
    """Items for a reader."""
    return ("、" if chinese else ", ").join(items)
