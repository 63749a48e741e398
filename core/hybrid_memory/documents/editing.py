"""Changes of documents: computed from the current revisions, written all or none, and again if others were faster."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hybrid_memory.documents.document import (
    MAX_CHARS,
    Block,
    Documents,
    DocumentsProjection,
    Revision,
    block_path,
    checked_length,
    is_block,
    label_of,
)
from hybrid_memory.documents.pieces import Writing, as_messages, joined
from hybrid_memory.errors import (
    FileError,
    IdConflictError,
    InvalidInputError,
    OutdatedError,
    StoreUnavailableError,
)
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Origin, lowest
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.keepout import kept_out
from hybrid_memory.store.projection import head
from hybrid_memory.store.remember import forgotten, stored_text
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_count, checked_text, shown

MAX_BLOCK_CHARS = 100_000
MAX_FILE_CHARS = 1_000_000
MAX_ARGUMENT_CHARS = 2000
"""The longest description, id or source."""

RACES = 100
"""How many changes by others may interfere before the call fails."""

AT_ONCE = 500
"""Messages read at once."""

Change: TypeAlias = Callable[[str], str]
"""The new text, given the current one; may raise `InvalidInputError`."""

Written: TypeAlias = tuple[list[Revision], list[Draft]]
"""The next revisions, without numbers, and events to write with them; no revisions to change nothing."""


@dataclass(frozen=True, slots=True)
class Owned:
    """The owner of the documents, as a view shows them."""

    services: Services
    scope: Scope


async def current_documents(run: Runner, owned: Owned) -> Documents:
    """The owner's documents as this view shows them."""
    view = await in_view(run, owned.services, owned.scope)
    return await owned.services.state(DocumentsProjection).seen(run, view)


async def messages_of(run: Runner, owned: Owned, revisions: Iterable[Revision]) -> list[Event]:
    """The messages of which these files consist, without those that were destroyed."""
    ids = list(dict.fromkeys(name for one in revisions for name in one.ids))
    events: list[Event] = []
    if ids:
        view = await in_view(run, owned.services, owned.scope)
        for start in range(0, len(ids), AT_ONCE):
            events += await run.call(view.truth.get, owned.scope.owner, ids[start : start + AT_ONCE])
    return events


async def writing_of(
    run: Runner,
    owned: Owned,
    change: str,
    *,
    call: str,
    source: str | Sequence[str],
    origin: Origin | str | None,
    default: Origin,
    seen: int | None = None,
    whole: bool = False,
    creates: bool = False,
) -> Writing:
    """How the caller changes a document, validated.

    The origin of the words is the stated one, but no higher than that of the messages they are based on. By default it
    is the assistant's for a change that has an id or sources, and ``default`` otherwise.
    """
    if seen is not None and (isinstance(seen, bool) or not isinstance(seen, int)):
        raise InvalidInputError(f"revision must be a block's revision, got {shown(seen)}")
    sources = (source,) if isinstance(source, str) else tuple(source)
    for name, value in [("id", call), *(("source", one) for one in sources)]:
        if checked_text(name, value) and len(value) > MAX_ARGUMENT_CHARS:
            raise InvalidInputError(f"{name} is too long: {shown(value)}")
    if origin is None:
        origin = Origin.ASSISTANT if call or sources else default
    elif origin not in tuple(Origin):
        raise InvalidInputError(f"unknown origin {shown(origin)}: choose one of {', '.join(Origin)}")
    events = await run.call(owned.services.truth.get, owned.scope.owner, list(sources)) if sources else []
    lower = lowest((Origin(origin), *(event.origin for event in events if event.kind is EventKind.MESSAGE)))
    return Writing(change, lower, sources, call, seen, whole, creates)


