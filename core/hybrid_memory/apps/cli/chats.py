"""Conversations from files: those of other programs, and what ``export`` wrote."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_memory.errors import InvalidMessageError

if TYPE_CHECKING:
    from hybrid_memory import Message
    from hybrid_memory.apps.evaluation import Transcript
    from hybrid_memory.apps.evaluation.transcripts.documents import Record

STDIN = Path("-")
OWN = "jsonl"
"""The form of `export` that keeps everything."""


@dataclass(frozen=True, slots=True)
class Said:
    """Messages of one session, oldest first."""

    session: str | None
    messages: list[Message]


def read_transcripts(paths: Sequence[Path], form: Any) -> list[Transcript]:
    """All conversations; those of one name get their folder before it.

    Raises:
        InvalidInputError: a file cannot be read, or is no transcript.
    """
    from hybrid_memory.apps.evaluation import read_transcript  # noqa: PLC0415 - half a second that help need not take

    found = [(path, chat) for path in paths for chat in read_transcript(path, form=form)]
    names = Counter(chat.name for _, chat in found)
    return [
        chat
        if names[chat.name] == 1
        else replace(chat, name=f"{(path if path.is_dir() else path.parent).as_posix()}/{chat.name}")
        for path, chat in found
    ]


def read_sessions(paths: Sequence[Path], form: str) -> list[Said]:
    """What is to be imported: each conversation as a session of its own name, and what was exported as it was.

    Args:
        paths: files or folders; ``-`` is stdin.
        form: what wrote them; ``auto`` finds out, ``jsonl`` is that of `export`.

    Raises:
        InvalidInputError: a file cannot be read, or is no transcript.
    """
    found: list[Said] = []
    others: list[Path] = []
    with _spooled(paths) as files:
        for path in files:
            if path.is_file() and form in {"auto", OWN} and (form == OWN or _is_own(path)):
                found += _own(path)
            else:
                others.append(path)
        if others:
            chats = read_transcripts(others, form)
            found += [Said(chat.key or chat.name, list(chat.messages)) for chat in chats]
    return found


@contextmanager
def _spooled(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The files, with stdin as one of them."""
    if STDIN not in paths:
        yield list(paths)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stdin"
        file.write_bytes(sys.stdin.buffer.read())
        yield [file if path == STDIN else path for path in paths]


def _is_own(path: Path) -> bool:
    from hybrid_memory.apps.evaluation.transcripts.documents import records  # noqa: PLC0415 - see above

    first = next(records(path)).value
    return isinstance(first, Mapping) and {"session", "role", "content"} <= first.keys()


def _own(path: Path) -> list[Said]:
    """What `export` wrote: runs of messages of one session, in the order of the log."""
    from hybrid_memory.apps.evaluation.transcripts.documents import records  # noqa: PLC0415 - see above

    numbers: Counter[str | None] = Counter()
    said = [_own_message(record, numbers) for record in records(path)]
    return [Said(session, [message for _, message in run]) for session, run in groupby(said, key=itemgetter(0))]


def _own_message(record: Record, numbers: Counter[str | None]) -> tuple[str | None, Message]:
    """The message with its session; one without an id gets its number, so that a second import finds it."""
    from hybrid_memory import Message  # noqa: PLC0415 - see above

    value = record.value
    if not isinstance(value, Mapping) or not isinstance(value.get("session"), str | None):
        raise record.refused("no message with a session, as hybrid-memory export writes them")
    fields = dict(value)
    session = fields.pop("session")
    numbers[session] += 1
    try:
        return session, Message.of({"id": f"turn-{numbers[session]}", **fields})
    except InvalidMessageError as error:
        raise record.refused(str(error)) from error
