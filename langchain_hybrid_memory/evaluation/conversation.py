"""A conversation that one of LangChain's memories holds within a budget."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage

from hybrid_memory.apps.evaluation.methods.method import Setting
from hybrid_memory.apps.evaluation.methods.own import SUMMARY, StandIn, StockReplay
from langchain_hybrid_memory.evaluation.writing import WritingModel
from langchain_hybrid_memory.messages import from_langchain


class Conversation(StockReplay):
    """With the tokens of LangChain's messages, and a model of LangChain's."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._known: dict[tuple[str, str], int] = {}

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
    def _writer(self) -> WritingModel:
        model = self._setting.model or StandIn(int(SUMMARY * self._room), self._count)
        return WritingModel(model, self._count)
