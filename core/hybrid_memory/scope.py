"""The owner of a memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache

from hybrid_memory.errors import InvalidScopeError
from hybrid_memory.validation import shown

MAX_NAME_CHARS = 512
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def check_name(label: str, value: str) -> str:
    """The value if it can be used as a name; raises ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError(f"{label} must be a string, got {shown(value)}")  # noqa: TRY004 - one error family for callers
    value = str.__str__(value)  # whatever a subclass says
    if not value or len(value) > MAX_NAME_CHARS:
        raise ValueError(f"{label} must have 1 to {MAX_NAME_CHARS} characters, got {len(value)}")
    if _UNSTORABLE.search(value):
        raise ValueError(f"{label} contains NUL or a lone surrogate: {shown(value)}")
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a memory (tenant, user and agent), and optionally one session.

    A space is an owner that several users and agents of a tenant share; it has neither user nor agent.

    Owners match exactly: a missing part is a value of its own, never a wildcard. Without a session, reads cover all
    sessions of the owner, and writes belong to no session.

    Raises:
        InvalidScopeError: no owner is named, or a part is empty, too long or not a string.
    """

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    space: str | None = None

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if value is not None:
                try:
                    object.__setattr__(self, part.name, check_name(part.name, value))
                except ValueError as error:
                    raise InvalidScopeError(str(error)) from None
        if self.space is not None and (self.user is not None or self.agent is not None):
            raise InvalidScopeError("a space does not belong to a user or agent: give space= and, if needed, tenant=")
        if self.tenant is None and self.user is None and self.agent is None and self.space is None:
            raise InvalidScopeError(
                "no owner given: give at least one of user=, agent=, tenant= (a session alone is not enough)"
            )

    @property
    def owner(self) -> Scope:
        """The same owner without the session."""
        return self if self.session is None else _owner(self.tenant, self.user, self.agent, None, self.space)

    def __str__(self) -> str:
        return " ".join(
            f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) is not None
        )


def scope_of(**names: str | None) -> Scope:
    """The scope that a caller names; unlike one that an older store holds, with no blank part."""
    scope = Scope(**names)
    for part, name in names.items():
        if name is not None and not name.strip():
            raise InvalidScopeError(f"{part} is blank, got {name!r}: give a name, or leave {part}= out")
    return scope


_owner = lru_cache(maxsize=4096)(Scope)
