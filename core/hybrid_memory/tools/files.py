"""`memory_file`: files below ``/memories``, with the commands, answers and errors of Claude's memory tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from pydantic import Field

from hybrid_memory.documents.document import File
from hybrid_memory.documents.editing import lines_with
from hybrid_memory.errors import FileError, InvalidInputError
from hybrid_memory.log.message import Origin
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.memory.files import MemoryFiles
from hybrid_memory.tools.tool import Call, MemoryTool
from hybrid_memory.validation import CheckedModel

ROOT = "/memories"
LEVELS = 2
WIDTH = 6  # of line numbers
AROUND = 2  # lines shown before and after a change

UNIT = 1024
UNITS = "BKMG"

_OURS = re.compile(r"(^|[\s'\"])/(?=[^\s/'\"])")


class FileCommand(CheckedModel):
    """The command, and the file it applies to."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"] = Field(
        description="view a file or folder, create a file, str_replace in one, insert lines, delete, or rename"
    )
    path: str | None = Field(default=None, description=f"The file or folder, below {ROOT}; not for rename")
    view_range: list[int] | None = Field(default=None, description="view: first and last line, -1 for the end")
    file_text: str | None = Field(default=None, description="create: the whole text")
    old_str: str | None = Field(default=None, description="str_replace: text that occurs exactly once in the file")
    new_str: str | None = Field(default=None, description="str_replace: the replacement; empty deletes old_str")
    insert_line: int | None = Field(default=None, description="insert: after this line; 0 is the beginning")
    insert_text: str | None = Field(default=None, description="insert: the new lines")
    old_path: str | None = Field(default=None, description="rename: the present path")
    new_path: str | None = Field(default=None, description="rename: the new path")


async def file(call: Call, memory: ScopedMemory, request: FileCommand) -> str:
    """Execute the command; answers and errors have the wording of the reference implementation."""
    try:
        return await COMMANDS[request.command](call, memory.files(), request)
    except FileError as error:
        shown = request.path or request.old_path or ROOT
        advice = "" if request.command in ("delete", "rename") else ". Please provide a valid path."
        texts = {"missing": f"The path {shown} does not exist{advice}", "folder": f"The path {shown} is not a file."}
        # What the memory says of its own paths, as the model writes them.
        raise InvalidInputError(texts.get(error.reason) or _OURS.sub(rf"\1{ROOT}/", str(error))) from error


async def view(call: Call, files: MemoryFiles, request: FileCommand) -> str:
    """A file with the numbers of its lines, or what lies in a folder."""
    path = _inside(request.path)
    try:
        inside: Sequence[File] = await call(files.list, path, deep=True)
    except FileError as error:
        if error.reason != "file":
            raise
        lines, start = (await call(files.read, path)).split("\n"), 0
        if request.view_range and len(request.view_range) == len(("first", "last")):
            start = max(1, request.view_range[0]) - 1
            lines = lines[start : None if request.view_range[1] == -1 else request.view_range[1]]
        return f"Here's the content of {request.path} with line numbers:\n{_with_numbers(lines, start + 1)}"
    # Two levels deep, with sizes and without hidden files.
    shown, sizes = str(request.path).rstrip("/"), dict[str, int]()
    for file in inside:
        names = file.path[len(path.rstrip("/")) + 1 :].split("/")
        if any(name.startswith(".") for name in names):
            continue
        for depth in range(1, min(len(names), LEVELS) + 1):
            name = "/".join(names[:depth]) + "/" * (depth < len(names))
            sizes[name] = sizes.get(name, 0) + file.size
    lines = [f"{_size(sum(file.size for file in inside))}\t{shown}"]
    lines += [f"{_size(sizes[name])}\t{shown}/{name}" for name in sorted(sizes, key=lambda name: name.split("/"))]
    head = f"Here're the files and directories up to {LEVELS} levels deep in {shown}, excluding hidden items:"
    return "\n".join([head, *lines])


def _with_numbers(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, start=first))


