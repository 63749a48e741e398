"""Parse a model's answer: words for the user, and function calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hybrid_memory import ToolCall
from hybrid_memory.text.structured import Piece, cut_off, encodable, parse_object, pieces
from hybrid_memory_paging.functions import SEND

HEARTBEAT = "request_heartbeat"
"""The argument with which the model asks to be called again at once; every call may have it."""

THOUGHTS = "thoughts"

NAMES = ("function", "name", "tool", "function_name")
ARGUMENTS = ("arguments", "params", "parameters", "args", "input")

MAX_NAME_CHARS = 64
MAX_DEPTH = 40
"""Maximum nesting of arguments; functions need no more, and stores accept no more."""

_MARK = "[\"'“”‘’]"


def _key(*names: str) -> str:
    return rf"[{{,]\s*{_MARK}?(?:{'|'.join(names)}){_MARK}?\s*[:：]"


_NAMED = re.compile(rf"{_key(*NAMES)}\s*{_MARK}?([\w.-]{{1,{MAX_NAME_CHARS}}})({_MARK}|\Z)")
_ARGUED = re.compile(_key(*ARGUMENTS))
_FORMED = re.compile(_key("function", "function_name", "arguments", "tool_calls", HEARTBEAT, THOUGHTS))
"""Keys that hardly occur in anything but a call."""

_BEGUN = re.compile(rf"\{{\s*{_MARK}(?:\w*\Z|message{_MARK}\s*[:：])")
"""An incomplete key, or a message for the user."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer.

    Attributes:
        replies: the texts for the user.
        calls: calls of functions other than `send_message`, without ids; arguments that are not a JSON object are text.
        goes_on: whether the model asks to be called again.
    """

    replies: tuple[str, ...]
    calls: tuple[ToolCall, ...] = ()
    goes_on: bool = False


def read(text: str, functions: Collection[str] = ()) -> Answer:
    """The answer in a model's text.

    Calls are one or more JSON objects, in the form requested by `hybrid_memory_paging.instructions` or in OpenAI's.
    A call that was cut off or cannot be parsed is never completed by guessing: it keeps its words as the arguments, so
    that the model sees the error. Everything else is a reply, including a text with a fenced example of a call.

    Args:
        text: the model's text.
        functions: the names of the existing functions; an object that names one of them is always a call.
    """
    text = encodable(text)
    calls = [call for piece in pieces(text) for call in _read(piece, functions)]
    if not calls:
        return Answer(replies=(text.strip(),))
    sent = [_message(call) for call in calls if call.name == SEND.name]
    replies = tuple(message for message in sent if message)
    # A message that says nothing is left among the calls, to be answered with an error.
    kept = tuple(call for call in calls if call.name != SEND.name or not _message(call))
    return Answer(replies, kept, goes_on=any(_truthy(_argument(call, HEARTBEAT)) for call in calls))


def _read(piece: Piece, functions: Collection[str]) -> list[ToolCall]:
    """The calls in one piece of an answer; empty if it contains none."""
    result = piece.value
    if result is not None and _depth(result) <= MAX_DEPTH:
        return _calls(_storable(result), functions, quoted=piece.quoted)
    names = _NAMED.findall(piece.text)
    name = next((name for name, end in names if end and name in functions), "")
    cut = any(not end and known.startswith(name) for name, end in names for known in functions)
    whole = [name for name, end in names if end]
    if not name and not cut:
        formed = _FORMED.search(piece.text) or _BEGUN.match(piece.text) or (whole and _ARGUED.search(piece.text))
        if piece.quoted or not formed:
            return []
    return [ToolCall(name=name or next(iter(whole), "?"), arguments=piece.text.strip())]


def _depth(value: Any) -> int:
    """The nesting of lists and objects; `MAX_DEPTH` + 1 if it exceeds the maximum."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner = [item for one in level if isinstance(one, dict) for item in one.values()]
        level = inner + [item for one in level if isinstance(one, list) for item in one]
        depth += 1
    return depth


def _storable(value: Any) -> Any:
    """The value in a form that every store accepts."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {encodable(key): _storable(item) for key, item in value.items()}
    return value


def _name(written: str) -> str:
    """The name without characters that a name cannot have."""
    return "".join(char for char in written.strip() if char.isprintable())[:MAX_NAME_CHARS] or "?"


def _calls(result: Mapping[str, Any], functions: Collection[str], *, quoted: bool) -> list[ToolCall]:
    """The calls in one object; empty if it contains none."""
    several = next(
        (result[key] for key in ("calls", "tool_calls", "functions") if isinstance(result.get(key), list)), None
    )
    if several is not None:
        items = [item for item in several if isinstance(item, Mapping)]
        return [call for item in items for call in _calls(item, functions, quoted=quoted)]
    inner = result.get("function")
    if isinstance(inner, Mapping):
        beside = {key: result[key] for key in (THOUGHTS, HEARTBEAT) if key in result}
        return _calls({**inner, **beside}, functions, quoted=quoted)
    key = next((key for key in NAMES if isinstance(result.get(key), str) and result[key].strip()), None)
    if key is None:
        only = result.get("message")
        said = isinstance(only, str) and only.strip() and not quoted
        return [ToolCall(name=SEND.name, arguments=dict(result))] if said else []
    name = _name(result[key])
    # Much that is no call has a name.
    formed = key.startswith("function") or any(other in result for other in (*ARGUMENTS, HEARTBEAT))
    return [ToolCall(name=name, arguments=_arguments(result))] if name in functions or (formed and not quoted) else []


def _arguments(result: Mapping[str, Any]) -> dict[str, Any] | str:
    given = next((result[key] for key in ARGUMENTS if key in result), None)
    if isinstance(given, str):
        read_on = parse_object(given) if given.strip() else {}
        read_on = None if cut_off(given) else read_on
        if read_on is None or _depth(read_on) > MAX_DEPTH:
            return given
        given = _storable(read_on)
    if not isinstance(given, Mapping | None):
        return str(given)
    beside = {key: result[key] for key in (HEARTBEAT, THOUGHTS) if key in result}
    others = set(result) - {*NAMES, *ARGUMENTS, HEARTBEAT, THOUGHTS, "id", "type"}
    # Small models write the arguments beside the name.
    own = {key: result[key] for key in result if key in others} if given is None else dict(given)
    return {**own, **beside}


def _argument(call: ToolCall, name: str) -> Any:
    return call.arguments.get(name) if isinstance(call.arguments, dict) else None


def _message(call: ToolCall) -> str:
    message = _argument(call, "message")
    return message.strip() if isinstance(message, str) else ""


def _truthy(value: Any) -> bool:
    return value.strip().lower() in ("true", "yes", "1") if isinstance(value, str) else bool(value)
