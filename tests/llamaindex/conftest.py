"""A store for each test, and language models that follow a script."""

import asyncio
import copy
import pickle
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools.types import BaseTool
from llama_index.core.workflow import JsonSerializer
from pydantic import Field

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.adapters import close_all
from hybrid_memory.text.tokens import estimate_tokens, message_tokens
from llamaindex_hybrid_memory import HybridChatMemory, from_chat_message
from tests.doubles import OLD_PYDANTIC


class ScriptedLLM(FunctionCallingLLM):
    """Gives the replies in order, the last one again and again, and keeps what it was shown."""

    replies: list[ChatMessage]
    seen: list[list[ChatMessage]] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.seen.append([message.model_copy(deep=True) for message in messages])
        reply = self.replies[min(len(self.seen), len(self.replies)) - 1]
        return ChatResponse(message=reply.model_copy(deep=True), delta=reply.content or "")

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        await asyncio.sleep(0)
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        def stream() -> Generator[ChatResponse, None, None]:
            yield self.chat(messages)

        return stream()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        async def stream() -> AsyncGenerator[ChatResponse, None]:
            yield await self.achat(messages)

        return stream()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([ChatMessage(content=prompt)]).message.content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        raise NotImplementedError

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
        return {"messages": list(chat_history or [])}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=block.tool_kwargs if isinstance(block.tool_kwargs, dict) else {},
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def words(messages: Sequence[ChatMessage] | None) -> list[str]:
    return [message.content or "" for message in messages or ()]


def tokens(messages: Sequence[ChatMessage]) -> int:
    return sum(message_tokens(from_chat_message(message), estimate_tokens) for message in messages)


TRAVELS: dict[str, Callable[[Any], Any]] = {
    "json": lambda one: type(one).model_validate_json(one.model_dump_json()),
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 - our own bytes
    "copy": copy.copy,
    "serializer": lambda one: JsonSerializer().deserialize(JsonSerializer().serialize(one)),
}
"""Ways of what is plain data from one place to another."""


@pytest.fixture(params=TRAVELS)
def travel(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return TRAVELS[request.param]


Run = Callable[..., Any]


@pytest.fixture
def run() -> Run:
    """Calls the async twin of a method, under a watch that nothing blocks the loop."""

    def call(owner: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        # The one name in LlamaIndex that is another.
        twin = "async_add_message" if name == "add_message" else f"a{name}"

        async def watched() -> Any:
            with blockbuster_ctx():
                return await getattr(owner, twin)(*args, **kwargs)

        return asyncio.run(watched())

    return call


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for mark in OLD_PYDANTIC:
                item.add_marker(mark)


@pytest.fixture
def scripted() -> Callable[..., ScriptedLLM]:
    """A model from its replies, texts or messages."""

    def make(*replies: str | ChatMessage) -> ScriptedLLM:
        return ScriptedLLM(
            replies=[
                ChatMessage(role="assistant", content=reply) if isinstance(reply, str) else reply for reply in replies
            ]
        )

    return make


@pytest.fixture
def store() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing"), token_counter=estimate_tokens) as memory:
        yield memory


@pytest.fixture
def chat(store: HybridMemory) -> HybridChatMemory:
    return HybridChatMemory.from_defaults(user="alice", session="s1", memory=store)


@pytest.fixture
def config(tmp_path: Path) -> Iterator[str]:
    """The path of a YAML file with a store in SQLite: a URL that another process can open as well."""
    path = tmp_path / "memory.yaml"
    settings = MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="hashing")
    path.write_text(settings.to_yaml(), encoding="utf-8")
    yield str(path)
    close_all()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url=f"sqlite:///{tmp_path / 'given.db'}", embedder="hashing")) as memory:
        yield memory
