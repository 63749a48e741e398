"""Summarises a span, with a language model (checked) or deterministically, and audits what survived."""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from hybrid_memory.context.lines import candidates, judged, merged, prose, selected
from hybrid_memory.context.strategies import Strategy, SummaryJob
from hybrid_memory.context.summary import Audit, Line, Section
from hybrid_memory.errors import ModelError
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Origin, lowest
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import cjk_share, terms

_log = logging.getLogger(__name__)

RELATED = 0.25
"""A line that shares less of its terms with the turns or the previous lines is made up."""

OTHER_SCRIPT = 0.5
"""If the shares of Chinese differ by more than this, words cannot be compared."""

COVERED = 0.6
"""A line contains a decision if it has this share of its terms."""

_UNITS = (
    r"%|°[CF]?|km|kg|cm|mm|m|g|ml|l|mb|gb|tb|kb|ms|s|min|h|hours?|days?|weeks?|months?|years?|am|pm|usd|eur|dollars?"
    r"|euros?|元|块|万|亿|岁|年|月|日|号|点|分钟?|小时|天|周|公里|米|斤|个月|次|人|楼|层|路|折"
)

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"

_ADDRESSES = re.compile(r"https?://[^\s<>\"'）)】，。]+|\w[\w.+-]*@[\w-]+\.[\w.-]*\w")

_FILES = re.compile(
    r"(?<![\w./-])[\w.-]*(?:/[\w.-]+)+\.\w+|\b[\w-]+\.(?:py|js|tsx?|md|json|ya?ml|toml|txt|csv|go|rs|java|c|h|cpp|sh|sql)\b"
)

_FIGURES = re.compile(
    r"\+\d{1,3}[ -]\d[\d -]{5,12}\d|\b\d{3,4}[ -]\d{3,4}[ -]\d{4}\b|(?<!\d)1\d{10}(?!\d)"  # telephones
    r"|\b\d{4}[-/年]\d{1,2}(?:[-/月]\d{1,2}日?)?|\b\d{1,2}:\d{2}\b|\d{1,2}月\d{1,2}[日号]"  # dates and times
    rf"|\b(?:{_MONTHS}) \d{{1,2}}\b"
    rf"|[$€£¥]\s?\d[\d,.]*|(?<![第\d])\d[\d,]*(?:\.\d+)?\s?(?i:{_UNITS})(?![a-zA-Z])"  # numbers with units
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Z])[A-Z0-9_-]{5,}\b|\b[a-z]+(?:_[a-z]+)*_\d{3,}\b|\b[A-Z]{1,5}\d{3,5}\b"  # ids
)

_NAMES = re.compile(
    r"\b[A-Za-z_]+(?:Error|Exception)\b"
    r"|(?<=[a-z,;] )[A-Z][a-z]+(?: [A-Z][a-z]+)*"  # capitals inside a sentence
    r"|《[^》\n]{1,40}》"
    r"|(?<=我叫)[\u4e00-\u9fff]{2,4}|(?<=名字是)[\u4e00-\u9fff]{2,4}"
)

_NEEDS = (("@:", _ADDRESSES), ("./", _FILES), ("0123456789", _FIGURES), ("", _NAMES))
"""Patterns, each with characters of which a text must have one to be searched."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary after a span: all lines, the new ones, whether the model failed, and how many lines were added back."""

    lines: list[Line]
    fresh: list[Line]
    failed: bool = False
    filled: int = 0


async def summarise(run: Runner, services: Services, way: Strategy, job: SummaryJob, ledger: str) -> WrittenSummary:
    """The model's summary with dropped critical items added back, or the deterministic one."""
    lines: list[Line] | None = None
    failed, filled = False, 0
    try:
        lines = await _ask(run, services, way, job)
    except ModelError as error:
        _log.warning("%s; summarised without the model", error)
        failed = True
    if lines is None:
        lines = _attributed(way.extract(job), job)
    else:
        lines, filled = _completed(_attributed(lines, job), job, ledger)
    standing = set(job.standing)
    fresh = iter(measured([line for line in lines if line not in standing], job.span))
    lines = [line if line in standing else next(fresh) for line in lines]
    return WrittenSummary(lines, [line for line in lines if line not in standing], failed, filled)


async def _ask(run: Runner, services: Services, way: Strategy, job: SummaryJob) -> list[Line] | None:
    """The lines after calling a model; None if there is none; any failure raises `ModelError`."""
    questions = way.prompt(job)
    if not questions or not job.span:
        return None
    try:
        if way.model == "compressor":
            if services.compressor is None:
                return None
            text = questions[0].text
            answer: object = await run.call(services.compressor.compress, text, max_tokens=job.room.shown)
        elif services.language_model is None:
            return None
        elif way.schema is None:
            answer = await run.call(services.language_model.complete, questions)
        else:
            answer = await run.call(services.language_model.structured, questions, way.schema)
        return _related(way.read(answer, job), job)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"no summary by {way.name}: {type(error).__name__}: {error}") from error


def _related(lines: list[Line], job: SummaryJob) -> list[Line]:
    """The lines that share enough words with the turns, in the same script; ValueError if there are none."""
    standing = set(job.standing)
    fresh = measured([line for line in lines if line not in standing], job.span)
    turns = " ".join(event.message.text[:1000] for event in job.span)
    if not fresh or abs(cjk_share(" ".join(line.text for line in fresh)) - cjk_share(turns)) > OTHER_SCRIPT:
        return lines
    existing = {term for line in job.standing for term in terms(line.text)}
    made_up = {line.text for line in fresh if max(line.coverage, _coverage(line, existing)) < RELATED}
    if made_up and len(made_up) == len({line.text for line in fresh}):
        raise ValueError(f"the answer has nothing to do with the turns: {fresh[0].text[:80]!r}")
    return [line for line in lines if line.text not in made_up]


