"""Which of a chain's inputs and outputs are turns of the conversation, and how turns look as text."""

from __future__ import annotations

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
"""Which of several inputs is the user's turn, first one first, unless ``input_key`` says so."""

OUTPUT_KEYS = ("output", "answer", "text", "response", "result")
"""Which of several outputs is the answer, first one first, unless ``output_key`` says so."""


def pick(side: str, values: Mapping[str, Any], key: str | None, usual: Sequence[str]) -> Any:
    """The value meant: under the key, else the only one, else under the first usual name, else the only text.

    Args:
        side: what is looked for, ``input`` or ``output``.
        values: by name.
        key: the name, if it is known.
        usual: names to look for, first one first.

    Raises:
        InvalidInputError: it is not clear which one.
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
    raise InvalidInputError(f"which {side} is the turn? {sorted(values)} has none of {list(wanted)}: set {side}_key")


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
    """Whether it is what a message may hold, as the answer of an agent is with some providers."""
    blocks = value if isinstance(value, list) else []
    return bool(blocks) and all(
        isinstance(block, str) or (isinstance(block, dict) and "type" in block) for block in blocks
    )


def last_words(messages: Sequence[BaseMessage]) -> str:
    """What the user said last; of messages without one of the user's, the last."""
    asked = [message for message in messages if isinstance(message, HumanMessage)] or messages
    return str(asked[-1].text).strip() if asked else ""


def says_something(message: BaseMessage) -> bool:
    """Whether it has words, calls or a result; providers refuse a conversation with an empty message in it."""
    words = message.content.strip() if isinstance(message.content, str) else message.content
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return bool(words or calls or message.additional_kwargs) or isinstance(message, ToolMessage | FunctionMessage)


def as_lines(messages: Sequence[BaseMessage], *, human_prefix: str, ai_prefix: str) -> str:
    """The messages as text, each behind its speaker; a tool call is its name and the arguments as JSON."""
    return get_buffer_string([_readable(message) for message in messages], human_prefix, ai_prefix)


def _readable(message: BaseMessage) -> BaseMessage:
    if isinstance(message, AIMessage) and message.tool_calls:
        return AIMessage(from_langchain(message).text)
    return message
