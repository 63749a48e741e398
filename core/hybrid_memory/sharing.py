"""Shared spaces: the rights that their admins' decisions give, access checks before every verb, and quarantine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from hybrid_memory.errors import AccessDeniedError, InvalidInputError, StoreUnavailableError
from hybrid_memory.log.event import QUARANTINE, Event, EventKind, author_of, principal_of
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Draft, Receipt, receipt_of
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store import forget as forgetting
from hybrid_memory.store.projection import FoldedProjection, append_revision, erased_since, head, number_of, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_share, shown

TRUSTED = 0.5
"""Writes by members with less trust need an admin's approval."""

Grantee: TypeAlias = tuple[str | None, str | None]
"""The user and the agent that a grant names."""


class Right(StrEnum):
    """What a grant allows: write includes read, and admin includes write."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Right) -> bool:
        """Whether this right includes the other."""
        ranks = list(Right)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True)
class Member:
    """A user or agent in a space, whatever their right."""

    principal: Scope
    space: Scope

    @property
    def author(self) -> str:
        """The member as text."""
        return author_of(self.principal)


@dataclass(frozen=True, slots=True)
class Asked:
    """A requested access.

    Attributes:
        verb: its name; needed: the right it requires.
        trusted: whether it also requires trust; quarantined writes do not.
    """

    verb: str
    needed: Right
    trusted: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """A right in a space.

    Attributes:
        user, agent: the member; None means any, but at least one is named.
        right: read, write or admin.
        trust: in [0, 1]; with too little, what the member writes goes into quarantine.
        by: who gave it, as text; at: when.
    """

    user: str | None
    agent: str | None
    right: Right
    trust: float
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Denial:
    """A refused access to a space.

    Attributes:
        who: the user and agent, as text; verb: what they tried.
        needed, held: the right the verb needs, and the right they had. If that was sufficient, their trust was too low.
        at: when.
    """

    who: str
    verb: str
    needed: Right
    held: Right | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of the decisions so far.

    Attributes:
        number: the number of decisions; position: the log position of the last one.
        grants: the last decision for each grantee.
        approved: positions of the messages that were released from quarantine.
    """

    number: int = 0
    position: int = 0
    grants: Mapping[Grantee, Grant] = field(default_factory=dict)
    approved: frozenset[int] = frozenset()

    def after(self, decisions: Iterable[Event]) -> Standing:
        """The result after these events, which follow by position."""
        number, position, grants, approved = self.number, self.position, dict(self.grants), set(self.approved)
        for event in decisions:
            number, position, payload = number_of(event), event.position, event.payload
            approved.update(payload.get("approved", ()))
            if "right" in payload:
                name = payload["user"], payload["agent"]
                grants.pop(name, None)
                if payload["right"] is not None:  # None revokes
                    grants[name] = Grant(*name, Right(payload["right"]), payload["trust"], event.author, event.at)
        return Standing(number, position, grants, frozenset(approved))

    def covering(self, principal: Scope) -> list[Grant]:
        """The grants that name this user, this agent, or both."""
        user, agent = principal.user, principal.agent
        names = dict.fromkeys([(user, None), (None, agent), (user, agent)])
        return [self.grants[name] for name in names if name in self.grants]

    def right(self, principal: Scope) -> Right | None:
        """The highest right that this user and agent have; None without a grant."""
        rights = [grant.right for grant in self.covering(principal)]
        return max(rights, key=list(Right).index, default=None)

    def trust(self, principal: Scope) -> float:
        """The trust in what they write, in [0, 1]; 0 for members who may not write.

        The most specific grant decides; of two equally specific ones, the lower value.
        """
        writing = [grant for grant in self.covering(principal) if grant.right.includes(Right.WRITE)]
        parts = [((grant.user is None) + (grant.agent is None), grant.trust) for grant in writing]
        return min(parts, default=(0, 0.0))[1]


class GrantsProjection(FoldedProjection[Standing]):
    """The current decisions of each space; a rollback does not change them."""

    kinds = frozenset({EventKind.GRANT, EventKind.DENIED, EventKind.QUARANTINED})
    start = Standing
    follows = frozenset({EventKind.GRANT})
    capacity = 4096

    def parse(self, event: Event) -> object:
        return Standing().after([event]) if event.kind is EventKind.GRANT else event.payload


RACES = 100
"""How many decisions of other admins may interfere before the call fails."""


Decision: TypeAlias = Callable[[Standing], tuple[dict[str, Any], list[Draft]]]
"""Given the current decisions: the new one and the events to write with it; may raise `InvalidInputError`."""


