"""Documents: named texts with history, revision and origin, folded from the log; blocks and files are views of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from hybrid_memory.errors import FileError, InvalidInputError
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.erasure import Erasure, holds, plain
from hybrid_memory.store.projection import FoldedProjection, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.validation import shown

MAX_CHARS = 2000  # the default limit of a block
BLOCKS = "/blocks"  # the folder of the blocks: ``/blocks/<label>.md`` is the document with the text of a block

_LABEL = re.compile(r"[\w.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Block:
    """A labelled text that is always in the prompt; as it is now, or as it was after a change.

    Attributes:
        label: letters, digits, ``_``, ``.`` and ``-``, at most 64.
        value: the text; never longer than ``max_chars``.
        description: tells the model what belongs into it.
        read_only: whether only `BlockHandle.put`, not the model, can change it.
        revision: the number of its last change, from 1.
        change: the kind of that change: put, append, replace, rethink, undo or remove; write, edit or insert
            if it was changed as a file.
        at: when it was changed; author: by whom, in a shared space.
        sources: ids of the messages in which the model requested it.
        origin: the lowest origin of those who wrote its text; only text by operator and user goes into a system
            message.
        removed: whether this change removed it.
    """

    label: str
    value: str = ""
    description: str = ""
    max_chars: int = MAX_CHARS
    read_only: bool = False
    revision: int = 0
    change: str = "put"
    at: datetime | None = None
    author: str = ""
    sources: tuple[str, ...] = ()
    origin: Origin = Origin.OPERATOR
    removed: bool = False

    def __str__(self) -> str:
        return self.value

    @property
    def written(self) -> str:
        """The block as shown to a model that may edit it: how full it is, its description, and the text."""
        marks = ", read-only" if self.read_only else ""
        head = f"({len(self.value)} of {self.max_chars} characters{marks}) {self.description}".rstrip()
        return f"{head}\n{self.value}" if self.value else head

    def __repr__(self) -> str:
        marks = ", read-only" if self.read_only else ""
        return f"<Block {self.label} {len(self.value)}/{self.max_chars}{marks}: {shown(self.value)}>"


def checked_label(label: Any) -> str:
    """The label; raises `InvalidInputError` if it is invalid."""
    if not isinstance(label, str) or not _LABEL.fullmatch(label):
        raise InvalidInputError(f"a block's label has 1 to 64 letters, digits, '_', '.' or '-', got {shown(label)}")
    return label


def checked_length(label: str, text: str, max_chars: int) -> str:
    """The text; raises `InvalidInputError` if it is too long."""
    if len(text) > max_chars:
        raise InvalidInputError(
            f"the block {label!r} would have {len(text)} of {max_chars} characters: shorten what it says first, or "
            "keep details in archival memory"
        )
    return text


def block_path(label: Any) -> str:
    """The path of a block; raises `InvalidInputError` if the label is invalid."""
    return f"{BLOCKS}/{checked_label(label)}.md"


def is_block(path: str) -> bool:
    """Whether a document with this path is a block."""
    return path == BLOCKS or path.startswith(f"{BLOCKS}/")


def label_of(path: str) -> str:
    """The label of the block with this path; raises `InvalidInputError` if none can have it."""
    if path == BLOCKS or not path.endswith(".md"):
        raise FileError("path", f"a block is a file such as {BLOCKS}/notes.md, got {shown(path)}")
    return checked_label(path.removeprefix(f"{BLOCKS}/").removesuffix(".md"))


@dataclass(frozen=True, slots=True)
class File:
    """A file of a memory, or a folder that contains some.

    The path is absolute; the size is the bytes of its text in UTF-8, of a folder those of all files in it. It was last
    changed at ``modified_at``, None if unknown.
    """

    path: str
    size: int = 0
    modified_at: datetime | None = None
    read_only: bool = False
    folder: bool = False


class Part(NamedTuple):
    """A piece of a file: a message, the characters after its words, and their bytes; without an id only characters."""

    id: str
    tail: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Revision:
    """A document after one change, with the fields of its event.

    A block has its text. A file is a list of messages; in its `history` it has its text at that time too, without what
    was forgotten since.

    Attributes:
        path: its path at that time.
        change: write, edit, insert, rename, delete or undo; for blocks also their own changes.
        number: counts the changes of its path, from 1; 0 before it is written, as ``position`` and ``at`` are empty.
        at: when it was changed; author: by whom, in a shared space.
        origin: of the change's words.
        sources: of a block, ids of the messages that it comes from; the messages of a file have their own.
        call: makes the change idempotent.
        base: the number of the revision with the same content; None for its own, 0 if an undo left none.
        parts: the content of a file; moved: for a rename, the file's other path: the one before, or the one since.
        removed: whether the change removed it.
        value: the content of a block, and its settings, see `Block`.
    """

    path: str
    change: str
    number: int = 0
    at: datetime | None = None
    origin: Origin = Origin.USER
    author: str = ""
    sources: tuple[str, ...] = ()
    call: str = ""
    base: int | None = None
    removed: bool = False
    position: int = 0
    parts: tuple[Part, ...] = ()
    moved: str = ""
    value: str = ""
    description: str = ""
    max_chars: int = MAX_CHARS
    read_only: bool = False

    @property
    def content_number(self) -> int:
        """The number of the revision that first had this content; 0 if there is none."""
        return self.number if self.base is None else self.base

    @property
    def text(self) -> str:
        """The text of a block, or of a file in its history."""
        return self.value

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return len(self.value.encode()) + sum(part.size + len(part.tail.encode()) for part in self.parts)

    @property
    def ids(self) -> list[str]:
        """The ids of its messages, each once."""
        return list(dict.fromkeys(part.id for part in self.parts if part.id))

    @property
    def block(self) -> Block:
        """The block with this content."""
        return Block(
            label_of(self.path), self.value, self.description, self.max_chars, self.read_only, self.number, self.change,
            self.at, self.author, self.sources, self.origin, self.removed,
        )  # fmt: skip

    def draft(self, at: datetime) -> Draft:
        """The event, whose id does not reveal the path of a file; `revision` reads it."""
        values: dict[str, Any] = {"number": self.number, "change": self.change, "origin": self.origin.value}
        if is_block(self.path):
            kind, name = EventKind.BLOCK, f"block:{(label := label_of(self.path))}"
            values |= {"label": label, "value": self.value, "description": self.description}
            values |= {"max_chars": self.max_chars, "read_only": self.read_only}
        else:
            kind, name = EventKind.FILE, f"file:{hashlib.blake2b(self.path.encode(), digest_size=16).hexdigest()}"
            values |= {"path": self.path, "parts": [list(part) for part in self.parts]}
        values |= {} if self.base is None else {"base": self.base}
        optional = {"call": self.call, "moved": self.moved, "removed": self.removed}
        values |= {field: value for field, value in optional.items() if value}
        return Draft(revision_id(name, self.number), False, None, kind, at, values, self.sources, self.author)


def revision(event: Event) -> Revision:
    """The change stored in an event."""
    fields = dict(event.payload)
    path = f"{BLOCKS}/{fields.pop('label')}.md" if event.kind is EventKind.BLOCK else fields.pop("path")
    origin, parts = Origin(fields.pop("origin")), tuple(Part(*part) for part in fields.pop("parts", ()))
    return Revision(
        path, **fields, origin=origin, parts=parts, at=event.at, author=event.author, sources=event.sources,
        position=event.position,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Documents:
    """All documents of an owner after the events up to a position; ``histories`` has the revisions by path."""

    position: int = 0
    histories: Mapping[str, tuple[Revision, ...]] = field(default_factory=dict)

    def after(self, events: Iterable[Event]) -> Documents:
        """The documents after these events, which follow by position."""
        position, fresh = self.position, dict[str, list[Revision]]()
        for event in events:
            position = event.position
            if event.kind is not EventKind.ERASED:
                made = revision(event)
                fresh.setdefault(made.path, []).append(made)
        added = {path: (*self.histories.get(path, ()), *revisions) for path, revisions in fresh.items()}
        return Documents(position, {**self.histories, **added})

    def get(self, path: str) -> Revision | None:
        """The last change of an existing document."""
        history = self.histories.get(path, ())
        return None if not history or history[-1].removed else history[-1]

    @property
    def current(self) -> list[Revision]:
        """The existing documents, in the order in which they were first written."""
        return [made for path in self.histories if (made := self.get(path)) is not None]

    def named(self, path: str) -> list[Revision]:
        """The existing document at this path, or those in the folder."""
        made = self.get(path)
        return [one for one in self.current if one.path.startswith(f"{path}/")] if made is None else [made]

    def last_change(self, path: str) -> tuple[Revision, Revision | None] | None:
        """The change of this path that an undo reverts, and the content before it; None if there is no such change."""
        history = self.histories.get(path, ())
        if not history or not history[-1].content_number:
            return None
        by_number = {made.number: made for made in history}
        # What a rollback hides is not there to go back to.
        reverted = by_number.get(history[-1].content_number, history[-1])
        earlier = [made for made in history if made.number < reverted.number]
        return reverted, by_number.get(earlier[-1].content_number) if earlier else None

    def check_free(self, path: str) -> None:
        """Raise `FileError` if this path cannot be a file, because it is a folder or inside a file."""
        if any(one.path != path for one in self.named(path)):
            raise FileError("folder", f"{shown(path)} is a folder: give the path of a file")
        names = path.split("/")
        for depth in range(2, len(names)):
            if self.get(folder := "/".join(names[:depth])) is not None:
                raise FileError("path", f"{shown(folder)} is a file: {shown(path)} cannot be in it")


class DocumentsProjection(FoldedProjection[Documents]):
    """The documents of each owner. What is forgotten disappears from all revisions."""

    kinds = frozenset({EventKind.BLOCK, EventKind.FILE})
    repeats = kinds
    start = Documents
    follows = frozenset({EventKind.BLOCK, EventKind.FILE, EventKind.ERASED})
    anew = frozenset({EventKind.ERASED})

    def parse(self, event: Event) -> object:
        """The revision in an event."""
        return revision(event)

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark everything of a user; otherwise lines of blocks and pieces of files that are concerned.

        Of blocks, lines that came from the turns, are by their author, older, or have the words. Of files, the erased
        messages, and whole files that become empty or whose path has the words. All changes of a document are checked
        again whenever one is added.
        """
        await super().forget(run, services, erasure)
        if erasure.everything:
            return
        by_path: dict[str, list[Event]] = {}
        for event in await run.call(services.truth.read, erasure.scope.owner, kinds=self.kinds):
            by_path.setdefault(revision(event).path, []).append(event)
        for path, events in by_path.items():
            if is_block(path):
                erasure.rewrite(_blocks_without(events, erasure), "changes of blocks rewritten")
                continue
            payloads, left = {}, False
            for event in events:
                parts, moved = event.payload["parts"], event.payload.get("moved", "")
                kept = [part for part in parts if not erasure.made_of([part[0]])]
                left = left or any(part[0] for part in kept)
                if len(kept) < len(parts) or erasure.has_words(moved):
                    moved = "" if erasure.has_words(moved) else moved
                    payloads[event.position] = {**event.payload, "parts": kept, "moved": moved}
            if erasure.has_words(path) or (payloads and not left):
                erasure.drop(events, "changes of files")
            else:
                erasure.rewrite(payloads, "changes of files rewritten")


