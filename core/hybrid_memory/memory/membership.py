"""The verbs by which a user or an agent comes to the spaces that they share with others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hybrid_memory.memory.handle import Handle
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.runtime.runners import Runner, drive
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import decide as sharing
from hybrid_memory.store.view import present

if TYPE_CHECKING:
    from hybrid_memory.memory.space import SpaceMemory


class Membership(Handle):
    """What one user or agent shares with others of the tenant."""

    @property
    def _principal(self) -> Scope:
        """Who acts."""
        return self.scope.owner

    def create_space(self, name: str) -> SpaceMemory:
        """A new shared space, with this user and agent as its admin.

        Raises:
            InvalidInputError: there is a space of this name, or the scope names no user and no agent.
        """
        return drive(self._create_space(INLINE, name))

    async def acreate_space(self, name: str) -> SpaceMemory:
        """Async twin of `create_space`."""
        return await self._create_space(self._runtime.loop, name)

    async def _create_space(self, run: Runner, name: str) -> SpaceMemory:
        there = self.space(name)
        services = present(replace(self._runtime.services, horizon=self._horizon))
        await sharing.create(run, services, sharing.Member(self._principal, there.scope))
        return there

    def space(self, name: str, *, session: str | None = None) -> SpaceMemory:
        """A shared space of the tenant as this user and agent see it; whether they may is asked at every verb.

        Args:
            name: of the space.
            session: one conversation in it; by default all that is said there is one.

        Raises:
            InvalidInputError: the name is none, or the scope names no user and no agent.
        """
        from hybrid_memory.memory.space import SpaceMemory  # noqa: PLC0415 - it has these verbs itself

        scope = sharing.named(self._principal, name, session)
        return SpaceMemory(self._runtime, scope, self._horizon, principal=self._principal)

    def spaces(self) -> list[str]:
        """The names of the spaces that this user and agent may read."""
        return drive(self._spaces(INLINE))

    async def aspaces(self) -> list[str]:
        """Async twin of `spaces`."""
        return await self._spaces(self._runtime.loop)

    async def _spaces(self, run: Runner) -> list[str]:
        there = await sharing.readable(run, self._runtime.services, self._principal)
        return [space.space for space in there if space.space is not None]
