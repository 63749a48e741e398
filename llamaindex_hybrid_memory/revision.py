"""Make a session show a given conversation: which messages of its log are reused, and which are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hybrid_memory import Message, ScopedMemory
from hybrid_memory.adapters import Runner, new_id, without_notices
from llamaindex_hybrid_memory.messages import to_chat_message


async def show(run: Runner, session: ScopedMemory, messages: Sequence[Message]) -> None:
    """Make a session show these messages, writing those that it does not have."""
    log = await run.call(session.history)
    change = revision(log, without_notices(await run.call(session.history, current=True)), messages)
    await run.call(session.remember, change.fresh)
    if change.keep is not None:
        await run.call(session.reset, keep=change.keep)


class Revision(NamedTuple):
    """The changes that make a session show other messages."""

    fresh: list[Message]  # to be written, with their ids
    keep: list[str] | None  # ids of all that it then shows, in the order of the log; None if no reset is needed


def revision(log: Sequence[Message], shown: Sequence[Message], messages: Sequence[Message]) -> Revision:
    """The changes after which a session shows exactly the wanted messages.

    Leading messages that are in the log in this order are reused; the others are written, since a session shows its
    messages in log order. The ids of the wanted messages are ignored.
    """
    held = [_key(message) for message in log]
    keys = [_key(message) for message in messages]
    ids = {message.id for message in shown}
    begun = [row for row, message in enumerate(log) if message.id in ids]
    rows = _matching_rows(held, keys, [])
    if [held[row] for row in begun] == keys[: len(begun)]:
        rows = max(_matching_rows(held, keys, begun), rows, key=len)
    fresh = [message.model_copy(update={"id": new_id()}) for message in messages[len(rows) :]]
    keep = [*(message_id(log[row]) for row in rows), *map(message_id, fresh)]
    return Revision(fresh, None if rows == begun else keep)


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


def message_id(message: Message) -> str:
    """The id of a message read from the log."""
    if message.id is None:
        raise ValueError(f"a message of the log has an id: {message!r}")
    return message.id
