"""A conversation that one of LangChain's memories holds within a budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

from langchain_core.messages import BaseMessage

from hybrid_memory.evaluation.methods.method import Fetched, Prompt, Setting
from hybrid_memory.evaluation.methods.stand_in import StandIn
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory.types import Context, Message, Role
from langchain_hybrid_memory.evaluation.writing import WritingModel
from langchain_hybrid_memory.messages import from_langchain

LEAST_ROOM = 0.25
"""Share of the budget that is left to a conversation however long the system messages before it are."""

SUMMARY = 0.3
"""Share of the room that the stand-in for a model may write."""

COUNTED = 10_000
"""Texts whose tokens are remembered: the memories count the same turns again and again."""


class Conversation(ABC):
    """What all of them share: the system messages in front, and no way back."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._count = lru_cache(COUNTED)(setting.count)
        self._front: list[Message] = []
        self._begun = False
        self._known: dict[tuple[str, str], int] = {}

    def say(self, message: Message) -> None:
        """Add a message."""
        if message.role is Role.SYSTEM and not self._begun:
            self._front.append(message)
        else:
            self._begun = True
            self._add(message)

    def prompt(self, question: str | None = None) -> Prompt:
        """What LangChain would send."""
        shown = self._shown(None if question is None else Message(role=Role.USER, content=question))
        tokens = self._tokens(shown)
        return Prompt(Context(tuple(shown), {}, tokens, tokens).as_dicts(), tokens)

    def reaches(self, prompt: Prompt, source: str) -> bool:
        """Never: what was left out is gone."""
        del prompt, source
        return False

    def fetch(self, question: str, prompt: Prompt) -> Iterator[Fetched]:
        """Nothing."""
        del question, prompt
        return iter(())

    @abstractmethod
    def _add(self, message: Message) -> None: ...

    @abstractmethod
    def _shown(self, question: Message | None) -> list[Message]: ...

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(message_tokens(message, self._count) for message in messages)

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
    def _room(self) -> int:
        """Tokens that the system messages in front leave."""
        budget = self._setting.max_tokens
        return max(budget - self._tokens(self._front), int(LEAST_ROOM * budget))

    @cached_property
    def _writer(self) -> WritingModel:
        model = self._setting.model or StandIn(int(SUMMARY * self._room), self._count)
        return WritingModel(model, self._count)
