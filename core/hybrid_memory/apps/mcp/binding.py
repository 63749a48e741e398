"""Whose memory a server serves: fixed when it starts, out of reach of every client."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.memory import HybridMemory, ScopedMemory
from hybrid_memory.scope import Scope
from hybrid_memory.validation import shown


@dataclass(frozen=True, slots=True)
class Binding:
    """One owner, and the shared spaces that are open to them here.

    Attributes:
        tenant, user, agent: the owner, as in `HybridMemory.scoped`.
        session: the conversation whose summary is shown; None is all of them as one.
        spaces: names of shared spaces; what may be done in each is still asked of its grants at every call.

    Raises:
        InvalidScopeError: no owner is named, or a name is malformed.
        InvalidInputError: spaces for neither a user nor an agent, or spaces that are no collection of names.
    """

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    spaces: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Scope(tenant=self.tenant, user=self.user, agent=self.agent, session=self.session)
        if not isinstance(self.spaces, tuple):  # a text would be taken letter by letter
            raise InvalidInputError(f"spaces must be names in a tuple, got {shown(self.spaces)}")
        if self.spaces and self.user is None and self.agent is None:
            raise InvalidInputError("only users and agents share spaces: give user=, agent= or both")
        for name in self.spaces:
            Scope(tenant=self.tenant, space=name)

    def of(self, memory: HybridMemory) -> ScopedMemory:
        """The owner's memory in this store."""
        return memory.scoped(tenant=self.tenant, user=self.user, agent=self.agent, session=self.session)
