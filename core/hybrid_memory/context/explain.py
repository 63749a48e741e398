"""Back to the original words: ``expand`` and ``offload`` by handle, a large payload by page or pattern; ``why``.

A place in a payload is ``"10-60"`` (lines, from 1, inclusive) or ``"c1-2000"`` (characters, likewise). The end is
optional: ``"10-"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from pydantic_core import SchemaError, SchemaValidator, core_schema

from hybrid_memory.context.context import Piece
from hybrid_memory.context.shortening import digest
from hybrid_memory.context.summary import Line, Summary
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Explanation, Fact
from hybrid_memory.facts.facts import FactsProjection, facts, knowledge
from hybrid_memory.facts.sheet import profile
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.event import Event, EventKind, handle
from hybrid_memory.log.message import Message, Origin
from hybrid_memory.recall.gather import narrowed
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.plan import Request
from hybrid_memory.recall.recall import recall
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import traced
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import origin
from hybrid_memory.store.keepout import kept_out
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view, present, retained
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import checked_text, shown, whole

MAX_CHAIN = 20  # the most facts shown of a chain of replacements
DEPTH = 200  # number of hits searched for a turn that was missed

_PLACE = re.compile(r"(?P<chars>c)?(?P<first>\d{1,18})-(?P<last>\d{1,18})?")
LONG_LINE_CHARS = 500  # longer lines are shown in pieces, with their characters as a place from which to read on
PIECE_CHARS, MAX_MATCHES = 240, 50  # the length of a piece, and the most matching lines that a search shows

_HANDLE = re.compile(r"\[?#(\d{1,18})(?:-#?(\d{1,18}))?\]?")


@dataclass(frozen=True, slots=True)
class Payload:
    """An offloaded text.

    Attributes:
        result_id: pass it to `fetch`.
        digest: the text that a prompt shows instead.
    """

    result_id: str
    digest: str


async def expand(run: Runner, services: Services, scope: Scope, what: Any) -> list[Message]:
    """The original messages of a line, a hit, a handle or an event id, oldest first; see `ScopedMemory.expand`."""
    if isinstance(what, Summary):
        found = [message for stretch in what.handles for message in await expand(run, services, scope, stretch)]
        return list({message.id: message for message in found}.values())
    events = await behind(run, services, scope, what)
    messages = [event.message for event in events if event.kind is EventKind.MESSAGE]
    if not messages:
        raise InvalidInputError(f"{shown(what)} is not a message: read offloaded texts with fetch()")
    return messages


async def behind(run: Runner, services: Services, scope: Scope, what: Any) -> list[Event]:
    """The events of a line, a hit, a record, a handle or an id; `InvalidInputError` if this owner has none there."""
    wanted = what.handle if isinstance(what, Line | Piece) else what
    wanted = wanted.record if isinstance(wanted, Hit) else wanted
    if isinstance(wanted, Record):
        home = await origin(run, services, scope, wanted.scope, "expand")
        return await run.call((await in_view(run, services, home)).log.get, home, [*wanted.sources])
    services = await in_view(run, services, scope)
    if not isinstance(wanted, str):
        raise InvalidInputError(f"give a handle such as '#12', a line, a hit or an event id, got {shown(what)}")
    place = _HANDLE.fullmatch(wanted.strip())
    if place is None:
        # An id is unique in a session: this one's comes before that of another session of the owner.
        get = services.log.get
        events = await run.call(get, scope, [wanted]) or await run.call(get, scope.owner, [wanted])
    else:
        first, last = int(place[1]), int(place[2] or place[1])
        # One turn may come from another session of the owner, as recall does; a stretch is this session's.
        reach = scope.owner if first == last else scope
        events = await run.call(services.log.read, reach, after=first - 1, upto=last)
    if not events:
        raise InvalidInputError(f"{scope} has no event with the handle or id {wanted!r}")
    return events


@traced(
    "offload",
    lambda span, given: span.content.update(scope=given["scope"]),
    lambda span, payload: span.attributes.update(handle=payload.result_id),
)
async def offload(run: Runner, services: Services, scope: Scope, text: str, max_tokens: int) -> Payload:
    """Store a text durably outside the prompt; returns what the prompt shows instead."""
    present(services)
    tokens = whole("max_tokens", max_tokens, 1)
    if not text:
        raise InvalidInputError(f"only a non-empty text can be offloaded, got {shown(text)}")
    text = (await kept_out(run, services, scope)).masked(checked_text("text", text))
    payload = {"text": text, "origin": Origin.ASSISTANT}  # the model's, or put aside for it: nobody's instruction
    draft = services.draft(EventKind.PAYLOAD, payload, session=scope.session, author=services.author)
    (appended,) = await run.call(services.log.append, scope.owner, [draft])
    name = handle(appended.position, appended.position)
    shown_text = await run.call(digest, text, handle=name, max_tokens=tokens, count=services.count)
    return Payload(name, shown_text)


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a payload, unchanged.

    Attributes:
        text: the piece.
        where: its place, or the pattern that was searched.
        first, last: its lines, from 1; 0 if it is empty.
        total_lines, total_chars: of the whole.
        next: the place of the rest of what was requested; None if there is none.
        shown_matches, total_matches: of the lines that match the pattern.
    """

    text: str
    where: str
    first: int
    last: int
    total_lines: int
    total_chars: int
    next: str | None
    shown_matches: int = 0
    total_matches: int = 0


