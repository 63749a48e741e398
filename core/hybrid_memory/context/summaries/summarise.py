"""Summarises a span, with a language model (checked) or deterministically, and audits what survived."""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hybrid_memory.context.summaries.importance import judged
from hybrid_memory.context.summaries.lines import candidates, close, merged, prose, selected
from hybrid_memory.context.summaries.strategy import Strategy, SummaryJob
from hybrid_memory.context.summary import Audit, Line, Section
from hybrid_memory.errors import ModelError
from hybrid_memory.log.event import Event
from hybrid_memory.log.origin import Origin, lowest
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import cjk_share, terms

RELATED = 0.25
"""A line that shares less of its terms with the turns or the previous lines is made up."""

OTHER_SCRIPT = 0.5
"""If the shares of Chinese differ by more than this, words cannot be compared."""

_log = logging.getLogger(__name__)

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
    rf"|[$€£¥]\s?\d[\d,.]*|\d[\d,]*(?:\.\d+)?\s?(?i:{_UNITS})(?![a-zA-Z])"  # numbers with units
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
    failed = False
    try:
        lines = await asked(run, services, way, job)
    except ModelError as error:
        _log.warning("%s; summarised without the model", error)
        failed = True
    filled = 0
    if lines is None:
        lines = attributed(way.extract(job), job)
    else:
        lines, filled = _completed(attributed(lines, job), job, ledger)
    return WrittenSummary(*_measured(lines, job.standing, job.span), failed=failed, filled=filled)


async def again(run: Runner, services: Services, way: Strategy, job: SummaryJob, ledger: str) -> WrittenSummary | None:
    """The lines, with those of a span on which the model failed before rewritten; None if it fails again."""
    first, last = job.span[0].position, job.span[-1].position
    outside = [line for line in job.standing if not (first <= line.first and line.last <= last)]
    job = replace(job, standing=outside)
    try:
        lines = await asked(run, services, way, job)
    except ModelError as error:
        _log.warning("%s; the deterministic summary stays", error)
        return None
    if lines is None:
        return None
    lines, filled = _completed(attributed(lines, job), job, ledger)
    return WrittenSummary(*_measured(lines, outside, job.span), filled=filled)


def attributed(lines: Sequence[Line], job: SummaryJob) -> list[Line]:
    """The lines with their origins, if a strategy states none: the lowest origin of turns with words of a line.

    A model saw the whole span, and may paraphrase any of it. So a line has the origin of its sources only if all of its
    words occur in them.
    """
    known = set(job.standing)
    return [line if line in known or line.origin is not None else _attributed(line, job) for line in lines]


def _attributed(line: Line, job: SummaryJob) -> Line:
    there = [(event.origin, event.id in line.sources, terms(event.message.text)) for event in job.span]
    there += [
        (other.origin or Origin.ASSISTANT, not set(other.sources).isdisjoint(line.sources), terms(other.text))
        for other in job.standing
    ]
    cited = {term for _, rests, words in there if rests for term in words}
    if set(terms(line.text)) <= cited:
        return replace(line, origin=lowest(origin for origin, rests, _ in there if rests))
    return replace(line, origin=lowest((Origin.ASSISTANT, *(origin for origin, _, _ in there))))


def _measured(lines: Sequence[Line], standing: Sequence[Line], span: Sequence[Event]) -> tuple[list[Line], list[Line]]:
    """All lines, and the new ones among them, with their coverage."""
    known = set(standing)
    fresh = iter(measured([line for line in lines if line not in known], span))
    everything = [line if line in known else next(fresh) for line in lines]
    return everything, [line for line in everything if line not in known]


async def asked(run: Runner, services: Services, way: Strategy, job: SummaryJob) -> list[Line] | None:
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
        lines = _related(way.read(answer, job), job)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"no summary by {way.name}: {type(error).__name__}: {error}") from error
    return lines


