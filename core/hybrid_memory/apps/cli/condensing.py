"""``hybrid-memory summary`` and ``compact``: the summary that replaces older turns in a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import print_json, show, when
from hybrid_memory.apps.cli.recalling import handle
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, with_owner
from hybrid_memory.display import counted

if TYPE_CHECKING:
    from hybrid_memory import Message, ScopedMemory

Expanded = Annotated[
    str | None,
    typer.Option("--expand", metavar="HANDLE", help="Show the words behind a handle instead, such as 12 or 12-40."),
]
Strategy = Annotated[
    str | None, typer.Option(metavar="NAME", help="How to summarise; by default as configured, or anchored.")
]
Keep = Annotated[int | None, typer.Option(min=1, help="How many rounds stay verbatim.")]


@with_owner()
def summary(
    store: StoreName,
    *,
    expand: Expanded = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Show the summary of a conversation, each line with the handle that leads to its words.

    Each session has its own summary. Without --session you see the summary of all sessions together.

    Example: hybrid-memory summary memory.db --session s1 --expand 12-40
    """
    with owner.opened(store, embedder="none") as whose:
        if expand is not None:
            _show_messages(whose.expand(handle(expand)), as_json=as_json)
            return
        folded = whose.summary()
        others = [] if folded or owner.session is not None else _compacted_sessions(whose)
    if as_json:
        print_json(shapes.summary(folded))
        return
    if folded:
        show(folded.text)
        show(repr(folded.audit)[1:-1], style="dim")
    elif others:
        show(f"these sessions have a summary: {', '.join(others)}; name one with --session")
    else:
        show("there is no summary yet: hybrid-memory compact makes one")


def _show_messages(messages: list[Message], *, as_json: bool) -> None:
    if as_json:
        print_json([shapes.message(message) for message in messages])
        return
    for message in messages:
        show(f"{when(message.at)}  {message.speaker}", style="cyan")
        show(message.text, indent=2)


def _compacted_sessions(whose: ScopedMemory) -> list[str]:
    names = [event.scope.session for event in whose.events(kinds=["compaction"])]
    return list(dict.fromkeys(name for name in names if name is not None))


@with_owner()
def compact(
    store: StoreName,
    *,
    strategy: Strategy = None,
    keep: Keep = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Replace all but the newest rounds of a conversation by a summary in prompts; the log keeps every word.

    Without --session, all sessions are compacted as one conversation, as a prompt without a session shows them.

    Example: hybrid-memory compact memory.db --session s1 --keep 2
    """
    with owner.opened(store) as whose:
        receipt = whose.compact(strategy=strategy, keep=keep)
        folded = whose.summary()
    if as_json:
        print_json({"compacted": receipt.compacted, "summary": shapes.summary(folded)})
        return
    if not receipt.compacted:
        show("there was nothing to compact")
        return
    show(f"{counted(receipt.compacted, 'turn')} compacted; the summary has {counted(len(folded.lines), 'line')}")
    show("hybrid-memory summary shows it", style="dim")
