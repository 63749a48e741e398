"""Which memories a call reaches: its owner's own, and the shared spaces that were opened to it."""

from __future__ import annotations

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.tool import Call
from hybrid_memory.tools.versions import named


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