def page(text: str, where: str | None = None, *, max_chars: int) -> Page:
    """The piece of the text at this place, cut to ``max_chars``, at the end of a line if possible.

    None requests the whole text, starting with its first page. The pages chained by `Page.next` add up to exactly what
    was requested.

    Raises:
        InvalidInputError: the place is malformed or beyond the text.
    """
    if where is None:
        return _cut(text, (0, len(text)), max_chars)
    where = where.strip()
    if where.isdecimal():
        where = f"{where}-{where}"
    place = _PLACE.fullmatch(where)
    if place is None:
        raise InvalidInputError(
            f"the place {shown(where)} is no range such as '1-50' or 'c1-2000'; this payload has lines "
            f"1-{count_lines(text)} and characters c1-{len(text)}"
        )
    unit, total = ("characters", len(text)) if place["chars"] else ("lines", count_lines(text))
    first, last = int(place["first"]), min(int(place["last"] or total), total)
    if not 1 <= first <= total or last < first:
        raise InvalidInputError(
            f"the place {shown(where)} has no {unit}: ask for a range within {place['chars'] or ''}1-{total}"
        )
    if place["chars"]:
        return _cut(text, (first - 1, last), max_chars)
    ends = [0, *(newline.end() for newline in re.finditer("\n", text))]
    return _cut(text, (ends[first - 1], len(text) if last == total else ends[last]), max_chars)


