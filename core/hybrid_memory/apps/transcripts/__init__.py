"""``read_transcript``: read conversations recorded by other programs into one form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, get_args

from hybrid_memory import Message, Role, ToolCall, as_messages
from hybrid_memory.apps.transcripts.documents import MAX_LOOKED_AT, PLAIN_FILES, Reader, Record, records
from hybrid_memory.apps.transcripts.exports import CHATGPT, CLAUDE_AI, OF_ACCOUNTS
from hybrid_memory.apps.transcripts.messages import (
    dated,
    is_langchain_message,
    is_openai_message,
    langchain_messages,
    openai_messages,
)
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

__all__ = ["Form", "Transcript", "file_time", "import_transcripts", "read_transcript"]

Form: TypeAlias = Literal["openai", "langchain", "claude-ai", "chatgpt"]
"""The program that wrote a file."""

_READERS: dict[Form, Reader] = {
    "openai": Reader.of_messages("OpenAI chat", is_openai_message, openai_messages),
    "langchain": Reader.of_messages("LangChain", is_langchain_message, langchain_messages),
    "claude-ai": CLAUDE_AI,
    "chatgpt": CHATGPT,
}


def read_transcript(path: str | Path, *, form: Form | Literal["auto"] = "auto") -> list[Transcript]:
    """The conversations in a file, or in all files of a folder and its subfolders, by name.

    It keeps roles, names, texts, content blocks, tool calls with results, and times; it skips thinking and empty
    messages. A message without a time has that of the message before it, or else of its conversation. Calls without an
    id, or with the id of an earlier call, get a new one, and so do their results. A conversation is named after its
    file, plus a key or number if the file contains several. Conversations without messages are skipped.

    Args:
        path: JSON or JSONL in UTF-8; JSONL is read line by line.
        form: the program that wrote it; ``auto`` detects it. In a folder a given form reads only files with its names:
            ``conversations*.json`` for ``chatgpt`` and ``claude-ai``; ``auto`` skips files about the account.

    Raises:
        InvalidInputError: the file does not exist, a line is invalid, the form is unknown, or there are no messages.
    """
    return [chat for _, chats in _read(Path(path), form, None) for chat in chats]


def import_transcripts(path: Path, refusals: list[str], *, form: Form | Literal["auto"] = "auto") -> list[Transcript]:
    """All conversations as of `read_transcript`, but for what cannot be read, which is added to ``refusals``.

    A conversation without any time has that of its file, when it must have been said already, or that of the first
    message with a time in its file: it is never newer than one that has a time.
    """
    before = len(refusals)
    try:
        read = list(_read(path, form, refusals))
    except InvalidInputError as error:
        refusals.append(str(error))
        return []
    if not any(chats for _, chats in read) and len(refusals) == before:
        refusals.append(f"{path} holds no messages")
    results = []
    for file, chats in read:
        stated = [message.at for chat in chats for message in chat.messages if message.at is not None]
        oldest = min([file_time(file), *stated])
        results += [replace(chat, messages=tuple(dated(chat.messages, oldest))) for chat in chats]
    return results


def file_time(file: Path) -> datetime:
    """When the file was written, by which its messages were said."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def _read(
    path: Path, form: Form | Literal["auto"], refusals: list[str] | None
) -> Iterator[tuple[Path, list[Transcript]]]:
    """The conversations of each file; see `Record` for what refusals are."""
    if form != "auto" and form not in _READERS:
        raise InvalidInputError(f"unknown format {shown(form)}: choose auto, {_known()}")
    if not path.exists():
        raise InvalidInputError(f"{path}: no such file or folder")
    empty = True
    files = [path]
    if path.is_dir():
        patterns = PLAIN_FILES if form == "auto" else _READERS[form].files
        matching = {file for pattern in patterns for file in path.rglob(pattern)}
        files = sorted(file for file in matching if file.is_file() and not file.name.startswith("."))
        files = [file for file in files if form != "auto" or file.name not in OF_ACCOUNTS]
        if not files:
            raise InvalidInputError(f"{path} has no file named {' or '.join(patterns)}")
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        chats = _transcripts(file, name, form, refusals)
        empty = empty and not chats
        yield file, chats
    if empty and refusals is None:
        raise InvalidInputError(f"{path} holds no messages")


def _transcripts(file: Path, name: str, given: Form | Literal["auto"], refusals: list[str] | None) -> list[Transcript]:
    values = records(file, refusals)
    form, values = _detected(values) if given == "auto" else (given, values)
    if form is None:
        return []
    said = [chat for chat in _READERS[form].read(values) if chat.messages]
    single = len(said) == 1 and not said[0].name
    names = [name if single else f"{name}#{chat.name or number}" for number, chat in enumerate(said, 1)]
    read = [
        Transcript.of(paired(chat.messages), name=title, form=form, key=chat.name)
        for title, chat in zip(names, said, strict=True)
    ]
    return [replace(one, messages=tuple(dated(one.messages, chat.at))) for one, chat in zip(read, said, strict=True)]


