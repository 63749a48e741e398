"""Who may do what in a shared space: a fold of the decisions of its admins."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hybrid_memory.types import Event, Grant, Right, Scope

TRUSTED = 0.5
"""What is written with less trust than this waits for an admin."""

Grantee: TypeAlias = tuple[str | None, str | None]
"""The user and the agent that a grant names."""

_PART = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds after the decisions so far.

    Attributes:
        number: of the decisions; position: of the last one in the log.
        grants: the last word for each grantee.
        approved: positions of the messages that were let out of quarantine.
    """

    number: int = 0
    position: int = 0
    grants: Mapping[Grantee, Grant] = field(default_factory=dict)
    approved: frozenset[int] = frozenset()

    def after(self, decisions: Iterable[Event]) -> Standing:
        """What holds after these, which follow by position."""
        standing = self
        for event in decisions:
            grants = standing.given(event) if "right" in event.payload else standing.grants
            standing = Standing(
                number=int(event.id.rpartition(":")[2]),
                position=event.position,
                grants=grants,
                approved=standing.approved.union(event.payload.get("approved", ())),
            )
        return standing

    def given(self, event: Event) -> dict[Grantee, Grant]:
        """The grants after one that is given or taken."""
        said = event.payload
        grantee = said["user"], said["agent"]
        grants = {named: grant for named, grant in self.grants.items() if named != grantee}
        if said["right"] is not None:
            grants[grantee] = Grant(*grantee, Right(said["right"]), said["trust"], by=event.author, at=event.at)
        return grants

    @property
    def admins(self) -> int:
        """How many grants make an admin."""
        return sum(grant.right is Right.ADMIN for grant in self.grants.values())

    def right(self, principal: Scope) -> Right | None:
        """The highest right that a grant gives to this user and agent; None without one."""
        rights = [grant.right for grant in self.grants.values() if grant.covers(principal)]
        return max(rights, key=list(Right).index, default=None)

    def trust(self, principal: Scope) -> float:
        """Of what they write, in [0, 1]; 0 for who may not write.

        The grant that names them most closely decides, of two equally close ones the lower.
        """
        writing = [
            grant for grant in self.grants.values() if grant.covers(principal) and grant.right.includes(Right.WRITE)
        ]
        return min(((-_closeness(grant), grant.trust) for grant in writing), default=(0, 0.0))[1]


def _closeness(grant: Grant) -> int:
    return (grant.user is not None) + (grant.agent is not None)


def author_of(principal: Scope) -> str:
    """The user and the agent as the text that events carry."""
    return str(Scope(user=principal.user, agent=principal.agent))


def principal_of(author: str) -> Scope:
    """The user and the agent behind `author_of`."""
    return Scope(**{name: literal_eval(value) for name, value in _PART.findall(author)})
