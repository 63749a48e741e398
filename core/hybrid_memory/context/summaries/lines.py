"""Summary lines: taken from turns, selected within a budget, merged with the existing ones."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from hybrid_memory.artifacts.results import is_observation
from hybrid_memory.config import CleaningLevel
from hybrid_memory.context.summaries.importance import CRITICAL, THRESHOLD, Judged, is_critical, judged
from hybrid_memory.context.summaries.revising import revised, says_something
from hybrid_memory.context.summaries.strategy import SummaryRoom
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.text.voices import speaker

MAX_LINE_CHARS = 240
MIN_TERMS = 2
MAX_TURN_CHARS = 4_000
"""Of a longer turn only head and tail are read; its digest and handle cover the rest."""

OF_ASSISTANT = 0.9
"""The factor for sentences by the assistant, compared with the same words by anyone else."""

DUPLICATE = 0.75
"""Lines that share this much of their terms are duplicates."""

PRESSING = 0.5
"""A critical line precedes others if nothing says that its turn will hardly be asked about."""

SERIES = 3
"""This many lines that differ in one number alone are a series, and take one line."""

STRETCHES = 5
"""The number of equal stretches of the conversation that share the budget."""

STEEP = 3
"""The exponent of importance in a stretch's share: idle talk waits until another stretch has eight good lines."""

FIRST = 0.5
"""The share of the budget that the newest decision, next step and question may take first."""

_LASTING = (Section.INTENT, Section.FACTS)
_MOVING = (Section.DECISIONS, Section.NEXT_STEPS, Section.QUESTIONS)
"""Sections whose newest line comes first."""

NEGATED = "¬"