async def changed(
    run: Runner, owned: Owned, path: str, make: Callable[[Documents], Coroutine[Any, Any, Written]]
) -> Revision | None:
    """The document after the change that ``make`` computes from the current documents; None if there is none then."""
    services, scope = present(owned.services), owned.scope
    for _ in range(RACES):
        seen = await head(run, services, scope)
        # What a rollback hides keeps its number. Read first: what others write from here on then takes the id.
        everything = await services.state(DocumentsProjection).read(run, services, scope)
        kept = await current_documents(run, owned)
        revisions, drafts = await make(kept)
        if not revisions:
            return kept.get(path)
        at = services.clock()
        made = [
            replace(one, number=1 + everything.number(one.path), at=at, author=services.author) for one in revisions
        ]
        for one in made:
            draft = services.draft(
                one.kind, one.as_payload(), id=one.name, sources=one.sources, author=services.author
            )  # fmt: skip
            drafts.append(replace(draft, at=at))
        with suppress(OutdatedError, IdConflictError):  # somebody was faster
            await run.call(services.truth.append, scope.owner, drafts, seen=seen)
            return next((one for one in made if one.path == path), None)
    raise StoreUnavailableError(f"others kept changing {_called(path)} at the same time: try again")


async def write(run: Runner, owned: Owned, path: str, change: Change, writing: Writing) -> Revision:
    """The document with its text changed; concurrent changes are merged, since each starts from the current text."""
    services = owned.services

    async def make(kept: Documents) -> Written:
        before = kept.get(path)
        if before is None and not writing.creates:
            raise missing(path, kept)
        if writing.call and any(made.call == writing.call for made in kept.histories.get(path, ())):
            return [], []
        if is_block(path):
            _check_editable(before, writing)
        else:
            kept.check_free(path)
        events = [] if before is None else await messages_of(run, owned, [before])
        old = "" if before is None else before.text + joined(before.parts, events)
        text = (await kept_out(run, services, owned.scope)).masked(stored_text(services, checked_file(change(old))))
        if before is not None and text == old and not is_block(path):
            return [], []
        # Sources of what is written in a space may lie in the writer's own log.
        sources = writing.sources if owned.scope.space is None else ()
        if lost := await forgotten(run, services, owned.scope.owner, sources):
            raise InvalidInputError(f"it comes from {shown(lost)}, which was forgotten: nothing was changed")
        if is_block(path):
            start = before or Revision(path, "", max_chars=max(MAX_CHARS, len(text)))
            checked_length(label_of(path), text, start.max_chars)
            origin = lowest((writing.origin, services.speaks))
            if old and not writing.whole:
                origin = lowest((start.origin, origin))
            return [_next(start, writing, text=text, sources=writing.sources, origin=origin)], []
        parts, drafts = as_messages(services, owned.scope.owner, text, path=path, writing=writing, events=events)
        made = _next(Revision(path, ""), writing, parts=parts, origin=writing.origin)
        there = frozenset(made.ids)
        return [made], [*drafts, *_superseding(services, [event for event in events if event.id not in there])]

    made = await changed(run, owned, path, make)
    return made or Revision(path, writing.change, removed=True)


def _next(start: Revision, writing: Writing, **fields: Any) -> Revision:
    return replace(start, change=writing.change, call=writing.call, base=None, **fields)


async def put(run: Runner, owned: Owned, block: Block) -> Block:
    """Set a block, even if it is read-only; raises `InvalidInputError`."""
    path = block_path(block.label)
    made = _checked_block(owned.services, block)

    async def make(_: Documents) -> Written:
        return [made], []

    return (await changed(run, owned, path, make) or made).block


async def begin(run: Runner, owned: Owned, blocks: Sequence[Block]) -> None:
    """Give these blocks, all or none, to an owner who never had any; otherwise do nothing."""
    present(owned.services)
    revisions = [_checked_block(owned.services, block) for block in blocks]

    async def make(_: Documents) -> Written:
        everything = await owned.services.state(DocumentsProjection).read(run, owned.services, owned.scope)
        return ([] if any(map(is_block, everything.histories)) else revisions), []

    if revisions:
        await changed(run, owned, revisions[0].path, make)


async def delete(run: Runner, owned: Owned, path: str) -> None:
    """Remove a document, or all files in a folder. The history remains."""

    async def make(kept: Documents) -> Written:
        removed = kept.named(path)
        if not removed:
            raise missing(path, kept)
        change = "remove" if is_block(path) else "delete"
        made = [
            replace(one, change=change, removed=True, parts=(), moved="", sources=(), call="", base=None)
            for one in removed
        ]
        return made, _superseding(owned.services, await messages_of(run, owned, removed))

    await changed(run, owned, path, make)


