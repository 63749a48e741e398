"""Tools that write: `memory_remember`, `memory_update`, `memory_forget` and `memory_share`."""

from __future__ import annotations

import hashlib
from copy import copy
from itertools import islice
from typing import Annotated

from pydantic import BeforeValidator, Field

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.values import near_key
from hybrid_memory.index.record import RecordKind
from hybrid_memory.log.message import Message, Origin, lowest
from hybrid_memory.log.port import Receipt
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools.reading import line_of, short_name
from hybrid_memory.tools.tool import NOTED_WITH, REPLACES, UPDATED, Call, MemoryTool, named, newest, position
from hybrid_memory.validation import CheckedModel, shown

NOTED = "memory_remember"
MAX_CHARS = 4000
SIMILAR = 0.5  # the confidence from which on an earlier note is likely to say the same, or what this one corrects

CODE_BYTES = 3
PREVIEW_CHARS = 200
MAX_HANDLES = 8


class Remembering(CheckedModel):
    """What to note."""

    text: str = Field(
        description="One statement that can be understood alone; about the user in the first person: 'I live in Rome'"
    )
    category: str = Field(default="", description="A label, such as 'diet'")
    importance: float = Field(default=0.5, ge=0, le=1, description="0 trivial to 1 vital")


async def remember(call: Call, memory: ScopedMemory, request: Remembering, origin: Origin = Origin.ASSISTANT) -> str:
    """Write a note, unless a current one says the same; its words are the model's, unless it copies others'."""
    text = _checked_words(request.text)
    replaced = await call.updates(memory, text)
    hits = [hit for hit in await call(memory.recall, text, kinds=(RecordKind.TURN,)) if hit.record.turn not in replaced]
    for hit in hits:
        if near_key(hit.record.text) == near_key(text):
            return f"That is already remembered, as {named(hit.record.turn)}."
    notes = (hit.record for hit in hits if NOTED_WITH in hit.record.metadata and (hit.confidence or 0) >= SIMILAR)
    similar = "".join(f" An earlier note is similar: {line_of(note, text)}" for note in islice(notes, 1))
    category = {"category": request.category} if request.category.strip() else {}
    metadata, origin = {NOTED_WITH: NOTED, **category}, lowest((Origin.ASSISTANT, origin))
    note = Message(content=text, importance=request.importance, metadata=metadata, origin=origin)
    return f"Remembered{await _written(call, memory, note)}.{similar}"


class Updating(CheckedModel):
    """What to write instead."""

    handle: str = Field(description="What to correct, such as '#12'")
    text: str = Field(description="The new truth as one complete statement; about the user in the first person")


async def update(call: Call, memory: ScopedMemory, request: Updating) -> str:
    """Write a note that replaces a turn, unless another note did already: that is to be read first."""
    text, place = _checked_words(request.text), position(request.handle)
    memory = await call.home(memory, place)
    if (newer := newest(place, await call.updates(memory, text))) is not None:
        now = line_of(newer, text)
        raise InvalidInputError(f"{named(place)} was replaced meanwhile; if that is wrong too, update it: {now}")
    old: Message = (await call(memory.expand, named(place)))[0]
    category = {"category": label} if isinstance(label := old.metadata.get("category"), str) else {}
    metadata = {NOTED_WITH: UPDATED, REPLACES: place, **category}
    note = Message(content=text, importance=old.importance, metadata=metadata, origin=Origin.ASSISTANT)
    now = await _written(call, memory, note)
    known = [fact for fact in await call(memory.facts) if fact.positions == (place,)]
    if old.spoken_by is Origin.ASSISTANT:  # a model may take back what it noted, not what others said
        while known:
            await call(memory.resolve, known.pop(), reject=True)
    stands = f" Still known from there: {'; '.join(map(str, known)).removesuffix('.')}." if known else ""
    return f"Remembered{now}. It replaces {named(place)}, which stays in the history.{stands}"


class Forgetting(CheckedModel):
    """What to destroy."""

    handles: Annotated[
        list[str], BeforeValidator(lambda given: given.replace(",", " ").split() if isinstance(given, str) else given)
    ] = Field(min_length=1, max_length=MAX_HANDLES, description="From memory_recall, such as ['#12']")
    code: str = Field(default="", description="Empty to see what would be destroyed; then the code from that answer")


