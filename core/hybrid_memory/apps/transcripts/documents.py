"""The JSON values of a file one by one, and what reads conversations from them."""

from __future__ import annotations

import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile, ZipFile

from hybrid_memory import Message
from hybrid_memory.errors import InvalidInputError, InvalidMessageError
from hybrid_memory.text.structured import encodable_json
from hybrid_memory.validation import shown


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON value of a file, with its place for errors; ``refusals`` gets what cannot be read."""

    value: Any
    where: str
    refusals: list[str]

    def part(self, value: Any, where: str) -> Record:
        """A value in this one."""
        return Record(value, f"{self.where}, {where}", self.refusals)

    def refuse(self, what: str) -> None:
        """Note that this record cannot be read."""
        self.refusals.append(f"{self.where}: {what}")


MAX_UNPACKED = 1 << 30  # the most bytes that are read from an archive: a small one may unpack to any size


@dataclass(frozen=True, slots=True)
class Packed:
    """A file in a zip archive, which is read as a `Path` is."""

    archive: Path
    name: str
    size: int

    def __str__(self) -> str:
        return f"{self.archive}/{self.name}"

    def stat(self) -> os.stat_result:
        return self.archive.stat()

    def read_bytes(self) -> bytes:
        """The content, at most as long as the archive said; raises `OSError` if it is damaged or has a password."""
        try:
            with ZipFile(self.archive) as archive, archive.open(self.name) as stream:
                return stream.read(self.size)
        except (BadZipFile, RuntimeError, EOFError, zlib.error) as error:
            raise OSError(str(error)) from error


def packed(path: Path, patterns: Sequence[str], refusals: list[str]) -> list[Packed]:
    """The files in a zip archive that have one of these names, in whatever folder."""
    try:
        with ZipFile(path) as archive:
            files = [
                Packed(path, file.filename, file.file_size)
                for file in archive.infolist()
                if any(fnmatchcase(file.filename.rpartition("/")[2], pattern) for pattern in patterns)
            ]
    except (OSError, BadZipFile) as error:
        refusals.append(f"{path} cannot be read as a zip archive: {error}")
        return []
    if not files:
        refusals.append(f"{path} has no file named {' or '.join(patterns)}")
    if sum(file.size for file in files) > MAX_UNPACKED:
        refusals.append(f"{path} unpacks to more than {MAX_UNPACKED:,} bytes: unpack it, and give the folder")
        return []
    return sorted(files, key=lambda file: file.name)


def records(path: Path | Packed, refusals: list[str]) -> Iterator[Record]:
    """The values of a file; JSONL is parsed line by line. Refusals name the line.

    Half of a split character becomes a question mark, since stores do not accept it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        refusals.append(f"{path} cannot be read: {error.strerror or error}")
        return
    lines = [(row, line) for row, line in enumerate(content.split(b"\n"), 1) if line.strip(b"\xef\xbb\xbf \t\r\n")]
    if not lines:
        refusals.append(f"{path} is empty")
    if len(lines) > 1 and not _is_json(lines[0][1]):  # one value over several lines, or a broken first line
        try:
            yield Record(_parsed(content, path), str(path), refusals)
        except InvalidInputError as error:
            if not _is_json(lines[1][1]):
                refusals.append(str(error))
                return
        else:
            return
    for number, line in lines:
        try:
            value = _parsed(line, path, number)
        except InvalidInputError as error:
            refusals.append(str(error))
        else:
            yield Record(value, f"{path}, line {number}", refusals)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(content: bytes, path: Path | Packed, number: int | None = None) -> Any:
    """The value of a line, or of the whole file."""
    where = str(path) if number is None else f"{path}, line {number}"
    try:
        text = content.decode("utf-8-sig")
        value = json.loads(text)
        return encodable_json(value) if "\\ud" in text or "\\uD" in text else value  # half of a split character
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{where}: not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"{path}, line {number or error.lineno}"
        raise InvalidInputError(f"{where}: broken JSON: {error.msg} at character {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where}: cannot be read as JSON: {error}") from None


MAX_LOOKED_AT = 20  # the number of lines, or of messages, within which a file must show its form

PLAIN_FILES = ("*.json", "*.jsonl")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a file in its own form, oldest first, and its own time, for messages without one."""

    messages: list[Message]
    name: str = ""
    at: datetime | None = None


class Reader(ABC):
    """A reader of one form of files, that of a program; ``files`` are patterns of their names."""

    program: ClassVar[str]
    files: ClassVar[tuple[str, ...]]

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Whether a value has this form: a turn, a conversation, or a list with one."""

    @abstractmethod
    def read(self, records: Iterable[Record]) -> Iterator[Conversation]:
        """The conversations of a file's records."""

    @abstractmethod
    def is_turn(self, value: Any) -> bool:
        """Whether a part of a conversation is a turn of this form."""

    @abstractmethod
    def messages(self, turn: Mapping[str, Any]) -> list[Message]:
        """The messages of a turn."""

    def messages_in(self, record: Record) -> list[Message]:
        """The messages in this record, unless it has another form or cannot be stored."""
        if not self.is_turn(record.value):
            record.refuse(f"no {self.program} message: {shown(record.value)}")
            return []
        try:
            return self.messages(record.value)
        except InvalidMessageError as error:
            record.refuse(str(error))
            return []
