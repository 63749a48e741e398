"""The handle of a shared space, for one user or agent."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from datetime import datetime
from typing import Literal, Self

from hybrid_memory.arguments import checked
from hybrid_memory.errors import AccessDeniedError
from hybrid_memory.log.event import Event
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import Horizon
from hybrid_memory.memory.faces import faces
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.memory.scoped import ScopedMemory
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import decide as sharing
from hybrid_memory.sharing.grant import Asked, Denial, Grant, Member, Right, Standing
from hybrid_memory.store import view as rollback
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present


class SpaceMemory(ScopedMemory):
    """A memory that users and agents of a tenant share; made by `ScopedMemory.space`.

    Every verb first asks whether the grants in the space let the acting user and agent do so, as they stand at that
    moment, also for a view of the past. A refusal is an error and goes into the audit. Who acts is taken from
    `HybridMemory.scoped`: to make sure that it is them is up to the application.

    To read takes the right to read; to write, and `assemble`, which keeps notes, the right to write; to forget, to roll
    back and to decide about others the right of an admin. What somebody writes with a trust below 0.5 waits in
    quarantine: it is not found, shown or learned from until an admin approves it, and to do more than remember takes
    trust.

    Attributes:
        scope: the space.
    """

    def __init__(self, runtime: Runtime, scope: Scope, horizon: Horizon | None = None, *, principal: Scope) -> None:
        super().__init__(runtime, scope, horizon)
        self._member = Member(principal, scope.owner)
        self._standing: Standing | None = None

    @property
    def _principal(self) -> Scope:
        return self._member.principal

    @property
    def _services(self) -> Services:
        if self._standing is None:  # a verb that names no right
            raise AccessDeniedError(self._member.author, "do this", str(self.scope.space), "nobody may")
        return sharing.entered(super()._services, self._member, self._standing)

    async def _admitted(self, run: Runner, asked: Asked | None) -> Self:
        if asked is None:
            return self
        handle = copy(self)
        handle._standing = await sharing.admitted(  # noqa: SLF001 - a copy of this one
            run, self._runtime.services, self._member, asked
        )
        return handle

    @checked
    def at(self, moment: datetime | int) -> Self:
        """This space as it was, to be read only; see `ScopedMemory.at`. Who may read it is asked at every verb."""
        return type(self)(self._runtime, self.scope, rollback.horizon(moment), principal=self._principal)

    async def _grant(
        self,
        run: Runner,
        *,
        user: str | None = None,
        agent: str | None = None,
        right: Right | Literal["read", "write", "admin"],
        trust: float = 1.0,
    ) -> Receipt:
        """Give a user, an agent, or one only together with the other a right; it takes the place of an earlier one.

        Where several grants cover somebody, the highest right counts, and the trust of the one that names them most
        closely.

        Args:
            user: whom; None is any.
            agent: by which agent; None is any, or none.
            right: ``read``, ``write`` includes it, ``admin`` includes both.
            trust: in [0, 1]; below 0.5 what they write waits for an admin. With ``conflicts="trusted"`` the word of
                who is trusted more stands.

        Raises:
            AccessDeniedError: this user and agent are no admin.
            InvalidInputError: neither is named, there is no such right, an admin of little trust, or no admin left.
        """
        services = present(self._services)
        return await sharing.grant(run, services, self._member, user=user, agent=agent, right=right, trust=trust)

    grant, agrant = faces(_grant, needs=Right.ADMIN)

    async def _revoke(self, run: Runner, *, user: str | None = None, agent: str | None = None) -> Receipt:
        """Take the grant of this user, agent, or both together; it counts from the next call of any handle.

        Raises:
            AccessDeniedError: this user and agent are no admin.
            InvalidInputError: there is no such grant, or no admin would be left.
        """
        return await sharing.revoke(run, present(self._services), self._member, user=user, agent=agent)

    revoke, arevoke = faces(_revoke, needs=Right.ADMIN)

    async def _grants(self, run: Runner) -> list[Grant]:
        """The grants that stand now, in the order in which they were given."""
        return await sharing.grants(run, present(self._services), self.scope.owner)

    grants, agrants = faces(_grants, needs=Right.READ)

    async def _audit(self, run: Runner) -> list[Denial]:
        """Who was refused what, oldest first."""
        return await sharing.denials(run, present(self._services), self.scope.owner)

    audit, aaudit = faces(_audit, needs=Right.ADMIN)

    async def _quarantined(self, run: Runner) -> list[Event]:
        """The messages that wait for an admin, oldest first, each an event with ``id``, ``author`` and ``message``."""
        return await sharing.quarantined(run, self._services, self.scope)

    quarantined, aquarantined = faces(_quarantined, needs=Right.ADMIN)

    async def _approve(self, run: Runner, which: str | Event | Collection[str | Event]) -> Receipt:
        """Let messages out of quarantine: they become turns of their authors, said when they were said.

        Args:
            which: what `quarantined` returned, or ids of these.

        Raises:
            InvalidInputError: one of them does not wait there. Nothing was approved.
            IdConflictError: meanwhile another message has its id. Nothing was approved.
        """
        return await sharing.approve(run, present(self._services), self.scope, self._member, which)

    approve, aapprove = faces(_approve, needs=Right.ADMIN)

    async def _reject(self, run: Runner, which: str | Event | Collection[str | Event]) -> Receipt:
        """Destroy messages in quarantine.

        Raises:
            InvalidInputError: one of them does not wait there. Nothing was destroyed.
        """
        return await sharing.reject(run, present(self._services), self.scope, which)

    reject, areject = faces(_reject, needs=Right.ADMIN)

    def __repr__(self) -> str:
        past = "" if self._horizon is None else f" as of {self._horizon}"
        return f"<SpaceMemory {self.scope} for {self._member.author} in {self._runtime}{past}>"
