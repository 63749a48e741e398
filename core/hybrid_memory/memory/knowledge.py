"""The verbs of what was learned: facts, the profile, and where each of them comes from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar, overload

from hybrid_memory.config.weights import Weights
from hybrid_memory.context.summary import Line
from hybrid_memory.display import progress_bar
from hybrid_memory.facts import facts as knowing
from hybrid_memory.facts import learn as learning
from hybrid_memory.facts import why as explaining
from hybrid_memory.facts.explanation import Explanation
from hybrid_memory.facts.fact import Category, Fact, Facts
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.memory.handle import Handle
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.recall import why_not as missing
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.plan import Intent
from hybrid_memory.recall.request import Request
from hybrid_memory.runtime.runners import Runner, drive
from hybrid_memory.store.view import present

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
        return await self._learn(self._runtime.loop, progress)

    async def _learn(self, run: Runner, shown: bool | None) -> Receipt:
        services = present(self._services)
        with progress_bar("learning", shown=shown) as advance:
            return Receipt(learned=await learning.learn(run, services, self.scope.owner, model=True, progress=advance))

    def facts(
        self,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        category: Category | str | None = None,
        history: bool = False,
    ) -> Facts:
        """What is known, oldest first; turns that were not read yet are read by rules first.

        Args:
            subject: only about this one: ``user``, or a name.
            attribute: only this one, such as ``home``, of anybody; see `hybrid_memory.facts.attributes`.
            category: only ``preference``, ``task``, ``knowledge`` or ``relation``.
            history: with what no longer stands.

        Raises:
            InvalidInputError: there is no such category, or a name is no text.
        """
        flow = knowing.facts(
            INLINE, self._services, self.scope, subject=subject, attribute=attribute, category=category, history=history
        )
        return Facts(drive(flow))

    async def afacts(
        self,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        category: Category | str | None = None,
        history: bool = False,
    ) -> Facts:
        """Async twin of `facts`."""
        run, services = self._runtime.loop, self._services
        return Facts(
            await knowing.facts(
                run, services, self.scope, subject=subject, attribute=attribute, category=category, history=history
            )
        )

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
        return drive(knowing.profile(INLINE, self._services, self.scope, names=names, schema=schema))

    @overload
    async def aprofile(self, *, names: Collection[str] = ()) -> UserProfile: ...
    @overload
    async def aprofile(self, schema: type[P], *, names: Collection[str] = ()) -> P: ...
    async def aprofile(self, schema: type[Any] | None = None, *, names: Collection[str] = ()) -> Any:
        """Async twin of `profile`."""
        return await knowing.profile(self._runtime.loop, self._services, self.scope, names=names, schema=schema)

    def settle(self, fact: Fact) -> Receipt:
        """Let this fact stand against those that it is disputed with, or against a newer one.

        Raises:
            InvalidInputError: it is no fact of this owner.
        """
        return drive(knowing.settle(INLINE, self._services, self.scope, fact))

    async def asettle(self, fact: Fact) -> Receipt:
        """Async twin of `settle`."""
        return await knowing.settle(self._runtime.loop, self._services, self.scope, fact)

    def why(self, what: Fact | Hit | Line | str) -> Explanation:
        """Where a fact, a field of the profile, a line of a summary or a hit comes from.

        Raises:
            InvalidInputError: it is none of these, or not of this owner.
        """
        return drive(explaining.why(INLINE, self._services, self.scope, what))

    async def awhy(self, what: Fact | Hit | Line | str) -> Explanation:
        """Async twin of `why`."""
        return await explaining.why(self._runtime.loop, self._services, self.scope, what)

    def why_not(
        self,
        query: str,
        what: str | Hit | Record,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | str = Intent.AUTO,
    ) -> Explanation:
        """Why `recall` does not return a turn for this query: its place and what it lacks, or what left it out.

        Args:
            query: as given to `recall`.
            what: the turn: a handle such as ``#12``, the id of its event, or what recall found of it.
            k: as given to `recall`, and so are all others.
            within: see there.
            kinds: see there.
            categories: see there.
            since: see there.
            until: see there.
            metadata: see there.
            weights: see there.
            intent: see there.

        Raises:
            InvalidInputError: there is no such turn of this owner, or `recall` would not take an argument.
        """
        request = Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent,
        )  # fmt: skip
        return drive(missing.why_not(INLINE, self._services, request, self.scope, what))

    async def awhy_not(
        self,
        query: str,
        what: str | Hit | Record,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | str = Intent.AUTO,
    ) -> Explanation:
        """Async twin of `why_not`."""
        request = Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent,
        )  # fmt: skip
        return await missing.why_not(self._runtime.loop, self._services, request, self.scope, what)