async def standing(run: Runner, services: Services, space: Scope) -> Standing:
    """The current decisions of a space; a rollback does not change them."""
    return await services.state(GrantsProjection).read(run, services, space)


async def admitted(run: Runner, services: Services, member: Member, asked: Asked) -> Standing:
    """The current decisions of the space, if this user and agent have the right; raises otherwise."""
    known = await standing(run, services, member.space)
    held = known.right(member.principal)
    if held is None or not held.includes(asked.needed):
        reason = f"it takes the right to {asked.needed}, given by an admin of the space"
    elif asked.trusted and known.trust(member.principal) < TRUSTED:
        reason = f"it takes a trust of {TRUSTED} or more, given by an admin of the space"
    else:
        return known
    if known.number and not services.read_only:
        refused = {"verb": asked.verb, "needed": asked.needed, "held": held}
        denial = services.draft(EventKind.DENIED, refused, author=member.author)
        await run.call(services.truth.append, member.space, [denial])
    raise AccessDeniedError(member.author, asked.verb, member.space.space or "", reason)


async def create(run: Runner, services: Services, member: Member) -> None:
    """Make a space with this user and agent as its admin."""
    first = {"user": member.principal.user, "agent": member.principal.agent, "right": Right.ADMIN, "trust": 1.0}
    if await append_revision(run, services, member.space, _decision(services, member, Standing(), first)) is None:
        name = member.space.space
        raise InvalidInputError(f"the space {name!r} already exists: choose another name, or ask its admin")


def _decision(services: Services, member: Member, known: Standing, payload: dict[str, Any]) -> Draft:
    return services.draft(EventKind.GRANT, payload, id=revision_id("grant", known.number + 1), author=member.author)


async def decide(
    run: Runner, services: Services, member: Member, verb: str, decision: Decision, *, seen: int | None = None
) -> Receipt:
    """Write an admin's decision, based on the current ones; repeated if another decision was faster.

    ``seen`` is the space's last position before the data that the decision copies was read.
    """
    asked = Asked(verb, Right.ADMIN, trusted=True)
    for _ in range(RACES):
        known = await admitted(run, services, member, asked)
        payload, drafts = decision(known)
        revision = _decision(services, member, known, payload)
        appended = await append_revision(run, services, member.space, revision, [revision, *drafts], seen=seen)
        if appended is None:
            if seen is not None and await erased_since(run, services, member.space, seen):
                raise InvalidInputError(f"{member.space} forgot something in the meantime: call quarantined() again")
            continue
        return receipt_of(appended[1:] or appended)
    raise StoreUnavailableError(f"other admins kept changing {member.space} at the same time: try again")


async def grant(
    run: Runner,
    services: Services,
    member: Member,
    *,
    user: str | None,
    agent: str | None,
    right: str | None,
    trust: float = 1.0,
) -> Receipt:
    """Give a right, or with None revoke it; the last decision for a grantee counts."""
    if user is None and agent is None:
        raise InvalidInputError("no member given: give user=, agent= or both")
    grantee, share = Scope(user=user, agent=agent), checked_share("trust", trust)
    if right == Right.ADMIN and share < TRUSTED:
        raise InvalidInputError(f"an admin needs a trust of {TRUSTED} or more, got {trust}")

    def decision(known: Standing) -> tuple[dict[str, Any], list[Draft]]:
        current = known.grants.get((user, agent))
        if right is None and current is None:
            raise InvalidInputError(f"there is no grant for {grantee}: see grants()")
        admins = [one for one in known.grants.values() if one.right is Right.ADMIN]
        if admins == [current] and right != Right.ADMIN:
            raise InvalidInputError(f"{grantee} is the last admin: appoint another one first")
        return {"user": user, "agent": agent, "right": right, "trust": share}, []

    return await decide(run, services, member, "revoke" if right is None else "grant", decision)


async def denials(run: Runner, services: Services, space: Scope) -> list[Denial]:
    """Refused accesses, oldest first."""
    events = await run.call(services.truth.read, space, kinds=(EventKind.DENIED,))
    return [
        Denial(
            event.author,
            event.payload["verb"],
            Right(event.payload["needed"]),
            Right(held) if (held := event.payload["held"]) else None,
            event.at,
        )
        for event in events
    ]