async def rename(run: Runner, owned: Owned, old: str, new: str, change: str = "rename") -> None:
    """Move a file, or all files in a folder, to another path."""

    async def make(kept: Documents) -> Written:
        moved = kept.named(old)
        if not moved:
            raise missing(old, kept)
        made: list[Revision] = []
        for one in moved:
            path = new + one.path[len(old) :]
            if kept.named(path):
                raise FileError("exists", f"there is a file {shown(path)} already: give another path")
            kept.check_free(path)
            base = None
            if change == "undo":
                base = next(was.content_number for was in kept.histories[path][::-1] if not was.removed)
            left = replace(one, change=change, parts=(), moved=path, removed=True, call="", base=None)
            made += [left, replace(left, path=path, parts=one.parts, moved=one.path, removed=False, base=base)]
        return made, []

    await changed(run, owned, old, make)


async def undo(run: Runner, owned: Owned, path: str) -> Revision:
    """The document after its last effective change was undone."""
    renamed_from = ""

    async def make(kept: Documents) -> Written:
        nonlocal renamed_from
        pair = kept.last_change(path)
        if pair is None or (is_block(path) and pair[1] is None):
            raise FileError("missing", f"{_called(path)} has no change to undo")
        reverted, before = pair
        if reverted.moved and not reverted.removed and (before is None or before.removed):
            renamed_from = reverted.moved
            return [], []
        now = kept.get(path)
        if before is None:
            made = Revision(path, "undo", base=0, removed=True)
        else:
            made = replace(before, change="undo", base=before.number, moved="", sources=(), call="")
            if not before.removed and now is None and not is_block(path):
                kept.check_free(path)
        left, there = frozenset(made.ids), frozenset(() if now is None else now.ids)
        gone = [event for event in await messages_of(run, owned, [now] if now else []) if event.id not in left]
        back = [event for event in await messages_of(run, owned, [made]) if event.id not in there]
        return [made], _superseding(owned.services, gone, back)

    made = await changed(run, owned, path, make)
    if renamed_from:
        await rename(run, owned, path, renamed_from, "undo")
    return Revision(path, "undo", removed=True) if made is None or renamed_from else made


async def blocks(run: Runner, owned: Owned) -> dict[str, Block]:
    """The existing blocks by label."""
    return {
        label_of(made.path): made.block for made in (await current_documents(run, owned)).current if is_block(made.path)
    }


async def block_history(run: Runner, owned: Owned, path: str) -> list[Block]:
    """A block after each of its changes, oldest first; raises `InvalidInputError` if it never existed."""
    kept = await current_documents(run, owned)
    if path not in kept.histories:
        raise missing(path, kept)
    return [made.block for made in kept.histories[path]]


def block_change(path: str, *, append: str | None, old: str | None, new: str, value: str | None) -> tuple[str, Change]:
    """The change of a block's text, and its name; raises `InvalidInputError` unless exactly one is given."""
    if sum(part is not None for part in (append, old, value)) != 1:
        raise InvalidInputError("give exactly one of append=, old= (with new=) and value=")
    checked_text("new", new)
    if old is not None:
        return "replace", replaced(path, old, new)
    if append is None:
        text = checked_text("value", value)
        return "rethink", lambda _: text
    if not checked_text("append", append).strip():
        raise InvalidInputError("append is empty: say what to add")
    return "append", lambda text: f"{text}\n{append}" if text else append


def replaced(path: str, old: str, new: str, *, everywhere: bool = False) -> Change:
    """A change that replaces ``old`` by ``new``."""
    checked_text("new", new)
    if not checked_text("old", old):
        raise FileError("absent", "old is empty: quote the words to replace exactly")

    def change(text: str) -> str:
        lines = [text.count("\n", 0, place) + 1 for place in places(text, old)]
        if not lines:
            why = f"{shown(old)} does not occur in {_called(path)}: quote a part of it exactly"
            raise FileError("absent", f"{why}; it says:\n{text}" if is_block(path) else why)
        if len(lines) > 1 and not everywhere:
            where = f"it is in lines {', '.join(map(str, lines))}"
            raise FileError(
                "several", f"{shown(old)} occurs {len(lines)} times in {_called(path)}: quote a longer part; {where}"
            )
        return text.replace(old, new)

    return change


