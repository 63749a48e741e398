"""What is recalled for a prompt: whether a hit has to do with the question, and the note that shows it.

A recall returns the best that there is, however far from the query. What was measured is in docs/decisions/0046.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from hybrid_memory.context.layout import MEMORY_HEADINGS, language_of
from hybrid_memory.context.offload.payloads import payload_of
from hybrid_memory.context.view import PromptView
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.exchanges import exchanges
from hybrid_memory.log.message import Message, Role
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.recall import recall
from hybrid_memory.recall.request import Request as RecallRequest
from hybrid_memory.recall.spans import asks, finds
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.text.asking import asks_nothing, is_memory
from hybrid_memory.text.marks import within_line
from hybrid_memory.text.sentences import excerpt
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.voices import speaker

IN_SIGHT = 100
"""Hits that stand in the prompt anyway, at most, beyond which nothing else is looked for."""

SPARE = 3
"""Times as many hits are recalled, to make up for what is no memory."""

MEMORY_CHARS = 600
"""Of a longer turn an excerpt is shown; the log has the rest."""

QUESTION_CHARS = 200
"""The same of a question before its answer."""

BESIDE = 0.25
"""Of the confidence that one hit must have, the share that is enough for each beside it."""


def window(history: Sequence[Message], limit: int) -> list[Message]:
    """The last messages, at most ``limit``, that a chat model accepts as a conversation.

    The first is the user's. An assistant message with tool calls and their results, one for each, stand together, also
    if somebody spoke in between: if the cut falls between them, or a result is missing, they are left out, and so is a
    result without a call or beyond the first for its call. A last turn that is longer than the limit, such as a
    question with many rounds of tools, is kept whole.
    """
    if limit <= 0:
        return []
    latest = max((row for row, message in enumerate(history) if message.role is Role.USER), default=0)
    newest = history[min(latest, max(0, len(history) - limit)) :]
    kept = [newest[row] for exchange in exchanges(newest) if exchange.complete for row in exchange.rows]
    first = next((row for row, message in enumerate(kept) if message.role is Role.USER), len(kept))
    return kept[first:]


def memory_note(hits: Sequence[Hit], query: str = "", *, bare: bool = False) -> str:
    """The hits as lines with date and speaker, oldest first, under a heading in the language of the query.

    A question that has a line of its own is not told once more with its answer. Empty without hits, unless it is
    ``bare``: then the heading alone.
    """
    wanted = frozenset(terms(query))
    told = {source for hit in hits for source in hit.record.sources}
    lines = [memory_line(hit, wanted) for hit in without_questions(sorted(hits, key=lambda hit: hit.record.id), told)]
    heading = MEMORY_HEADINGS[language_of(query or "".join(lines))]
    return "\n".join([heading, *lines]) if lines or bare else ""


def memory_line(hit: Hit, wanted: frozenset[str]) -> str:
    """A hit as a note shows it: date, speaker, and of a long turn the part that has the wanted terms; one entry.

    A question that it answers stands before it, with who asked.
    """
    record = hit.record
    text = excerpt(record.text, wanted, MEMORY_CHARS)
    # What was read from a turn names its subject itself.
    line = text if record.kind is RecordKind.FACT else f"{_speaker(record)}: {text}"
    return f"- [{record.at:%Y-%m-%d}] {within_line(question_line(hit, wanted) + line)}"


def question_line(hit: Hit, wanted: frozenset[str]) -> str:
    """The question that a hit answers, as it stands before it in one line: who asked, and what; empty without one."""
    if hit.asked is None:
        return ""
    return f"{_speaker(hit.asked)}: {' '.join(excerpt(hit.asked.text, wanted, QUESTION_CHARS).split())} -> "


def without_questions(hits: Iterable[Hit], shown: Collection[str]) -> list[Hit]:
    """The hits, without those of their questions that are shown anyway; ``shown`` are ids of messages."""
    return [hit if hit.asked is None or hit.asked.sources[0] not in shown else replace(hit, asked=None) for hit in hits]


def _speaker(record: Record) -> str:
    return speaker(record.origin, record.speaker, record.text)


async def recalled(run: Runner, services: Services, seen: PromptView) -> list[Hit]:
    """What to show for the question, best first: what has to do with it, and does not stand in the prompt anyway."""
    request = seen.request
    if not request.k or not seen.words or seen.shown_note is not None or asks_nothing(seen.words):
        return []
    return await _memories(run, services, seen)


def _asks(span: Span, given: Given) -> None:
    seen: PromptView = given["seen"]
    asks(span, seen.words, seen.request.k, seen.session.scope)


@traced("recall", _asks, finds)
async def _memories(run: Runner, services: Services, seen: PromptView) -> list[Hit]:
    request, scope = seen.request, seen.session.scope
    wanted = RecallRequest.of(
        scope,
        seen.words,
        k=SPARE * request.k + min(len(seen.visible), IN_SIGHT),
        within="user",
        kinds=(RecordKind.TURN,),  # the words themselves; what was read from them stands in the profile
        categories=(),
        since=None,
        until=None,
        metadata=None,
        weights=None,
    )
    hits = await recall(run, services, wanted)
    texts = {message.text.strip() for unit in seen.units for message in unit.messages}
    beside = request.host.beside
    fresh = [
        hit
        for hit in hits
        if not seen.visible.intersection(hit.record.sources)
        and hit.record.text.strip() not in texts
        and is_memory(hit.record.text)
        and not _works_for(hit.record.scope.session, scope.session)
        and (beside is None or hit.record.scope.session != beside)
        and not _works_for(hit.record.scope.session, beside)
    ]
    bare = await _calls_alone(run, services, scope, fresh)
    shown = [hit for hit in fresh if hit.record.sources[0] not in bare][: request.k]
    shown = without_questions(shown, seen.visible)
    return fitting(shown, services.config.prompt.min_confidence)


def _works_for(session: str | None, parent: str | None) -> bool:
    """Whether a session is one beneath another, as that of a sub-agent, whose answer stands in the other anyway."""
    return parent is not None and session is not None and session.startswith(f"{parent}/")


async def _calls_alone(run: Runner, services: Services, scope: Scope, hits: Sequence[Hit]) -> set[str]:
    """Those that only call tools: without their results they say nothing, and the results are found themselves."""
    asked = [hit.record.sources[0] for hit in hits if hit.record.speaker == Role.ASSISTANT]
    events = await run.call(services.log.get, scope.owner, asked) if asked else []
    return {event.id for event in events if event.kind is EventKind.MESSAGE and _only_calls(event.message)}


def _only_calls(message: Message) -> bool:
    return bool(message.tool_calls) and not payload_of(message).strip()


def fitting(hits: Sequence[Hit], min_confidence: float) -> list[Hit]:
    """The hits that may stand in a prompt as memories, in their order; none where no hit is as sure as that to answer.

    Beside one that is, a quarter of it is enough, since what is asked for often stands next to the turn that resembles
    the question. Where nothing tells how sure a hit is, common words do.
    """
    sure = [_confidence(hit) for hit in hits]
    if not any(share >= min_confidence for share in sure):
        return []
    return [hit for hit, share in zip(hits, sure, strict=True) if share >= BESIDE * min_confidence]


def _confidence(hit: Hit) -> float:
    return float(hit.signals.text > 0) if hit.confidence is None else hit.confidence
