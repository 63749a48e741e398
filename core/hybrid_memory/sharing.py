"""Shared spaces: the rights that their admins' decisions give, and the access checks before every verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hybrid_memory.errors import AccessDeniedError, InvalidInputError
from hybrid_memory.log.event import Event, EventKind, author_of
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import FoldedProjection, number_of
from hybrid_memory.store.services import Services


class Right(StrEnum):
    """What a grant allows: write includes read, and admin includes write."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


RANKS: Sequence[Right | None] = (None, *Right)  # from no right to the one that includes all


@dataclass(frozen=True, slots=True)
class Asked:
    """A requested access: the verb, and the right that it needs."""

    verb: str
    needed: Right


@dataclass(frozen=True, slots=True)
class Grant:
    """A right in a space, when it was given, and by whom, as text.

    Of the member's ``user`` and ``agent`` None means any; at least one is named.
    """

    user: str | None
    agent: str | None
    right: Right
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Denial:
    """A refused access to a space: the user and agent, as text, the verb, the right it needs and the one they had."""

    who: str
    verb: str
    needed: Right
    held: Right | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of the decisions so far: how many, the log position of the last, and the grants by user and agent."""

    number: int = 0
    position: int = 0
    grants: Mapping[tuple[str | None, str | None], Grant] = field(default_factory=dict)

    def after(self, decisions: Iterable[Event]) -> Standing:
        """The result after these events, which follow by position."""
        number, position, grants = self.number, self.position, dict(self.grants)
        for event in decisions:
            number, position, payload = number_of(event), event.position, event.payload
            name = payload["user"], payload["agent"]
            grants.pop(name, None)
            if payload["right"] is not None:  # None revokes
                grants[name] = Grant(*name, Right(payload["right"]), event.author, event.at)
        return Standing(number, position, grants)

    def right(self, principal: Scope) -> Right | None:
        """The highest right that grants give to this user, this agent, or both together; None without a grant."""
        user, agent = principal.user, principal.agent
        names = (user, None), (None, agent), (user, agent)
        return max((self.grants[name].right for name in names if name in self.grants), key=RANKS.index, default=None)


class GrantsProjection(FoldedProjection[Standing]):
    """The current decisions of each space; a rollback does not change them."""

    kinds = frozenset({EventKind.GRANT, EventKind.DENIED})
    start = Standing
    follows = frozenset({EventKind.GRANT})
    capacity = 4096

    def parse(self, event: Event) -> object:
        return Standing().after([event]) if event.kind is EventKind.GRANT else event.payload


async def standing(run: Runner, services: Services, space: Scope) -> Standing:
    """The current decisions of a space; a rollback does not change them."""
    return await services.state(GrantsProjection).read(run, services, space)


async def admitted(run: Runner, services: Services, principal: Scope, space: Scope, asked: Asked) -> Standing:
    """The current decisions of the space, if this user and agent have the right; raises otherwise."""
    known = await standing(run, services, space)
    held = known.right(principal)
    if RANKS.index(held) >= RANKS.index(asked.needed):
        return known
    author = author_of(principal)
    if known.number and not services.read_only:
        refused = {"verb": asked.verb, "needed": asked.needed, "held": held}
        denial = services.draft(EventKind.DENIED, refused, author=author)
        await run.call(services.truth.append, space, [denial])
    reason = f"it takes the right to {asked.needed}, given by an admin of the space"
    raise AccessDeniedError(author, asked.verb, space.space or "", reason)


async def readable(run: Runner, services: Services, principal: Scope) -> list[Scope]:
    """The spaces of their tenant that this user and agent may read, by name."""
    spaces = [
        owner for owner in await run.call(services.truth.heads) if owner.space and owner.tenant == principal.tenant
    ]
    return sorted([space for space in spaces if (await standing(run, services, space)).right(principal)], key=str)


async def reached(run: Runner, services: Services, principal: Scope, spaces: Any, verb: str) -> list[Scope]:
    """These spaces, or with ``all`` every readable one."""
    if spaces == "all":
        return await readable(run, services, principal)
    asked = Asked(verb, Right.READ)
    chosen = {named(principal, name): None for name in spaces}
    for space in chosen:
        await admitted(run, services, principal, space, asked)
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
    await admitted(run, services, scope.owner, other.owner, Asked(verb, Right.READ))
    return other
