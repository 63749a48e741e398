"""``learn``: claims are read from new turns, by rules and by a language model, and written to the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError
from hybrid_memory.facts.attributes import statement
from hybrid_memory.facts.authority import admitted, heard, speaker_of
from hybrid_memory.facts.fact import USER, Claim, FactExtractor, Stance
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.log.message import RESERVED
from hybrid_memory.log.port import Draft
from hybrid_memory.models.limited import limited, model_limit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import append_revision, erased_since, head, number_of, revision_id
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


class LimitedExtractor:
    """Another extractor, each of whose calls is waited for only so long."""

    def __init__(self, extractor: FactExtractor, timeout: timedelta) -> None:
        self._extractor = extractor
        self._limit = model_limit(f"extractor {extractor.name!r}", timeout)

    @property
    def name(self) -> str:
        """Of the extractor."""
        return self._extractor.name

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """See `FactExtractor.extract`."""
        return limited(self._limit, self._extractor.extract, turns, before)


async def learn(
    run: Runner, services: Services, owner: Scope, *, model: bool = False, progress: Progress | None = None
) -> int:
    """Read the turns of this owner that were not read yet; returns how many claims they made.

    On `ModelError` what the rules found is kept, and the model is given the turns again next time.
    """
    if services.read_only:
        return 0
    count = 0
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
    by_model = extractor is services.state(Extractors).reader
    limit = CALL_TURNS if by_model else READ_BATCH
    number, cursors = await _progress(run, services, owner)
    while True:
        after, seen = cursors.get(extractor.name, 0), await head(run, services, owner)
        turns = await run.call(services.truth.read, owner, after=after, kinds=(EventKind.MESSAGE,), limit=limit)
        turns = _within(services, turns) if by_model else turns
        if not turns:
            return count
        claims = _drafts(extractor.name, await _claims(run, services, extractor, turns))
        written = False
        # Another process may be faster. If it writes for another extractor, what a model answered is still good.
        while not written and cursors.get(extractor.name, 0) == after:
            payload = {"cursors": {**cursors, extractor.name: turns[-1].position}}
            marker = services.draft(EventKind.LEARNED, payload, id=revision_id("learned", number + 1))
            written = await append_revision(run, services, owner, marker, [*claims, marker], seen=seen) is not None
            number, cursors = await _progress(run, services, owner)
            if not written and await erased_since(run, services, owner, seen):
                break  # perhaps what these claims were read from
        if written:
            count, done = count + len(claims), done + len(turns)
            if progress is not None:
                left = await run.call(services.truth.count, owner, after=turns[-1].position)
                progress(done, done + left)


async def _progress(run: Runner, services: Services, owner: Scope) -> tuple[int, dict[str, int]]:
    """The last revision's number, and the position up to which each extractor has read."""
    newest = await run.call(services.truth.read, owner, kinds=(EventKind.LEARNED,), limit=1, newest=True)
    return (number_of(newest[0]), newest[0].payload["cursors"]) if newest else (0, {})


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
        turns, before = heard(learnt(services, session)), heard(learnt(services, before))
        try:
            found = await run.call(extractor.extract, turns, before) if turns else []
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"{extractor.name} could not read the turns: {type(error).__name__}: {error}") from error
        made = [
            (by_position[claim.source], _named(claim, by_position[claim.source]))
            for claim in found
            if claim.source in by_position
        ]
        claims += admitted(made, [*before, *turns], services.config.learning.origins)
    return claims


def _drafts(name: str, claims: Iterable[tuple[Event, Claim]]) -> list[Draft]:
    return [
        Draft(
            id=f"{RESERVED}claim:{name}:{turn.position}:{number}",
            fixed_id=False,
            session=turn.scope.session,
            kind=EventKind.CLAIM,
            at=turn.at,
            payload=_payload(claim, turn),
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


def _payload(claim: Claim, turn: Event) -> dict[str, object]:
    payload = {**claim.as_payload(), "origin": turn.origin.value}
    if speaker := speaker_of(turn):
        payload["speaker"] = speaker
    return {**payload, "text": statement(claim)} if claim.stance is Stance.HOLDS else payload
