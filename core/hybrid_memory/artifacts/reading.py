"""Reads messages into a ledger, alone or as a continuation of an older ledger."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from hybrid_memory.artifacts.calls import Action, actions
from hybrid_memory.artifacts.ledger import LIMITS, FileState, Ledger, Mention, Operation, TestRun, bounded, newest
from hybrid_memory.artifacts.results import (
    Outcome,
    errors,
    ids,
    is_observation,
    labelled_ids,
    outcome,
    possible,
    refused,
    short,
    urls,
    verdicts,
)
from hybrid_memory.artifacts.shell import CommandLine, Effect
from hybrid_memory.log.message import MARKED, Message, Role
from hybrid_memory.text.speakers import speaker

MAX_READ, MAX_TESTS = 200, 10
"""The newest files that were only read, and test runs that a ledger keeps."""

MAX_CHANGED = 1000
"""The most changed files; of more, those with several messages and the newest are kept."""

MAX_SCANNED_CHARS = 60_000
"""How much of a message is read, at both ends."""

MAX_COMMAND_CHARS = 160
"""How much of a command is kept."""


def read_ledger(messages: Sequence[Message], older: Ledger | None = None, *, runs_fences: bool = False) -> Ledger:
    """The ledger of these messages, or of the older one continued by them.

    An action without a result in the messages counts as successful. ``runs_fences`` says that commands in code fences
    were run in earlier messages.
    """
    reader = _Reader(older or Ledger(), runs_fences=runs_fences)
    for message in messages:
        reader.read(message)
    return reader.finish()


def changed_since(older: Ledger, messages: Sequence[Message]) -> Ledger:
    """The files that these messages changed, in their current state, considering the older ledger."""
    touched = {message.id for message in messages}
    files = read_ledger(messages, older).files
    changed = [file for file in files if file.operation is not Operation.READ and touched.intersection(file.sources)]
    return Ledger(files=tuple(changed))


class _Reader:
    def __init__(self, older: Ledger, *, runs_fences: bool) -> None:
        self.root = older.root
        self.files = {self._key(file.path): file for file in older.files}
        self.tests = list(older.tests)
        self.mentions: dict[str, list[Mention]] = {kind: list(getattr(older, kind)) for kind in LIMITS}
        self.runs_fences = runs_fences or bool(older.commands)
        self.pending: list[Action] = []
        self.scripts: dict[str, str] = {}

    def read(self, message: Message) -> None:
        if message.role is Role.SYSTEM:
            return
        source = message.id or ""
        text = message.content if isinstance(message.content, str) else message.text
        if len(text) > 2 * MAX_SCANNED_CHARS:
            text = text[:MAX_SCANNED_CHARS] + "\n" + text[-MAX_SCANNED_CHARS:]
        if message.role is Role.TOOL or is_observation(text):
            self._result(message, text, source)
            return
        if message.role is not Role.ASSISTANT:  # a person speaks: what was in a fence was advice to them
            self.pending = [action for action in self.pending if not action.fenced]
        self._conclude_pending()
        if message.role is Role.ASSISTANT:
            self.pending = actions(message)
            self._mention("ids", ids("\n".join(action.literals for action in self.pending)), source)
            text = text.split("```", 1)[0] if self.pending else text
        else:
            self._mention("ids", ids(text), source)
            self._mention("errors", errors(Outcome(text, None)), source)
        self._mention("urls", urls(text), source)
        self._mention("ids", labelled_ids(text), source)

    def finish(self) -> Ledger:
        self._conclude_pending()
        read = [key for key, file in self.files.items() if file.operation is Operation.READ]
        changed = [key for key, file in self.files.items() if file.operation is not Operation.READ]
        changed.sort(key=lambda key: len(self.files[key].sources) > 1)
        dropped = {*read[: max(0, len(read) - MAX_READ)], *changed[: max(0, len(changed) - MAX_CHANGED)]}
        return Ledger(
            files=tuple(file for key, file in self.files.items() if key not in dropped),
            root=self.root,
            tests=tuple(self.tests[-MAX_TESTS:]),
            **{kind: newest(self.mentions[kind], limit) for kind, limit in LIMITS.items()},
        )

    def _result(self, message: Message, text: str, source: str) -> None:
        result = outcome(text)
        action = next(
            (
                one
                for one in self.pending
                if None in (message.tool_call_id, one.call) or one.call == message.tool_call_id
            ),
            None,
        )
        if action is not None:
            self.pending.remove(action)
            self.runs_fences |= action.fenced
            self._conclude(action, result)
        origin = message.spoken_by
        # Output that an agent passes on as its user has no speaker.
        who = speaker(origin, message.speaker, "") if origin in MARKED else ""
        self._mention("errors", errors(result), source, who)
        self._mention("ids", ids(text), source)
        self._mention("urls", urls(text), source, who)
        self.tests += [
            TestRun(outcome=run, failing=failing, sources=bounded([source])) for run, failing in verdicts(text)
        ]

    def _mention(self, kind: str, texts: Iterable[str], source: str, who: str = "") -> None:
        self.mentions[kind] += [Mention(text=text, sources=bounded([source]), speaker=who) for text in texts]

    def _conclude_pending(self) -> None:
        for action in self.pending:
            if not action.fenced or self.runs_fences:
                self._conclude(action, None)
        self.pending = []

    def _conclude(self, action: Action, result: Outcome | None) -> None:
        """Apply the effects of an action, unless its result rules them out."""
        effects = action.effects if result is None or not refused(result) else []
        if action.command is not None:
            self._mention("commands", [short(action.command, MAX_COMMAND_CHARS)], action.source)
            line = CommandLine(action.command, self.root, self.scripts)
            if line.root != self.root:
                self.root = line.root
                self.files = {self._key(file.path): file for file in self.files.values()}
            effects = line.effects if result is None else possible(line.effects, result)
        for effect in effects:
            self._apply(effect, action.source)

    def _key(self, path: str) -> str:
        """A key shared by the absolute and the relative name of a file."""
        return posixpath.normpath(path).removeprefix(f"{self.root}/" if self.root else "")

    def _apply(self, effect: Effect, source: str) -> None:
        verb, path, target, _ = effect
        if verb in {"remove", "restore"}:
            for key, file in list(self.files.items()):
                # To reset everything leaves alone what was created here, and so is not in version control.
                applies = bool(path) or file.existed if verb == "restore" else file.operation is not Operation.DELETED
                if applies and _covers(self._key(path) if path else "", key):
                    self._change(verb, file.path, source)
        elif verb in {"move", "copy"}:
            before = self._change("read", path, source)
            if verb == "move":
                self._change("delete", path, source)
            self._change("write", target, source, moved_from=before.path if verb == "move" and before.existed else None)
        else:
            self._change(verb, path, source)

    def _change(self, verb: str, path: str, source: str, *, moved_from: str | None = None) -> FileState:
        key = self._key(path)
        file = self.files.get(key)
        is_new = file is None
        if file is None:
            path = posixpath.normpath(path)
            file = FileState(path=path, operation=Operation.READ, existed=verb != "write")
        operation = Operation.MODIFIED if file.existed else Operation.RENAMED if moved_from else Operation.CREATED
        if verb in {"delete", "remove"}:
            operation = Operation.DELETED
        elif verb == "restore":
            operation = Operation.READ
        elif verb == "read":
            operation = file.operation
        elif file.operation is Operation.RENAMED and not moved_from:
            operation = Operation.RENAMED
        if verb != "read" or is_new or operation is Operation.READ:
            sources = bounded((*file.sources, source))
            update = {
                "operation": operation,
                "existed": file.existed or verb == "restore",
                "sources": sources,
                "moved_from": moved_from or file.moved_from,
            }
            file = file.model_copy(update=update)
        self.files[key] = file
        return file


def _covers(pattern: str, path: str) -> bool:
    """Whether this is the file, its folder or a pattern that it matches; an empty one covers every file."""
    if not pattern or path == pattern or path.startswith(pattern + "/"):
        return True
    names, parts = pattern.split("/"), path.split("/")
    return bool(re.search(r"[*?\[]", pattern)) and len(parts) >= len(names) and all(map(fnmatchcase, parts, names))
