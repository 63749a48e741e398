"""``rollback``: show the log as it stood at an earlier place, and hide what came after; nothing is destroyed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import Horizon
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.history import check_span
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present
from hybrid_memory.validation import checked_count, shown


def horizon(moment: Any) -> Horizon:
    """How far a view reaches; raises `InvalidInputError` for what is neither a position nor an aware instant."""
    if isinstance(moment, datetime):
        check_span(moment, None)
        return Horizon(until=moment)
    if isinstance(moment, bool) or not isinstance(moment, int):
        raise InvalidInputError(f"give an aware datetime or a position of the log, got {shown(moment)}")
    return Horizon(upto=checked_count("a position", moment, least=0))


async def rollback(run: Runner, services: Services, scope: Scope, to: Any) -> Receipt:
    """Go back, or forward again, to this place in the log.

    Raises:
        InvalidInputError: it is no place in this owner's log.
    """
    present(services)
    wanted = horizon(to)
    heads = await run.call(services.truth.heads, scope.owner)
    head = heads.get(scope.owner, 0)
    position = wanted.upto
    if position is None:
        last = await run.call(services.truth.read, scope.owner, until=wanted.before, limit=1, newest=True)
        position = last[0].position if last else 0
    if position > head:
        raise InvalidInputError(f"the log of {scope.owner} ends at position {head}, cannot go to {position}")
    draft = Draft(
        id=services.new_id(),
        fixed_id=False,
        session=None,
        kind=EventKind.ROLLBACK,
        at=services.clock(),
        payload={"to": position},
        author=services.author,
    )
    (appended,) = await run.call(services.truth.append, scope.owner, [draft])
    return Receipt(ids=(appended.id,), positions=(appended.position,))
