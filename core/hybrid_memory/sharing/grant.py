"""Who may do what in a shared space, and who was refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Right(StrEnum):
    """What a grant allows; write includes read, and admin includes write."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Right) -> bool:
        """Whether who has this right has the other too."""
        ranks = list(Right)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True)
class Grant:
    """A right in a space.

    Attributes:
        user, agent: whom it is given to; a part that is None may be any, but one of them is named.
        right: read, write or admin.
        trust: in [0, 1]; what is written with too little of it goes into quarantine.
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
    """An access to a space that was refused.

    Attributes:
        who: the user and agent, as text; verb: what they asked for.
        needed, held: the right that the verb needs, and the one that they had. Where the one they had would do, they
            are not trusted enough.
        at: when.
    """

    who: str
    verb: str
    needed: Right
    held: Right | None
    at: datetime
