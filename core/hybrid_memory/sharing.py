"""Shared spaces: the rights that their admins' decisions give, access checks before every verb, and quarantine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from hybrid_memory.errors import AccessDeniedError, InvalidInputError, StoreUnavailableError
from hybrid_memory.log.event import QUARANTINE, Event, EventKind, author_of, principal_of
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Draft, Receipt, receipt_of
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope, check_name
from hybrid_memory.store import forget as forgetting
from hybrid_memory.store.projection import FoldedProjection, append_revision, erased_since, head, number_of, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_share, shown

TRUSTED = 0.5
"""Writes by members with less trust need an admin's approval."""

Grantee: TypeAlias = tuple[str | None, str | None]
"""The user and the agent that a grant names."""


class Right(StrEnum):
    """What a grant allows: write includes read, and admin includes write."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Right) -> bool:
        """Whether this right includes the other."""
        ranks = list(Right)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True)
class Member:
    """A user or agent in a space, whatever their right."""

    principal: Scope
    space: Scope

    @property
    def author(self) -> str:
        """The member as text."""
        return author_of(self.principal)


@dataclass(frozen=True, slots=True)
class Asked:
    """A requested access.

    Attributes:
        verb: its name; needed: the right it requires.
        trusted: whether it also requires trust; quarantined writes do not.
    """

    verb: str
    needed: Right
    trusted: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """A right in a space.

    Attributes:
        user, agent: the member; None means any, but at least one is named.
        right: read, write or admin.
        trust: in [0, 1]; with too little, what the member writes goes into quarantine.
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
    """A refused access to a space.

    Attributes:
        who: the user and agent, as text; verb: what they tried.
        needed, held: the right the verb needs, and the right they had. If that was sufficient, their trust was too low.
        at: when.
    """

    who: str
    verb: str
    needed: Right
    held: Right | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of the decisions so far.

    Attributes:
        number: the number of decisions; position: the log position of the last one.
        grants: the last decision for each grantee.
        approved: positions of the messages that were released from quarantine.
    """

    number: int = 0
    position: int = 0
    grants: Mapping[Grantee, Grant] = field(default_factory=dict)
    approved: frozenset[int] = frozenset()

    def after(self, decisions: Iterable[Event]) -> Standing:
        """The result after these events, which follow by position."""
        number, position, grants, approved = self.number, self.position, dict(self.grants), set(self.approved)
        for event in decisions:
            number, position = number_of(event), event.position
            approved.update(event.payload.get("approved", ()))
            payload = event.payload
            if "right" in payload:
                user, agent, right = payload["user"], payload["agent"], payload["right"]
                grants.pop((user, agent), None)
                if right is not None:  # None revokes
                    trust, by = payload["trust"], event.author
                    grants[user, agent] = Grant(user, agent, Right(right), trust, by=by, at=event.at)
        return Standing(number, position, grants, frozenset(approved))

    @property
    def admins(self) -> int:
        """The number of grants with the admin right."""
        return sum(grant.right is Right.ADMIN for grant in self.grants.values())

    def covering(self, principal: Scope) -> list[Grant]:
        """The grants that name this user, this agent, or both."""
        user, agent = principal.user, principal.agent
        names = dict.fromkeys([(user, None), (None, agent), (user, agent)])
        return [self.grants[name] for name in names if name in self.grants]

    def right(self, principal: Scope) -> Right | None:
        """The highest right that this user and agent have; None without a grant."""
        rights = [grant.right for grant in self.covering(principal)]
        return max(rights, key=list(Right).index, default=None)

    def trust(self, principal: Scope) -> float:
        """The trust in what they write, in [0, 1]; 0 for members who may not write.

        The most specific grant decides; of two equally specific ones, the lower value.
        """
        writing = [grant for grant in self.covering(principal) if grant.right.includes(Right.WRITE)]
        parts = [((grant.user is None) + (grant.agent is None), grant.trust) for grant in writing]
        return min(parts, default=(0, 0.0))[1]


class GrantsProjection(FoldedProjection[Standing]):
    """The current decisions of each space; a rollback does not change them."""

    kinds = frozenset({EventKind.GRANT, EventKind.DENIED, EventKind.QUARANTINED})
    start = Standing
    follows = frozenset({EventKind.GRANT})
    capacity = 4096

    def parse(self, event: Event) -> object:
        return Standing().after([event]) if event.kind is EventKind.GRANT else event.payload


RACES = 100
"""How many decisions of other admins may interfere before the call fails."""


Decision: TypeAlias = Callable[[Standing], tuple[dict[str, Any], list[Draft]]]
"""Given the current decisions: the new one and the events to write with it; may raise `InvalidInputError`."""


async def standing(run: Runner, services: Services, space: Scope) -> Standing:
    """The current decisions of a space; a rollback does not change them."""
    return await services.state(GrantsProjection).read(run, services, space)


async def admitted(run: Runner, services: Services, member: Member, asked: Asked) -> Standing:
    """The current decisions of the space, if this user and agent have the right; raises otherwise."""
    known = await standing(run, services, member.space)
    held = known.right(member.principal)
    if held is None or not held.includes(asked.needed):
        reason = f"it takes the right to {asked.needed}, given by an admin of the space"
    elif asked.trusted and known.trust(member.principal) < TRUSTED:
        reason = f"it takes a trust of {TRUSTED} or more, given by an admin of the space"
    else:
        return known
    if known.number and not services.read_only:
        refused = {"verb": asked.verb, "needed": asked.needed, "held": held}
        denial = services.draft(EventKind.DENIED, refused, author=member.author)
        await run.call(services.truth.append, member.space, [denial])
    raise AccessDeniedError(member.author, asked.verb, member.space.space or "", reason)


async def create(run: Runner, services: Services, member: Member) -> None:
    """Make a space with this user and agent as its admin."""
    first = _given(member.principal.user, member.principal.agent, Right.ADMIN)
    if await append_revision(run, services, member.space, _decision(services, member, Standing(), first)) is None:
        name = member.space.space
        raise InvalidInputError(f"the space {name!r} already exists: choose another name, or ask its admin")


def _given(user: str | None, agent: str | None, right: Right | None, trust: float = 1.0) -> dict[str, Any]:
    return {"user": user, "agent": agent, "right": right, "trust": trust}


def _decision(services: Services, member: Member, known: Standing, payload: dict[str, Any]) -> Draft:
    return services.draft(EventKind.GRANT, payload, id=revision_id("grant", known.number + 1), author=member.author)


async def decide(
    run: Runner, services: Services, member: Member, verb: str, decision: Decision, *, seen: int | None = None
) -> Receipt:
    """Write an admin's decision, based on the current ones; repeated if another decision was faster.

    ``seen`` is the space's last position before the data that the decision copies was read.
    """
    asked = Asked(verb, Right.ADMIN, trusted=True)
    for _ in range(RACES):
        known = await admitted(run, services, member, asked)
        payload, drafts = decision(known)
        revision = _decision(services, member, known, payload)
        appended = await append_revision(run, services, member.space, revision, [revision, *drafts], seen=seen)
        if appended is None:
            if seen is not None and await erased_since(run, services, member.space, seen):
                raise InvalidInputError(f"{member.space} forgot something in the meantime: call quarantined() again")
            continue
        return receipt_of(appended[1:] or appended)
    raise StoreUnavailableError(f"other admins kept changing {member.space} at the same time: try again")


async def grant(
    run: Runner, services: Services, member: Member, *, user: str | None, agent: str | None, right: str, trust: float
) -> Receipt:
    """Give a right; the last decision for a grantee counts."""
    grantee, share = _grantee(user, agent), checked_share("trust", trust)
    if right == Right.ADMIN and share < TRUSTED:
        raise InvalidInputError(f"an admin needs a trust of {TRUSTED} or more, got {trust}")
    return await decide(run, services, member, "grant", _change(*grantee, Right(right), share))


async def revoke(run: Runner, services: Services, member: Member, *, user: str | None, agent: str | None) -> Receipt:
    """Revoke the right of a grantee."""
    return await decide(run, services, member, "revoke", _change(*_grantee(user, agent), None))


def _grantee(user: str | None, agent: str | None) -> tuple[str | None, str | None]:
    if user is None and agent is None:
        raise InvalidInputError("no member given: give user=, agent= or both")
    for label, name in (("user", user), ("agent", agent)):
        if name is not None:
            _checked_name(label, name)
    return user, agent


def _checked_name(label: str, name: str) -> str:
    try:
        return check_name(label, name)
    except ValueError as error:
        raise InvalidInputError(str(error)) from None


def _change(user: str | None, agent: str | None, right: Right | None, trust: float = 1.0) -> Decision:
    def decision(known: Standing) -> tuple[dict[str, Any], list[Draft]]:
        current = known.grants.get((user, agent))
        if right is None and current is None:
            raise InvalidInputError(f"there is no grant for {Scope(user=user, agent=agent)}: see grants()")
        if current is not None and current.right is Right.ADMIN and right is not Right.ADMIN and known.admins == 1:
            raise InvalidInputError(f"{Scope(user=user, agent=agent)} is the last admin: appoint another one first")
        return _given(user, agent, right, trust), []

    return decision


async def grants(run: Runner, services: Services, space: Scope) -> list[Grant]:
    """The current grants, in the order in which they were last changed."""
    return list((await standing(run, services, space)).grants.values())


async def denials(run: Runner, services: Services, space: Scope) -> list[Denial]:
    """Refused accesses, oldest first."""
    return [
        Denial(
            who=event.author,
            verb=event.payload["verb"],
            needed=Right(event.payload["needed"]),
            held=None if event.payload["held"] is None else Right(event.payload["held"]),
            at=event.at,
        )
        for event in await run.call(services.truth.read, space, kinds=(EventKind.DENIED,))
    ]


async def readable(run: Runner, services: Services, principal: Scope) -> list[Scope]:
    """The spaces of their tenant that this user and agent may read, by name."""
    spaces = [
        owner for owner in await run.call(services.truth.heads) if owner.space and owner.tenant == principal.tenant
    ]
    rights = {space: (await standing(run, services, space)).right(principal) for space in spaces}
    return sorted((space for space, right in rights.items() if right is not None), key=str)


async def reached(run: Runner, services: Services, principal: Scope, spaces: Any, verb: str) -> list[Scope]:
    """These spaces, or with ``all`` every readable one."""
    if spaces == "all":
        return await readable(run, services, principal)
    if isinstance(spaces, str) or not isinstance(spaces, Collection):
        raise InvalidInputError(f"spaces must be a list of names, or 'all', got {shown(spaces)}")
    asked = Asked(verb, Right.READ, trusted=False)
    chosen = {named(principal, name): None for name in spaces}
    for space in chosen:
        await admitted(run, services, Member(principal, space), asked)
    return list(chosen)


def named(principal: Scope, name: Any, session: str | None = None) -> Scope:
    """The space with this name in the tenant of user or agent; raises `InvalidInputError` for invalid names."""
    if principal.user is None and principal.agent is None:
        raise InvalidInputError(f"{principal} is neither a user nor an agent: only they can share spaces")
    return Scope(tenant=principal.tenant, space=_checked_name("the name of a space", name), session=session)


async def origin(run: Runner, services: Services, scope: Scope, other: Scope, verb: str) -> Scope:
    """The scope of something a caller passes back: its own, or a readable space."""
    if other.owner == scope.owner:
        return other
    if other.space is None or scope.space is not None or other.tenant != scope.tenant:
        raise InvalidInputError(f"this belongs to {other.owner}, not to {scope.owner}")
    await admitted(run, services, Member(scope.owner, other.owner), Asked(verb, Right.READ, trusted=False))
    return other


async def trust(run: Runner, services: Services, space: Scope) -> Callable[[str], float]:
    """The trust in each author of this space, in [0, 1]; 1 for an owner's own words."""
    if space.space is None:
        return lambda _: 1.0
    known = await standing(run, services, space.owner)
    return lambda author: known.trust(principal_of(author)) if author else 1.0


