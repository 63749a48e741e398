"""Summary lines: taken from turns, selected within a budget, merged with the existing ones."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hybrid_memory.artifacts.outcomes import is_observation
from hybrid_memory.config import CleaningLevel
from hybrid_memory.context.importance import CRITICAL, THRESHOLD, Judged, is_critical, judged
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.text.voices import speaker

MAX_LINE_CHARS = 240
MIN_TERMS = 3
"""A statement of fewer terms, its speaker included, means nothing by itself, like "I love it"."""

MAX_TURN_CHARS = 4_000
"""Of a longer turn only head and tail are read; its digest and handle cover the rest."""

OF_ASSISTANT = 0.9
"""The factor for sentences by the assistant, compared with the same words by anyone else."""

OF_THE_TURN = 0.5
"""The weight of a message's own importance in a line's, if it has one."""

OPEN = 0.8
"""The least importance of a question that was put off."""

DUPLICATE = 0.75
"""Lines that share this much of their terms are duplicates."""

PRESSING = 0.5
"""A critical line of at least this importance precedes others."""

SERIES = 3
"""This many lines that differ in one number alone are a series, and take one line."""

STRETCHES = 5
"""The number of equal stretches of the conversation that share the budget."""

STEEP = 3
"""The exponent of importance in a stretch's share: idle talk waits until another stretch has eight good lines."""

FIRST = 0.5
"""The share of the budget that the newest decision, next step and question may take first."""

_MOVING = (Section.DECISIONS, Section.NEXT_STEPS, Section.QUESTIONS)
"""Sections whose newest line comes first."""

NEGATED = "¬"