def _related(lines: list[Line], job: SummaryJob) -> list[Line]:
    """The lines that share enough words with the turns, in the same script; ValueError if there are none."""
    fresh = _measured(lines, job.standing, job.span)[1]
    told = " ".join(event.message.text[:1000] for event in job.span)
    if not fresh or abs(cjk_share(" ".join(line.text for line in fresh)) - cjk_share(told)) > OTHER_SCRIPT:
        return lines
    known = {term for line in job.standing for term in terms(line.text)}
    made_up = {line.text for line in fresh if max(line.coverage, close(line, known).coverage) < RELATED}
    kept = [line for line in lines if line.text not in made_up]
    if made_up and len(made_up) == len({line.text for line in fresh}):
        raise ValueError(f"the answer has nothing to do with the turns: {fresh[0].text[:80]!r}")
    return kept


def _completed(lines: Sequence[Line], job: SummaryJob, ledger: str) -> tuple[list[Line], int]:
    """The model's lines and the sentences with critical items that it dropped, within the budget."""
    lost = unsaid(job.span, lines, ledger)
    wanted = {item.lower() for items in lost.values() for item in items}
    offered = [
        line
        for line in candidates([event for event in job.span if event.position in lost], job.room.cleaning, job.worth)
        if any(item in line.text.lower() for item in wanted)
    ]
    added = selected(offered, job.room, lines)
    return merged(lines, added, max_tokens=job.room.standing, count=job.room.count), len(added)


def critical_items(event: Event) -> tuple[str, ...]:
    """Paths, addresses, dates, numbers with units, ids, error names and names in a turn, each once."""
    return _items(prose(event.message))


def _items(text: str) -> tuple[str, ...]:
    there = set(text)
    found = [
        match.strip()
        for needs, pattern in _NEEDS
        if not needs or there.intersection(needs)
        for match in pattern.findall(text)
    ]
    return tuple(dict.fromkeys(found))


def unsaid(span: Iterable[Event], lines: Sequence[Line], ledger: str) -> dict[int, list[str]]:
    """The critical items of each turn that are neither in a line nor in the ledger, by the turn's position."""
    there = _plain([line.text for line in lines] + [ledger])
    missing: dict[int, list[str]] = {}
    for event in span:
        lost = [item for item in critical_items(event) if _plain_text(item) not in there]
        if lost:
            missing[event.position] = lost
    return missing


def audited(span: Sequence[Event], lines: Sequence[Line], fresh: Sequence[Line], ledger: str) -> Audit:
    """The audit of the critical items and decisions of a span.

    Args:
        span: the turns that were compacted.
        lines: the summary lines that a prompt shows.
        fresh: the lines written for the span.
        ledger: as a prompt shows it.
    """
    in_lines, in_ledger = _plain([line.text for line in lines]), _plain_text(ledger)
    items = {item for event in span for item in critical_items(event)}
    said = {item for item in items if _plain_text(item) in in_lines}
    listed = {item for item in items - said if _plain_text(item) in in_ledger}
    decisions = [line for line in candidates(span, "light") if line.section is Section.DECISIONS]
    kept = [frozenset(terms(line.text)) for line in lines]
    noted = sum(any(_covered(decision, line) for line in kept) for decision in decisions)
    return Audit(
        compactions=1,
        items=len(items) + len(decisions),
        in_summary=len(said) + noted,
        in_ledger=len(listed),
        in_log=len(items) + len(decisions) - len(said) - noted - len(listed),
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


def measured(lines: Iterable[Line], span: Iterable[Event]) -> list[Line]:
    """The lines with their coverage by the span."""
    words = {term for event in span for term in (*terms(event.message.text[:20_000]), *terms(event.message.speaker))}
    return [close(line, words) for line in lines]


def _covered(decision: Line, line: frozenset[str]) -> bool:
    """Whether a line contains a decision: it has most of its words."""
    words = frozenset(terms(decision.text))
    return len(words & line) >= COVERED * len(words)


def _plain(texts: Iterable[str]) -> str:
    return _plain_text("\n".join(texts))


def _plain_text(text: str) -> str:
    return " ".join(text.lower().split())
