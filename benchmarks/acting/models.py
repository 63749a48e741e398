"""A policy as a chat model of LangChain and as an LLM of LlamaIndex; each prompt is noted."""

import html
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    DocumentBlock,
    ImageBlock,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

from benchmarks.acting.media import seen
from benchmarks.acting.policies import Policy, Reply
from benchmarks.acting.prompts import Call, Prompt, Said, Speaker

WINDOW = 128_000
"""Tokens beyond which a model refuses a prompt that tells nothing else of itself."""

_SENTENCE = re.compile(r"[^。！？\n]{1,160}?(?:[.!?](?=\s)|[。！？]|\n|$)")
_MESSAGE = re.compile(r"^<message type=\"\w+\">(.*?)</message>$", re.DOTALL | re.MULTILINE)
"""A message as `SummarizationMiddleware` shows it."""

_SPEAKERS: dict[str, Speaker] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


class WindowExceededError(ValueError):
    """What a provider answers to a prompt that is too long."""


@dataclass
class Watched:
    """A policy, and every prompt that it was shown with what it said.

    Attributes:
        window: see `benchmarks.acting.tasks.Task`.
        transcript: the prompt is one text.
    """

    policy: Policy
    window: int = WINDOW
    transcript: bool = False
    prompts: list[Prompt] = field(default_factory=list)
    calls: int = 0

    def reply(self, prompt: Prompt) -> Reply:
        """The policy's answer or calls.

        Raises:
            WindowExceededError: the prompt is too long.
        """
        if self.transcript:
            prompt = Prompt.of_transcript(prompt.messages[-1].text)
        self.prompts.append(prompt)
        if prompt.tokens > self.window:
            raise WindowExceededError(f"{prompt.tokens:,} tokens, of {self.window:,} at most")
        return self.policy(prompt)

    def named(self, reply: Reply) -> list[tuple[str, Call]]:
        """The calls with ids of their own; none of an answer."""
        if isinstance(reply, str):
            return []
        self.calls += len(reply)
        return [(f"call-{self.calls - row}", call) for row, call in enumerate(reversed(reply))][::-1]


class ScriptedChat(BaseChatModel):
    """For LangChain."""

    watched: Any
    bound: Sequence[Any] = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """The same model, which knows these tools."""
        return self.model_copy(update={"bound": [convert_to_openai_tool(tool)["function"] for tool in tools]})

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        prompt = Prompt([_of_langchain(message) for message in messages], {tool["name"]: tool for tool in self.bound})
        reply = self.watched.reply(prompt)
        calls = [
            {"name": call.name, "args": dict(call.arguments), "id": id_} for id_, call in self.watched.named(reply)
        ]
        said = AIMessage(reply if isinstance(reply, str) else "", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=said)])


def _of_langchain(message: BaseMessage) -> Said:
    texts, media = [], []
    for block in message.content_blocks:
        if block["type"] == "text":
            texts.append(block["text"])
        elif data := block.get("base64"):
            media.append(seen(str(data)))
    calls = [Call(call["name"], call["args"]) for call in getattr(message, "tool_calls", ())]
    return Said(_SPEAKERS[message.type], "\n".join(texts), calls, media)


class Summariser(BaseChatModel):
    """Keeps the first sentences of each message that it is to summarise."""

    sentences: int = 1

    @property
    def _llm_type(self) -> str:
        return "summariser"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = messages[-1].text.rpartition("Messages to summarize:\n")[2]
        parts = [html.unescape(part) for part in _MESSAGE.findall(text)]
        parts = parts or re.split(r"^(?=(?:Human|AI|Tool|System): )", text, flags=re.MULTILINE)
        first = [sentence for part in parts for sentence in first_sentences(part, self.sentences)]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("\n".join(first)))])


def first_sentences(text: str, count: int) -> list[str]:
    """At most so many of its first sentences."""
    return [found.strip() for found in _SENTENCE.findall(text.strip())[:count]]


class ScriptedLLM(FunctionCallingLLM, CustomLLM):
    """For LlamaIndex."""

    watched: Any
    told: int | None = None

    @property
    def metadata(self) -> LLMMetadata:
        """It chats and calls tools, and tells its window if it is to."""
        window: dict[str, Any] = {} if self.told is None else {"context_window": self.told}
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, **window)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The answer, or the calls that the policy asks for."""
        tools = {tool["function"]["name"]: tool["function"] for tool in kwargs.get("tools", ())}
        reply = self.watched.reply(Prompt([_of_llamaindex(message) for message in messages], tools))
        blocks: list[Any] = [
            ToolCallBlock(tool_call_id=id_, tool_name=call.name, tool_kwargs=dict(call.arguments))
            for id_, call in self.watched.named(reply)
        ]
        text = [TextBlock(text=reply)] if isinstance(reply, str) else []
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, blocks=[*text, *blocks]))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The same."""
        return self.chat(messages, **kwargs)

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:  # type: ignore[override]
        """The same, in one piece."""

        async def stream() -> AsyncIterator[ChatResponse]:
            yield self.chat(messages, **kwargs)

        return stream()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The answer to a text."""
        return CompletionResponse(text=str(self.watched.reply(Prompt([Said("user", prompt)]))))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """The same, in one piece."""
        yield self.complete(prompt, formatted, **kwargs)

    def _prepare_chat_with_tools(self, tools: Sequence[Any], *_: Any, **kwargs: Any) -> dict[str, Any]:
        bound = [tool.metadata.to_openai_tool() for tool in tools]
        return {"messages": list(kwargs.get("chat_history") or ()), "tools": bound}

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        """The calls that the policy asks for."""
        return [
            ToolSelection(tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=_kwargs(block))
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def _of_llamaindex(message: ChatMessage) -> Said:
    media = [
        seen(data)
        for block in message.blocks
        if isinstance(block, ImageBlock | DocumentBlock)
        and isinstance(data := block.image if isinstance(block, ImageBlock) else block.data, bytes)
    ]
    calls = [Call(block.tool_name, _kwargs(block)) for block in message.blocks if isinstance(block, ToolCallBlock)]
    speakers: dict[str, Speaker] = {"user": "user", "assistant": "assistant", "tool": "tool"}
    return Said(speakers.get(message.role.value, "system"), message.content or "", calls, media)


def _kwargs(block: ToolCallBlock) -> dict[str, Any]:
    given = block.tool_kwargs
    found: dict[str, Any] = json.loads(given) if isinstance(given, str) else given
    return found