def _attributed(lines: Sequence[Line], job: SummaryJob) -> list[Line]:
    """The lines with their origins, if a strategy states none: the lowest origin of turns with words of a line.

    A model saw the whole span, and may paraphrase any of it. So a line has the origin of its sources only if all of its
    words occur in them.
    """
    seen = [(event.origin, {event.id}, terms(event.message.text)) for event in job.span]
    seen += [(line.origin or Origin.ASSISTANT, set(line.sources), terms(line.text)) for line in job.standing]
    lowest_seen = lowest((Origin.ASSISTANT, *(origin for origin, _, _ in seen)))
    standing = set(job.standing)
    attributed = []
    for line in lines:
        if line in standing or line.origin is not None:
            attributed.append(line)
            continue
        cited = [(origin, words) for origin, ids, words in seen if not ids.isdisjoint(line.sources)]
        quoted = set(terms(line.text)) <= {term for _, words in cited for term in words}
        attributed.append(replace(line, origin=lowest(origin for origin, _ in cited) if quoted else lowest_seen))
    return attributed


def _completed(lines: Sequence[Line], job: SummaryJob, ledger: str) -> tuple[list[Line], int]:
    """The model's lines and the sentences with critical items that it dropped, within the budget."""
    lost = unsaid(job.span, lines, ledger)
    items = {item.lower() for missing in lost.values() for item in missing}
    offered = [
        line
        for line in candidates([event for event in job.span if event.position in lost], job.room.cleaning)
        if any(item in line.text.lower() for item in items)
    ]
    added = selected(offered, job.room, lines)
    return merged(lines, added, max_tokens=job.room.standing, count=job.room.count), len(added)


def measured(lines: Iterable[Line], span: Iterable[Event]) -> list[Line]:
    """The lines with their coverage by the span."""
    words = {term for event in span for term in (*terms(event.message.text[:20_000]), *terms(event.message.speaker))}
    return [replace(line, coverage=_coverage(line, words)) for line in lines]


def _coverage(line: Line, words: Collection[str]) -> float:
    own = terms(line.text)
    return sum(term in words for term in own) / len(own) if own else 1.0


def critical_items(event: Event) -> tuple[str, ...]:
    """Paths, addresses, dates, numbers with units, ids, error names and names in a turn, each once."""
    return _items(prose(event.message))


def _items(text: str) -> tuple[str, ...]:
    characters = set(text)
    matches = [
        match.strip()
        for needs, pattern in _NEEDS
        if not needs or characters.intersection(needs)
        for match in pattern.findall(text)
    ]
    return tuple(dict.fromkeys(matches))


def unsaid(span: Iterable[Event], lines: Sequence[Line], ledger: str) -> dict[int, list[str]]:
    """The critical items of each turn that are neither in a line nor in the ledger, by the turn's position."""
    kept = _plain("\n".join([*(line.text for line in lines), ledger]))
    missing = {event.position: [item for item in critical_items(event) if _plain(item) not in kept] for event in span}
    return {position: items for position, items in missing.items() if items}


def audited(span: Sequence[Event], lines: Sequence[Line], fresh: Sequence[Line], ledger: str) -> Audit:
    """The audit of the critical items and decisions of a span.

    Args:
        span: the turns that were compacted.
        lines: the summary lines that a prompt shows.
        fresh: the lines written for the span.
        ledger: as a prompt shows it.
    """
    in_lines, in_ledger = _plain("\n".join(line.text for line in lines)), _plain(ledger)
    items = {item for event in span for item in critical_items(event)}
    summarised = {item for item in items if _plain(item) in in_lines}
    listed = {item for item in items - summarised if _plain(item) in in_ledger}
    decisions = [set(terms(line.text)) for line in candidates(span, "light") if line.section is Section.DECISIONS]
    kept = [set(terms(line.text)) for line in lines]
    noted = sum(any(len(words & line) >= COVERED * len(words) for line in kept) for words in decisions)
    total = len(items) + len(decisions)
    return Audit(
        compactions=1,
        items=total,
        in_summary=len(summarised) + noted,
        in_ledger=len(listed),
        in_log=total - len(summarised) - noted - len(listed),
        coverage=sum(line.coverage for line in fresh) / len(fresh) if fresh else 1.0,
        lines=len(fresh),
    )


def remaining(total: Audit, lines: Iterable[Line], stretches: Sequence[tuple[int, int]]) -> Audit:
    """The audit of earlier compactions, of these stretches, given that a prompt now shows these lines.

    Items whose lines no longer fit are only in the log. As in the audit, an item counts once for each stretch.
    """
    held: dict[int, set[str]] = {}
    decisions = 0
    for line in lines:
        items = set(_items(line.text))
        row = bisect_right(stretches, line.last, key=lambda stretch: stretch[0]) - 1
        if row >= 0 and stretches[row][1] >= line.first:
            decisions += _decisions(line)
        while row >= 0 and stretches[row][1] >= line.first:  # a summary in one text covers several
            held.setdefault(row, set()).update(items)
            row -= 1
    there = min(total.in_summary, sum(map(len, held.values())) + decisions)
    return replace(total, in_summary=there, in_log=total.in_log + total.in_summary - there)


def _decisions(line: Line) -> int:
    """How many decisions a line contains; a summary in one text may contain several."""
    if line.section is not Section.NOTES:
        return int(line.section is Section.DECISIONS)
    return sum(judged(sentence).section is Section.DECISIONS for sentence in sentences(line.text))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
