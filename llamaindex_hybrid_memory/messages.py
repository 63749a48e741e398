"""Convert between LlamaIndex's `ChatMessage` and our `Message` without loss.

A `Message` contains what every framework can read. Values without a field of their own, or that would come back in
another form, are kept verbatim under ``extra["llama_index"]`` as JSON: ``role``, ``blocks``, ``additional_kwargs``.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, MessageRole, TextBlock, ToolCallBlock
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from hybrid_memory import Message, Role
from hybrid_memory.adapters import ORIGIN, as_shown, checked, encodable, lowered, storable_name
from hybrid_memory.errors import InvalidMessageError

_BLOCK: TypeAdapter[Any] = TypeAdapter(ContentBlock)

_STANDARD: dict[str, tuple[str, dict[str, str]]] = {
    "text": ("text", {"text": "text"}),
    "image": ("image", {"image": "base64", "image_mimetype": "mime_type", "url": "url"}),
    "audio": ("audio", {"audio": "base64", "url": "url"}),
    "video": ("video", {"video": "base64", "video_mimetype": "mime_type", "url": "url"}),
    "document": ("file", {"data": "base64", "document_mimetype": "mime_type", "url": "url"}),
    "thinking": ("reasoning", {"content": "reasoning"}),
}
"""LlamaIndex's block type: the standard type, and its name for each field."""

_BY_TYPE = {kind: (ours, {there: here for here, there in names.items()}) for ours, (kind, names) in _STANDARD.items()}


def json_value(value: Any) -> Any:
    """The value as JSON: bytes as base64, paths and URLs as text, models as dictionaries.

    Raises:
        pydantic_core.PydanticSerializationError: part of it has no JSON form.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(item) for item in value]
    return _base64(value) if isinstance(value, bytes) else to_jsonable_python(value)


def to_dict(block: BaseModel) -> dict[str, Any]:
    """The block as a dictionary of JSON values; a stream is read."""
    fields = {name: value for name, value in json_value(block).items() if value is not None}
    kind = fields.pop("block_type")
    path = getattr(block, "path", None)
    if isinstance(path, Path):
        # A document's path may be text as well: two names, so that each comes back as what it was.
        fields["file_path"] = fields.pop("path")
    if kind not in _STANDARD:
        return {"type": "non_standard", "value": {"block_type": kind, **fields}}
    standard, names = _STANDARD[kind]
    known = {names[name]: value for name, value in fields.items() if name in names}
    extras = {name: value for name, value in fields.items() if name not in names and value != {}}
    return {"type": standard, **known, **({"extras": extras} if extras else {})}


def from_dict(data: Mapping[str, Any]) -> Any:
    """The block that a dictionary describes; one of a type unknown to LlamaIndex becomes a text block of its JSON."""
    try:
        block = _block(_standardised(data))
    except (ValidationError, KeyError, TypeError, AttributeError):
        block = None
    return TextBlock(text=json.dumps(data, ensure_ascii=False)) if block is None else block


def _block(data: Mapping[str, Any]) -> Any:
    kind = data.get("type")
    if kind == "non_standard":
        fields = dict(data["value"])
    elif kind in _BY_TYPE:
        block_type, names = _BY_TYPE[kind]
        extras = data.get("extras") or {}
        fields = {**extras, **{names[name]: value for name, value in data.items() if name in names}}
        fields["block_type"] = block_type
    else:
        return None
    file_path, text_path = fields.pop("file_path", None), fields.pop("path", None)
    block = _BLOCK.validate_python(fields)
    # Set, not validated: the file may be gone by now, and the message that named it must stay readable.
    if file_path is not None:
        block.path = Path(file_path)
    elif text_path is not None:
        block.path = text_path
    return block


def _standardised(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The block in the standard form, converted from OpenAI's, Anthropic's or older LangChain's."""
    kind = data.get("type")
    if kind is None and isinstance(data.get("text"), str):
        return {**data, "type": "text"}
    if kind == "image_url":
        value = data["image_url"]
        image = {"url": value} if isinstance(value, str) else dict(value)
        detail = {"extras": {"detail": image["detail"]}} if image.get("detail") else {}
        return {"type": "image", "url": image["url"], **detail}
    if kind == "input_audio":
        sound = data["input_audio"]
        return {"type": "audio", "base64": sound["data"], "extras": {"format": sound.get("format")}}
    if kind == "thinking":
        rest = {name: value for name, value in data.items() if name not in ("type", "thinking")}
        return {"type": "reasoning", "reasoning": data["thinking"], "extras": {"additional_information": rest}}
    source = data.get("source")
    if isinstance(source, Mapping):
        data = {**data, "base64": source.get("data"), "mime_type": source.get("media_type"), "url": source.get("url")}
    elif data.get("source_type") == "base64":
        data = {**data, "base64": data["data"]}
    if kind == "audio" and data.get("mime_type") and "format" not in (data.get("extras") or {}):
        data = {**data, "extras": {"format": data["mime_type"].rpartition("/")[2]}}
    return {**data, "type": "file"} if kind == "document" else data


