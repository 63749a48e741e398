"""The ledger of a working agent: files, commands, tests, errors, ids; and its form in a prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import ConfigDict

from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.validation import CheckedModel

SHOWN_TESTS = 3  # the newest test runs that are shown

_SHOWN = "created modified renamed deleted tests errors ids urls read commands".split()
_KEEPING = "modified renamed created deleted tests errors ids urls read commands".split()

MAX_SOURCES = 8  # the most message ids of an entry: the first, and the newest

LIMITS = {"errors": 40, "ids": 300, "urls": 60, "commands": 40}
"""The newest literal strings of each kind that a ledger keeps."""


class Operation(StrEnum):
    """What happened to a file, relative to the beginning of the ledger."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    READ = "read"


class _Entry(CheckedModel):
    """Strict validation, because a ledger is stored; what only older versions kept is left out."""

    model_config = ConfigDict(extra="ignore")


class FileState(_Entry):
    """A file after these messages.

    Attributes:
        path: as it was first written; relative to the root of the ledger, or absolute.
        existed: whether it existed before it was first changed.
        moved_from: its previous name, if it was moved.
        sources: ids of the first and the newest messages about it.
    """

    path: str
    operation: Operation
    existed: bool = True
    moved_from: str | None = None
    sources: tuple[str, ...] = ()


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
        files: the changed ones, and the newest that were only read.
        root: the folder of relative paths, if known.
        tests, errors, ids, urls, commands: the newest of each.
    """

    files: tuple[FileState, ...] = ()
    root: str = ""
    tests: tuple[TestRun, ...] = ()
    errors: tuple[Mention, ...] = ()
    ids: tuple[Mention, ...] = ()
    urls: tuple[Mention, ...] = ()
    commands: tuple[Mention, ...] = ()


def render(ledger: Ledger, *, max_tokens: int, count: TokenCounter) -> str:
    """One line for each kind of entry, oldest first, with literal paths, ids and names.

    What does not fit is left out, the oldest of a kind first, in this order of kinds: commands, files that were only
    read, addresses, ids, errors, tests, deleted files, and finally created, renamed or modified ones.
    """
    if ledger == Ledger():
        return ""
    groups: dict[str, list[Mention]] = {label: [*getattr(ledger, label, ())] for label in _SHOWN}
    groups["tests"] = [
        Mention(text=run.outcome + (f" ({', '.join(run.failing)})" if run.failing else ""))
        for run in ledger.tests[-SHOWN_TESTS:]
    ]
    moved = {state.moved_from for state in ledger.files if state.operation is Operation.RENAMED}
    for state in ledger.files:
        if state.operation is Operation.RENAMED:
            groups[state.operation].append(Mention(text=f"{state.moved_from} -> {state.path}"))
        elif state.operation is not Operation.DELETED or state.path not in moved:
            groups[state.operation].append(Mention(text=state.path))
    lines: dict[str, str] = {}
    left = max_tokens
    for label in _KEEPING:
        items = groups[label] if left > 0 else []
        fewer = range(1, len(items) + 1)
        shown = bisect_right(fewer, left, key=lambda newest: count(_line(label, items, newest)))
        if shown:
            lines[label] = _line(label, items, shown)
            left -= count(lines[label]) + 1
    return "\n".join(lines[label] for label in groups if label in lines)


def _line(label: str, items: Sequence[Mention], newest: int) -> str:
    """The group's line; the first item of each speaker is introduced by their name."""
    older = len(items) - newest
    texts, speaker = [], ""
    for item in items[older:]:
        texts.append(item.text if item.speaker == speaker else f"{item.speaker or 'said'}: {item.text}")
        speaker = item.speaker
    separator = "; " if label in {"tests", "errors", "commands"} else ", "
    return f"{label}: {f'({older} older) ' if older else ''}{separator.join(texts)}"


def bounded(sources: Iterable[str]) -> tuple[str, ...]:
    """The first and the newest of these ids, each once, without empty ones."""
    unique = tuple(dict.fromkeys(source for source in sources if source))
    return unique if len(unique) <= MAX_SOURCES else (unique[0], *unique[1 - MAX_SOURCES :])


def newest(mentions: Iterable[Mention], limit: int) -> tuple[Mention, ...]:
    """Each text once, in the order of its first mention; what was mentioned in one message only goes first."""
    merged: dict[str, Mention] = {}
    for mention in mentions:
        before = merged.setdefault(mention.text, mention)
        if before is not mention:
            sources, speaker = bounded((*before.sources, *mention.sources)), mention.speaker or before.speaker
            merged[mention.text] = mention.model_copy(update={"sources": sources, "speaker": speaker})
    rare = [text for text, mention in merged.items() if len(mention.sources) < 2]  # noqa: PLR2004 - again
    for text in list(dict.fromkeys([*rare, *merged]))[: max(0, len(merged) - limit)]:
        del merged[text]
    return tuple(merged.values())
