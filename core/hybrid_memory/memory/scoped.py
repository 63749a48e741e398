"""The handles of one owner's memory and of a shared space: what was learned, time, forgetting, grants."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, Self

from hybrid_memory import sharing
from hybrid_memory.arguments import checked
from hybrid_memory.config import Weights
from hybrid_memory.context import explain as explaining
from hybrid_memory.context.summary import Line
from hybrid_memory.display import progress_bar
from hybrid_memory.documents.editing import RACES
from hybrid_memory.errors import AccessDeniedError, InvalidInputError, StoreUnavailableError
from hybrid_memory.facts import facts as knowing
from hybrid_memory.facts import learn as learning
from hybrid_memory.facts.fact import Category, Explanation, Fact, Facts
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.sheet import profile as profile_of_user
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import EventKind, author_of
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Draft, Receipt, receipt_of
from hybrid_memory.memory.faces import verb
from hybrid_memory.memory.files import MemoryFiles
from hybrid_memory.memory.prompts import Prompts
from hybrid_memory.memory.runtime import flush_owners
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.plan import Intent, Request
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tasks import PATIENT, at_priority
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import Asked, Denial, Grant, Right, Standing
from hybrid_memory.store import forget as forgetting
from hybrid_memory.store import keepout as keeping
from hybrid_memory.store import view as rolling
from hybrid_memory.store.projection import append_revision, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present

Forgettable = str | Hit | Fact | Line | Record


class ScopedMemory(Prompts):
    """One owner's memory; made by `HybridMemory.scoped`. Its ``scope`` says whose it is."""

    @verb(Right.READ)
    async def facts(
        self,
        run: Runner,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        category: Category | str | None = None,
        history: bool = False,
    ) -> Facts:
        """The known facts, oldest first; turns that were not read yet are read first.

        Args:
            subject: only facts about ``user``, or about a name.
            attribute: only facts with this attribute, such as ``home``; see `hybrid_memory.facts.attributes`.
            category: only ``preference``, ``task``, ``knowledge`` or ``relation``.
            history: include facts that are no longer true.

        Raises:
            InvalidInputError: the category does not exist, or a name is not text.
        """
        known = await knowing.facts(
            run, self._services, self.scope, subject=subject, attribute=attribute, category=category, history=history
        )
        return Facts(known)

    @verb(Right.READ)
    async def profile(self, run: Runner, *, names: Collection[str] = ()) -> UserProfile:
        """The profile of the user, of the type given to `open_memory`, with the sources and history of each value.

        Args:
            names: further names of the user in the conversations, beside the ``user`` of the scope.

        Raises:
            InvalidInputError: names is not a collection of names.
        """
        return await profile_of_user(run, self._services, self.scope, names=names)

    @verb(Right.WRITE)
    async def resolve(self, run: Runner, fact: Fact, *, value: str | None = None, reject: bool = False) -> Receipt:
        """Approve a fact, correct or reject it; a dispute is decided in favour of an approved one.

        Decisions outlast reading the turns again, also by another extractor. What the user says later counts as new.

        Args:
            fact: from `facts`.
            value: the right value, or for a sentence the right sentence, in place of this one.
            reject: the fact was never true: it is kept only in the history.

        Raises:
            InvalidInputError: it is not a fact of this owner; or both a value and ``reject`` are given, or the value is
                empty or no other one.
        """
        return await knowing.settle(run, self._services, self.scope, fact, value, reject=reject)

    @verb(Right.READ)
    async def why(
        self,
        run: Runner,
        what: Fact | Hit | Line | Record | str,
        query: str | None = None,
        *,
        k: int = 10,
        scope: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
        intent: Intent | str = Intent.AUTO,
        origins: Collection[Origin | str] = (),
        min_confidence: float | None = None,
    ) -> Explanation:
        """Where a fact, a profile field, a summary line or a hit comes from; or how a turn ranks for a query.

        Args:
            what: one of these; with a query a turn: a handle such as ``#12``, the id of its event, a hit or a record.
            query: explain why `recall` returns the turn for this query, or why not: its rank and weak signals, or what
                excluded it. All other arguments are those of this `recall`.

        Raises:
            InvalidInputError: it is none of these, belongs to another owner, or `recall` would refuse an argument.
        """
        if query is None:
            return await explaining.why(run, self._services, self.scope, what)
        request = Request.of(
            self.scope, query, k=k, within=scope, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights, intent=intent, origins=origins,
            min_confidence=min_confidence,
        )  # fmt: skip
        return await explaining.why_not(run, self._services, request, self.scope, what)

    @checked
    def as_of(self, moment: datetime | int) -> Self:
        """A read-only view of this memory as it was: turns, recall, facts, profile and summary.

        Args:
            moment: an instant, for everything said by then; or a position in the log.

        Raises:
            InvalidInputError: the datetime has no time zone, or it is neither. A position behind the end of the log is
                refused by the verbs of the view.
        """
        view = copy(self)
        view._horizon = rolling.horizon(moment)  # noqa: SLF001 - a copy of this one
        return view

    @verb(Right.ADMIN)
    async def rollback(self, run: Runner, to: datetime | int) -> Receipt:
        """Return this owner's whole memory, all sessions, to its state at this position or instant.

        Later events are hidden, not destroyed. To restore them, roll back to the position before this rollback.

        Raises:
            InvalidInputError: it is not a position in this owner's log.
        """
        return await rolling.rollback(run, self._services, self.scope, to)

    @verb(Right.ADMIN)
    async def forget(
        self,
        run: Runner,
        *,
        ids: Forgettable | Collection[Forgettable] | None = None,
        query: str | None = None,
        user: str | None = None,
        before: datetime | None = None,
        expired: bool = False,
        dry_run: bool = False,
        keep_out: bool = False,
    ) -> Receipt:
        """Destroy turns and everything derived from them: records, vectors, claims, summary lines, notes, payloads.

        Summaries that mix them with other turns are rewritten without them, and blocks lose the lines that came from
        them. Give exactly one of the first five arguments:

        Args:
            ids: event ids, handles such as ``#12``, hits, facts or summary lines: all turns behind them.
            query: every turn that contains these words, in upper or lower case: whole words, or any part of a text
                whose script does not separate words, such as Chinese. Within the session if the scope names one,
                together with notes that belong to no session.
            user: everything, in all sessions; repeat the user of this scope to confirm.
            before: turns before this instant, timezone-aware.
            expired: turns that the retention policy already hides.
            dry_run: only report what would be destroyed; the receipt's ``turns`` lists it.
            keep_out: with ``ids`` or ``query``: from now on, whoever writes the words again into this memory, in
                whatever message, block, file or payload, ``[kept out]`` is stored in their place. With ``query`` these
                are the words of the query; with both also numbers of three digits or more, codes and their parts, names
                within sentences and words of no dictionary, unless turns that stay have them. The store knows them by
                keyed hashes only; see `kept_out`.

        Raises:
            InvalidInputError: none or several are given, or an id does not exist; or what to keep out has no rare word
                or reaches one session only. Nothing was destroyed.
            StoreUnavailableError: another process keeps the engine from cleaning its files; call it again.
        """
        request = forgetting.ForgetRequest(ids, query, user, before, expired, dry_run, keep_out)
        return await forgetting.forget(run, self._services, self.scope, request)

    @verb(Right.ADMIN)
    async def kept_out(self, run: Runner, *, lift: str | bool = False) -> int:
        """How many terms `forget` with ``keep_out`` keeps out of this memory.

        Args:
            lift: words to let in again, as they were forgotten, or True for all; what was masked meanwhile stays so.

        Raises:
            InvalidInputError: these words are not kept out.
        """
        if lift is False:
            return len((await keeping.kept_out(run, self._services, self.scope)).digests)
        return await keeping.lift(run, present(self._services), self.scope.owner, lift)

    @verb(Right.WRITE)
    async def learn(self, run: Runner, *, again: bool = False, progress: bool | None = None) -> Receipt:
        """Extract facts from all turns that were not read yet, with the language model too if there is one.

        Args:
            again: discard earlier extractions, for example by the rules of an older version, and read every turn again.
                Decisions made with `resolve` are kept.
            progress: show a progress bar; None shows one on a terminal.

        Raises:
            ModelError: a model failed. Everything found so far is kept; the remaining turns are tried again next time.
        """
        services = present(self._services)
        if again:
            await learning.unlearn(run, services, self.scope.owner)
        with at_priority(PATIENT), progress_bar("learning", shown=progress) as advance:
            return Receipt(learned=await learning.learn_alone(run, services, self.scope.owner, advance))

    @verb(Right.READ)
    async def flush(self, run: Runner, *, progress: bool | None = None) -> Receipt:
        """Finish all background work now: index and learn from new turns, and compact sessions that are due.

        Args:
            progress: show a progress bar; None shows one on a terminal.

        Raises:
            ModelError: the embedder failed. Texts are indexed; the missing vectors are made next time. If the language
                model fails, a warning is logged, and it is asked again next time.
        """
        services = self._services if self.remembers else self._runtime.services  # of other sessions
        await self._runtime.compact_due(run, self.scope.owner)
        return await flush_owners(run, services, [self.scope.owner], progress)

    @checked
    def space(self, name: str, *, session: str | None = None) -> SpaceMemory:
        """A shared space of the tenant, as this user and agent see it; their rights are checked at every call.

        A new one begins with `SpaceMemory.create`.

        Args:
            name: the space's name.
            session: one conversation in it; by default the whole space is one conversation.

        Raises:
            InvalidInputError: the name is malformed, or the scope names neither a user nor an agent.
        """
        scope = sharing.named(self._principal, name, session)
        space = SpaceMemory(self._runtime, scope, self._horizon, remember=self.remembers)
        space._principal = self._principal  # noqa: SLF001 - a new one
        return space

    @verb()
    async def spaces(self, run: Runner) -> list[str]:
        """The names of all spaces that this user and agent may read."""
        readable = await sharing.readable(run, self._runtime.services, self._principal)
        return [space.space for space in readable if space.space is not None]

    def files(self) -> MemoryFiles:
        """This memory as files: profile, facts, blocks, summaries, and free files that are found by recall."""
        return MemoryFiles(self)

    def __repr__(self) -> str:
        acting = "" if self._principal == self.scope.owner else f" for {author_of(self._principal)}"
        past = "" if self._horizon is None else f" as of {self._horizon}"
        return f"<{type(self).__name__} {self.scope}{acting} in {self._runtime}{past}>"

    afacts = facts.twin
    aprofile = profile.twin
    aresolve = resolve.twin
    awhy = why.twin
    arollback = rollback.twin
    aforget = forget.twin
    akept_out = kept_out.twin
    alearn = learn.twin
    aflush = flush.twin
    aspaces = spaces.twin


