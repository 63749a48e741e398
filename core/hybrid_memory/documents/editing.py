"""Changes of documents: computed from the current revisions, written all or none, and again if others were faster.

A file is stored as messages, one for each paragraph, list item and fenced block, so that each is found and forgotten.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hybrid_memory.documents.document import (
    MAX_CHARS,
    Block,
    Documents,
    DocumentsProjection,
    Part,
    Revision,
    block_path,
    checked_length,
    is_block,
    label_of,
)
from hybrid_memory.errors import FileError, IdConflictError, InvalidInputError, OutdatedError, StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import EARLIER, Message, Origin, lowest
from hybrid_memory.log.port import Draft, LogState
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.keepout import kept_out
from hybrid_memory.store.remember import draft_of, forgotten, stored_text
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.text.sentences import blocks as text_blocks
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import checked_text, shown, whole

MAX_BLOCK_CHARS = 100_000
MAX_FILE_CHARS = 1_000_000
MAX_ARGUMENT_CHARS = 2000  # the longest description, id or source
RACES = 100  # how many changes by others may interfere before the call fails
WHOLE = ("write", "rethink")  # the changes that leave nothing of the old text
DERIVED = 0.5  # the share of the shorter piece's words from which a later piece counts as derived from an earlier one

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+\S")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_FIELD = re.compile(r"[^\s:：|][^:：|]{0,40}(?::\s|：)")
_ENDED = re.compile(r"[.!?。！？…][\"'”’)）」』*_]*\s*$")
_MARKS = re.compile(r"[\s\-*_=#>|`~+:.]*")
"""Lines without words: rules, fences, empty bullets."""

Change: TypeAlias = Callable[[str], str]  # the new text, given the current one; may raise `InvalidInputError`

Written: TypeAlias = tuple[list[Revision], list[Draft]]
"""The next revisions, without numbers, and new messages of them; no revisions to change nothing."""


@dataclass(frozen=True, slots=True)
class Owned:
    """The owner of the documents, as a view shows them."""

    services: Services
    scope: Scope


async def current_documents(run: Runner, owned: Owned, state: LogState | None = None) -> Documents:
    """The owner's documents as this view shows them; ``state`` is that of the log with their kinds, if known."""
    view = await in_view(run, owned.services, owned.scope, state)
    key = view.owner, view.rolled, view.horizon
    return await owned.services.state(DocumentsProjection).read_log(run, view.log, key, state)


async def history(run: Runner, owned: Owned, path: str) -> Sequence[Revision]:
    """A document after each of its changes, oldest first; raises `FileError` if it never existed."""
    kept = await current_documents(run, owned)
    if path not in kept.histories:
        raise missing(path, kept)
    return kept.histories[path]


async def messages_of(run: Runner, owned: Owned, ids: Sequence[str]) -> list[Event]:
    """The messages with these ids, without those that were destroyed."""
    if not ids:
        return []
    view = await in_view(run, owned.services, owned.scope)
    return await run.call(view.truth.get, owned.scope.owner, ids)


async def changed(
    run: Runner, owned: Owned, path: str, make: Callable[[Documents], Coroutine[Any, Any, Written]]
) -> Revision | None:
    """The document after the change that ``make`` computes from the current documents; None if there is none then.

    Messages that are in no document any more are superseded, those of an earlier revision restored.
    """
    services, scope = present(owned.services), owned.scope
    for _ in range(RACES):
        seen = await run.call(services.truth.head, scope)
        # What a rollback hides keeps its number. Read first: what others write from here on then takes the id.
        everything = await services.state(DocumentsProjection).read(run, services, scope)
        kept = await current_documents(run, owned)
        revisions, drafts = await make(kept)
        if not revisions:
            return kept.get(path)
        at = services.clock()
        numbers = {path: changes[-1].number for path, changes in everything.histories.items()}
        made = [replace(one, number=1 + numbers.get(one.path, 0), at=at, author=services.author) for one in revisions]
        new = {draft.id for draft in drafts}
        before = {name for one in made if (old := kept.get(one.path)) is not None for name in old.ids}
        after = {name for one in made for name in one.ids if name not in new}
        if before != after:
            events = await messages_of(run, owned, sorted(before ^ after))
            gone = [event for event in events if event.id in before]
            payload = {
                "positions": [event.position for event in gone],
                "ids": [event.id for event in gone],
                "restored": [event.position for event in events if event.id in after],
                "by": {},
            }
            drafts += [services.draft(EventKind.SUPERSEDED, payload, author=services.author)] if events else []
        drafts += [one.draft(at) for one in made]
        with suppress(OutdatedError, IdConflictError):  # somebody was faster
            await run.call(services.truth.append, scope.owner, drafts, seen=seen)
            return next((one for one in made if one.path == path), None)
    raise StoreUnavailableError(f"others kept changing {_called(path)} at the same time: try again")


