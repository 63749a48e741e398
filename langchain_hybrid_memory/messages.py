"""Convert between `Message` and LangChain's messages.

A LangChain message comes back equal: fields that `Message` lacks are kept in ``extra["langchain"]``. Two limits:

* The log stores JSON. ``artifact`` and ``response_metadata``, which models never see, are converted if they are not
  JSON: documents and dates come back as plain values, other objects as their ``repr``. Anything else that is not JSON
  is refused, since a model would see something different afterwards.
* A subclass comes back as the LangChain class that it extends.

Invalid tool calls and the ``function_call`` of older models are tool calls of the `Message` too, so that they stay with
their results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from langchain_core import messages as langchain
from langchain_core.messages import BaseMessage
from pydantic_core import to_json

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.adapters import ORIGIN, as_shown, checked, encodable, encodable_json, lowered, storable_name
from hybrid_memory.errors import InvalidMessageError

MARK = "langchain"
"""The key of ``Message.extra`` that is LangChain's."""

_CLASSES: dict[str, type[BaseMessage]] = {
    cls.model_fields["type"].default: cls
    for cls in (
        *(langchain.HumanMessage, langchain.AIMessage, langchain.SystemMessage),
        *(langchain.ToolMessage, langchain.FunctionMessage, langchain.ChatMessage),
        *(langchain.HumanMessageChunk, langchain.AIMessageChunk, langchain.SystemMessageChunk),
        *(langchain.ToolMessageChunk, langchain.FunctionMessageChunk, langchain.ChatMessageChunk),
    )
}
_TYPES = {Role.USER: "human", Role.ASSISTANT: "ai", Role.SYSTEM: "system", Role.TOOL: "tool"}
_SPEAKERS = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "ai": Role.ASSISTANT}
_SPEAKERS |= {"system": Role.SYSTEM, "developer": Role.SYSTEM}
_UNSHOWN = ("artifact", "response_metadata")


@checked
def from_langchain(message: BaseMessage, *, keep_id: bool = True) -> Message:
    """The message in the form that the core stores.

    Args:
        message: an instance of any LangChain class; empty ones are kept as well.
        keep_id: use its id as the event's id, so that writing it again changes nothing. Otherwise the log assigns an
            id; in both cases `to_langchain` restores the original one.

    Raises:
        InvalidMessageError: it is not a turn of a conversation (``RemoveMessage``), or contains values that are not
            JSON.
    """
    if message.type not in _CLASSES:
        raise InvalidMessageError(f"cannot store a {type(message).__name__}: its type {message.type!r} is not a turn")
    fields = dict(message)
    mark: dict[str, Any] = {"type": fields.pop("type")}
    calls = _calls(fields)
    if len(calls) != (valid := len(fields.pop("tool_calls", ()))):
        mark["calls"] = valid
    role = _role(message)
    content, shape = stored_content(fields.pop("content"), silent=role is not Role.TOOL and not calls)
    names = _names(message, keep_id=keep_id)
    kept = {
        key: (json_form if key in _UNSHOWN else exact_json)(key, value)
        for key, value in fields.items()
        if (value != names[key] if key in names else not _is_default(message, key, value))
    }
    if names["id"] is None:  # the log will give one, which must not come back as LangChain's
        kept["id"] = message.id
    origin = lowered(role, message.additional_kwargs.get(ORIGIN), names["name"])
    ours: dict[str, Any] = {"role": role, "content": content, "tool_calls": calls, **names, **origin}
    return Message(**ours, extra={MARK: {**mark, **shape, "fields": kept}})


@checked
def to_langchain(message: Message) -> BaseMessage:
    """The message in LangChain's form; equal to the original if that was a LangChain message.

    A system message that is not the operator's becomes a human message that quotes the words as a record.

    Messages of other frameworks lose content that LangChain cannot represent, and a call whose arguments are not a JSON
    object becomes an ``invalid_tool_call``.
    """
    message = as_shown(message)
    mark = message.extra.get(MARK)
    if not isinstance(mark, Mapping) or mark.get("type") not in _CLASSES:
        return _from_elsewhere(message)
    cls = _CLASSES[mark["type"]]
    fields: dict[str, Any] = {
        "content": restored_content(message.content, mark),
        "name": message.name,
        "id": message.id,
    }
    if issubclass(cls, langchain.ToolMessage):
        fields["tool_call_id"] = message.tool_call_id
    if issubclass(cls, langchain.AIMessage):
        fields["tool_calls"] = [_valid(call, call.arguments) for call in message.tool_calls[: mark.get("calls")]]
    fields |= deepcopy(mark.get("fields", {}))
    built = cls(**fields)
    if _role(built) is not message.role:  # a prompt may show it as somebody else's
        return _from_elsewhere(message)
    # Validation completes some fields from others, such as tool_calls from additional_kwargs.
    changed = {key: value for key, value in fields.items() if getattr(built, key) != value}
    return built.model_copy(update=changed) if changed else built


def is_summary(message: BaseMessage) -> bool:
    """Whether it replaces messages that LangChain's ``SummarizationMiddleware`` removed."""
    return message.additional_kwargs.get("lc_source") == "summarization"


