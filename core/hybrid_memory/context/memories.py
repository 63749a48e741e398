"""Memories for a prompt: whether a hit is relevant to the question, and the note that shows it.

A recall returns the best hits there are, however far from the query. See docs/decisions/0046 for measurements.
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
"""The most extra hits to recall for those that are in the prompt anyway."""

SPARE = 3
"""How many times as many hits to recall, as some are not relevant."""

MEMORY_CHARS = 600
"""Longer turns are shown as excerpts; the log has the rest."""

QUESTION_CHARS = 200
"""The same for a question before its answer."""

BESIDE = 0.25
"""If one hit reaches the confidence threshold, this share of it is enough for the others."""


def window(history: Sequence[Message], limit: int) -> list[Message]:
    """The last messages, at most ``limit``, that a chat model accepts as a conversation.

    The first is the user's. An assistant message with tool calls and their results, one each, stay together, even with
    other messages in between: if the cut separates them, or a result is missing, they are left out, like a result
    without a call or a second one for its call. A last turn longer than the limit, such as a question with many rounds
    of tools, is kept whole.
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

    A question with its own line is not repeated with its answer. Empty without hits, unless ``bare``: then only the
    heading.
    """
    wanted = frozenset(terms(query))
    told = {source for hit in hits for source in hit.record.sources}
    lines = [memory_line(hit, wanted) for hit in without_questions(sorted(hits, key=lambda hit: hit.record.id), told)]
    heading = MEMORY_HEADINGS[language_of(query or "".join(lines))]
    return "\n".join([heading, *lines]) if lines or bare else ""


def memory_line(hit: Hit, wanted: frozenset[str]) -> str:
    """The entry of a hit in a note: date, speaker and words; of a long turn, the part with the wanted terms.

    The question that it answers comes first, with its speaker.
    """
    record = hit.record
    text = excerpt(record.text, wanted, MEMORY_CHARS)
    # What was read from a turn names its subject itself.
    line = text if record.kind is RecordKind.FACT else f"{_speaker(record)}: {text}"
    return f"- [{record.at:%Y-%m-%d}] {within_line(question_line(hit, wanted) + line)}"


def question_line(hit: Hit, wanted: frozenset[str]) -> str:
    """The question that a hit answers, on one line with its speaker; empty without one."""
    if hit.asked is None:
        return ""
    return f"{_speaker(hit.asked)}: {' '.join(excerpt(hit.asked.text, wanted, QUESTION_CHARS).split())} -> "


def without_questions(hits: Iterable[Hit], shown: Collection[str]) -> list[Hit]:
    """The hits without questions that are shown anyway; ``shown`` are ids of messages."""
    return [hit if hit.asked is None or hit.asked.sources[0] not in shown else replace(hit, asked=None) for hit in hits]


def _speaker(record: Record) -> str:
    return speaker(record.origin, record.speaker, record.text)


async def recalled(run: Runner, services: Services, seen: PromptView) -> list[Hit]:
    """The memories to show for the question, best first: relevant ones that are not in the prompt anyway."""
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
    """Whether a session is below another, like a sub-agent's, whose answer is in the other anyway."""
    return parent is not None and session is not None and session.startswith(f"{parent}/")


async def _calls_alone(run: Runner, services: Services, scope: Scope, hits: Sequence[Hit]) -> set[str]:
    """Messages that only call tools: they say nothing without their results, which are found themselves."""
    asked = [hit.record.sources[0] for hit in hits if hit.record.speaker == Role.ASSISTANT]
    events = await run.call(services.log.get, scope.owner, asked) if asked else []
    return {event.id for event in events if event.kind is EventKind.MESSAGE and _only_calls(event.message)}


def _only_calls(message: Message) -> bool:
    return bool(message.tool_calls) and not payload_of(message).strip()


def fitting(hits: Sequence[Hit], min_confidence: float) -> list[Hit]:
    """The hits relevant enough for a prompt, in order; none unless one reaches the confidence threshold.

    If one does, a quarter of the threshold is enough for the others, since the answer is often next to the turn that
    resembles the question. Where the confidence is unknown, common words decide.
    """
    sure = [_confidence(hit) for hit in hits]
    if not any(share >= min_confidence for share in sure):
        return []
    return [hit for hit, share in zip(hits, sure, strict=True) if share >= BESIDE * min_confidence]


def _confidence(hit: Hit) -> float:
    return float(hit.signals.text > 0) if hit.confidence is None else hit.confidence
