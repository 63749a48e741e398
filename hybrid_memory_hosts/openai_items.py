"""Convert between `Message` and the items of OpenAI's Responses API: plain values, no package needed.

An item comes back equal. Its words are the content of the message, so that they can be recalled, learned from and
redacted; the rest is kept in ``extra["openai"]``. Any item other than a message, call, result or reasoning, such as a
web search, is kept whole in a content block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.adapters import REST, as_shown, encodable_json, media_block, storable_name

MARK = "openai"
"""Our key in ``Message.extra`` and in content blocks."""

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The field of a call that contains what the model wrote."""

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "summary_text": "reasoning"}
"""The type of block for the words of an item's block; every host knows both."""


def from_items(items: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The items in the form that the core stores.

    Raises:
        InvalidMessageError: an item contains something that is not JSON.
    """
    # A result does not say whose it is, and a page of the web is another thing than a sum.
    names = {item.get("call_id"): item.get("name") for item in items if item.get("type") in _CALLS}
    return [_from_item(encodable_json(item), names) for item in items]


def _from_item(item: Mapping[str, Any], names: Mapping[Any, Any]) -> Message:
    kind, call = item.get("type", "message"), storable_name(item.get("call_id"))
    if kind == "message" and item.get("role") in _ROLES and "content" in item:
        return _message(_ROLES[item["role"]], item, "content")
    if kind == "reasoning" and "summary" in item:
        return _message(Role.ASSISTANT, item, "summary")
    if kind in _OUTPUTS and call and "output" in item:
        return _message(Role.TOOL, item, "output", tool_call_id=call, name=storable_name(names.get(call)))
    place = _CALLS.get(kind, "")
    if call and storable_name(item.get("name")) and isinstance(item.get(place), str):
        asked = ToolCall(name=item["name"], arguments=item[place], id=call)
        mark = {"item": _without(item, place), "call": place}
        return Message(role=Role.ASSISTANT, tool_calls=[asked], extra={MARK: mark})
    block = media_block(item, family="image") if kind == "image_generation_call" else {MARK: item}
    return Message(role=Role.ASSISTANT, content=[block], extra={MARK: {}})


def _message(role: Role, item: Mapping[str, Any], place: str, **names: Any) -> Message:
    """A message with the words at this place in the item."""
    mark: dict[str, Any] = {"item": _without(item, place), "place": place}
    content = item[place]
    if isinstance(content, list) and content and all(isinstance(block, Mapping) for block in content):
        mark["blocks"] = [_without(block, "text") if _has_text(block) else None for block in content]
        content = [_standard(block) if _has_text(block) else dict(block) for block in content]
    elif not isinstance(content, str) or not content.strip():
        mark["blank"] = content
        content = [{"type": "text", "text": ""}]
    return Message(role=role, content=content, extra={MARK: mark}, **names)


def _without(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def _has_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") in _TEXTS and isinstance(block.get("text"), str)


def _standard(block: Mapping[str, Any]) -> dict[str, Any]:
    kind = _TEXTS[block["type"]]
    return {"type": kind, kind: block["text"]}


def to_items(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The items of these messages, as copies; of another host's message only the text, the calls, or the result."""
    return [item for message in messages for item in _to_items(message)]


def _to_items(message: Message) -> list[dict[str, Any]]:
    mark, shown = message.extra.get(MARK), as_shown(message)
    if not isinstance(mark, Mapping) or shown is not message:  # a prompt may show it as somebody else's
        return _from_elsewhere(shown)
    content: Any = deepcopy(message.content)
    if "item" not in mark:
        block = content[0]
        line = {"role": "assistant", "content": block.get("text")}  # in place of a picture that the model made
        return [block["source"] if REST in block else block.get(MARK, line)]
    item = deepcopy(mark["item"])
    if "call" in mark:
        return [{**item, mark["call"]: message.tool_calls[0].arguments}]
    if "blank" in mark:
        content = deepcopy(mark["blank"])
    elif "blocks" in mark:
        content = [
            _line(block, item) if rest is None else {**rest, "text": block[_TEXTS[rest["type"]]]}
            for block, rest in zip(content, mark["blocks"], strict=True)
        ]
    return [{**item, mark["place"]: content}]


def _line(block: dict[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    """The block, in the item's form if it is a line in place of a medium."""
    return (
        {**block, "type": f"{'output' if item.get('role') == 'assistant' else 'input'}_text"}
        if _has_text(block)
        else block
    )


def _from_elsewhere(message: Message) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        return [{"type": "function_call_output", "call_id": message.tool_call_id or "", "output": message.text}]
    said = message.model_copy(update={"tool_calls": []}).text
    calls = [
        {"type": "function_call", "call_id": call.id or "", "name": call.name, "arguments": call.written_arguments}
        for call in message.tool_calls
    ]
    return [*([{"role": message.role.value, "content": said}] if said else []), *calls]


def is_users(item: Mapping[str, Any]) -> bool:
    """Whether the item contains words of the user."""
    return item.get("role") == "user" and bool(text_of(item))


def text_of(item: Mapping[str, Any]) -> str:
    """The words of the item; empty if it has none."""
    content = item.get("content", item.get("output"))
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block, Mapping) and _has_text(block))
