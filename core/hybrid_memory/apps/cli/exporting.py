"""``hybrid-memory export``: all messages of an owner, in a file that ``import`` reads back the same.

``jsonl``: a message a line, as ``history --json`` shows it without its handle; nothing is lost.
``openai``: a session a line, ``{"session": ..., "messages": [...]}``, in OpenAI's form with ``id`` and ``at``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.printing import as_json
from hybrid_memory.apps.cli.stores import AgentName, SessionName, StoreName, TenantName, UserName, open_store, scoped
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Message, ScopedMemory

STDOUT = Path("-")


class ExportForm(StrEnum):
    """How messages are written."""

    JSONL = "jsonl"
    OPENAI = "openai"


Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to; - for stdout.")]
Form = Annotated[ExportForm, typer.Option(help="jsonl keeps everything; openai is what others read.")]


def export(
    store: StoreName,
    *,
    out: Out = STDOUT,
    form: Form = ExportForm.JSONL,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    session: SessionName = None,
) -> None:
    """Write all messages of an owner to a file, or of one session; hybrid-memory import reads them back.

    Example: hybrid-memory export memory.db --user alice --out alice.jsonl
    """
    with open_store(store, background=False, embedder="none") as memory:
        whose = scoped(memory, tenant=tenant, user=user, agent=agent, session=session, known=True)
        lines = _by_message(whose) if form is ExportForm.JSONL else _by_session(whose)
        if out == STDOUT:
            for line in lines:
                typer.echo(line)
            return
        count = _written(out, lines)
    typer.echo(f"{count:,} {'messages' if form is ExportForm.JSONL else 'sessions'} in {out}", err=True)


def _by_message(whose: ScopedMemory) -> Iterator[str]:
    for event in whose.events(kinds=["message"]):
        yield as_json({"session": event.scope.session, **shapes.message(event.message)})


def _by_session(whose: ScopedMemory) -> Iterator[str]:
    """A line for each session, in the order in which they began."""
    sessions: dict[str | None, list[dict[str, Any]]] = {}
    for event in whose.events(kinds=["message"]):
        sessions.setdefault(event.scope.session, []).append(_openai(event.message))
    for name, said in sessions.items():
        yield as_json({"session": name, "messages": said})


def _openai(said: Message) -> dict[str, Any]:
    fields = {"id": said.id, "at": said.at and said.at.isoformat(), "role": said.role.value, "name": said.name}
    calls = [call.as_openai() for call in said.tool_calls] or None
    more = {"content": said.content, "tool_calls": calls, "tool_call_id": said.tool_call_id}
    return {name: value for name, value in {**fields, **more}.items() if value is not None}


def _written(path: Path, lines: Iterator[str]) -> int:
    """Write the lines; a file that was there before is replaced once all is written."""
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
