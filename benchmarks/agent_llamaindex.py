"""The long conversation of ``agent.py`` in LlamaIndex: what of it each call of the model was shown.

    python benchmarks/agent_llamaindex.py                                     a scripted model
    python benchmarks/agent_llamaindex.py --model Qwen2.5 --json out.json     a GGUF file, or a name's beginning

The turns, the models and the columns are those of ``agent.py``; the dozen live turns go through a ``FunctionAgent``
with a ``HybridChatMemory``. The agent puts its system prompt and the tools in front of what the memory returns, and the
calls of a turn with their results behind, since it hands them over when the turn is done. The memory's limit leaves
room for all that, so that the whole prompt has as many tokens at most as in LangChain.

LlamaIndex's own client needs an older ``openai`` than LangChain's, so both share the latter's; it sends the messages
that the agent laid out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata, ToolCallBlock
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import BaseTool, FunctionTool
from pydantic import PrivateAttr

from benchmarks.agent import (
    IDENTITY,
    LIVE,
    MAX_TOKENS,
    RECALLED,
    SESSION,
    USER,
    CallsInText,
    Recorder,
    gguf,
    opened,
    scripted,
    served,
    show,
    stock,
)
from hybrid_memory import HybridMemory
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import message_tokens, schema_tokens
from langchain_hybrid_memory import from_langchain, to_langchain
from llamaindex_hybrid_memory import HybridChatMemory, from_chat_message, to_chat_message

ROUND_TOKENS = 120
"""Room for a call of the tool and its result, which the agent adds to the prompt by itself; ids take half of it."""


def looked_up(item: str) -> str:
    """What the tool says of an item."""
    said: str = stock.invoke({"item": item})
    return said


TOOL = FunctionTool.from_defaults(looked_up, name=stock.name, description=stock.description)


class Noted(FunctionCallingLLM, CustomLLM):
    """A chat model as LlamaIndex asks it, each call noted.

    Args:
        model: of LangChain.
        recorder: notes the calls.
        forced: as for `CallsInText`.
    """

    _model: BaseChatModel = PrivateAttr()
    _recorder: Recorder = PrivateAttr()
    _calls: CallsInText = PrivateAttr()

    def __init__(self, model: BaseChatModel, recorder: Recorder, *, forced: bool) -> None:
        super().__init__()
        self._model = model
        self._recorder = recorder
        self._calls = CallsInText(forced=forced)

    @property
    def metadata(self) -> LLMMetadata:
        """It chats, and calls tools."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The answer, or the calls that the model asks for."""
        prompt: list[Any] = [to_langchain(from_chat_message(message)) for message in messages]
        request: ModelRequest[Any] = ModelRequest(model=self._model, messages=prompt, tools=kwargs.get("tools", []))
        response = await self._recorder.awrap_model_call(request, self._read)
        answer = to_chat_message(from_langchain(response.result[-1], keep_id=False))
        return ChatResponse(message=answer)

    async def _read(self, request: ModelRequest[Any]) -> ModelResponse[Any]:
        return await self._calls.awrap_model_call(request, _answered)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The answer to a text."""
        return CompletionResponse(text=self._model.invoke(prompt).text)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """The same, in one piece."""
        yield self.complete(prompt, formatted, **kwargs)

    def _prepare_chat_with_tools(  # noqa: PLR0917 - the host's signature
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"messages": chat_history or [], "tools": [tool.metadata.to_openai_tool() for tool in tools]}

    def get_tool_calls_from_response(
        self,
        response: ChatResponse,
        error_on_no_tool_call: bool = True,
        **kwargs: Any,
    ) -> list[ToolSelection]:
        """The calls that the model asks for."""
        return [
            ToolSelection(tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock) and isinstance(block.tool_kwargs, dict)
        ]


async def _answered(request: ModelRequest[Any]) -> ModelResponse[Any]:
    model = request.model.bind_tools(request.tools, **request.model_settings)
    # On a thread: the connections of the async client would outlive the event loop.
    return ModelResponse(result=[await asyncio.to_thread(model.invoke, request.messages)])


def agent_with(memory: HybridMemory, model: BaseChatModel, *, forced: bool = False) -> tuple[FunctionAgent, Recorder]:
    """An agent, and what will be noted of its calls."""
    recorder = Recorder(memory.scoped(user=USER, session=SESSION))
    # Not streaming: with each answer the server says what it read.
    llm = Noted(model, recorder, forced=forced)
    return FunctionAgent(llm=llm, tools=[TOOL], system_prompt=IDENTITY, streaming=False), recorder


def chat_memory(memory: HybridMemory, *, max_tokens: int = MAX_TOKENS, k: int = RECALLED) -> HybridChatMemory:
    """The conversation, with room for what the agent adds to it in a prompt."""
    count = token_counter()
    identity = from_chat_message(ChatMessage(role="system", content=IDENTITY))
    added = message_tokens(identity, count) + schema_tokens([TOOL.metadata.to_openai_tool()], count) + ROUND_TOKENS
    return HybridChatMemory.from_defaults(
        user=USER, session=SESSION, memory=memory, k=k, token_limit=max_tokens - added
    )


async def talk(
    memory: HybridMemory,
    agent: FunctionAgent,
    recorder: Recorder,
    chat: HybridChatMemory,
    *,
    live: Sequence[tuple[str, str | None]] = LIVE,
) -> str:
    """Say the live turns, each after a pause, in which turns may be folded.

    Every turn has a chat memory of its own, as where a server makes one for each request.

    Returns:
        The last answer.
    """
    scoped = memory.scoped(user=USER, session=SESSION)
    for turn, (said, _) in enumerate(live, 1):
        recorder.turn = turn
        answer = await agent.run(said, memory=chat.model_copy())
        await scoped.aflush()
    return str(answer)


def main() -> None:
    """Run the script, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a GGUF file, or the beginning of its name in .models; a scripted one else")
    parser.add_argument("--force", action="store_true", help="let the server's grammar write the calls of the tool")
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with opened() as memory, served(gguf(chosen.model)) if chosen.model else scripted() as model:
        agent, recorder = agent_with(memory, model, forced=chosen.force)
        chat = chat_memory(memory, max_tokens=chosen.max_tokens)
        started = time.perf_counter()
        last = asyncio.run(talk(memory, agent, recorder, chat))
        seconds = time.perf_counter() - started
    show(recorder.calls)
    print(f"\n{LIVE[-1][0]} {last}\n{seconds:.1f} s for {len(LIVE)} turns")
    if chosen.json:
        rows = [{**asdict(call), "prompt": len(call.prompt)} for call in recorder.calls]
        chosen.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