def _from_elsewhere(message: Message) -> BaseMessage:
    content: Any = message.content
    if not isinstance(content, str):
        content = [
            deepcopy(block) if "type" in block else {"type": "text", "text": block["text"]}
            for block in content
            if "type" in block or isinstance(block.get("text"), str)
        ]
    fields: dict[str, Any] = {"content": content or "", "name": message.name, "id": message.id}
    if message.origin is not None:
        fields["additional_kwargs"] = {ORIGIN: message.origin.value}
    if message.role is Role.ASSISTANT:
        read = [(call, _arguments(call)) for call in message.tool_calls]
        fields["tool_calls"] = [_valid(call, arguments) for call, arguments in read if arguments is not None]
        fields["invalid_tool_calls"] = [
            {"name": call.name, "args": call.arguments, "id": call.id, "error": "the arguments are not a JSON object"}
            for call, arguments in read
            if arguments is None
        ]
    elif message.role is Role.TOOL:
        fields["tool_call_id"] = message.tool_call_id or ""
    return _CLASSES[_TYPES[message.role]](**fields)


def _role(message: BaseMessage) -> Role:
    if isinstance(message, langchain.ChatMessage):
        return _SPEAKERS.get(message.role.lower(), Role.USER)
    if isinstance(message, langchain.ToolMessage | langchain.FunctionMessage):
        return Role.TOOL
    if isinstance(message, langchain.AIMessage):
        return Role.ASSISTANT
    return Role.SYSTEM if isinstance(message, langchain.SystemMessage) else Role.USER


def _names(message: BaseMessage, *, keep_id: bool) -> dict[str, str | None]:
    """Name and ids as far as the core accepts them; any other speaker is named by its role."""
    name = message.name
    if isinstance(message, langchain.ChatMessage) and message.role.lower() not in _SPEAKERS:
        name = name or message.role
    names = {"name": storable_name(name), "id": storable_name(message.id) if keep_id else None}
    if isinstance(message, langchain.ToolMessage):
        names["tool_call_id"] = storable_name(message.tool_call_id)
    return names


def _calls(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The assistant's calls: the valid ones, then the invalid ones, or else the old single call."""
    calls: list[dict[str, Any]] = [
        *({"name": call["name"], "arguments": call["args"], "id": call["id"]} for call in fields.get("tool_calls", ())),
        *(
            {"name": call.get("name") or "", "arguments": call.get("args") or "", "id": call.get("id")}
            for call in fields.get("invalid_tool_calls", ())
        ),
    ]
    single = fields["additional_kwargs"].get("function_call")
    if not calls and isinstance(single, Mapping) and isinstance(single.get("name"), str):
        calls = [{"function": {"arguments": "", **single}}]
    checked: list[dict[str, Any]] = exact_json("tool_calls", calls)
    return checked


def _valid(call: ToolCall, arguments: str | dict[str, Any]) -> dict[str, Any]:
    return {"name": call.name, "args": deepcopy(arguments), "id": call.id, "type": "tool_call"}


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    if isinstance(call.arguments, dict):
        return call.arguments
    try:
        parsed = json.loads(call.arguments)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _is_default(message: BaseMessage, key: str, value: Any) -> bool:
    default = _defaults(type(message)).get(key, ...)
    return isinstance(value, type(default)) and bool(value == default)  # an array is compared with nothing


@cache
def _defaults(cls: type[BaseMessage]) -> dict[str, Any]:
    """The default of each field; kept, since pydantic is slow to find them."""
    return {name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()}


def exact_json(label: str, value: Any) -> Any:
    """A copy of the value.

    Raises:
        InvalidMessageError: it would not survive JSON in UTF-8 unchanged.
    """
    try:
        written = json.dumps(value, allow_nan=False, ensure_ascii=False)
        written.encode()  # refuses lone surrogates
        copied = json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessageError(f"{label}: only JSON values can be stored: {error}") from None
    if copied != value:
        raise InvalidMessageError(
            f"{label}: only JSON values can be stored: keys must be strings, sequences lists (got {value!r:.80})"
        )
    return copied


def json_form(label: str, value: Any) -> Any:
    """A copy of the value if it is JSON, or else its closest JSON form.

    Models and dataclasses become objects by field; dates, and numbers that JSON cannot express, become text; bytes
    become base64; a lone surrogate, as in names that `os.listdir` returns, becomes ``?``; anything else its ``repr``.

    Raises:
        InvalidMessageError: it contains itself.
    """
    try:
        return exact_json(label, value)
    except InvalidMessageError:
        pass
    try:
        value = encodable_json(value)
        return json.loads(
            to_json(value, bytes_mode="base64", inf_nan_mode="strings", fallback=lambda part: encodable(repr(part)))
        )
    except (ValueError, RecursionError) as error:
        raise InvalidMessageError(f"{label}: has no JSON form: {error}") from None


def stored_content(content: Any, *, silent: bool) -> tuple[str | list[dict[str, Any]], dict[str, Any]]:
    """The content as blocks or text, with what `restored_content` needs.

    Args:
        content: LangChain's content: text, or a list of texts and blocks.
        silent: the message consists of its content alone, so that the core would refuse blank content.
    """
    if silent and (not content or (isinstance(content, str) and not content.strip())):
        return [{"type": "text", "text": content or ""}], {"blank": content}
    if isinstance(content, str):
        return content, {}
    # From the end, because a prompt puts what was recalled in front.
    bare = [row - len(content) for row, block in enumerate(content) if isinstance(block, str)]
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return exact_json("content", blocks), {"bare": bare} if bare else {}


def restored_content(content: str | list[dict[str, Any]], shape: Mapping[str, Any]) -> Any:
    """LangChain's content restored; a copy, since chains modify what they receive."""
    if "blank" in shape and len(content) == 1:
        return deepcopy(shape["blank"])
    if isinstance(content, str):
        return content
    bare = shape.get("bare", ())
    return [block["text"] if row - len(content) in bare else deepcopy(block) for row, block in enumerate(content)]
