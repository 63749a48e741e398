"""A session's conversation: the reads and writes behind a chat memory, each one coroutine for both faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from llama_index.core.base.llms.types import ChatMessage

from hybrid_memory import Context, Message, Role, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.ids import TimeOrderedIds
from hybrid_memory.log.message import PRESSURE, STOPPED
from hybrid_memory.runtime.runners import InlineRunner
from llamaindex_hybrid_memory.messages import from_chat_messages, to_chat_message
from llamaindex_hybrid_memory.paging import Paging
from llamaindex_hybrid_memory.view import revision

P = ParamSpec("P")
T = TypeVar("T")

new_id = TimeOrderedIds()


class TwinRunner(InlineRunner):
    """Awaits the async twin of each verb, so that the core decides where it runs."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of ``arecall`` for ``recall``."""
        owner, name = function.__self__, function.__name__  # type: ignore[attr-defined]
        twin: Callable[P, Awaitable[T]] = getattr(owner, f"a{name}")
        return await twin(*args, **kwargs)


class Conversation:
    """What one session shows, with what is recalled for it.

    Args:
        memory: of an owner, with a session.
        k: how many memories are recalled for one question at most.
        profile: about the user; None for what was learned.
        paging: how it is laid out, if the model pages its memory itself.
    """

    def __init__(
        self, memory: ScopedMemory, *, k: int, profile: str | None = None, paging: Paging | None = None
    ) -> None:
        self._memory = memory
        self._k = k
        self._profile = profile
        self._paging = paging
        self._called: dict[str, str] = {}

    async def prompt(self, run: InlineRunner, question: str | ChatMessage | None, **asked: Any) -> list[ChatMessage]:
        """What the model should see, without a question that is not in the log: engines add it themselves.

        Args:
            run: for either face.
            question: without one the user's last message is.
            asked: of `ScopedMemory.assemble`.
        """
        words = question.content if isinstance(question, ChatMessage) else question
        query = words if words and words.strip() else None
        try:
            context = await self._assembled(run, query, k=self._k, profile=self._profile, wait=False, **asked)
        except InvalidInputError:  # nobody has said anything yet
            shown = await run.call(self._memory.conversation)
            return [to_chat_message(message) for message in shown if message.role is Role.SYSTEM]
        laid = context.messages if query is None else _before_the_question(context)
        return [to_chat_message(message) for message in laid]

    async def _assembled(self, run: InlineRunner, query: str | None, **asked: Any) -> Context:
        if self._paging is not None:
            return await self._paging.assemble(run, self._memory, query, **asked)
        return await run.call(self._memory.assemble, query, **asked)

    async def messages(self, run: InlineRunner) -> list[ChatMessage]:
        """All that the session shows, but for what the memory told the model."""
        return [to_chat_message(message) for message in _said(await run.call(self._memory.conversation))]

    async def append(self, run: InlineRunner, messages: Sequence[ChatMessage]) -> None:
        """Write the messages, next to each other and all or none."""
        await run.call(self._memory.remember, from_chat_messages(messages, self._called))

    async def show(self, run: InlineRunner, messages: Sequence[ChatMessage]) -> None:
        """Let the session show these messages, and write those that it lacks."""
        await show(run, self._memory, from_chat_messages(messages, {}))


async def show(run: InlineRunner, session: ScopedMemory, wanted: Sequence[Message]) -> None:
    """Let a session show these messages, and write those that it lacks."""
    log = await run.call(session.history)
    change = revision(log, _said(await run.call(session.conversation)), wanted, new_id)
    await run.call(session.remember, change.fresh)
    if change.keep is not None:
        await run.call(session.reset, keep=change.keep)


def _said(messages: Sequence[Message]) -> list[Message]:
    """Without the events by which the memory itself speaks to the model."""
    return [message for message in messages if message.event not in (PRESSURE, STOPPED)]


def _before_the_question(context: Context) -> Sequence[Message]:
    *before, last = context.messages
    if last.id is not None or last.role is not Role.USER:
        return context.messages
    return [*before, Message(content=context.preface)] if context.preface else before
