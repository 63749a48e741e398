"""What the stock memories of frameworks share when they are replayed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from hybrid_memory.apps.evaluation.methods.method import Fetched, Prompt, Setting
from hybrid_memory.context.context import Context
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.tokens import message_tokens

LEAST_ROOM = 0.25
"""Share of the budget that is left to a conversation however long the system messages before it are."""

SUMMARY = 0.3
"""Share of the room that the stand-in for a model may write."""

COUNTED = 10_000
"""Texts whose tokens are remembered: the memories count the same turns again and again."""


class StockReplay(ABC):
    """A conversation with a memory that has no way back; the system messages that it begins with stand in front."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._count = lru_cache(COUNTED)(setting.count)
        self._front: list[Message] = []
        self._begun = False

    def say(self, message: Message, /) -> None:
        """Add a message."""
        if message.role is Role.SYSTEM and not self._begun:
            self._front.append(message)
        else:
            self._begun = True
            self._add(message)

    def prompt(self, question: str | None = None, /) -> Prompt:
        """What the framework would send."""
        shown = self._shown(None if question is None else Message(role=Role.USER, content=question))
        tokens = self._tokens(shown)
        return Prompt(Context(tuple(shown), {}, tokens, tokens).as_dicts(), tokens)

    def reaches(self, prompt: Prompt, source: str, /) -> bool:
        """Never: what was left out is gone."""
        del prompt, source
        return False

    def fetch(self, question: str, prompt: Prompt, /) -> Iterator[Fetched]:
        """Nothing."""
        del question, prompt
        return iter(())

    @abstractmethod
    def _add(self, message: Message) -> None: ...

    @abstractmethod
    def _shown(self, question: Message | None) -> Sequence[Message]: ...

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(message_tokens(message, self._count) for message in messages)

    @cached_property
    def _room(self) -> int:
        """Tokens that the system messages in front leave."""
        budget = self._setting.max_tokens
        return max(budget - self._tokens(self._front), int(LEAST_ROOM * budget))
