"""``hybrid-memory import`` and ``export``: conversations of other programs and our own.

``jsonl``: one message per line, as in ``history --json`` without its handle; nothing is lost.
``openai``: one session per line, ``{"session": ..., "messages": [...]}``, in OpenAI's format with ``id`` and ``at``.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli import markdown
from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import as_json, print_json, show
from hybrid_memory.apps.cli.stores import AsJson, EmbeddedBy, EmbedderName, Owner, StoreName, open_store, with_owner
from hybrid_memory.display import counted
from hybrid_memory.errors import InvalidInputError, InvalidMessageError

if TYPE_CHECKING:
    from hybrid_memory import Message
    from hybrid_memory.apps.transcripts import Transcript
    from hybrid_memory.apps.transcripts.documents import Record

STDIN = Path("-")
OWN = "jsonl"
"""The form of `export` that keeps everything."""


@dataclass(frozen=True, slots=True)
class SessionMessages:
    """Messages of one session, oldest first."""

    session: str | None
    messages: list[Message]


def read_transcripts(paths: Sequence[Path], form: Any, refusals: list[str] | None = None) -> list[Transcript]:
    """All conversations; equal names get their folder as a prefix.

    Args:
        paths: files or folders.
        form: their format.
        refusals: gets what cannot be read, and the rest is read; None raises the first.

    Raises:
        InvalidInputError: a file cannot be read, or is not a transcript.
    """
    from hybrid_memory.apps import transcripts  # noqa: PLC0415 - half a second that help need not take

    def read(path: Path) -> list[Transcript]:
        if refusals is None:
            return transcripts.read_transcript(path, form=form)
        return transcripts.import_transcripts(path, refusals, form=form)

    results = [(path, chat) for path in paths for chat in read(path)]
    names = Counter(chat.name for _, chat in results)
    return [
        chat
        if names[chat.name] == 1
        else replace(chat, name=f"{(path if path.is_dir() else path.parent).as_posix()}/{chat.name}")
        for path, chat in results
    ]


def read_sessions(paths: Sequence[Path], form: str, refusals: list[str] | None = None) -> list[SessionMessages]:
    """The sessions to import: one for each conversation, named after it; exported sessions as they were.

    Args:
        paths: files or folders; ``-`` is stdin.
        form: their format; ``auto`` detects it, ``jsonl`` is the format of `export`.
        refusals: see `read_transcripts`.

    Raises:
        InvalidInputError: a file cannot be read, or is not a transcript.
    """
    results: list[SessionMessages] = []
    others: list[Path] = []
    with _spooled(paths) as files:
        for path in files:
            if path.is_file() and form in {"auto", OWN} and (form == OWN or _is_own(path)):
                results += _own(path, refusals)
            else:
                others.append(path)
        if others:
            chats = read_transcripts(others, form, refusals)
            results += [SessionMessages(chat.key or chat.name, list(chat.messages)) for chat in chats]
    return results


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
    from hybrid_memory.apps.transcripts.documents import records  # noqa: PLC0415 - see above

    first = next((record.value for record in records(path, [])), None)
    return isinstance(first, Mapping) and {"session", "role", "content"} <= first.keys()


def _own(path: Path, refusals: list[str] | None) -> list[SessionMessages]:
    """The sessions that `export` wrote: runs of messages of one session, in log order."""
    from hybrid_memory.apps.transcripts import file_time  # noqa: PLC0415 - see above
    from hybrid_memory.apps.transcripts.documents import records  # noqa: PLC0415 - see above
    from hybrid_memory.apps.transcripts.messages import dated  # noqa: PLC0415 - see above

    numbers: Counter[str | None] = Counter()
    said = [said for record in records(path, refusals) for said in _own_message(record, numbers)]
    return [
        SessionMessages(session, dated([message for _, message in run], file_time(path)))
        for session, run in groupby(said, key=itemgetter(0))
    ]


def _own_message(record: Record, numbers: Counter[str | None]) -> list[tuple[str | None, Message]]:
    """The message, if it is one, with its session; without an id it gets its number, by which later imports find it."""
    from hybrid_memory import Message  # noqa: PLC0415 - see above

    value = record.value
    if not isinstance(value, Mapping) or not isinstance(value.get("session"), str | None):
        record.refuse("not a message with a session, as written by hybrid-memory export")
        return []
    fields = dict(value)
    session = fields.pop("session")
    numbers[session] += 1
    try:
        return [(session, Message.of({"id": f"turn-{numbers[session]}", **fields}))]
    except InvalidMessageError as error:
        record.refuse(str(error))
        return []


if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, Scope, ScopedMemory

BATCH = 500
"""How many messages are written at once."""

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        show_default=False,
        help="Files or folders of chats, JSON or JSONL, or of Markdown; - is stdin.",
    ),
]
Form = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Format of the files: openai, langchain, claude-ai, chatgpt, jsonl for hybrid-memory export, or markdown; "
        "auto finds out.",
    ),
]
Speaker = Annotated[
    str,
    typer.Option(
        "--origin", metavar="NAME", help="Origin of Markdown: imported, from which no facts are learned, or user."
    ),
]


@with_owner()
def import_chats(
    store: StoreName,
    files: Files,
    *,
    form: Form = "auto",
    origin: Speaker = "imported",
    embedder: EmbeddedBy = EmbedderName.AUTO,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Import chats from files: each conversation becomes a session, with dates, tool calls and speakers.

    Markdown, such as AGENTS.md or the output of export --markdown, becomes files of the memory. A missing store is
    created. Importing a file again changes nothing, and from a chat that has grown only new messages are written.
    Without --session, sessions have the names in the files, or are named after the files. What cannot be read is named,
    and the rest is imported.

    Example: hybrid-memory import memory.db conversations.json --user alice
    """
    if markdown.is_tree(files, form):
        _import_texts(store, markdown.read_tree(files), origin, embedder=embedder, owner=owner, json=as_json)
        return
    refusals: list[str] = []
    said = read_sessions(files, form, refusals)
    if not said:
        raise InvalidInputError("; ".join(refusals))
    if owner.session is not None:
        if len(said) > 1:
            raise InvalidInputError(f"--session imports one conversation, these files hold {len(said)}: leave it out")
        said = [SessionMessages(owner.session, one.messages) for one in said]
    with open_store(store, create=True, background=False, embedder=embedder.given) as memory:
        whose = replace(owner, session=None).of(memory)
        before, forgotten = remember_all(memory, whose, said)
        derived = whose.flush()
    messages, sessions = sum(len(one.messages) for one in said), list(dict.fromkeys(one.session for one in said))
    values = {
        "messages": messages,
        "known": before,
        "forgotten": forgotten,
        "sessions": sessions,
        "indexed": derived.indexed,
        "embedded": derived.embedded,
        "learned": derived.learned,
        "refused": refusals,
    }
    if as_json:
        print_json(values)
    else:
        _show_imported(values, whose.scope)
    if refusals:
        raise InvalidInputError("not imported: " + "; ".join(refusals))


