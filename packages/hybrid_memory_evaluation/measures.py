"""The cost and validity of prompts."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory import Message
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokens import TokenCounter, message_tokens
from hybrid_memory_evaluation.methods.method import Prompt


class Metered:
    """A language model whose calls are counted.

    Attributes:
        calls, sent, written: the number of calls, and the tokens of their messages and answers.
    """

    def __init__(self, model: LanguageModel, count: TokenCounter) -> None:
        self.name = model.name
        self.calls = 0
        self.sent = 0
        self.written = 0
        self._model = model
        self._count = count

    def complete(self, messages: Sequence[Message]) -> str:
        """See `LanguageModel.complete`."""
        self._count_call(messages)
        answer = self._model.complete(messages)
        self.written += self._count(answer)
        return answer

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """See `LanguageModel.structured`."""
        self._count_call(messages)
        answer = self._model.structured(messages, schema)
        self.sent += self._count(json.dumps(schema, ensure_ascii=False))
        self.written += self._count(json.dumps(answer, ensure_ascii=False))
        return answer

    def _count_call(self, messages: Sequence[Message]) -> None:
        self.calls += 1
        self.sent += sum(message_tokens(message, self._count) for message in messages)


@dataclass(slots=True)
class Prompts:
    """The prompts during a conversation, one for each call of the model.

    Attributes:
        tokens: the size of each; reused: how many tokens each, except the first, shares with the beginning of the one
            before.
        seconds: the time of each, including storing the messages before it.
        over: how many exceed the budget; invalid: how many a provider would refuse.
    """

    budget: int
    count: TokenCounter
    tokens: list[int] = field(default_factory=list)
    reused: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    over: int = 0
    invalid: list[str] = field(default_factory=list)
    _last: str | None = None

    def add(self, prompt: Prompt, seconds: float) -> None:
        """Add a prompt."""
        text = prompt.text
        if self._last is not None:
            common = next((row for row, (a, b) in enumerate(zip(self._last, text, strict=False)) if a != b), None)
            same = text[: min(len(text), len(self._last)) if common is None else common]
            self.reused.append(min(self.count(same), prompt.tokens))
            self.before.append(max(1, self.tokens[-1]))
        self._last = text
        self.tokens.append(prompt.tokens)
        self.seconds.append(seconds)
        self.over += prompt.tokens > self.budget
        self.invalid += faults(prompt.messages)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON."""
        shares = [min(1.0, same / before) for same, before in zip(self.reused, self.before, strict=True)]
        return {
            "prompts": len(self.tokens),
            "tokens": sum(self.tokens),
            "largest": max(self.tokens, default=0),
            "reused": sum(self.reused),
            "reuse": statistics.fmean(shares) if shares else None,
            "seconds": self.seconds,
            "over": self.over,
            "invalid": len(self.invalid),
            "faults": sorted(set(self.invalid)),
        }


def faults(prompt: Sequence[Mapping[str, Any]]) -> list[str]:
    """At most one reason why a provider would refuse a prompt in OpenAI's format.

    Every result must answer a call of the assistant message before it, every call must have exactly one result before
    the next message, and the conversation must start with the user and end with the user or with results.
    """
    waiting: list[str] = []
    spoken = [message for message in prompt if message["role"] != "system"]
    for message in prompt:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return ["a result without its call"]
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return ["a call without its result"]
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if waiting and message["role"] != "assistant":
            return [f"calls by the {message['role']}"]
    if waiting:
        return ["a call without its result"]
    if not spoken or spoken[0]["role"] != "user":
        return ["the first message is not the user's"]
    return [] if spoken[-1]["role"] in ("user", "tool") else ["nothing to answer"]
