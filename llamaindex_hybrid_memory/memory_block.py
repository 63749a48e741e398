"""`HybridMemoryBlock`: long-term memory for LlamaIndex's own ``Memory``."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from hybrid_memory import Message, Role, ScopedMemory
from hybrid_memory.adapters import LEAST_TOKENS, TWINS, LruCache, Portion, checked, reach, recollect
from hybrid_memory.errors import HybridMemoryError, IdConflictError, InvalidInputError, InvalidMessageError
from llamaindex_hybrid_memory.bound import Bound
from llamaindex_hybrid_memory.messages import from_chat_message

SESSION = "session_id"
"""The name under which the host passes the session: in a question, and in ``additional_kwargs`` of flushed messages."""

_log = logging.getLogger(__name__)


class Turn(NamedTuple):
    """The user's last words, and the messages before them."""

    question: str
    answers: int  # of the queue before it; tells a question from its repetition
    shown: frozenset[str]  # the texts that stand in the queue

    @classmethod
    def of(cls, queue: Sequence[ChatMessage]) -> Self:
        """The last turn of a queue; a question that the host adds to the queue counts as part of it."""
        said = [message for chat in queue if (message := _ours(chat)) is not None]
        last = max((row for row, message in enumerate(said) if message.role is Role.USER), default=None)
        texts = [message.text.strip() for message in said]
        answered = [message.role is Role.ASSISTANT and not message.tool_calls for message in said]
        return cls(texts[last] if last is not None else "", sum(answered[:last]), frozenset(texts))


def by_session(flushed: Sequence[ChatMessage]) -> dict[str | None, list[Message]]:
    """The messages in our form by session, without the session's name, which the host wrote into them."""
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
    """The messages of a flush that are not in the log yet, with ids that are the same for every caller.

    Nothing is new if the log contains the flush as one verbatim stretch; otherwise, if the log ends with the beginning
    of the flush, the rest is new. So a flush may arrive twice, from two tasks or after a restart.
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


LOOKED_AT = 1000
"""How many of the newest messages of a session are searched for a flush."""

SESSIONS = 256
"""The number of sessions whose current content is kept."""

Shown: TypeAlias = tuple[tuple[str, int], str]
"""A turn and the content shown for it."""


class HybridMemoryBlock(Bound, BaseMemoryBlock[str]):
    """A memory block with the profile, a summary of flushed turns, and memories recalled for the user's last words.

    Messages that ``Memory`` flushes from its queue are written to the log, in the session of its ``session_id``, and
    only once if a flush repeats. Recall covers all sessions of the owner, or only this one. It runs once for each user
    turn, and never returns turns that are still in the queue.

    If the store fails, the block logs a warning and ``Memory`` continues: flushed messages are kept in this object and
    written with the next flush or question. The user never waits for a language model.

    Create ``Memory`` with ``insert_method=InsertMethod.USER``. The text then comes before the user's last words, and
    the prompt up to the previous turn does not change, so that the provider's prompt cache works. With the default,
    ``InsertMethod.SYSTEM``, the text comes first, and each recall changes the prompt from its first line.

    The block itself stays within ``token_limit``. With ``priority`` 0 ``Memory`` uses it unchanged; with other values
    it may leave the block out, priority 1 before 2.

    Attributes:
        tenant, user, agent, url: see `Bound`.
        k: how many turns to recall; 0 turns recall off.
        scope: ``user`` recalls from all sessions of the owner, ``session`` only from the session of ``Memory``.
        token_limit: the budget of the text.
        profile: the text about the user; by default the learned profile. An empty text shows none.
        spaces: shared spaces to recall from as well, or ``all``, see `ScopedMemory.assemble`; checked at each call.
    """

    name: str = "hybrid_memory"
    k: int = Field(default=5, ge=0)
    scope: Literal["user", "session"] = "user"
    token_limit: int = Field(default=1000, ge=LEAST_TOKENS)
    profile: str | None = None
    spaces: tuple[str, ...] | Literal["all"] = ()

    _pending: dict[str | None, list[list[Message]]] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _shown: LruCache[str | None, Shown | None] = PrivateAttr(default_factory=lambda: LruCache(SESSIONS))

    @checked
    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = block_kwargs.get(SESSION)
        turn = Turn.of(messages or [])
        found = self._shown.get(session)
        if found is not None and not self.spaces and found[0] == (turn.question, turn.answers):
            return found[1]
        if self.spaces:
            await reach(TWINS, self._scoped(await self._astore(), session), self.spaces)
        try:
            if self._pending.get(session):
                await self._write(session, [])
            scoped = self._scoped(await self._astore(), session)
            text = (await self._portion(scoped, turn)).within(self.token_limit).text
        except HybridMemoryError as error:
            _log.warning("the conversation continues without memory: %s", error)
            return ""
        self._shown.put(session, ((turn.question, turn.answers), text))
        return text

    @checked
    async def _aput(self, messages: list[ChatMessage]) -> None:
        for session, flushed in by_session(messages).items():
            try:
                await self._write(session, flushed)
            except HybridMemoryError as error:
                _log.warning("%d messages of %r are kept and will be written later: %s", len(flushed), session, error)

    async def _portion(self, scoped: ScopedMemory, turn: Turn) -> Portion:
        session = scoped.scope.session
        lines = (await scoped.asummary()).lines if session is not None else ()
        k = self.k if self.scope == "user" or session is not None else 0
        asked: dict[str, Any] = {"k": k, "max_tokens": self.token_limit, "profile": self.profile, "scope": self.scope}
        asked["spaces"] = self.spaces
        return await recollect(TWINS, scoped, turn.question, shown=turn.shown, lines=lines, **asked)

    async def _write(self, session: str | None, flushed: list[Message]) -> None:
        """Write a flush, preceded by messages that could not be written before."""
        with self._lock:
            flushes = [*self._pending.pop(session, []), *([flushed] if flushed else [])]
        try:
            scoped = self._scoped(await self._astore(), session)
            log, lacking = await scoped.ahistory(limit=LOOKED_AT), 0
            for flush in flushes:
                new = fresh(log, flush)
                log, lacking = [*log, *new], lacking + len(new)
            if lacking:
                try:
                    await scoped.aremember(log[-lacking:])
                except IdConflictError:  # a rollback hides what has these ids
                    await scoped.aremember([one.model_copy(update={"id": None}) for one in log[-lacking:]])
        except BaseException:  # the task may have been cancelled, too
            with self._lock:
                self._pending[session] = [*flushes, *self._pending.get(session, [])]
            raise
        self._shown.put(session, None)
        if session is not None:
            # What left the queue is folded: now if it is too long, without a language model, else in the pause.
            with suppress(InvalidInputError):
                await scoped.aassemble(max_tokens=self.token_limit, k=0, wait=False)