def _blocks_without(changes: Sequence[Event], erasure: Erasure) -> dict[int, dict[str, Any]]:
    """New payloads for these changes of one block, by position.

    Lines go that concerned changes added, and later versions of them; of old changes, the lines that they added, but
    not what replaced these since.
    """
    words, user = erasure.words, erasure.user
    banned, late, earlier, before = set[str](), set[str](), set[str](), set[str]()
    descriptions, described = {""}, ""
    for change in changes:
        lines = set(change.payload["value"].split("\n"))
        old = erasure.before is not None and change.at < erasure.before
        by_user = bool(user and change.author) and principal_of(change.author).user == user
        gone = by_user or erasure.made_of(change.sources)
        if old:
            late |= lines - earlier
        if gone or not banned.isdisjoint(before - lines):
            banned |= lines - earlier  # an undo brings back what stood there before
        if (gone or old) and change.payload["description"] != described:
            descriptions.add(change.payload["description"])
        before, described = lines, change.payload["description"]
        earlier |= lines

    banned |= late | {line for line in earlier if holds(words, plain(line))}

    def left(text: str) -> str:
        text = "\n".join(line for line in text.split("\n") if line not in banned)
        return "" if holds(words, plain(text)) else text  # across two lines

    payloads = {}
    for change in changes:
        value = left(change.payload["value"])
        about = change.payload["description"]
        about = "" if about in descriptions or holds(words, plain(about)) else about
        if (value, about) != (change.payload["value"], change.payload["description"]):
            payloads[change.position] = {**change.payload, "value": value, "description": about}
    return payloads
