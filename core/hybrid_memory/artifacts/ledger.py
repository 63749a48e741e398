"""What a working agent did: files, commands, tests, errors, ids."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict

from hybrid_memory.validation import CheckedModel


class Operation(StrEnum):
    """What became of a file, seen from the beginning of the ledger."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    READ = "read"


class Origin(StrEnum):
    """What is known about a file before the ledger's first message.

    ``SEEN``: it was there when it was first read or edited. ``TRACKED`` and ``NEW``: version control says so, which
    outweighs everything else.
    """

    UNKNOWN = "unknown"
    SEEN = "seen"
    TRACKED = "tracked"
    NEW = "new"


class FileState(CheckedModel):
    """A file, as the messages leave it.

    Attributes:
        path: as it was spelled first; relative to the working directory, or absolute.
        operation: what became of it.
        origin: whether it was there before.
        exists: it is there now; changed: it differs from what it was before.
        restored: it was set back on the way, so that older changes are gone.
        undone: everything was set back last; if the file was there before, it is as it was, and `exists` and `changed`
            only say what holds if it was not.
        moved_from: the name that it had before, if it was renamed.
        sources: ids of the messages that say so: the first and the newest.
    """

    model_config = ConfigDict(extra="forbid")

    path: str
    operation: Operation
    origin: Origin
    exists: bool = True
    changed: bool = False
    restored: bool = False
    undone: bool = False
    moved_from: str | None = None
    sources: tuple[str, ...] = ()


class SweepKind(StrEnum):
    """What happened to all files that a pattern covers."""

    REMOVE = "remove"
    MOVE = "move"
    RESET = "reset"
    CLEAN = "clean"
    RUN = "run"


class Sweep(CheckedModel):
    """One operation on many files, which also holds for files that only an older ledger knows.

    Attributes:
        kind: the files are removed, moved, set back to the committed state, removed if they were never committed, or
            whatever a script does that only an older ledger knows.
        pattern: a folder, a file, a name with wildcards, or the script; empty for everything.
        target: where a folder moved.
        source: id of the message that says so.
    """

    model_config = ConfigDict(extra="forbid")

    kind: SweepKind
    pattern: str = ""
    target: str = ""
    source: str = ""


class ScriptEffect(CheckedModel):
    """What running a script does to a file: a verb such as ``edit``, its path, and the second path of a move."""

    model_config = ConfigDict(extra="forbid")

    verb: str
    path: str
    target: str = ""


class Script(CheckedModel):
    """A script or patch that was written, with what it does to files once it is run."""

    model_config = ConfigDict(extra="forbid")

    path: str
    effects: tuple[ScriptEffect, ...]


class Mention(CheckedModel):
    """A literal string worth keeping, and the ids of the first and the newest messages that hold it."""

    model_config = ConfigDict(extra="forbid")

    text: str
    sources: tuple[str, ...] = ()


class TestRun(CheckedModel):
    """The outcome of a test run: its counts as the runner wrote them, and the names of what failed."""

    __test__ = False  # pytest, this is no test

    model_config = ConfigDict(extra="forbid")

    outcome: str
    failing: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Ledger(CheckedModel):
    """What a span of messages did; oldest first throughout, JSON by ``model_dump_json``.

    Attributes:
        files: never dropped, except those that were only read.
        root: the working directory that relative paths start from, where it could be told.
        sweeps: operations on folders and patterns; they matter when an older ledger is merged.
        scripts: files that do something to other files when they are run.
        tests, errors, ids, urls, commands, mentioned: the newest of each; mentioned are paths named in prose.
    """

    model_config = ConfigDict(extra="forbid")

    files: tuple[FileState, ...] = ()
    root: str | None = None
    sweeps: tuple[Sweep, ...] = ()
    scripts: tuple[Script, ...] = ()
    tests: tuple[TestRun, ...] = ()
    errors: tuple[Mention, ...] = ()
    ids: tuple[Mention, ...] = ()
    urls: tuple[Mention, ...] = ()
    commands: tuple[Mention, ...] = ()
    mentioned: tuple[Mention, ...] = ()
