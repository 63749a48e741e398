"""``hybrid-memory remember``: write a turn from the command line."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from hybrid_memory.apps.cli.moments import MOMENT, moment
from hybrid_memory.apps.cli.printing import print_json, show
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, open_store, with_owner
from hybrid_memory.errors import InvalidInputError

SESSION = "notes"
"""The default session of a turn."""

Text = Annotated[str, typer.Argument(metavar="TEXT", show_default=False, help="What to remember; - reads stdin.")]
Role = Annotated[str, typer.Option(metavar="ROLE", help="Who says it: user, assistant, ...")]
At = Annotated[
    datetime | None,
    typer.Option("--at", parser=moment, metavar=MOMENT, help="When it was said, such as 2026-03-01; by default now."),
]


@with_owner()
def remember(
    store: StoreName,
    text: Text,
    *,
    role: Role = "user",
    at: At = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Write one turn into a memory, in the session "notes" unless you name one. A missing store is created.

    Example: hybrid-memory remember memory.db "I moved to Porto in May." --user alice
    """
    words = sys.stdin.read() if text == "-" else text
    if not words.strip():
        raise InvalidInputError("there is nothing to remember: give a text, or - and the text on stdin")
    session = owner.session or SESSION
    with open_store(store, create=True, background=False) as memory:
        whose = replace(owner, session=session).of(memory)
        receipt = whose.remember(words, role=role, at=at)
    name = f"#{receipt.positions[0]}"
    if as_json:
        print_json({"handle": name, "id": receipt.ids[0], "session": session})
        return
    show(f"remembered as {name} in {session}, for {whose.scope.owner}")
