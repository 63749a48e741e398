"""The ledger of a working agent: files, commands, tests, errors, ids; and its form in a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from pydantic import ConfigDict

from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.validation import CheckedModel

SHOWN_TESTS = 3
"""The newest test runs that are shown."""

_KEEPING = "modified renamed created deleted restored tests errors ids urls read commands mentioned".split()

MAX_SOURCES = 8
"""The most message ids of an entry: the first, and the newest."""

_CHANGES = "created modified renamed deleted".split()

LIMITS = {"errors": 40, "ids": 300, "urls": 60, "commands": 40, "mentioned": 100}
"""The newest literal strings of each kind that a ledger keeps."""


class Operation(StrEnum):
    """What happened to a file, relative to the beginning of the ledger."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    READ = "read"


class Origin(StrEnum):
    """What is known about a file before the ledger's first message.

    ``SEEN``: it existed when it was first read or edited. ``TRACKED`` and ``NEW``: version control says so, which takes
    precedence over everything else.
    """

    UNKNOWN = "unknown"
    SEEN = "seen"
    TRACKED = "tracked"
    NEW = "new"


class _Entry(CheckedModel):
    """Strict validation, because a ledger is stored."""

    model_config = ConfigDict(extra="forbid")


class FileState(_Entry):
    """A file after these messages.

    Attributes:
        path: as it was first written; relative to the working directory, or absolute.
        operation: what happened to it.
        origin: whether it existed before.
        exists: whether it exists now; changed: whether it differs from its original state.
        restored: whether it was reset in between, so that older changes are gone.
        undone: whether everything was reset last. If the file existed before, it is as it was; `exists` and `changed`
            then only say what holds if it did not.
        moved_from: its previous name, if it was renamed.
        sources: ids of the first and the newest messages about it.
    """

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


class Sweep(_Entry):
    """One operation on many files, including files that only an older ledger knows.

    Attributes:
        kind: the files are removed, moved, reset to the committed state, removed if never committed, or affected by a
            script that only an older ledger knows.
        pattern: a folder, a file, a name with wildcards, or the script; empty for everything.
        target: the destination of a moved folder.
        source: id of the message that reports it.
    """

    kind: SweepKind
    pattern: str = ""
    target: str = ""
    source: str = ""


class ScriptEffect(_Entry):
    """The effect of running a script on a file: a verb such as ``edit``, its path, and the target of a move."""

    verb: str
    path: str
    target: str = ""


class Script(_Entry):
    """A script or patch that was written, with its effects on files when run."""

    path: str
    effects: tuple[ScriptEffect, ...]


class Mention(_Entry):
    """A literal string worth keeping, and the ids of the first and the newest messages that contain it.

    Attributes:
        speaker: who brought it, if it was a tool, a page or an import.
    """

    text: str
    sources: tuple[str, ...] = ()
    speaker: str = ""


class TestRun(_Entry):
    """The outcome of a test run: counts as the runner printed them, and the names of failed tests."""

    __test__ = False  # pytest, this is no test

    outcome: str
    failing: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Ledger(_Entry):
    """What happened in a span of messages; lists are oldest first, ``model_dump_json`` gives JSON.

    Attributes:
        files: never dropped, except files that were only read.
        root: the working directory of relative paths, if known.
        sweeps: operations on folders and patterns, needed when an older ledger is merged.
        scripts: files that change other files when they are run.
        tests, errors, ids, urls, commands, mentioned: the newest of each; mentioned are paths named in prose.
    """

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


@dataclass(slots=True)
class _Group:
    label: str
    items: Sequence[str]
    separator: str = ", "
    speakers: Sequence[str] = ()


def render(ledger: Ledger, *, max_tokens: int, count: TokenCounter) -> str:
    """One line for each kind of entry, oldest first, with literal paths, ids and names.

    What does not fit is left out, the oldest of a kind first, in this order of kinds: mentioned paths, commands, files
    that were only read, addresses, ids, errors, tests, restored and deleted files, and finally created, renamed or
    modified ones.
    """
    groups = _groups(ledger)
    kept: dict[str, str] = {}
    room = max_tokens
    for group in sorted(groups, key=lambda group: _KEEPING.index(group.label)):
        line = _fitting(group, room, count)
        if line:
            kept[group.label] = line
            room -= count(line) + 1
    return "\n".join(kept[group.label] for group in groups if group.label in kept)


