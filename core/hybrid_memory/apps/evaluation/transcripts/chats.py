"""Conversations that are plain lists of messages: one a file, one a line, or one message a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import name_of
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.log.message import Message
from hybrid_memory.validation import shown

Fits: TypeAlias = Callable[[Any], bool]
Reads: TypeAlias = Callable[[Mapping[str, Any]], list[Message]]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages as a file has them, oldest first.

    Attributes:
        name: that the file gives it, or empty.
    """

    messages: list[Message]
    name: str = ""


def listed(value: Any) -> list[Any] | None:
    """The items of a list, or of the ``messages`` of an object; None for anything else."""
    items = value.get("messages") if isinstance(value, Mapping) else value
    return items if isinstance(items, list) else None


def holds(value: Any, fits: Fits) -> bool:
    """Whether a value is a message of this form or begins as a conversation of such messages."""
    items = listed(value)
    return bool(items and fits(items[0])) if items is not None else fits(value)


def conversations(records: Iterable[Record], form: str, fits: Fits, reads: Reads) -> Iterator[Conversation]:
    """One for each list; messages that are lines of their own are one conversation together.

    Args:
        records: of a file.
        form: as an error calls its messages.
        fits: whether a value is a message.
        reads: the messages behind one.

    Raises:
        InvalidInputError: something is no such message, or the file mixes lists and single messages.
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
    """The messages behind a value of this record.

    Raises:
        InvalidInputError: it is none of this form, or cannot be stored.
    """
    if not fits(value):
        raise record.refused(f"no {form} message: {shown(value)}")
    try:
        return reads(value)
    except InvalidMessageError as error:
        raise record.refused(str(error)) from error
