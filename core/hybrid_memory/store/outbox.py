"""What was said while the log could not be reached: put aside on disk, and given to the log in order later."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import replace

from hybrid_memory.errors import IdConflictError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft, EventLog
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import MAX_NAME_CHARS, Scope
from hybrid_memory.store.services import Services

BATCH = 256

_log = logging.getLogger(__name__)


async def put_aside(
    run: Runner, services: Services, owner: Scope, drafts: Sequence[Draft], failure: Exception
) -> Receipt:
    """Keep the drafts in the outbox, behind what waits there; raises the failure if there is none."""
    if services.outbox is None:
        raise failure
    _log.warning("%s; what was said waits in the outbox", failure)
    appended = await run.call(services.outbox.append, owner, drafts)
    return Receipt(ids=tuple(event.id for event in appended), waiting=tuple(event.id for event in appended))


async def drain(run: Runner, services: Services) -> int:
    """Give the log what waits in the outbox, in the order in which it was said; returns how many events.

    What was given already is recognised by its id, so a crash in between neither loses nor repeats anything.

    Raises:
        StoreUnavailableError: the log cannot be reached; what it has not taken goes on waiting.
    """
    if services.outbox is None:
        return 0
    count = 0
    for owner in await run.call(services.outbox.heads):
        while events := await run.call(services.outbox.read, owner, limit=BATCH):
            for event in events:
                if event.kind is not EventKind.ERASED:  # our own note, of a process that was killed before it went
                    await _give(run, services, event)
            await _taken_out(run, services, services.outbox, events)
            count += sum(event.kind is not EventKind.ERASED for event in events)
    if count:
        await run.call(services.outbox.scrub)
    return count


async def _taken_out(run: Runner, services: Services, outbox: EventLog, events: Sequence[Event]) -> None:
    """Remove what the log has taken; unlike what is only dropped, its ids may come again."""
    owner = events[0].scope.owner
    note = services.draft(EventKind.ERASED, {"positions": []})
    noted = await run.call(outbox.erase, owner, [event.position for event in events], {}, note)
    await run.call(outbox.drop, owner, [noted.position])


async def _give(run: Runner, services: Services, event: Event) -> None:
    draft = Draft(
        id=event.id,
        fixed_id=True,
        session=event.scope.session,
        kind=event.kind,
        at=event.at,
        payload=event.payload,
        sources=event.sources,
        author=event.author,
    )
    try:
        await run.call(services.truth.append, event.scope.owner, [draft])
    except IdConflictError as error:
        # Nobody is there any more to be told; the words count for more than the id. The other id follows from them, so
        # that they are stored once however often this is tried.
        digest = hashlib.blake2b(json.dumps(event.payload, sort_keys=True).encode(), digest_size=8).hexdigest()
        renamed = replace(draft, id=f"{event.id[: MAX_NAME_CHARS - 17]}:{digest}")
        _log.warning("%s; what waited under this id is stored as %s", error, renamed.id)
        await run.call(services.truth.append, event.scope.owner, [renamed])
