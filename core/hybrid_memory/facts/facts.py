"""``facts``: what follows from all claims, including what is no longer true."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory.display import Progress
from hybrid_memory.errors import InvalidInputError, ModelError, OutdatedError
from hybrid_memory.facts.attributes import attribute as attribute_of
from hybrid_memory.facts.fact import SETTLED, Category, Claim, Fact, FactScope, Stance
from hybrid_memory.facts.knowing import NOWHERE, Knowledge, Place, place_of
from hybrid_memory.facts.learn import learn, learn_before_reading
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.values import NOT_SAID, normalised
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import LogState
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import trust
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import Projection, head
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, in_view, present
from hybrid_memory.validation import shown

MARKS = (EventKind.CLAIM, EventKind.ERASED, EventKind.GRANT)
"""Kinds of events that change facts; the last one only in a space."""

CACHED = 256

LASTING = 0.1
"""The least probability that the user's sentence tells something lasting, to be listed as a fact."""

IMPORTANT = 0.8
"""From this importance on a sentence is listed whatever its probability: safety, instructions."""

_log = logging.getLogger(__name__)


class FactsProjection(Projection):
    """The facts of each owner and view, their sheets, and the progress of extractors."""

    kinds = frozenset({EventKind.CLAIM, EventKind.LEARNED})
    repeats = frozenset({EventKind.CLAIM})

    def __init__(self, profile: type[UserProfile] = UserProfile) -> None:
        self.profile = profile
        self.known: LruCache[tuple[Any, ...], Knowledge] = LruCache(CACHED)
        self.sheets: LruCache[tuple[Any, ...], Any] = LruCache(CACHED)

    def clear(self, owner: Scope | None = None) -> None:
        """Drop cached facts and sheets; they are derived from the log again."""
        for cache in (self.known, self.sheets):
            cache.clear(lambda key, _: owner in (None, key[0]))

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the turns behind a fact."""
        return item.sources if isinstance(item, Fact) else None

    def parse(self, event: Event) -> object:
        """The claim, or an extractor's progress."""
        return Claim.of(event.payload) if event.kind is EventKind.CLAIM else event.payload["cursors"]

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark the claims extracted from the turns, or containing the words."""

        def goes(claim: Event) -> bool:
            read = claim.payload["source"] in erasure.places or erasure.made_of(claim.sources, claim.scope.session)
            return erasure.everything or read or erasure.has_words(claim.payload)

        async for events in self.of(run, services, erasure, EventKind.CLAIM):
            erasure.drop(filter(goes, events), "claims")

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Extract claims from new turns, by rules and with a model."""
        try:
            return Receipt(learned=await learn(run, services, owner, model=True))
        except ModelError as error:
            _log.warning("%s; facts found by rules are kept, the model will be asked again", error)
            return Receipt()


async def facts(
    run: Runner,
    services: Services,
    scope: Scope,
    *,
    subject: str | None = None,
    attribute: str | None = None,
    category: Category | str | None = None,
    history: bool = False,
) -> list[Fact]:
    """The owner's facts, oldest first; new turns are read by rules first."""
    wanted = None if category is None else _category(category)
    for name, value in (("subject", subject), ("attribute", attribute)):
        if not isinstance(value, str | None):
            raise InvalidInputError(f"{name} must be text, got {shown(value)}")
    await learn_before_reading(run, services, scope)
    known = await knowledge(run, await in_view(run, services, scope))
    about = None if subject is None else normalised(subject)
    return [
        fact
        for fact in known.facts
        if is_lasting(fact)
        and (attribute is None or fact.attribute == attribute)
        and (history or fact.current)
        and (about is None or normalised(fact.subject) == about)
        and (wanted is None or fact.category is wanted)
    ]


def is_lasting(fact: Fact) -> bool:
    """Whether a fact is more than a passing remark, which only prompts make use of."""
    return not fact.verbatim or fact.confidence >= LASTING or fact.importance >= IMPORTANT


def _category(category: Any) -> Category:
    try:
        return Category(category)
    except ValueError:
        raise InvalidInputError(f"unknown category {shown(category)}: choose one of {', '.join(Category)}") from None


