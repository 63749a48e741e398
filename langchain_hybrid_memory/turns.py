"""Find the turns of a conversation among a chain's inputs, outputs and tool steps, and format turns as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from langchain_core.agents import AgentAction
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
    get_buffer_string,
    message_chunk_to_message,
)

from hybrid_memory.errors import InvalidInputError
from langchain_hybrid_memory.messages import from_langchain, json_form

INPUT_KEYS = ("input", "question", "query", "human_input")
"""Inputs that may be the user's turn, in order of preference, if there is no ``input_key``."""

OUTPUT_KEYS = ("output", "answer", "text", "response", "result")
"""Outputs that may be the answer, in order of preference, if there is no ``output_key``."""


def pick(side: str, values: Mapping[str, Any], key: str | None, usual: Sequence[str]) -> Any:
    """The value of the key; without a key that of the first usual name, or the only value, or the only text.

    Raises `InvalidInputError` if it is ambiguous which ``input`` or ``output`` is meant.
    """
    wanted = usual if key is None else (key,)
    for name in wanted:
        if name in values:
            return values[name]
    if key is None:
        texts = [value for value in values.values() if isinstance(value, str | BaseMessage)]
        for left in (list(values.values()), texts):
            if len(left) == 1:
                return left[0]
    raise InvalidInputError(f"which {side} is the turn's? {sorted(values)} has none of {list(wanted)}: set {side}_key")


def as_messages(side: str, value: Any, speaker: type[HumanMessage | AIMessage]) -> list[BaseMessage]:
    """The value as messages, text as the speaker's; raises `InvalidInputError` if it is neither text nor messages."""
    if isinstance(value, str) or _is_content(value):
        return [speaker(content=value)]
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(message, BaseMessage) for message in value):
        return list(value)
    raise InvalidInputError(f"the {side} must be text, a message or a list of messages, got {type(value).__name__}")


def _is_content(value: Any) -> bool:
    """Whether the value is the content of a message, as some providers return an agent's answer."""
    blocks = value if isinstance(value, list) else []
    return bool(blocks) and all(
        isinstance(block, str) or (isinstance(block, dict) and "type" in block) for block in blocks
    )


def last_words(messages: Sequence[BaseMessage]) -> str:
    """The words of the last user message, or of the last message if there is none."""
    asked = [message for message in messages if isinstance(message, HumanMessage)] or messages
    return str(asked[-1].text).strip() if asked else ""


def says_something(message: BaseMessage) -> bool:
    """Whether the message has words, calls or a result; providers refuse conversations with empty messages."""
    words = message.content.strip() if isinstance(message.content, str) else message.content
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return bool(words or calls or message.additional_kwargs) or isinstance(message, ToolMessage | FunctionMessage)


def as_lines(messages: Sequence[BaseMessage], *, human_prefix: str, ai_prefix: str) -> str:
    """The messages as text, each after its speaker; a tool call is its name and its arguments as JSON.

    A line in a message that looks like a speaker gets the prefix ``> ``, so that it cannot pass for another message.
    """
    names = "|".join(map(re.escape, (human_prefix, ai_prefix, *_SPEAKERS)))
    speaker = re.compile(rf"(?<=\n)(?=[ \t]*(?:{names})[ \t]*:)", re.IGNORECASE)
    return get_buffer_string([_readable(message, speaker) for message in messages], human_prefix, ai_prefix)


_SPEAKERS = ("Human", "AI", "System", "Tool", "Function")
"""The names that LangChain uses."""


def _readable(message: BaseMessage, speaker: re.Pattern[str]) -> BaseMessage:
    if isinstance(message, AIMessage) and message.tool_calls:
        message = AIMessage(from_langchain(message).text)
    text = speaker.sub("> ", message.text)
    return message if text == message.text else message.model_copy(update={"content": text})


STEPS = "intermediate_steps"
"""The output of an executor that returns its steps."""

_NO_TOOL = "_Exception"
"""The tool name that the executor records if it could not parse the model's answer."""


def step_messages(steps: Any, asked: str) -> list[BaseMessage]:
    """The model's messages with their tool calls, each followed by the results, paired by ``tool_call_id``.

    Parallel calls of one message stay one message. A call without an id gets one derived from the user's words and the
    step. An observation that is not text becomes JSON. Anything but a pair of action and observation is skipped, since
    other chains store other things there.
    """
    rounds: list[_Round] = []
    for row, (action, observation) in enumerate(step for step in _listed(steps) if step[0].tool != _NO_TOOL):
        result = observation
        if not isinstance(observation, str):
            result = json.dumps(json_form("observation", observation), ensure_ascii=False)
        parts = [asked, row, action.tool, json_form("tool_input", action.tool_input), result]
        fresh_id = f"step-{sha256(json.dumps(parts).encode()).hexdigest()[:24]}"
        said = _message_of(action)
        if not (rounds and rounds[-1].message == said and rounds[-1].answer(action, result, fresh_id)):
            rounds.append(_Round(said))
            if not rounds[-1].answer(action, result, fresh_id):
                rounds[-1].add(action, result, fresh_id)
    return [message for each in rounds for message in each.messages()]


class _Round:
    """One message of the model, and the results of its calls."""

    def __init__(self, message: AIMessage) -> None:
        self.message = message
        self._waiting = list(message.tool_calls)
        self._calls: list[ToolCall] = []
        self._results: list[BaseMessage] = []

    def answer(self, action: AgentAction, result: str, fresh_id: str) -> bool:
        """Add the result of the call that the action came from; False if no such call awaits a result."""
        known = getattr(action, "tool_call_id", None)
        asked_for = [call for call in self._waiting if (call["id"] == known if known else call["name"] == action.tool)]
        exact = [call for call in asked_for if call["args"] == action.tool_input]
        for call in (exact or asked_for)[:1]:
            self._waiting.remove(call)
            self._keep(call, result, fresh_id)
        return bool(asked_for)

    def add(self, action: AgentAction, result: str, fresh_id: str) -> None:
        """Add a call that the message lacks, or does not have as a tool call."""
        given = action.tool_input if isinstance(action.tool_input, dict) else {"input": action.tool_input}
        known = getattr(action, "tool_call_id", None)
        self._keep(ToolCall(name=action.tool, args=json_form("tool_input", given), id=known), result, fresh_id)

    def _keep(self, call: ToolCall, result: str, fresh_id: str) -> None:
        id_ = call["id"] or fresh_id
        self._calls.append(ToolCall(name=call["name"], args=call["args"], id=id_, type="tool_call"))
        self._results.append(ToolMessage(result, tool_call_id=id_, name=call["name"]))

    def messages(self) -> list[BaseMessage]:
        """The message with its answered calls, then the results."""
        said = self.message
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


def _message_of(action: AgentAction) -> AIMessage:
    """The message that the action was parsed from, or else the model's words as the agent logged them."""
    for message in reversed(getattr(action, "message_log", ())):
        if isinstance(message, AIMessageChunk):
            message = message_chunk_to_message(message)  # noqa: PLW2901 - the same message in its other form
        if isinstance(message, AIMessage):
            return message
    return AIMessage(action.log.strip())
