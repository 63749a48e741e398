"""The tool steps of an `AgentExecutor` as messages, so that they are remembered like any other turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from langchain_core.agents import AgentAction
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ToolCall,
    ToolMessage,
    message_chunk_to_message,
)

from langchain_hybrid_memory.payload import json_form

STEPS = "intermediate_steps"
"""The output of an executor that returns its steps."""

_NO_TOOL = "_Exception"
"""What the executor notes as the tool where it could not read the model's answer."""


def step_messages(steps: Any, asked: str) -> list[BaseMessage]:
    """The messages of the model, each with its tool calls, and the results behind it, paired by ``tool_call_id``.

    Parallel calls of one message stay one message. A call without an id gets one that follows from the words of the
    user and the step. An observation that is no text stands there as JSON.

    Args:
        steps: pairs of an action and its observation; what is none, as other chains have it there, is left out.
        asked: the words of the user.
    """
    rounds: list[_Round] = []
    for row, (action, observation) in enumerate(step for step in _listed(steps) if step[0].tool != _NO_TOOL):
        result = observation if isinstance(observation, str) else _written("observation", observation)
        told = [asked, row, action.tool, json_form("tool_input", action.tool_input), result]
        fresh_id = f"step-{sha256(json.dumps(told).encode()).hexdigest()[:24]}"
        said = _said(action)
        if not (rounds and rounds[-1].said == said and rounds[-1].answer(action, result, fresh_id)):
            rounds.append(_Round(said))
            if not rounds[-1].answer(action, result, fresh_id):
                rounds[-1].add(action, result, fresh_id)
    return [message for each in rounds for message in each.messages()]


class _Round:
    """One message of the model, and the results of its calls."""

    def __init__(self, said: AIMessage) -> None:
        self.said = said
        self._waiting = list(said.tool_calls)
        self._calls: list[ToolCall] = []
        self._results: list[BaseMessage] = []

    def answer(self, action: AgentAction, result: str, fresh_id: str) -> bool:
        """Put the result to the call that the action came from; False if no such call waits for one."""
        known = getattr(action, "tool_call_id", None)
        asked_for = [call for call in self._waiting if (call["id"] == known if known else call["name"] == action.tool)]
        exact = [call for call in asked_for if call["args"] == action.tool_input]
        for call in (exact or asked_for)[:1]:
            self._waiting.remove(call)
            self._keep(call, result, fresh_id)
        return bool(asked_for)

    def add(self, action: AgentAction, result: str, fresh_id: str) -> None:
        """A call that the message has not, or not as a tool call."""
        given = action.tool_input if isinstance(action.tool_input, dict) else {"input": action.tool_input}
        known = getattr(action, "tool_call_id", None)
        self._keep(ToolCall(name=action.tool, args=json_form("tool_input", given), id=known), result, fresh_id)

    def _keep(self, call: ToolCall, result: str, fresh_id: str) -> None:
        id_ = call["id"] or fresh_id
        self._calls.append(ToolCall(name=call["name"], args=call["args"], id=id_, type="tool_call"))
        self._results.append(ToolMessage(result, tool_call_id=id_, name=call["name"]))

    def messages(self) -> list[BaseMessage]:
        """The message with the calls that have a result, then the results."""
        said = self.said
        if self._calls != said.tool_calls or said.invalid_tool_calls:
            # The raw calls would contradict those that are kept.
            raw = {key: value for key, value in said.additional_kwargs.items() if key not in _RAW_CALLS}
            kept = {"tool_calls": self._calls, "invalid_tool_calls": [], "additional_kwargs": raw}
            said = said.model_copy(update=kept)
        return [said, *self._results]


_RAW_CALLS = frozenset(("tool_calls", "function_call"))


def _listed(steps: Any) -> list[Sequence[Any]]:
    items = steps if isinstance(steps, Sequence) else ()
    return [
        item
        for item in items
        if isinstance(item, Sequence) and len(item) == 2 and isinstance(item[0], AgentAction)  # noqa: PLR2004 - a pair
    ]


def _said(action: AgentAction) -> AIMessage:
    """The message that the action was read from; without one, what the agent logged as the model's words."""
    for message in reversed(getattr(action, "message_log", ())):
        if isinstance(message, AIMessageChunk):
            message = message_chunk_to_message(message)  # noqa: PLW2901 - the same message in its other form
        if isinstance(message, AIMessage):
            return message
    return AIMessage(action.log.strip())


def _written(label: str, value: Any) -> str:
    return json.dumps(json_form(label, value), ensure_ascii=False)
