"""What the stock ``Memory`` hands to a block: its queue, and flushes, stretches of messages that left the queue."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from llama_index.core.base.llms.types import ChatMessage

from hybrid_memory import Message, Role
from hybrid_memory.errors import InvalidMessageError
from llamaindex_hybrid_memory.messages import from_chat_message

SESSION = "session_id"
"""Under which name the host tells the session: in a question, and in ``additional_kwargs`` of what it flushes."""

_log = logging.getLogger(__name__)


class Turn(NamedTuple):
    """What the user said last, and what stands before it.

    Attributes:
        question: the words.
        answers: how many answers the queue holds before them; tells a question from its repetition.
        shown: the texts that stand in the queue.
    """

    question: str
    answers: int
    shown: frozenset[str]

    @classmethod
    def of(cls, queue: Sequence[ChatMessage]) -> Self:
        """The turn of a queue; a question that the host adds to it counts as part of it."""
        said = [message for chat in queue if (message := _ours(chat)) is not None]
        last = max((row for row, message in enumerate(said) if message.role is Role.USER), default=None)
        texts = [message.text.strip() for message in said]
        answered = [message.role is Role.ASSISTANT and not message.tool_calls for message in said]
        return cls(texts[last] if last is not None else "", sum(answered[:last]), frozenset(texts))


def by_session(flushed: Sequence[ChatMessage]) -> dict[str | None, list[Message]]:
    """The messages in our form, without the name of the session, which the host wrote into them."""
    found: dict[str | None, list[Message]] = {}
    for chat in flushed:
        rest = {name: value for name, value in chat.additional_kwargs.items() if name != SESSION}
        message = _ours(chat.model_copy(update={"additional_kwargs": rest}))
        if message is not None:
            found.setdefault(chat.additional_kwargs.get(SESSION), []).append(message)
    return found


def _ours(chat: ChatMessage) -> Message | None:
    try:
        return from_chat_message(chat)
    except InvalidMessageError as error:
        _log.warning("the memory cannot hold a message of the conversation: %s", error)
        return None


def fresh(log: Sequence[Message], flushed: Sequence[Message]) -> list[Message]:
    """The messages of a flush that the log does not hold yet, with ids that are the same for everybody who asks.

    Nothing is fresh if the log holds the flush as one stretch, word for word; else what stands behind the longest
    beginning of the flush that the log ends with. So a flush may come twice, from two tasks or after a restart.

    Args:
        log: the messages of the session, or the newest of them.
        flushed: in order.
    """
    held, said = list(map(_words, log)), list(map(_words, flushed))
    size = len(said)
    if any(held[start : start + size] == said for start in range(len(held) - size + 1)):
        return []
    known = next((n for n in range(min(size, len(held)), 0, -1) if held[-n:] == said[:n]), 0)
    name = str(log[-1].id) if log else ""
    new = []
    for message in flushed[known:]:
        name = hashlib.blake2b(f"{name}\n{message.model_dump_json()}".encode(), digest_size=16).hexdigest()
        new.append(message.model_copy(update={"id": name}))
    return new


def _words(message: Message) -> tuple[Any, ...]:
    return message.role, message.content, message.name, message.tool_calls, message.tool_call_id, message.extra
