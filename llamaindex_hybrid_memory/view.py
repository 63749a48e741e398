"""Which messages of a session's log the conversation shows.

The log only grows, so ``set`` and ``reset`` are written into it as one more message: a *beginning*, a system message
that lists the ids of the messages shown from there on. What follows it is shown too. Every process that reads the
session sees the same conversation, and what is no longer shown stays in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybrid_memory.types import Message, Role
from llamaindex_hybrid_memory.messages import EXTRA, to_chat_message

BEGINNING = "The conversation starts anew here."
_VIEW = "view"


def visible(log: Sequence[Message]) -> list[Message]:
    """The messages that a whole session shows, in the order of the conversation."""
    return _fold(log)[0]


def latest(rows: Sequence[Message], limit: int) -> list[Message] | None:
    """The end of the conversation, from the newest rows of its log; None if these are too few to tell.

    It has ``limit`` messages or more and the last of the user's, if the conversation has.
    """
    shown, complete = _fold(rows)
    enough = len(shown) >= limit and any(message.role is Role.USER for message in shown)
    return shown if complete or enough else None


def revision(log: Sequence[Message], messages: Sequence[Message], new_id: Callable[[], str]) -> list[Message]:
    """What to append to a session's log so that it shows exactly these messages.

    A message that the log holds already is shown again, not written again; empty if nothing has to change.
    """
    shown = visible(log)
    ids_shown = {message.id for message in shown}
    hidden = [message for message in log if _view(message) is None and message.id not in ids_shown]
    known: dict[str, list[str]] = {}
    for message in (*shown, *hidden):
        known.setdefault(_key(message), []).append(_id(message))
    fresh: list[Message] = []
    view: list[str] = []
    for message in messages:
        ids = known.get(_key(message))
        if not ids:
            fresh.append(message.model_copy(update={"id": new_id()}))
        view.append(ids.pop(0) if ids else _id(fresh[-1]))
    if view == [_id(message) for message in (*shown, *fresh)]:
        return fresh
    return [*fresh, Message(role=Role.SYSTEM, content=BEGINNING, extra={EXTRA: {_VIEW: view}})]


def _fold(rows: Sequence[Message]) -> tuple[list[Message], bool]:
    """The end of the conversation as far as these rows hold it without a gap, and whether that is all of it."""
    known: dict[str, Message] = {}
    shown: list[Message] = []
    complete = False
    for row in rows:
        view = _view(row)
        if view is None:
            known[_id(row)] = row
            shown.append(row)
            continue
        shown = []
        for there in reversed(view):
            if there not in known:
                break
            shown.append(known[there])
        complete = len(shown) == len(view)
        shown.reverse()
    return shown, complete


def _view(message: Message) -> list[str] | None:
    own = message.extra.get(EXTRA)
    view = own.get(_VIEW) if isinstance(own, dict) else None
    return view if isinstance(view, list) else None


def _key(message: Message) -> str:
    """The same for messages that LlamaIndex cannot tell apart."""
    return to_chat_message(message).model_dump_json()


def _id(message: Message) -> str:
    if message.id is None:
        raise ValueError(f"a message of the log has an id: {message!r}")
    return message.id
