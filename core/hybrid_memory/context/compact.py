"""Compaction: moves the oldest turns of a session into its summary, and the cursor past them, in one write.

It is due with too many tokens or rounds, too much important content, or a change of topic. A span is summarised by a
language model, whose answer is checked, or deterministically; an audit says what survived.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.artifacts.ledger import render
from hybrid_memory.artifacts.reading import read_ledger
from hybrid_memory.config import CompactionConfig
from hybrid_memory.context import queue as queues
from hybrid_memory.context.layout import PromptRequest
from hybrid_memory.context.lines import MONTHS, SummaryRoom, candidates, importance, merged, prose, selected
from hybrid_memory.context.lines import shown as shown_lines
from hybrid_memory.context.queue import QueueState, Session, Unit, costs_of, cut
from hybrid_memory.context.strategies import Strategy, SummaryJob, resolve_strategy
from hybrid_memory.context.summary import LEDGER_TOKENS, Audit, Line, Section, Summary
from hybrid_memory.context.view import PromptView, view
from hybrid_memory.errors import HybridMemoryError, ModelError, StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import PRESSURE, Origin, Role, lowest
from hybrid_memory.log.port import Receipt
from hybrid_memory.log.views import outermost, within
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.text.tokenize import cjk_share, terms
from hybrid_memory.validation import whole

WORTH = 0.1  # the least share of the excess that a compaction must free
DRIFT_TURNS = 60  # the user's newest turns searched for a change of topic; replies say more of the model than of it
SMALL_TALK = 0.2  # a round whose most important message is below this is small talk
WINDOW = 6  # the number of turns on either side of a boundary that are compared
PRIOR = 2.0  # this many average pairs are added to each mean, as a few pairs may be similar by chance
LEAST_SPREAD = 1e-3  # turns whose similarities differ by less are the same except for rounding
MAX_STRETCHES = 64  # a state stores all its stretches: beyond this many, each compaction joins the two oldest
RACES = 8  # how often another process may be faster before the call fails
STANDING = 3  # the summary keeps this many times the lines that fit into a prompt, so that displaced lines can return
FRESH_RATIO = 0.3  # the lines for a span take at most this share of its tokens, but may always take `LEAST_FRESH`
LEAST_FRESH = 120
LEAST_SHOWN = 50
RELATED = 0.25  # a line that shares less of its terms with the turns or the previous lines is made up
OTHER_SCRIPT = 0.5  # if the shares of Chinese differ by more than this, words cannot be compared
COVERED = 0.6  # a line contains a decision if it has this share of its terms

_UNITS = (
    r"%|°[CF]?|km|kg|cm|mm|m|g|ml|l|mb|gb|tb|kb|ms|s|min|h|hours?|days?|weeks?|months?|years?|am|pm|usd|eur|dollars?"
    r"|euros?|元|块|万|亿|岁|年|月|日|号|点|分钟?|小时|天|周|公里|米|斤|个月|次|人|楼|层|路|折"
)

_ADDRESSES = re.compile(r"https?://[^\s<>\"'）)】，。]+|\w[\w.+-]*@[\w-]+\.[\w.-]*\w")

_FILES = re.compile(
    r"(?<![\w./-])[\w.-]*(?:/[\w.-]+)+\.\w+|\b[\w-]+\.(?:py|js|tsx?|md|json|ya?ml|toml|txt|csv|go|rs|java|c|h|cpp|sh|sql)\b"
)

_FIGURES = re.compile(
    r"\+\d{1,3}[ -]\d[\d -]{5,12}\d|\b\d{3,4}[ -]\d{3,4}[ -]\d{4}\b|(?<!\d)1\d{10}(?!\d)"  # telephones
    r"|\b\d{4}[-/年]\d{1,2}(?:[-/月]\d{1,2}日?)?|\b\d{1,2}:\d{2}\b|\d{1,2}月\d{1,2}[日号]"  # dates and times
    rf"|\b(?:{MONTHS}) \d{{1,2}}\b"
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

_log = logging.getLogger(__name__)


async def due_now(run: Runner, services: Services, seen: PromptView, needed: int, budget: int) -> tuple[str, int]:
    """The part of `due` worth doing: for what the model has answered, and enough of what does not fit."""
    reason, count = await due(run, services, seen, needed, budget)
    units = seen.session.queue.units
    last = next((row for row in reversed(range(len(units))) if units[row].role is Role.ASSISTANT), None)
    if last is not None:  # what follows was not read yet, such as the results of its calls
        count = min(count, last if units[last].messages[0].tool_calls else last + 1)
    if sum(seen.unit_costs[:count]) < WORTH * (needed - budget):
        return "", 0  # what does not fit is one long message, which is shortened
    return reason, count


async def due(run: Runner, services: Services, seen: PromptView, needed: int, max_tokens: int) -> tuple[str, int]:
    """Why to compact now, and how many units; empty and 0 if there is no need or nothing to compact.

    The prompt needs ``needed`` tokens of its budget ``max_tokens``.
    """
    config, rounds = services.config.compaction, seen.session.queue.rounds
    units, limit = seen.session.queue.evictable, round(config.flush * max_tokens)
    if len(units) < 2:  # noqa: PLR2004 - the newest always stays
        return "", 0
    density = 0.0
    if config.density is not None:
        leaving = units[: excess(services, seen, max_tokens, by_tokens=False)]
        density = float(np.mean([importance(message.text) for unit in leaving for message in unit.messages] or [0.0]))
    if needed > limit:
        reason = f"tokens: {needed} of {limit}"
    elif config.rounds is not None and rounds >= config.rounds:
        reason = f"rounds: {rounds} of {config.rounds}"
    elif config.density is not None and density >= config.density and rounds >= 2 * config.keep_rounds:
        # Twice as many, so that as many new rounds follow each compaction.
        reason = f"density: {density:.2f} of {config.density:.2f}"
    else:
        return await _drifted(run, services, units, rounds)
    count = excess(services, seen, max_tokens, by_tokens=needed > limit)
    # The turn that the rest answers is shown as long as any of that is: compacted alone it would only be told twice.
    alone = count == 1 and units[0].opens and not units[1].opens
    return ("", 0) if alone else (reason, count)


def excess(services: Services, seen: PromptView, max_tokens: int, *, by_tokens: bool, rounds: int | None = None) -> int:
    """How many units to compact so that the rest fits its share of the budget, or this many rounds."""
    config = services.config.compaction
    units = seen.session.queue.evictable
    room = max_tokens - seen.fixed
    if by_tokens:
        return cut(units, seen.unit_costs, max_tokens=int(config.keep_ratio * room))
    if rounds is None:
        worth: list[float] = []  # by round, of its most important message
        for unit in units:
            most = max(importance(message.text) for message in unit.messages)
            if unit.opens:
                worth.append(most)
            elif worth:
                worth[-1] = max(worth[-1], most)
        rounds = keep_rounds(config, worth)
    room -= int((config.recall_ratio + config.summary_ratio) * max_tokens)
    return cut(units, seen.unit_costs, max_tokens=max(room, 1), max_rounds=rounds)


async def _drifted(run: Runner, services: Services, units: Sequence[Unit], rounds: int) -> tuple[str, int]:
    """The clearest change of topic in the user's turns, if it is clear enough and has enough rounds on both sides."""
    config, change = services.config.compaction, None
    if config.drift is None:
        return "", 0
    owner = units[0].events[0].scope.owner
    rows = [row for row, unit in enumerate(units) if unit.opens][-DRIFT_TURNS:]
    with suppress(HybridMemoryError):
        _, note = await services.state(TextIndex).catch_up(run, services, owner)
        ids = np.array([units[row].first for row in rows], dtype=np.int64)
        vectors, _ = await run.call(services.index.vector_rows, owner, ids)
        change = None if note else drift(vectors @ vectors.T)
    if change is None:
        return "", 0
    strength, row = change[0], rows[change[1]]
    before = sum(unit.opens for unit in units[:row])
    if strength < config.drift or min(before, rounds - before) < config.keep_least:
        return "", 0
    return f"drift: {strength:.2f} of {config.drift:.2f}", row


