"""Prompts of the memory in the requests of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from hybrid_memory import Context, Message, Role
from hybrid_memory.runtime.caches import LruCache
from langchain_hybrid_memory.agents.following import Follower
from langchain_hybrid_memory.conversions import Conversions

if TYPE_CHECKING:
    from langchain_hybrid_memory.agents.reading import Reading


class Prompts:
    """Puts prompts into requests, and keeps what it made for one for the next; callable from any thread."""

    def __init__(self) -> None:
        self._schemas: LruCache[int, tuple[Any, dict[str, Any]]] = LruCache(256)
        self._converted = Conversions()

    def schemas(self, tools: Iterable[Any]) -> list[dict[str, Any]]:
        """What a provider is told of the tools."""
        return [self._schema(tool) for tool in tools]

    def laid(
        self, request: ModelRequest[Any], context: Context, follower: Follower, reading: Reading | None
    ) -> ModelRequest[Any]:
        """The request with this prompt, and at its end what others put there for this call.

        Args:
            request: of the agent, without the reader.
            context: the prompt.
            follower: of the agent's state, all of whose messages the log has.
            reading: the reader, which is bound if the prompt names it.
        """
        laid = list(context.messages)
        head = laid.pop(0).text if laid and laid[0].role is Role.SYSTEM else ""
        own = dict(zip(follower.ids, (said for said in follower.messages if said.id), strict=True))
        asked, last = request.messages, follower.messages[-1].id
        passing = next((row for row in range(len(asked), 0, -1) if asked[row - 1].id == last), len(asked))
        messages: list[Any] = [self._shown(message, own.get(message.id or "")) for message in laid]
        tools = request.tools if reading is None else reading.bound(request.tools, context.reader)
        return request.override(
            system_message=_system(request.system_message, head), messages=[*messages, *asked[passing:]], tools=tools
        )

    def _schema(self, tool: Any) -> dict[str, Any]:
        """Kept, since to make it takes as long as the rest of a prompt."""
        found = self._schemas.get(id(tool))
        if found is None or found[0] is not tool:
            found = tool, tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
            self._schemas.put(id(tool), found)
        return found[1]

    def _shown(self, message: Message, own: Any) -> BaseMessage:
        """The message for the model; the state's own object where it says the same."""
        if own is None or own.content != message.content:
            return self._converted(message)
        calls = [call.arguments for call in message.tool_calls]
        return own if not calls or calls == [call["args"] for call in own.tool_calls] else self._converted(message)


def _system(own: SystemMessage | None, head: str) -> SystemMessage | None:
    """The agent's own system prompt with the memory behind it, as a block of its own where the prompt has blocks."""
    if own is None or not own.content:
        return SystemMessage(content=head) if head else own
    if isinstance(own.content, str):
        return own.model_copy(update={"content": head})
    added = head.removeprefix(own.text).lstrip()
    return own.model_copy(update={"content": [*own.content, {"type": "text", "text": added}]}) if added else own
