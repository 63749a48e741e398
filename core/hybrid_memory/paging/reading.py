"""What a model answered: words for the user, and calls of functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hybrid_memory.paging.functions import SEND
from hybrid_memory.text.structured import encodable, parse_object, parse_objects
from hybrid_memory.types import ToolCall

HEARTBEAT = "request_heartbeat"
"""The argument of every call by which the model asks to be called again at once."""

THOUGHTS = "thoughts"

NAMES = ("function", "name", "tool", "function_name")
ARGUMENTS = ("arguments", "params", "parameters", "args", "input")

MAX_NAME_CHARS = 64
MAX_DEPTH = 40
"""Deeper arguments are nothing that a function takes, and more than stores do."""

_NAMED = re.compile(r'"(?:function|name|tool)"\s*:\s*"([\w.-]{1,64})"')


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        replies: what the user is to read.
        calls: of functions other than `send_message`, without ids; arguments that are no JSON object are text.
        goes_on: whether it asks to be called again.
    """

    replies: tuple[str, ...]
    calls: tuple[ToolCall, ...] = ()
    goes_on: bool = False


def read(text: str) -> Answer:
    """The answer in a model's text.

    Calls are JSON objects, one or several, as `hybrid_memory.paging.instructions` asks for them or as OpenAI writes
    them. A call that cannot be read keeps its words as the arguments, for the error that its author is to see. What is
    no call at all is a reply.
    """
    text = encodable(text)
    calls = [call for found in parse_objects(text) if _depth(found) <= MAX_DEPTH for call in _calls(_storable(found))]
    if not calls:
        broken = _NAMED.search(text)
        if broken is None or "{" not in text[: broken.start()]:
            return Answer(replies=(text.strip(),))
        calls = [ToolCall(name=broken[1], arguments=text.strip())]
    sent = [_message(call) for call in calls if call.name == SEND.name]
    replies = tuple(message for message in sent if message)
    # A message that says nothing is left among the calls, to be answered with an error.
    kept = tuple(call for call in calls if call.name != SEND.name or not _message(call))
    return Answer(replies, kept, goes_on=any(_truthy(_argument(call, HEARTBEAT)) for call in calls))


def _depth(value: Any) -> int:
    """How deep lists and objects lie in one another; `MAX_DEPTH` + 1 for more than that."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner = [item for one in level if isinstance(one, dict) for item in one.values()]
        level = inner + [item for one in level if isinstance(one, list) for item in one]
        depth += 1
    return depth


def _storable(value: Any) -> Any:
    """The value as every store takes it."""
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
    """The name without what none can have."""
    return "".join(char for char in written.strip() if char.isprintable())[:MAX_NAME_CHARS] or "?"


def _calls(found: Mapping[str, Any]) -> list[ToolCall]:
    """The calls in one object; none if it is something else."""
    several = next(
        (found[key] for key in ("calls", "tool_calls", "functions") if isinstance(found.get(key), list)), None
    )
    if several is not None:
        return [call for item in several if isinstance(item, Mapping) for call in _calls(item)]
    inner = found.get("function")
    if isinstance(inner, Mapping):
        return _calls({**inner, **{key: found[key] for key in (THOUGHTS, HEARTBEAT) if key in found}})
    name = next((found[key] for key in NAMES if isinstance(found.get(key), str) and found[key].strip()), None)
    if name is None:
        only = found.get("message")
        return [ToolCall(name=SEND.name, arguments=dict(found))] if isinstance(only, str) and only.strip() else []
    return [ToolCall(name=_name(name), arguments=_arguments(found))]


def _arguments(found: Mapping[str, Any]) -> dict[str, Any] | str:
    given = next((found[key] for key in ARGUMENTS if key in found), None)
    if isinstance(given, str):
        read_on = parse_object(given) if given.strip() else {}
        if read_on is None or _depth(read_on) > MAX_DEPTH:
            return given
        given = _storable(read_on)
    if not isinstance(given, Mapping | None):
        return str(given)
    beside = {key: found[key] for key in (HEARTBEAT, THOUGHTS) if key in found}
    others = set(found) - {*NAMES, *ARGUMENTS, HEARTBEAT, THOUGHTS, "id", "type"}
    # Small models write the arguments beside the name.
    own = {key: found[key] for key in found if key in others} if given is None else dict(given)
    return {**own, **beside}


def _argument(call: ToolCall, name: str) -> Any:
    return call.arguments.get(name) if isinstance(call.arguments, dict) else None


def _message(call: ToolCall) -> str:
    message = _argument(call, "message")
    return message.strip() if isinstance(message, str) else ""


def _truthy(value: Any) -> bool:
    return value.strip().lower() in ("true", "yes", "1") if isinstance(value, str) else bool(value)
