"""Files and their revisions as events of the log: which messages make up a file, in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from hybrid_memory.errors import FileError
from hybrid_memory.files.path import below, folders_above
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import FoldedProjection, revision_id
from hybrid_memory.store.services import Services
from hybrid_memory.validation import checked_text, shown

MAX_FILE_CHARS = 1_000_000

FILE = "file"
"""The metadata field with the path of the file that a message was written to."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a memory, or a folder that contains some.

    Attributes:
        path: absolute.
        size: bytes of its text in UTF-8; for a folder, of all files in it.
        modified_at: when it was last changed; None if unknown.
        read_only: whether it cannot be written.
        folder: whether it is a folder.
    """

    path: str
    size: int = 0
    modified_at: datetime | None = None
    read_only: bool = False
    folder: bool = False


@dataclass(frozen=True, slots=True)
class FileRevision:
    """A file after one of its changes.

    Attributes:
        path: its path at that time.
        number: the number of the change, from 1.
        text: the text at that time, without what was forgotten since.
        change: write, edit, insert, rename, delete or undo; for blocks their own changes, for summaries compaction.
        at: when it was changed; author: by whom, in a shared space.
        origin: the origin of the change's words.
        removed: whether the change removed the file.
    """

    path: str
    number: int
    text: str
    change: str
    at: datetime | None
    author: str = ""
    origin: Origin | None = None
    removed: bool = False


@dataclass(frozen=True, slots=True)
class FileMatch:
    """A line of a file that matches a search; ``line`` is its number, from 1."""

    path: str
    line: int
    text: str


class Part(NamedTuple):
    """A piece of a file: a message and the characters after its words; without an id only the latter.

    Attributes:
        size: bytes of the words.
    """

    id: str
    tail: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Revision:
    """A change of a file, as stored in its event.

    Attributes:
        position: the position of the event; 0 before it is written.
        parts: the parts of the file; for a file that shows facts, the messages that changed it.
        call: makes the change idempotent.
        base: the number of the revision with the same parts; 0 if an undo left none.
        moved: for a rename, the file's other path: the one before, or the one since.
    """

    path: str
    number: int
    change: str
    at: datetime
    parts: tuple[Part, ...] = ()
    origin: Origin = Origin.USER
    author: str = ""
    position: int = 0
    call: str = ""
    base: int = 0
    moved: str = ""
    removed: bool = False

    @property
    def size(self) -> int:
        """Bytes of the text."""
        return sum(part.size + len(part.tail.encode()) for part in self.parts)

    @property
    def ids(self) -> list[str]:
        """The ids of its messages, each once."""
        return list(dict.fromkeys(part.id for part in self.parts if part.id))

    @property
    def name(self) -> str:
        """The id of its event, which does not reveal the path."""
        digest = hashlib.blake2b(self.path.encode(), digest_size=16).hexdigest()
        return revision_id(f"file:{digest}", self.number)

    def as_payload(self) -> dict[str, Any]:
        """The payload of the event; `revision` reads it."""
        values: dict[str, Any] = {
            "path": self.path,
            "number": self.number,
            "change": self.change,
            "parts": [list(part) for part in self.parts],
            "origin": self.origin.value,
        }
        if self.base != self.number:
            values["base"] = self.base
        own = {"call": self.call, "moved": self.moved, "removed": self.removed}
        return values | {name: value for name, value in own.items() if value}


def revision(event: Event) -> Revision:
    """The change stored in an event."""
    payload = event.payload
    number = int(payload["number"])
    return Revision(
        path=str(payload["path"]),
        number=number,
        change=payload["change"],
        at=event.at,
        parts=tuple(Part(*part) for part in payload["parts"]),
        origin=Origin(payload["origin"]),
        author=event.author,
        position=event.position,
        call=payload.get("call", ""),
        base=payload.get("base", number),
        moved=payload.get("moved", ""),
        removed=payload.get("removed", False),
    )


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files of an owner after the events up to a position; ``histories`` has all revisions by path."""

    position: int = 0
    histories: Mapping[str, tuple[Revision, ...]] = field(default_factory=dict)

    def after(self, events: Iterable[Event]) -> KeptFiles:
        """The files after these events, which follow by position."""
        position, fresh = self.position, dict[str, list[Revision]]()
        for event in events:
            position = event.position
            if event.kind is EventKind.FILE:
                made = revision(event)
                fresh.setdefault(made.path, []).append(made)
        added = {path: (*self.histories.get(path, ()), *revisions) for path, revisions in fresh.items()}
        return KeptFiles(position, {**self.histories, **added})

    def number(self, path: str) -> int:
        """The number of the last change at this path; 0 before the first."""
        history = self.histories.get(path, ())
        return history[-1].number if history else 0

    def get(self, path: str) -> Revision | None:
        """The last change of an existing file."""
        history = self.histories.get(path, ())
        return None if not history or history[-1].removed else history[-1]

    @property
    def standing(self) -> list[Revision]:
        """The existing files, by path."""
        return [made for path in sorted(self.histories) if (made := self.get(path)) is not None]

    def under(self, folder: str) -> list[Revision]:
        """The existing files in a folder."""
        return [made for made in self.standing if below(made.path, folder)]

    def counted(self, path: str) -> tuple[Revision, Revision | None] | None:
        """The change of this path that an undo reverts, and the revision before it; None without one."""
        by_number = {made.number: made for made in self.histories.get(path, ())}
        last = by_number[max(by_number)] if by_number else None
        current = None if last is None else by_number.get(last.base, last)
        if current is None or (last is not None and not last.base):
            return None
        # What a rollback hides is not there to go back to.
        earlier = [number for number in by_number if number < current.number]
        before = by_number[max(earlier)].base if earlier else 0
        return current, by_number.get(before)

    def check_free(self, path: str) -> None:
        """Raise `FileError` if this path cannot be a file, because it is a folder or inside a file."""
        if self.under(path):
            raise FileError("folder", f"{shown(path)} is a folder: give the path of a file")
        for folder in folders_above(path):
            if self.get(folder) is not None:
                raise FileError("path", f"{shown(folder)} is a file: {shown(path)} cannot be in it")


