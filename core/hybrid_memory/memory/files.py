"""A memory as files: its documents, and what is known as read-only files among them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from hybrid_memory.documents import editing
from hybrid_memory.documents.document import BLOCKS, File, Revision, is_block, label_of
from hybrid_memory.documents.editing import Change, Owned, current_documents, messages_of, missing, text_of
from hybrid_memory.errors import FileError
from hybrid_memory.facts.attributes import ATTRIBUTES
from hybrid_memory.facts.authority import applying
from hybrid_memory.facts.fact import USER, Category, Fact
from hybrid_memory.facts.facts import FactsProjection, facts
from hybrid_memory.facts.profiling import own_facts, profile_fields
from hybrid_memory.log.message import Origin
from hybrid_memory.memory.faces import Part, verb
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.sharing import Right
from hybrid_memory.validation import checked_text, shown

PROFILE = "/profile.md"
FACTS = "/facts"
APART = " · "  # separates the subject of a fact from its statement

MAX_PATH_CHARS = 1_000
MAX_NAME_BYTES = 255  # the longest name between two slashes, as in file systems to which files may be exported

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\\]")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_ORDER = {name: row for row, name in enumerate(ATTRIBUTES)}


Listed: TypeAlias = list[File]
Revisions: TypeAlias = list[Revision]


class MemoryFiles(Part):
    """A memory as files, made by `ScopedMemory.files`. Every change is an event of the log.

    ``/blocks/<label>.md`` are the blocks. Every other path is a free file, whose paragraphs recall finds like any note.
    ``/profile.md`` is what is known of the user, and ``/facts/<category>.md`` are all current facts, a line a fact; the
    memory makes these itself, and they cannot be written. All verbs raise `FileError` for a path that no file can have.
    """

    @verb(Right.READ, called="list_files")
    async def list(self, run: Runner, path: str = "/", *, deep: bool = False) -> Listed:
        """What lies in a folder, by path: files, and folders with the size of all that is in them.

        Args:
            path: of the folder.
            deep: all files in it and below it, and no folders.

        Raises:
            FileError: there is no such folder.
        """
        folder = _checked_path(path, folder=True)
        files = await _files_in(run, self._owned, folder)
        if not files and folder != "/":
            if await _text(run, self._owned, folder) is not None:
                raise FileError("file", f"{shown(folder)} is a file: read it, or list its folder")
            raise FileError("missing", f"there is no folder {shown(folder)}: list('/') shows what there is")
        if deep:
            return files
        listed: dict[str, File] = {}
        for file in files:
            name, slash, _ = file.path[len(_inside(folder)) :].partition("/")
            child = _inside(folder) + name
            if not slash:
                listed[child] = file
                continue
            before = listed.get(child, File(child, folder=True))
            times = [at for at in (before.modified_at, file.modified_at) if at is not None]
            listed[child] = File(child, before.size + file.size, max(times, default=None), folder=True)
        return [listed[child] for child in sorted(listed)]

    @verb(Right.READ, called="read_file")
    async def read(self, run: Runner, path: str) -> str:
        """The text of a file; of a free file letter for letter what was written, without what was forgotten since.

        Raises:
            FileError: there is no such file.
        """
        name = _checked_path(path)
        text = await _text(run, self._owned, name)
        if text is None:
            if await _files_in(run, self._owned, name):
                raise FileError("folder", f"{shown(name)} is a folder: list() shows what is in it")
            raise missing(name, await current_documents(run, self._owned))
        return text

    @verb(Right.WRITE, called="write_file")
    async def write(
        self,
        run: Runner,
        path: str,
        text: str,
        *,
        id: str = "",  # noqa: A002 - the field's name, as in remember
        source: str | Sequence[str] = (),
        origin: Origin | str | None = None,
    ) -> File:
        """Create a file, or replace its text; what stays as it was is not written again.

        Args:
            path: such as ``/notes/trip.md``.
            text: at most 1,000,000 characters.
            id: makes the change idempotent.
            source: ids of the messages that it comes from; what is new in the file is forgotten with them.
            origin: whose words it brings: by default the user's, or the assistant's where ``id`` or ``source`` is
                given; never higher than that of the messages in ``source``.

        Raises:
            FileError: no file can have this path or text, or not from this origin. Nothing was changed.
        """
        return await self._changed(run, path, lambda _: text, "write", call=id, source=source, origin=origin)

    @verb(Right.WRITE, called="edit_file")
    async def edit(
        self,
        run: Runner,
        path: str,
        old: str,
        new: str,
        *,
        all: bool = False,  # noqa: A002 - as one says it
        id: str = "",  # noqa: A002 - the field's name, as in remember
        source: str | Sequence[str] = (),
        origin: Origin | str | None = None,
    ) -> File:
        """Replace a part of a file, letter for letter, which holds as long as that part is there.

        Args:
            path: of the file.
            old: what stands in it exactly once; new: empty takes it out.
            all: replace it wherever it stands.
            id: as in `write`, as are ``source`` and ``origin``.

        Raises:
            FileError: there is no such file, or ``old`` is not in it, or several times.
        """
        change = editing.replaced(path, old, new, everywhere=all)
        return await self._changed(run, path, change, "edit", call=id, source=source, origin=origin)

    @verb(Right.WRITE, called="insert_into_file")
    async def insert(
        self,
        run: Runner,
        path: str,
        line: int,
        text: str,
        *,
        id: str = "",  # noqa: A002 - the field's name, as in remember
        source: str | Sequence[str] = (),
        origin: Origin | str | None = None,
    ) -> File:
        """Insert text as lines of their own.

        Args:
            path: of the file.
            line: behind which; 0 is the beginning.
            text: a line break at its end is added where it has none.
            id: as in `write`, as are ``source`` and ``origin``.

        Raises:
            FileError: there is no such file, or no such line in it.
        """
        change = editing.inserted(path, line, text)
        return await self._changed(run, path, change, "insert", call=id, source=source, origin=origin)

    @verb(Right.WRITE, called="delete_file")
    async def delete(self, run: Runner, path: str) -> None:
        """Remove a file, or a folder with all that is in it; `undo` brings a file back, `forget` destroys words.

        Raises:
            FileError: there is none, or the memory makes it itself.
        """
        name = _writable(path, folder=True)
        made = (await current_documents(run, self._owned)).get(name)
        if made is not None and made.read_only:
            raise FileError("read_only", f"the block {label_of(name)!r} is read-only")
        await editing.delete(run, self._owned, name)

    @verb(Right.WRITE, called="rename_file")
    async def rename(self, run: Runner, old: str, new: str) -> None:
        """Give a free file, or a folder of such, another path.

        Raises:
            FileError: there is none, or there is one at the new path.
        """
        before, after = _writable(old, folder=True), _writable(new, folder=True)
        if is_block(before) or is_block(after):
            raise FileError("read_only", f"files in {BLOCKS} have fixed paths: write another file")
        if _is_in(after, before) or after == before:
            raise FileError("path", f"{shown(before)} cannot become {shown(after)}")
        await editing.rename(run, self._owned, before, after)

    @verb(Right.READ, called="file_history")
    async def history(self, run: Runner, path: str) -> Revisions:
        """The file after each of its changes at this path, oldest first.

        Raises:
            FileError: there never was one at this path.
        """
        revisions = await editing.history(run, self._owned, _writable(path))
        events = await messages_of(run, self._owned, list({name: None for one in revisions for name in one.ids}))
        return [replace(one, value=text_of(one, events), parts=()) for one in revisions]

    @verb(Right.WRITE, called="undo_file")
    async def undo(self, run: Runner, path: str) -> File | None:
        """Take back the last change that still counts; called again, the one before. None where the file is gone then.

        Raises:
            FileError: there is nothing to undo.
        """
        made = await editing.undo(run, self._owned, _writable(path))
        return None if made.removed else _file(self._owned, made)

    async def _changed(self, run: Runner, path: str, change: Change, name: str, **stated: Any) -> File:
        place = _writable(path)
        made = await editing.write(run, self._owned, place, name, change, default=Origin.USER, **stated)
        self._runtime.after_write(self._memory.scope)
        return File(place) if made.removed else _file(self._owned, made)

    def __repr__(self) -> str:
        return f"<MemoryFiles of {self._memory!r}>"

    alist = list.twin  # noqa: A003 - the verb above
    aread = read.twin
    awrite = write.twin
    aedit = edit.twin
    ainsert = insert.twin
    adelete = delete.twin
    arename = rename.twin
    ahistory = history.twin
    aundo = undo.twin


def _checked_path(path: str, *, folder: bool = False) -> str:
    """The normalized path, without a trailing slash; raises `FileError` if it is invalid.

    With ``folder`` it may name a folder, including the root, and end with a slash.
    """
    names = [name for name in unicodedata.normalize("NFC", checked_text("path", path)).split("/") if name]
    rules = {
        "begins with '/'": path.startswith("/"),
        f"has {MAX_PATH_CHARS} characters at most": len(path) <= MAX_PATH_CHARS,
        "has no control characters and no backslash": not _CONTROL.search(path),
        "is written as it is, without percent encoding": not _ENCODED.search(path),
        "has no name that consists of dots, or begins or ends with a space": all(
            name.strip(".") and name == name.strip() for name in names
        ),
        f"has names of {MAX_NAME_BYTES} bytes at most": all(len(name.encode()) <= MAX_NAME_BYTES for name in names),
    }
    for rule, kept in rules.items():
        if not kept:
            raise FileError("path", f"a path {rule}, got {shown(path)}")
    if path.endswith("/") and not folder:
        raise FileError("folder", f"{shown(path)} names a folder: give the path of a file")
    return "/" + "/".join(names)


def _inside(folder: str) -> str:
    return "/" if folder == "/" else f"{folder}/"


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(_inside(folder))


def _writable(path: str, *, folder: bool = False) -> str:
    """The normalized path; raises `FileError` if it is invalid, or the memory makes what is there."""
    name = _checked_path(path, folder=folder)
    if name == "/":
        raise FileError("read_only" if folder else "folder", "'/' is the root folder: give the path of a file in it")
    if name in (PROFILE, FACTS) or _is_in(name, FACTS):
        raise FileError(
            "read_only", f"{shown(name)} is made by the memory of what was said: write to a file below /notes/"
        )
    if name == BLOCKS and folder:
        raise FileError("read_only", f"files in {BLOCKS} have fixed paths: name one of them")
    if is_block(name):
        label_of(name)
    return name


def _file(owned: Owned, made: Revision) -> File:
    fixed = made.read_only or owned.services.read_only or owned.services.horizon is not None
    return File(made.path, made.size, made.at, read_only=fixed)


async def _files_in(run: Runner, owned: Owned, folder: str) -> list[File]:
    files = [_file(owned, made) for made in (await current_documents(run, owned)).current]
    if folder in ("/", FACTS):
        for path, (text, at) in (await _known_facts(run, owned)).items():
            files.append(File(path, len(text.encode()), at, read_only=True))
    return sorted((file for file in files if _is_in(file.path, folder)), key=lambda file: file.path)


async def _text(run: Runner, owned: Owned, path: str) -> str | None:
    if path == PROFILE or _is_in(path, FACTS):
        return (await _known_facts(run, owned)).get(path, (None, None))[0]
    made = (await current_documents(run, owned)).get(path)
    return None if made is None else text_of(made, await messages_of(run, owned, made.ids))


async def _known_facts(run: Runner, owned: Owned) -> dict[str, tuple[str, datetime]]:
    """The profile and each category of facts that apply in all sessions, and when they last changed, by path.

    The user's come first; a shared space has no profile.
    """
    known = sorted(
        applying(await facts(run, owned.services, owned.scope), None),
        key=lambda fact: (
            fact.subject != USER, fact.subject, _ORDER.get(fact.attribute, len(_ORDER)), fact.attribute, fact.id,
        ),
    )  # fmt: skip
    lines: dict[str, list[tuple[str, Fact]]] = {}
    if owned.scope.space is None:
        own = own_facts(known, [owned.scope.user] if owned.scope.user else [])
        fields = profile_fields(owned.services.state(FactsProjection).profile)
        lines[PROFILE] = [
            (f"{fact.attribute}: {fact.value}", fact) for field in fields for fact in own if field.takes(fact.attribute)
        ]
    for category in sorted(Category):
        lines[f"{FACTS}/{category}.md"] = [
            (f"{fact.subject}{APART}{fact.attribute}: {fact.value}", fact)
            for fact in known
            if fact.category == category
        ]
    texts = {path: dict.fromkeys(f"- {' '.join(line.split())}\n" for line, _ in rows) for path, rows in lines.items()}
    return {
        path: ("".join(texts[path]), max(fact.valid_from for _, fact in rows)) for path, rows in lines.items() if rows
    }
