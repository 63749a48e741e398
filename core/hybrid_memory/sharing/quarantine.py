"""What waits in a space for an admin: messages of members who are not trusted to write by themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import QUARANTINE, Event, EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import Member, decide, standing
from hybrid_memory.sharing.grant import Standing
from hybrid_memory.store import forget as forgetting
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import shown


async def quarantined(run: Runner, services: Services, scope: Scope) -> list[Event]:
    """The messages that were neither approved nor rejected, oldest first."""
    view = await in_view(run, present(services), scope)
    known = await standing(run, services, scope.owner)
    events = await run.call(view.log.read, scope, kinds=(EventKind.QUARANTINED,))
    return [event for event in events if event.position not in known.approved]


async def approve(run: Runner, services: Services, scope: Scope, member: Member, which: Any) -> Receipt:
    """Let these messages into the space, as those of their authors, said when they were said.

    Raises:
        InvalidInputError: one of them does not wait there.
        IdConflictError: meanwhile there is another message with this id.
    """
    chosen = await _chosen(run, services, scope, which)
    drafts = {event.position: _draft(event) for event in chosen}

    def decision(known: Standing) -> tuple[dict[str, Any], list[Draft]]:
        late = [event.id for event in chosen if event.position in known.approved]
        if late:
            raise InvalidInputError(f"{late[0]!r} was approved by another admin meanwhile")
        return {"approved": list(drafts)}, list(drafts.values())

    return await decide(run, services, member, "approve", decision)


def _draft(event: Event) -> Draft:
    return Draft(
        id=event.id.removeprefix(QUARANTINE),
        fixed_id=True,
        session=event.scope.session,
        kind=EventKind.MESSAGE,
        at=event.at,
        payload=event.payload,
        sources=(event.id,),
        author=event.author,
    )


async def reject(run: Runner, services: Services, scope: Scope, which: Any) -> Receipt:
    """Destroy these messages.

    Raises:
        InvalidInputError: one of them does not wait there.
    """
    chosen = await _chosen(run, services, scope, which)
    handles = tuple(f"#{event.position}" for event in chosen)
    return await forgetting.forget(run, services, scope, forgetting.ForgetRequest(ids=handles))


async def _chosen(run: Runner, services: Services, scope: Scope, which: Any) -> list[Event]:
    """The waiting messages that are meant."""
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
        raise InvalidInputError("no message is named: give ids, or what quarantined() returns")
    return [chosen[position] for position in sorted(chosen)]
