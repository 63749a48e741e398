"""How a memory that stands in for one of LangChain's old ones is made from that one's arguments."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import ConfigDict, Field

from hybrid_memory import HybridMemory, Message
from hybrid_memory.errors import InvalidConfigError
from langchain_hybrid_memory.chains.history import HybridChatMessageHistory
from langchain_hybrid_memory.chains.session_memory import SessionMemory
from langchain_hybrid_memory.messages import from_langchain
from langchain_hybrid_memory.migration.private_store import placed


class MigratedMemory(SessionMemory):
    """A session's memory that takes the arguments of an old one."""

    model_config = ConfigDict(extra="ignore")

    memory: HybridMemory = Field(default=None, frozen=True)  # type: ignore[assignment]  # set by __init__
    chat_memory: Any = None
    keep_steps: bool = False

    if not TYPE_CHECKING:  # as in SessionMemory

        def __init__(self, **data: Any) -> None:
            given = data.pop("chat_memory", None)
            if isinstance(given, HybridChatMessageHistory):
                data, given = _where(given, data), None
            super().__init__(**placed(data, language_model=data.get("llm")))
            summary = data.get(self._summary_argument)
            before = [SystemMessage(summary)] if summary else []
            before += [] if given is None else given.messages
            if before:
                self.chat_memory.scoped.follow(_known_again(before))

    _summary_argument: ClassVar[str] = ""
    """Which argument holds a summary to begin with."""


def _where(given: HybridChatMessageHistory, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with the memory and the owner of a history that is ours."""
    scope = given.scoped.scope
    own = {part: getattr(scope, part) for part in ("user", "session", "tenant", "agent")}
    for part, value in {"memory": given.memory, **own}.items():
        if arguments.get(part) not in {None, value}:
            raise InvalidConfigError(f"chat_memory is of {given.scoped}: leave {part}= out, or name the same")
    return {**arguments, **own, "memory": given.memory}


def _known_again(messages: Sequence[BaseMessage]) -> list[Message]:
    """The messages under ids that follow from what they say, so that reading them again writes nothing.

    Their places are no part of the ids: old histories lose their beginning.
    """
    told: Counter[str] = Counter()
    known = []
    for message in messages:
        converted = from_langchain(message, keep_id=False)
        digest = hashlib.sha256(converted.model_dump_json(exclude={"extra"}).encode()).hexdigest()[:32]
        known.append(converted.model_copy(update={"id": f"before-{told[digest]}-{digest}"}))
        told[digest] += 1
    return known
