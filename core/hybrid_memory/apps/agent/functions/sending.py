"""The function by which a model speaks to the user."""

from __future__ import annotations

from pydantic import Field

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.tool import Call, MemoryTool
from hybrid_memory.validation import CheckedModel


class Sending(CheckedModel):
    """What to say."""

    message: str = Field(description="What the user reads")


async def send(call: Call, memory: ScopedMemory, wanted: Sending) -> str:
    """The message itself: whoever runs the function hands it to the user."""
    _ = call, memory
    if not wanted.message.strip():
        raise InvalidInputError("message is empty: say something to the user")
    return wanted.message


SEND = MemoryTool("send_message", "Say something to the user: the only words of yours that they see.", Sending, send)