def keep_rounds(config: CompactionConfig, importances: Sequence[float]) -> int:
    """How many of the last rounds stay verbatim; the importance of each round is in [0, 1], oldest first.

    All of ``keep_rounds``, unless more than half of that many newest rounds are small talk: then proportionally fewer,
    down to ``keep_least``.
    """
    newest = importances[-config.keep_rounds :]
    worth = sum(importance >= SMALL_TALK for importance in newest) / max(len(newest), 1)
    return config.keep_least + round((config.keep_rounds - config.keep_least) * min(2 * worth, 1.0))


def drift(likeness: Floats, *, least: int = 4) -> tuple[float, int] | None:
    """The clearest change of topic between two stretches of at least ``least`` turns, the latest of equals.

    How clear it is, in [0, 1], and the first turn of the new topic; None if fewer than ``2 * least`` turns have a
    vector. ``likeness`` holds the inner products of the turns' embeddings, shape (n, n), oldest first, 0 if a vector is
    missing.

    At each boundary, up to 6 turns before it and after it are compared, as in TextTiling (Hearst 1997): the gap is the
    mean likeness within both sides minus that across. What is usual for each turn is subtracted first, so that short
    turns, which resemble all others or none, count no more than others. The rest is measured in its standard deviation,
    so that the embedder's scale cancels out. The strength is ``gap / (1 + gap)``, 0 for no gap.
    """
    rows = np.flatnonzero(likeness.diagonal() > 0)
    n = len(rows)
    if n < 2 * least:
        return None
    others = 1 - np.eye(n)
    values = likeness[np.ix_(rows, rows)]
    values = (values - (values * others).sum() / max(n * (n - 1), 1)) * others
    # Each row sums to n - 2 times the part of its turn, where likeness is the sum of a part for either turn.
    usual = values.sum(axis=1) / max(n - 2, 1)
    values = np.triu(values - usual[:, np.newaxis] - usual, k=1)
    spread = np.sqrt((values**2).sum() / max(n * (n - 1) / 2, 1))
    centred = values / max(spread, LEAST_SPREAD)

    def mean(one: slice, other: slice) -> float:
        size = one.stop - one.start
        pairs = size * (size - 1) / 2 if one == other else size * (other.stop - other.start)
        return float(centred[one, other].sum() / (pairs + PRIOR))

    gaps = []
    for at in range(least, n - least + 1):
        before, after = slice(max(at - WINDOW, 0), at), slice(at, min(at + WINDOW, n))
        gaps.append((mean(before, before) + mean(after, after)) / 2 - mean(before, after))
    best = max(range(len(gaps)), key=lambda row: (gaps[row], row))
    gap = max(gaps[best], 0.0)
    return gap / (1 + gap), int(rows[least + best])


