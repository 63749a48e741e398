"""``hybrid-memory stats`` and ``doctor``: what a store holds, and whether all is well with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.printing import print_json, show, show_rows
from hybrid_memory.apps.cli.stores import AsJson, StoreName, open_store

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, Stats

SHOWN_OWNERS = 20

STYLES = {"ok": "green", "note": "yellow", "wrong": "bold red"}
"""Of what the doctor finds."""


def stats(store: StoreName, *, as_json: AsJson = False) -> None:
    """Show what a store holds: owners, sessions, events, vectors, and how far the index follows the log.

    Example: hybrid-memory stats memory.db --json
    """
    with open_store(store, background=False) as memory:
        told = memory.stats()
        owners = memory.owners()
        if as_json:
            print_json({**shapes.stats(told), "by_owner": [shapes.scope(owner) for owner in owners]})
            return
        _show_stats(memory, told)
    for owner in owners[:SHOWN_OWNERS]:
        show(str(owner), indent=2)
    if len(owners) > SHOWN_OWNERS:
        show(f"and {len(owners) - SHOWN_OWNERS:,} more", indent=2)


def _show_stats(memory: HybridMemory, told: Stats) -> None:
    folded = told.compactions
    rows = [
        ("store", memory.url),
        ("on disk", f"{told.size_bytes / 1e6:,.1f} MB"),
        ("embedder", told.embedder or "none: words alone"),
        ("events", f"{told.events:,} in {told.sessions:,} sessions"),
        ("records", f"{told.records:,}, {told.vectors:,} with vectors"),
        ("to index", f"{told.unindexed:,} events, {told.pending:,} vectors"),
        *([("in the outbox", f"{told.waiting:,} messages")] if told.waiting else []),
        *([("folded", repr(folded)[1:-1])] if folded.compactions else []),
        ("owners", f"{told.owners:,}"),
    ]
    show_rows(rows, styles=("cyan",))


def doctor(store: StoreName, *, as_json: AsJson = False) -> None:
    """Examine a store: schema, index against log, orphans, disk, versions. It changes nothing that was said.

    Exits with 1 if something is wrong, and tells what mends it.

    Example: hybrid-memory doctor memory.db
    """
    from hybrid_memory.apps.cli.health import examine  # noqa: PLC0415 - half a second that help need not take

    findings = examine(store)
    wrong = [finding for finding in findings if finding.state == "wrong"]
    if as_json:
        print_json({"healthy": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            mends = f": {finding.mend}" if finding.mend else ""
            show(f"{finding.state:<6}{finding.what:<11}{finding.told}{mends}", style=STYLES[finding.state])
        show("something is wrong" if wrong else "all is well", style="bold")
    if wrong:
        raise typer.Exit(1)
