"""Read the JSON values of a file one by one, and conversations that are plain lists of messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

from hybrid_memory import Message
from hybrid_memory.apps.evaluation.transcripts.fields import name_of
from hybrid_memory.errors import InvalidInputError, InvalidMessageError
from hybrid_memory.validation import shown


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON value of a file.

    Attributes:
        where: the file, with the line if there are several; for errors.
        name: the name of its conversation, if the file gives one.
    """

    value: Any
    where: str
    name: str = ""

    def refused(self, what: str) -> InvalidInputError:
        """An error about this record."""
        return InvalidInputError(f"{self.where}: {what}")


def records(path: Path) -> Iterator[Record]:
    """The values of a file, read lazily; JSONL is read line by line.

    Half of a split character becomes a question mark, since stores do not accept it.

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
    """The file as one value; if it is invalid, the error is that of its first line if the second one is JSON."""
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
    """The value without lone surrogates, which can come only from escapes."""
    if "\\ud" not in text and "\\uD" not in text:
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


Fits: TypeAlias = Callable[[Any], bool]
Reads: TypeAlias = Callable[[Mapping[str, Any]], list[Message]]


PLAIN_FILES = ("*.json", "*.jsonl")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a file in its own form, oldest first.

    Attributes:
        name: the name in the file, or empty.
    """

    messages: list[Message]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of one form of files.

    Attributes:
        files: patterns of file names.
        fits: whether a value has this form: a message, a conversation, or an event of one.
        read: returns the conversations of a file's records.
    """

    files: tuple[str, ...]
    fits: Fits
    read: Callable[[Iterable[Record]], Iterator[Conversation]]

    @classmethod
    def of_messages(cls, form: str, fits: Fits, reads: Reads) -> Self:
        """A reader for files that are lists of messages, see `conversations`."""
        return cls(
            PLAIN_FILES, lambda value: holds(value, fits), lambda records: conversations(records, form, fits, reads)
        )


def listed(value: Any) -> list[Any] | None:
    """The items of a list, or of the ``messages`` of an object; None for anything else."""
    items = value.get("messages") if isinstance(value, Mapping) else value
    return items if isinstance(items, list) else None


def holds(value: Any, fits: Fits) -> bool:
    """Whether a value is a message of this form, or a conversation that begins with one."""
    items = listed(value)
    return bool(items and fits(items[0])) if items is not None else fits(value)


def conversations(records: Iterable[Record], form: str, fits: Fits, reads: Reads) -> Iterator[Conversation]:
    """A conversation for each list; messages on separate lines form one conversation.

    Args:
        records: the records of a file.
        form: the name of the form, for errors.
        fits: whether a value is a message.
        reads: returns the messages of a value.

    Raises:
        InvalidInputError: a value is not such a message, or the file mixes lists and single messages.
    """
    single: list[Message] = []
    lists = False
    for record in records:
        items = listed(record.value)
        lists = lists or items is not None
        if lists and (items is None or single):
            raise record.refused("a file holds one message a line or one conversation a line, not both")
        if items is None:
            single += message_of(record, record.value, form, fits, reads)
            continue
        places = (Record(item, f"{record.where}, message {number}") for number, item in enumerate(items, 1))
        yield Conversation(
            [said for place in places for said in message_of(place, place.value, form, fits, reads)],
            record.name or _session(record.value),
        )
    if not lists:
        yield Conversation(single)


def _session(value: Any) -> str:
    name = name_of(value.get("session")) if isinstance(value, Mapping) else None
    return name or ""


def message_of(record: Record, value: Any, form: str, fits: Fits, reads: Reads) -> list[Message]:
    """The messages in a value of this record.

    Raises:
        InvalidInputError: the value has another form, or cannot be stored.
    """
    if not fits(value):
        raise record.refused(f"no {form} message: {shown(value)}")
    try:
        return reads(value)
    except InvalidMessageError as error:
        raise record.refused(str(error)) from error
