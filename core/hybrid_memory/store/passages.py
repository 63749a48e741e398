"""Chooses what to embed for pending turns: some say nothing without the turn they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from hybrid_memory.arrays import Floats
from hybrid_memory.config import CleaningLevel
from hybrid_memory.index.derive import passage_and_alone
from hybrid_memory.index.record import Record
from hybrid_memory.text.speech import SHORT_CHARS, SURE, emptiness, says_nothing, tells

Pending: TypeAlias = Sequence[tuple[Record, Record | None]]
"""Records without a vector yet, each with the previous turn of its segment."""


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