def inserted(path: str, line: int, words: str) -> Change:
    """A change that inserts text after a line; 0 is the beginning."""
    checked_text("text", words)
    number = checked_count("line", line, least=0)

    def change(text: str) -> str:
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if number > len(lines):
            raise FileError("line", f"{shown(path)} has {len(lines)} lines, got {number}")
        ending = "\r\n" if lines and lines[0].endswith("\r") else "\n"
        before = "".join(f"{one}\n" for one in lines[:number])
        new = words if words.endswith("\n") or not words else words + ending
        return before + new + text[len(before) :]

    return change


def places(text: str, words: str) -> list[int]:
    """Where these words occur in a text."""
    found, place = list[int](), text.find(words)
    while place >= 0:
        found.append(place)
        place = text.find(words, place + len(words))
    return found


def checked_file(text: Any) -> str:
    """The text; raises `FileError` if a document cannot have it."""
    if isinstance(text, bytes | bytearray):
        raise FileError("text", "a file of a memory is text: decode it first, or keep what is binary elsewhere")
    checked_text("text", text)
    if "\x00" in text:
        raise FileError("text", "a file of a memory is text: this has NUL characters, as binary data has")
    if len(text) > MAX_FILE_CHARS:
        raise FileError("text", f"a file has {MAX_FILE_CHARS:,} characters at most, got {len(text):,}: split it")
    return str(text)


def missing(path: str, kept: Documents) -> FileError:
    """The error for a document that does not exist."""
    if is_block(path):
        labels = ", ".join(repr(label_of(one.path)) for one in kept.current if is_block(one.path)) or "none"
        return FileError("missing", f"there is no block {label_of(path)!r}; there are: {labels}")
    return FileError("missing", f"there is no file {shown(path)}: list() shows those that there are")


def _called(path: str) -> str:
    return f"the block {label_of(path)!r}" if is_block(path) else f"the file {shown(path)}"


def _superseding(services: Services, gone: Sequence[Event], restored: Sequence[Event] = ()) -> list[Draft]:
    """The event by which messages are superseded or restored; none if there are neither."""
    if not gone and not restored:
        return []
    payload = {
        "positions": [event.position for event in gone],
        "ids": [event.id for event in gone],
        "restored": [event.position for event in restored],
        "by": {},
    }
    return [services.draft(EventKind.SUPERSEDED, payload, author=services.author)]


def _check_editable(before: Revision | None, writing: Writing) -> None:
    if before is None:
        return
    name = _called(before.path)
    if before.read_only:
        raise FileError("read_only", f"{name} is read-only")
    if writing.whole and writing.seen is not None and writing.seen != before.number:
        raise InvalidInputError(f"{name} was changed in the meantime: merge both versions; it now says:\n{before.text}")


def _checked_block(services: Services, block: Block) -> Revision:
    """The block that the application puts, validated."""
    path = block_path(block.label)
    described = stored_text(services, checked_text("description", block.description))
    if len(described) > MAX_ARGUMENT_CHARS:
        raise InvalidInputError(f"a description has at most {MAX_ARGUMENT_CHARS} characters, got {len(described)}")
    if isinstance(block.max_chars, bool) or checked_count("max_chars", block.max_chars, least=1) > MAX_BLOCK_CHARS:
        raise InvalidInputError(f"max_chars must lie in 1 to {MAX_BLOCK_CHARS}, got {shown(block.max_chars)}")
    if not isinstance(block.read_only, bool):
        raise InvalidInputError(f"read_only must be True or False, got {shown(block.read_only)}")
    text = checked_length(block.label, stored_text(services, checked_text("value", block.value)), block.max_chars)
    return Revision(
        path, "put", origin=services.speaks, text=text, description=described, max_chars=block.max_chars,
        read_only=block.read_only,
    )  # fmt: skip
