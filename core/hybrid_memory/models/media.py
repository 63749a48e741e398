"""Embedders of images and sounds with one interface."""

from __future__ import annotations

import io
import wave
from base64 import b64decode
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.errors import ModelError
from hybrid_memory.models.embedders import checked_rows, name_of
from hybrid_memory.models.port import MediaEmbedder
from hybrid_memory.runtime.breaker import limited, model_limit

Method: TypeAlias = Callable[[list[bytes]], Any]

PROBE_RATE = 16_000

_QUERIES = ("embed_image_query", "embed_query", "get_query_embedding")


class WrappedMediaEmbedder:
    """A model that embeds images or sounds; its vectors are checked and normalised to unit length.

    If it fails, a valid medium is tried to find out whether the model is down or the media are at fault, since an
    unusual file format must not block all media after it.
    """

    def __init__(self, model: Any, methods: dict[str, Method], query: Callable[[str], Any], timeout: timedelta) -> None:
        self.name: str = name_of(model)
        self._limit = model_limit(f"embedder {self.name!r}", timeout)
        self._methods = methods
        self._query = query
        self._dim: int | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of media that the model embeds."""
        return frozenset(self._methods)

    @property
    def dim(self) -> int:
        """The dimension of the vectors; the first call embeds a word to find out."""
        return self._dim or len(self.embed_query("width"))

    def embed_media(self, media: Sequence[bytes], kind: str) -> Floats:
        """Unit rows of shape (n, dim); zeros for media that the model cannot read.

        Raises:
            ModelError: the model fails on everything of this kind, takes too long, or returns another shape.
        """
        if not media:
            return np.empty((0, self.dim), dtype=np.float32)

        def embedded() -> Floats:
            try:
                return self._rows(media, kind)
            except ModelError:
                unreadable = np.zeros_like(self._rows([PROBES[kind]], kind)[0])
            rows = []
            for medium in media:
                try:
                    rows.append(self._rows([medium], kind)[0])
                except ModelError:
                    rows.append(unreadable)
            return np.stack(rows)

        return limited(self._limit, embedded)

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,); raises `ModelError` if the model fails, or as `embed_media` does."""
        row: Floats = limited(self._limit, self._checked, 1, lambda: [self._query(text)])[0]
        return row

    def _rows(self, media: Sequence[bytes], kind: str) -> Floats:
        return self._checked(len(media), lambda: self._methods[kind](list(media)))

    def _checked(self, count: int, answer: Callable[[], Any]) -> Floats:
        try:
            vectors = answer()
        except Exception as error:
            raise ModelError(f"embedder {self.name!r} failed: {type(error).__name__}: {error}") from error
        rows = checked_rows(vectors, count, self._dim, self.name)
        self._dim = rows.shape[1]
        return rows


def as_media_embedder(model: Any, timeout: timedelta = timedelta(seconds=30)) -> MediaEmbedder | None:
    """A media embedder with this model and a time limit for each of its calls; None if it does not embed media.

    A model needs ``embed_images(list of bytes)``, ``embed_audio(list of bytes)`` or both, which return rows of numbers,
    and ``embed_image_query(text)`` or ``embed_query(text)`` in the same space; or it is a LlamaIndex
    ``MultiModalEmbedding``, or a `MediaEmbedder`.
    """
    if isinstance(model, WrappedMediaEmbedder):
        return model
    if hasattr(model, "embed_media") and hasattr(model, "kinds"):
        methods: dict[str, Method] = {kind: partial(model.embed_media, kind=kind) for kind in model.kinds & set(PROBES)}
    elif hasattr(model, "get_image_embedding_batch"):  # LlamaIndex
        methods = {"image": lambda media: model.get_image_embedding_batch([io.BytesIO(data) for data in media])}
    else:
        named = {"image": getattr(model, "embed_images", None), "audio": getattr(model, "embed_audio", None)}
        methods = {kind: method for kind, method in named.items() if callable(method)}
    query = next((found for name in _QUERIES if callable(found := getattr(model, name, None))), None)
    return None if not methods or query is None else WrappedMediaEmbedder(model, methods, query, timeout)


def _short_wav() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setparams((1, 2, PROBE_RATE, 0, "NONE", ""))
        tone = np.sin(np.arange(PROBE_RATE // 10) / 10) * 10_000
        sound.writeframes(tone.astype("<i2").tobytes())
    return stream.getvalue()


_GREY_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAR0lEQVR4nGNgYGbj5OEXEpWQllNUUdfSNTA2s7Sxd3L18PYLDAmPiqVYftSCUQtG"
    "LRi1YNSCUQtGLRi1YNSCUQtGLRgqFgAAtKUuH25BDdkAAAAASUVORK5CYII="
)

PROBES = {"image": b64decode(_GREY_PNG), "audio": _short_wav()}
"""A valid medium of each kind."""
