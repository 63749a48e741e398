"""Shortens texts by leaving out whole sentences; the rest stays word for word."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_memory.text.protection import chunks, pieces_of
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokens import TokenCounter

MAX_FRAGMENT_CHARS = 400

NOVEL = 0.5
"""The share of a sentence's worth that depends on saying something new."""


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
    spans: list[tuple[int, int]] = []
    whole = _protected(text)
    end = 0
    parts = (part.strip() for sentence in sentences(text) for part in chunks(sentence, len, MAX_FRAGMENT_CHARS))
    for sentence in filter(None, parts):
        start = text.index(sentence, end)
        end = start + len(sentence)
        if spans and _within(whole, start):
            start = spans.pop()[0]
        spans.append((start, end))
    before = [0, *(end for _, end in spans)]
    return [
        Fragment(row, start, end, text[start:end], text[before[at] : start] if at else "")
        for at, (start, end) in enumerate(spans)
    ]


def _protected(text: str) -> list[tuple[int, int]]:
    """The stretches of the text that must not be split, in order."""
    spans, at = [], 0
    for fragment, whole in pieces_of(text, len, len(text) + 1):
        if whole:
            spans.append((at, at + len(fragment)))
        at += len(fragment)
    return spans


def _within(spans: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether a position is inside one of these stretches."""
    row = bisect_left(spans, (place, 0)) - 1
    return row >= 0 and place < spans[row][1]


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
