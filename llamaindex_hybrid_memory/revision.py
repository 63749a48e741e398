"""Make a session show a given conversation: which messages of its log are reused, and which are written."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory import Message, ScopedMemory
from hybrid_memory.adapters import Runner, new_id, without_notices
from llamaindex_hybrid_memory.messages import to_chat_message


async def show(run: Runner, session: ScopedMemory, messages: Sequence[Message]) -> None:
    """Make a session show exactly these messages, whatever their ids.

    Leading messages that are in the log in this order are reused; the others are written, since a session shows its
    messages in log order.
    """
    log = await run.call(session.history)
    ids = {message.id for message in without_notices(await run.call(session.history, current=True))}
    held, keys = list(map(_key, log)), list(map(_key, messages))
    begun = [row for row, message in enumerate(log) if message.id in ids]
    rows = _matching_rows(held, keys, [])
    if [held[row] for row in begun] == keys[: len(begun)]:
        rows = max(_matching_rows(held, keys, begun), rows, key=len)
    fresh = [message.model_copy(update={"id": new_id()}) for message in messages[len(rows) :]]
    await run.call(session.remember, fresh)
    if rows != begun:
        await run.call(session.reset, keep=[str(message.id) for message in (*(log[row] for row in rows), *fresh)])


def _matching_rows(held: Sequence[str], keys: Sequence[str], begun: Sequence[int]) -> list[int]:
    """The log rows that match the first keys in this order, after the known rows."""
    rows = list(begun)
    for key in keys[len(rows) :]:
        try:
            rows.append(held.index(key, rows[-1] + 1 if rows else 0))
        except ValueError:
            break
    return rows


def _key(message: Message) -> str:
    """A key that is equal for messages that LlamaIndex cannot tell apart."""
    return to_chat_message(message).model_dump_json()
