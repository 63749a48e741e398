"""``condense``: shortens texts to a token budget, by whole sentences or word by word."""

from __future__ import annotations

import heapq
import logging
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

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
from hybrid_memory.validation import checked_count

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


async def condense(
    run: Runner, services: Services, given: Sequence[str | Message], *, query: str | None, max_tokens: int, how: How
) -> Condensed:
    """The texts, shortened to this many tokens in total; unchanged if they fit.

    Raises:
        InvalidInputError: there is no compressor, the query is empty, or the budget is below 1.
    """
    job = _Job(
        texts=[text.text if isinstance(text, Message) else text for text in given],
        heads=[f"{text.speaker}: " if isinstance(text, Message) else "" for text in given],
        query=None if query is None else checked_query(query),
        max_tokens=checked_count("max_tokens", max_tokens, least=1),
        count=services.count,
    )
    compressor = services.compressor if how == "llmlingua" else None
    if how == "llmlingua" and compressor is None:
        raise InvalidInputError("how='llmlingua' needs a compressor: open_memory(..., compressor=...)")
    whole = [head + text if text else "" for head, text in zip(job.heads, job.texts, strict=True)]
    before = await run.call(job.tokens, whole)  # the first count may read the encoding's table
    if sum(before) <= job.max_tokens:
        return Condensed(tuple(whole), before, before)
    if compressor is not None:
        return replace(await _compressed(run, job, compressor), before=before)
    texts = job.extracted()
    return Condensed(tuple(texts), before, job.tokens(texts), "extractive")


async def _compressed(run: Runner, job: _Job, compressor: TextCompressor) -> Condensed:
    """Each text without less informative words, to its share of the budget; by sentences if that fails."""
    sizes = job.tokens([text.strip() and text for text in job.texts])
    share = (job.max_tokens - sum(job.tokens(job.heads))) / max(sum(sizes), 1)
    texts, failed, error = [], 0, ""
    for text, size in zip(job.texts, sizes, strict=True):
        room = int(size * share)
        if room < 1:
            texts.append("")
            continue
        try:
            texts.append(await run.call(compressor.compress, text, max_tokens=room))
        except Exception as failure:  # noqa: BLE001 - whatever a model fails with
            _log.warning("%s; shortened by sentences", failure)
            failed, error = failed + 1, f"{type(failure).__name__}: {failure}"
            texts += replace(job, texts=[text], heads=[""], max_tokens=room).extracted()
    result = [head + text if text.strip() else "" for head, text in zip(job.heads, texts, strict=True)]
    if sum(job.tokens(result)) > job.max_tokens:  # the compressor counts in its own tokens
        result = replace(job, texts=texts).extracted()
    how: How = "llmlingua" if failed < sum(size * share >= 1 for size in sizes) else "extractive"
    note = f"{failed} texts by sentences, {error}" if failed else ""
    return Condensed(tuple(result), (), job.tokens(result), how, note)


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
    for piece, whole in pieces_of(text, len, len(text) + 1):
        if whole:
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
class _Job:
    """Texts to shorten to a budget in total, and what comes before each that is not empty."""

    texts: Sequence[str]
    heads: Sequence[str]
    query: str | None
    max_tokens: int
    count: TokenCounter

    def tokens(self, texts: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.count(text) if text else 0 for text in texts)

    def extracted(self) -> list[str]:
        """The most important sentences of all texts together, by themselves and for the query.

        The tokens of fragments do not always add up to those of the joined text: then the last selected are dropped.
        """
        kept = self._chosen()

        def written(row: int) -> str:
            left = sorted((piece for piece in kept if piece.row == row), key=lambda piece: piece.start)
            return self.heads[row] + joined(self.texts[row], left) if left else ""

        result = [written(row) for row in range(len(self.texts))]
        tokens = list(self.tokens(result))
        while sum(tokens) > self.max_tokens:
            row = kept.pop().row
            result[row] = written(row)
            (tokens[row],) = self.tokens([result[row]])
        return result

    def _chosen(self) -> list[Fragment]:
        """The best fragments within the budget, in the order of selection.

        Repeatedly selects the one with the highest ``worth * (0.5 + 0.5 * new / all)``, counted in terms, that still
        fits: a paraphrase of selected text is worth half, a repetition nothing.
        """
        offered = [piece for row, text in enumerate(self.texts) for piece in fragments(row, text)]
        worths = [judged(piece.text[:JUDGED_CHARS]).score for piece in offered]
        if self.query is not None and offered:
            pairs = zip(by_words(self.query, [piece.text for piece in offered]).tolist(), worths, strict=True)
            worths = [RELEVANCE * relevance + (1 - RELEVANCE) * worth for relevance, worth in pairs]
        words = [frozenset(terms(piece.text)) for piece in offered]
        costs = [self.count(piece.gap + piece.text) for piece in offered]
        opening, left = self.tokens(self.heads), self.max_tokens
        said: set[str] = set()
        repeated: set[str] = set()
        begun: set[int] = set()
        kept: list[Fragment] = []
        heap = [(-worth, at) for at, worth in enumerate(worths)]
        heapq.heapify(heap)
        while heap:
            _, at = heapq.heappop(heap)
            piece = offered[at]
            cost = costs[at] + (0 if piece.row in begun else opening[piece.row])
            if cost > left or piece.text in repeated:
                continue
            gain = worths[at] * (1 - NOVEL + NOVEL * len(words[at] - said) / max(len(words[at]), 1))
            # A gain only falls as more is said, so one that still leads is the highest.
            if heap and gain < -heap[0][0]:
                heapq.heappush(heap, (-gain, at))
                continue
            kept.append(piece)
            begun.add(piece.row)
            repeated.add(piece.text)
            said |= words[at]
            left -= cost
        return kept
