"""``condense``: shortens texts to a token budget, by whole sentences, by a summary's notes, or word by word."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, Self, TypeAlias

from hybrid_memory.artifacts import merge, read_on, render
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.config.memory import Weights
from hybrid_memory.context.compact import LEDGER_TOKENS
from hybrid_memory.context.extractive import Fragment, Offer, chosen, fitted, fragments
from hybrid_memory.context.summaries.anchored import Anchored
from hybrid_memory.context.summaries.importance import judged
from hybrid_memory.context.summaries.lines import MAX_LINE_CHARS
from hybrid_memory.context.summaries.strategy import TURN_CHARS, SummaryJob, SummaryRoom
from hybrid_memory.context.summaries.summarise import summarise
from hybrid_memory.context.summary import Line
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role
from hybrid_memory.models.port import TextCompressor
from hybrid_memory.recall import texts as score
from hybrid_memory.recall.plan import checked_query
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.text.protection import chunks
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import checked_count

How: TypeAlias = Literal["extractive", "llmlingua", "anchored"]

RELEVANCE = 0.9
"""The weight of relevance to the query in a sentence's worth; the rest is its own importance."""

WORDS = Weights(vector=0.0, text=1.0)
"""The default scoring of sentences: without a model, because embedding each sentence takes a hundred times as long and
finds hardly more.
"""

JUDGED_CHARS = 400
"""How much of a long sentence or code block is scored."""

_log = logging.getLogger(__name__)

CANDIDATES = 4
"""Notes are taken for this many times the budget, and the best are kept."""

ARTIFACTS = 0.7
"""The worth of a line of files, ids or addresses, where sentences are worth 0 to 1."""

RESULTS = 0.6
"""The factor for sentences of a tool's result: the artifacts contain most of what it says."""

_SCOPE = Scope(agent="condense")


