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

from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from hybrid_memory import Event, Hit, Message

WIDTH = 80  # the width without a terminal

BAR_CELLS = 10
CLIPPED_CHARS = 400  # of a turn in a list; `why` and `--json` show all of it


KEPT = "\n\t\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}\N{SOFT HYPHEN}"  # of Persian words, emoji and long words


def printable(text: str) -> str:
    """The text without control characters and characters that change its direction; lines are kept."""
    return "".join(
        char if char in KEPT or unicodedata.category(char)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def one_line(text: str, most: int = CLIPPED_CHARS) -> str:
    """The text printable, on one line, cut to this many characters."""
    line = printable(" ".join(text.split()))
    cut = "…" if _encodes("…") else "..."
    return line if len(line) <= most else f"{line[: most - len(cut)]}{cut}"


def when(at: datetime | None) -> str:
    """The minute in UTC, in 16 characters."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"


def bar(share: float) -> str:
    """A bar that is filled for a share in [0, 1]."""
    return (("█" if _encodes("█") else "#") * round(min(max(share, 0.0), 1.0) * BAR_CELLS)).ljust(BAR_CELLS)


def _encodes(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def console(*, err: bool = False) -> Console:
    """For stdout or stderr: in colour and as wide as it is on a terminal, plain and 80 cells wide elsewhere."""
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


def show_rows(rows: Iterable[Sequence[str]], *, heads: Sequence[str] = (), styles: Sequence[str] = ()) -> None:
    """Print a table without lines; the last column takes the remaining width."""
    from rich.table import Table  # noqa: PLC0415 - see above
    from rich.text import Text  # noqa: PLC0415 - see above

    cells = [[Text(printable(cell), overflow="fold") for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(heads), header_style="bold")
    columns = len(heads) or max(map(len, cells), default=0)
    for number in range(columns):
        last = number == columns - 1
        table.add_column(
            heads[number] if heads else "",
            style=styles[number] if number < len(styles) else "",
            no_wrap=not last,
            overflow="fold",
            ratio=1 if last else None,
        )
    for row in cells:
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
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    if not _encodes(text):
        return json.dumps(value, indent=indent, default=_plain)
    return "".join(
        char if char == "\n" or unicodedata.category(char)[0] != "C" else json.dumps(char)[1:-1] for char in text
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return fields_of(value) if is_dataclass(value) else str(value)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def message(turn: Message) -> dict[str, Any]:
    """A message without its position in the log; it is written to a file like this, and read back the same."""
    parts = turn.model_dump(mode="json", exclude_defaults=True)
    first = {"id": turn.id, "at": parts.get("at"), "role": turn.role.value, "content": parts.get("content", "")}
    return {**first, **parts}


def turn(event: Event) -> dict[str, Any]:
    """A message with its handle and session."""
    place = {"handle": f"#{event.position}", "session": event.scope.session, "origin": event.origin}
    return {**place, **message(event.message)}


def hit(result: Hit) -> dict[str, Any]:
    """What recall found: the fields of `Hit.as_metadata`, with handle, text, weights and the record's own metadata."""
    record = result.record
    ours = {"handle": f"#{record.turn}", "text": record.text, "weights": result.weights, "metadata": record.metadata}
    return {**result.as_metadata(), **ours}