async def knowledge(run: Runner, view: View, state: LogState | None = None) -> Knowledge:
    """The facts that follow from the visible claims; cached, and updated with new claims.

    ``state`` is that of the owner's log, with the kinds `MARKS`, if known.
    """
    cache, key = view.state(FactsProjection).known, (view.owner, view.horizon)
    known = cache.get(key)
    newest, *mark = await _newest(run, view, state)
    if known is not None and known.last > newest:  # another thread was faster, or the log was set back
        newest, *mark = await _newest(run, view)
    if known is None or known.mark != tuple(mark) or known.last > newest or known.hidden != view.hidden:
        known = await _begun(run, view, mark)
    if known.last != newest:
        claims = await run.call(view.truth.read, view.owner, kinds=(EventKind.CLAIM,), after=max(0, known.last[0] - 1))
        went_on = not known.last[0] or (bool(claims) and place_of(claims[0]) == known.last)
        if not went_on or known.names_the_user_anew(_shown(claims, view)):
            known = await _begun(run, view, mark)
            claims = await run.call(view.truth.read, view.owner, kinds=(EventKind.CLAIM,))
        await run.call(known.take, _shown(claims, view), place_of(claims[-1]) if claims else newest)
        cache.put(key, known)
    return known


def _shown(claims: Sequence[Event], view: View) -> list[Event]:
    """The events up to the end of the view, if it has one."""
    before = None if view.horizon is None else view.horizon.before
    return [event for event in claims if before is None or event.at < before]


async def _begun(run: Runner, view: View, mark: Sequence[Place]) -> Knowledge:
    trusted = await trust(run, view, view.owner)
    user = None if view.owner.space else view.owner.user or ""
    return Knowledge(tuple(mark), view.hidden, view.config.learning.conflicts, trusted, user)


async def _newest(run: Runner, view: View, state: LogState | None = None) -> list[Place]:
    """The last claim, and the other events that change facts; in a space, also each author's trust."""
    kinds = MARKS if view.owner.space else MARKS[:-1]
    state = await run.call(view.truth.state, view.owner, kinds) if state is None else state
    return [state.last.get(kind, NOWHERE) for kind in kinds]


async def settle(
    run: Runner, services: Services, scope: Scope, fact: Any, value: str | None = None, *, reject: bool = False
) -> Receipt:
    """Write, for each turn of this fact, a claim that it is true, or wrong; or that another value is true instead."""
    if not isinstance(fact, Fact):
        raise InvalidInputError(f"give a fact from facts(), got {shown(fact)}")
    if value is not None and (reject or normalised(value) in NOT_SAID or normalised(value) == normalised(fact.value)):
        raise InvalidInputError(f"give another value or reject=True, not both; got {shown(value)} for {fact!r}")
    seen = await head(run, services, scope)
    by_id = {each.id: each for each in await facts(run, present(services), scope, history=True)}
    if fact.id not in by_id or not fact.positions:
        raise InvalidInputError(f"{scope.owner} has no such fact: {fact!r}")
    known = await knowledge(run, await in_view(run, services, scope))
    vector = next((vector for each, vector in known.statements() if each.id == fact.id), "")
    claims = [
        replace(claim, source=position)
        for claim in _decisions(fact, value, vector, reject=reject)
        for position in fact.positions
    ]
    drafts = [
        services.draft(
            EventKind.CLAIM,
            claim.as_payload(),
            session=scope.session if fact.scope is FactScope.ALWAYS else fact.session,
            sources=(source, fact.asked) if fact.asked else (source,),
            author=services.author,
        )
        for claim in claims
        for source in [fact.sources[fact.positions.index(claim.source)]]
    ]
    try:
        appended = await run.call(services.truth.append, scope.owner, drafts, seen=seen)
    except OutdatedError:  # perhaps the fact itself
        return await settle(run, services, scope, fact, value, reject=reject)
    return Receipt(
        ids=tuple(each.id for each in appended),
        positions=tuple(each.position for each in appended),
        learned=len(appended),
    )


def _decisions(fact: Fact, value: str | None, vector: str, *, reject: bool) -> list[Claim]:
    """What somebody decided on a fact; a correction rejects it and states the other value."""
    single = attribute_of(fact.attribute).single
    approved = Claim(
        fact.subject,
        fact.attribute,
        fact.value,
        fact.category,
        fact.positions[-1],
        single=single or bool(fact.rivals or fact.superseded_by),
        confidence=fact.confidence,
        importance=fact.importance,
        since=fact.valid_from if fact.current else None,
        due=fact.due,
        by=SETTLED,
        verbatim=fact.verbatim,
        scope=fact.scope,
        sentence=fact.text,
        vector=vector,
        asked=fact.asked,
    )
    rejected = replace(approved, stance=Stance.WRONG, single=single, since=None, vector="")
    if reject:
        return [rejected]
    if value is None:
        return [approved]
    sentence = fact.text.replace(fact.value, value) if fact.text.count(fact.value) == 1 else ""
    corrected = replace(approved, value=value, sentence=sentence or (fact.text and value))
    return [rejected, corrected]