_NEGATION = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b|不|没|别|无法|未", re.IGNORECASE)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKS = re.compile(r"\A(?:[#>*+-]+|\d{1,2}[.)])\s+|(?<![\w*])\*\*([^*\n]+)\*\*(?![\w*])")
"""Markup of lists, headings and bold type; the group is the text."""

_TAGS = re.compile(r"</?[a-zA-Z_][^<>\n]{0,80}>")


OF_THE_TURN = 0.5
"""The weight of the turn's importance in a line's, if known."""

NOTHING_TOLD: Mapping[int, float] = {}


def candidates(span: Iterable[Event], cleaning: CleaningLevel, worth: Mapping[int, float] = NOTHING_TOLD) -> list[Line]:
    """The sentences of user and assistant in this span that are worth a line.

    Tool results belong to the ledger, code to the log.
    """
    return worthy(line for event in span for line in _sentences(event, cleaning, worth))


def worthy(lines: Iterable[Line]) -> list[Line]:
    """The statements that are more than small talk."""
    return [
        line
        for line in lines
        if line.importance >= THRESHOLD and len(_key(line.text)) >= MIN_TERMS and says_something(line.text)
    ]


def updated(
    standing: Sequence[Line],
    span: Sequence[Event],
    cleaning: CleaningLevel,
    worth: Mapping[int, float] = NOTHING_TOLD,
) -> tuple[list[Line], list[Line]]:
    """The existing lines and the `candidates` of a span, without those that later words change, end or answer."""
    said = [line for event in span for line in _sentences(event, cleaning, worth)]
    held, fresh = revised(standing, said, {event.position: event.message for event in span})
    return held, worthy(fresh)


def _sentences(event: Event, cleaning: CleaningLevel, worth: Mapping[int, float]) -> list[Line]:
    statements = _statements(prose(event.message), cleaning)
    return [line_of(event, said, one.section, _importance(event, one.score, worth)) for said, one in statements]


def _importance(event: Event, score: float, worth: Mapping[int, float]) -> float:
    """The importance of a sentence with this score: halfway to that of its turn; a message's own value comes first."""
    message = event.message
    weight = OF_ASSISTANT if message.role is Role.ASSISTANT else 1.0
    own = max(weight * score, min(score, THRESHOLD))
    turn = worth.get(event.position) if message.importance is None else message.importance
    told = own if turn is None else own + OF_THE_TURN * (turn - own)
    return max(told, CRITICAL) if message.role is Role.SYSTEM and not message.event else told


@lru_cache(maxsize=4096)
def _statements(text: str, cleaning: CleaningLevel) -> tuple[tuple[str, Judged], ...]:
    """The cleaned sentences of a text with their importance; cached, as every compaction needs them twice."""
    cleaned = [" ".join(clean(_MARKS.sub(r"\1", sentence), cleaning).split()) for sentence in sentences(text)]
    return tuple((said, judged(said[:MAX_LINE_CHARS])) for said in cleaned)


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


def line_of(event: Event, said: str, section: Section, importance: float) -> Line:
    """A line for what was said in one turn, after its speaker, cut to `MAX_LINE_CHARS`."""
    text = f"{speaker(event.origin, event.message.speaker, said)}: {said}"
    return Line(
        section=section,
        text=text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…",
        sources=(event.id,),
        first=event.position,
        last=event.position,
        importance=importance,
        origin=event.origin,
    )


def chosen(
    lines: Sequence[Line], *, max_tokens: int, count: TokenCounter, besides: Collection[Line] = ()
) -> list[Line]:
    """Lines that fit, without repetitions of each other or of ``besides``; in the given order.

    First come the newest decision, next step and question, within `FIRST`; then critical lines, then others, of either
    the most important of each stretch of the conversation in turn, so that all of it is represented. Of a series whose
    lines differ in a number alone, only the newest is a candidate.
    """
    lines = _without_series(lines)
    seen = [_key(line.text) for line in besides]

    def new(line: Line) -> bool:
        key = _key(line.text)
        if any(_alike(key, other) for other in seen):
            return False
        seen.append(key)
        return True

    return _spread(lines, max_tokens, count, new)


def selected(lines: Sequence[Line], room: SummaryRoom, besides: Collection[Line] = ()) -> list[Line]:
    """The lines that a span adds: all critical ones that a prompt can show, and others within the span's share."""
    critical = [line for line in lines if is_critical(line.text)]
    first = chosen(critical, max_tokens=room.shown, count=room.count, besides=besides)
    left = room.fresh - sum(cost(line, room.count) for line in first)
    others = [line for line in lines if not is_critical(line.text)]
    kept = {*first, *chosen(others, max_tokens=left, count=room.count, besides=[*besides, *first])}
    return [line for line in lines if line in kept]


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


def shown(lines: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """The summary lines that fit into a prompt with this budget, as `chosen` selects them, in their order."""
    return _spread([_within(line, max_tokens, count) for line in lines], max_tokens, count)


def _spread(
    lines: Sequence[Line], room: int, count: TokenCounter, new: Callable[[Line], bool] = lambda _: True
) -> list[Line]:
    kept: set[int] = set()
    taken = [0] * STRETCHES
    sections: set[Section] = set()
    places = _places(lines)

    def take(row: int, most: int) -> bool:
        """Whether to keep the line: it costs at most this much, and is new."""
        nonlocal room
        line = lines[row]
        price = cost(line, count) + (0 if line.section in sections else count(f"{line.section}:\n"))
        if price > most or not new(line):
            return False
        kept.add(row)
        sections.add(line.section)
        taken[places[row]] += 1
        room -= price
        return True

    least = int((1 - FIRST) * room)
    for row in _newest(lines, places):
        take(row, room - least)
    critical = {row for row, line in enumerate(lines) if line.importance >= PRESSING and is_critical(line.text)}
    order = _by_weight(lines)
    for first in (True, False):
        rest = [row for row in order if (row in critical) is first and row not in kept]
        _in_turn(lines, rest, places, taken, lambda row: take(row, room))
    return [line for row, line in enumerate(lines) if row in kept]


def _in_turn(
    lines: Sequence[Line],
    order: Sequence[int],
    places: Sequence[int],
    taken: Sequence[int],
    take: Callable[[int], object],
) -> None:
    """Take the rows of each stretch in this order, the stretches in turn; ``taken`` counts the lines of each."""
    waiting: list[list[tuple[int, int]]] = [[] for _ in range(STRETCHES)]
    for rank, row in reversed(list(enumerate(order))):
        waiting[places[row]].append((rank, row))
    # Each time the stretch whose best line is worth most for what it has already: the highest averages (D'Hondt).
    heap = [(-_average(lines[rows[-1][1]], taken[at]), rows[-1][0], at) for at, rows in enumerate(waiting) if rows]
    heapq.heapify(heap)
    while heap:
        _, _, at = heapq.heappop(heap)
        take(waiting[at].pop()[1])
        if rest := waiting[at]:
            heapq.heappush(heap, (-_average(lines[rest[-1][1]], taken[at]), rest[-1][0], at))


def _places(lines: Sequence[Line]) -> list[int]:
    """The stretch of each line, out of `STRETCHES` equal ones from the first to the last."""
    first = min((line.last for line in lines), default=0)
    size = max((line.last for line in lines), default=0) - first + 1
    return [(line.last - first) * STRETCHES // size for line in lines]


def _average(line: Line, taken: int) -> float:
    return float(line.importance**STEEP) / (1 + taken)


def _newest(lines: Sequence[Line], places: Sequence[int]) -> list[int]:
    """The rows of the newest decision, next step and question.

    Within a stretch, lines of others precede the assistant's, which announces a lot.
    """

    def newness(row: int) -> tuple[int, bool, int, int]:
        return places[row], not lines[row].text.startswith(f"{Role.ASSISTANT}: "), lines[row].last, row

    found = ([row for row, line in enumerate(lines) if line.section is section] for section in _MOVING)
    return [max(rows, key=newness) for rows in found if rows]


def cost(line: Line, count: TokenCounter) -> int:
    """The tokens of a line in a prompt, with a dash before and its handle after it."""
    return count(f"- {line.text} [{line.handle}]\n")


def _by_weight(lines: Sequence[Line]) -> list[int]:
    """Rows, the most important lines first.

    Of equally important ones, later tasks and decisions come first, as they supersede; but earlier facts and
    intentions, as recent turns and recall show the later ones anyway.
    """
    return sorted(
        range(len(lines)), key=lambda row: (-lines[row].importance, row if lines[row].section in _LASTING else -row)
    )


def _within(line: Line, max_tokens: int, count: TokenCounter) -> Line:
    """The line; a summary written as one text for a larger prompt is cut to this many tokens."""
    head = count(f"{line.section}:\n")
    if line.section is not Section.NOTES or cost(line, count) + head <= max_tokens:
        return line
    text = line.text
    while text and cost(replace(line, text=f"{text}…"), count) + head > max_tokens:
        text = text[: int(len(text) * 0.9)].rstrip()
    return replace(line, text=f"{text}…") if text else line


def merged(standing: Sequence[Line], fresh: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """Existing and new lines; of duplicates the newer is kept, and the least important lines are dropped."""
    keys = [_key(line.text) for line in fresh]
    older = [line for line in standing if not any(_alike(_key(line.text), key) for key in keys)]
    return chosen([*older, *fresh], max_tokens=max_tokens, count=count)


def close(line: Line, words: Collection[str]) -> Line:
    """The line with its coverage: the share of its terms that occur in the stretch with these terms."""
    own = terms(line.text)
    share = sum(term in words for term in own) / len(own) if own else 1.0
    return replace(line, coverage=share)


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
