"""``hybrid-memory search``: what comes back for a question, with what speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.moments import Since, Until
from hybrid_memory.apps.cli.printing import bar, one_line, print_json, show, when
from hybrid_memory.apps.cli.stores import (
    AgentName,
    AsJson,
    SessionName,
    StoreName,
    TenantName,
    UserName,
    open_store,
    scoped,
)

if TYPE_CHECKING:
    from hybrid_memory import Hit

Query = Annotated[str, typer.Argument(metavar="QUERY", show_default=False, help="A question, or any words.")]
Most = Annotated[int, typer.Option("-k", min=1, help="How many hits at most.")]
Why = Annotated[bool, typer.Option("--why", help="Show the arithmetic of each score.")]


def search(
    store: StoreName,
    query: Query,
    *,
    k: Most = 5,
    why: Why = False,
    since: Since = None,
    until: Until = None,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    session: SessionName = None,
    as_json: AsJson = False,
) -> None:
    """Search a memory; with a session only that conversation.

    A bar shows the score, and behind it stands what each signal brings to it. The handle, such as #12, is what other
    verbs take: why, summary --expand, forget --ids.

    Example: hybrid-memory search memory.db "where does she live?" -k 3 --why
    """
    with open_store(store, background=False) as memory:
        whose = scoped(memory, tenant=tenant, user=user, agent=agent, session=session, known=True)
        hits = whose.recall(query, k=k, within="session" if session else "user", since=since, until=until)
    if as_json:
        print_json([shapes.hit(hit) for hit in hits])
        return
    show_hits(hits, why=why)
    if not hits:
        show(f"nothing of {whose.scope} answers that")


def show_hits(hits: Sequence[Hit], *, why: bool) -> None:
    """Print each hit: its score as a bar, who said what, and what speaks for it."""
    from hybrid_memory.recall.hit import parts  # noqa: PLC0415 - half a second that help need not take

    for hit in hits:
        record = hit.record
        kind = "" if record.kind.value == "turn" else f"  [{record.kind.value}]"
        place = "" if record.scope.session is None else f"  in {record.scope.session}"
        head = f"{bar(hit.score)} {hit.score:.3f}  #{record.turn}  {when(record.at)}  {record.speaker}{place}{kind}"
        show(one_line(head), style="bold cyan")
        show(one_line(record.text), indent=2)
        shares = " · ".join(f"{part.label} {part.share:.2f}" for part in parts(hit))
        show(hit.why() if why else shares, style="dim", indent=2)