def count_lines(text: str) -> int:
    """How many lines a text has, where only a newline ends a line."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _cut(text: str, span: tuple[int, int], max_chars: int) -> Page:
    start, stop = span
    end = min(stop, start + max_chars)
    if end < stop:
        end = text.rfind("\n", start, end) + 1 or end
    first = text.count("\n", 0, start) + 1 if text else 0
    where, last = _lines(text, start, end, first)
    rest, _ = _lines(text, end, stop, last + (text[end - 1 : end] == "\n"))
    return Page(text[start:end], where, first, last, count_lines(text), len(text), rest if end < stop else None)


def _lines(text: str, start: int, end: int, first: int) -> tuple[str, int]:
    """The place of this span, in lines if it consists of whole ones, and its last line."""
    last = first + text.count("\n", start, max(end - 1, start))
    whole = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end - 1 : end] == "\n")
    return (f"{first}-{last}" if whole and end > start else f"c{start + 1}-{end}"), last


def grep(text: str, pattern: str, *, max_chars: int) -> Page:
    """The lines that match a regular expression in any case, in at most ``max_chars``.

    They are written as ``12: words``; a piece of a long line as ``12 c9001-9240: words``, where characters count from
    the payload's start.

    Uses Rust's ``regex`` crate, which comes with pydantic: it takes linear time, so that no pattern can hang, and has
    no lookaround or backreferences.

    Raises:
        InvalidInputError: the pattern is empty, invalid or too big.
    """
    if not pattern:
        raise InvalidInputError("the pattern is empty: give words or a regular expression to look for")
    try:
        pattern.encode()
        schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
        matches = SchemaValidator(schema).isinstance_python
    except (SchemaError, UnicodeEncodeError) as error:
        reason = str(error).rsplit("error: ", maxsplit=1)[-1].rsplit("SchemaError: ", maxsplit=1)[-1].strip()
        raise InvalidInputError(
            f"the pattern {shown(pattern)} is not a valid regular expression ({reason}): put a backslash before "
            "( ) [ ] { } * + ? . | ^ $ to search for the character itself"
        ) from None
    lines = text.split("\n")[: count_lines(text)]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    hits = [number for number, line in enumerate(lines) if matches(line)]
    written: list[str] = []
    room, shown_hits = max_chars, 0
    for number in hits[:MAX_MATCHES]:
        if room <= 0:
            break
        shown_hits += 1
        for row in _rows(lines[number], number + 1, starts[number], matches):
            if room > 0:  # as much of the next row as fits
                written.append(row if len(row) <= room else row[: room - 1] + "…")
                room -= len(written[-1]) + 1
    first, last = (hits[0] + 1, hits[shown_hits - 1] + 1) if hits else (0, 0)
    return Page("\n".join(written), pattern, first, last, len(lines), len(text), None, shown_hits, len(hits))


def _rows(line: str, number: int, offset: int, matches: Callable[[str], bool]) -> Iterator[str]:
    """A line as shown; of a long one the matching pieces."""
    if len(line) <= LONG_LINE_CHARS:
        yield f"{number}: {line}"
        return
    starts, start = list[int](), 0
    while start < len(line):
        # The matching pieces, which overlap by half so that a match is whole in at least one.
        hit = matches(line[start : start + PIECE_CHARS])
        starts += [start] if hit else []
        start += PIECE_CHARS if hit else PIECE_CHARS // 2
    for start in starts or [0]:  # what matches may be longer than a piece
        piece = line[start : start + PIECE_CHARS]
        yield f"{number} c{offset + start + 1}-{offset + start + len(piece)}: {piece}"


async def why(run: Runner, services: Services, scope: Scope, what: Any) -> Explanation:
    """What a fact, hit, summary line or profile field is: how it was extracted, what it replaced, the words."""
    fields = services.state(FactsProjection).profile.model_fields
    if isinstance(what, Hit):
        scope = await origin(run, services, scope, what.record.scope, "why")
    view = await in_view(run, services, scope)
    behind: Sequence[Fact] = ()
    if isinstance(what, Fact):
        history = {fact.id: fact for fact in await facts(run, services, scope, history=True)}
        if what.id not in history:
            raise InvalidInputError(f"{scope.owner} has no such fact: {what!r}")
        now = history[what.id]
        chain = [now]
        while len(chain) < MAX_CHAIN and (before := history.get(chain[-1].supersedes or 0)) is not None:
            chain.append(before)
        steps = [_described(now), *(f"replaced {_described(old)}" for old in chain[1:] if old.id not in now.rivals)]
        if now.superseded_by in history:
            steps.append(f"replaced by {_described(history[now.superseded_by])}")
        steps += [f"disputed with {_described(history[rival])}" for rival in now.rivals if rival in history]
        about, behind, positions = str(now), chain, [position for fact in chain for position in fact.positions]
    elif isinstance(what, Hit):
        place, is_turn = what.record.id, what.record.kind is RecordKind.TURN
        known = (await knowledge(run, view)).facts
        behind = [fact for fact in known if place in fact.records or (is_turn and place in fact.positions)]
        steps = [what.why(), *(f"{'says' if fact.current else 'once said'} {_described(fact)}" for fact in behind)]
        about, positions = repr(what), [what.record.turn]
    elif isinstance(what, Line):
        positions = [event.position for event in await run.call(view.log.get, scope, list(what.sources))]
        if not positions:
            raise InvalidInputError(f"{scope} has no turn behind {what!r}")
        words = "word for word" if what.coverage == 1 else f"{what.coverage:.0%} in the words of the turns"
        steps = [f"summarises {what.handle} in {what.section}, importance {what.importance:.2f}, {words}"]
        about = what.text
    elif isinstance(what, str) and what in fields:
        mine = await profile(run, services, scope)
        history = {fact.id: fact for fact in await facts(run, services, scope, history=True)}
        behind = [history[number] for entry in mine.history(what) for number in entry.facts if number in history]
        values = "; ".join(str(entry.value) for entry in mine.sources.get(what, ()))
        about = f"{what.replace('_', ' ')}: {values or 'nothing is known'}"
        steps, positions = [*map(_described, behind)], [position for fact in behind for position in fact.positions]
    else:
        raise InvalidInputError(
            f"give a fact, a hit, a summary line or a profile field ({', '.join(fields)}), got {shown(what)}"
        )
    events = await at_positions(run, view, scope.owner, sorted(set(positions)))
    messages = [event for event in events if event.kind is EventKind.MESSAGE]
    turns = tuple((handle(event.position, event.position), event.message) for event in messages)
    return Explanation(about=about, steps=tuple(steps), turns=turns, facts=tuple(behind))


def _described(fact: Fact) -> str:
    until = "" if fact.valid_to is None else f" to {fact.valid_to:%Y-%m-%d}"
    author = f", written by {fact.author}" if fact.author else ""
    return (
        f"{fact.value!r}: {fact.state}, from {fact.valid_from:%Y-%m-%d}{until}, confidence {fact.confidence:.2f}, "
        f"extracted by {', '.join(fact.by) or 'hand'}{author}"
    )


async def why_not(run: Runner, services: Services, request: Request, scope: Scope, what: Any) -> Explanation:
    """The turn's rank for this query and its weak signals, or why no path of the recall found it."""
    event = (await behind(run, services, scope, what))[0]
    if event.kind is not EventKind.MESSAGE:
        raise InvalidInputError(f"{shown(what)} is not a turn but an event of kind {event.kind}: recall finds turns")
    name = handle(event.position, event.position)
    about = f"{name} does not come back for {request.query!r}"
    steps: Sequence[str]

    def row(hits: Sequence[Hit]) -> int | None:
        return next((row for row, hit in enumerate(hits) if hit.record.turn == event.position), None)

    hits = await recall(run, services, request)
    place = row(hits)
    if place is None:
        hits = await recall(run, services, replace(request, k=max(DEPTH, request.k)))
        place = row(hits)
        if place is None:
            view = await in_view(run, services, scope)
            steps = await _missed(run, view, request, event.position, len(hits))
        else:
            about += f" among the first {request.k}: its rank is {place + 1}"
            last = hits[min(request.k, place) - 1]
            steps = [hits[place].arithmetic, f"the last hit returned: {last.arithmetic}"]
    elif not request.keeps(hits[place].confidence, usual := services.config.recall.min_confidence):
        least = usual if request.min_confidence is None else request.min_confidence
        about += ": its confidence is too low"
        steps = [f"confidence {hits[place].confidence:.2f}, the minimum is {least:g}", hits[place].why()]
    else:
        about = f"{name} does come back for {request.query!r}, at rank {place + 1}"
        steps = [hits[place].why()]
    return Explanation(about=about, steps=tuple(steps), turns=((name, event.message),))


