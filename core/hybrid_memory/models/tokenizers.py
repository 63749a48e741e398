"""Token counters: OpenAI's own if its tables are on this machine, otherwise an estimate."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from hybrid_memory.sockets import load
from hybrid_memory.text.tokens import TokenCounter, estimate_tokens

SLICE_CHARS = 100_000
"""Longer texts are counted in slices, since tiktoken panics at a million spaces in a row; each cut may add a token."""

_TABLES = {
    "cl100k_base": (
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
    "o200k_base": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    ),
}
"""By encoding: the SHA-256 of its table, and how it splits text before merging bytes."""


def token_counter(choice: TokenCounter | str | None = None) -> TokenCounter:
    """The counter itself, or one by name: ``o200k_base`` by default, ``cl100k_base``, ``estimate``, an installed one.

    For an encoding it is exact if tiktoken and the encoding's table are on this machine, else an estimate. Nothing is
    downloaded. The first count loads the table in 0.2 s; the counter's ``name`` says which one it is.

    Raises:
        InvalidConfigError: there is no counter of this name.
    """
    if choice is not None and not isinstance(choice, str):
        return choice
    encoding = choice or "o200k_base"
    if encoding not in _TABLES:
        ours = {**dict.fromkeys(_TABLES, ""), "estimate": "hybrid_memory.text.tokens:estimate_tokens"}
        return cast("TokenCounter", load("token counter", encoding, ours))
    # In tiktoken's cache or in LlamaIndex; tiktoken names files by the SHA-1 of their URL.
    address = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    name = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    folders: list[Path] = []
    if find_spec("tiktoken"):
        own = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
        if own != "":  # tiktoken takes an empty name for "no cache"
            folders.append(Path(tempfile.gettempdir()) / "data-gym-cache" if own is None else Path(own))
        # The parent package only: to look inside llama_index.core would import it, which takes seconds.
        spec = find_spec("llama_index")
        places = (spec.submodule_search_locations if spec else None) or ()
        folders += (Path(place) / "core" / "_static" / "tiktoken_cache" for place in places)
    return _Counter(encoding, next((folder / name for folder in folders if (folder / name).is_file()), None))


class _Counter:
    """A counter that loads its table on the first call, if it can; safe to share between threads."""

    def __init__(self, encoding: str, table: Path | None) -> None:
        self.name = "estimate" if table is None else f"tiktoken {encoding}"
        self._encoding = encoding
        self._table = table

    def __repr__(self) -> str:
        return f"<token counter {self.name!r}>"

    @cached_property
    def _count(self) -> Callable[[str], int]:
        if self._table is not None and (count := _exact(self._encoding, self._table)):
            return count
        self.name = "estimate"
        return estimate_tokens

    def __call__(self, text: str, /) -> int:
        return self._count(text)


@lru_cache
def _exact(encoding: str, table: Path) -> Callable[[str], int] | None:
    """A counter with this table; None if it is damaged or tiktoken cannot start."""
    try:
        import tiktoken  # noqa: PLC0415 - optional

        lines = table.read_bytes()
    except (ImportError, OSError):
        return None
    digest, pattern = _TABLES[encoding]
    if hashlib.sha256(lines).hexdigest() != digest:
        return None
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines.splitlines())}
    # Without special tokens, so that a text which names one is ordinary text.
    tokenizer = tiktoken.Encoding(encoding, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def count(text: str) -> int:
        starts = range(0, len(text), SLICE_CHARS)
        return sum(len(tokenizer.encode_ordinary(text[start : start + SLICE_CHARS])) for start in starts)

    return count
