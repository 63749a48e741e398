"""The verbs of what was learned: facts, the profile, and where each of them comes from."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar, overload

from hybrid_memory.compute.progress import progress_bar
from hybrid_memory.compute.runners import Runner, drive
from hybrid_memory.flows import facts as knowing
from hybrid_memory.flows import learn as learning
from hybrid_memory.flows import why as explaining
from hybrid_memory.flows.visible import present
from hybrid_memory.memory.handle import Handle
from hybrid_memory.memory.house import INLINE
from hybrid_memory.types import Category, Explanation, Fact, Hit, Line, Receipt, UserProfile

P = TypeVar("P", bound=UserProfile)


class Knowledge(Handle):
    """What was learned about one owner."""

    def learn(self, *, progress: bool | None = None) -> Receipt:
        """Read claims from all turns that were not read yet: by rules, and by the language model where there is one.

        Args:
            progress: show a bar; None shows it on a terminal.

        Raises:
            ModelError: the model failed; what the rules found is kept, and it is given the turns again next time.
        """
        return drive(self._learn(INLINE, progress))

    async def alearn(self, *, progress: bool | None = None) -> Receipt:
        """Async twin of `learn`."""
        return await self._learn(self._house.loop, progress)

    async def _learn(self, run: Runner, shown: bool | None) -> Receipt:
        world = present(self._world)
        with progress_bar("learning", shown=shown) as advance:
            return Receipt(learned=await learning.learn(run, world, self.scope.owner, model=True, progress=advance))

    def facts(
        self,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        category: Category | str | None = None,
        history: bool = False,
    ) -> list[Fact]:
        """What is known, oldest first; turns that were not read yet are read by rules first.

        Args:
            subject: only about this one: ``user``, or a name.
            attribute: only this one, such as ``home``; see `hybrid_memory.learning.attributes`.
            category: only ``preference``, ``task``, ``knowledge`` or ``relation``.
            history: with what no longer stands.

        Raises:
            InvalidInputError: there is no such category, or a name is no text.
        """
        return drive(
            knowing.facts(
                INLINE, self._world, self.scope,
                subject=subject, attribute=attribute, category=category, history=history,
            )
        )  # fmt: skip

    async def afacts(
        self,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        category: Category | str | None = None,
        history: bool = False,
    ) -> list[Fact]:
        """Async twin of `facts`."""
        return await knowing.facts(
            self._house.loop, self._world, self.scope,
            subject=subject, attribute=attribute, category=category, history=history,
        )  # fmt: skip

    @overload
    def profile(self, *, names: Collection[str] = ()) -> UserProfile: ...
    @overload
    def profile(self, schema: type[P], *, names: Collection[str] = ()) -> P: ...
    def profile(self, schema: type[Any] | None = None, *, names: Collection[str] = ()) -> Any:
        """What stands of the user, with sources and history.

        Args:
            schema: a `UserProfile` with fields of your own; by default that of `open_memory`.
            names: what the user is called in the turns; the ``user`` of the scope is known.

        Raises:
            InvalidConfigError: a field of the schema cannot be filled.
            InvalidInputError: names is no collection of names.
        """
        return drive(knowing.profile(INLINE, self._world, self.scope, names=names, schema=schema))

    @overload
    async def aprofile(self, *, names: Collection[str] = ()) -> UserProfile: ...
    @overload
    async def aprofile(self, schema: type[P], *, names: Collection[str] = ()) -> P: ...
    async def aprofile(self, schema: type[Any] | None = None, *, names: Collection[str] = ()) -> Any:
        """Async twin of `profile`."""
        return await knowing.profile(self._house.loop, self._world, self.scope, names=names, schema=schema)

    def settle(self, fact: Fact) -> Receipt:
        """Let this fact stand against those that it is disputed with, or against a newer one.

        Raises:
            InvalidInputError: it is no fact of this owner.
        """
        return drive(knowing.settle(INLINE, self._world, self.scope, fact))

    async def asettle(self, fact: Fact) -> Receipt:
        """Async twin of `settle`."""
        return await knowing.settle(self._house.loop, self._world, self.scope, fact)

    def why(self, what: Fact | Hit | Line | str) -> Explanation:
        """Where a fact, a field of the profile, a line of a summary or a hit comes from.

        Raises:
            InvalidInputError: it is none of these, or not of this owner.
        """
        return drive(explaining.why(INLINE, self._world, self.scope, what))

    async def awhy(self, what: Fact | Hit | Line | str) -> Explanation:
        """Async twin of `why`."""
        return await explaining.why(self._house.loop, self._world, self.scope, what)
