"""One conversation with each of LangChain's memories."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_classic.memory import (
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
)
from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_core.messages import BaseMessage, trim_messages
from langchain_core.prompts import PromptTemplate
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from hybrid_memory import Message, Role
from hybrid_memory.apps.evaluation.methods.method import Replay, Setting
from langchain_hybrid_memory.evaluation.conversation import Conversation
from langchain_hybrid_memory.messages import from_langchain, to_langchain

VERBATIM = 0.5
"""Share of the room that turns keep word by word beside a summary; the rest is for the next turn."""


class Summarizing(Conversation):
    """The state of an agent with `SummarizationMiddleware`; its own settings but for those that depend on the budget.

    A question is asked of a copy of the state, which may have to be summarised for it.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._state: list[BaseMessage] = []

    def _add(self, message: Message) -> None:
        self._state.append(to_langchain(message))

    def _shown(self, question: Message | None) -> list[Message]:
        if question is None:
            self._state = state = self._before_model(self._state)
        else:
            state = self._before_model([*self._state, to_langchain(question)])
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
            self._writer,
            trigger=("tokens", self._room),
            keep=("tokens", int(VERBATIM * self._room)),
            token_counter=self._tokens_of,
            **instructions,
        )


class Trimming(Conversation):
    """A list of messages, of which `trim_messages` shows the newest whole turns."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._said: list[BaseMessage] = []

    def _add(self, message: Message) -> None:
        self._said.append(to_langchain(message))

    def _shown(self, question: Message | None) -> list[Message]:
        asked = [] if question is None else [question]
        trimmed = trim_messages(
            [*map(to_langchain, self._front), *self._said],
            max_tokens=max(0, self._setting.max_tokens - self._tokens(asked)),
            token_counter=self._tokens_of,
            strategy="last",
            start_on="human",
            include_system=True,
        )
        return [*map(from_langchain, trimmed), *asked]


class Classic(Conversation, ABC):
    """A chain with a classic memory, which is given each turn when the assistant has answered."""

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
        given: dict[str, Any] = {"llm": self._writer, "return_messages": True}
        return given if self._setting.model else given | {"prompt": PromptTemplate.from_template(_CONVERSATION)}


class SummaryBuffer(Classic):
    """`ConversationSummaryBufferMemory`: its limit is of the turns, the summary comes on top."""

    def _made(self) -> BaseChatMemory:
        return ConversationSummaryBufferMemory(max_token_limit=int(VERBATIM * self._room), **self._writing)


class Summary(Classic):
    """`ConversationSummaryMemory`: writes its summary anew at every turn."""

    def _made(self) -> BaseChatMemory:
        return ConversationSummaryMemory(**self._writing)


class Window(Classic):
    """`ConversationBufferWindowMemory` with its default of five exchanges: it knows no budget."""

    def _made(self) -> BaseChatMemory:
        return ConversationBufferWindowMemory(return_messages=True)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings that classic memories are deprecated: here they are what is measured."""
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
"""By the name of the method."""
