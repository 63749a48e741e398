"""``hybrid-memory stats``, ``check``, ``migrate``, ``rebuild`` and ``worker``: a store and its maintenance."""

from __future__ import annotations

import platform
import signal
import sqlite3
import time
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory import __version__
from hybrid_memory.apps.cli.printing import fields_of, print_json, show, show_rows
from hybrid_memory.apps.cli.stores import AUTO, AsJson, EmbeddedBy, StoreName, listed, open_store, settings, store_key
from hybrid_memory.display import counted
from hybrid_memory.errors import DISTRIBUTION, InvalidInputError, StoreUnavailableError
from hybrid_memory.urls import shown_url

if TYPE_CHECKING:
    from hybrid_memory import Receipt

STYLES = {"ok": "green", "note": "yellow", "wrong": "bold red"}  # of findings


def stats(store: StoreName, *, as_json: AsJson = False) -> None:
    """Show what a store holds: owners, sessions, events, vectors, and what is still to be indexed.

    Example: hybrid-memory stats memory.db --json
    """
    with open_store(store, background=False) as memory:
        figures, owners, url = memory.stats(), memory.owners(), memory.url
    if as_json:
        values = {name: value for name, value in fields_of(figures).items() if name != "work"}
        names = ("tenant", "user", "agent", "space")
        by_owner = [{name: getattr(owner, name) for name in names} for owner in owners]
        print_json({**values, "by_owner": by_owner})
        return
    rows = [
        ("store", url),
        ("on disk", f"{figures.size_bytes / 1e6:,.1f} MB"),
        ("embedder", figures.embedder or "none: words alone"),
        ("events", f"{figures.events:,} in {counted(figures.sessions, 'session')}: turns, claims, summaries"),
        ("records", f"{figures.records:,} in the index, {figures.vectors:,} with vectors"),
        ("to index", f"{counted(figures.unindexed, 'event')}, {counted(figures.pending, 'vector')}"),
        *([("in the outbox", counted(figures.waiting, "turn"))] if figures.waiting else []),
        *([("compacted", repr(figures.compactions)[1:-1])] if figures.compactions.compactions else []),
        ("owners", f"{figures.owners:,}: {listed([*map(str, owners)])}"),
    ]
    show_rows(rows, styles=("cyan",))


def check(store: StoreName, *, as_json: AsJson = False) -> None:
    """Check a store: schema, index against the log, orphans, disk, versions. It changes nothing.

    If something is wrong, it says what to run, and exits with 1.

    Example: hybrid-memory check memory.db
    """
    from hybrid_memory import check_store  # noqa: PLC0415 - half a second that help need not take
    from hybrid_memory.ports import Finding  # noqa: PLC0415 - half a second that help need not take

    config = settings(store)
    versions = f"{DISTRIBUTION} {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    findings = [Finding("versions", "ok", versions), *check_store(config, key=store_key(config))]
    wrong = any(finding.state == "wrong" for finding in findings)
    if as_json:
        print_json({"healthy": not wrong, "findings": findings})
    else:
        for finding in findings:
            mends = f": {finding.mend}" if finding.mend else ""
            row = (f"{finding.state:<5}", f"{finding.what:<9}", f"{finding.detail}{mends}")
            show_rows([row], styles=[STYLES[finding.state]])
        show("something is wrong" if wrong else "all is well", style="bold")
    if wrong:
        raise typer.Exit(1)


Source = Annotated[str, typer.Argument(metavar="FROM", show_default=False, help="The store to copy.")]
Target = Annotated[
    str,
    typer.Argument(metavar="TO", show_default=False, help="An empty store or earlier copy; a missing file is created."),
]


def migrate(source: Source, target: Target, *, embedder: EmbeddedBy = AUTO, as_json: AsJson = False) -> None:
    """Copy a store to another engine or embedder, and compare the two.

    Copies vectors too if the embedder is the same. Run it again after an interruption, or to copy what is new.

    Example: hybrid-memory migrate memory.db redis://localhost:6379/0
    """
    if settings(source).url == settings(target, create=True).url:
        raise InvalidInputError(
            f"{shown_url(source)} and {shown_url(target)} are the same store: choose another target"
        )
    with (
        open_store(source, background=False, embedder="none") as original,
        open_store(target, create=True, background=False, embedder=embedder) as copy,
    ):
        report = original.migrate(copy)
    if as_json:
        print_json(report)
        return
    copied = f"{counted(report.events, 'event')} of {counted(report.owners, 'owner')}"
    show(f"{copied} in {shown_url(target)}, the same as in {shown_url(source)}")
    show(f"indexed {report.indexed:,}, embedded {report.embedded:,}; SHA-256 {report.checksum}", style="dim")


def rebuild(store: StoreName, *, embedder: EmbeddedBy = AUTO, as_json: AsJson = False) -> None:
    """Make the index again from the log, with another embedder if you name one.

    Example: hybrid-memory rebuild memory.db --embedder local
    """
    from hybrid_memory.models.named import embedder_of  # noqa: PLC0415 - see above

    present = embedder == AUTO
    with open_store(store, background=False, embedder=AUTO if present else "none") as memory:
        figures = memory.stats()
        if present and figures.embedder is None and figures.vectors:
            raise InvalidInputError(
                f"{counted(figures.vectors, 'vector')} would be lost, as the command cannot make their embedder: call "
                "rebuild(embedder=...) where it is known, or name another one with --embedder"
            )
        receipt = memory.rebuild(embedder=None if present else embedder_of(embedder))
    if as_json:
        print_json({"indexed": receipt.indexed, "embedded": receipt.embedded, "learned": receipt.learned})
        return
    print_work(receipt)


SECONDS = 1.0  # how long the worker waits between two looks

Once = Annotated[bool, typer.Option("--once", help="Do what there is to do, and end.")]


def worker(store: StoreName, *, once: Once = False) -> None:
    """Index, embed and learn what other processes write to a store, until it is stopped.

    In those, set background to false in the sections orchestration and learning: then this process does the work.

    Example: hybrid-memory worker postgresql://memory@localhost/app
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it closes the store
    try:
        with open_store(store, background=False) as memory:
            while True:
                try:
                    done = memory.flush(progress=False)
                except StoreUnavailableError as error:  # it may come back
                    if once:
                        raise
                    show(str(error), err=True)
                else:
                    if done.indexed or done.embedded or done.learned:
                        print_work(done)
                if once:
                    break
                time.sleep(SECONDS)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def print_work(done: Receipt) -> None:
    """Print how many records, vectors and claims were made."""
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}, learned {counted(done.learned, 'claim')}")