async def write(
    run: Runner,
    owned: Owned,
    path: str,
    name: str,
    change: Change,
    *,
    call: str,
    source: str | Sequence[str],
    origin: Origin | str | None,
    default: Origin,
    seen: int | None = None,
) -> Revision:
    """The document with its text changed; concurrent changes are merged, since each starts from the current text.

    Only ``write`` may create the document. ``call`` makes the change idempotent, ``source`` are ids of the messages it
    is based on, ``seen`` is the revision that a new text is based on. The new words have no higher origin than these:
    by default the assistant's for a change that has an id or sources, and otherwise ``default``.
    """
    services = owned.services
    sources = (source,) if isinstance(source, str) and source else tuple(source)
    origin = (Origin.ASSISTANT if call or sources else default) if origin is None else origin
    for label, value in [("id", call), *(("source", one) for one in sources)]:
        if len(checked_text(label, value)) > MAX_ARGUMENT_CHARS:
            raise InvalidInputError(f"{label} has at most {MAX_ARGUMENT_CHARS} characters, got {shown(value)}")
    if origin not in tuple(Origin):
        raise InvalidInputError(f"unknown origin {shown(origin)}: choose one of {', '.join(Origin)}")
    said = await run.call(services.truth.get, owned.scope.owner, list(sources)) if sources else []
    spoken = lowest((Origin(origin), *(event.origin for event in said if event.kind is EventKind.MESSAGE)))

    async def make(kept: Documents) -> Written:
        before = kept.get(path)
        if before is None and name != "write":
            raise missing(path, kept)
        if call and any(made.call == call for made in kept.histories.get(path, ())):
            return [], []
        kept.check_free(path)
        start = before or Revision(path, "")
        events = await messages_of(run, owned, start.ids)
        old = text_of(start, events)
        text = _changed_text(start, old, change, seen if name == "rethink" else None)
        text = (await kept_out(run, services, owned.scope)).masked(stored_text(services, text))
        if text == old and before is not None and not is_block(path):
            return [], []
        # Sources of what is written in a space may lie in the writer's own log.
        own = sources if owned.scope.space is None else ()
        if lost := await forgotten(run, services, owned.scope.owner, own):
            raise InvalidInputError(f"it comes from {shown(lost)}, which was forgotten: nothing was changed")
        made = replace(start, change=name, call=call, base=None, moved="", origin=spoken)
        if not is_block(path):
            parts, drafts = as_messages(
                services, owned.scope.owner, text, path=path, origin=spoken, sources=sources, events=events
            )
            return [replace(made, parts=parts)], drafts
        limit = max(MAX_CHARS, len(text)) if before is None else start.max_chars
        checked_length(label_of(path), text, limit)
        mixed = [start.origin] if old and name not in WHOLE else []
        origin = lowest((spoken, services.speaks, *mixed))
        return [replace(made, value=text, sources=sources, origin=origin, max_chars=limit)], []

    return await changed(run, owned, path, make) or Revision(path, name, removed=True)


def _changed_text(start: Revision, old: str, change: Change, seen: int | None) -> str:
    called = _called(start.path)
    if start.read_only:
        raise FileError("read_only", f"{called} is read-only")
    if seen not in (None, start.number):
        raise InvalidInputError(f"{called} was changed in the meantime: merge both versions; it now says:\n{old}")
    text = checked_text("the text", change(old))
    if "\x00" in text:
        raise FileError("text", "a file of a memory is text: this has NUL characters, as binary data has")
    if len(text) > MAX_FILE_CHARS:
        raise FileError("text", f"a file has {MAX_FILE_CHARS:,} characters at most, got {len(text):,}: split it")
    return text


async def put(run: Runner, owned: Owned, block: Block) -> Block:
    """Set a block, even if it is read-only; raises `InvalidInputError`."""
    made = _checked_block(owned.services, block)

    async def make(_: Documents) -> Written:
        return [made], []

    return (await changed(run, owned, made.path, make) or made).block


async def begin(run: Runner, owned: Owned, blocks: Sequence[Block]) -> None:
    """Give these blocks, all or none, to an owner who never had any; otherwise do nothing."""
    revisions = [_checked_block(owned.services, block) for block in blocks]

    async def make(_: Documents) -> Written:
        everything = await owned.services.state(DocumentsProjection).read(run, owned.services, owned.scope)
        return ([] if any(map(is_block, everything.histories)) else revisions), []

    await changed(run, owned, revisions[0].path, make)


