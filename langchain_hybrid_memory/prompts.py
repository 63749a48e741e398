"""The memory's prompts in model requests, and the tools with which a model reads more or pages its memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage, convert_to_messages
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from hybrid_memory import Block, CompactionConfig, Context, Message, PagingConfig, Reader, Role, ScopedMemory
from hybrid_memory.adapters import LruCache, Runner, budget_of, checked_blocks
from hybrid_memory.tools import FETCH
from hybrid_memory_paging import MEMORY, prepared
from langchain_hybrid_memory.following import Follower
from langchain_hybrid_memory.messages import to_langchain
from langchain_hybrid_memory.tools import OURS, Calls, as_langchain

READER = "fetch"
"""The function that reads the text behind a handle."""

READERS = (READER, FETCH.name)

_REFUSED = {"image": "image_tool_message", "file": "pdf_tool_message"}
"""Of the profile of a model: whether it takes these blocks in the answer of a tool."""


def budget_for(model: Any, config: CompactionConfig) -> int:
    """The budget of a prompt: as configured, or from the window in the model's profile, or the default."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    if "max_tokens" in config.model_fields_set or not isinstance(window, int) or window <= 0:
        return config.max_tokens
    answer = profile.get("max_output_tokens") if isinstance(profile, Mapping) else None
    return budget_of(window, answer if isinstance(answer, int) and answer > 0 else None)


class Prompts:
    """Puts prompts into requests and keeps schemas; callable from any thread."""

    def __init__(self) -> None:
        self._schemas: LruCache[int, tuple[Any, dict[str, Any]]] = LruCache(256)

    def schemas(self, tools: Iterable[Any]) -> list[dict[str, Any]]:
        return [self._schema(tool) for tool in tools]

    def laid(
        self, request: ModelRequest[Any], context: Context, follower: Follower, reading: Reading | None
    ) -> ModelRequest[Any]:
        """The request with this prompt, after LangChain's own summaries, and followed by messages that others added.

        The reader, which the request does not have yet, is bound if the prompt names it.
        """
        laid = list(context.messages)
        head = laid.pop(0).text if laid and laid[0].role is Role.SYSTEM else ""
        own, asked, last = follower.events, convert_to_messages(request.messages), follower.messages[-1]
        passing = next((row for row in range(len(asked), 0, -1) if _same(asked[row - 1], last)), len(asked))
        profile = getattr(request.model, "profile", None) or {}
        refused = {kind for kind, field in _REFUSED.items() if profile.get(field) is False}
        read = (_without(message, refused) if refused and message.name in READERS else message for message in laid)
        shown = (_shown(message, own.get(message.id or "")) for message in read)
        messages: list[Any] = [*follower.summaries, *shown]
        tools = request.tools if reading is None else reading.bound(request.tools, context.reader)
        return request.override(
            system_message=_system(request.system_message, head),
            messages=[*messages, *request.messages[passing:]],
            tools=tools,
        )

    def _schema(self, tool: Any) -> dict[str, Any]:
        """The schema of a tool; kept, since making it takes as long as the rest of a prompt."""
        found = self._schemas.get(id(tool))
        if found is None or found[0] is not tool:
            found = tool, tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
            self._schemas.put(id(tool), found)
        return found[1]


def _shown(message: Message, own: Any) -> BaseMessage:
    """The message for the model; the state's own object if it says the same."""
    if own is None or own.content != message.content:
        return to_langchain(message)
    calls = [call.arguments for call in message.tool_calls]
    return own if not calls or calls == [call["args"] for call in own.tool_calls] else to_langchain(message)


def _without(message: Message, kinds: set[str]) -> Message:
    """The message without these blocks; its text says what they were."""
    blocks = [block for block in message.content if isinstance(block, str) or block.get("type") not in kinds]
    return message if isinstance(message.content, str) else message.model_copy(update={"content": blocks})


def _same(one: BaseMessage, other: BaseMessage) -> bool:
    return one.id == other.id if other.id else one == other


def _system(own: SystemMessage | None, head: str) -> SystemMessage | None:
    """The agent's own system prompt followed by the memory, in a separate block if the prompt has blocks."""
    if own is None or not own.content:
        return SystemMessage(content=head) if head else own
    if isinstance(own.content, str):
        return own.model_copy(update={"content": head})
    added = head.removeprefix(own.text).lstrip()
    return own.model_copy(update={"content": [*own.content, {"type": "text", "text": added}]}) if added else own


class Reading:
    """A reader that is bound only to model calls whose prompt names it."""

    def __init__(self, calls: Calls) -> None:
        self.tool: BaseTool = as_langchain(FETCH, calls)

    def reader(self, tools: Sequence[Any], model: Any, prompts: Prompts) -> Reader | None:
        """The reader that a prompt may name: one already bound to this call, or our own; None for neither."""
        for tool in tools:
            if (getattr(tool, "metadata", None) or {}).get(OURS) == FETCH.name:
                return Reader(tool.name)
        names = {getattr(tool, "name", None) for tool in tools}
        calls_none = isinstance(model, BaseChatModel) and type(model).bind_tools is BaseChatModel.bind_tools
        if calls_none or self.tool.name in names:
            return None
        (schema,) = prompts.schemas([self.tool])
        return Reader(self.tool.name, schema)

    def bound(self, tools: Sequence[Any], name: str) -> list[Any]:
        """The tools to add for a prompt that names this reader; empty for none."""
        own = name == self.tool.name and all(getattr(tool, "name", None) != name for tool in tools)
        return [*tools, self.tool] if own else list(tools)


@dataclass(frozen=True, slots=True)
class Paging:
    """How a middleware lets the model page its memory."""

    config: PagingConfig
    begins: Mapping[str, str]  # texts of the blocks that an owner begins with, beside those of MemGPT

    @classmethod
    def of(cls, paging: bool | PagingConfig, begins: Mapping[str, str] | None) -> Self | None:
        """The settings; None for no paging. Raises `InvalidInputError` for a label or text that a block cannot have."""
        if paging is False:
            return None
        return cls(PagingConfig() if paging is True else paging, checked_blocks(begins))

    @property
    def layout(self) -> dict[str, Any]:
        """The arguments of `ScopedMemory.assemble`."""
        return {"instructions": MEMORY, "layout": "queue", "paging": self.config, "reader": READER}

    async def blocks(self, run: Runner, memory: ScopedMemory) -> dict[str, Block]:
        """The owner's blocks; a new owner gets the initial ones."""
        await run.call(prepared, memory, self.begins)
        return await run.call(memory.blocks)