_NEGATION = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b|不|没|别|无法|未", re.IGNORECASE)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKS = re.compile(r"\A(?:[#>*+-]+|\d{1,2}[.)])\s+|(?<![\w*])\*\*([^*\n]+)\*\*(?![\w*])")
"""Markup of lists, headings and bold type; the group is the text."""

_TAGS = re.compile(r"</?[a-zA-Z_][^<>\n]{0,80}>")
_DEFERS = lazy(
    r"\b(?:don'?t know|not sure|no idea|let me (?:check|ask|find out|come back|get back)"
    r"|(?:i|we)(?:'ll| will| need to| have to| must) (?:check|ask|find out|get back|come back|think about it)"
    r"|still open|undecided|(?:decide|tell you|discuss|see) (?:that |this )?later|to be (?:decided|confirmed)|tbd)\b"
    r"|不知道|不清楚|不确定|没想好|我(?:去|先)?(?:查|问|看|想)(?:一下|查|问|看|想|清楚)|稍后|回头|再说|再看|待定|还没定|以后再"
)
"""An answer that puts the question off."""


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """The budget of a summary.

    Attributes:
        standing: tokens of all lines together, kept from compaction to compaction.
        shown: tokens that a prompt has for them.
        fresh: tokens of the lines for one new span.
    """

    standing: int
    shown: int
    fresh: int
    count: TokenCounter
    cleaning: CleaningLevel = "light"


def candidates(span: Sequence[Event], cleaning: CleaningLevel) -> list[Line]:
    """The sentences of user and assistant in this span that are worth a line.

    Tool results belong to the ledger, code to the log. Questions of the assistant, and those that the next turn
    answers, are none.
    """
    lines = []
    for row, event in enumerate(span):
        answer = next((later for later in span[row + 1 :] if later.message.speaker != event.message.speaker), None)
        deferred = answer is not None and _DEFERS.search(answer.message.text[:MAX_LINE_CHARS].lower()) is not None
        for text, verdict in _statements(prose(event.message), cleaning):
            line = line_of(event, text, verdict.section, _importance(event.message, verdict.score))
            if line.section is Section.QUESTIONS:
                if event.message.role is Role.ASSISTANT or not (answer is None or deferred):
                    continue
                line = replace(line, importance=max(line.importance, OPEN)) if deferred else line
            if line.importance >= THRESHOLD and len(_key(line.text)) >= MIN_TERMS:
                lines.append(line)
    return lines


def _importance(message: Message, score: float) -> float:
    """The importance of a sentence with this score: halfway to the message's own value, if it has one."""
    weight = OF_ASSISTANT if message.role is Role.ASSISTANT else 1.0
    own = max(weight * score, min(score, THRESHOLD))
    if message.importance is not None:
        own += OF_THE_TURN * (message.importance - own)
    return max(own, CRITICAL) if message.role is Role.SYSTEM and not message.event else own


@lru_cache(maxsize=4096)
def _statements(text: str, cleaning: CleaningLevel) -> tuple[tuple[str, Judged], ...]:
    """The cleaned sentences of a text with their importance; cached, as every compaction needs them twice."""
    cleaned = [" ".join(clean(_MARKS.sub(r"\1", sentence), cleaning).split()) for sentence in sentences(text)]
    return tuple((sentence, judged(sentence[:MAX_LINE_CHARS])) for sentence in cleaned)


def prose(message: Message) -> str:
    """The words of a message without code blocks, tags and calls; of a long one, its head and its tail.

    Nothing of a tool's output, even if an agent passes it on in the user's role: that belongs to the ledger.
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


def line_of(event: Event, words: str, section: Section, importance: float) -> Line:
    """A line for what was said in one turn, after its speaker, cut to `MAX_LINE_CHARS`."""
    return Line(
        section=section,
        text=cut_line(f"{speaker(event.origin, event.message.speaker, words)}: {words}"),
        sources=(event.id,),
        first=event.position,
        last=event.position,
        importance=importance,
        origin=event.origin,
    )


def cut_line(text: str) -> str:
    """The text, cut to `MAX_LINE_CHARS`."""
    return text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…"


def selected(lines: Sequence[Line], room: SummaryRoom, besides: Collection[Line] = ()) -> list[Line]:
    """The lines that a span adds: all critical ones that a prompt can show, and others within the span's share."""
    critical = [line for line in lines if is_critical(line.text)]
    first = chosen(critical, max_tokens=room.shown, count=room.count, besides=besides)
    left = room.fresh - sum(cost(line, room.count) for line in first)
    others = [line for line in lines if not is_critical(line.text)]
    kept = {*first, *chosen(others, max_tokens=left, count=room.count, besides=[*besides, *first])}
    return [line for line in lines if line in kept]


def merged(standing: Sequence[Line], fresh: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """Existing and new lines; of duplicates the newer is kept, and the least important lines are dropped."""
    keys = [_key(line.text) for line in fresh]
    older = [line for line in standing if not any(_alike(_key(line.text), key) for key in keys)]
    return chosen([*older, *fresh], max_tokens=max_tokens, count=count)


def chosen(
    lines: Sequence[Line], *, max_tokens: int, count: TokenCounter, besides: Collection[Line] = ()
) -> list[Line]:
    """Lines that fit, without repetitions of each other or of ``besides``; in the given order.

    First come the newest decision, next step and question, within `FIRST`; then critical lines, then others, of either
    the most important of each stretch of the conversation in turn, so that all of it is represented. Of a series whose
    lines differ in a number alone, only the newest is a candidate.
    """
    seen = [_key(line.text) for line in besides]

    def is_new(line: Line) -> bool:
        key = _key(line.text)
        if any(_alike(key, other) for other in seen):
            return False
        seen.append(key)
        return True

    return _spread(_without_series(lines), max_tokens, count, is_new)


def shown(lines: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """The summary lines that fit into a prompt with this budget, as `chosen` selects them, in their order."""
    return _spread([_within(line, max_tokens, count) for line in lines], max_tokens, count)


def _spread(
    lines: Sequence[Line], room: int, count: TokenCounter, is_new: Callable[[Line], bool] = lambda _: True
) -> list[Line]:
    start = min((line.last for line in lines), default=0)
    size = max((line.last for line in lines), default=0) - start + 1
    places = [(line.last - start) * STRETCHES // size for line in lines]
    kept: set[int] = set()
    sections: set[Section] = set()
    taken = [0] * STRETCHES

    def take(row: int, most: int) -> None:
        nonlocal room
        line = lines[row]
        price = cost(line, count) + (0 if line.section in sections else count(f"{line.section}:\n"))
        if row not in kept and price <= most and is_new(line):
            kept.add(row)
            sections.add(line.section)
            taken[places[row]] += 1
            room -= price

    def newness(row: int) -> tuple[int, bool, int, int]:
        # Within a stretch, lines of others precede the assistant's, which announces a lot.
        return places[row], not lines[row].text.startswith(f"{Role.ASSISTANT}: "), lines[row].last, row

    least = int((1 - FIRST) * room)
    for section in _MOVING:
        if rows := [row for row, line in enumerate(lines) if line.section is section]:
            take(max(rows, key=newness), room - least)

    # Of equally important lines, later plans come first, as they supersede; but earlier facts and intentions, as recent
    # turns and recall show the later ones anyway.
    order = sorted(
        range(len(lines)), key=lambda row: (-lines[row].importance, -row if lines[row].section in _MOVING else row)
    )
    rank = {row: number for number, row in enumerate(order)}
    for pressing in (True, False):
        waiting: list[deque[int]] = [deque() for _ in range(STRETCHES)]
        for row in order:
            line = lines[row]
            if (line.importance >= PRESSING and is_critical(line.text)) is pressing:
                waiting[places[row]].append(row)
        # Each time the stretch whose best line is worth most for what it has already: the highest averages (D'Hondt).
        while any(waiting):
            rows = [(at, queue[0]) for at, queue in enumerate(waiting) if queue]
            at, row = max(rows, key=lambda it: (lines[it[1]].importance ** STEEP / (1 + taken[it[0]]), -rank[it[1]]))
            waiting[at].popleft()
            take(row, room)
    return [line for row, line in enumerate(lines) if row in kept]


def _without_series(lines: Sequence[Line]) -> list[Line]:
    """The lines; of at least `SERIES` that differ in one number and are not critical, the last."""
    series: dict[frozenset[str], list[int]] = {}
    for row, line in enumerate(lines):
        key = _key(line.text)
        words = frozenset(term for term in key if not any(map(str.isdigit, term)))
        if len(key) == len(words) + 1 and not is_critical(line.text):
            series.setdefault(words, []).append(row)
    dropped = {row for rows in series.values() if len(rows) >= SERIES for row in rows[:-1]}
    return [line for row, line in enumerate(lines) if row not in dropped]


def cost(line: Line, count: TokenCounter) -> int:
    """The tokens of a line in a prompt, with a dash before and its handle after it."""
    return count(f"- {line.text} [{line.handle}]\n")


def _within(line: Line, max_tokens: int, count: TokenCounter) -> Line:
    """The line; a summary written as one text for a larger prompt is cut to this many tokens."""
    head = count(f"{line.section}:\n")
    if line.section is not Section.NOTES or cost(line, count) + head <= max_tokens:
        return line
    text = line.text
    while text and cost(replace(line, text=f"{text}…"), count) + head > max_tokens:
        text = text[: int(len(text) * 0.9)].rstrip()
    return replace(line, text=f"{text}…") if text else line


@lru_cache(maxsize=8192)
def _key(text: str) -> frozenset[str]:
    """The terms, with a mark for a negation, which would be a stop word."""
    return frozenset([*terms(text), *([NEGATED] if _NEGATION.search(text) else [])])


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Jaccard similarity of at least `DUPLICATE`, with the same numbers, and both negated or neither."""
    shared = len(one & other)
    if shared < DUPLICATE * (len(one) + len(other) - shared) or not shared:
        return False
    return not any(term == NEGATED or any(map(str.isdigit, term)) for term in one ^ other)
