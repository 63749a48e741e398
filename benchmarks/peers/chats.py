"""Memories that make prompts, driven as the replays of `benchmarks.compression.replay` drive ours."""

from __future__ import annotations

import asyncio
import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AnyMessage, BaseMessage, convert_to_messages, trim_messages
from langchain_core.messages.utils import convert_to_openai_messages
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

from benchmarks.compression.sets import IDENTITY, MAX_TOKENS, count_tokens
from hybrid_memory import Context, Message, Role

ROOM = 200
"""Tokens that a limit on the history alone leaves for the identity and the question."""

SUMMARY_TOKENS = 600
SUMMARY_CHARS = 200

Said = dict[str, Any]


def summarised(texts: Sequence[str]) -> str:
    """The stand-in for a model: the first 200 characters of each text, of these lines the newest 600 tokens."""
    lines = [" ".join(text.split())[:SUMMARY_CHARS] for text in texts if text.strip()]
    kept: list[str] = []
    for line in reversed(lines):
        if count_tokens("\n".join([line, *kept])) > SUMMARY_TOKENS:
            break
        kept.insert(0, line)
    return "\n".join(kept)


def tokens_of(messages: Any) -> int:
    """Of LangChain messages as they are sent, with the calls."""
    listed = [messages] if isinstance(messages, BaseMessage) else messages
    return sum(count_tokens(f"assistant : {message.text}{_calls(message)}\n\n") for message in listed)


def _calls(message: Any) -> str:
    return "".join(f"{call['name']} {json.dumps(call['args'])}" for call in getattr(message, "tool_calls", ()))


class Chat(ABC):
    """One conversation; stands in for an open memory and for its scope as well."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def scoped(self, **_names: str) -> Self:
        """There is one scope only."""
        return self

    def remember(self, content: Any, *, role: str = "user") -> None:
        """Hand on what was said, message by message."""
        for item in [content] if isinstance(content, str | Message | Mapping) else content:
            message = Message(role=Role(role), content=item) if isinstance(item, str) else Message.model_validate(item)
            self.take(_as_dict(message))

    def assemble(self, query: str | None = None, *, max_tokens: int, **_options: Any) -> Context:
        """The identity, what the memory returns, and the question if it is not in there yet."""
        sent = self.prompt({"role": "user", "content": query} if query else None)
        if not sent or sent[0]["role"] != "system":
            sent = [{"role": "system", "content": IDENTITY}, *sent]
        messages = tuple(Message.model_validate(said) for said in sent)
        return Context(messages=messages, sections={}, tokens=0, max_tokens=max_tokens)

    @abstractmethod
    def take(self, said: Said) -> None:
        """Store a message."""

    @abstractmethod
    def prompt(self, asked: Said | None) -> list[Said]:
        """The messages of the next prompt; ``asked`` is not stored."""


class Trimmed(Chat):
    """The whole history, through `trim_messages` for every prompt."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._said: list[Said] = [{"role": "system", "content": IDENTITY}]

    def take(self, said: Said) -> None:
        """Append it."""
        self._said.append(said)

    def prompt(self, asked: Said | None) -> list[Said]:
        """The newest that fit, behind the system message."""
        messages = convert_to_messages([*self._said, *([asked] if asked else [])])
        kept = trim_messages(
            messages, max_tokens=MAX_TOKENS, strategy="last", token_counter=tokens_of, include_system=True,
            **self._options,
        )  # fmt: skip
        return _openai(kept)


class Middleware(Chat):
    """`SummarizationMiddleware`, asked before every call of the model; what it returns is the new history."""

    def __init__(self, keep: tuple[str, int]) -> None:
        self._middleware = SummarizationMiddleware(
            FakeListChatModel(responses=["never asked"]), trigger=("tokens", MAX_TOKENS - ROOM), keep=keep,  # type: ignore[arg-type]
            token_counter=tokens_of, summarizer=lambda messages: summarised([message.text for message in messages]),
        )  # fmt: skip
        self._said: list[AnyMessage] = []

    def take(self, said: Said) -> None:
        """Append it."""
        self._said += convert_to_messages([said])  # type: ignore[arg-type]

    def prompt(self, asked: Said | None) -> list[Said]:
        """The history, summarised if it has grown too long."""
        question = convert_to_messages([asked]) if asked else []
        state: Any = {"messages": [*self._said, *question]}
        update = self._middleware.before_model(state, None)  # type: ignore[arg-type]
        if update:
            shorter = update["messages"][1:]  # the first one says: remove all
            self._said = [message for message in shorter if message not in question]
            return _openai(shorter)
        return _openai(state["messages"])


