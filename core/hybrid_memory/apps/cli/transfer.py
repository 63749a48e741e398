"""``hybrid-memory import`` and ``export``: conversations of other programs and our own.

An export has one message per line, as in ``history --json`` without its handle; nothing is lost.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import as_json, print_json, show
from hybrid_memory.apps.cli.stores import AUTO, AsJson, EmbeddedBy, Owner, StoreName, open_store, with_owner
from hybrid_memory.display import counted
from hybrid_memory.errors import IdConflictError, InvalidInputError, InvalidMessageError

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, Message, ScopedMemory
    from hybrid_memory.apps.transcripts import Transcript


DASH = Path("-")  # stands for stdin or stdout
OWN = "jsonl"  # the form of `export`


@contextmanager
def stdin_as_file(files: Sequence[Path], refusals: list[str]) -> Iterator[list[Path]]:
    """The files; a dash among them becomes a file with what stdin holds, as files are read more than once.

    Errors and ``refusals`` call it stdin.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "stdin"
        if DASH in files:
            copy.write_bytes(sys.stdin.buffer.read())
        try:
            yield [copy if file == DASH else file for file in files]
        except InvalidInputError as error:
            raise InvalidInputError(str(error).replace(str(copy), "stdin")) from error
        refusals[:] = [refusal.replace(str(copy), "stdin") for refusal in refusals]


def read_transcripts(paths: Sequence[Path], form: Any, refusals: list[str] | None = None) -> list[Transcript]:
    """All conversations of files or folders; equal names get their folder as a prefix; see `records`."""
    from hybrid_memory.apps import transcripts  # noqa: PLC0415 - half a second that help need not take

    results = [
        (path, chat) for path in paths for chat in transcripts.read_transcript(path, form=form, refusals=refusals)
    ]
    names = Counter(chat.name for _, chat in results)
    return [
        chat
        if names[chat.name] == 1
        else replace(chat, name=f"{(path if path.is_dir() else path.parent).as_posix()}/{chat.name}")
        for path, chat in results
    ]


def read_sessions(paths: Sequence[Path], form: str, refusals: list[str]) -> list[Transcript]:
    """The sessions to import: one for each conversation, named after it; exported sessions as they were."""
    from hybrid_memory.apps.transcripts.documents import records  # noqa: PLC0415 - see above

    exported: list[Transcript] = []
    others: list[Path] = []
    for path in paths:
        own = path.is_file() and form == OWN
        if path.is_file() and form == "auto" and path.suffix.lower() != ".zip":
            first = next((record.value for record in records(path, [])), None)
            own = isinstance(first, Mapping) and {"session", "role", "content"} <= first.keys()
        if own:
            exported += _exported(path, refusals)
        else:
            others.append(path)
    chats = read_transcripts(others, form, refusals) if others else []
    return [*exported, *(replace(chat, name=chat.key or chat.name) for chat in chats)]


def _exported(path: Path, refusals: list[str]) -> list[Transcript]:
    """The sessions that `export` wrote: runs of messages of one session, in log order; empty names for none."""
    from hybrid_memory import Message  # noqa: PLC0415 - see above
    from hybrid_memory.apps.transcripts import Transcript, file_time  # noqa: PLC0415 - see above
    from hybrid_memory.apps.transcripts.documents import records  # noqa: PLC0415 - see above
    from hybrid_memory.apps.transcripts.messages import dated  # noqa: PLC0415 - see above

    numbers, messages = Counter[str](), list[tuple[str, Message]]()
    for record in records(path, refusals):
        value = record.value
        if not isinstance(value, Mapping) or not isinstance(value.get("session", 0), str | None):
            record.refuse("not a message with a session, as written by hybrid-memory export")
            continue
        fields = dict(value)
        session = fields.pop("session") or ""
        numbers[session] += 1
        try:  # without an id it gets its number, by which later imports find it
            messages.append((session, Message.of({"id": f"turn-{numbers[session]}", **fields})))
        except InvalidMessageError as error:
            record.refuse(str(error))
    return [
        Transcript(session, tuple(dated([message for _, message in rows], file_time(path))), form=OWN)
        for session, rows in groupby(messages, key=itemgetter(0))
    ]


TAKES = (
    "import takes JSON and JSONL: the zip or conversations.json of ChatGPT or Claude, chats in the form of OpenAI or "
    "LangChain, and what hybrid-memory export writes; for a text: hybrid-memory remember STORE - < FILE"
)