def _groups(ledger: Ledger) -> list[_Group]:
    """All groups, in the order in which they are shown."""
    paths: dict[Operation, list[str]] = {operation: [] for operation in Operation}
    restored: list[str] = []
    moved = {state.moved_from for state in ledger.files if state.operation is Operation.RENAMED}
    for state in ledger.files:
        if state.operation is Operation.RENAMED:
            paths[state.operation].append(f"{state.moved_from} -> {state.path}")
        elif (state.restored or state.undone) and state.operation is Operation.READ:
            restored.append(state.path)
        elif state.operation is not Operation.DELETED or state.path not in moved:
            paths[state.operation].append(state.path)
    named = {state.path for state in ledger.files}
    tests = [run.outcome + (f" ({', '.join(run.failing)})" if run.failing else "") for run in ledger.tests]
    return [
        *(_Group(change, paths[Operation(change)]) for change in _CHANGES),
        _Group("restored", restored),
        _Group("tests", tests[-SHOWN_TESTS:], "; "),
        _Group("errors", _texts(ledger.errors), "; ", _speakers(ledger.errors)),
        _Group("ids", _texts(ledger.ids)),
        _Group("urls", _texts(ledger.urls), speakers=_speakers(ledger.urls)),
        _Group("read", paths[Operation.READ]),
        _Group("mentioned", [text for text in _texts(ledger.mentioned) if text not in named]),
        _Group("commands", _texts(ledger.commands), "; "),
    ]


def _texts(mentions: Sequence[Mention]) -> list[str]:
    return [mention.text for mention in mentions]


def _speakers(mentions: Sequence[Mention]) -> list[str]:
    return [mention.speaker for mention in mentions]


def _fitting(group: _Group, room: int, count: TokenCounter) -> str:
    """The group's line with as many of its newest items as fit the budget; empty if none does."""
    low, high = 0, len(group.items)
    if not high or room <= 0:
        return ""
    while low < high:
        middle = (low + high + 1) // 2
        if count(_line(group, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return _line(group, low) if low else ""


def _line(group: _Group, newest: int) -> str:
    more = len(group.items) - newest
    shown = group.separator.join(_told(group, more))
    return f"{group.label}: " + (f"({more} older) " if more else "") + shown


def _told(group: _Group, start: int) -> list[str]:
    """The items from here on; the first of each speaker is introduced by their name."""
    told, before = [], ""
    for text, who in zip_longest(group.items[start:], group.speakers[start:], fillvalue=""):
        told.append(text if who == before else f"{who or 'said'}: {text}")
        before = who
    return told


def bounded(sources: Iterable[str]) -> tuple[str, ...]:
    """The first and the newest of these ids, each once, without empty ones."""
    unique = tuple(dict.fromkeys(source for source in sources if source))
    return unique if len(unique) <= MAX_SOURCES else (unique[0], *unique[1 - MAX_SOURCES :])


def newest(found: Iterable[Mention], limit: int) -> tuple[Mention, ...]:
    """Each text once, in the order of its first mention; what was mentioned in one message only goes first."""
    merged: dict[str, Mention] = {}
    for mention in found:
        known = merged.get(mention.text)
        sources = mention.sources if known is None else bounded((*known.sources, *mention.sources))
        speaker = mention.speaker or (known.speaker if known else "")
        merged[mention.text] = Mention(text=mention.text, sources=sources, speaker=speaker)
    excess = len(merged) - limit
    if excess > 0:
        rare = [text for text, mention in merged.items() if len(mention.sources) < 2]  # noqa: PLR2004 - again
        for text in [*rare, *(text for text in merged if text not in set(rare))][:excess]:
            del merged[text]
    return tuple(merged.values())
