"""Handles as a model writes them, which note took the place of which turn, and which memories a call reaches."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import handle
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.tool import Call
from hybrid_memory.validation import shown

NOTED_WITH = "noted_with"
"""Metadata of every note: the tool that wrote it."""

REPLACES = "replaces"
"""Metadata of a note that `update` wrote: the position of the turn whose place it takes."""

UPDATED = "memory_update"

MAX_STRETCH = 500

MAX_UPDATES = 1000
"""So many are looked at, those nearest to the question first."""

_HANDLE = re.compile(r"\[?#?(\d{1,18})(?:\s*-\s*#?(\d{1,18}))?\]?")


def stretch(text: str, most: int | None = MAX_STRETCH) -> tuple[int, int]:
    """The first and last position of a handle; raises `InvalidInputError` if it is none, or is longer than ``most``."""
    match = _HANDLE.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{shown(text)} is no handle: give one that memory_recall gave, such as '#12'")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first or (most is not None and last >= first + most):
        raise InvalidInputError(f"{shown(text)} must ascend{f', over {most} places at most' if most else ''}")
    return first, last


def position(text: str) -> int:
    """The position of a handle of one turn; raises `InvalidInputError`."""
    first, last = stretch(text)
    if first != last:
        raise InvalidInputError(f"{shown(text)} is a stretch: give the handle of each turn, such as '#12'")
    return first


async def updates(call: Call, memory: ScopedMemory, query: str) -> dict[int, Record]:
    """The note that took the place of a turn, by the position of that turn.

    Args:
        call: of verbs.
        memory: whose.
        query: any text; one that is recalled for anyway costs nothing more to embed.
    """
    hits = await call(memory.recall, query, k=MAX_UPDATES, kinds=(RecordKind.TURN,), metadata={NOTED_WITH: UPDATED})
    notes = sorted((hit.record for hit in hits), key=lambda record: record.turn)
    # A note stands behind what it replaces, whatever an application writes into metadata: so no chain is a circle.
    return {old: note for note in notes if isinstance(old := note.metadata.get(REPLACES), int) and old < note.turn}


def newest(place: int, replaced: Mapping[int, Record]) -> int:
    """The position of what stands now instead of the turn at this place; the place itself if it was not replaced."""
    while place in replaced:
        place = replaced[place].turn
    return place


def with_older(places: Collection[int], replaced: Mapping[int, Record]) -> list[int]:
    """These places, ascending, and those whose turns they replaced, which would be recalled again without them."""
    return sorted({*places, *(old for old in replaced if not _chain(old, replaced).isdisjoint(places))})


def _chain(place: int, replaced: Mapping[int, Record]) -> set[int]:
    chain = set()
    while place in replaced:
        place = replaced[place].turn
        chain.add(place)
    return chain


def named(place: int) -> str:
    """The handle of one turn."""
    return handle(place, place)


async def reached(call: Call, memory: ScopedMemory) -> list[ScopedMemory]:
    """The memory, and behind it those of the call's spaces that its user and agent may read now."""
    if not call.spaces:
        return [memory]
    readable = frozenset(await call(memory.spaces))
    return [memory, *(memory.space(name) for name in call.spaces if name in readable)]


async def home(call: Call, memory: ScopedMemory, place: int) -> ScopedMemory:
    """Where the turn at this position of the log stands; the memory itself if it stands nowhere that is reached."""
    if not call.spaces:
        return memory
    for there in await reached(call, memory):
        try:
            await call(there.expand, named(place))
        except InvalidInputError:
            continue
        return there
    return memory
