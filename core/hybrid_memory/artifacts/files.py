"""File states after a sequence of operations, and the merging of two ledgers."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from hybrid_memory.artifacts.ledger import (
    LIMITS,
    FileState,
    Ledger,
    Mention,
    Operation,
    Origin,
    Script,
    ScriptEffect,
    Sweep,
    SweepKind,
    TestRun,
    bounded,
    newest,
)

MAX_READ, MAX_SCRIPTS, MAX_SWEEPS, MAX_TESTS = 200, 60, 100, 10
"""The newest files that were only read, scripts, sweeps and test runs that a ledger keeps."""

MAX_CHANGED = 1000
"""The most changed files; of more, those with several messages and the newest are kept."""

_TEMPORARY = ("/tmp", "/var", "/dev", "/proc", "/usr", "/etc")  # noqa: S108 - names to recognise, nothing is written
_WILDCARD = re.compile(r"[*?\[]")


class Effect(NamedTuple):
    """The effect of one step on one path.

    The verbs: ``read``, ``seen`` (it existed before), ``write`` (create or overwrite), ``append``, ``touch``, ``edit``
    (it existed), ``delete``, ``absent`` (it does not exist any more), ``restore``, ``copy`` and ``move`` (to
    ``target``); ``tracked``, ``new`` and ``gone`` (version control reports it as modified, new, deleted); the sweeps
    ``remove``, ``reset``, ``clean``; ``run`` (a script); ``text`` (``target`` is the text written to the path). ``by``
    is the program.
    """

    verb: str
    path: str
    target: str = ""
    by: str = ""


@dataclass
class _File:
    """A `FileState` under construction."""

    path: str
    origin: Origin = Origin.UNKNOWN
    exists: bool = True
    changed: bool = False
    restored: bool = False
    undone: bool = False
    moved_from: str | None = None
    sources: tuple[str, ...] = ()

    @property
    def reset(self) -> bool:
        """Record that it was reset to its original state."""
        return self.undone and _was_there(self.origin)

    def mark(self, source: str) -> None:
        self.sources = bounded((*self.sources, source))


class FileBook:
    """Files by path, after effects applied in order; ``scripts`` maps a key to the effects of a ``run``."""

    def __init__(self, root: str | None = None) -> None:
        self.root = root
        self._files: dict[str, _File] = {}
        self._absolute: dict[str, list[str]] = defaultdict(list)
        self._sweeps: list[Sweep] = []
        self.scripts: dict[str, tuple[ScriptEffect, ...]] = {}

    def knows(self, path: str) -> bool:
        """Whether anything is known about this path."""
        return self.key(path) in self._files

    def key(self, path: str) -> str:
        """A key shared by the absolute and the relative name of a file."""
        path = _normal(path)
        if path.startswith("/"):
            if self.root is None:
                self._infer_root(path)
            if self.root is not None and path.startswith(self.root.rstrip("/") + "/"):
                return path[len(self.root.rstrip("/")) + 1 :]
        elif self.root is None and "/" in path:
            for absolute in [key for key in self._absolute.get(_last(path), ()) if key.endswith("/" + path)]:
                self.settle_root(absolute[: -len(path) - 1])
        return path

    def settle_root(self, root: str) -> None:
        """Use this folder as the root of relative paths, unless there is one already or it is a scratch folder."""
        root = _normal(root)
        if self.root is not None or root == "/" or not root.startswith("/") or root.startswith(_TEMPORARY):
            return
        self.root = root
        files = list(self._files.items())
        self._files, self._absolute = {}, defaultdict(list)
        for key, file in files:
            self._compose(self.key(key), file)

    def apply(self, effect: Effect, source: str) -> None:
        """Apply one effect reported by this message."""
        verb, path, target, _ = effect
        if verb in {"remove", "reset", "clean", "run"}:
            kind = SweepKind(verb)
            self._sweep(Sweep(kind=kind, pattern=self.key(path) if path else "", source=source))
        elif verb == "absent":
            if self.knows(path):
                self._change("delete", path, source)
        elif verb in {"move", "copy"}:
            self._transfer(path, target, source, moved=verb == "move")
        else:
            self._change(verb, path, source)

    def _change(self, verb: str, path: str, source: str) -> _File:
        key = self.key(path)
        known = key in self._files
        file = self._files[key] if known else self._added(key, _File(_normal(path)))
        if not known and verb in {"read", "seen", "edit", "tracked", "restore", "gone"}:
            file.origin = Origin.SEEN
        if verb in {"read", "seen"}:
            if not known or not file.changed:
                file.mark(source)
            return file
        file.mark(source)
        file.exists = verb not in {"delete", "gone"}
        file.changed = verb != "restore"
        file.undone = False
        if verb == "restore":
            file.origin, file.restored, file.moved_from = Origin.TRACKED, True, None
        elif verb in {"tracked", "gone"} and file.origin is not Origin.NEW:
            file.origin = Origin.TRACKED
        elif verb == "new":
            file.origin = Origin.NEW
        return file

    def _transfer(self, path: str, target: str, source: str, *, moved: bool) -> None:
        key = self.key(path)
        if moved and key not in self._files and any(name.startswith(key + "/") for name in self._files):
            self._sweep(Sweep(kind=SweepKind.MOVE, pattern=key, target=self.key(target), source=source))
            return
        spelled = self._change("seen", path, source).path
        if moved:
            self._change("delete", path, source)
            self._sweeps.append(Sweep(kind=SweepKind.MOVE, pattern=key, target=self.key(target), source=source))
        copied = self._change("write", target, source)
        if moved and self.key(target) != key:
            copied.moved_from = spelled

    def _sweep(self, sweep: Sweep, known: frozenset[str] = frozenset()) -> None:
        if sweep.kind is SweepKind.RUN:
            script = self.scripts.get(sweep.pattern)
            for effect in script or ():
                self.apply(Effect(effect.verb, effect.path, effect.target), sweep.source)
        if sweep.kind is not SweepKind.RUN or script is None:
            self._sweeps = [*self._sweeps, sweep][-MAX_SWEEPS:]
        for key, file in list(self._files.items()):
            if sweep.kind is not SweepKind.MOVE or key not in known:
                self._swept(sweep, key, file)

    def _swept(self, sweep: Sweep, key: str, file: _File) -> None:
        """What a sweep does to one file."""
        covered = covers(sweep.pattern, key)
        if sweep.kind is SweepKind.RESET and covered and file.changed and file.origin is not Origin.NEW:
            file.undone = True
        elif (sweep.kind is SweepKind.CLEAN and not _was_there(file.origin)) or (
            sweep.kind is SweepKind.REMOVE and covered
        ):
            self._remove(file, sweep.source)
        elif sweep.kind is SweepKind.MOVE and covered and key != sweep.pattern and (file.exists or file.reset):
            self._transfer(key, sweep.target + key[len(sweep.pattern) :], sweep.source, moved=True)

    def _remove(self, file: _File, source: str) -> None:
        if file.exists or file.undone:
            file.exists, file.changed, file.undone = False, True, False
            file.mark(source)

    def _infer_root(self, path: str) -> None:
        """Infer the root of relative paths from an absolute name that ends with a known relative one."""
        parts = path.split("/")
        for start in range(2, len(parts) - 1):
            if "/".join(parts[start:]) in self._files:
                self.settle_root("/".join(parts[:start]))
                return

    def _added(self, key: str, file: _File) -> _File:
        self._files[key] = file
        if key.startswith("/"):
            self._absolute[_last(key)].append(key)
        return file

    def _compose(self, key: str, newer: _File) -> None:
        """Apply a newer ledger's state of a file after the known one."""
        older = self._files.get(key)
        if older is None:
            self._added(key, newer)
            return
        touched = newer.changed or newer.restored or newer.undone
        origin = newer.origin if newer.restored else _origin(older.origin, newer.origin)
        self._files[key] = _File(
            path=older.path,
            origin=origin,
            exists=newer.exists if touched else older.exists,
            changed=newer.changed or (older.changed and not newer.restored),
            restored=older.restored or newer.restored,
            undone=newer.undone if touched else older.undone,
            moved_from=newer.moved_from or (None if newer.restored else older.moved_from),
            sources=bounded(older.sources + newer.sources),
        )

    def merge(self, files: Iterable[FileState], sweeps: Iterable[Sweep]) -> None:
        """Apply another ledger's entries after the known ones."""
        files = list(files)
        carried = {self.key(state.moved_from) for state in files if state.moved_from}
        # What the newer ledger followed itself, and saw no folder carry away, did not move with it.
        known = frozenset(self.key(state.path) for state in files) - carried
        moved = set()
        for sweep in sweeps:
            if sweep.kind is SweepKind.MOVE and any(key.startswith(sweep.pattern + "/") for key in self._files):
                moved |= {sweep.pattern, sweep.target}
            self._sweep(sweep, known)
        for state in files:
            if self.key(state.path) in moved and state.operation is not Operation.READ:
                continue  # the newer ledger took a folder for a file
            self._compose(self.key(state.path), _File(**state.model_dump(exclude={"operation"})))

    def ledger(self, tests: Sequence[TestRun], found: Mapping[str, Iterable[Mention]]) -> Ledger:
        """Files and scripts as they are now, with the newest test runs and literal strings by kind."""
        states = [FileState(operation=self._operation(file), **vars(file)) for file in self._files.values()]
        read = [
            state.path for state in states if state.operation is Operation.READ and not (state.restored or state.undone)
        ]
        dropped = set(read[: max(0, len(read) - MAX_READ)])
        if len(states) - len(read) > MAX_CHANGED:
            only_read = set(read)
            changed = [state for state in states if state.path not in only_read]
            once_first = sorted(changed, key=lambda state: len(state.sources) > 1)
            dropped |= {state.path for state in once_first[: len(changed) - MAX_CHANGED]}
        scripts = [Script(path=path, effects=effects) for path, effects in self.scripts.items() if effects]
        return Ledger(
            files=tuple(state for state in states if state.path not in dropped),
            root=self.root,
            sweeps=tuple(self._sweeps[-MAX_SWEEPS:]),
            scripts=tuple(scripts[-MAX_SCRIPTS:]),
            tests=tuple(tests[-MAX_TESTS:]),
            **{kind: newest(found[kind], limit) for kind, limit in LIMITS.items()},
        )

    def _operation(self, file: _File) -> Operation:
        if not file.changed or file.reset:
            return Operation.READ
        if not file.exists:
            return Operation.DELETED
        if _was_there(file.origin):
            return Operation.MODIFIED
        before = self._files.get(self.key(file.moved_from)) if file.moved_from else None
        return Operation.RENAMED if before is not None and _was_there(before.origin) else Operation.CREATED


