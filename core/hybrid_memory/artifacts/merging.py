"""Two ledgers as one, and how much a ledger keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hybrid_memory.artifacts.files import FileBook, bounded
from hybrid_memory.artifacts.ledger import FileState, Ledger, Mention, Operation, Script, ScriptEffect

MAX_COMMANDS = 40
MAX_ERRORS = 40
MAX_TESTS = 10
MAX_IDS = 300
MAX_URLS = 60
MAX_MENTIONED = 100
MAX_READ = 200
MAX_SCRIPTS = 60
"""The newest of each that a ledger keeps."""


def merge(older: Ledger, newer: Ledger) -> Ledger:
    """Both in one, as if their messages had been read together."""
    book = FileBook(older.root)
    book.merge(older.files, older.sweeps)
    book.scripts = {script.path: script.effects for script in older.scripts}
    if newer.root is not None:
        book.settle_root(newer.root)
    book.merge(newer.files, newer.sweeps)
    book.scripts |= {script.path: script.effects for script in newer.scripts}
    return Ledger(
        files=kept_files(book.states()),
        root=book.root,
        sweeps=book.sweeps(),
        scripts=kept_scripts(book.scripts),
        tests=(*older.tests, *newer.tests)[-MAX_TESTS:],
        errors=newest((*older.errors, *newer.errors), MAX_ERRORS),
        ids=newest((*older.ids, *newer.ids), MAX_IDS),
        urls=newest((*older.urls, *newer.urls), MAX_URLS),
        commands=newest((*older.commands, *newer.commands), MAX_COMMANDS),
        mentioned=newest((*older.mentioned, *newer.mentioned), MAX_MENTIONED),
    )


def kept_files(states: tuple[FileState, ...]) -> tuple[FileState, ...]:
    """All changed files, and the newest that were only read."""
    read = [state for state in states if state.operation is Operation.READ and not (state.restored or state.undone)]
    dropped = {state.path for state in read[: max(0, len(read) - MAX_READ)]}
    return tuple(state for state in states if state.path not in dropped) if dropped else states


def newest(found: Iterable[Mention], limit: int) -> tuple[Mention, ...]:
    """Each text once, in the order of its first mention; what was mentioned in one message only goes first."""
    merged: dict[str, Mention] = {}
    for mention in found:
        known = merged.get(mention.text)
        merged[mention.text] = (
            mention
            if known is None
            else Mention(text=mention.text, sources=bounded((*known.sources, *mention.sources)))
        )
    excess = len(merged) - limit
    if excess > 0:
        rare = [text for text, mention in merged.items() if len(mention.sources) < 2]  # noqa: PLR2004 - again
        for text in [*rare, *(text for text in merged if text not in set(rare))][:excess]:
            del merged[text]
    return tuple(merged.values())


def kept_scripts(scripts: Mapping[str, tuple[ScriptEffect, ...]]) -> tuple[Script, ...]:
    """The newest scripts that do something to files."""
    return tuple(Script(path=path, effects=effects) for path, effects in scripts.items() if effects)[-MAX_SCRIPTS:]
