"""The tool that gives to others: `memory_share`."""

from __future__ import annotations

from pydantic import Field

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.notes import Remembering, remember
from hybrid_memory.tools.reach import home, reached
from hybrid_memory.tools.reading import short_name
from hybrid_memory.tools.tool import Call, MemoryTool
from hybrid_memory.tools.versions import NOTED_WITH, named, position
from hybrid_memory.validation import CheckedModel, shown


class Sharing(CheckedModel):
    """What to share, and where."""

    space: str = Field(default="", description="The name of a shared space; empty to see which there are")
    text: str = Field(default="", description="One statement that others understand: 'Alice lives in Rome'")
    handle: str = Field(default="", description="Instead of a text: a turn or note to copy there, such as '#12'")


async def share(call: Call, memory: ScopedMemory, wanted: Sharing) -> str:
    """Write a note into a space that was opened to the call, unless one there says the same; or name the spaces."""
    if not wanted.space.strip():
        names = [str(there.scope.space) for there in (await reached(call, memory))[1:]]
        return f"Shared spaces: {', '.join(names)}." if names else "No shared space is open here."
    if wanted.space not in call.spaces:
        there = f"choose one of {', '.join(call.spaces)}" if call.spaces else "none is"
        raise InvalidInputError(f"the space {shown(wanted.space)} is not open here: {there}")
    if bool(wanted.text.strip()) == bool(wanted.handle.strip()):
        raise InvalidInputError("what to share? give either text or handle")
    note = Remembering(text=wanted.text)
    if wanted.handle.strip():
        place = position(wanted.handle)
        messages: list[Message] = await call((await home(call, memory, place)).expand, named(place))
        note = _copied(messages[0])
    return f"In {wanted.space}: {await remember(call, memory.space(wanted.space), note)}"


def _copied(turn: Message) -> Remembering:
    """The words, and of a turn who said them; a note needs no speaker."""
    who = "" if NOTED_WITH in turn.metadata else f"{short_name(turn.speaker)}: "
    text = f"{who}{turn.text}"
    return Remembering(text=text) if turn.importance is None else Remembering(text=text, importance=turn.importance)


SHARE = MemoryTool(
    "memory_share",
    "Give others what they need to know: write a note into a shared space, or copy what memory_recall gave. "
    "All who may read the space will find it. Share nothing private unless the user asks for it.",
    Sharing,
    share,
)