async def forget(call: Call, memory: ScopedMemory, request: Forgetting) -> str:
    """Show what would be destroyed; given the code from that, destroy it."""
    memory = await call.home(memory, position(request.handles[0]))
    places, replaced = set(map(position, request.handles)), await call.updates(memory, "update")
    for old in sorted(replaced, reverse=True):  # a note is newer than what it replaces
        if replaced[old].turn in places:
            places.add(old)  # otherwise it would be recalled again
    handles = [named(place) for place in sorted(places)]
    pages = [await call(memory.fetch, name, max_chars=PREVIEW_CHARS) for name in handles]
    planned: Receipt = await call(memory.forget, ids=handles, dry_run=True)
    # Who names the code was shown the words: a guessed handle destroys nothing.
    code = hashlib.blake2b("\n".join(planned.ids).encode(), digest_size=CODE_BYTES).hexdigest()
    if not request.code.strip():
        lines = [f"{name} {' '.join(page.text.split())}\n" for name, page in zip(handles, pages, strict=True)]
        return (
            "Nothing is forgotten yet. This would be destroyed for good, with everything learned from it:\n"
            f"{''.join(lines)}"
            f"If the user wants that, call memory_forget again with the same handles and code='{code}'."
        )
    if request.code.strip().strip("'\"") != code:
        raise InvalidInputError("the code does not match these handles: call memory_forget without a code to get it")
    await call(memory.forget, ids=handles)
    return f"Forgotten for good: {', '.join(handles)}."


async def _written(call: Call, memory: ScopedMemory, note: Message) -> str:
    """Writes the note, and gives its handle as words; none if the log is unreachable and it waits in the outbox."""
    receipt: Receipt = await call(outside(memory).remember, note)
    return "".join(f" as {named(place)}" for place in receipt.positions)


def outside(memory: ScopedMemory) -> ScopedMemory:
    """The memory without its session: a note is not a turn, and would come between a tool call and its result."""
    if not memory.remembers:
        raise InvalidInputError("nothing is stored in this session (remember=False): go on without a note")
    outside = copy(memory)
    outside.scope = memory.scope.owner
    return outside


def _checked_words(text: str) -> str:
    if not text.strip():
        raise InvalidInputError("text is empty: say what to remember")
    if len(text) > MAX_CHARS:
        raise InvalidInputError(
            f"text has {len(text):,} characters, at most {MAX_CHARS:,}: note what will matter of it"
        )
    return text.strip()


REMEMBER = MemoryTool(
    NOTED,
    "Keep what will matter in later conversations: a fact, preference, decision or plan. Not small talk.",
    Remembering,
    remember,
)
UPDATE = MemoryTool(
    UPDATED,
    "Correct what memory_recall returned, if it has changed or is wrong. The new text is found instead of the old.",
    Updating,
    update,
)
FORGET = MemoryTool(
    "memory_forget",
    "Destroy what memory_recall returned, only if the user asks for it. The first call shows what would be destroyed.",
    Forgetting,
    forget,
)


class Sharing(CheckedModel):
    """What to share, and where."""

    space: str = Field(default="", description="The name of a shared space; empty to list them")
    text: str = Field(default="", description="One statement that others can understand: 'Alice lives in Rome'")
    handle: str = Field(default="", description="Instead of text: a turn or note to copy, such as '#12'")


async def share(call: Call, memory: ScopedMemory, request: Sharing) -> str:
    """Write a note into a space open to the call, unless one there says the same; or list the spaces."""
    if not request.space.strip():
        names = [str(existing.scope.space) for existing in (await call.homes(memory))[1:]]
        return f"Shared spaces: {', '.join(names)}." if names else "No shared space is open here."
    if request.space not in call.spaces:
        existing = f"choose one of {', '.join(call.spaces)}" if call.spaces else "none is"
        raise InvalidInputError(f"the space {shown(request.space)} is not open here: {existing}")
    if bool(request.text.strip()) == bool(request.handle.strip()):
        raise InvalidInputError("give either text or handle")
    space = memory.space(request.space)
    if request.text.strip():
        return f"In {request.space}: {await remember(call, space, Remembering(text=request.text))}"
    place = position(request.handle)
    turn: Message = (await call((await call.home(memory, place)).expand, named(place)))[0]
    who = "" if NOTED_WITH in turn.metadata else f"{short_name(turn.speaker)}: "
    importance = {} if turn.importance is None else {"importance": turn.importance}
    note = Remembering.of({"text": f"{who}{turn.text}", **importance})
    return f"In {request.space}: {await remember(call, space, note, turn.spoken_by)}"


SHARE = MemoryTool(
    "memory_share",
    "Tell others what they need to know: write a note into a shared space, or copy what memory_recall returned. "
    "Everyone who may read the space can find it. Share nothing private unless the user asks for it.",
    Sharing,
    share,
)
