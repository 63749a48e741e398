"""The facts that follow from an owner's claims, updated incrementally; `facts` lists and `settle` decides them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import InvalidInputError, ModelError, OutdatedError
from hybrid_memory.facts.attributes import attribute as attribute_of
from hybrid_memory.facts.authority import by_the_user, names_of_user, person_of
from hybrid_memory.facts.fact import OTHERS, SETTLED, STATED, Category, Claim, Fact, FactScope, Stance
from hybrid_memory.facts.learn import Extractors, learn_alone, learn_before_reading
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.resolving import Group, Pair, Standing, group_of
from hybrid_memory.facts.values import NOT_SAID, normalised
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import LogState, Receipt
from hybrid_memory.log.views import Stretches, visible
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import Newest, Projection
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, in_view, present
from hybrid_memory.text.tokenize import plain_terms
from hybrid_memory.validation import shown

Place = tuple[int, str]  # the position and mark of an event: a restored log reuses positions

NOWHERE: Place = (0, "")

SEEN = ("subject", "attribute", "value", "category", "single", "verbatim", "scope")
"""What somebody decides on of a claim."""

SHEETS = 8  # so many sheets of an owner and view are kept


class Knowledge:
    """The facts that follow from the claims added so far; callable from any thread.

    The cost of a claim depends on the claims it concerns, not on their total number.

    Attributes:
        mark: the last events other than claims that it depends on, such as erasures.
        last: the last claim added.
        hidden: stretches of the log whose claims are ignored.
        user: the owner of the facts; None in a space, which has no user.
        passing: sessions with instructions that apply only there.
        sheets: what prompts show of it, by `last`, and by the session if that is among these.
        outlines: what the judge sees in each vector; see `hybrid_memory.facts.judge.Judge.outlines`.
        speakers: the names under which the user spoke, empty for turns without one.
    """

    def __init__(self, mark: tuple[Place, ...], hidden: Stretches, user: str | None = None) -> None:
        self.mark = mark
        self.last = NOWHERE
        self.hidden = hidden
        self.passing: set[str | None] = set()
        self.sheets: LruCache[tuple[Place, str | None], Any] = LruCache(SHEETS)
        self.outlines: dict[str, Floats] = {}
        self.speakers: set[str] = set()
        self._lock = RLock()
        self._user = user
        self._own: set[str] = names_of_user((), user)
        self._decided: dict[tuple[int, str], Claim] = {}
        self._groups = defaultdict[tuple[str, str], Group](Group)

    def names_the_user_anew(self, events: Sequence[Event]) -> bool:
        """Whether these claims show that the user has another name, under which what others claimed does not count."""
        return self._user is not None and not names_of_user(events, self._user) <= self._own

    def take(self, events: Sequence[Event], last: Place) -> None:
        """Add claims: all that were written since the last one, up to this; known ones are ignored."""
        with self._lock:
            groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
            if self._user is not None:
                self._own |= names_of_user(events, self._user)
            for event in events:
                if event.position <= self.last[0]:
                    continue
                # Nobody else speaks about the user by name.
                named = self._user is not None and person_of(event.payload["subject"]) in self._own
                # What resolves a dispute belongs to no other turn.
                turn = event.position if event.payload["by"] == SETTLED else int(event.payload["source"])
                if (named and not by_the_user(event)) or not visible(turn, self.hidden):
                    continue
                claim = Claim.of(event.payload)
                sentence = claim.source, normalised(claim.sentence)
                if claim.by == SETTLED:
                    self._decided[sentence] = claim
                elif claim.sentence and (seen := self._decided.get(sentence)) is not None:
                    # A sentence that somebody decided on is what they saw then, however it is read now.
                    claim = replace(claim, **{name: getattr(seen, name) for name in SEEN})
                if by_the_user(event) and claim.by != SETTLED:
                    self.speakers.add(event.payload.get("speaker", ""))
                if claim.scope is FactScope.SESSION:
                    self.passing.add(event.scope.session)
                groups[group_of(claim)].append((replace(event, payload={}), claim))
            for key, pairs in groups.items():
                self._groups[key].take(pairs)
            self.last = max(self.last, last)

    @property
    def facts(self) -> list[Fact]:
        """All facts, oldest first."""
        with self._lock:
            return [each.as_fact() for each in self._ordered()]

    def statements(self) -> list[tuple[Fact, str]]:
        """The user's own sentences that no other one ended, oldest first, each with its vector as text."""
        with self._lock:
            known = [each for each in self._ordered() if each.claim.sentence and each.state.standing]
            return [(each.as_fact(), each.claim.vector) for each in known]

    def _ordered(self) -> list[Standing]:
        known = [fact for group in self._groups.values() for fact in group.facts.values()]
        return sorted(known, key=lambda each: (each.event.at, each.id))


