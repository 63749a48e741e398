"""Summary lines: taken from turns, chosen under a budget, merged with the standing ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from hybrid_memory.compression.ledger.outcomes import is_observation
from hybrid_memory.compression.summaries.importance import CRITICAL, THRESHOLD, Judged, judged
from hybrid_memory.config import CleaningLevel
from hybrid_memory.ports import TokenCounter
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms
from hybrid_memory.types import Event, Line, Message, Role, Section

MAX_LINE_CHARS = 240
MIN_TERMS = 2
MAX_TURN_CHARS = 4_000
"""A longer turn is read at its head and its tail; its digest and its handle stand for the rest."""

DUPLICATE = 0.75
"""Lines that share this much of their terms say the same."""

_LASTING = (Section.INTENT, Section.FACTS)

LINE_OVERHEAD = 6
"""Tokens of a line's dash and handle."""

NEGATED = "¬"

_NEGATION = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b|不|没|别|无法|未", re.IGNORECASE)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAGS = re.compile(r"</?[a-zA-Z_][^<>\n]{0,80}>")


def candidates(span: Iterable[Event], cleaning: CleaningLevel) -> list[Line]:
    """What the user and the assistant said in this span, sentence by sentence, as far as it is worth a line.

    Tool results are the ledger's, code is the log's.
    """
    return [
        line
        for event in span
        for line in _sentences(event, cleaning)
        if line.importance >= THRESHOLD and len(_key(line.text)) >= MIN_TERMS
    ]


def _sentences(event: Event, cleaning: CleaningLevel) -> list[Line]:
    message = event.message
    least = CRITICAL if message.role is Role.SYSTEM and not message.event else 0.0
    return [
        line_of(event, said, worth.section, max(worth.score, least))
        for said, worth in _statements(prose(message), cleaning)
    ]


@lru_cache(maxsize=4096)
def _statements(text: str, cleaning: CleaningLevel) -> tuple[tuple[str, Judged], ...]:
    """The sentences of a text, cleaned, and what each is worth; asked for twice in every compaction."""
    cleaned = [" ".join(clean(sentence, cleaning).split()) for sentence in sentences(text)]
    return tuple((said, judged(said[:MAX_LINE_CHARS])) for said in cleaned)


def prose(message: Message) -> str:
    """The words of a message without its code blocks, tags and calls; of a long one, its head and its tail.

    Nothing of a tool's output, also where an agent hands it on in the user's place: that is the ledger's.
    """
    if isinstance(message.content, str):
        text = message.content
    else:
        text = "\n".join(block["text"] for block in message.content if isinstance(block.get("text"), str))
    if message.role is Role.TOOL or is_observation(text):
        return ""
    if len(text) > MAX_TURN_CHARS:
        half = MAX_TURN_CHARS // 2
        # Without the sentences that the cuts went through.
        text = "\n".join([*sentences(text[:half])[:-1], *sentences(text[-half:])[1:]])
    return _TAGS.sub(" ", _FENCED.sub(" ", text))


def line_of(event: Event, said: str, section: Section, importance: float) -> Line:
    """A line for what was said in one turn, behind its speaker, cut to `MAX_LINE_CHARS`."""
    text = f"{event.message.speaker}: {said}"
    return Line(
        section=section,
        text=text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…",
        sources=(event.id,),
        first=event.position,
        last=event.position,
        importance=importance,
    )


def chosen(
    lines: Sequence[Line], *, max_tokens: int, count: TokenCounter, besides: Collection[Line] = ()
) -> list[Line]:
    """The most important lines that fit and say nothing twice, nor what ``besides`` says; in the order given."""
    seen = [_key(line.text) for line in besides]
    kept: set[int] = set()
    left = max_tokens
    for row in _by_weight(lines):
        key = _key(lines[row].text)
        cost = count(lines[row].text) + LINE_OVERHEAD
        if cost > left or any(_alike(key, other) for other in seen):
            continue
        seen.append(key)
        kept.add(row)
        left -= cost
    return [line for row, line in enumerate(lines) if row in kept]


def shown(lines: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """The most important of a summary's lines that fit a prompt, in its order; they are not compared any more."""
    slim = [_within(line, max_tokens, count) for line in lines]
    kept: set[int] = set()
    left = max_tokens
    for row in _by_weight(slim):
        cost = count(slim[row].text) + LINE_OVERHEAD
        if cost <= left:
            kept.add(row)
            left -= cost
    return [line for row, line in enumerate(slim) if row in kept]


def _by_weight(lines: Sequence[Line]) -> list[int]:
    """Rows, the most important lines first.

    Of two that are worth the same, what is still to do or was decided later comes first, because it moves on; of facts
    and intentions the earlier one, because the turns and recall show the later one anyway.
    """
    return sorted(
        range(len(lines)), key=lambda row: (-lines[row].importance, row if lines[row].section in _LASTING else -row)
    )


def _within(line: Line, max_tokens: int, count: TokenCounter) -> Line:
    """The line, if a summary in one piece cut to so many tokens: it was written for a larger prompt."""
    if line.section is not Section.NOTES or count(line.text) + LINE_OVERHEAD <= max_tokens:
        return line
    text = line.text
    while text and count(text) + LINE_OVERHEAD >= max_tokens:
        text = text[: int(len(text) * 0.9)]
    return replace(line, text=f"{text.rstrip()}…") if text else line


def merged(standing: Sequence[Line], fresh: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """Standing lines and new ones; of two that say the same the newer stays, and the least important ones go."""
    keys = [_key(line.text) for line in fresh]
    older = [line for line in standing if not any(_alike(_key(line.text), key) for key in keys)]
    return chosen([*older, *fresh], max_tokens=max_tokens, count=count)


def close(line: Line, words: Collection[str]) -> Line:
    """The line with its closeness: the share of its terms that stand in the stretch, whose terms these are."""
    own = terms(line.text)
    share = sum(term in words for term in own) / len(own) if own else 1.0
    return replace(line, closeness=share)


@lru_cache(maxsize=8192)
def _key(text: str) -> frozenset[str]:
    """The terms, with a mark for a negation, which is a stop word."""
    return frozenset([*terms(text), *([NEGATED] if _NEGATION.search(text) else [])])


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Jaccard similarity of at least `DUPLICATE`, with the same numbers, and both negated or neither."""
    shared = len(one & other)
    if shared < DUPLICATE * (len(one) + len(other) - shared) or not shared:
        return False
    return not any(term == NEGATED or any(map(str.isdigit, term)) for term in one ^ other)