def covers(pattern: str, path: str) -> bool:
    """Whether removing this name, folder or wildcard pattern also removes this file.

    A pattern that begins with ``**/`` matches the file's last name only.
    """
    if not pattern:
        return True
    if pattern.startswith("**/"):
        return fnmatchcase(posixpath.basename(path), pattern[3:])
    if not _WILDCARD.search(pattern):
        return path == pattern or path.startswith(pattern + "/")
    wanted, parts = pattern.split("/"), path.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatchcase, parts, wanted))


def _was_there(origin: Origin) -> bool:
    return origin in {Origin.SEEN, Origin.TRACKED}


def _origin(older: Origin, newer: Origin) -> Origin:
    if newer is Origin.NEW or older is Origin.NEW:
        return Origin.NEW
    return Origin.TRACKED if newer is Origin.TRACKED else older


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _normal(path: str) -> str:
    return posixpath.normpath(path) if path else path


def merge(older: Ledger, newer: Ledger) -> Ledger:
    """Both ledgers in one, as if their messages had been read together."""
    book = FileBook(older.root)
    book.merge(older.files, older.sweeps)
    book.scripts = {script.path: script.effects for script in older.scripts}
    if newer.root is not None:
        book.settle_root(newer.root)
    book.merge(newer.files, newer.sweeps)
    book.scripts |= {script.path: script.effects for script in newer.scripts}
    found = {kind: (*getattr(older, kind), *getattr(newer, kind)) for kind in LIMITS}
    return book.ledger((*older.tests, *newer.tests), found)
