"""Find the turns of a conversation among a chain's inputs and outputs, and format turns as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
    get_buffer_string,
)

from hybrid_memory.errors import InvalidInputError
from langchain_hybrid_memory.messages import from_langchain

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
