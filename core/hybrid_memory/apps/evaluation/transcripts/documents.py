"""The JSON values of a file, one after the other: the lines of JSONL, or the file as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from hybrid_memory.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON value of a file.

    Attributes:
        where: the file, and the line where there are several, as an error names it.
        name: of the conversation in it, where the file gives one.
    """

    value: Any
    where: str
    name: str = ""

    def refused(self, what: str) -> InvalidInputError:
        """The error that this record calls for."""
        return InvalidInputError(f"{self.where}: {what}")


def records(path: Path) -> Iterator[Record]:
    """The values of a file, each read when it is asked for; of JSONL no more than a line is held.

    Half of a character that was cut in two becomes a question mark, since no store takes it.

    Raises:
        InvalidInputError: the file is empty, cannot be read, or is not JSON in UTF-8; names the line.
    """
    try:
        with path.open("rb") as file:
            yield from _records(file, path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}") from error


def _records(file: BinaryIO, path: Path) -> Iterator[Record]:
    lines = ((number, line) for number, line in enumerate(file, 1) if line.strip(b"\xef\xbb\xbf \t\r\n"))
    head = [line for line in (next(lines, None), next(lines, None)) if line is not None]
    if not head:
        raise InvalidInputError(f"{path} is empty")
    if len(head) > 1 and not _is_json(head[0][1]):
        yield Record(_whole(path, head), str(path))
        return
    for number, line in chain(head, lines):
        where = f"{path}, line {number}"
        yield Record(_parsed(line, where), where)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def _whole(path: Path, head: list[tuple[int, bytes]]) -> Any:
    """The file as one value; where it is none, the error is that of its first line if the second one is JSON."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _valid(text, json.loads(text))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        if _is_json(head[1][1]):
            _parsed(head[0][1], f"{path}, line {head[0][0]}")
        raise _broken(f"{path}, line {error.lineno}", error) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path}: cannot be read as JSON: {error}") from None


def _parsed(line: bytes, where: str) -> Any:
    try:
        text = line.decode("utf-8-sig")
        return _valid(text, json.loads(text))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{where}: not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _broken(where, error) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where}: cannot be read as JSON: {error}") from None


def _broken(where: str, error: json.JSONDecodeError) -> InvalidInputError:
    return InvalidInputError(f"{where}: broken JSON: {error.msg} at character {error.colno}")


def _valid(text: str, value: Any) -> Any:
    """The value without lone surrogates, which only an escape can bring into it."""
    if "\\ud" not in text and "\\uD" not in text:
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