def _detected(values: Iterator[Record]) -> tuple[Form | None, Iterator[Record]]:
    """The form, detected from the first values, and all values."""
    looked_at: list[Record] = []
    for record in islice(values, MAX_LOOKED_AT):
        looked_at.append(record)
        form = next((form for form, reader in _READERS.items() if reader.fits(record.value)), None)
        if form is not None:
            return form, chain(looked_at, values)
    for record in looked_at[:1]:
        record.refuse(
            f"not a known transcript format: {shown(record.value)}; there are {_known()}. If it is one of them, name "
            "the form; in a folder that skips files of other names"
        )
    return None, values


def _known() -> str:
    return ", ".join(get_args(Form))


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation of one user with one assistant, oldest message first.

    Attributes:
        name: its name in the report.
        messages: the messages, with unique ids.
        form: the form it was read from.
        key: its key in its file; empty if it has none.
        undated: ids of the messages without a time of their own.
    """

    name: str
    messages: tuple[Message, ...]
    form: str = "messages"
    key: str = ""
    undated: frozenset[str | None] = frozenset()

    @classmethod
    def of(
        cls,
        messages: Sequence[Message | dict[str, Any]],
        *,
        name: str = "chat",
        form: str = "messages",
        key: str = "",
    ) -> Self:
        """The conversation of these messages; those without an id, or with a repeated one, get a numbered id.

        Raises:
            InvalidInputError: there are no messages, or one of them is not a message.
        """
        if not messages:
            raise InvalidInputError(f"{name} has no messages")
        given = as_messages(list(messages))
        taken = {message.id for message in given}
        seen: set[str] = set()
        said = []
        for number, message in enumerate(given, 1):
            names = chain([f"turn-{number}"], (f"turn-{number}-{again}" for again in count(2)))
            free = next(name for name in names if name not in taken)
            id_ = message.id if message.id and message.id not in seen else free
            taken.add(id_)
            seen.add(id_)
            said.append(message if message.id == id_ else message.model_copy(update={"id": id_}))
        return cls(name, tuple(said), form, key, frozenset(message.id for message in said if message.at is None))

    @property
    def digest(self) -> str:
        """A digest of the whole conversation, different for every conversation."""
        said = "\n".join(message.model_dump_json(exclude={"at"}) for message in self.messages)
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def __repr__(self) -> str:
        return f"<Transcript {self.name}: {len(self.messages)} messages, read as {self.form}>"


def paired(messages: Iterable[Message]) -> list[Message]:
    """The messages, with a unique id for each call, and the id of its call for each result.

    A result without an id answers the first unanswered call of the latest message with calls; if it has a name, the
    first call of that name. A call keeps its id unless an earlier call has the same. A result without a call is
    unchanged.
    """
    book = _Calls()
    return [book.paired(message) for message in messages]


class _Calls:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers = count(1)
        self._ids: dict[str, list[str]] = {}
        """By id in the file: the unanswered calls of the latest message with this id, in order."""
        self._waiting: dict[str, str] = {}
        """The tools of the latest message's unanswered calls, by our id."""

    def paired(self, message: Message) -> Message:
        if message.tool_calls:
            calls = self._asked(message.tool_calls)
            return message if calls == message.tool_calls else message.model_copy(update={"tool_calls": calls})
        if message.role is not Role.TOOL:
            return message
        if message.tool_call_id:
            ids = self._ids.get(message.tool_call_id, [message.tool_call_id])
            id_: str | None = ids.pop(0) if len(ids) > 1 else ids[0]
        else:
            tools = (id_ for id_, tool in self._waiting.items() if message.name in (None, tool))
            id_ = next(tools, next(iter(self._waiting), None))
        self._waiting.pop(id_ or "", None)
        return message if id_ == message.tool_call_id else message.model_copy(update={"tool_call_id": id_})

    def _asked(self, calls: Iterable[ToolCall]) -> list[ToolCall]:
        self._waiting = {}
        given: dict[str, list[str]] = {}
        results = []
        for call in calls:
            unused = (name for number in self._numbers if (name := f"call-{number}") not in self._taken)
            id_ = call.id if call.id and call.id not in self._taken else next(unused)
            self._taken.add(id_)
            self._waiting[id_] = call.name
            if call.id:
                given.setdefault(call.id, []).append(id_)
            results.append(call if call.id == id_ else call.model_copy(update={"id": id_}))
        self._ids |= given
        return results
