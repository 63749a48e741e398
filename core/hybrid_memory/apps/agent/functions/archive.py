"""Functions for archival memory: notes of the model's own, of any length, found again by what they say."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from hybrid_memory.apps.agent.functions.pages import PAGE, Page, paged, ranked
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.record import Record
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.notes import outside
from hybrid_memory.tools.reading import line_of
from hybrid_memory.tools.tool import Call, MemoryTool
from hybrid_memory.tools.versions import NOTED_WITH, named
from hybrid_memory.validation import CheckedModel

INSERTED = "archival_memory_insert"
TAGS = "tags"
MAX_TAGS = 8


def _listed(tags: Any) -> Any:
    return tags.replace(",", " ").split() if isinstance(tags, str) else tags


Tags = Annotated[list[str], BeforeValidator(_listed)]


class Inserting(CheckedModel):
    """What to keep."""

    content: str = Field(description="A note that can be understood alone, of any length")
    tags: Tags = Field(default_factory=list, max_length=MAX_TAGS, description="Labels to search by, if any")


async def insert(call: Call, memory: ScopedMemory, wanted: Inserting) -> str:
    """Keep a note for ever."""
    if not wanted.content.strip():
        raise InvalidInputError("content is empty: say what to keep")
    note = Message(
        role=Role.ASSISTANT,
        content=wanted.content,
        id=f"archival:{call.key}" if call.key else None,
        extra={"made_of": list(call.sources)} if call.sources else {},
        metadata={NOTED_WITH: INSERTED, **({TAGS: wanted.tags} if wanted.tags else {})},
    )
    receipt: Receipt = await call(outside(memory).remember, note)
    return f"Kept as {named(receipt.positions[0])}." if receipt.positions else "Kept; it can be found a little later."


class SearchingArchive(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    tags: Tags = Field(default_factory=list, max_length=MAX_TAGS, description="Only notes with all of these")
    page: int = PAGE


async def search(call: Call, memory: ScopedMemory, wanted: SearchingArchive) -> str:
    """Notes that answer the query, best first, a page at a time."""
    page = Page.of(call, wanted.page)
    found = await _notes(call, memory, wanted.query, wanted.tags, page)
    head = ""
    if wanted.tags and not found:  # models invent tags
        head = f"No note has the tags {', '.join(wanted.tags)}; without them:\n"
        found = await _notes(call, memory, wanted.query, [], page)
    lines = [line_of(record, wanted.query, page.line_tokens) for record in found[page.start : page.end]]
    return (head if lines else "") + paged(
        lines, page, more=len(found) > page.end, nothing="Archival memory has nothing about that."
    )


async def _notes(call: Call, memory: ScopedMemory, query: str, tags: list[str], page: Page) -> list[Record]:
    """The notes with these tags up to the end of the page, best first, and one more if there is one."""

    def tagged(record: Record) -> bool:
        return set(tags) <= set(record.metadata.get(TAGS, ()))

    return await ranked(call, memory, query, page, tagged, metadata={NOTED_WITH: INSERTED})


ARCHIVE = MemoryTool(
    INSERTED,
    "Keep a note in archival memory, which has no limit: details that would take too much of your working context.",
    Inserting,
    insert,
)
SEARCH_ARCHIVE = MemoryTool(
    "archival_memory_search",
    "Search archival memory, five notes a page. Each line has a handle such as #12.",
    SearchingArchive,
    search,
)