class FilesProjection(FoldedProjection[KeptFiles]):
    """The files of each owner. Their words are messages; forgotten messages disappear from all revisions."""

    kinds = frozenset({EventKind.FILE})
    repeats = kinds
    start = KeptFiles
    follows = frozenset({EventKind.FILE, EventKind.ERASED})
    anew = True

    def parse(self, event: Event) -> object:
        return revision(event)

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark the parts of erased messages, and whole files that become empty or whose path contains the words.

        All changes of a file are checked again whenever one is added.
        """
        await super().forget(run, services, erasure)
        if erasure.everything:
            return
        by_path: dict[str, list[Event]] = {}
        for event in await run.call(services.truth.read, erasure.scope.owner, kinds=self.kinds):
            by_path.setdefault(event.payload["path"], []).append(event)
        for path, events in by_path.items():
            if erasure.has_words(path):
                erasure.drop(events, "changes of files")
                continue
            payloads = {event.position: payload for event in events if (payload := _without(event, erasure))}
            left = any(part[0] for event in events for part in payloads.get(event.position, event.payload)["parts"])
            if payloads and not left:
                erasure.drop(events, "changes of files")
            else:
                erasure.rewrite(payloads, "changes of files rewritten")


def _without(event: Event, erasure: Erasure) -> dict[str, Any] | None:
    """The payload without the erased parts; None if nothing changes."""
    parts = event.payload["parts"]
    kept = [part for part in parts if not erasure.made_of([part[0]])]
    moved = event.payload.get("moved", "")
    if len(kept) == len(parts) and not erasure.has_words(moved):
        return None
    return {**event.payload, "parts": kept, "moved": "" if erasure.has_words(moved) else moved}


async def kept_files(run: Runner, services: Services, scope: Any) -> KeptFiles:
    """The owner's files, including what a rollback hides."""
    return await services.state(FilesProjection).read(run, services, scope)


def checked_file(text: Any) -> str:
    """The text; raises `FileError` if a file cannot have it."""
    if isinstance(text, bytes | bytearray):
        raise FileError("text", "a file of a memory is text: decode it first, or keep what is binary elsewhere")
    checked_text("text", text)
    if "\x00" in text:
        raise FileError("text", "a file of a memory is text: this has NUL characters, as binary data has")
    if len(text) > MAX_FILE_CHARS:
        raise FileError("text", f"a file has {MAX_FILE_CHARS:,} characters at most, got {len(text):,}: split it")
    return str(text)


def listed(files: Iterable[File], folder: str) -> list[File]:
    """The direct contents of a folder, by path; a subfolder has the total size of its files."""
    found: dict[str, File] = {}
    for file in files:
        if not below(file.path, folder):
            continue
        name, slash, _ = file.path[1 if folder == "/" else len(folder) + 1 :].partition("/")
        path = f"{folder.rstrip('/')}/{name}"
        if not slash:
            found[path] = file
            continue
        known = found.get(path, File(path, folder=True))
        times = [at for at in (known.modified_at, file.modified_at) if at is not None]
        found[path] = File(path, known.size + file.size, max(times, default=None), folder=True)
    return [found[path] for path in sorted(found)]


def joined(parts: Sequence[Part], words: Mapping[str, str]) -> str:
    """The text of a file, joined from the words of its messages by id; destroyed messages leave nothing."""
    return "".join(
        words[part.id] + part.tail if part.id else part.tail for part in parts if not part.id or part.id in words
    )
