"""``learn``: claims are read from new turns, by rules and by a language model, and written to the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hybrid_memory.errors import ModelError
from hybrid_memory.facts.attributes import statement
from hybrid_memory.facts.fact import USER, Claim, Stance
from hybrid_memory.facts.port import FactExtractor
from hybrid_memory.log.author import principal_of
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import RESERVED
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.progress import Progress
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import append_revision, number_of, revision_id
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services

READ_BATCH = 512
"""Turns that rules read in one step."""

CALL_TURNS = 20
CALL_TOKENS = 2_000
"""Turns and their tokens that a model reads in one call."""

BEFORE = 8
"""Turns before those, to understand them by."""


@dataclass(slots=True)
class Extractors:
    """Who reads claims from turns; the reader asks the language model."""

    rules: FactExtractor | None = None
    reader: FactExtractor | None = None


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far the turns of an owner were read, by extractor; ``number`` of its last revision in the log."""

    number: int
    cursors: dict[str, int]

    @classmethod
    def of(cls, event: Event | None) -> _Progress:
        if event is None:
            return cls(0, {})
        return cls(number_of(event), dict(event.payload["cursors"]))


@dataclass(frozen=True, slots=True)
class _Step:
    """What an extractor read in one step: the claims, and the last turn."""

    reader: str
    claims: list[Draft]
    upto: int


async def learn(
    run: Runner, services: Services, owner: Scope, *, model: bool = False, progress: Progress | None = None
) -> int:
    """Read the turns of this owner that were not read yet; returns how many claims they made.

    Raises:
        ModelError: the model failed; what the rules found is kept, and the model is given the turns again next time.
    """
    count = 0
    if services.read_only:
        return count
    extractors = services.state(Extractors)
    if extractors.rules is not None:
        count += await _catch_up(run, services, owner.owner, extractors.rules, progress)
    if model and extractors.reader is not None and services.config.learning.model:
        count += await _catch_up(run, services, owner.owner, extractors.reader, progress)
    return count


async def _catch_up(
    run: Runner, services: Services, owner: Scope, extractor: FactExtractor, progress: Progress | None
) -> int:
    """Let one extractor read on, step by step; each step is durable, and made once however many processes try."""
    count = done = 0
    by_calls = extractor is services.state(Extractors).reader
    limit = CALL_TURNS if by_calls else READ_BATCH
    while True:
        read = await _read_so_far(run, services, owner)
        after = read.cursors.get(extractor.name, 0)
        turns = await run.call(services.truth.read, owner, after=after, kinds=(EventKind.MESSAGE,), limit=limit)
        turns = _within(services, turns) if by_calls else turns
        if not turns:
            return count
        claims = _drafts(extractor.name, await _claims(run, services, extractor, turns))
        step = _Step(extractor.name, claims, turns[-1].position)
        written = await _write(run, services, owner, read, step)
        while not written:
            # Another process was faster. If it wrote for another extractor, what a model answered is still good.
            read = await _read_so_far(run, services, owner)
            if read.cursors.get(extractor.name, 0) != after:
                break
            written = await _write(run, services, owner, read, step)
        if written:
            count, done = count + len(claims), done + len(turns)
            if progress is not None:
                left = await run.call(services.truth.count, owner, after=turns[-1].position)
                progress(done, done + left)


async def _read_so_far(run: Runner, services: Services, owner: Scope) -> _Progress:
    found = await run.call(services.truth.read, owner, kinds=(EventKind.LEARNED,), limit=1, newest=True)
    return _Progress.of(found[0] if found else None)


def _within(services: Services, turns: Sequence[Event]) -> list[Event]:
    """The first of the turns that one call has room for, at least one."""
    total = 0
    kept: list[Event] = []
    for turn in turns:
        total += services.count(turn.message.text)
        if kept and total > CALL_TOKENS:
            break
        kept.append(turn)
    return kept


async def _claims(
    run: Runner, services: Services, extractor: FactExtractor, turns: Sequence[Event]
) -> list[tuple[Event, Claim]]:
    """What the turns claim; those of a session are read together, with the turns before them."""
    by_session: dict[str | None, list[Event]] = {}
    for turn in turns:
        by_session.setdefault(turn.scope.session, []).append(turn)
    places = {turn.position: turn for turn in turns}
    found: list[Claim] = []
    for told in by_session.values():
        before = await run.call(
            services.truth.read,
            told[0].scope,
            upto=told[0].position - 1,
            kinds=(EventKind.MESSAGE,),
            limit=BEFORE,
            newest=True,
        )
        # A handle without a session writes to none, but reads all: those of others are no context.
        before = [turn for turn in before if turn.scope == told[0].scope]
        try:
            found += await run.call(extractor.extract, learnt(services, told), learnt(services, before))
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"{extractor.name} could not read the turns: {type(error).__name__}: {error}") from error
    return [(places[claim.source], claim) for claim in found if claim.source in places]


async def _write(run: Runner, services: Services, owner: Scope, read: _Progress, step: _Step) -> bool:
    """Append the claims and how far was read, all or nothing; False if another process was faster."""
    cursors = {**read.cursors, step.reader: step.upto}
    marker = services.draft(EventKind.LEARNED, {"cursors": cursors}, id=revision_id("learned", read.number + 1))
    return await append_revision(run, services, owner, marker, [*step.claims, marker]) is not None


def _drafts(name: str, claims: Iterable[tuple[Event, Claim]]) -> list[Draft]:
    return [
        Draft(
            id=f"{RESERVED}claim:{name}:{turn.position}:{number}",
            fixed_id=False,
            session=turn.scope.session,
            kind=EventKind.CLAIM,
            at=turn.at,
            payload=as_payload(_named(claim, turn)),
            sources=(turn.id,),
            author=turn.author,
        )
        for number, (turn, claim) in enumerate(claims)
    ]


def _named(claim: Claim, turn: Event) -> Claim:
    """In a shared space the first person is whoever wrote the turn."""
    writer = principal_of(turn.author).user if turn.author else None
    if writer is None:
        return claim
    if claim.subject == USER or claim.subject.startswith(f"{USER}'s "):
        return replace(claim, subject=writer + claim.subject.removeprefix(USER))
    return claim


def as_payload(claim: Claim) -> dict[str, object]:
    """A claim as JSON; one that states something has the words that recall shows."""
    payload = claim.as_payload()
    return {**payload, "text": statement(claim)} if claim.stance is Stance.HOLDS else payload
