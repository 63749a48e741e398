"""A ledger as compact text for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_memory.artifacts.ledger import Ledger, Mention, Operation
from hybrid_memory.text.tokens import TokenCounter

SHOWN_TESTS = 3
"""The newest test runs that are shown."""


@dataclass(slots=True)
class _Group:
    label: str
    items: Sequence[str]
    separator: str = ", "


def render(ledger: Ledger, *, max_tokens: int, count: TokenCounter) -> str:
    """One line for each kind of entry, oldest first; paths, ids and names stand there literally.

    What does not fit is left out, the oldest of a kind first, kind by kind: mentioned paths, commands, files that were
    only read, addresses, ids, errors, tests, restored and deleted files, and last what was created,
    renamed or modified.
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


_KEEPING = "modified renamed created deleted restored tests errors ids urls read commands mentioned".split()


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
        *(_Group(str(operation), paths[operation]) for operation in _CHANGES),
        _Group("restored", restored),
        _Group("tests", tests[-SHOWN_TESTS:], "; "),
        _Group("errors", _texts(ledger.errors), "; "),
        _Group("ids", _texts(ledger.ids)),
        _Group("urls", _texts(ledger.urls)),
        _Group("read", paths[Operation.READ]),
        _Group("mentioned", [text for text in _texts(ledger.mentioned) if text not in named]),
        _Group("commands", _texts(ledger.commands), "; "),
    ]


_CHANGES = (Operation.CREATED, Operation.MODIFIED, Operation.RENAMED, Operation.DELETED)


def _texts(mentions: Sequence[Mention]) -> list[str]:
    return [mention.text for mention in mentions]


def _fitting(group: _Group, room: int, count: TokenCounter) -> str:
    """The group's line with as many of its newest items as fit in so many tokens; empty if none does."""
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
    shown = group.separator.join(group.items[more:])
    return f"{group.label}: " + (f"({more} older) " if more else "") + shown
