"""The engine of log, index or archive behind a URL, and a check whether an index matches its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hybrid_memory.config import MemoryConfig
from hybrid_memory.display import counted
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.derive import anchored, derive
from hybrid_memory.index.port import SemanticIndex, Status
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Archive, EventLog
from hybrid_memory.scope import Scope
from hybrid_memory.urls import shown_url

LOGS = "sqlite:///memory.db (relative), sqlite:////full/path/memory.db, memory://, postgresql://host:5432/database or redis://host:6379/0"
INDEXES = f"{LOGS}, milvus://host:19530 or milvus:///folder.db"
ARCHIVES = "clickhouse://host:8123/database or chdb:///folder"


State: TypeAlias = Literal["ok", "note", "wrong"]

REBUILD = "hybrid-memory rebuild mends it"
RESTORE = "restore a backup; hybrid-memory export may still save what can be read"

BATCH = 1000
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        what: the subject, in a word; detail: what was seen.
        mend: what to do about it; empty if nothing.
    """

    what: str
    state: State
    detail: str
    mend: str = ""


class Engine:
    """An engine for a URL. Override what it supports; each part is opened when it is requested.

    A package registers its class under ``hybrid_memory.engines``, by the scheme of its URLs.

    Attributes:
        url: the URL as given.
        config: all settings of the memory.
        key: the key of an encrypted store, or None.
        encrypts: whether the engine supports a key.
        read_only: nothing will be written, so that a read-only location is sufficient.

    Raises:
        InvalidConfigError: the URL is malformed.
    """

    encrypts = False

    def __init__(self, url: str, config: MemoryConfig, key: str | bytes | None = None) -> None:
        self.url = url
        self.config = config
        self.key = key
        self.read_only = False

    def log(self) -> EventLog:
        """The log (L3) at this URL.

        Raises:
            StoreUnavailableError: a server does not answer, or a file cannot be opened.
        """
        raise InvalidConfigError(
            f"cannot open {shown_url(self.url)!r} as a log: use {LOGS}, or the path of a .yaml file"
        )

    def index(self) -> SemanticIndex:
        """The index (L2) at this URL."""
        raise InvalidConfigError(f"cannot open {shown_url(self.url)!r} as an index: use {INDEXES}")

    def archive(self) -> Archive:
        """The archive at this URL."""
        raise InvalidConfigError(f"cannot open {shown_url(self.url)!r} as an archive: use {ARCHIVES}")

    def check(self) -> list[Finding]:
        """Problems below the level of log and index, such as a damaged page of a file; empty if there are none."""
        return []


def check_contents(log: EventLog, index: SemanticIndex, outbox: EventLog | None = None) -> Iterator[Finding]:
    """What log and index contain, what is not indexed yet, and index entries without an event."""
    embedder, size, total = index.embedder(), index.size(), log.size()
    counts = (counted(getattr(total, f"{name}s"), name) for name in ("event", "session", "owner"))
    yield Finding("log", "ok", ", ".join(counts))
    vectors = "no vectors" if embedder is None else f"vectors of {embedder[0]}, width {embedder[1]}"
    yield Finding("index", "ok", f"{counted(size.records, 'record')}, {size.vectors:,} with {vectors}")
    unindexed = indexed = 0
    for owner, head in log.heads().items():
        status = index.status(owner)
        applied = min(status.applied, head)
        if astray(log, owner, status):
            told = f"of {owner} it has seen #{status.applied}, and the log ends at #{head} or has another event there"
            yield Finding("index", "wrong", f"{told}: the log was restored", f"the next search or {REBUILD}")
        unindexed += log.count(owner, after=applied)
        after, missing = 0, list[int]()
        while events := log.read(owner, after=after, limit=BATCH):
            after = events[-1].position
            stored = {record.id for record in index.get([event.position for event in events])}
            turns = [event for event in events if event.kind is EventKind.MESSAGE and event.position <= applied]
            missing += [record.id for record, _ in derive(turns, {}) if record.id not in stored]
            indexed += len(stored)
        if missing:
            named = ", ".join(f"#{place}" for place in missing[:SHOWN])
            yield Finding(
                "orphans", "wrong", f"{counted(len(missing), 'turn')} of {owner} without a record: {named}", REBUILD
            )
    if size.records > indexed:
        yield Finding(
            "orphans", "wrong", f"{counted(size.records - indexed, 'record')} without an event in the log", REBUILD
        )
    if unindexed:
        yield Finding("index", "note", f"{counted(unindexed, 'event')} not indexed yet", "the next search does it")
    if size.pending and embedder is not None:
        yield Finding(
            "index", "note", f"{counted(size.pending, 'record')} without a vector yet", "the next search does it"
        )
    if outbox is not None and (pending := outbox.size().events):
        yield Finding(
            "outbox", "note", f"{counted(pending, 'message')} waiting for the log", "the next write or search does it"
        )


def astray(log: EventLog, owner: Scope, status: Status) -> bool:
    """Whether an index in this state has followed events of the owner that the log no longer has.

    This happens after a log was restored from a backup, or its server lost the last second.
    """
    stands, _ = anchored(status.anchor)
    if not status.applied or not stands:
        return False
    found = log.mark(owner, status.applied)
    if found:
        return found != stands
    erased = log.read(owner.owner, after=status.applied, kinds=(EventKind.ERASED,))
    return not any(first <= status.applied <= last for one in erased for first, last in one.payload["positions"])