def _base64(value: bytes) -> str:
    """Binary content as base64: LlamaIndex keeps it so already, but content from a stream is raw."""
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return base64.b64encode(value).decode()
    return value.decode()


EXTRA = "llama_index"
"""Our key in `Message.extra`."""

UNNAMED = "unnamed"
"""The tool of a call whose name cannot be stored, such as an empty one; the block itself is kept as it is."""

_ROLES = {
    MessageRole.DEVELOPER: Role.SYSTEM,
    MessageRole.FUNCTION: Role.TOOL,
    MessageRole.CHATBOT: Role.ASSISTANT,
    MessageRole.MODEL: Role.ASSISTANT,
}


@checked
def from_chat_message(chat: ChatMessage) -> Message:
    """The message in our form; ``to_chat_message`` gives back an equal one.

    Equal means: JSON values are kept; a stream is read, and a model inside ``additional_kwargs`` becomes a dictionary.

    Raises:
        InvalidMessageError: ``additional_kwargs`` or a block contains something that has no JSON form.
    """
    if chat.role == MessageRole.TOOL:  # what a tool read, such as names of files, nobody can correct
        blocks = [TextBlock(text=encodable(one.text)) if isinstance(one, TextBlock) else one for one in chat.blocks]
        chat = chat.model_copy(update={"blocks": blocks})
    try:
        kwargs = json_value(chat.additional_kwargs)
        fields = _fields(chat, kwargs)
        plain = to_chat_message(Message(**fields))
        own: dict[str, Any] = {}
        if plain.role != chat.role:
            own["role"] = MessageRole(chat.role).value
        if plain.blocks != chat.blocks:
            own["blocks"] = [to_dict(block) for block in chat.blocks]
        if plain.additional_kwargs != kwargs:
            own["additional_kwargs"] = kwargs
    except (PydanticSerializationError, RecursionError) as error:
        raise InvalidMessageError(f"only JSON values can be stored in a chat message: {error}") from error
    return Message(**fields, extra={EXTRA: own}) if own else Message(**fields)


def from_chat_messages(chats: Iterable[ChatMessage], called: dict[str, str]) -> list[Message]:
    """The messages of a conversation in our form; tool results get the tool's name, which LlamaIndex omits.

    ``called`` maps call ids of earlier messages to tool names; the calls of these messages are added to it.
    """
    said = []
    for chat in chats:
        message = from_chat_message(chat)
        called |= {call.id: call.name for call in message.tool_calls if call.id}
        tool = called.get(message.tool_call_id or "")
        if message.role is Role.TOOL and message.name is None and tool is not None:
            own = {**message.extra.get(EXTRA, {}), "additional_kwargs": json_value(chat.additional_kwargs)}
            message = message.model_copy(update={"name": tool, "extra": {EXTRA: own}})
        said.append(message)
    return said