def entered(services: Services, member: Member, known: Standing) -> Services:
    """The services with which this user and agent write; to others only an admin speaks as operator."""
    speaks = Origin.OPERATOR if known.right(member.principal) is Right.ADMIN else Origin.PERSON
    return replace(services, author=member.author, trusted=known.trust(member.principal) >= TRUSTED, speaks=speaks)


async def quarantined(run: Runner, services: Services, scope: Scope) -> list[Event]:
    """Messages that were neither approved nor rejected, oldest first."""
    view = await in_view(run, present(services), scope)
    known = await standing(run, services, scope.owner)
    events = await run.call(view.log.read, scope, kinds=(EventKind.QUARANTINED,))
    return [event for event in events if event.position not in known.approved]


async def approve(run: Runner, services: Services, scope: Scope, member: Member, which: Any) -> Receipt:
    """Add these messages to the space, under their authors and original times."""
    seen = await head(run, services, scope)
    chosen = await _chosen(run, services, scope, which)
    drafts = {
        event.position: replace(
            Draft.of(event), id=event.id.removeprefix(QUARANTINE), kind=EventKind.MESSAGE, sources=(event.id,)
        )
        for event in chosen
    }

    def decision(known: Standing) -> tuple[dict[str, Any], list[Draft]]:
        late = [event.id for event in chosen if event.position in known.approved]
        if late:
            raise InvalidInputError(f"{late[0]!r} was approved by another admin meanwhile")
        return {"approved": list(drafts)}, list(drafts.values())

    return await decide(run, services, member, "approve", decision, seen=seen)


async def reject(run: Runner, services: Services, scope: Scope, which: Any) -> Receipt:
    """Destroy these messages."""
    chosen = await _chosen(run, services, scope, which)
    handles = tuple(f"#{event.position}" for event in chosen)
    return await forgetting.forget(run, services, scope, forgetting.ForgetRequest(ids=handles))


async def _chosen(run: Runner, services: Services, scope: Scope, which: Any) -> list[Event]:
    pending = await quarantined(run, services, scope)
    items = [which] if isinstance(which, str | Event) or not isinstance(which, Collection) else list(which)
    chosen: dict[int, Event] = {}
    for item in items:
        matching = [event for event in pending if item in (event.id, event)]
        if len(matching) != 1:
            several = (
                "several messages have this id, give what quarantined() returns" if matching else "see quarantined()"
            )
            raise InvalidInputError(f"which one is {shown(item)}? {several}")
        chosen[matching[0].position] = matching[0]
    if not chosen:
        raise InvalidInputError("no message given: give ids, or events from quarantined()")
    return [chosen[position] for position in sorted(chosen)]