async def delete(run: Runner, owned: Owned, path: str) -> None:
    """Remove a document, or all files in a folder. The history remains."""

    async def make(kept: Documents) -> Written:
        removed = kept.named(path)
        if not removed:
            raise missing(path, kept)
        change = "remove" if is_block(path) else "delete"
        return [_gone(one, change) for one in removed], []

    await changed(run, owned, path, make)


def _gone(one: Revision, change: str, moved: str = "") -> Revision:
    return replace(one, change=change, removed=True, parts=(), moved=moved, sources=(), call="", base=None)


async def rename(run: Runner, owned: Owned, old: str, new: str) -> None:
    """Move a file, or all files in a folder, to another path."""

    async def make(kept: Documents) -> Written:
        moved = kept.named(old)
        if not moved:
            raise missing(old, kept)
        return [made for one in moved for made in _moved(kept, one, new + one.path[len(old) :], "rename")], []

    await changed(run, owned, old, make)


def _moved(kept: Documents, one: Revision, path: str, change: str, base: int | None = None) -> list[Revision]:
    """The file at its old path, and at the new one."""
    if kept.named(path):
        raise FileError("exists", f"there is a file {shown(path)} already: give another path")
    kept.check_free(path)
    return [
        _gone(one, change, moved=path),
        replace(one, path=path, change=change, moved=one.path, sources=(), call="", base=base),
    ]


async def undo(run: Runner, owned: Owned, path: str) -> Revision:
    """The document after its last effective change was undone."""

    async def make(kept: Documents) -> Written:
        pair, now = kept.last_change(path), kept.get(path)
        if pair is None or (is_block(path) and pair[1] is None):
            raise FileError("missing", f"{_called(path)} has no change to undo")
        reverted, before = pair
        if now is not None and reverted.moved and (before is None or before.removed):
            earlier = kept.histories.get(reverted.moved, ())
            base = next((one.content_number for one in earlier[::-1] if not one.removed), None)
            return _moved(kept, now, reverted.moved, "undo", base), []
        if before is None:
            return [Revision(path, "undo", base=0, removed=True)], []
        if not before.removed and now is None and not is_block(path):
            kept.check_free(path)
        return [replace(before, change="undo", base=before.number, moved="", sources=(), call="")], []

    return await changed(run, owned, path, make) or Revision(path, "undo", removed=True)


async def blocks(run: Runner, owned: Owned, state: LogState | None = None) -> dict[str, Block]:
    """The existing blocks by label; for ``state`` see `current_documents`."""
    kept = await current_documents(run, owned, state)
    return {label_of(made.path): made.block for made in kept.current if is_block(made.path)}


def text_of(made: Revision, events: Iterable[Event]) -> str:
    """The text of a document, given its messages; destroyed messages leave nothing."""
    words = {event.id: event.message.text for event in events}
    kept = (part for part in made.parts if not part.id or part.id in words)
    return made.value + "".join(words.get(part.id, "") + part.tail for part in kept)


def block_change(path: str, *, append: str | None, old: str | None, new: str, value: str | None) -> tuple[str, Change]:
    """The change of a block's text, and its name; raises `InvalidInputError` unless exactly one is given."""
    if sum(part is not None for part in (append, old, value)) != 1:
        raise InvalidInputError("give exactly one of append=, old= (with new=) and value=")
    if old is not None:
        return "replace", replaced(path, old, new)
    if value is not None:
        return "rethink", lambda _: value
    if not (append or "").strip():
        raise InvalidInputError("append is empty: say what to add")
    return "append", lambda text: f"{text}\n{append}" if text else str(append)


def replaced(path: str, old: str, new: str, *, everywhere: bool = False) -> Change:
    """A change that replaces ``old`` by ``new``."""
    if not old:
        raise FileError("absent", "old is empty: quote the words to replace exactly")

    def change(text: str) -> str:
        lines = lines_with(text, old)
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


def lines_with(text: str, words: str) -> list[int]:
    """The number of the line, from 1, of each place in a text where these words occur."""
    return [text.count("\n", 0, found.start()) + 1 for found in re.finditer(re.escape(words), text)]


def inserted(path: str, line: int, words: str) -> Change:
    """A change that inserts text after a line; 0 is the beginning."""
    number = whole("line", line, 0)

    def change(text: str) -> str:
        lines = text.removesuffix("\n").split("\n") if text else []
        if number > len(lines):
            raise FileError("line", f"{shown(path)} has {len(lines)} lines, got {number}")
        ending = "\r\n" if lines and lines[0].endswith("\r") else "\n"
        before = "".join(f"{one}\n" for one in lines[:number])
        new = words if words.endswith("\n") or not words else words + ending
        return before + new + text[len(before) :]

    return change


