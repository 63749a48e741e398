"""Content blocks with an image, audio, video or file, in the formats that frameworks use."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

MAX_NAME_CHARS = 120
HEAD_CHARS = 64  # how much of a medium's base64 text is decoded for its type

_MEDIA = ("image", "audio", "video", "file", "document")
_NAMES = {
    **dict.fromkeys(("image_url", "input_image", "image_generation_call"), "image"),
    **dict.fromkeys(("input_file", "media"), "file"),
    "input_audio": "audio",
}
_SENSES = ("image", "audio", "video")
_DATA_URL = re.compile(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)?[^,]{0,200},")
_URL_SAFE = str.maketrans("-_", "+/", " \t\r\n")
_DATA_KEYS = ("data", "base64", "image", "audio", "video", "file_data", "result")
_KIND_KEYS = (
    "mime_type",
    "media_type",
    "image_mimetype",
    "video_mimetype",
    "document_mimetype",
    "mimeType",
    "mimetype",
)
_LINK_KEYS = ("url", "file_uri", "file_id", "path", "file_path")
_UNITS = (("MB", 1, 1_000_000), ("kB", 0, 1_000), ("bytes", 0, 0))
_CAPTION_KEYS = ("caption", "alt", "transcript", "revised_prompt")
_MAGIC = (
    *((8, b"WEBP", "image/webp"), (8, b"WAVE", "audio/wav"), (8, b"AVI ", "video/x-msvideo")),
    *((4, b"ftyp", "video/mp4"), (0, b"\x89PNG", "image/png"), (0, b"\xff\xd8\xff", "image/jpeg")),
    *((0, b"GIF8", "image/gif"), (0, b"%PDF", "application/pdf"), (0, b"PK\x03\x04", "application/zip")),
    *((0, b"\x1f\x8b", "application/gzip"), (0, b"ID3", "audio/mpeg"), (0, b"OggS", "audio/ogg")),
    *((0, b"fLaC", "audio/flac"), (0, b"BM", "image/bmp")),
)
"""Where a medium of a type has which bytes."""


def is_media(block: Mapping[str, Any]) -> bool:
    """Whether a content block contains or links to an image, audio, video or file, rather than text."""
    return _family(block) is not None and any(_first(block, keys) for keys in (_DATA_KEYS, _LINK_KEYS))


def media_blocks(content: str | Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The media among the blocks of a message, by their index."""
    return {} if isinstance(content, str) else {row: block for row, block in enumerate(content) if is_media(block)}


def digest_media(block: Mapping[str, Any], hint: str = "") -> str:
    """What is known of a medium, in one line: ``[image/png cat.png, 1.2 MB: caption — hint]``, or a link."""
    data, link = _carried(block)
    family = _family(block) or "file"
    kind, name, caption = _declared(block, family), _name(block), _first(block, _CAPTION_KEYS)
    if data is not None:
        detected, size = base64_kind(data)
        kind = kind or detected
        unit, digits, least = next(row for row in _UNITS if size >= row[2])
        what = [f"{size / (least or 1):,.{digits}f} {unit}"]
    else:
        what = [_short(link)] if link else []
    text = ", ".join([" ".join(filter(None, (kind or family, name))), *what])
    return f"[{text}{f': {_short(caption)}' if caption else ''}{f' — {hint}' if hint else ''}]"


def standard_media(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block in the form that LangChain calls standard; a link, or data that cannot be decoded, as it is."""
    family, (data, _) = _family(block), _carried(block)
    if family is None or data is None:
        return dict(block)
    url = _DATA_URL.match(data)  # or base64 text, in either alphabet, with or without padding
    body = data[url.end() :] if url else data
    try:
        if url and not url[0].endswith(";base64,"):
            content = unquote_to_bytes(body)
        else:
            body = body.translate(_URL_SAFE)
            content = b64decode(body + "=" * (-len(body) % 4), validate=True)
    except ValueError:
        return dict(block)
    if not content:
        return dict(block)
    found = _declared(block, family) or base64_kind(data)[0] or family
    kind = next((one for one in (family, found.partition("/")[0]) if one in _SENSES), "file")
    more = {"mime_type": found if "/" in found else "", "filename": _name(block)}
    return {"type": kind, "base64": b64encode(content).decode(), **{key: text for key, text in more.items() if text}}


def _carried(block: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The data of a block, as base64 text or a data URL, and its link."""
    data, link = _first(block, _DATA_KEYS), _first(block, _LINK_KEYS)
    if data is None and link is not None and _DATA_URL.match(link):
        return link, link
    if data is not None and data.startswith(("http://", "https://")):
        return None, data
    return data, link


def _declared(block: Mapping[str, Any], family: str) -> str | None:
    """The media type stated in the block."""
    suffix = _first(block, ("format",))
    return _first(block, _KIND_KEYS) or (suffix and f"{family}/{suffix}")


def base64_kind(data: str) -> tuple[str | None, int]:
    """The media type of base64 text or a data URL (None if unknown), and the number of encoded bytes."""
    url = _DATA_URL.match(data)
    length = len(data) - (url.end() if url else 0) - sum(map(data.count, "\r\n"))
    size = max(length * 3 // 4 - data[-4:].count("="), 0)
    if url and url["kind"]:
        return url["kind"], size
    text = data[url.end() if url else 0 :][:HEAD_CHARS].translate(_URL_SAFE)
    try:
        head = b64decode(text[: len(text) // 4 * 4])
    except ValueError:
        return None, size
    return next((kind for place, magic, kind in _MAGIC if head.startswith(magic, place)), None), size


def _family(block: Mapping[str, Any]) -> str | None:
    """Image, audio, video, file or document; None for a block of another kind."""
    kind = block.get("type", block.get("block_type"))
    if kind == "non_standard" and isinstance(block.get("value"), Mapping):
        return _family(block["value"])
    if kind in _MEDIA:
        return str(kind)
    return _NAMES.get(kind) if isinstance(kind, str) else None


def _parts(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The block, and the nested mappings in which providers put data, link and type."""
    yield block
    for key in ("source", "image_url", "input_audio", "file", "value", "extras"):
        inner = block.get(key)
        if isinstance(inner, Mapping) and inner.get("type") != "text":  # Anthropic's plain text documents are words
            yield from _parts(inner)
        elif isinstance(inner, str) and key == "image_url":
            yield {"url": inner}


def _first(block: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first text under one of these keys, in the block or its parts."""
    values = (part.get(key) for part in _parts(block) for key in keys)
    return next((value for value in values if isinstance(value, str) and value), None)


def _name(block: Mapping[str, Any]) -> str:
    return _short(_first(block, ("filename", "title")) or "")


def _short(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"
