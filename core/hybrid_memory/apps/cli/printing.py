"""Output of the verbs: text without control characters, tables, bars, and JSON."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from hybrid_memory.apps.cli.terminal import draws
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""The width without a terminal."""

BAR_CELLS = 10
CLIPPED_CHARS = 400
"""Of a turn in a list; `why` and `--json` show all of it."""

_KEPT = frozenset("\n\t")


def printable(text: str) -> str:
    """The text without control characters and characters that change its direction; lines are kept."""
    return "".join(
        char if char in _KEPT or unicodedata.category(char)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def one_line(text: str, most: int = CLIPPED_CHARS) -> str:
    """The text printable, on one line, cut to this many characters."""
    line = printable(" ".join(text.split()))
    if len(line) <= most:
        return line
    cut = "…" if draws() else "..."
    return f"{line[: most - len(cut)]}{cut}"


def when(at: datetime | None) -> str:
    """The minute in UTC, in 16 characters."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"


def bar(share: float, cells: int = BAR_CELLS) -> str:
    """A bar of so many cells, filled for a share in [0, 1], to an eighth of a cell."""
    eighths = round(min(max(share, 0.0), 1.0) * cells * 8)
    full, part = divmod(eighths, 8)
    if not draws():
        return ("#" * full + ("-" if part else "")).ljust(cells)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")).ljust(cells)


def console(*, err: bool = False) -> Console:
    """For stdout or stderr: in colour and as wide as it is on a terminal, plain and 100 cells wide elsewhere."""
    from rich.console import Console  # noqa: PLC0415 - help need not wait for it

    made = Console(highlight=False, markup=False, emoji=False, stderr=err)
    return made if made.is_terminal else Console(highlight=False, markup=False, emoji=False, stderr=err, width=WIDTH)


def show(text: str, *, style: str = "", indent: int = 0, err: bool = False) -> None:
    """Print a text, wrapped, in this style and so many cells from the left."""
    from rich.text import Text  # noqa: PLC0415 - see above

    out = console(err=err)
    for line in Text(printable(text), style=style).wrap(out, max(out.width - indent, 20)):
        line.rstrip()
        out.print(Text(" " * indent) + line, soft_wrap=True)


def show_rows(
    rows: Iterable[Sequence[str]], *, heads: Sequence[str] = (), right: Sequence[int] = (), styles: Sequence[str] = ()
) -> None:
    """Print a table without lines; the last column takes the remaining width.

    Args:
        rows: the cells.
        heads: above the columns; none are shown without.
        right: columns that stand to the right.
        styles: of the columns, as Rich names them.
    """
    from rich.table import Table  # noqa: PLC0415 - see above
    from rich.text import Text  # noqa: PLC0415 - see above

    listed = [[Text(printable(cell), overflow="fold") for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(heads), header_style="bold")
    columns = len(heads) or max(map(len, listed), default=0)
    for number in range(columns):
        last = number == columns - 1
        table.add_column(
            heads[number] if heads else "",
            justify="right" if number in right else "left",
            style=styles[number] if number < len(styles) else "",
            no_wrap=not last,
            overflow="fold",
            ratio=1 if last else None,
        )
    for row in listed:
        table.add_row(*row)
    out = console()
    with out.capture() as drawn:
        out.print(table)
    typer.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def agreed(question: str, refusal: str, *, yes: bool) -> bool:
    """Whether the user confirms on a terminal; without one, raises `InvalidInputError` with the refusal."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInputError(refusal)
    return typer.confirm(question, err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON over several lines."""
    typer.echo(as_json(value, indent=2))


def as_json(value: Any, *, indent: int | None = None) -> str:
    """The value as JSON, dataclasses by their fields; control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_fields)
    return "".join(char if char == "\n" or unicodedata.category(char)[0] != "C" else _escaped(char) for char in text)


def _fields(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return fields_of(value) if is_dataclass(value) else str(value)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


if TYPE_CHECKING:
    from hybrid_memory import Event, Explanation, Hit, Message, Scope, Stats, Summary, UserProfile


def message(said: Message) -> dict[str, Any]:
    """A message without its place in the log; it is written to a file like this, and read back the same."""
    fields = said.model_dump(mode="json", exclude_defaults=True)
    first = {"id": said.id, "at": fields.get("at"), "role": said.role.value, "content": fields.get("content", "")}
    return {**first, **fields}


def turn(event: Event) -> dict[str, Any]:
    """A message with its handle and session."""
    return {
        "handle": f"#{event.position}",
        "session": event.scope.session,
        "origin": event.origin,
        **message(event.message),
    }


def hit(result: Hit) -> dict[str, Any]:
    """What recall found."""
    record = result.record
    shared = {} if record.scope.space is None else {"space": record.scope.space, "author": record.author}
    return {
        "handle": f"#{record.turn}",
        "score": result.score,
        "confidence": result.confidence,
        "kind": record.kind,
        "speaker": record.speaker,
        "origin": record.origin,
        "at": record.at,
        "session": record.scope.session,
        "text": record.text,
        "sources": record.sources,
        "signals": result.signals,
        "weights": result.weights,
        "why": result.why(),
        "metadata": record.metadata,
        **({"asked": result.as_metadata()["asked"]} if result.asked else {}),
        **shared,
    }


def explanation(told: Explanation) -> dict[str, Any]:
    """Where something comes from."""
    return {**fields_of(told), "turns": [{"handle": name, **message(said)} for name, said in told.turns]}


def profile(known: UserProfile, *, history: bool) -> dict[str, Any]:
    """``fields`` with their values, ``sources`` by field, and ``history`` by field where it is asked for."""
    former = {"history": {name: known.history(name) for name in type(known).model_fields}} if history else {}
    return {"fields": known.model_dump(mode="json"), "sources": known.sources, **former}


def summary(folded: Summary) -> dict[str, Any]:
    """``strategy``, ``lines``, ``handles`` of the stretches, ``artifacts``, ``audit`` and the whole ``text``."""
    return {
        "strategy": folded.strategy,
        "lines": [{**fields_of(line), "handle": line.handle} for line in folded.lines],
        "handles": folded.handles,
        "artifacts": folded.artifacts.model_dump(mode="json"),
        "audit": folded.audit,
        "text": folded.text,
    }


def stats(told: Stats) -> dict[str, Any]:
    """What a store holds; see `Stats`; without what this process did."""
    return {name: value for name, value in fields_of(told).items() if name != "work"}


def scope(whose: Scope) -> dict[str, Any]:
    """``tenant``, ``user``, ``agent`` and ``space``."""
    return {name: value for name, value in fields_of(whose).items() if name != "session"}
