"""The handle of a shared space, for one user or agent."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from datetime import datetime
from typing import Literal, Self

from hybrid_memory.arguments import checked
from hybrid_memory.errors import AccessDeniedError
from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Receipt
from hybrid_memory.log.views import Horizon
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

    Every call first checks the current grants of the acting user and agent, also for views of the past. A refusal
    raises `AccessDeniedError` and is recorded in the audit. The acting user and agent come from `HybridMemory.scoped`;
    authenticating them is the application's task.

    Reading needs the right ``read``. Writing, and `assemble`, which keeps notes, needs ``write``. Forgetting, rolling
    back and managing others needs ``admin``. What a member with a trust below 0.5 writes waits in quarantine: it is not
    found, shown or learned from until an admin approves it. Such a member can only remember.

    Attributes:
        scope: the space.
    """

    def __init__(
        self,
        runtime: Runtime,
        scope: Scope,
        horizon: Horizon | None = None,
        *,
        principal: Scope,
        remember: bool = True,
    ) -> None:
        super().__init__(runtime, scope, horizon, remember=remember)
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
        await super(SpaceMemory, handle)._admitted(run, asked)
        return handle

    @checked
    def at(self, moment: datetime | int) -> Self:
        """A read-only view of this space as it was, see `ScopedMemory.at`; rights are checked at every call."""
        return type(self)(
            self._runtime, self.scope, rollback.horizon(moment), principal=self._principal, remember=self.remembers
        )

    async def _grant(
        self,
        run: Runner,
        *,
        user: str | None = None,
        agent: str | None = None,
        right: Right | Literal["read", "write", "admin"],
        trust: float = 1.0,
    ) -> Receipt:
        """Give a right to a user, to an agent, or to a user with a certain agent; replaces an earlier such grant.

        If several grants cover someone, the highest right applies, with the trust of the most specific grant.

        Args:
            user: the user; None means any.
            agent: the agent; None means any, or none.
            right: ``read``; ``write``, which includes it; or ``admin``, which includes both.
            trust: in [0, 1]; below 0.5, what they write waits for an admin. With ``conflicts="trusted"``, the more
                trusted author wins a conflict.

        Raises:
            AccessDeniedError: this user and agent are not an admin.
            InvalidInputError: neither is named, the right does not exist, an admin would have too little trust, or the
                space would have no admin.
        """
        services = present(self._services)
        return await sharing.grant(run, services, self._member, user=user, agent=agent, right=right, trust=trust)

    grant, agrant = faces(_grant, needs=Right.ADMIN)

    async def _revoke(self, run: Runner, *, user: str | None = None, agent: str | None = None) -> Receipt:
        """Revoke the grant of this user, agent, or both together; takes effect with the next call.

        Raises:
            AccessDeniedError: this user and agent are not an admin.
            InvalidInputError: there is no such grant, or the space would have no admin.
        """
        return await sharing.revoke(run, present(self._services), self._member, user=user, agent=agent)

    revoke, arevoke = faces(_revoke, needs=Right.ADMIN)

    async def _grants(self, run: Runner) -> list[Grant]:
        """The current grants, in the order in which they were given."""
        return await sharing.grants(run, present(self._services), self.scope.owner)

    grants, agrants = faces(_grants, needs=Right.READ)

    async def _audit(self, run: Runner) -> list[Denial]:
        """All refused requests, oldest first."""
        return await sharing.denials(run, present(self._services), self.scope.owner)

    audit, aaudit = faces(_audit, needs=Right.ADMIN)

    async def _quarantined(self, run: Runner) -> list[Event]:
        """The messages that await approval, oldest first, each an event with ``id``, ``author`` and ``message``."""
        return await sharing.quarantined(run, self._services, self.scope)

    quarantined, aquarantined = faces(_quarantined, needs=Right.ADMIN)

    async def _approve(self, run: Runner, which: str | Event | Collection[str | Event]) -> Receipt:
        """Release messages from quarantine: they become turns of their authors, with their original time.

        Args:
            which: events that `quarantined` returned, or their ids.

        Raises:
            InvalidInputError: one of them is not in quarantine. Nothing was approved.
            IdConflictError: another message has taken its id. Nothing was approved.
        """
        return await sharing.approve(run, present(self._services), self.scope, self._member, which)

    approve, aapprove = faces(_approve, needs=Right.ADMIN)

    async def _reject(self, run: Runner, which: str | Event | Collection[str | Event]) -> Receipt:
        """Destroy messages in quarantine.

        Raises:
            InvalidInputError: one of them is not in quarantine. Nothing was destroyed.
        """
        return await sharing.reject(run, present(self._services), self.scope, which)

    reject, areject = faces(_reject, needs=Right.ADMIN)

    def __repr__(self) -> str:
        past = "" if self._horizon is None else f" as of {self._horizon}"
        return f"<SpaceMemory {self.scope} for {self._member.author} in {self._runtime}{past}>"