@checked
def to_chat_message(message: Message) -> ChatMessage:
    """The message in LlamaIndex's form, a new object each time; the original may be from any framework.

    A system message that is not the operator's becomes a user message that quotes the words as a record.
    """
    message = as_shown(message)
    mark = message.extra.get(EXTRA)
    own = mark if isinstance(mark, dict) else {}
    role = MessageRole(own.get("role", message.role.value))
    if _role(role) is not message.role:  # a prompt may show it as somebody else's
        role = MessageRole(message.role.value)
    kwargs = own.get("additional_kwargs")
    if kwargs is None:
        kwargs = {
            "name": message.name,
            "tool_call_id": message.tool_call_id,
            ORIGIN: message.origin and message.origin.value,
        }
        kwargs = {key: value for key, value in kwargs.items() if value is not None}
    # Assigned, not passed: a ChatMessage that is made with "images" turns them into blocks once more.
    chat = ChatMessage(role=role)
    chat.additional_kwargs = copy.deepcopy(kwargs)
    if "blocks" in own:
        chat.blocks = [from_dict(block) for block in own["blocks"]]
        said = Message(**_fields(chat, kwargs))
        if said.content == message.content and said.tool_calls == message.tool_calls:
            return chat
        # A prompt shows the message with a note in front or with digests, of which its blocks know nothing.
        for calls in ("tool_calls", "function_call"):
            chat.additional_kwargs.pop(calls, None)
    chat.blocks = _blocks(message)
    return chat


def as_messages(chats: Iterable[ChatMessage]) -> list[Message]:
    """The messages in our form."""
    return [from_chat_message(chat) for chat in chats]


def as_chats(messages: Iterable[Message]) -> list[ChatMessage]:
    """The messages in LlamaIndex's form, new objects each time."""
    return [to_chat_message(message) for message in messages]


def _fields(chat: ChatMessage, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The parts of a chat message that fit into fields of `Message`."""
    role = _role(MessageRole(chat.role))
    content = [block for block in chat.blocks if not isinstance(block, ToolCallBlock)]
    calls = [
        _call(block.tool_call_id, block.tool_name, json_value(block.tool_kwargs))
        for block in chat.blocks
        if isinstance(block, ToolCallBlock)
    ] or _calls_in(kwargs)
    text = content[0].text if len(content) == 1 and isinstance(content[0], TextBlock) else ""
    said: str | list[dict[str, Any]] = text if text.strip() else [to_dict(block) for block in content]
    if not said:
        # A message may be empty in LlamaIndex, and is one all the same; ours must hold something.
        said = "" if calls or role is Role.TOOL else [{"type": "text", "text": ""}]
    name = storable_name(kwargs.get("name"))
    return {
        "role": role,
        "content": said,
        "name": name,
        "tool_calls": calls,
        "tool_call_id": storable_name(kwargs.get("tool_call_id")) if role is Role.TOOL else None,
        **lowered(role, kwargs.get(ORIGIN), name),
    }


def _role(role: MessageRole) -> Role:
    return _ROLES.get(role) or Role(role.value)


def _blocks(message: Message) -> list[Any]:
    """The blocks behind a message's content and tool calls."""
    if isinstance(message.content, str):
        blocks = [TextBlock(text=message.content)] if message.content else []
    else:
        # Anthropic's content names the calls a second time.
        calls = ("tool_use", "tool_call") if message.tool_calls else ()
        blocks = [from_dict(block) for block in message.content if block.get("type") not in calls]
    return blocks + [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=copy.deepcopy(call.arguments))
        for call in message.tool_calls
    ]


def _calls_in(kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tool calls in ``additional_kwargs``, in the form of OpenAI, Anthropic or LlamaIndex."""
    listed = kwargs.get("tool_calls")
    legacy = kwargs.get("function_call")
    items = listed if isinstance(listed, list) else [{"function": legacy}] if isinstance(legacy, dict) else []
    calls = []
    for item in items:
        if not isinstance(item, dict):
            continue
        inner = item.get("function")
        body = inner if isinstance(inner, dict) else item
        name = body.get("name") or body.get("tool_name")
        given = (body[key] for key in ("arguments", "args", "input", "tool_kwargs") if key in body)
        call_id = item.get("id") or item.get("tool_id") or item.get("tool_call_id")
        if isinstance(name, str):
            calls.append(_call(call_id, name, next(given, {})))
    return calls


def _call(call_id: Any, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call in OpenAI's form; the core parses its arguments if they are text."""
    given = arguments if isinstance(arguments, dict | str) else {}
    return {"id": storable_name(call_id), "function": {"name": storable_name(name) or UNNAMED, "arguments": given}}