class SpaceMemory(ScopedMemory):
    """A memory that users and agents of a tenant share; made by `ScopedMemory.space`.

    Every call first checks the current grants of the acting user and agent, also for views of the past. A refusal
    raises `AccessDeniedError` and is recorded in the audit. The acting user and agent come from `HybridMemory.scoped`;
    authenticating them is the application's task.

    Reading needs the right ``read``. Writing, and `assemble`, which keeps notes, needs ``write``. Forgetting, rolling
    back and managing others needs ``admin``. Whom you do not trust may write into a space of their own.

    Attributes:
        scope: the space.
    """

    _standing: Standing | None = None

    @property
    def _services(self) -> Services:
        if self._standing is None:  # a verb that names no right
            raise AccessDeniedError(author_of(self._principal), "do this", str(self.scope.space), "nobody may")
        admin = self._standing.right(self._principal) is Right.ADMIN  # to others nobody else speaks as operator
        speaks = Origin.OPERATOR if admin else Origin.PERSON
        return replace(super()._services, author=author_of(self._principal), speaks=speaks)

    async def _admitted(self, run: Runner, asked: Asked | None) -> Self:
        if asked is None:
            return self
        standing = await sharing.admitted(run, self._runtime.services, self._principal, self.scope.owner, asked)
        handle = copy(self)
        handle._standing = standing  # noqa: SLF001 - a copy of this one
        return await super(SpaceMemory, handle)._admitted(run, asked)

    @verb()
    async def create(self, run: Runner) -> SpaceMemory:
        """Create the space, with this user and agent as its admin, and return it.

        Raises:
            InvalidInputError: the space already exists.
        """
        if not self.remembers:
            raise InvalidInputError("create: nothing is stored with remember=False: use scoped() without it")
        services = present(replace(self._runtime.services, horizon=self._horizon))
        first = {"user": self._principal.user, "agent": self._principal.agent, "right": Right.ADMIN}
        revision = self._revision(services, Standing(), first)
        if await append_revision(run, services, self.scope.owner, revision) is None:
            raise InvalidInputError(
                f"the space {self.scope.space!r} already exists: choose another name, or ask its admin"
            )
        return self

    @verb(Right.ADMIN)
    async def grant(
        self,
        run: Runner,
        *,
        user: str | None = None,
        agent: str | None = None,
        right: Right | Literal["read", "write", "admin"],
    ) -> Receipt:
        """Give a right to a user, to an agent, or to a user with a certain agent; replaces an earlier such grant.

        If several grants cover someone, the highest right applies.

        Args:
            user: the user; None means any.
            agent: the agent; None means any, or none.
            right: ``read``; ``write``, which includes it; or ``admin``, which includes both.

        Raises:
            AccessDeniedError: this user and agent are not an admin.
            InvalidInputError: neither is named, the right does not exist, or the space would have no admin.
        """
        return await self._give(run, user, agent, Right(right))

    @verb(Right.ADMIN)
    async def revoke(self, run: Runner, *, user: str | None = None, agent: str | None = None) -> Receipt:
        """Revoke the grant of this user, agent, or both together; takes effect with the next call.

        Raises:
            AccessDeniedError: this user and agent are not an admin.
            InvalidInputError: there is no such grant, or the space would have no admin.
        """
        return await self._give(run, user, agent, None)

    @verb(Right.READ)
    async def grants(self, run: Runner) -> list[Grant]:
        """The current grants, in the order in which they were given."""
        return list((await sharing.standing(run, present(self._services), self.scope.owner)).grants.values())

    @verb(Right.ADMIN)
    async def audit(self, run: Runner) -> list[Denial]:
        """All refused requests, oldest first."""
        events = await run.call(present(self._services).truth.read, self.scope.owner, kinds=(EventKind.DENIED,))
        return [
            Denial(event.author, payload["verb"], Right(payload["needed"]), held and Right(held), event.at)
            for event in events
            for payload, held in [(event.payload, event.payload["held"])]
        ]

    async def _give(self, run: Runner, user: str | None, agent: str | None, right: Right | None) -> Receipt:
        """Give a right, or with None revoke it; the last decision for a grantee counts.

        It is based on the current ones, and repeated if another admin was faster.
        """
        if user is None and agent is None:
            raise InvalidInputError("no member given: give user=, agent= or both")
        services, space, grantee = present(self._services), self.scope.owner, Scope(user=user, agent=agent)
        for _ in range(RACES):
            asked = Asked("revoke" if right is None else "grant", Right.ADMIN)
            known = await sharing.admitted(run, services, self._principal, space, asked)
            current = known.grants.get((user, agent))
            if right is None and current is None:
                raise InvalidInputError(f"there is no grant for {grantee}: see grants()")
            admins = [one for one in known.grants.values() if one.right is Right.ADMIN]
            if admins == [current] and right != Right.ADMIN:
                raise InvalidInputError(f"{grantee} is the last admin: appoint another one first")
            revision = self._revision(services, known, {"user": user, "agent": agent, "right": right})
            if (appended := await append_revision(run, services, space, revision)) is not None:
                return receipt_of(appended)
        raise StoreUnavailableError(f"other admins kept changing {space} at the same time: try again")

    def _revision(self, services: Services, known: Standing, payload: dict[str, Any]) -> Draft:
        name = revision_id("grant", known.number + 1)
        return services.draft(EventKind.GRANT, payload, id=name, author=author_of(self._principal))

    acreate = create.twin
    agrant = grant.twin
    arevoke = revoke.twin
    agrants = grants.twin
    aaudit = audit.twin