MARKS = (EventKind.CLAIM, EventKind.ERASED)  # kinds of events that change facts
CACHED = 256
LASTING = 0.1  # the least probability that the user's sentence tells something lasting, to be listed as a fact
IMPORTANT = 0.8  # from this importance on a sentence is listed whatever its probability: safety, instructions

_log = logging.getLogger(__name__)


class FactsProjection(Projection):
    """The facts of each owner and view, and the progress of extractors."""

    kinds = frozenset({EventKind.CLAIM, EventKind.LEARNED})
    progress = frozenset({EventKind.MESSAGE, EventKind.LEARNED})
    repeats = frozenset({EventKind.CLAIM})

    def __init__(self, profile: type[UserProfile] = UserProfile) -> None:
        self.profile = profile
        self.known: LruCache[tuple[Any, ...], Knowledge] = LruCache(CACHED)

    def clear(self, owner: Scope | None = None) -> None:
        """Drop cached facts and sheets; they are derived from the log again."""
        self.known.clear(lambda key, _: owner in (None, key[0]))

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

    async def unfinished(self, run: Runner, services: Services, newest: Newest) -> set[Scope]:
        """The owners with turns that some extractor has not read."""
        extractors = services.state(Extractors)
        reader = extractors.reader if services.config.learning.model else None
        names = [extractor.name for extractor in (extractors.rules, reader) if extractor is not None]

        def is_behind(last: Mapping[EventKind | None, Event]) -> bool:
            cursors = last[EventKind.LEARNED].payload["cursors"] if EventKind.LEARNED in last else {}
            turn = last[EventKind.MESSAGE].position if EventKind.MESSAGE in last else 0
            return any(cursors.get(name, 0) < turn for name in names)

        return {owner for owner, last in newest.items() if is_behind(last)}

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Extract claims from new turns, by rules and with a model."""
        try:
            return Receipt(learned=await learn_alone(run, services, owner, progress))
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
    try:
        wanted = None if category is None else Category(category)
    except ValueError:
        allowed = ", ".join(Category)
        raise InvalidInputError(f"unknown category {shown(category)}: choose one of {allowed}") from None
    for name, value in (("subject", subject), ("attribute", attribute)):
        if not isinstance(value, str | None):
            raise InvalidInputError(f"{name} must be text, got {shown(value)}")
    await learn_before_reading(run, services, scope)
    known = await knowledge(run, await in_view(run, services, scope))
    about = None if subject is None else normalised(subject)
    names = set(plain_terms(subject or ""))  # a sentence about others has no other subject than those that it names
    return [
        fact
        for fact in known.facts
        if is_lasting(fact)
        and (attribute is None or fact.attribute == attribute)
        and (history or fact.current)
        and (
            about is None
            or normalised(fact.subject) == about
            or (fact.subject == OTHERS and names and names <= set(plain_terms(fact.text)))
        )
        and (wanted is None or fact.category is wanted)
    ]


def is_lasting(fact: Fact) -> bool:
    """Whether a fact is more than a passing remark, which only prompts make use of."""
    return not fact.verbatim or fact.confidence >= LASTING or fact.importance >= IMPORTANT


async def knowledge(run: Runner, view: View, state: LogState | None = None) -> Knowledge:
    """The facts that follow from the visible claims; cached, and updated with new claims.

    ``state`` is that of the owner's log with the kinds `MARKS`, if known.
    """
    cache, key = view.state(FactsProjection).known, (view.owner, view.horizon)
    known = cache.get(key)
    newest, *mark = await _newest(run, view, state)
    if known is not None and known.last > newest:  # another thread was faster, or the log was set back
        newest, *mark = await _newest(run, view)
    user = None if view.owner.space else view.owner.user or ""
    if known is None or known.mark != tuple(mark) or known.last > newest or known.hidden != view.hidden:
        known = Knowledge(tuple(mark), view.hidden, user)
    if known.last != newest:
        claims = await run.call(view.truth.read, view.owner, kinds=(EventKind.CLAIM,), after=max(0, known.last[0] - 1))
        went_on = bool(claims) and (claims[0].position, claims[0].mark) == known.last
        if known.last[0] and (not went_on or known.names_the_user_anew(_shown(claims, view))):
            known = Knowledge(tuple(mark), view.hidden, user)
            claims = await run.call(view.truth.read, view.owner, kinds=(EventKind.CLAIM,))
        last = (claims[-1].position, claims[-1].mark) if claims else newest
        await run.call(known.take, _shown(claims, view), last)
        cache.put(key, known)
    return known


def _shown(claims: Sequence[Event], view: View) -> list[Event]:
    """The events up to the end of the view, if it has one."""
    before = None if view.horizon is None else view.horizon.before
    return [event for event in claims if before is None or event.at < before]


async def _newest(run: Runner, view: View, state: LogState | None = None) -> list[Place]:
    """The last claim, and the other events that change facts."""
    if state is None:
        state = await run.call(view.truth.state, view.owner, MARKS)
    return [state.last.get(kind, NOWHERE) for kind in MARKS]


async def settle(
    run: Runner, services: Services, scope: Scope, fact: Any, value: str | None = None, *, reject: bool = False
) -> Receipt:
    """Write, for each turn of this fact, a claim that it is true, or wrong; or that another value is true instead."""
    if not isinstance(fact, Fact):
        raise InvalidInputError(f"give a fact from facts(), got {shown(fact)}")
    if value is not None and (reject or normalised(value) in NOT_SAID or normalised(value) == normalised(fact.value)):
        raise InvalidInputError(f"give another value or reject=True, not both; got {shown(value)} for {fact!r}")
    seen = await run.call(services.truth.head, scope)
    by_id = {each.id: each for each in await facts(run, present(services), scope, history=True)}
    if fact.id not in by_id or not fact.positions:
        raise InvalidInputError(f"{scope.owner} has no such fact: {fact!r}")
    known = await knowledge(run, await in_view(run, services, scope))
    single = attribute_of(fact.attribute).single
    approved = Claim(
        **{name: getattr(fact, name) for name in STATED},
        source=fact.positions[-1],
        single=single or bool(fact.rivals or fact.superseded_by),
        since=fact.valid_from if fact.current else None,
        by=SETTLED,
        sentence=fact.text,
        vector=next((vector for each, vector in known.statements() if each.id == fact.id), ""),
    )
    rejected = replace(approved, stance=Stance.WRONG, single=single, since=None, vector="")
    decisions = [rejected if reject else approved]
    if value is not None:  # a correction rejects it and states the other value
        sentence = fact.text.replace(fact.value, value) if fact.text.count(fact.value) == 1 else fact.text and value
        decisions = [rejected, replace(approved, value=value, sentence=sentence)]
    drafts = [
        services.draft(
            EventKind.CLAIM,
            replace(claim, source=position).as_payload(),
            session=scope.session if fact.scope is FactScope.ALWAYS else fact.session,
            sources=(source, fact.asked) if fact.asked else (source,),
            author=services.author,
        )
        for claim in decisions
        for position, source in zip(fact.positions, fact.sources, strict=True)
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