def _show_imported(values: Mapping[str, Any], scope: Scope) -> None:
    names = {"known": "known", "forgotten": "forgotten before and left out"}
    known = "".join(f", {values[key]:,} of them {name}" for key, name in names.items() if values[key])
    show(f"{counted(values['messages'], 'turn')} in {counted(len(values['sessions']), 'session')} of {scope}{known}")
    learned = counted(values["learned"], "claim")
    show(f"indexed {values['indexed']:,}, embedded {values['embedded']:,}, learned {learned}", style="dim")


def _import_texts(
    store: str, texts: dict[str, str], origin: str, *, embedder: EmbedderName, owner: Owner, json: bool
) -> None:
    """Write the texts as files of the memory; raises `InvalidInputError` at the end if some cannot be."""
    with open_store(store, create=True, background=False, embedder=embedder.given) as memory:
        whose = replace(owner, session=None).of(memory)
        written, refused = markdown.write_texts(whose, texts, origin)
        whose.flush()
    if json:
        print_json({"files": len(texts), "written": written, "refused": refused})
    else:
        show(f"{counted(len(texts), 'file')}, {written:,} of them new or changed, for {whose.scope}")
    if refused:
        raise InvalidInputError(f"not imported: {'; '.join(refused)}")


def remember_all(memory: HybridMemory, whose: ScopedMemory, messages: Sequence[SessionMessages]) -> tuple[int, int]:
    """Write everything with a progress bar; returns how many messages existed before, and were forgotten before."""
    from hybrid_memory.display import progress_bar  # noqa: PLC0415 - half a second that help need not take

    total = sum(len(one.messages) for one in messages)
    done = known = forgotten = 0
    scope = whose.scope
    with progress_bar("importing", shown=None, unit="message") as advance:
        for one in messages:
            existing = memory.scoped(tenant=scope.tenant, user=scope.user, agent=scope.agent, session=one.session)
            for start in range(0, len(one.messages), BATCH):
                receipt = existing.remember(one.messages[start : start + BATCH])
                known += len(receipt.duplicates)
                forgotten += len(receipt.forgotten)
                done += len(receipt.ids)
                advance(done, total)
    return known, forgotten