async def compact(
    run: Runner, services: Services, scope: Scope, *, strategy: str | Strategy | None, keep: int | None
) -> Receipt:
    """Compact all but the newest rounds; see `ScopedMemory.compact`."""
    services = await in_view(run, present(services), scope)
    settings = services.config.compaction
    # To look for a name among installed packages reads files.
    way = await run.call(resolve_strategy, settings.strategy if strategy is None else strategy)
    rounds = settings.keep_least if keep is None else whole("keep", keep, 1)
    request = PromptRequest(query="?", max_tokens=settings.max_tokens)
    await run.call(services.count, "")  # a counter may have tables to load, off the event loop
    for _ in range(RACES):
        session = await queues.load(run, services, scope)
        seen = view(session, costs_of(services), settings, request, session.state.summary.lines)
        count = excess(services, seen, settings.max_tokens, by_tokens=False, rounds=rounds)
        if not count:
            return Receipt()
        made = await compact_units(run, services, session, count, max_tokens=settings.max_tokens, strategy=way)
        if made is not None:
            return Receipt(compacted=made)
    raise StoreUnavailableError(f"other processes kept compacting {scope} at the same time: try again")


def _compacts(span: Span, given: Given) -> None:
    span.attributes["model"] = given["ask"] and given["services"].language_model is not None
    span.content["scope"] = given["session"].scope