async def _missed(run: Runner, view: View, request: Request, position: int, depth: int) -> list[str]:
    records = await run.call(view.index.get, [position])
    if not records:
        return ["it is not in the index: it has no words to search, or is not indexed yet; flush() indexes it"]
    where = narrowed(view, request.where)
    record = records[0]
    conditions = {  # each is tried alone
        "scope": f"it is from another session than {where.scope.session!r}",
        "kinds": f"it is a {record.kind}, but only other kinds were requested",
        "categories": f"its category is {record.category!r}, but only others were requested",
        "origins": f"its origin is {record.origin}, which was not requested or may not be recalled",
        "since until": f"it was said at {record.at:%Y-%m-%d %H:%M}, outside the requested time",
        "metadata": "its metadata differs from the requested values",
        "hidden": "it is hidden by a rollback, or comes after this view of the past",
        "fresh": f"it is older than the retention of its kind ({record.kind}) or category allows",
    }
    reasons = []
    for names, reason in conditions.items():
        alone = {name: getattr(where, name) for name in names.split()}
        if not replace(Where(record.scope.owner), **alone).allows(record):
            reasons.append(reason)
    if reasons:
        return reasons
    places = await run.call(view.index.columns, np.array([position], dtype=np.int64), where, 0)
    if not retained(view, places).all():
        return ["it is hidden by age: see RetentionConfig"]
    common = sorted(set(terms(request.query)) & set(terms(record.text)))
    words = f"words in common: {', '.join(common)}, too frequent to count" if common else "no word in common"
    return [words, f"it is not among the first {depth} hits"]
