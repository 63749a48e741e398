"""A conversation with each of LangChain's memories, within a budget."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_classic.memory import (
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
)
from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, trim_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import PromptTemplate
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import PrivateAttr

from hybrid_memory import Message, Role
from hybrid_memory_evaluation import VERBATIM, Replay, Setting, StockReplay, Writer
from langchain_hybrid_memory.messages import from_langchain, to_langchain


class LangChainReplay(StockReplay):
    """A replay that counts the tokens of LangChain's messages and has a LangChain model."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._known: dict[tuple[str, str], int] = {}
        self._messages: list[BaseMessage] = []

    def _add(self, message: Message) -> None:
        self._messages.append(to_langchain(message))

    def _tokens_of(self, messages: Iterable[Any]) -> int:
        return sum(map(self._tokens_in, messages))

    def _tokens_in(self, message: BaseMessage) -> int:
        # A part of a message has its id; to convert every turn at every prompt would take longer than to trim them.
        known = (message.id, message.content) if message.id and isinstance(message.content, str) else None
        tokens = None if known is None else self._known.get(known)
        if tokens is None:
            tokens = self._tokens([from_langchain(message)])
            if known is not None:
                self._known[known] = tokens
        return tokens

    @cached_property
    def _model(self) -> WritingModel:
        return WritingModel(self._writer)


class WritingModel(BaseChatModel):
    """A chat model that answers with the replay's writer."""

    _writer: Writer = PrivateAttr()

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    @property
    def _llm_type(self) -> str:
        return "hybrid-memory"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self._writer([from_langchain(message, keep_id=False) for message in messages])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])

    def get_num_tokens(self, text: str) -> int:
        """Tokens as the replay counts them; LangChain would need the tokenizer of GPT-2."""
        return self._writer.count(text)


class Summarizing(LangChainReplay):
    """An agent's state with `SummarizationMiddleware` and its default settings, except those that depend on the budget.

    Questions use a copy of the state, since a question may trigger a summary.
    """

    def _shown(self, question: Message | None) -> list[Message]:
        if question is None:
            self._messages = state = self._before_model(self._messages)
        else:
            state = self._before_model([*self._messages, to_langchain(question)])
        return [*self._front, *map(from_langchain, state)]

    def _before_model(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        update = self._middleware.before_model({"messages": messages}, Runtime())  # type: ignore[typeddict-item]
        if update is None:
            return messages
        return add_messages(messages, update["messages"])  # type: ignore[arg-type, return-value]

    @cached_property
    def _middleware(self) -> SummarizationMiddleware[Any, Any]:
        instructions: Any = {} if self._setting.model else {"summary_prompt": "{messages}"}
        return SummarizationMiddleware(
            self._model,
            trigger=("tokens", self._room),
            keep=("tokens", int(VERBATIM * self._room)),
            token_counter=self._tokens_of,
            **instructions,
        )


class Trimming(LangChainReplay):
    """A list of messages from which `trim_messages` shows the newest whole turns."""

    def _shown(self, question: Message | None) -> list[Message]:
        asked = [] if question is None else [question]
        trimmed = trim_messages(
            [*map(to_langchain, self._front), *self._messages],
            max_tokens=max(0, self._setting.max_tokens - self._tokens(asked)),
            token_counter=self._tokens_of,
            strategy="last",
            start_on="human",
            include_system=True,
        )
        return [*map(from_langchain, trimmed), *asked]


class Classic(LangChainReplay, ABC):
    """A chain with a classic memory, which receives each turn after the assistant's answer."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._turn: list[Message] = []

    def _add(self, message: Message) -> None:
        if message.role is not Role.ASSISTANT or message.tool_calls:
            self._turn.append(message)
            return
        said = "\n\n".join(part.text for part in self._turn if part.role is Role.USER)
        self._turn = []
        with _quiet():
            self._memory.save_context({"input": said}, {"output": message.text})

    def _shown(self, question: Message | None) -> list[Message]:
        history = self._memory.load_memory_variables({})["history"]
        past = [from_langchain(message) for message in history if message.content]
        return [*self._front, *past, *self._turn, *([] if question is None else [question])]

    @cached_property
    def _memory(self) -> BaseChatMemory:
        with _quiet():
            return self._made()

    @abstractmethod
    def _made(self) -> BaseChatMemory: ...

    @property
    def _writing(self) -> dict[str, Any]:
        given: dict[str, Any] = {"llm": self._model, "return_messages": True}
        return given if self._setting.model else given | {"prompt": PromptTemplate.from_template(_CONVERSATION)}


class SummaryBuffer(Classic):
    """`ConversationSummaryBufferMemory`: its limit covers the turns; the summary is extra."""

    def _made(self) -> BaseChatMemory:
        return ConversationSummaryBufferMemory(max_token_limit=int(VERBATIM * self._room), **self._writing)


class Summary(Classic):
    """`ConversationSummaryMemory`: rewrites its summary at every turn."""

    def _made(self) -> BaseChatMemory:
        return ConversationSummaryMemory(**self._writing)


class Window(Classic):
    """`ConversationBufferWindowMemory` with its default of five exchanges; it has no budget."""

    def _made(self) -> BaseChatMemory:
        return ConversationBufferWindowMemory(return_messages=True)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the deprecation warnings of classic memories, which are measured here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


_CONVERSATION = "{summary}\n{new_lines}"

REPLAYS: dict[str, Callable[[Setting], Replay]] = {
    "langchain-summarization": Summarizing,
    "langchain-trim": Trimming,
    "langchain-summary-buffer": SummaryBuffer,
    "langchain-summary": Summary,
    "langchain-buffer-window": Window,
}
"""The memories by the names of their methods."""


def replaying(name: str, setting: Setting) -> AbstractContextManager[Replay]:
    """An empty conversation with the memory of this name."""
    return nullcontext(REPLAYS[name](setting))