async def readable(run: Runner, services: Services, principal: Scope) -> list[Scope]:
    """The spaces of their tenant that this user and agent may read, by name."""
    spaces = [
        owner for owner in await run.call(services.truth.heads) if owner.space and owner.tenant == principal.tenant
    ]
    rights = {space: (await standing(run, services, space)).right(principal) for space in spaces}
    return sorted((space for space, right in rights.items() if right is not None), key=str)


async def reached(run: Runner, services: Services, principal: Scope, spaces: Any, verb: str) -> list[Scope]:
    """These spaces, or with ``all`` every readable one."""
    if spaces == "all":
        return await readable(run, services, principal)
    asked = Asked(verb, Right.READ, trusted=False)
    chosen = {named(principal, name): None for name in spaces}
    for space in chosen:
        await admitted(run, services, Member(principal, space), asked)
    return list(chosen)


def named(principal: Scope, name: Any, session: str | None = None) -> Scope:
    """The space with this name in the tenant of user or agent; raises `InvalidInputError` for invalid names."""
    if principal.user is None and principal.agent is None:
        raise InvalidInputError(f"{principal} is neither a user nor an agent: only they can share spaces")
    return Scope(tenant=principal.tenant, space=name, session=session)


async def origin(run: Runner, services: Services, scope: Scope, other: Scope, verb: str) -> Scope:
    """The scope of something a caller passes back: its own, or a readable space."""
    if other.owner == scope.owner:
        return other
    if other.space is None or scope.space is not None or other.tenant != scope.tenant:
        raise InvalidInputError(f"this belongs to {other.owner}, not to {scope.owner}")
    await admitted(run, services, Member(scope.owner, other.owner), Asked(verb, Right.READ, trusted=False))
    return other


async def trust(run: Runner, services: Services, space: Scope) -> Callable[[str], float]:
    """The trust in each author of this space, in [0, 1]; 1 for an owner's own words."""
    if space.space is None:
        return lambda _: 1.0
    known = await standing(run, services, space.owner)
    return lambda author: known.trust(principal_of(author)) if author else 1.0


def entered(services: Services, member: Member, known: Standing) -> Services:
    """The services with which this user and agent write; to others only an admin speaks as operator."""
    speaks = Origin.OPERATOR if known.right(member.principal) is Right.ADMIN else Origin.PERSON
    return replace(services, author=member.author, trusted=known.trust(member.principal) >= TRUSTED, speaks=speaks)


async def quarantined(run: Runner, services: Services, scope: Scope) -> list[Event]:
    """Messages that were neither approved nor rejected, oldest first."""
    view = await in_view(run, present(services), scope)
    known = await standing(run, services, scope.owner)
    events = await run.call(view.log.read, scope, kinds=(EventKind.QUARANTINED,))
    return [event for event in events if event.position not in known.approved]


async def approve(run: Runner, services: Services, scope: Scope, member: Member, which: Any) -> Receipt:
    """Add these messages to the space, under their authors and original times."""
    seen = await head(run, services, scope)
    chosen = await _chosen(run, services, scope, which)

    def decision(known: Standing) -> tuple[dict[str, Any], list[Draft]]:
        drafts = []
        for event in chosen:
            if event.position in known.approved:
                raise InvalidInputError(f"{event.id!r} was approved by another admin meanwhile")
            name = event.id.removeprefix(QUARANTINE)
            drafts.append(replace(Draft.of(event), id=name, kind=EventKind.MESSAGE, sources=(event.id,)))
        return {"approved": [event.position for event in chosen]}, drafts

    return await decide(run, services, member, "approve", decision, seen=seen)


async def reject(run: Runner, services: Services, scope: Scope, which: Any) -> Receipt:
    """Destroy these messages."""
    handles = tuple(f"#{event.position}" for event in await _chosen(run, services, scope, which))
    return await forgetting.forget(run, services, scope, forgetting.ForgetRequest(ids=handles))


async def _chosen(run: Runner, services: Services, scope: Scope, which: Any) -> list[Event]:
    pending = await quarantined(run, services, scope)
    items = [which] if isinstance(which, str | Event) else list(which)
    chosen: dict[int, Event] = {}
    for item in items:
        matching = [event for event in pending if item in (event.id, event)]
        if len(matching) != 1:
            advice = "several messages have this id, give events of" if matching else "see"
            raise InvalidInputError(f"which one is {shown(item)}? {advice} quarantined()")
        chosen[matching[0].position] = matching[0]
    if not chosen:
        raise InvalidInputError("no message given: give ids, or events from quarantined()")
    return [chosen[position] for position in sorted(chosen)]