if TYPE_CHECKING:
    from hybrid_memory import Message, ScopedMemory

STDOUT = Path("-")


class ExportForm(StrEnum):
    """The format of exported messages."""

    JSONL = "jsonl"
    OPENAI = "openai"


Folder = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FOLDER", help="Write the memory's files there instead of messages."),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; - for stdout.")]
WrittenAs = Annotated[ExportForm, typer.Option(help="jsonl keeps everything; openai is readable by other programs.")]


@with_owner()
def export(
    store: StoreName,
    *,
    out: Out = STDOUT,
    form: WrittenAs = ExportForm.JSONL,
    folder: Folder = None,
    owner: Owner,
) -> None:
    """Write all messages of an owner to a file, or of one session; hybrid-memory import reads them back.

    With --markdown it writes the documents of the memory: profile, facts, blocks and your own files. It leaves out
    summaries, hidden files, and all but text and tables, since tools may execute those.

    Example: hybrid-memory export memory.db --user alice --out alice.jsonl
    """
    if folder is not None:
        with owner.opened(store) as whose:
            done = markdown.write_tree(whose, folder)
        typer.echo(f"{counted(done.count, 'file')} in {folder}, {done.written:,} of them new or changed", err=True)
        if done.left_out:
            typer.echo(f"not exported: {markdown.some(done.left_out)}", err=True)
        if done.others:
            typer.echo(f"not in the memory: {markdown.some(done.others)}", err=True)
        return
    with owner.opened(store, embedder="none") as whose:
        lines = _by_message(whose) if form is ExportForm.JSONL else _by_session(whose)
        if out == STDOUT:
            for line in lines:
                typer.echo(line)
            return
        count = _written(out, lines)
    typer.echo(f"{counted(count, 'message' if form is ExportForm.JSONL else 'session')} in {out}", err=True)


def _by_message(whose: ScopedMemory) -> Iterator[str]:
    for event in whose.events(kinds=["message"]):
        yield as_json({"session": event.scope.session, **shapes.message(event.message)})


def _by_session(whose: ScopedMemory) -> Iterator[str]:
    """A line for each session, in the order of their first messages."""
    sessions: dict[str | None, list[dict[str, Any]]] = {}
    for event in whose.events(kinds=["message"]):
        sessions.setdefault(event.scope.session, []).append(_openai(event.message))
    for name, said in sessions.items():
        yield as_json({"session": name, "messages": said})


def _openai(message: Message) -> dict[str, Any]:
    fields = {
        "id": message.id,
        "at": message.at and message.at.isoformat(),
        "role": message.role.value,
        "name": message.name,
    }
    calls = [call.as_openai() for call in message.tool_calls] or None
    more = {"content": message.content, "tool_calls": calls, "tool_call_id": message.tool_call_id}
    return {name: value for name, value in {**fields, **more}.items() if value is not None}


def _written(path: Path, lines: Iterator[str]) -> int:
    """Write the lines; an existing file is replaced after everything is written."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            count = sum(file.write(f"{line}\n") > 0 for line in lines)
        part.replace(path)
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count