def _size(count: int) -> str:
    power = min((count.bit_length() - 1) // 10, len(UNITS) - 1) if count else 0
    size = count / UNIT**power
    return f"{int(size)}{UNITS[power]}" if size == int(size) else f"{size:.1f}{UNITS[power]}"


async def create(call: Call, files: MemoryFiles, request: FileCommand) -> str:
    """Write a file that is not there yet."""
    path, text = _inside(request.path), _given(request.file_text, "file_text")
    try:
        await call(files.read, path)
    except FileError as error:
        if error.reason != "missing":
            raise
        await call(files.write, path, text, **_by(call))
        return f"File created successfully at: {request.path}"
    raise InvalidInputError(f"File {request.path} already exists")


async def str_replace(call: Call, files: MemoryFiles, request: FileCommand) -> str:
    """Replace text that occurs once, and show the lines around it."""
    path, old, new = _inside(request.path), _given(request.old_str, "old_str"), request.new_str or ""
    text = await call(files.read, path)
    lines = lines_with(text, old) if old else []
    if not lines:
        raise InvalidInputError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {request.path}."
        )
    if len(lines) > 1:
        raise InvalidInputError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, lines))}. Please ensure it is unique"
        )
    await call(files.edit, path, old, new, **_by(call))
    first = max(1, lines[0] - AROUND)
    changed = _with_numbers(text.replace(old, new).split("\n")[first - 1 : lines[0] + AROUND], first)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{changed}"


async def insert(call: Call, files: MemoryFiles, request: FileCommand) -> str:
    """Insert lines."""
    path, new = _inside(request.path), _given(request.insert_text, "insert_text")
    text = await call(files.read, path)
    count = text.count("\n") + (not text.endswith("\n") and text != "")
    if request.insert_line is None or not 0 <= request.insert_line <= count:
        raise InvalidInputError(
            f"Invalid `insert_line` parameter: {request.insert_line}. It should be within the range [0, {count}]."
        )
    await call(files.insert, path, request.insert_line, new.rstrip("\n") + "\n", **_by(call))
    return f"The file {request.path} has been edited."


async def delete(call: Call, files: MemoryFiles, request: FileCommand) -> str:
    """Remove a file or folder."""
    path = _inside(request.path)
    if path == "/":
        raise InvalidInputError(f"Cannot delete the {ROOT} directory itself")
    await call(files.delete, path)
    return f"Successfully deleted {request.path}"


async def rename(call: Call, files: MemoryFiles, request: FileCommand) -> str:
    """Move a file or folder to a free path."""
    old, new = _inside(request.old_path, "old_path"), _inside(request.new_path, "new_path")
    if old == "/":
        raise InvalidInputError(f"Cannot rename the {ROOT} directory itself")
    try:
        await call(files.rename, old, new)
    except FileError as error:
        if error.reason in ("exists", "folder"):
            raise InvalidInputError(f"The destination {request.new_path} already exists") from None
        raise
    return f"Successfully renamed {request.old_path} to {request.new_path}"


COMMANDS: dict[str, Callable[[Call, MemoryFiles, FileCommand], Coroutine[Any, Any, str]]] = {
    command.__name__: command for command in (view, create, str_replace, insert, delete, rename)
}


def _given(value: str | None, name: str) -> str:
    if value is None:
        raise InvalidInputError(f"{name} is missing: this command needs it")
    return value


def _inside(path: str | None, name: str = "path") -> str:
    """The path relative to the memory's files."""
    shown = _given(path, name)
    if shown != ROOT and not shown.startswith(f"{ROOT}/"):
        raise InvalidInputError(f"Path must start with {ROOT}, got: {shown}")
    if any(part in (".", "..") for part in shown.split("/")):
        raise InvalidInputError(f"Path {shown} would escape {ROOT} directory")
    return shown.removeprefix(ROOT) or "/"


def _by(call: Call) -> dict[str, Any]:
    """The origin and the sources of text that a model writes."""
    return {"id": call.key, "source": call.sources, "origin": Origin.ASSISTANT}


FILE = MemoryTool(
    "memory_file",
    f"Your memory as files below {ROOT}: view it before you start, write down what will matter later. profile.md is "
    "what is known about the user, facts/ all facts, blocks/ are in every prompt; put notes under other paths.",
    FileCommand,
    file,
)
