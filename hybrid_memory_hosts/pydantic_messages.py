"""Convert between `Message` and the messages of Pydantic AI.

A request becomes a message for each of its parts, a response one message. They come back as Pydantic AI itself restores
them from JSON. Words and arguments are stored where every host reads them, so that they can be recalled, learned from
and redacted; the rest is kept in ``extra["pydantic_ai"]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from hybrid_memory import Message, Origin, Role, ToolCall
from hybrid_memory.adapters import REST, as_shown, encodable_json, media_block, storable_name

MARK = "pydantic_ai"
"""Our key in ``Message.extra`` and in content blocks."""

_RETRIES = ("retry-prompt", "retry-feedback")
_SPEAKERS = {"user-prompt": Role.USER, "system-prompt": Role.SYSTEM, "tool-return": Role.TOOL}
_WORDS = {"text": "text", "thinking": "reasoning"}
"""The type of block for the words of a part; every host knows both."""


def from_model_messages(messages: Sequence[ModelMessage]) -> list[Message]:
    """The messages in the form that the core stores.

    Raises:
        InvalidMessageError: a message contains something that cannot be stored.
    """
    dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return [made for message in encodable_json(dumped) for made in _of(message)]


def _of(message: dict[str, Any]) -> Iterator[Message]:
    parts, head = message["parts"], {name: value for name, value in message.items() if name != "parts"}
    if message["kind"] == "response":
        yield _response(head, parts)
    elif not parts:
        yield Message(role=Role.SYSTEM, content=[{MARK: None}], extra={MARK: {"head": head}})
    for row, part in enumerate(parts if message["kind"] == "request" else ()):
        yield _request(part, {"head": head} if row == 0 else {})


def _request(part: dict[str, Any], mark: dict[str, Any]) -> Message:
    kind, content = part["part_kind"], part.get("content")
    called = kind == "tool-return" or (kind in _RETRIES and part.get("tool_name") is not None)
    role = Role.TOOL if called else Role.USER if kind in _RETRIES else _SPEAKERS.get(kind)
    if role is None or content is None:
        return Message(role=role or Role.SYSTEM, content=[{MARK: part}], extra={MARK: mark})
    mark["part"] = _without(part, "content")
    if isinstance(content, list) and content and kind == "user-prompt":
        stored: Any = [{"type": "text", "text": one} if isinstance(one, str) else _block(one) for one in content]
    elif isinstance(content, str) and content.strip():
        stored = content
    elif isinstance(content, str):
        mark["blank"], stored = content, [{"type": "text", "text": ""}]
    else:
        mark["json"] = True
        stored = json.dumps(content, ensure_ascii=False)
    fields: dict[str, Any] = {"at": part.get("timestamp"), "extra": {MARK: mark}}
    if called:
        fields |= {"name": storable_name(part["tool_name"]), "tool_call_id": storable_name(part["tool_call_id"])}
    elif kind in _RETRIES:
        fields["origin"] = Origin.TOOL  # a check of the program speaks
    return Message(role=role, content=stored, **fields)


def _block(one: dict[str, Any]) -> dict[str, Any]:
    return media_block(one) if "media_type" in one else {MARK: one}


def _response(head: dict[str, Any], parts: list[dict[str, Any]]) -> Message:
    content: list[dict[str, Any]] = []
    calls: list[ToolCall] = []
    rests: list[dict[str, Any] | None] = []
    for part in parts:
        kind, words = part["part_kind"], part.get("content")
        if kind in _WORDS and isinstance(words, str):
            content.append({"type": _WORDS[kind], _WORDS[kind]: words})
            rests.append(_without(part, "content"))
        elif kind == "tool-call":
            asked = {} if part["args"] is None else part["args"]
            calls.append(ToolCall(name=part["tool_name"], arguments=asked, id=storable_name(part["tool_call_id"])))
            rests.append(part if part["args"] is None else _without(part, "args"))
        else:
            is_file = isinstance(words, Mapping) and "media_type" in words
            content.append(media_block(words, _without(part, "content")) if is_file else {MARK: part})
            rests.append(None)
    mark = {"head": head, "parts": rests}
    said = content or ([] if calls else [{MARK: None}])
    return Message(role=Role.ASSISTANT, content=said, tool_calls=calls, at=head.get("timestamp"), extra={MARK: mark})


def _without(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def to_model_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """The messages in Pydantic AI's form; of another host's message only the text, the calls, or the result."""
    made: list[dict[str, Any]] = []
    names: dict[str | None, str] = {}
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        mark, shown = message.extra.get(MARK), as_shown(message)
        if not isinstance(mark, Mapping) or shown is not message:  # a prompt may show it as somebody else's
            made.append(_from_elsewhere(shown, names))
        elif "parts" in mark:
            made.append({**mark["head"], "parts": list(_response_parts(message, mark["parts"]))})
        else:
            if "head" in mark or not made or made[-1]["kind"] != "request":
                made.append({"kind": "request", **mark.get("head", {}), "parts": []})
            made[-1]["parts"] += _request_part(message, mark)
    return ModelMessagesTypeAdapter.validate_json(json.dumps(made))


def _request_part(message: Message, mark: Mapping[str, Any]) -> list[dict[str, Any]]:
    content: Any = mark.get("blank", message.content)
    if isinstance(content, list):
        content = [
            block["source"] if REST in block else block[MARK] if MARK in block else block["text"] for block in content
        ]
    if "part" not in mark:
        return [part for part in content if part is not None]
    return [{**mark["part"], "content": _parsed(content) if mark.get("json") else content}]


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # a number may have been redacted
        return text


def _response_parts(message: Message, rests: Sequence[dict[str, Any] | None]) -> Iterator[dict[str, Any]]:
    blocks, calls = iter(message.content if isinstance(message.content, list) else ()), iter(message.tool_calls)
    for rest in rests:
        if rest is not None and rest["part_kind"] == "tool-call":
            yield {"args": next(calls).arguments, **rest}
            continue
        block = next(blocks)
        if rest is not None:
            yield {**rest, "content": block[_WORDS[rest["part_kind"]]]}
        elif REST in block:
            yield {**block[REST], "content": block["source"]}
        else:
            yield block[MARK] if MARK in block else {"part_kind": "text", "content": block["text"]}


def _from_elsewhere(message: Message, names: Mapping[str | None, str]) -> dict[str, Any]:
    said = message.model_copy(update={"tool_calls": []}).text
    at = {} if message.at is None else {"timestamp": message.at.isoformat()}
    if message.role is Role.ASSISTANT:
        parts: list[dict[str, Any]] = [{"part_kind": "text", "content": said}] if said else []
        parts += [
            {"part_kind": "tool-call", "tool_name": call.name, "args": call.arguments, "tool_call_id": call.id or ""}
            for call in message.tool_calls
        ]
        return {"kind": "response", "parts": parts, **at}
    part: dict[str, Any] = {"content": said, **at}
    if message.role is Role.TOOL:
        call = message.tool_call_id
        name = message.name or names.get(call) or "tool"
        part |= {"part_kind": "tool-return", "tool_name": name, "tool_call_id": call or ""}
    else:
        part["part_kind"] = "system-prompt" if message.role is Role.SYSTEM else "user-prompt"
    return {"kind": "request", "parts": [part]}