@dataclass(frozen=True, slots=True)
class Condensed:
    """The result of shortening texts.

    Attributes:
        texts: one for each text given, in the same order; empty if no part of it fits.
        before, after: tokens of each.
        how: the method; empty if everything fitted unchanged.
        note: anything unusual, such as a model that failed.
    """

    texts: tuple[str, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    how: str = ""
    note: str = ""

    @property
    def tokens_before(self) -> int:
        """The tokens of all texts before."""
        return sum(self.before)

    @property
    def tokens_after(self) -> int:
        """The tokens of all texts after."""
        return sum(self.after)

    def __repr__(self) -> str:
        how = f" {self.how}" if self.how else ""
        return f"<Condensed{how}: {len(self.texts)} texts, {self.tokens_before} tokens to {self.tokens_after}>"


class _Outcome(NamedTuple):
    texts: Sequence[str]
    how: How
    note: str


@dataclass(frozen=True, slots=True)
class CondenseRequest:
    """A validated call of condense.

    Attributes:
        given: texts and messages.
        texts: their words; heads: the prefix of each non-empty text.
    """

    given: Sequence[str | Message]
    texts: Sequence[str]
    heads: Sequence[str]
    query: str | None
    max_tokens: int
    how: How
    weights: Weights

    @classmethod
    def of(
        cls, texts: Sequence[str | Message], *, query: str | None, max_tokens: int, how: How, weights: Weights | None
    ) -> Self:
        """The request; raises `InvalidInputError` if an argument is invalid."""
        return cls(
            given=texts,
            texts=[text.text if isinstance(text, Message) else text for text in texts],
            heads=[f"{text.speaker}: " if isinstance(text, Message) else "" for text in texts],
            query=None if query is None else checked_query(query),
            max_tokens=checked_count("max_tokens", max_tokens, least=1),
            how=how,
            weights=WORDS if weights is None else weights,
        )


async def condense(run: Runner, services: Services, request: CondenseRequest) -> Condensed:
    """The texts, shortened to this many tokens in total; unchanged if they fit."""
    compressor = services.compressor if request.how == "llmlingua" else None
    if request.how == "llmlingua" and compressor is None:
        raise InvalidInputError("how='llmlingua' needs a compressor: open_memory(..., compressor=...)")
    whole = [head + text if text else "" for head, text in zip(request.heads, request.texts, strict=True)]
    before = await run.call(_tokens, services, whole)  # the first count may read the encoding's table
    if sum(before) <= request.max_tokens:
        return Condensed(tuple(whole), before, before)
    if compressor is not None:
        outcome = await _shortened(run, services, request, compressor)
    elif request.how == "anchored":
        outcome = await _by_notes(run, services, request)
    else:
        outcome = await _extracted(run, services, request)
    return Condensed(tuple(outcome.texts), before, _tokens(services, outcome.texts), outcome.how, outcome.note)


def _tokens(services: Services, texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(services.count(text) if text else 0 for text in texts)


async def _extracted(run: Runner, services: Services, request: CondenseRequest) -> _Outcome:
    """The most important sentences of all texts together."""
    offered = [piece for row, text in enumerate(request.texts) for piece in fragments(row, text)]
    worths = [judged(piece.text[:JUDGED_CHARS]).score for piece in offered]
    texts, note = await _best(run, services, request, offered, worths, texts=request.texts)
    return _Outcome(texts, "extractive", note)


async def _by_notes(run: Runner, services: Services, request: CondenseRequest) -> _Outcome:
    """The notes of an anchored summary: decisions, facts, tasks, files and ids."""
    notes, worths, failure = await take_notes(run, services, request.given, request.max_tokens)
    texts, note = await _best(run, services, request, notes, worths, texts=[""] * len(request.texts))
    return _Outcome(texts, "anchored", "; ".join(part for part in (failure, note) if part))


async def _best(
    run: Runner,
    services: Services,
    request: CondenseRequest,
    offered: Sequence[Fragment],
    worths: Sequence[float],
    *,
    texts: Sequence[str],
) -> tuple[list[str], str]:
    """What is most important by itself and for the query, within the budget; and a note."""
    note = ""
    if request.query is not None and offered:
        asked = score.Request.of(request.query, [piece.text for piece in offered], weights=request.weights)
        found = await score.measured(run, services, asked)
        pairs = zip(found.scores.tolist(), worths, strict=True)
        worths, note = [RELEVANCE * relevance + (1 - RELEVANCE) * worth for relevance, worth in pairs], found.note
    offers = [
        Offer(piece, worth, services.count(piece.gap + piece.text), frozenset(terms(piece.text)))
        for piece, worth in zip(offered, worths, strict=True)
    ]
    kept = chosen(offers, _tokens(services, request.heads), max_tokens=request.max_tokens)
    return fitted(kept, texts, request.heads, max_tokens=request.max_tokens, count=services.count), note


async def _shortened(run: Runner, services: Services, request: CondenseRequest, compressor: TextCompressor) -> _Outcome:
    """Each text without less informative words, to its share of the budget; by sentences if that fails."""
    sizes = [services.count(text) if text.strip() else 0 for text in request.texts]
    share = (request.max_tokens - sum(_tokens(services, request.heads))) / max(sum(sizes), 1)
    texts, failed, error = [], 0, ""
    for text, size in zip(request.texts, sizes, strict=True):
        room = int(size * share)
        if room < 1:
            texts.append("")
            continue
        try:
            texts.append(await run.call(compressor.compress, text, max_tokens=room))
        except Exception as failure:  # noqa: BLE001 - whatever a model fails with
            _log.warning("%s; shortened by sentences", failure)
            failed, error = failed + 1, f"{type(failure).__name__}: {failure}"
            part = replace(request, texts=[text], heads=[""], max_tokens=room)
            texts.append((await _extracted(run, services, part)).texts[0])
    note = f"{failed} texts by sentences, {error}" if failed else ""
    result = [head + text if text.strip() else "" for head, text in zip(request.heads, texts, strict=True)]
    how: How = "llmlingua" if failed < sum(size * share >= 1 for size in sizes) else "extractive"
    if sum(_tokens(services, result)) > request.max_tokens:  # the compressor counts in its own tokens
        result = list((await _extracted(run, services, replace(request, texts=texts))).texts)
    return _Outcome(result, how, note)


async def take_notes(
    run: Runner, services: Services, given: Sequence[str | Message], max_tokens: int
) -> tuple[list[Fragment], list[float], str]:
    """Notes with the row of their text and their importance, and why a model did not write them."""
    messages = [text if isinstance(text, Message) else _said(text) for text in given]
    events: list[Event] = []
    rows: list[int] = []
    for row, message in enumerate(messages):
        for part in _parts(message):
            events.append(_event(services, len(events) + 1, part))
            rows.append(row)
    artifacts, shown = _artifacts(services, events, max_tokens)
    size = CANDIDATES * max_tokens
    room = SummaryRoom(standing=size, shown=size, fresh=size, count=services.count, cleaning=services.config.cleaning)
    written = await summarise(run, services, Anchored(), SummaryJob((), events, room), shown)
    notes = [
        *((rows[line.last - 1], _bare(line, messages[rows[line.last - 1]]), line.importance) for line in written.lines),
        *((row, text, worth) for row, message in enumerate(messages) for text, worth in _results(message)),
        *((rows[at], text, ARTIFACTS) for at, text in artifacts),
    ]
    found = [Fragment(row, at, at, text, "\n") for at, (row, text, _) in enumerate(notes)]
    return found, [worth for _, _, worth in notes], "without the language model, which failed" if written.failed else ""


def _said(text: str) -> Message:
    # A tool may say nothing; a user may not.
    return Message(role=Role.USER if text.strip() else Role.TOOL, content=text)


def _parts(message: Message) -> Iterator[Message]:
    """The message in parts short enough for a summary, which only reads the head and tail of long messages."""
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
    """The line without its speaker."""
    return line.text.removeprefix(f"{message.speaker}: ")


def _results(message: Message) -> Iterator[tuple[str, float]]:
    """The sentences of a tool's result, which gives no summary lines, and their importance."""
    if message.role is Role.TOOL:
        for piece in fragments(0, message.text):
            if len(piece.text) <= MAX_LINE_CHARS:
                yield piece.text, RESULTS * judged(piece.text).score


def _artifacts(services: Services, events: Sequence[Event], max_tokens: int) -> tuple[list[tuple[int, str]], str]:
    """Lines of files, commands, ids and addresses, each with the position of its event; and all of them joined."""
    ledger, lines = Ledger(), []
    starts = [at for at, event in enumerate(events) if at == 0 or event.message.role is not Role.TOOL]
    for start, end in pairwise([*starts, len(events)]):
        found = read_on(ledger, [event.message for event in events[start:end]])
        ledger = merge(ledger, found)
        own = render(found, max_tokens=max_tokens // 4, count=services.count)
        lines += [(end - 1, line) for line in own.splitlines()]
    return lines, render(ledger, max_tokens=LEDGER_TOKENS, count=services.count)
