"""Rights in a shared space: the result of its admins' decisions, and refused accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from hybrid_memory.log.event import Event, EventKind, author_of
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import FoldedProjection, number_of

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
            number, position = number_of(event), event.position
            approved.update(event.payload.get("approved", ()))
            if "right" in event.payload:
                grantee, grant = _given(event)
                grants.pop(grantee, None)
                if grant is not None:
                    grants[grantee] = grant
        return Standing(number, position, grants, frozenset(approved))

    @property
    def admins(self) -> int:
        """The number of grants with the admin right."""
        return sum(grant.right is Right.ADMIN for grant in self.grants.values())

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


def _given(event: Event) -> tuple[Grantee, Grant | None]:
    """The grants after a decision for a grantee; None revokes."""
    payload = event.payload
    user, agent = payload["user"], payload["agent"]
    if payload["right"] is None:
        return (user, agent), None
    return (user, agent), Grant(user, agent, Right(payload["right"]), payload["trust"], by=event.author, at=event.at)


class GrantsProjection(FoldedProjection[Standing]):
    """The current decisions of each space; a rollback does not change them."""

    kinds = frozenset({EventKind.GRANT, EventKind.DENIED, EventKind.QUARANTINED})
    start = Standing
    follows = frozenset({EventKind.GRANT})
    capacity = 4096

    def parse(self, event: Event) -> object:
        return Standing().after([event]) if event.kind is EventKind.GRANT else event.payload
