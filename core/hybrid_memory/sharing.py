"""Shared spaces: the rights that their admins' decisions give, and the access checks before every verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from hybrid_memory.errors import AccessDeniedError, InvalidInputError
from hybrid_memory.log.event import Event, EventKind, author_of
from hybrid_memory.log.message import Origin
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import FoldedProjection, number_of
from hybrid_memory.store.services import Services

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


def entered(services: Services, member: Member, known: Standing) -> Services:
    """The services with which this user and agent write; to others only an admin speaks as operator."""
    speaks = Origin.OPERATOR if known.right(member.principal) is Right.ADMIN else Origin.PERSON
    return replace(services, author=member.author, trusted=known.trust(member.principal) >= TRUSTED, speaks=speaks)
