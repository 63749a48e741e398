"""A memory as a folder of files: export all, and import only the differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_memory.errors import FileError, InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import ScopedMemory

FORM = "markdown"
SUFFIXES = (".md", ".markdown")
TRANSCRIPTS = (".json", ".jsonl")
MADE = ("/profile.md", "/facts/")
"""What the memory makes itself, from the turns."""

BLOCKS = "/blocks/"

TOOLS = frozenset((".git", "node_modules", "__pycache__", ".venv"))
"""Folders of tools, which nobody wrote by hand."""

WRITTEN = (*SUFFIXES, ".txt", ".rst", ".csv", ".tsv", ".log")
"""What is exported: documents. A model can store a file of any name, and tools execute many of them where they lie:
hooks and settings in folders that begin with a dot, makefiles, `conftest.py`, a bare repository of git."""

SHOWN = 5


def is_tree(paths: Sequence[Path], form: str) -> bool:
    """Whether these are Markdown files, or folders of them without transcripts, to be stored as files."""
    return form == FORM or (form == "auto" and bool(paths) and all(_is_markdown(path) for path in paths))


def _is_markdown(path: Path) -> bool:
    if path.is_dir():
        suffixes = {file.suffix for file in _files(path)}
        return not suffixes.isdisjoint(SUFFIXES) and suffixes.isdisjoint(TRANSCRIPTS)
    return path.suffix in SUFFIXES


def _files(folder: Path) -> list[Path]:
    """All files below, except files of tools and targets of links."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in found if TOOLS.isdisjoint(path.relative_to(folder).parts)]


def read_tree(paths: Iterable[Path]) -> dict[str, str]:
    """The texts by their paths in a memory; a single file is at the top.

    Raises:
        InvalidInputError: a file cannot be read, or is not text in UTF-8.
    """
    texts: dict[str, str] = {}
    for path in paths:
        base = path if path.is_dir() else path.parent
        for file in _files(path) if path.is_dir() else [path]:
            try:
                texts[f"/{file.relative_to(base).as_posix()}"] = file.read_bytes().decode()
            except OSError as error:
                raise InvalidInputError(f"cannot read {file}: {error.strerror or error}") from error
            except UnicodeDecodeError:
                raise InvalidInputError(f"{file} is not text in UTF-8: remove it, or convert it") from None
    return texts


def write_texts(whose: ScopedMemory, texts: dict[str, str], origin: str) -> tuple[int, list[str]]:
    """Write what differs from the memory; returns how many files that were, and what could not be written, and why.

    The origin is that of free files; what stands in blocks is the user's own.
    """
    files = whose.files()
    before = {file.path: files.read(file.path) for file in files.list(deep=True)}
    refused: list[str] = []
    written = 0
    for path in sorted(texts):
        if texts[path] == before.get(path):
            continue
        try:
            files.write(path, texts[path], origin="user" if path.startswith(BLOCKS) else origin)
        except FileError as error:
            refused.append(f"{path[1:]}: {error}")
        else:
            written += 1
    return written, refused


@dataclass(frozen=True, slots=True)
class Exported:
    """What `write_tree` did.

    Attributes:
        count: files of the memory that the folder now has.
        written: those of them that are new or changed.
        left_out: files of the memory that are not exported.
        others: files in the folder that the memory does not have.
    """

    count: int
    written: int
    left_out: list[str]
    others: list[str]


def write_tree(whose: ScopedMemory, folder: Path) -> Exported:
    """Write the documents of a memory into a folder, never through a link; what is the same there is left.

    Raises:
        InvalidInputError: the folder cannot be written.
    """
    files = whose.files()
    paths = [file.path for file in files.list(deep=True) if not file.path.startswith(MADE)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        places = {path: folder.resolve() / path[1:] for path in paths}
        exported = [path for path in paths if _is_document(path) and places[path].resolve() == places[path]]
        written = sum(_write(places[path], files.read(path).encode()) for path in exported)
        others = sorted({f"/{file.relative_to(folder).as_posix()}" for file in _files(folder)} - set(paths))
    except OSError as error:
        raise InvalidInputError(f"cannot write {error.filename or folder}: {error.strerror or error}") from error
    left_out = [path[1:] for path in paths if path not in exported]
    return Exported(len(exported), written, left_out, [path[1:] for path in others])


def _is_document(path: str) -> bool:
    hidden = any(name.startswith(".") for name in path.split("/"))
    # On Windows a colon begins another drive or another stream of a file.
    return not hidden and ":" not in path and Path(path).suffix.lower() in WRITTEN


def _write(file: Path, text: bytes) -> bool:
    """Whether the file had to be written; it is a new one, since the old one may have other names elsewhere."""
    if file.is_file() and file.read_bytes() == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with file.open("xb") as new:
        new.write(text)
    return True


def some(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
