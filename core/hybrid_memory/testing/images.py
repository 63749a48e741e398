"""Small images, and an embedder that recognizes their colours."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.models.embedders import HashingEmbedder, unit_rows

Pixels = npt.NDArray[np.uint8]

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "white": (255, 255, 255),
    "black": (0, 0, 0),
}
"""Colours by name: red, green, blue and so on."""

CHINESE = dict(zip("红绿蓝黄白黑", COLOURS, strict=True))

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">IIBBBBB")
_LENGTH = struct.Struct(">I")
_TRUE_COLOUR = (8, 2, 0, 0, 0)


def picture(*colours: str, size: int = 8) -> bytes:
    """A PNG with vertical stripes of these colours, from left to right; each is ``size`` pixels wide and high."""
    stripes = [np.full((size, size, 3), COLOURS[name], dtype=np.uint8) for name in colours]
    return png(np.concatenate(stripes, axis=1))


def png(pixels: Pixels) -> bytes:
    """The pixels, an array of shape (height, width, 3), encoded as PNG."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\x00" + row.tobytes() for row in pixels)
    header = _HEADER.pack(width, height, *_TRUE_COLOUR)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return _SIGNATURE + b"".join(
        _LENGTH.pack(len(data)) + name + data + _LENGTH.pack(zlib.crc32(name + data)) for name, data in chunks
    )


def pixels(data: bytes) -> Pixels:
    """The pixels of a PNG written by `png`; raises `ValueError` for other data."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("not a PNG picture")
    try:
        chunks: dict[bytes, bytes] = {}
        at = len(_SIGNATURE)
        while at < len(data):
            (length,) = _LENGTH.unpack(data[at : at + 4])
            chunks[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + length]
            at += 12 + length
        width, height, *form = _HEADER.unpack(chunks[b"IHDR"])
        rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + 3 * width)
    except (KeyError, struct.error, zlib.error, ValueError) as error:
        raise ValueError(f"no picture of this module: {error}") from error
    if tuple(form) != _TRUE_COLOUR or rows[:, 0].any():
        raise ValueError("no picture of this module: only plain rows of RGB, 8 bits each, are read")
    return rows[:, 1:].reshape(height, width, 3)


class ColourEmbedder:
    """Embeds an image as the shares of its colours, and a text as the colours it names in English or Chinese.

    It also embeds texts as `HashingEmbedder` does, in a separate vector space.

    Attributes:
        seen: all images embedded so far, in order.
    """

    name = "colours"

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self._texts = HashingEmbedder()
        self._palette = np.array(list(COLOURS.values()), dtype=np.float32)

    def embed_images(self, images: Sequence[bytes]) -> Floats:
        """Unit rows of shape (n, 6); raises `ValueError` for data that `png` did not write."""
        self.seen += images
        shares = []
        for data in images:
            points = pixels(data).reshape(-1, 3).astype(np.float32)
            nearest = np.square(points[:, None] - self._palette).sum(axis=2).argmin(axis=1)
            shares.append(np.bincount(nearest, minlength=len(self._palette)).astype(np.float32))
        return unit_rows(np.stack(shares))

    def embed_image_query(self, text: str) -> Floats:
        """A unit vector of shape (6,); a text that names no colour gets equal shares of all."""
        words = "".join(CHINESE.get(letter, letter) for letter in text.lower())
        counts = [words.count(name) for name in COLOURS]
        vector: Floats = unit_rows(np.array([counts if any(counts) else [1] * len(counts)], dtype=np.float32))[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        return self._texts.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        return self._texts.embed_query(text)