@traced("compact", _compacts, lambda span, made: span.attributes.update(messages=made or 0, written=made is not None))
async def compact_units(
    run: Runner,
    services: Services,
    session: Session,
    count: int,
    *,
    max_tokens: int,
    strategy: Strategy | None = None,
    ask: bool = True,
) -> int | None:
    """Compact the oldest ``count`` units of the queue; None if another process was faster, and nothing changed.

    Returns how many messages were compacted that were not before.

    ``max_tokens`` is the budget of the prompts that the summary is for. Without ``ask``, no model is called.
    """
    way = strategy or resolve_strategy(services.config.compaction.strategy)
    old = session.state
    units, rest = compactable(session.queue.units, count)
    # What was not compacted before, by position.
    events = sorted((event for unit in units for event in unit.events), key=lambda event: event.position)
    fresh = [
        event
        for event in events
        if event.position in old.kept
        or (event.position > old.cursor and not within(event.position, old.summary.stretches))
    ]
    span = [event for event in fresh if event.message.event != PRESSURE]
    summary = old.summary
    if span:
        models = services if ask else replace(services, language_model=None)
        summary = await _summarised(run, models, way, old, span, max_tokens=max_tokens)
    # The opening instructions stay, and turns kept by a reset that are not compacted yet.
    left = {event.position for unit in rest for event in unit.events}
    opening = {event.position for unit in session.queue.instructions for event in unit.events}
    # The user's turn to which the first remaining units belong, if they do not begin with one.
    anchor = 0
    if rest and not rest[0].opens:
        anchor = next((unit.events[0].position for unit in reversed(units) if unit.opens), 0)
    state = QueueState(
        number=old.number + 1,
        cursor=max([old.cursor, *(unit.last for unit in units)]),
        kept=tuple(sorted(opening | {position for position in old.kept if position in left})),
        anchor=anchor if units else old.anchor,
        summary=summary,
        episode=old.number + 1 if span else old.episode,
    )
    written = await queues.write_state(run, services, session, EventKind.COMPACTION, state.as_payload())
    return len(fresh) if written else None


def compactable(units: Sequence[Unit], count: int) -> tuple[Sequence[Unit], Sequence[Unit]]:
    """The oldest ``count`` units with what the cursor then passes, as an orphan may be inside an exchange; the rest.

    Fewer if the cursor would pass what must stay: the user's last turn, or everything that a model sees.
    """
    question = next((row for row in reversed(range(len(units))) if units[row].opens), -1)
    newest = next((row for row in reversed(range(len(units))) if units[row].shown), -1)
    while True:
        passed = count
        cursor = max((unit.last for unit in units[:count]), default=0)
        while passed < len(units) and units[passed].first <= cursor:
            passed += 1
        if not (count and (count <= question < passed or count <= newest < passed)):
            return units[:passed], units[passed:]
        count -= 1


async def _summarised(
    run: Runner, services: Services, way: Strategy, state: QueueState, span: Sequence[Event], *, max_tokens: int
) -> Summary:
    """The summary after this span."""
    settings, count, old = services.config.compaction, services.count, state.summary
    shown = max(LEAST_SHOWN, int(settings.summary_ratio * max_tokens))
    room = SummaryRoom(
        standing=STANDING * shown,
        shown=shown,
        fresh=max(LEAST_FRESH, min(shown, int(FRESH_RATIO * sum(count(event.message.text) for event in span)))),
        count=count,
        cleaning=services.config.cleaning,
    )
    ledger = read_ledger([event.message for event in span], old.artifacts)
    job = SummaryJob(old.lines, span, room)
    whole = render(ledger, max_tokens=LEDGER_TOKENS, count=count)
    made, failed, filled = await summarise(run, services, way, job, whole)
    fresh = [line for line in made if line not in old.lines]
    space = int(settings.artifact_ratio * max_tokens)
    files = render(ledger, max_tokens=space, count=count)
    lines = shown_lines(made, max_tokens=shown, spare=space - count(files), count=count)
    # One stretch after the cursor; turns kept by a reset or edited may add others.
    apart = [event.position for event in span if event.position <= state.cursor or event.message.replaces]
    new = [event.position for event in span if event.position not in apart]
    stretches = (*old.stretches, *([(new[0], new[-1])] if new else []), *((place, place) for place in apart))
    if len(stretches) > MAX_STRETCHES:
        stretches = outermost(sorted(stretches, key=lambda stretch: (stretch[0], -stretch[1])))
    while len(stretches) > MAX_STRETCHES:
        stretches = ((stretches[0][0], stretches[1][1]), *stretches[2:])
    report = replace(audited(span, lines, fresh, files), fallbacks=failed, filled=filled)
    return Summary(tuple(made), ledger, stretches, audit=old.audit + report, strategy=way.name)


