"""How records get their vectors: the passage that is embedded, and each content only once."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from hybrid_memory.arrays import Floats
from hybrid_memory.config import CleaningLevel
from hybrid_memory.index.derive import passage_and_alone
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.index.record import Record
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.text.asking import SHORT_CHARS, SURE, emptiness, says_nothing, tells

Pending: TypeAlias = Sequence[tuple[Record, Record | None]]
"""Records without a vector yet, each with the previous turn of its segment."""


def content_key(embedder: str, text: str) -> bytes:
    """A key for a text embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{text}".encode(), digest_size=16).digest()


async def passages(
    pending: Pending,
    cleaning: CleaningLevel,
    embedder: str,
    embed: Callable[[list[str]], Awaitable[Floats]],
) -> dict[int, str]:
    """The passages by record id. Otherwise "Alright." after a question would be as similar to it as a real answer."""
    texts: dict[int, str] = {}
    doubtful: dict[int, str] = {}
    for record, before in pending:
        texts[record.id], alone = passage_and_alone(record, before, cleaning)
        if texts[record.id] == alone:
            continue
        if says_nothing(record.text):
            texts[record.id] = alone
        elif len(record.text) <= SHORT_CHARS and tells(embedder):
            doubtful[record.id] = alone
    if doubtful:
        told = emptiness(await embed(list(doubtful.values())))
        texts |= {number: doubtful[number] for number, share in zip(doubtful, told, strict=True) if share > SURE}
    return texts


async def put_vectors(
    run: Runner,
    index: SemanticIndex,
    embedder: str,
    texts: Mapping[int, str],
    embed: Callable[[list[str]], Awaitable[Floats]],
    *,
    is_needed: Callable[[], bool],
    storing: AbstractContextManager[Any],
    put: Callable[..., Any] | None = None,
) -> bool:
    """Give records the vectors of their passages; each distinct text is embedded only once.

    Returns False and stores nothing if the vectors are no longer ``is_needed`` once they were made; ``storing`` is held
    while that is asked and they are stored, by ``put`` if that is given.
    """
    keys = {number: content_key(embedder, text) for number, text in texts.items()}
    by_key = {keys[number]: text for number, text in texts.items()}
    known = await run.call(index.known, list(by_key))
    missing = [key for key in by_key if key not in known]
    fresh = dict(zip(missing, await embed([by_key[key] for key in missing]), strict=True)) if missing else {}
    # The width is the vectors': to ask a model for it may cost a call.
    width = len(next(iter((fresh or known).values())))

    def stored() -> bool:
        with storing:
            if is_needed():
                (put or index.put_vectors)((embedder, width), keys, fresh)
                return True
            return False

    return await run.call(stored)
