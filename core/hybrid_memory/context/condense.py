"""``condense``: shortens texts to a token budget, by whole sentences or word by word."""

from __future__ import annotations

import heapq
import logging
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, TypeAlias

from hybrid_memory.context.lines import judged
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.models.port import TextCompressor
from hybrid_memory.recall.plan import checked_query
from hybrid_memory.recall.signals import by_words
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text.sentences import chunks, pieces_of, sentences
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.validation import whole

How: TypeAlias = Literal["extractive", "llmlingua"]

RELEVANCE = 0.9
"""The weight of relevance to the query in a sentence's worth; the rest is its own importance.

Relevance goes by words: embedding each sentence takes a hundred times as long and finds hardly more.
"""

JUDGED_CHARS = 400
"""How much of a long sentence or code block is scored."""

MAX_FRAGMENT_CHARS = 400

NOVEL = 0.5
"""The share of a sentence's worth that depends on saying something new."""

_log = logging.getLogger(__name__)


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

    def __repr__(self) -> str:
        how = f" {self.how}" if self.how else ""
        return f"<Condensed{how}: {len(self.texts)} texts, {sum(self.before)} tokens to {sum(self.after)}>"


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

    @classmethod
    def of(cls, texts: Sequence[str | Message], *, query: str | None, max_tokens: int, how: How) -> Self:
        """The request; raises `InvalidInputError` if an argument is invalid."""
        return cls(
            given=texts,
            texts=[text.text if isinstance(text, Message) else text for text in texts],
            heads=[f"{text.speaker}: " if isinstance(text, Message) else "" for text in texts],
            query=None if query is None else checked_query(query),
            max_tokens=whole("max_tokens", max_tokens, 1),
            how=how,
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
        outcome = await _compressed(run, services, request, compressor)
    else:
        outcome = _Outcome(_extracted(services, request), "extractive", "")
    return Condensed(tuple(outcome.texts), before, _tokens(services, outcome.texts), outcome.how, outcome.note)


def _tokens(services: Services, texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(services.count(text) if text else 0 for text in texts)


def _extracted(services: Services, request: CondenseRequest) -> list[str]:
    """The most important sentences of all texts together, by themselves and for the query."""
    offered = [piece for row, text in enumerate(request.texts) for piece in fragments(row, text)]
    worths = [judged(piece.text[:JUDGED_CHARS]).score for piece in offered]
    if request.query is not None and offered:
        pairs = zip(by_words(request.query, [piece.text for piece in offered]).tolist(), worths, strict=True)
        worths = [RELEVANCE * relevance + (1 - RELEVANCE) * worth for relevance, worth in pairs]
    offers = [
        Offer(piece, worth, services.count(piece.gap + piece.text), frozenset(terms(piece.text)))
        for piece, worth in zip(offered, worths, strict=True)
    ]
    kept = chosen(offers, _tokens(services, request.heads), max_tokens=request.max_tokens)
    return fitted(kept, request.texts, request.heads, max_tokens=request.max_tokens, count=services.count)


async def _compressed(
    run: Runner, services: Services, request: CondenseRequest, compressor: TextCompressor
) -> _Outcome:
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
            texts.append(_extracted(services, part)[0])
    note = f"{failed} texts by sentences, {error}" if failed else ""
    result = [head + text if text.strip() else "" for head, text in zip(request.heads, texts, strict=True)]
    how: How = "llmlingua" if failed < sum(size * share >= 1 for size in sizes) else "extractive"
    if sum(_tokens(services, result)) > request.max_tokens:  # the compressor counts in its own tokens
        result = _extracted(services, replace(request, texts=texts))
    return _Outcome(result, how, note)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A sentence, a list item or a code block.

    Attributes:
        row: the index of its text; start, end: its characters there.
        gap: the characters between it and the previous fragment.
    """

    row: int
    start: int
    end: int
    text: str
    gap: str = ""


def fragments(row: int, text: str) -> list[Fragment]:
    """The sentences of a text, long ones in parts; never splits URLs, code, quotations and other protected text."""
    protected: list[tuple[int, int]] = []
    at = 0
    for piece, fixed in pieces_of(text, len, len(text) + 1):
        if fixed:
            protected.append((at, at + len(piece)))
        at += len(piece)
    spans: list[tuple[int, int]] = []
    end = 0
    parts = (part.strip() for sentence in sentences(text) for part in chunks(sentence, len, MAX_FRAGMENT_CHARS))
    for part in filter(None, parts):
        start = text.index(part, end)
        end = start + len(part)
        place = bisect_left(protected, (start, 0)) - 1
        if spans and place >= 0 and start < protected[place][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    before = [0, *(end for _, end in spans)]
    return [
        Fragment(row, start, end, text[start:end], text[before[at] : start] if at else "")
        for at, (start, end) in enumerate(spans)
    ]


def joined(text: str, kept: Sequence[Fragment]) -> str:
    """Pieces of a text joined in order; keeps line breaks between them."""
    parts: list[str] = []
    for at, fragment in enumerate(kept):
        if at:
            between = text[kept[at - 1].end : fragment.start]
            parts.append("\n" if "\n" in between and "\n" not in fragment.gap else fragment.gap)
        parts.append(fragment.text)
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate for the shortened text.

    Attributes:
        fragment: the fragment.
        worth: 0 or more; tokens: its cost.
        terms: its terms.
    """

    fragment: Fragment
    worth: float
    tokens: int
    terms: frozenset[str]


def chosen(offers: Sequence[Offer], opening: Sequence[int], *, max_tokens: int) -> list[Offer]:
    """The best candidates within the budget, in the order of selection.

    Repeatedly selects the one with the highest ``worth * (0.5 + 0.5 * new / all)``, counted in terms, that still fits:
    a paraphrase of selected text is worth half, a repetition nothing.

    Args:
        offers: the candidates of all texts.
        opening: by text, the extra tokens of its first fragment.
        max_tokens: the budget of all together.
    """
    said: set[str] = set()
    repeated: set[str] = set()
    begun: set[int] = set()
    kept: list[Offer] = []
    heap = [(-offer.worth, at) for at, offer in enumerate(offers)]
    heapq.heapify(heap)
    while heap:
        _, at = heapq.heappop(heap)
        offer = offers[at]
        cost = offer.tokens + (0 if offer.fragment.row in begun else opening[offer.fragment.row])
        if cost > max_tokens or offer.fragment.text in repeated:
            continue
        gain = offer.worth * (1 - NOVEL + NOVEL * len(offer.terms - said) / max(len(offer.terms), 1))
        # A gain only falls as more is said, so one that still leads is the highest.
        if heap and gain < -heap[0][0]:
            heapq.heappush(heap, (-gain, at))
            continue
        kept.append(offer)
        begun.add(offer.fragment.row)
        repeated.add(offer.fragment.text)
        said |= offer.terms
        max_tokens -= cost
    return kept


def fitted(
    kept: Sequence[Offer], texts: Sequence[str], heads: Sequence[str], *, max_tokens: int, count: TokenCounter
) -> list[str]:
    """The selected fragments of each text after its head, empty without any; drops the last selected if necessary.

    The tokens of fragments do not always add up to those of the joined text.
    """
    by_row: dict[int, list[Offer]] = {}
    for offer in kept:
        by_row.setdefault(offer.fragment.row, []).append(offer)

    def written(row: int) -> str:
        left = sorted((offer.fragment for offer in by_row[row]), key=lambda fragment: fragment.start)
        return heads[row] + joined(texts[row], left) if left else ""

    result = [written(row) if row in by_row else "" for row in range(len(texts))]
    tokens = [count(text) if text else 0 for text in result]
    for offer in reversed(kept):
        if sum(tokens) <= max_tokens:
            break
        row = offer.fragment.row
        by_row[row].pop()
        result[row] = written(row)
        tokens[row] = count(result[row]) if result[row] else 0
    return result
