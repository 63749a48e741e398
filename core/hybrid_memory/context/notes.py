"""Texts as notes: what an anchored summary keeps of them, each note with the text that it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hybrid_memory.artifacts import merge, read_on, render
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.extractive import Piece, pieces
from hybrid_memory.context.fold import LEDGER_TOKENS
from hybrid_memory.context.summaries.importance import judged
from hybrid_memory.context.summaries.lines import MAX_LINE_CHARS
from hybrid_memory.context.summaries.strategies import STRATEGIES
from hybrid_memory.context.summaries.strategy import Job, Room
from hybrid_memory.context.summaries.transcripts import TURN_CHARS
from hybrid_memory.context.summarise import summarise
from hybrid_memory.context.summary import Line
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.text.protection import chunks

CANDIDATES = 4
"""Notes are taken for so many times the budget, and the best of them stay."""

ARTIFACTS = 0.7
"""What a line of files, ids or addresses is worth, where a sentence is worth 0 to 1."""

RESULTS = 0.6
"""Share of its worth that a sentence of a tool's result has: the artifacts tell most of what it says."""

_SCOPE = Scope(agent="condense")


async def noted(
    run: Runner, services: Services, given: Sequence[str | Message], max_tokens: int
) -> tuple[list[Piece], list[float], str]:
    """Notes with the row of the text that they came from, what each is worth, and why a model did not write them."""
    messages = [text if isinstance(text, Message) else _said(text) for text in given]
    events: list[Event] = []
    rows: list[int] = []
    for row, message in enumerate(messages):
        for part in _parts(message):
            events.append(_event(services, len(events) + 1, part))
            rows.append(row)
    artifacts, shown = _artifacts(services, events, max_tokens)
    size = CANDIDATES * max_tokens
    room = Room(standing=size, shown=size, fresh=size, count=services.count, cleaning=services.config.cleaning)
    written = await summarise(run, services, STRATEGIES["anchored"], Job((), events, room), shown)
    notes = [
        *((rows[line.last - 1], _bare(line, messages[rows[line.last - 1]]), line.importance) for line in written.lines),
        *((row, text, worth) for row, message in enumerate(messages) for text, worth in _results(message)),
        *((rows[at], text, ARTIFACTS) for at, text in artifacts),
    ]
    found = [Piece(row, at, at, text, "\n") for at, (row, text, _) in enumerate(notes)]
    return found, [worth for _, _, worth in notes], "without the language model, which failed" if written.failed else ""


def _said(text: str) -> Message:
    # A tool may say nothing; a user may not.
    return Message(role=Role.USER if text.strip() else Role.TOOL, content=text)


def _parts(message: Message) -> Iterator[Message]:
    """The message in parts that a summary reads to the end; it looks at the head and the tail of a longer one."""
    if message.role is Role.TOOL or message.tool_calls or not isinstance(message.content, str):
        yield message
        return
    for part in chunks(message.content, len, TURN_CHARS):
        if part.strip():
            yield message.model_copy(update={"content": part})


def _event(services: Services, position: int, message: Message) -> Event:
    payload = message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "at"})
    return Event(position, str(position), _SCOPE, EventKind.MESSAGE, message.at or services.clock(), payload)


def _bare(line: Line, message: Message) -> str:
    """What a line says, without the speaker."""
    return line.text.removeprefix(f"{message.speaker}: ")


def _results(message: Message) -> Iterator[tuple[str, float]]:
    """The sentences of a tool's result, which no line is taken from, and what they are worth."""
    if message.role is Role.TOOL:
        for piece in pieces(0, message.text):
            if len(piece.text) <= MAX_LINE_CHARS:
                yield piece.text, RESULTS * judged(piece.text).score


def _artifacts(services: Services, events: Sequence[Event], max_tokens: int) -> tuple[list[tuple[int, str]], str]:
    """Lines of files, commands, ids and addresses, each with the place of the event behind it; and all of them."""
    ledger, lines = Ledger(), []
    starts = [at for at, event in enumerate(events) if at == 0 or event.message.role is not Role.TOOL]
    for start, end in pairwise([*starts, len(events)]):
        found = read_on(ledger, [event.message for event in events[start:end]])
        ledger = merge(ledger, found)
        own = render(found, max_tokens=max_tokens // 4, count=services.count)
        lines += [(end - 1, line) for line in own.splitlines()]
    return lines, render(ledger, max_tokens=LEDGER_TOKENS, count=services.count)
