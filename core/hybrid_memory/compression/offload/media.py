"""Content blocks that carry an image, a sound, a film or a file, in the forms that the frameworks write."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

MAX_NAME_CHARS = 120

_MEDIA = ("image", "audio", "video", "file", "document")
_NAMES = {"image_url": "image", "input_image": "image", "input_audio": "audio", "input_file": "file", "media": "file"}
_DATA_URL = re.compile(r"data:(?P<kind>[\w.+-]+/[\w.+-]+)?[^,]{0,200},")
_DATA_KEYS = ("data", "base64", "image", "audio", "video", "file_data")
_KIND_KEYS = (
    "mime_type",
    "media_type",
    "image_mimetype",
    "video_mimetype",
    "document_mimetype",
    "mimeType",
    "mimetype",
)
_LINK_KEYS = ("url", "file_uri", "file_id", "path")
_MAGIC = (
    *((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"%PDF", "application/pdf")),
    *((b"PK\x03\x04", "application/zip"), (b"\x1f\x8b", "application/gzip"), (b"ID3", "audio/mpeg")),
    *((b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"), (b"BM", "image/bmp")),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}


def is_media(block: Mapping[str, Any]) -> bool:
    """Whether a content block carries or names an image, a sound, a film or a file, rather than words."""
    return _family(block) is not None and any(_first(block, keys) for keys in (_DATA_KEYS, _LINK_KEYS))


def digest_media(block: Mapping[str, Any], *, result_id: str) -> str:
    """What a media block carries, in one line: ``[image/png, 34,112 bytes; result_id=42]``; without data, the link."""
    data, link = _first(block, _DATA_KEYS), _first(block, _LINK_KEYS)
    if data is None and link is not None and _DATA_URL.match(link):
        data = link
    elif data is not None and data.startswith(("http://", "https://")):
        data, link = None, data
    family = _family(block) or "file"
    suffix = _first(block, ("format",))
    kind = _first(block, _KIND_KEYS) or (suffix and f"{family}/{suffix}")
    if data is not None:
        found, size = base64_kind(data)
        what = [kind or found or family, f"{size:,} bytes"]
    else:
        what = [kind or family, *([_short(link)] if link else [])]
    if name := _first(block, ("filename", "title")):
        what.append(_short(name))
    return f"[{', '.join(what)}; result_id={result_id}]"


def base64_kind(data: str) -> tuple[str | None, int]:
    """The media type of base64 text or a data URL, None if unknown, and how many bytes it stands for."""
    url = _DATA_URL.match(data)
    start = url.end() if url else 0
    body = data[start : start + 64].strip()
    length = len(data) - start - sum(map(data.count, "\r\n"))
    size = max(length * 3 // 4 - data[-4:].count("="), 0)
    try:
        head = b64decode(body[: len(body) // 4 * 4])
    except ValueError:
        return (url["kind"] if url else None), size
    return (url["kind"] if url and url["kind"] else _magic(head)), size


def _magic(head: bytes) -> str | None:
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def _family(block: Mapping[str, Any]) -> str | None:
    """Image, audio, video, file or document; None for a block of another kind."""
    kind = block.get("type", block.get("block_type"))
    if kind == "non_standard" and isinstance(block.get("value"), Mapping):
        return _family(block["value"])
    if kind in _MEDIA:
        return str(kind)
    return _NAMES.get(kind) if isinstance(kind, str) else None


def _parts(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The block and the mappings in it where providers put data, link and type."""
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


def _short(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"