BATCH = 500  # how many messages are written at once

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        show_default=False,
        help="Chats in JSON or JSONL, folders of them, or the zip of an export; - reads stdin.",
    ),
]
Form = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Format of the files: openai, langchain, claude-ai, chatgpt, or jsonl for hybrid-memory export; "
        "auto finds out.",
    ),
]


@with_owner()
def import_chats(
    store: StoreName,
    files: Files,
    *,
    form: Form = "auto",
    embedder: EmbeddedBy = AUTO,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Import chats from files: each conversation becomes a session, with dates, tool calls and speakers.

    With a named owner it creates a missing store. Importing a file again writes only what is new. Without --session,
    sessions have the names in the files, or those of the files; custom instructions of ChatGPT are a session of that
    name. What cannot be read is named, and the rest is imported.

    Example: hybrid-memory import memory.db conversations.json --user alice
    """
    refusals: list[str] = []
    with stdin_as_file(files, refusals) as paths:
        chats = read_sessions(paths, form, refusals)
    if not chats:
        raise InvalidInputError("; ".join([*refusals, TAKES]))
    if owner.session is not None:
        if len(chats) > 1:
            raise InvalidInputError(f"--session imports one conversation, these files hold {len(chats)}: leave it out")
        chats = [replace(chat, name=owner.session) for chat in chats]
    with open_store(store, create=owner.named, background=False, embedder=embedder) as memory:
        scoped = replace(owner, session=None).of(memory)
        unread = len(refusals)
        written = remember_all(memory, scoped, chats, refusals)
        derived = scoped.flush()
    messages = sum(len(chat.messages) for chat in chats) - (len(refusals) - unread)
    sessions = list(dict.fromkeys(chat.name or None for chat in chats))
    if as_json:
        counts = {"indexed": derived.indexed, "embedded": derived.embedded, "learned": derived.learned}
        print_json({"messages": messages, **written, "sessions": sessions, **counts, "refused": refusals})
    else:
        ways = {"known": "known", "forgotten": "forgotten before and left out"}
        known = "".join(f", {written[way]:,} of them {told}" for way, told in ways.items() if written[way])
        show(f"{counted(messages, 'turn')} in {counted(len(sessions), 'session')} of {scoped.scope}{known}")
        learned = f"learned {counted(derived.learned, 'claim')}"
        show(f"indexed {counted(derived.indexed, 'turn')}, embedded {derived.embedded:,}, {learned}", style="dim")
    if refusals:
        raise InvalidInputError("not imported: " + "; ".join(refusals))


def remember_all(
    memory: HybridMemory, scoped: ScopedMemory, chats: Sequence[Transcript], refusals: list[str]
) -> dict[str, int]:
    """Write everything with a progress bar; returns how many were known, and forgotten before.

    A message whose id the store has with other words is not written: ``refusals`` gets a text that names it.
    """
    from hybrid_memory.display import progress_bar  # noqa: PLC0415 - half a second that help need not take

    total = sum(len(chat.messages) for chat in chats)
    done, written = 0, {"known": 0, "forgotten": 0}

    def write(session: ScopedMemory, messages: Sequence[Message]) -> None:
        try:
            receipt = session.remember(messages)
        except IdConflictError as error:
            if len(messages) == 1:
                refusals.append(f"{session.scope.session}: {error}")
                return
            for message in messages:
                write(session, [message])
            return
        written["known"] += len(receipt.duplicates)
        written["forgotten"] += len(receipt.forgotten)

    with progress_bar("importing", shown=None, unit="message") as advance:
        for chat in chats:
            session = memory.for_scope(replace(scoped.scope, session=chat.name or None))
            for start in range(0, len(chat.messages), BATCH):
                batch = chat.messages[start : start + BATCH]
                write(session, batch)
                done += len(batch)
                advance(done, total)
    return written


Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; - for stdout.")]


@with_owner()
def export(store: StoreName, *, out: Out = DASH, owner: Owner) -> None:
    """Write all messages of an owner to a file, or of one session; hybrid-memory import reads them back.

    Example: hybrid-memory export memory.db --user alice --out alice.jsonl
    """
    with owner.opened(store, embedder="none") as scoped:
        events = scoped.events(kinds=["message"])
    events.sort(key=lambda event: event.message.replaces or event.position)
    lines = [as_json({"session": event.scope.session, **shapes.message(event.message)}) for event in events]
    if out == DASH:
        for line in lines:
            typer.echo(line)
        return
    part = out.with_name(f"{out.name}.part")  # an existing file is replaced after everything is written
    try:
        try:
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
            part.replace(out)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot write {out}: {error.strerror or error}") from error
    typer.echo(f"{counted(len(lines), 'message')} in {out}", err=True)
