"""``read_transcript``: read conversations recorded by other programs into one form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from hybrid_memory import Message, Role, ToolCall, as_messages
from hybrid_memory.apps.transcripts.documents import MAX_LOOKED_AT, PLAIN_FILES, Packed, Reader, Record, packed, records
from hybrid_memory.apps.transcripts.exports import OF_ACCOUNTS, ChatGpt, ClaudeAi
from hybrid_memory.apps.transcripts.messages import LangChain, OpenAi, dated
from hybrid_memory.display import counted
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

__all__ = ["Form", "Transcript", "file_time", "read_transcript"]

Form: TypeAlias = Literal["openai", "langchain", "claude-ai", "chatgpt"]  # the program that wrote a file

_READERS: dict[Form, Reader] = {
    "openai": OpenAi(),
    "langchain": LangChain(),
    "claude-ai": ClaudeAi(),
    "chatgpt": ChatGpt(),
}
_KNOWN = ", ".join(_READERS)


def read_transcript(
    path: str | Path, *, form: Form | Literal["auto"] = "auto", refusals: list[str] | None = None
) -> list[Transcript]:
    """The conversations in a file, or in all files of a folder and its subfolders, by name.

    It keeps roles, names, texts, content blocks, tool calls with results, and times; it skips thinking and empty
    messages. A message without a time has that of the message before it, or else of its conversation. Calls without an
    id, or with the id of an earlier call, get a new one, and so do their results. A conversation is named after its
    file, plus a key or number if the file contains several. Conversations without messages are skipped.

    Args:
        path: JSON or JSONL in UTF-8; JSONL is read line by line. Of a zip archive, such as ChatGPT and Claude send,
            the files named ``conversations*.json`` are read, or those of the given form.
        form: the program that wrote it; ``auto`` detects it. In a folder a given form reads only files with its names:
            ``conversations*.json`` for ``chatgpt`` and ``claude-ai``; ``auto`` skips files about the account.
        refusals: gets what cannot be read, and the rest is read. Then a conversation without any time has that of its
            file, when it must have been said already, or that of the first message with a time in its file: it is never
            newer than one that has a time.

    Raises:
        InvalidInputError: the form is unknown; or, without ``refusals``, the file does not exist, a line is invalid, or
            there are no messages.
    """
    if form != "auto" and form not in _READERS:
        raise InvalidInputError(f"unknown format {shown(form)}: choose auto, {_KNOWN}")
    path, found, refused = Path(path), list[Transcript](), list[str]()
    for file in _files(path, form, refused):
        name = file.relative_to(path).as_posix() if isinstance(file, Path) and path.is_dir() else file.name
        values = records(file, refused)
        detected, values = _detected(values) if form == "auto" else (form, values)
        said = [] if detected is None else [chat for chat in _READERS[detected].read(values) if chat.messages]
        chats, single = list[Transcript](), len(said) == 1 and not said[0].name
        for number, chat in enumerate(said, 1):
            title = name if single else f"{name}#{chat.name or number}"
            messages = dated(paired(chat.messages), chat.at)
            chats.append(Transcript.of(messages, name=title, form=detected or "", key=chat.name))
        if refusals is not None:
            times = (message.at for chat in chats for message in chat.messages if message.at is not None)
            oldest = min([file_time(file), *times])
            chats = [replace(chat, messages=tuple(dated(chat.messages, oldest))) for chat in chats]
        found += chats
    if not found and not refused:
        refused.append(f"{path} holds no messages")
    if refused and refusals is None:
        raise InvalidInputError("; ".join(refused))
    if refusals is not None:
        refusals += refused
    return found


def file_time(file: Path | Packed) -> datetime:
    """When the file was written, by which its messages were said."""
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def _files(path: Path, form: Form | Literal["auto"], refusals: list[str]) -> Sequence[Path | Packed]:
    """The file, or those of a folder or archive that may be of this form."""
    if not path.exists():
        refusals.append(f"{path}: no such file or folder")
        return []
    of_archives = _READERS["chatgpt" if form == "auto" else form].files
    if path.suffix.lower() == ".zip" and path.is_file():
        return packed(path, of_archives, refusals)
    if not path.is_dir():
        return [path]
    patterns = PLAIN_FILES if form == "auto" else _READERS[form].files
    matching = {file for pattern in patterns for file in path.rglob(pattern)}
    files = sorted(file for file in matching if file.is_file() and not file.name.startswith("."))
    files = [file for file in files if form != "auto" or file.name not in OF_ACCOUNTS]
    archives = sorted(file for file in path.rglob("*.zip") if file.is_file())
    if not files and not archives:
        refusals.append(f"{path} has no file named {' or '.join(patterns)}")
    return [*files, *(file for archive in archives for file in packed(archive, of_archives, refusals))]


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
            f"not a known transcript format: {shown(record.value)}; there are {_KNOWN}. If it is one of them, name "
            "the form; in a folder that skips files of other names"
        )
    return None, values


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation of one user with one assistant, oldest message first; their ids are unique.

    It has a name for the report, the form that it was read from, and its key in its file, if there is one.
    """

    name: str
    messages: tuple[Message, ...]
    form: str = "messages"
    key: str = ""

    @classmethod
    def of(
        cls, messages: Sequence[Message | dict[str, Any]], *, name: str = "chat", form: str = "messages", key: str = ""
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
        return cls(name, tuple(said), form, key)

    @property
    def digest(self) -> str:
        """A digest of the whole conversation, different for every conversation."""
        said = "\n".join(message.model_dump_json(exclude={"at"}) for message in self.messages)
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def __repr__(self) -> str:
        return f"<Transcript {self.name}: {counted(len(self.messages), 'message')}, read as {self.form}>"


def paired(messages: Iterable[Message]) -> list[Message]:
    """The messages, with a unique id for each call, and the id of its call for each result.

    A result without an id answers the first unanswered call of the latest message with calls; if it has a name, the
    first call of that name. A call keeps its id unless an earlier call has the same. A result without a call is
    unchanged.
    """
    numbers, taken, results = count(1), set[str](), list[Message]()
    ids: dict[str, list[str]] = {}  # by id in the file: the unanswered calls of the latest message with this id
    waiting: dict[str, str] = {}  # the tools of the latest message's unanswered calls, by our id
    for message in messages:
        if message.tool_calls:
            waiting, given, calls = {}, dict[str, list[str]](), list[ToolCall]()
            for call in message.tool_calls:
                unused = (name for number in numbers if (name := f"call-{number}") not in taken)
                own = call.id if call.id and call.id not in taken else next(unused)
                taken.add(own)
                waiting[own] = call.name
                if call.id:
                    given.setdefault(call.id, []).append(own)
                calls.append(call.model_copy(update={"id": own}))
            ids |= given
            results.append(message.model_copy(update={"tool_calls": calls}))
        elif message.role is Role.TOOL:
            if message.tool_call_id:
                known = ids.get(message.tool_call_id, [message.tool_call_id])
                answered: str | None = known.pop(0) if len(known) > 1 else known[0]
            else:
                named = (own for own, tool in waiting.items() if message.name in (None, tool))
                answered = next(named, next(iter(waiting), None))
            waiting.pop(answered or "", None)
            results.append(message.model_copy(update={"tool_call_id": answered}))
        else:
            results.append(message)
    return results