class SummaryBuffer(Chat):
    """`ConversationSummaryBufferMemory`: saves inputs and outputs, never what tools were asked or answered."""

    def __init__(self) -> None:
        classic: Any = importlib.import_module("langchain_classic.memory").ConversationSummaryBufferMemory

        class Counting(FakeListChatModel):
            def get_num_tokens_from_messages(self, messages: list[BaseMessage], tools: Any = None) -> int:
                return tokens_of(messages)

        class Deterministic(classic):  # type: ignore[misc] # no types
            def predict_new_summary(self, messages: list[Any], existing_summary: str) -> str:
                return summarised([*existing_summary.splitlines(), *(message.text for message in messages)])

        self._memory = Deterministic(
            llm=Counting(responses=["never asked"]),
            return_messages=True,
            max_token_limit=MAX_TOKENS - ROOM - SUMMARY_TOKENS,
        )
        self._open: list[Said] = []

    def take(self, said: Said) -> None:
        """Keep a turn in hand until it has been answered, then save its two ends."""
        self._open.append(said)
        if said["role"] == "assistant" and not said.get("tool_calls"):
            self._memory.save_context({"input": self._open[0]["content"]}, {"output": said["content"]})
            self._open = []

    def prompt(self, asked: Said | None) -> list[Said]:
        """Summary and newest messages, the turn in hand, and the question."""
        history = self._memory.load_memory_variables({})["history"]
        return [*_openai(history), *self._open, *([asked] if asked else [])]


class LlamaIndexMemory(Chat):
    """`Memory`; as agents do, the rounds of calls stay outside of it until the turn is answered."""

    def __init__(self, embedder: Any = None, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        blocks = []
        if embedder is not None:
            stores: Any = importlib.import_module("benchmarks.peers.llamaindex_stores")
            block = importlib.import_module("llama_index.core.memory").VectorMemoryBlock
            blocks = [block(vector_store=stores.TextStore(), embed_model=stores.AsLlamaIndex(embedder))]
        self._memory = Memory.from_defaults(token_limit=MAX_TOKENS - ROOM, memory_blocks=blocks, **options)
        self._open: list[Said] = []

    def __exit__(self, *exc: object) -> None:
        self._loop.close()

    def take(self, said: Said) -> None:
        """The user's words at once, the rest of the turn when it has been answered."""
        if said["role"] == "user":
            self._loop.run_until_complete(self._memory.aput(_chat(said)))
            return
        self._open.append(said)
        if said["role"] == "assistant" and not said.get("tool_calls"):
            self._loop.run_until_complete(self._memory.aput_messages([_chat(one) for one in self._open]))
            self._open = []

    def prompt(self, asked: Said | None) -> list[Said]:
        """What `aget` returns, the rounds in hand, and the question."""
        words = _chat(asked) if asked else None
        found = self._loop.run_until_complete(self._memory.aget(input=words))
        history = [
            {"role": one.role.value, "content": one.content or "", **one.additional_kwargs.get("openai", {})}
            for one in found
        ]
        if history and history[0]["role"] == "system":
            history[0]["content"] = f"{IDENTITY}\n\n{history[0]['content']}"
        return [*history, *self._open, *([asked] if asked else [])]


def _chat(said: Said) -> ChatMessage:
    calls = {key: said[key] for key in ("tool_calls", "tool_call_id") if said.get(key)}
    return ChatMessage(role=said["role"], content=said["content"], additional_kwargs={"openai": calls} if calls else {})


def _openai(messages: Sequence[Any]) -> list[Said]:
    found: Any = convert_to_openai_messages(list(messages))
    return [{**said, "content": said.get("content") or ""} for said in found]


def _as_dict(message: Message) -> Said:
    said: Said = {"role": message.role.value, "content": message.text if not message.tool_calls else ""}
    if message.tool_calls:
        said["tool_calls"] = [call.as_openai() for call in message.tool_calls]
    if message.tool_call_id:
        said["tool_call_id"] = message.tool_call_id
    return said
