"""A memory as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hybrid_memory.documents import editing, files
from hybrid_memory.documents.document import File, FileMatch, FileRevision
from hybrid_memory.documents.editing import Change
from hybrid_memory.log.message import Origin
from hybrid_memory.memory.faces import Part, faces, owned
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.sharing import Right

Listed: TypeAlias = list[File]
Revisions: TypeAlias = list[FileRevision]
Matches: TypeAlias = list[FileMatch]


class MemoryFiles(Part):
    """A memory as files, made by `ScopedMemory.files`. Every change is an event of the log.

    ``/blocks/<label>.md`` are the blocks. Every other path is a free file, whose paragraphs recall finds like any note.
    ``/profile.md`` is what is known of the user, and ``/facts/<category>.md`` are all current facts, a line a fact; the
    memory makes these itself, and they cannot be written. All verbs raise `FileError` for a path that no file can have.
    """

    async def _list(self, run: Runner, path: str = "/", *, deep: bool = False) -> Listed:
        """What lies in a folder, by path: files, and folders with the size of all that is in them.

        Args:
            path: of the folder.
            deep: all files in it and below it, and no folders.

        Raises:
            FileError: there is no such folder.
        """
        return await files.list_files(run, owned(self._memory), path, deep=deep)

    list, alist = faces(_list, needs=Right.READ, verb="list_files")

    async def _read(self, run: Runner, path: str) -> str:
        """The text of a file; of a free file letter for letter what was written, without what was forgotten since.

        Raises:
            FileError: there is no such file.
        """
        return await files.read(run, owned(self._memory), path)

    read, aread = faces(_read, needs=Right.READ, verb="read_file")

    async def _write(
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

    write, awrite = faces(_write, needs=Right.WRITE, verb="write_file")

    async def _edit(
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

    edit, aedit = faces(_edit, needs=Right.WRITE, verb="edit_file")

    async def _insert(
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

    insert, ainsert = faces(_insert, needs=Right.WRITE, verb="insert_into_file")

    async def _delete(self, run: Runner, path: str) -> None:
        """Remove a file, or a folder with all that is in it; `undo` brings a file back, `forget` destroys words.

        Raises:
            FileError: there is none, or the memory makes it itself.
        """
        await files.delete(run, owned(self._memory), path)

    delete, adelete = faces(_delete, needs=Right.WRITE, verb="delete_file")

    async def _rename(self, run: Runner, old: str, new: str) -> None:
        """Give a free file, or a folder of such, another path.

        Raises:
            FileError: there is none, or there is one at the new path.
        """
        await files.rename(run, owned(self._memory), old, new)

    rename, arename = faces(_rename, needs=Right.WRITE, verb="rename_file")

    async def _history(self, run: Runner, path: str) -> Revisions:
        """The file after each of its changes, oldest first, also at its earlier paths.

        Raises:
            FileError: there never was one at this path.
        """
        return await files.history(run, owned(self._memory), path)

    history, ahistory = faces(_history, needs=Right.READ, verb="file_history")

    async def _undo(self, run: Runner, path: str) -> File | None:
        """Take back the last change that still counts; called again, the one before. None where the file is gone then.

        Raises:
            FileError: there is nothing to undo.
        """
        return await files.undo(run, owned(self._memory), path)

    undo, aundo = faces(_undo, needs=Right.WRITE, verb="undo_file")

    async def _glob(self, run: Runner, pattern: str, path: str = "/") -> Listed:
        """The files in and below a folder whose path, from there on, fits a pattern, by path.

        Args:
            pattern: ``*`` and ``?`` within a name, ``**`` over folders, ``[ab]``, ``{a,b}``; without a slash it is
                about names alone.
            path: of the folder.
        """
        return await files.glob(run, owned(self._memory), pattern, path)

    glob, aglob = faces(_glob, needs=Right.READ, verb="list_files")

    async def _grep(
        self, run: Runner, text: str, path: str = "/", *, pattern: str | None = None, limit: int | None = None
    ) -> Matches:
        """The lines of files that have a text, letter for letter, in the order of their paths.

        Args:
            text: to look for; no expression.
            path: of a folder, or of one file.
            pattern: only of files whose path fits it, as in `glob`.
            limit: so many at most.
        """
        return await files.grep(run, owned(self._memory), text, path, pattern=pattern, most=limit)

    grep, agrep = faces(_grep, needs=Right.READ, verb="read_file")

    async def _changed(
        self,
        run: Runner,
        path: str,
        change: Change,
        name: str,
        **stated: Any,
    ) -> File:
        whose, creates = owned(self._memory), name == "write"
        writing = await editing.writing_of(
            run, whose, name, default=Origin.USER, whole=creates, creates=creates, **stated
        )
        file = await files.write(run, whose, path, change, writing)
        self._runtime.after_write(self._memory.scope)
        return file

    def __repr__(self) -> str:
        return f"<MemoryFiles of {self._memory!r}>"
