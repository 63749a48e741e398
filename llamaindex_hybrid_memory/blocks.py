"""Content blocks: LlamaIndex's own, and the dictionaries that a `Message` holds.

The dictionaries follow LangChain's standard content blocks where those have a word for it, so that what one framework
wrote the other can read; a field that they lack goes into the block's ``extras``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ContentBlock, TextBlock
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

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
        pydantic_core.PydanticSerializationError: part of it has no form in JSON.
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
    """The block that a dictionary stands for; one that LlamaIndex has no block for becomes a text block of its JSON."""
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
    """The block in the standard form, from those of OpenAI, Anthropic and older LangChain."""
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
    """LlamaIndex keeps binary content as base64 already; what comes from a stream is raw."""
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return base64.b64encode(value).decode()
    return value.decode()
