"""Hide messages of a session; they stay in the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybrid_memory import Message, ScopedMemory
from hybrid_memory.adapters import without_notices


async def shown_without(
    memory: ScopedMemory, chosen: Callable[[list[Message]], Sequence[Message]]
) -> Sequence[Message]:
    """Hide the chosen messages of the session and return them."""
    # Read first, so that what others write between the two reads is never taken for hidden.
    before = {message.id for message in await memory.ahistory()}
    said = await memory.ahistory(current=True)
    gone = chosen(without_notices(said))
    if not gone:
        return gone
    hidden = {message.id for message in gone}
    kept = [str(message.id) for message in said if message.id not in hidden]
    while True:
        await memory.areset(keep=kept)
        log = await memory.ahistory()
        shown = {message.id for message in await memory.ahistory(current=True)}
        # What others wrote before the reset and after we looked is shown again.
        late = {message.id for message in log} - before - shown - hidden
        if not late:
            return gone
        before |= late
        kept = [str(message.id) for message in log if message.id in shown | late]
