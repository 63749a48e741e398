"""Hybrid memory for the OpenAI Agents SDK: a session, an input filter that recalls, and tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from hybrid_memory.errors import MissingDependencyError

try:
    from agents import FunctionTool
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.run import CallModelData, ModelInputData
    from agents.tool_context import ToolContext
except ImportError as error:
    raise MissingDependencyError("openai-agents", "openai-agents") from error

from hybrid_memory import ScopedMemory
from hybrid_memory.adapters import checked, hide, media_lines, without_notices
from hybrid_memory.errors import InvalidScopeError
from hybrid_memory.tools import MemoryTool, tools_named
from hybrid_memory_hosts.openai_items import from_items, is_users, text_of, to_items
from hybrid_memory_hosts.recalled import Whose, memory_of, recalled


class HybridSession:
    """A conversation in a memory, as a ``session`` of ``Runner.run``.

    Items come back as they were added: messages, calls and their outputs, reasoning, and all other items of the SDK.
    Other sessions of the owner can recall the conversation, and facts are learned from it.

    The log is append-only: items removed by `pop_item` and `clear_session` are hidden but can be recalled; only
    `ScopedMemory.forget` destroys them. Items that another host wrote into the session appear in the SDK's form.

    Args:
        memory: the memory of one owner and session: ``memory.scoped(user="alice", session="s1")``.
        session_settings: the SDK's settings, such as how many items a model sees by default.

    Raises:
        InvalidScopeError: the memory names no session.
    """

    @checked
    def __init__(self, memory: ScopedMemory, *, session_settings: SessionSettings | None = None) -> None:
        if memory.scope.session is None:
            raise InvalidScopeError("no session given: give memory.scoped(user=..., session=...)")
        self.memory = memory
        self.session_id = memory.scope.session
        self.session_settings = session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; with a limit, here or in the settings, only the newest.

        Raises:
            StoreUnavailableError: the store cannot be read.
        """
        most = limit if limit is not None or self.session_settings is None else self.session_settings.limit
        if most is not None and most <= 0:
            return []
        # A message is an item, or with several calls of another host more than one.
        found = to_items(without_notices(await self.memory.ahistory(current=True, limit=most)))
        return cast("list[TResponseInputItem]", found if most is None else found[-most:])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append the items, all or none.

        Raises:
            InvalidMessageError: an item cannot be stored. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        if items:
            await self.memory.aremember(from_items([dict(item) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; None if there is none.

        Raises:
            StoreUnavailableError: the store cannot be read or written.
        """
        gone = without_notices(await self.memory.ahistory(current=True))[-1:]
        await hide(self.memory, gone)
        if not gone:
            return None
        *rest, last = to_items(gone)
        await self.add_items(cast("list[TResponseInputItem]", rest))
        return cast("TResponseInputItem", last)

    async def clear_session(self) -> None:
        """Start the session again from here; earlier items stay in the log and can be recalled.

        Raises:
            StoreUnavailableError: the store cannot be written.
        """
        await self.memory.areset()


class MemoryInput:
    """A ``call_model_input_filter`` that puts profile and recalled memories before the user's last words.

    For images and files of earlier turns it sends a line, as ``PromptConfig(media_turns=)`` says. Only the model sees
    this; the session keeps the items unchanged. If the memory fails, it logs a warning and the run continues without.

    Args:
        memory: the memory of one owner, or a function that returns it for the run's ``context``.
        k: how many turns to recall.
        max_tokens: the budget of profile and memories together.

    Raises:
        InvalidConfigError: during a run: the function did not return a memory.
    """

    @checked
    def __init__(self, memory: Whose, *, k: int = 5, max_tokens: int = 1000) -> None:
        self._memory, self._k, self._max_tokens = memory, k, max_tokens

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        items: list[Any] = list(data.model_data.input)
        row = next((row for row in reversed(range(len(items))) if is_users(items[row])), None)
        if row is None:
            return data.model_data
        memory = memory_of(self._memory, data.context)
        texts = list(map(text_of, items))
        note = await recalled(memory, texts[row], among=texts, k=self._k, max_tokens=self._max_tokens)
        for number, parts in media_lines(
            memory, [[part] for part in from_items([dict(item) for item in items])]
        ).items():
            items[number] = to_items(parts)[0]
        if note:
            items[row] = _after(note, items[row])
        return ModelInputData(input=items, instructions=data.model_data.instructions)


def _after(note: str, item: Mapping[str, Any]) -> dict[str, Any]:
    content = item["content"]
    if isinstance(content, str):
        return {**item, "content": f"{note}\n\n{content}"}
    return {**item, "content": [{"type": "input_text", "text": note}, *content]}


@checked
def memory_tools(memory: Whose, *, names: str | Iterable[str] | None = None) -> list[FunctionTool]:
    """Tools with which a model can remember, recall, update, forget and read more.

    Invalid arguments and handles, and a failing store, are answered with an error text.

    Args:
        memory: the memory of one owner, or a function that returns it for the run's ``context``.
        names: the tools to return, such as ``memory_recall``; by default all.

    Raises:
        InvalidInputError: there is no tool of that name.
    """
    return [_function(tool, memory) for tool in tools_named(names)]


def _function(tool: MemoryTool, whose: Whose) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            given = json.loads(arguments or "{}")
        except ValueError as error:
            return f"Error: the arguments are not JSON: {error}"
        return (await tool.arun(memory_of(whose, context.context), given)).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.arguments.model_json_schema(),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # arguments that may be left out
    )
