"""Parse a model's answer: words for the user, and function calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hybrid_memory import ToolCall
from hybrid_memory.text.structured import Piece, cut_off, encodable, parse_object, pieces
from hybrid_memory_paging.functions import HEARTBEAT, SEND, THOUGHTS

NAMES = ("function", "name", "tool", "function_name")
ARGUMENTS = ("arguments", "params", "parameters", "args", "input")
SEVERAL = ("calls", "tool_calls", "functions")

MAX_NAME_CHARS = 64
MAX_DEPTH = 40
"""Maximum nesting of arguments; functions need no more, and stores accept no more."""

_MARK = "[\"'“”‘’]"
_KEY = rf"{_MARK}?\b(?:function|function_name|tool_calls|{HEARTBEAT}|{THOUGHTS}|arguments){_MARK}?\s*[:：]"
_BEGUN = re.compile(rf"\{{\s*{_MARK}(?:\w*\Z|message{_MARK}\s*[:：])|[{{,]\s*{_KEY}")
"""What hardly occurs in anything but a call or a message for the user: one of their keys, or a key without an end."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer.

    Attributes:
        replies: the texts for the user.
        calls: calls of functions other than `send_message`, without ids; arguments that are not a JSON object are text.
        goes_on: whether the model asks to be called again.
    """

    replies: tuple[str, ...]
    calls: tuple[ToolCall, ...] = ()
    goes_on: bool = False


def read(text: str, functions: Collection[str] = ()) -> ModelAnswer:
    """The answer in a model's text.

    Calls are one or more JSON objects, in the form requested by `hybrid_memory_paging.instructions` or in OpenAI's.
    A call that was cut off or cannot be parsed is never completed by guessing: it keeps its words as the arguments, so
    that the model sees the error. Everything else is a reply, including a text with a fenced example of a call.

    Args:
        text: the model's text.
        functions: the names of the existing functions; an object that names one of them is always a call.
    """
    text = encodable(text)
    calls = [call for piece in pieces(text) for call in _calls_in(piece, functions)]
    if not calls:
        return ModelAnswer(replies=(text.strip(),))
    replies = tuple(message for call in calls if (message := _message(call)))
    # A message that says nothing is left among the calls, to be answered with an error.
    kept = tuple(call for call in calls if not _message(call))
    return ModelAnswer(replies, kept, goes_on=any(map(_asks_again, calls)))


def _message(call: ToolCall) -> str:
    """The words for the user in a call of `send_message`."""
    message = call.arguments.get("message") if isinstance(call.arguments, dict) else None
    return message.strip() if call.name == SEND.name and isinstance(message, str) else ""


def _asks_again(call: ToolCall) -> bool:
    value = call.arguments.get(HEARTBEAT) if isinstance(call.arguments, dict) else None
    return value.strip().lower() in ("true", "yes", "1") if isinstance(value, str) else bool(value)


def _calls_in(piece: Piece, functions: Collection[str]) -> list[ToolCall]:
    """The calls in one piece of an answer; empty if it contains none."""
    if piece.value is not None:
        try:
            return _calls(_storable(piece.value), functions, quoted=piece.quoted)
        except ValueError:  # nested too deeply
            pass
    name = next((name for name in functions if re.search(rf"{_MARK}?\b{name}\b{_MARK}", piece.text)), "?")
    if name == "?" and (piece.quoted or not _BEGUN.search(piece.text)):
        return []
    return [ToolCall(name=name, arguments=piece.text.strip())]


def _storable(value: Any, depth: int = 0) -> Any:
    """The value in a form that every store accepts; raises `ValueError` if it is nested too deeply."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, list):
        return [_storable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {encodable(key): _storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, str):
        return encodable(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def _calls(written: Mapping[str, Any], functions: Collection[str], *, quoted: bool) -> list[ToolCall]:
    """The calls in one object; empty if it contains none."""
    several = next((written[key] for key in SEVERAL if isinstance(written.get(key), list)), None)
    if several is not None:
        items = [item for item in several if isinstance(item, Mapping)]
        return [call for item in items for call in _calls(item, functions, quoted=quoted)]
    inner = written.get("function")
    if isinstance(inner, Mapping):
        extra = {key: written[key] for key in (THOUGHTS, HEARTBEAT) if key in written}
        return _calls({**inner, **extra}, functions, quoted=quoted)
    key = next((key for key in NAMES if isinstance(written.get(key), str) and written[key].strip()), None)
    if key is None:
        message = written.get("message")
        is_message = isinstance(message, str) and message.strip() and not quoted
        return [ToolCall(name=SEND.name, arguments=dict(written))] if is_message else []
    name = "".join(char for char in written[key].strip() if char.isprintable())[:MAX_NAME_CHARS] or "?"
    # Much that is no call has a name.
    formed = key.startswith("function") or any(other in written for other in (*ARGUMENTS, HEARTBEAT))
    if name not in functions and (quoted or not formed):
        return []
    return [ToolCall(name=name, arguments=_arguments(written))]


def _arguments(written: Mapping[str, Any]) -> dict[str, Any] | str:
    given = next((written[key] for key in ARGUMENTS if key in written), None)
    if isinstance(given, str):  # as OpenAI has them
        parsed = parse_object(given) if given.strip() and not cut_off(given) else None if given.strip() else {}
        try:
            given = given if parsed is None else _storable(parsed)
        except ValueError:
            return str(given)
    if given is None:  # small models write the arguments beside the name
        given = {key: written[key] for key in written if key not in (*NAMES, *ARGUMENTS, "id", "type")}
    if not isinstance(given, Mapping):
        return str(given)
    return {**given, **{key: written[key] for key in (HEARTBEAT, THOUGHTS) if key in written}}
