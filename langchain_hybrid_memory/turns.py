"""Which of a chain's inputs and outputs are turns of the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage

from hybrid_memory.errors import InvalidInputError

INPUT_KEYS = ("input", "question", "query", "human_input")
"""Which of several inputs is the user's turn, first one first, unless ``input_key`` says so."""

OUTPUT_KEYS = ("output", "answer", "text", "response", "result")
"""Which of several outputs is the answer, first one first, unless ``output_key`` says so."""


def pick(side: str, values: Mapping[str, Any], key: str | None, usual: Sequence[str]) -> Any:
    """The value meant: under the key, else the only one, else under the first usual name.

    Args:
        side: what is looked for, ``input`` or ``output``.
        values: by name.
        key: the name, if it is known.
        usual: names to look for, first one first.

    Raises:
        InvalidInputError: it is not clear which one.
    """
    if key is None and len(values) == 1:
        return next(iter(values.values()))
    wanted = usual if key is None else (key,)
    for name in wanted:
        if name in values:
            return values[name]
    raise InvalidInputError(f"which {side} is the turn? {sorted(values)} has none of {list(wanted)}: set {side}_key")


def as_messages(side: str, value: Any, speaker: type[HumanMessage | AIMessage]) -> list[BaseMessage]:
    """The value as messages, text as the speaker's; raises `InvalidInputError` if it is neither text nor messages."""
    if isinstance(value, str):
        return [speaker(content=value)]
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, Sequence) and all(isinstance(message, BaseMessage) for message in value):
        return list(value)
    raise InvalidInputError(f"the {side} must be text, a message or a list of messages, got {type(value).__name__}")


def says_something(message: BaseMessage) -> bool:
    """Whether it has words, calls or a result; providers refuse a conversation with an empty message in it."""
    words = message.content.strip() if isinstance(message.content, str) else message.content
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return bool(words or calls or message.additional_kwargs) or isinstance(message, ToolMessage | FunctionMessage)