def missing(path: str, kept: Documents) -> FileError:
    """The error for a document that does not exist."""
    if is_block(path):
        labels = ", ".join(repr(label_of(one.path)) for one in kept.current if is_block(one.path)) or "none"
        return FileError("missing", f"there is no block {label_of(path)!r}; there are: {labels}")
    return FileError("missing", f"there is no file {shown(path)}: list() shows those that there are")


def _called(path: str) -> str:
    return f"the block {label_of(path)!r}" if is_block(path) else f"the file {shown(path)}"


def _checked_block(services: Services, block: Block) -> Revision:
    """The block that the application puts, validated: what `Block` holds was not."""
    described = stored_text(services, checked_text("description", block.description))
    whole("the length of a description", len(described), 0, MAX_ARGUMENT_CHARS)
    whole("max_chars", block.max_chars, 1, MAX_BLOCK_CHARS)
    if not isinstance(block.read_only, bool):
        raise InvalidInputError(f"read_only must be True or False, got {shown(block.read_only)}")
    path = block_path(block.label)
    text = checked_length(block.label, stored_text(services, checked_text("value", block.value)), block.max_chars)
    return Revision(
        path, "put", origin=services.speaks, value=text, description=described, max_chars=block.max_chars,
        read_only=block.read_only,
    )  # fmt: skip


def units(text: str) -> list[tuple[str, str]]:
    """The pieces of a text in order: the words, empty for punctuation and white space, and what follows up to the next.

    A new piece begins after a blank line, after a line that ends a sentence, and at an unindented list item, a line
    that begins with a field, or a heading. A heading stays with what follows it; a fenced block is never split.
    """
    pieces: list[str] = []
    open_ended, ended = False, True
    lines = (
        (fenced, line) for fenced, part in text_blocks(text) for line in ([part] if fenced else _LINE.findall(part))
    )
    for fenced, line in lines:
        empty, heading = not line.strip(), _HEADING.match(line) is not None
        begins = ended or (not fenced and any(form.match(line) for form in (_HEADING, _ITEM, _FIELD)))
        if not pieces or (begins and not open_ended and not empty):
            pieces.append("")
        open_ended = open_ended if empty else heading
        pieces[-1] += line
        ended = empty or (not fenced and not line[:1].isspace() and _ENDED.search(line) is not None)
    made: list[tuple[str, str]] = []
    for piece in pieces:
        words = piece.rstrip()
        if _MARKS.fullmatch(words):
            made.append(("", piece))
            continue
        begin = len(piece) - len(piece.lstrip("\r\n"))
        made += [("", piece[:begin])] if begin else []
        made.append((words[begin:], piece[len(words) :]))
    return made


def as_messages(
    services: Services,
    scope: Scope,
    text: str,
    *,
    path: str,
    origin: Origin,
    sources: Sequence[str],
    events: Sequence[Event],
) -> tuple[tuple[Part, ...], list[Draft]]:
    """The parts of a file's text: messages that the file already has, and new ones in the user's role.

    A new piece that reuses words of a removed one is derived from it: it has the lowest of their origins, and is
    forgotten with it.
    """
    parts_by_words = {event.message.text: Part(event.id, "", len(event.message.text.encode())) for event in events}
    pieces = units(text)
    kept = {words for words, _ in pieces}
    removed = [(event, set(terms(event.message.text))) for event in events if event.message.text not in kept]
    rows_by_term: dict[str, list[int]] = defaultdict(list)
    for row, (_, own) in enumerate(removed):
        for term in own:
            rows_by_term[term].append(row)
    parts, drafts = list[Part](), list[Draft]()
    for words, tail in pieces:
        if words and words not in parts_by_words:
            own = set(terms(words)) if removed else set()
            shared = Counter(row for term in own for row in rows_by_term.get(term, ()))
            earlier = [
                removed[row][0]
                for row, count in sorted(shared.items())
                if count >= DERIVED * min(len(own), len(removed[row][1]))
            ]
            spoken = lowest((Origin.USER, origin, services.speaks, *(event.origin for event in earlier)))
            extra = {"made_of": list(sources), EARLIER: [event.id for event in earlier]}
            message = Message(
                content=words,
                metadata={"noted_with": "file", "file": path},
                origin=None if spoken is Origin.USER else spoken,
                extra={name: ids for name, ids in extra.items() if ids},
            )
            draft = draft_of(services, scope, message)
            parts_by_words[words] = Part(draft.id, "", len(str(draft.payload["content"]).encode()))
            drafts.append(draft)
        parts.append(parts_by_words[words]._replace(tail=tail) if words else Part("", tail))
    return tuple(parts), drafts
