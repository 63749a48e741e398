"""Hybrid memory for Pydantic AI: a message history, a capability that recalls and stores, and a toolset."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from hybrid_memory.errors import MissingDependencyError

try:
    from pydantic_ai import AgentRunResult, FunctionToolset, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
except ImportError as error:
    raise MissingDependencyError("pydantic-ai-slim", "pydantic-ai") from error

from hybrid_memory import ScopedMemory
from hybrid_memory.adapters import Runner, checked, faces, media_lines, window, without_notices
from hybrid_memory.errors import InvalidMessageError, InvalidScopeError, ModelError, StoreError
from hybrid_memory.tools import MemoryTool, tools_named
from hybrid_memory_hosts.pydantic_messages import from_model_messages, to_model_messages
from hybrid_memory_hosts.recalled import Whose, memory_of, recalled

Handler: TypeAlias = Callable[[ModelRequestContext], Awaitable[ModelResponse]]
"""Makes the request."""

_log = logging.getLogger(__name__)


class HybridMessageHistory:
    """A conversation in a memory, as the ``message_history`` of a run.

    Messages come back as Pydantic AI itself restores them from JSON, with calls, results, thinking and usage. Other
    sessions of the owner can recall the conversation, and facts are learned from it.

    Args:
        memory: the memory of one owner and session: ``memory.scoped(user="alice", session="s1")``.

    Raises:
        InvalidScopeError: the memory names no session.
    """

    @checked
    def __init__(self, memory: ScopedMemory) -> None:
        if memory.scope.session is None:
            raise InvalidScopeError("no session given: give memory.scoped(user=..., session=...)")
        self.memory = memory

    async def _messages(self, run: Runner, /, limit: int | None = None) -> list[ModelMessage]:
        """The messages, oldest first.

        Args:
            limit: the maximum number of parts, counted from the newest; the result starts with a user turn and has no
                call without its result. None is all.
        """
        said = without_notices(await run.call(self.memory.history, current=True))
        return to_model_messages(said if limit is None else window(said, limit))

    messages, amessages = faces(_messages)

    async def _add(self, run: Runner, /, messages: Sequence[ModelMessage]) -> None:
        """Append the messages, such as ``result.new_messages()``, all or none.

        Raises:
            InvalidMessageError: a message cannot be stored. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        await run.call(self.memory.remember, from_model_messages(messages))

    add, aadd = faces(_add)

    async def _clear(self, run: Runner, /) -> None:
        """Start the history again from here; earlier messages stay in the log and can be recalled."""
        await run.call(self.memory.reset)

    clear, aclear = faces(_clear)


class HybridMemoryCapability(AbstractCapability[Any]):
    """A capability that recalls before each model request and stores the conversation when the run ends.

    Profile and memories come before the user's last words in the request only, not in the messages of the run; for
    images and files of earlier turns it sends a line, as ``PromptConfig(media_turns=)`` says. If the memory fails, it
    logs a warning and the run continues without memory.

    Args:
        memory: the memory of one owner, or a function that returns it for the run's ``deps``.
        k: how many turns to recall.
        max_tokens: the budget of profile and memories together.
        keep: whether to write the new messages of a run, to the memory's session if it names one.

    Raises:
        InvalidConfigError: during a run: the function did not return a memory.
    """

    @checked
    def __init__(self, memory: Whose, *, k: int = 5, max_tokens: int = 1000, keep: bool = True) -> None:
        self._memory, self._k, self._max_tokens, self._keep = memory, k, max_tokens, keep

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Handler
    ) -> ModelResponse:
        memory, said = memory_of(self._memory, ctx.deps), request_context.messages
        row, place = _question(said)
        if row is None:
            return await handler(request_context)
        texts = [text for message in said for part in message.parts if (text := _text(part))]
        question = _text(said[row].parts[place])
        note = await recalled(memory, question, among=texts, k=self._k, max_tokens=self._max_tokens)
        messages = [*said]
        for number, parts in media_lines(memory, [from_model_messages([message]) for message in said]).items():
            messages[number] = to_model_messages(parts)[0]
        if note:
            messages[row] = _with_note(messages[row], place, note)
        return await handler(replace(request_context, messages=messages))

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        if self._keep:
            try:
                await memory_of(self._memory, ctx.deps).aremember(from_model_messages(result.new_messages()))
            except (StoreError, ModelError, InvalidMessageError) as error:
                _log.warning("the messages of a run were not stored: %s", error)
        return result


def _question(messages: Sequence[ModelMessage]) -> tuple[int | None, int]:
    """The position of the user's last words: the index of the message, and of the part in it."""
    for row in reversed(range(len(messages))):
        for place, part in enumerate(messages[row].parts):
            if isinstance(part, UserPromptPart) and _text(part):
                return row, place
    return None, 0


def _text(part: Any) -> str:
    if not isinstance(part, UserPromptPart | TextPart):
        return ""
    content = part.content
    return content if isinstance(content, str) else "\n".join(one for one in content if isinstance(one, str))


def _with_note(message: Any, place: int, note: str) -> ModelRequest:
    parts = list(message.parts)
    asked = parts[place]
    content = f"{note}\n\n{asked.content}" if isinstance(asked.content, str) else [note, *asked.content]
    parts[place] = replace(asked, content=content)
    return cast("ModelRequest", replace(message, parts=parts))


@checked
def memory_toolset(memory: Whose, *, names: str | Iterable[str] | None = None) -> FunctionToolset[Any]:
    """Tools with which a model can remember, recall, update, forget and read more.

    Invalid arguments and handles, and a failing store, are answered with an error text.

    Args:
        memory: the memory of one owner, or a function that returns it for the run's ``deps``.
        names: the tools to return, such as ``memory_recall``; by default all.

    Raises:
        InvalidInputError: there is no tool of that name.
    """
    return FunctionToolset([_tool(tool, memory) for tool in tools_named(names)])


def _tool(tool: MemoryTool, whose: Whose) -> Tool[Any]:
    async def run(ctx: RunContext[Any], **arguments: Any) -> str:
        return (await tool.arun(memory_of(whose, ctx.deps), arguments)).text

    schema = tool.arguments.model_json_schema()
    return Tool.from_schema(run, tool.name, tool.description, schema, takes_ctx=True)
