"""`ConversationChain`: a classic memory for each thread."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_classic.chains import ConversationChain
from langchain_classic.memory import ConversationBufferMemory, ConversationSummaryBufferMemory
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder

from benchmarks.acting.models import ScriptedChat, Summariser
from benchmarks.acting.prompts import count_tokens
from benchmarks.acting.surroundings import USER, Surroundings
from benchmarks.acting.tasks import Say
from langchain_hybrid_memory import HybridChatMemory


class ChainConversations:
    """Of `ConversationChain`, with its own prompt or one of messages."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._chains: dict[str, Any] = {}

    def say(self, step: Say) -> str:
        """The answer."""
        with _quiet():
            if step.thread not in self._chains:
                self._chains[step.thread] = self._made(step.thread)
            return str(self._chains[step.thread].invoke({"input": step.text})["response"])

    def close(self) -> None:
        """Nothing to let go of."""

    def _made(self, thread: str) -> Any:
        task = self._around.task
        own: dict[str, Any] = {}
        if not task.transcript:
            shown: list[Any] = [("system", task.identity), MessagesPlaceholder("history"), ("human", "{input}")]
            own["prompt"] = ChatPromptTemplate.from_messages(shown)
        model = ScriptedChat(watched=self._around.watched)
        return ConversationChain(llm=model, memory=self._memory(thread, return_messages=not task.transcript), **own)

    def _memory(self, thread: str, *, return_messages: bool) -> Any:
        task = self._around.task
        budget: dict[str, Any] = {}
        match self._around.system:
            case "ours":
                if task.max_tokens is not None:
                    budget["max_tokens"] = task.max_tokens
                return HybridChatMemory(
                    memory=self._around.memory, user=USER, session=thread, return_messages=return_messages, **budget
                )
            case "stock":
                writer = Summariser(
                    sentences=self._around.summarising.sentences,
                    custom_get_token_ids=lambda text: list(range(count_tokens(text))),
                )
                if task.max_tokens is not None:
                    budget["max_token_limit"] = task.max_tokens
                return ConversationSummaryBufferMemory(llm=writer, return_messages=return_messages, **budget)
        return ConversationBufferMemory(return_messages=return_messages)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings that chains and classic memories are deprecated: here they are what is run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
