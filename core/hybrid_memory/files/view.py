"""All files of a memory: finds the kind that is responsible for a path, and the rules common to all."""

from __future__ import annotations

from hybrid_memory.blocks.edit import Owned
from hybrid_memory.errors import FileError
from hybrid_memory.files.blocks import BlockFiles
from hybrid_memory.files.file import File, FileMatch, FileRevision, listed
from hybrid_memory.files.free import FreeFiles
from hybrid_memory.files.known import KnownFiles
from hybrid_memory.files.owned import Change, Place, Writing, missing
from hybrid_memory.files.path import below, checked_path, matches
from hybrid_memory.files.summaries import SummaryFiles
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.validation import checked_count, checked_text, shown

FREE, BLOCKS = FreeFiles(), BlockFiles()
PLACES: tuple[Place, ...] = (KnownFiles(), SummaryFiles(), BLOCKS, FREE)


def _place(path: str) -> Place:
    return next(place for place in PLACES if place.holds(path))


async def _all(run: Runner, owned: Owned, folder: str = "/") -> list[File]:
    """All files in a folder, by path."""
    places = PLACES if folder == "/" else (_place(f"{folder}/x"),)
    found = [file for place in places for file in await place.files(run, owned)]
    return sorted((file for file in found if below(file.path, folder)), key=lambda file: file.path)


async def list_files(run: Runner, owned: Owned, path: str, *, deep: bool) -> list[File]:
    """The contents of a folder; raises `FileError` if there is none."""
    folder = checked_path(path, folder=True)
    found = await _all(run, owned, folder)
    if not found and folder != "/":
        if _may_be_file(folder) and await _place(folder).text(run, owned, folder) is not None:
            raise FileError("file", f"{shown(folder)} is a file: read it, or list its folder")
        raise FileError("missing", f"there is no folder {shown(folder)}: list('/') shows what there is")
    return found if deep else listed(found, folder)


def _may_be_file(path: str) -> bool:
    """Whether a path can name a file; a reserved folder itself cannot."""
    return isinstance(_place(path), FreeFiles) or path.endswith(".md")


async def read(run: Runner, owned: Owned, path: str) -> str:
    """The text of a file; raises `FileError`."""
    found = checked_path(path, folder=True)
    text = await _place(found).text(run, owned, found) if _may_be_file(found) else None
    if text is None or found != checked_path(path):
        if found == "/" or await _all(run, owned, found):
            raise FileError("folder", f"{shown(found)} is a folder: list() shows what is in it")
        raise missing(found)
    return text


async def change(run: Runner, owned: Owned, path: str, wanted: Change, writing: Writing) -> File:
    """Change a file's text, given a function of its current text."""
    name = checked_path(path)
    if name == "/":
        raise FileError("folder", "'/' is a folder: give the path of a file")
    return await _place(name).change(run, owned, name, wanted, writing)


async def delete(run: Runner, owned: Owned, path: str) -> None:
    """Remove a file, or a folder with all that is in it."""
    name = _movable(path, "deleted: remove its lines instead")
    if isinstance(place := _place(name), BlockFiles) and name.endswith(".md"):
        await place.delete(run, owned, name)
        return
    await FREE.delete(run, owned, name)


async def rename(run: Runner, owned: Owned, old: str, new: str) -> None:
    """Move a file or a folder to a path that does not exist yet."""
    before, after = _movable(old, "renamed"), checked_path(new, folder=True)
    for path in (before, after):
        if not isinstance(_place(path), FreeFiles):
            raise FileError("read_only", f"files in {shown(path)} have fixed paths: write another file")
    if after == "/" or below(after, before) or after == before:
        raise FileError("path", f"{shown(before)} cannot become {shown(after)}")
    await FREE.rename(run, owned, before, after)


def _movable(path: str, what: str) -> str:
    name = checked_path(path, folder=True)
    if name == "/":
        raise FileError("read_only", "the root folder cannot be deleted or renamed")
    if _place(name).made:
        raise FileError("read_only", f"{shown(name)} is made by the memory and cannot be {what}")
    return name


async def history(run: Runner, owned: Owned, path: str) -> list[FileRevision]:
    """All revisions of a file, oldest first."""
    name = checked_path(path)
    return await _place(name).history(run, owned, name)


async def undo(run: Runner, owned: Owned, path: str) -> File | None:
    """Undo the last effective change of a file."""
    name = checked_path(path)
    return await _place(name).undo(run, owned, name)


async def glob(run: Runner, owned: Owned, pattern: str, path: str) -> list[File]:
    """The files in a folder whose path relative to it matches a pattern."""
    folder = checked_path(path, folder=True)
    wanted = checked_text("pattern", pattern)
    start = 1 if folder == "/" else len(folder) + 1
    return [file for file in await _all(run, owned, folder) if matches(file.path[start:], wanted)]


async def grep(
    run: Runner, owned: Owned, text: str, path: str, *, pattern: str | None, most: int | None
) -> list[FileMatch]:
    """The lines that contain a text literally."""
    if not checked_text("text", text):
        raise FileError("text", "text is empty: give the words to look for, letter for letter")
    limit = None if most is None else checked_count("limit", most, least=0)
    folder = checked_path(path, folder=True)
    files = await glob(run, owned, "**" if pattern is None else pattern, folder)
    if not files and _may_be_file(folder):
        files = [File(folder)]
    found: list[FileMatch] = []
    for file in files:
        said = await _place(file.path).text(run, owned, file.path)
        for number, line in enumerate((said or "").split("\n"), start=1):
            if text in line:
                found.append(FileMatch(file.path, number, line.removesuffix("\r")))
        if limit is not None and len(found) >= limit:
            return found[:limit]
    return found


def replaced(path: str, old: str, new: str, *, everywhere: bool) -> Change:
    """A change that replaces ``old`` by ``new``."""
    checked_text("new", new)
    if not checked_text("old", old):
        raise FileError("absent", "old is empty: give the words to replace, letter for letter")

    def change(text: str | None) -> str:
        if text is None:
            raise missing(path)
        lines = [text.count("\n", 0, place) + 1 for place in places(text, old)]
        if not lines:
            raise FileError("absent", f"{shown(old)} is not in {shown(path)}: give a part of it letter for letter")
        if len(lines) > 1 and not everywhere:
            raise FileError(
                "several", f"{shown(old)} stands {len(lines)} times in {shown(path)}, in lines "
                f"{', '.join(map(str, lines))}: give a longer part",
            )  # fmt: skip
        return text.replace(old, new)

    return change


def places(text: str, words: str) -> list[int]:
    """Where these words occur in a text."""
    found, place = list[int](), text.find(words)
    while place >= 0:
        found.append(place)
        place = text.find(words, place + len(words))
    return found


def inserted(path: str, line: int, words: str) -> Change:
    """A change that inserts text after a line; 0 is the beginning."""
    checked_text("text", words)
    number = checked_count("line", line, least=0)

    def change(text: str | None) -> str:
        if text is None:
            raise missing(path)
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
