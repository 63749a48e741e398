"""``learn``: extracts claims from new turns, by rules and with a language model, and writes them to the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.facts.attributes import statement
from hybrid_memory.facts.authority import heard, may_claim, name_of, scope_in
from hybrid_memory.facts.fact import SETTLED, USER, Claim, FactExtractor, Stance
from hybrid_memory.facts.statements import Statements, stated_in
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.log.message import INSTRUCTING, RESERVED
from hybrid_memory.log.port import Draft, LogState
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import stream
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.projection import append_revision, number_of, revision_id
from hybrid_memory.store.services import Services

_log = logging.getLogger(__name__)

MODEL = "model "  # the prefix of names of extractors that use a language model
READ_BATCH, WAIT_BATCH = 128, 16  # turns read by rules in one step; the second while a prompt waits
CALL_TURNS = 20  # turns that a model reads in one step
BEFORE = 8  # number of earlier turns given as context
REMEMBERED = 1024  # for how many owners the progress of their extractors is cached


@dataclass(slots=True)
class Extractors:
    """The extractors of a memory.

    Attributes:
        rules: the one that needs no language model; reader: the one that calls it.
        left: owners whose turns a prompt left to background work.
        cursors: the last revision of each owner's progress: position and mark, number, cursors.
    """

    rules: FactExtractor | None = None
    reader: FactExtractor | None = None
    left: set[Scope] = field(default_factory=set)
    cursors: LruCache[Scope, tuple[tuple[int, str], int, dict[str, int]]] = field(
        default_factory=lambda: LruCache(REMEMBERED)
    )


async def learn(
    run: Runner,
    services: Services,
    owner: Scope,
    *,
    model: bool = False,
    progress: Progress | None = None,
    state: LogState | None = None,
    wait: timedelta | None = None,
) -> int:
    """Extract claims from this owner's new turns; returns how many.

    ``state`` is that of the owner's log with the kind ``learned``, if known. Turns that have not been begun after
    ``wait`` are left to background work.

    With ``model``, the language model is used too. On `ModelError`, statements are kept, and the model gets the turns
    again next time.
    """
    if services.read_only:
        return 0
    count, extractors = 0, services.state(Extractors)
    if (rules := extractors.rules) is not None:
        count += await _catch_up(run, services, owner.owner, rules, progress=progress, state=state, wait=wait)
    if model and extractors.reader is not None and services.config.learning.model:
        count += await _catch_up(run, services, owner.owner, extractors.reader, progress=progress)
    return count


async def learn_alone(
    run: Runner, services: Services, owner: Scope, progress: Progress | None = None, *, model: bool = True
) -> int:
    """Like `learn`, after what another process does for this owner: what one has read the other need not embed."""
    if services.read_only:
        return 0
    _, cursors = await cursors_of(run, services, owner)
    extractors = services.state(Extractors)
    names = [one.name for one in (extractors.rules, extractors.reader if model else None) if one is not None]
    after = min((cursors.get(name, 0) for name in names), default=0)
    if not names or not await run.call(services.truth.read, owner, after=after, kinds=(EventKind.MESSAGE,), limit=1):
        return 0
    async with services.state(TextIndex).alone(run, services, owner.owner, progress):
        return await learn(run, services, owner, model=model, progress=progress)


async def unlearn(run: Runner, services: Services, owner: Scope) -> None:
    """Drop extracted claims, so that turns are read again.

    Settled facts are kept, and so are a language model's claims if there is no model now.
    """
    reader = services.state(Extractors).reader
    number, cursors = await cursors_of(run, services, owner)
    left = {} if reader is not None else {name: at for name, at in cursors.items() if name.startswith(MODEL)}
    marker = services.draft(EventKind.LEARNED, {"cursors": left}, id=revision_id("learned", number + 1))
    if await append_revision(run, services, owner, marker, [marker], seen=None) is None:
        return await unlearn(run, services, owner)
    kept = () if reader is not None else tuple(left)
    gone = [
        event.position
        async for events in stream(run, services.truth, owner, kinds=(EventKind.CLAIM,))
        for event in events
        if event.payload["by"] not in {SETTLED, *kept}
    ]
    if gone:
        await services.state(TextIndex).erase(run, services, owner, gone)
    return None


async def learn_before_reading(
    run: Runner, services: Services, owner: Scope, *, state: LogState | None = None, wait: timedelta | None = None
) -> bool:
    """Like `learn`; whether anything may have changed. What a full disk or a missing judge prevents waits."""
    try:
        return await learn(run, services, owner, state=state, wait=wait) > 0
    except (StoreUnavailableError, ModelError) as error:
        _log.warning("%s; only facts learned before are shown for %s", error, owner)
        return True


async def _catch_up(
    run: Runner,
    services: Services,
    owner: Scope,
    extractor: FactExtractor,
    *,
    progress: Progress | None,
    state: LogState | None = None,
    wait: timedelta | None = None,
) -> int:
    """Let one extractor continue, step by step; each step is durable, and done once however many processes try."""
    count = done = 0
    by_model = extractor is services.state(Extractors).reader
    limit = CALL_TURNS if by_model else READ_BATCH if wait is None else WAIT_BATCH
    until = None if wait is None else time.monotonic() + wait.total_seconds()
    number, cursors = await cursors_of(run, services, owner, state)
    while True:
        after = cursors.get(extractor.name, 0)
        seen = state.head if state else await run.call(services.truth.head, owner)
        state = None
        turns = await run.call(services.truth.read, owner, after=after, kinds=(EventKind.MESSAGE,), limit=limit)
        if not turns:
            return count
        if until is not None and time.monotonic() > until:
            services.state(Extractors).left.add(owner)
            return count
        await services.state(TextIndex).go_on(run, services, owner)
        claims = drafts_of(extractor.name, await _read(run, services, extractor, turns))
        # Another process may be faster. If it writes for another extractor, what a model answered is still good.
        while cursors.get(extractor.name, 0) == after:
            payload = {"cursors": {**cursors, extractor.name: turns[-1].position}}
            marker = services.draft(EventKind.LEARNED, payload, id=revision_id("learned", number + 1))
            if await append_revision(run, services, owner, marker, [*claims, marker], seen=seen) is None:
                number, cursors = await cursors_of(run, services, owner)
                if await run.call(services.truth.read, owner, after=seen, kinds=(EventKind.ERASED,), limit=1):
                    break  # perhaps what these claims were read from
                continue
            number, cursors = number + 1, payload["cursors"]
            count, done = count + len(claims), done + len(turns)
            if progress is not None:
                left = await run.call(services.truth.count, owner, after=turns[-1].position)
                progress(done, done + left)
            if len(turns) < limit:
                return count


async def cursors_of(
    run: Runner, services: Services, owner: Scope, state: LogState | None = None
) -> tuple[int, dict[str, int]]:
    """The number of the last revision, and the position up to which each extractor has read.

    ``state`` is that of the owner's log with the kind ``learned``, if known.
    """
    cache, key = services.state(Extractors).cursors, owner.owner
    if state is not None:
        known = cache.get(key) or ((0, ""), 0, {})
        if known[0] == state.newest([EventKind.LEARNED]):
            return known[1:]
    newest = await run.call(services.truth.read, owner, kinds=(EventKind.LEARNED,), limit=1, newest=True)
    if not newest:
        return 0, {}
    (last,) = newest
    cache.put(key, ((last.position, last.mark), number_of(last), last.payload["cursors"]))
    return number_of(last), last.payload["cursors"]


def _reads(span: Span, given: Given) -> None:
    model = given["extractor"] is given["services"].state(Extractors).reader
    span.attributes |= {"messages": len(given["turns"]), "model": model}
    span.content["scope"] = given["turns"][0].scope.owner


@traced("learn", _reads, lambda span, claims: span.attributes.update(count=len(claims)))
async def _read(
    run: Runner, services: Services, extractor: FactExtractor, turns: Sequence[Event]
) -> list[tuple[Event, Claim]]:
    """The claims of the turns; those of a session are read together, with the turns before them."""
    by_session: dict[str | None, list[Event]] = {}
    for turn in turns:
        by_session.setdefault(turn.scope.session, []).append(turn)
    by_position = {turn.position: turn for turn in turns}
    claims: list[tuple[Event, Claim]] = []
    for session in by_session.values():
        before = await run.call(
            services.truth.read,
            session[0].scope,
            upto=session[0].position - 1,
            kinds=(EventKind.MESSAGE,),
            limit=BEFORE,
            newest=True,
        )
        # A scope without a session reads all sessions: the turns of others are no context.
        before = [turn for turn in before if turn.scope == session[0].scope]
        turns, before = heard(session), heard(before)
        if not turns:
            continue
        try:
            made = await (
                stated_in(run, services.embedder, turns, before)
                if isinstance(extractor, Statements)
                else run.call(extractor.extract, turns, before)
            )
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"{extractor.name} could not read the turns: {type(error).__name__}: {error}") from error
        for claim in made:
            if (event := by_position.get(claim.source)) is not None:
                own = replace(claim, scope=scope_in(claim, event.message.text))
                writer = principal_of(event.author).user if event.author else None
                # In a shared space, the first person is the turn's author.
                if writer is not None and (own.subject == USER or own.subject.startswith(f"{USER}'s ")):
                    own = replace(own, subject=writer + own.subject.removeprefix(USER))
                if may_claim(event, own, services.config.learning.origins):
                    claims.append((event, own))
    return claims


def drafts_of(name: str, claims: Iterable[tuple[Event, Claim]]) -> list[Draft]:
    """The events for an extractor's claims, each with its turn."""
    drafts = []
    for number, (turn, claim) in enumerate(claims):
        payload = {**claim.as_payload(), "origin": turn.origin.value}
        if turn.origin in INSTRUCTING and (speaker := name_of(turn)):
            payload["speaker"] = speaker
        if claim.stance is Stance.HOLDS and not claim.sentence:  # the user's own sentence is found by its turn
            payload["text"] = statement(claim)
        sources = (turn.id, claim.asked) if claim.asked else (turn.id,)
        id_ = f"{RESERVED}claim:{name}:{turn.position}:{number}"
        drafts.append(Draft(id_, False, turn.scope.session, EventKind.CLAIM, turn.at, payload, sources, turn.author))
    return drafts
