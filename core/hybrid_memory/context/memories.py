"""What is recalled for a prompt: whether a hit has to do with the question, and the note that shows it.

A recall returns the best that there is, however far from the query. What was measured is in docs/decisions/0037.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.text.asking import asking_share, asks_nothing, is_memory
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

FLOOR = 0.19
"""What the best must reach."""

LEAST = 0.0
"""What each beside it must exceed: an average turn without a common word."""

WORDS = 0.4
"""What common words count beside nearness of meaning."""

USUAL = 0.13
"""The closeness of the best hit where nothing fits; and where nothing tells it, that of a hit which has
common words or stands next to one that does."""

TYPICAL = 10.0
"""The weight of all terms of a short question."""

PAIR = 2

MANY = 30
"""Texts among which a term is rare or common; of fewer, those that are missing have none."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What a chat needs before the next turn.

    Attributes:
        recent: the last messages, beginning with the user's, without orphaned tool results or unanswered calls.
        note: the recalled turns that are not among them, as text; empty if there are none.
        hits: those turns, best first.
    """

    recent: list[Message]
    note: str
    hits: list[Hit]


def recollect(history: Sequence[Message], hits: Sequence[Hit], query: str, *, limit: int, k: int) -> Recollection:
    """At most ``limit`` recent messages, and a note of the k best hits that are not among them and fit the query."""
    recent = window(history, limit)
    shown = {message.id for message in recent}
    fresh = [hit for hit in hits if not shown.intersection(hit.record.sources) and is_memory(hit.record.text)]
    fits = fitting(query, fresh[:k])
    return Recollection(recent=recent, note=memory_note(fits), hits=fits)


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

    Empty without hits, unless it is ``bare``: then the heading alone.
    """
    records = sorted((hit.record for hit in hits), key=lambda record: record.id)
    wanted = frozenset(terms(query))
    lines = [memory_line(record, wanted) for record in records]
    heading = MEMORY_HEADINGS[language_of(query or "".join(lines))]
    return "\n".join([heading, *lines]) if lines or bare else ""


def memory_line(record: Record, wanted: frozenset[str]) -> str:
    """A record as a note shows it: date, speaker, and of a long turn the part that has the wanted terms; one entry."""
    text = excerpt(record.text, wanted, MEMORY_CHARS)
    # What was read from a turn names its subject itself.
    line = text if record.kind is RecordKind.FACT else f"{_speaker(record)}: {text}"
    return f"- [{record.at:%Y-%m-%d}] {within_line(line)}"


def _speaker(record: Record) -> str:
    return speaker(record.origin, record.speaker, record.text)


async def recalled(run: Runner, services: Services, seen: PromptView) -> list[Hit]:
    """What to show for the question, best first: what has to do with it, and does not stand in the prompt anyway."""
    request, scope = seen.request, seen.session.scope
    if not request.k or not seen.words or seen.shown_note is not None or asks_nothing(seen.words):
        return []
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
    return fitting(seen.words, [hit for hit in fresh if hit.record.sources[0] not in bare][: request.k])


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


def fitting(query: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that may stand in a prompt as memories, in their order; none where the best of them does not fit.

    A hit fits by ``closeness + 0.4 * common words``, or because
    it has word for word what the query quotes, or lies in the time that it asks about. One must reach the floor; beside
    it more than nothing is enough, since what is asked for often stands next to the turn that resembles the question.
    """
    shared = common_words(query, [hit.record.text for hit in hits])
    fits = [
        math.inf if _asked_for(hit, query) else _nearness(hit, words, among=len(hits)) + WORDS * words
        for hit, words in zip(hits, shared, strict=True)
    ]
    if not any(fit >= FLOOR for fit in fits):
        return []
    return [hit for hit, fit in zip(hits, fits, strict=True) if fit > LEAST]


def common_words(query: str, texts: Sequence[str]) -> list[float]:
    """``w / sqrt(10 * all)`` of each text, for the weights of the query's terms: of those that it has, and of all.

    A term weighs ``log(1 + texts / texts with it)``, for 30 texts or more. The root counts for long queries, of which a
    text that fits has a small share.
    """
    wanted = set(terms(query))
    found = [wanted.intersection(terms(text)) for text in texts]
    many = max(len(texts), MANY)
    weights = {term: math.log(1 + many / (sum(term in those for those in found) or 0.5)) for term in wanted}
    scale = math.sqrt(TYPICAL * sum(weights.values())) or 1.0
    return [sum(weights[term] for term in those) / scale for those in found]


def _asked_for(hit: Hit, query: str) -> bool:
    in_time = hit.weights.temporal > 0 and hit.signals.temporal == 1 and asking_share(query) > 0
    return in_time or hit.signals.exact > 0


def _nearness(hit: Hit, words: float, *, among: int) -> float:
    if hit.closeness is None:
        # Of two turns each stands next to the other.
        return USUAL if words or (hit.signals.neighbours and among > PAIR) else 0.0
    return hit.closeness
