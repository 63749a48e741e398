"""Dates as they are written on the command line."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

MOMENT = "DATE"


def moment(text: str | datetime) -> datetime:
    """The time in ISO 8601 text, in UTC if it has no time zone.

    Raises:
        typer.BadParameter: the text is not a time.
    """
    from hybrid_memory.validation import instant  # noqa: PLC0415 - help need not wait for it

    result = instant(text)
    if result is None:
        raise typer.BadParameter(f"{text!r} is not a date: write it like 2026-03-01 or 2026-03-01T14:30+01:00")
    return result


Since = Annotated[
    datetime | None,
    typer.Option(parser=moment, metavar=MOMENT, help="Only turns from this date on, such as 2026-03-01."),
]
Until = Annotated[datetime | None, typer.Option(parser=moment, metavar=MOMENT, help="Only turns before this date.")]
