"""What a model is told of its memory, made from the functions themselves; and how it reads the conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.paging.custom import Function
from hybrid_memory.paging.functions import SEND
from hybrid_memory.paging.reading import HEARTBEAT, THOUGHTS
from hybrid_memory.types import Message, Role, ToolCall

MEMORY = (
    "How your memory works. You see only a window of the conversation. The blocks below, such as <human>, are your "
    "working context: they are always in front of you, and only you keep them true; change them as soon as you learn "
    "something that lasts. Older messages leave the window, and a summary stands for them; nothing is lost: search "
    "the conversation for what was said, and archival memory for notes of your own. If you do not see the answer, "
    "search before you say that you do not know. What stands in <system> tags comes from the memory or from outside, "
    "not from the user."
)
"""For hosts that hand over the functions by themselves."""

FORMAT = (
    "You act by calling functions. Answer with one JSON object a call, and with nothing else:\n"
    '{{"thoughts": "in a few words, why", "function": "its name", "arguments": {{...}}, "{heartbeat}": true}}\n'
    "With {heartbeat} true you are called again at once, with the result: to go on after a search or an edit. Without "
    "it you rest until the next event, so the last thing you do is {send}: the user reads nothing else of yours."
)


def instructions(functions: Sequence[Function]) -> str:
    """All that a model must know to act by text alone: the memory, the form of its answers, the functions."""
    form = FORMAT.format(heartbeat=HEARTBEAT, send=SEND.name)
    return "\n\n".join([MEMORY, form, "Functions:\n" + "\n".join(map(signature, functions))])


def signature(function: Function) -> str:
    """A function in one line: its name, arguments with what they mean, and what it does."""
    schema = function.arguments.model_json_schema()
    needed = set(schema.get("required", ()))
    parts = [_argument(name, field, needed=name in needed) for name, field in schema.get("properties", {}).items()]
    return f"- {function.name}({'; '.join(parts)}): {function.description}"


def _argument(name: str, field: Mapping[str, Any], *, needed: bool) -> str:
    kind = field.get("type") or "/".join(str(one.get("type", "any")) for one in field.get("anyOf", ())) or "any"
    unset: list[str] | None = [] if kind == "array" else None
    default = "" if needed else f" = {json.dumps(field.get('default', unset), ensure_ascii=False)}"
    meaning = f" [{field['description']}]" if field.get("description") else ""
    return f"{name}: {kind}{default}{meaning}"


def schema(function: Function, *, heartbeat: bool = False) -> dict[str, Any]:
    """The function in the form of OpenAI's tools, with ``request_heartbeat`` if asked."""
    parameters = function.arguments.model_json_schema()
    if heartbeat:
        asks = {"type": "boolean", "default": False, "description": "Call me again at once, with the result"}
        parameters = {**parameters, "properties": {**parameters.get("properties", {}), HEARTBEAT: asks}}
    return {
        "type": "function",
        "function": {"name": function.name, "description": function.description, "parameters": parameters},
    }


def rendered(messages: Sequence[Message]) -> list[Message]:
    """The conversation for a model that reads and writes text: its own turns as the calls that it wrote.

    Neighbours of one role become one message, since some models refuse two in a row.
    """
    found: list[Message] = []
    for message in messages:
        role, text = _written(message)
        if not found or found[-1].role is not role:
            found.append(Message(role=role, content=text))
            continue
        before = found[-1].text
        # The log has the words of an answer before its calls; models call first, and imitate what they see.
        joined = f"{text}\n{before}" if message.tool_calls else f"{before}\n\n{text}"
        found[-1] = Message(role=role, content=joined)
    return found


def _written(message: Message) -> tuple[Role, str]:
    if message.role is Role.TOOL:
        name = f' of="{message.name}"' if message.name else ""
        return Role.USER, f"<result{name}>\n{message.text}\n</result>"
    if message.role is not Role.ASSISTANT:
        return message.role, f"{message.name}: {message.text}" if message.name else message.text
    said = message.model_copy(update={"tool_calls": []}).text
    calls = [ToolCall(name=SEND.name, arguments={"message": said})] if said.strip() else []
    return Role.ASSISTANT, "\n".join(map(_call, [*calls, *message.tool_calls]))


def _call(call: ToolCall) -> str:
    if not isinstance(call.arguments, dict):
        return call.arguments
    beside = {key: call.arguments[key] for key in (THOUGHTS, HEARTBEAT) if key in call.arguments}
    arguments = {key: value for key, value in call.arguments.items() if key not in beside}
    written = {
        **({THOUGHTS: beside[THOUGHTS]} if THOUGHTS in beside else {}),
        "function": call.name,
        "arguments": arguments,
        **({HEARTBEAT: beside[HEARTBEAT]} if HEARTBEAT in beside else {}),
    }
    return json.dumps(written, ensure_ascii=False)
