"""Pictures and documents small enough for a prompt, whose text a scripted model reads out of their bytes."""

import base64
import struct
import zlib

PICTURE, DOCUMENT = "image/png", "text/plain"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEYWORD = b"Description\x00"


def picture(text: str) -> bytes:
    """A PNG of one pixel that says in its description what is to be seen."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"tEXt", _KEYWORD + text.encode()), (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def encoded(text: str, *, document: bool) -> str:
    """The picture, or the document, in base64."""
    return base64.b64encode(text.encode() if document else picture(text)).decode()


def seen(data: bytes | str) -> str:
    """What is to be seen on what is here in base64, or to be read in it."""
    raw = base64.b64decode(data)
    if not raw.startswith(_SIGNATURE):
        return raw.decode(errors="replace")
    start = raw.index(_KEYWORD) + len(_KEYWORD)
    return raw[start : raw.index(b"IDAT") - 8].decode()