async def summarise(
    run: Runner, services: Services, way: Strategy, job: SummaryJob, ledger: str
) -> tuple[list[Line], int, int]:
    """The model's summary with dropped critical items added back, or the deterministic one.

    With it, whether the model failed, and how many lines were added back.
    """
    lines: list[Line] | None = None
    failed = filled = 0
    questions, model = way.prompt(job), services.language_model
    if questions and model is not None:
        try:
            if way.schema is None:
                answer: object = await run.call(model.complete, questions)
            else:
                answer = await run.call(model.structured, questions, way.schema)
            lines = _related(way.read(answer, job), job)
        except Exception as error:  # noqa: BLE001 - whatever a model or a strategy fails with
            problem = error if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
            _log.warning("no summary by %s: %s; summarised without the model", way.name, problem)
            failed = 1
    if lines is None:
        lines = _attributed(way.extract(job), job)
    else:
        # The sentences with critical items that the model dropped come back, within the budget.
        lines = _attributed(lines, job)
        lost = unsaid(job.span, lines, ledger)
        items = {item.lower() for missing in lost.values() for item in missing}
        quotations = candidates([event for event in job.span if event.position in lost], job.room.cleaning)
        offered = [line for line in quotations if any(item in line.text.lower() for item in items)]
        added = selected(offered, job.room, lines)
        lines, filled = merged(lines, added, max_tokens=job.room.standing, count=job.room.count), len(added)
    return measured(lines, job.span, frozenset(job.standing)), failed, filled


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

    def attributed(line: Line) -> Line:
        if line in standing or line.origin is not None:
            return line
        cited = [(origin, words) for origin, ids, words in seen if not ids.isdisjoint(line.sources)]
        quoted = set(terms(line.text)) <= {term for _, words in cited for term in words}
        return replace(line, origin=lowest(origin for origin, _ in cited) if quoted else lowest_seen)

    return [attributed(line) for line in lines]


def measured(lines: Iterable[Line], span: Iterable[Event], standing: Collection[Line] = ()) -> list[Line]:
    """The lines with their coverage by the span; standing ones unchanged."""
    words = {term for event in span for term in (*terms(event.message.text[:20_000]), *terms(event.message.speaker))}
    return [line if line in standing else replace(line, coverage=_coverage(line, words)) for line in lines]


def _coverage(line: Line, words: Collection[str]) -> float:
    own = terms(line.text)
    return sum(term in words for term in own) / len(own) if own else 1.0


def critical_items(event: Event) -> tuple[str, ...]:
    """Paths, addresses, dates, numbers with units, ids, error names and names in a turn, each once."""
    text = prose(event.message)
    characters = set(text)
    needed = [pattern for needs, pattern in _NEEDS if not needs or characters.intersection(needs)]
    return tuple(dict.fromkeys(match.strip() for pattern in needed for match in pattern.findall(text)))


def unsaid(span: Iterable[Event], lines: Sequence[Line], ledger: str) -> dict[int, list[str]]:
    """The critical items of each turn that are neither in a line nor in the ledger, by the turn's position."""
    kept = _plain("\n".join([*(line.text for line in lines), ledger]))
    missing = {event.position: [item for item in critical_items(event) if _plain(item) not in kept] for event in span}
    return {position: items for position, items in missing.items() if items}


def audited(span: Sequence[Event], lines: Sequence[Line], fresh: Sequence[Line], ledger: str) -> Audit:
    """The audit of a span, given the lines and the ledger that a prompt shows, and the lines written for the span."""
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


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
