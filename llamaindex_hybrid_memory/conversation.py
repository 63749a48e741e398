"""A session's conversation: the reads and writes behind a chat memory, each one coroutine for both faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hybrid_memory import Hit, Message, Role, ScopedMemory
from hybrid_memory.build import TimeOrderedIds
from hybrid_memory.compute.runners import InlineRunner
from hybrid_memory.tiers.context import recollect
from llamaindex_hybrid_memory.messages import from_chat_message, to_chat_message
from llamaindex_hybrid_memory.view import latest, revision, visible

P = ParamSpec("P")
T = TypeVar("T")

_new_id = TimeOrderedIds()


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
        k: how many memories the note holds at most.
        window: how many recent messages are shown at most.
    """

    def __init__(self, memory: ScopedMemory, *, k: int, window: int) -> None:
        self._memory = memory
        self._k = k
        self._window = window
        self._recalled: tuple[tuple[str, str | None], list[Hit]] | None = None

    async def prompt(self, run: InlineRunner, question: str | None) -> list[ChatMessage]:
        """Opening system messages, the note for the question or else for the user's last message, recent turns."""
        shown = await self._latest(run)
        turn = next((message for message in reversed(shown) if message.role is Role.USER), None)
        asked = question if question and question.strip() else "" if turn is None else turn.text
        hits = await self._recall(run, asked, None if turn is None else turn.id, besides=len(shown))
        found = recollect(shown, hits, limit=self._window, k=self._k)
        start = shown.index(found.recent[0]) if found.recent else len(shown)
        opening = start
        while opening and shown[opening - 1].role is Role.SYSTEM:
            opening -= 1
        return [
            *map(to_chat_message, shown[opening:start]),
            *([ChatMessage(role=MessageRole.SYSTEM, content=found.note)] if found.note else []),
            *map(to_chat_message, found.recent),
        ]

    async def messages(self, run: InlineRunner) -> list[ChatMessage]:
        """All that the session shows."""
        return [to_chat_message(message) for message in visible(await run.call(self._memory.history))]

    async def append(self, run: InlineRunner, messages: Sequence[ChatMessage]) -> None:
        """Write the messages, next to each other and all or none."""
        written = [from_chat_message(message) for message in messages]
        await run.call(self._memory.remember, written)

    async def show(self, run: InlineRunner, messages: Sequence[ChatMessage]) -> None:
        """Let the session show these messages, and write those that it lacks."""
        wanted = [from_chat_message(message) for message in messages]
        changes = revision(await run.call(self._memory.history), wanted, _new_id)
        await run.call(self._memory.remember, changes)

    async def _latest(self, run: InlineRunner) -> list[Message]:
        """The end of the conversation: a window, and the turn that is under way."""
        size = 2 * self._window
        while True:
            rows = await run.call(self._memory.history, limit=size)
            shown = visible(rows) if len(rows) < size else latest(rows, self._window)
            if shown is not None:
                return shown
            size *= 4

    async def _recall(self, run: InlineRunner, question: str, turn: str | None, *, besides: int) -> list[Hit]:
        """The hits for a question besides so many recent messages, found once between two messages of the user."""
        if not self._k or not question.strip():
            return []
        key = (question, turn)
        recalled = self._recalled
        if recalled is None or recalled[0] != key:
            # Recent turns are among the best hits, and are left out of the note.
            recalled = self._recalled = key, await run.call(self._memory.recall, question, k=self._k + besides)
        return recalled[1]
