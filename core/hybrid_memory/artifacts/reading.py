"""Reads messages into a ledger, alone or as a continuation of an older ledger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hybrid_memory.artifacts import mentions
from hybrid_memory.artifacts.calls import Action, actions
from hybrid_memory.artifacts.commands import CommandReader
from hybrid_memory.artifacts.files import Effect, FileBook, merge
from hybrid_memory.artifacts.ledger import LIMITS, Ledger, Mention, Operation, ScriptEffect, TestRun, bounded
from hybrid_memory.artifacts.outcomes import Outcome, errors, is_observation, outcome, possible, refused, verdicts
from hybrid_memory.artifacts.scripts import diff_effects, is_patch, patch_effects, python_effects, status_effects
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.origin import MARKED
from hybrid_memory.text.voices import speaker

MAX_SCANNED_CHARS = 60_000
"""How much of a message is read, at both ends."""

MAX_COMMAND_CHARS = 160
"""How much of a command is kept."""

_FOLDER = re.compile(r"\[Current working directory: (/[^\]\n]*)\]|\(Current directory: (/[^)\n]*)\)")
_SHOWN_FILE = re.compile(r"\[File: (\S[^\n]*?) \(\d+ lines total")
_FULL_NAME = re.compile(r"File(?:: | \")(/[^\s\"]+)")
_EDIT = re.compile(r"\A\s*(?:edit|insert)(?:\s|\Z)")
_SCRIPT_NAME = re.compile(r"\.(?:py|sh|bash|patch|diff)$")


def read_ledger(messages: Sequence[Message], *, runs_fences: bool = False) -> Ledger:
    """The ledger of these messages; an action without a result in them counts as successful.

    ``runs_fences`` says that commands in code fences were run in earlier messages.
    """
    reader = _Reader()
    reader.runs_fences = runs_fences
    for message in messages:
        reader.read(message)
    return reader.finish()


class _Strings:
    """Literal strings in the order of their first mention, with the messages that hold them."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}
        self._speakers: dict[str, str] = {}

    def add(self, texts: Iterable[str], source: str, speaker: str = "") -> None:
        for text in texts:
            self._found.setdefault(text, {})[source] = None
            if speaker:
                self._speakers[text] = speaker

    def mentions(self) -> Iterable[Mention]:
        return (
            Mention(text=text, sources=bounded(by), speaker=self._speakers.get(text, ""))
            for text, by in self._found.items()
        )


class _Reader:
    def __init__(self) -> None:
        self.book = FileBook()
        self.shell = CommandReader(self.book)
        self.pending: list[Action] = []
        self.outputs: list[str] = []
        self.open_file = ""
        self.runs_fences = False
        self.found = {kind: _Strings() for kind in LIMITS}
        self.tests: list[TestRun] = []

    def read(self, message: Message) -> None:
        if message.role is Role.SYSTEM:
            return
        source = message.id or ""
        text = _scanned(message)
        if message.role is Role.ASSISTANT:
            self._conclude_all()
            self.pending = actions(message)
            prose = text.split("```", 1)[0] if self.pending else text
            self._prose(prose, source)
            if not self.pending:
                self._apply(mentions.claims(text), source)
            self.found["ids"].add(mentions.ids("\n".join(action.literals for action in self.pending)), source)
        elif message.role is Role.TOOL or is_observation(text):
            self._result(message, text, source)
        else:
            self.pending = [action for action in self.pending if not action.fenced]
            self._conclude_all()
            self._prose(text, source)
            self.found["ids"].add(mentions.ids(text), source)
            self.found["errors"].add(errors(Outcome(text, None)), source)

    def finish(self) -> Ledger:
        self._conclude_all()
        return self.book.ledger(self.tests, {kind: strings.mentions() for kind, strings in self.found.items()})

    def _prose(self, text: str, source: str) -> None:
        self.found["urls"].add(mentions.urls(text), source)
        self.found["mentioned"].add(mentions.paths(text), source)
        self.found["ids"].add(mentions.labelled_ids(text), source)

    def _result(self, message: Message, text: str, source: str) -> None:
        result = outcome(text)
        action = self._answered(message.tool_call_id)
        if action is not None:
            self.runs_fences |= action.fenced
            self._conclude(action, result)
        told = _speaker(message)
        self.found["errors"].add(errors(result), source, told)
        self.found["ids"].add(mentions.ids(text), source)
        self.found["urls"].add(mentions.urls(text), source, told)
        for run, failing in verdicts(text):
            self.tests.append(TestRun(outcome=run, failing=failing, sources=bounded([source])))
        if action is None or action.command is None:
            if action is None or not action.effects:
                self._apply(mentions.claims(text), source)
            return
        for effect in _shown_state(action.command, text):
            self.book.apply(effect._replace(path=self.shell.place(effect.path)), source)
        self.outputs.append(text)

    def _answered(self, call: str | None) -> Action | None:
        """The pending action that a result belongs to: the one with its id, or else the oldest."""
        for action in self.pending:
            if call is None or action.call is None or action.call == call:
                self.pending.remove(action)
                return action
        return None

    def _conclude_all(self) -> None:
        for action in self.pending:
            if not action.fenced or self.runs_fences:
                self._conclude(action, None)
        self.pending = []

    def _conclude(self, action: Action, result: Outcome | None) -> None:
        """Apply the effects of an action, unless its result rules them out."""
        if action.command is None:
            if result is None or not refused(result):
                self._apply(action.effects, action.source)
        elif _EDIT.match(action.command):
            self._edit_open_file(action, result)
        else:
            self._run(action.command, action.source, result)
        if result is not None:
            self._follow(result)

    def _run(self, command: str, source: str, result: Outcome | None) -> None:
        self.found["commands"].add([_short(command)], source)
        effects = self.shell.effects(command)
        if result is not None:
            self._infer_root(effects, result.text)
            effects = possible(effects, result, alone=self.shell.programs == 1)
        self._apply(effects, source)

    def _follow(self, result: Outcome) -> None:
        """Learn from a result where commands run and which file is open."""
        if "[File: " in result.text and (found := _SHOWN_FILE.search(result.text)):
            self.open_file = found[1]
        if "urrent" in result.text and (found := _FOLDER.search(result.text)):
            self.shell.folder = ""
            self.shell.enter(found[1] or found[2])
        elif "<returncode>" in result.text:
            self.shell.folder = ""

    def _infer_root(self, effects: Iterable[Effect], output: str) -> None:
        """Infer the root of relative paths if the output shows the full name of a file in the command."""
        if self.book.root is not None or "File" not in output:
            return
        relative = ["/" + effect.path for effect in effects if not effect.path.startswith("/")]
        for full in _FULL_NAME.findall(output):
            for path in relative:
                if full.endswith(path):
                    self.book.settle_root(full[: -len(path)])

    def _edit_open_file(self, action: Action, result: Outcome | None) -> None:
        shown = _SHOWN_FILE.search(result.text) if result is not None else None
        path = shown[1] if shown else self.open_file
        if path and (result is None or not refused(result)):
            self.book.apply(Effect("edit", path), action.source)

    def _apply(self, effects: Iterable[Effect], source: str) -> None:
        for effect in effects:
            if effect.verb == "text":
                self._keep_script(effect.path, effect.target)
                continue
            made = effect.verb in {"write", "append", "touch"}
            if made and not self.book.knows(effect.path) and self._was_shown(effect):
                self.book.apply(Effect("seen", effect.path), source)
            self.book.apply(effect, source)

    def _keep_script(self, path: str, text: str) -> None:
        if not _SCRIPT_NAME.search(path):
            return
        if path.endswith(".py"):
            effects = python_effects(text)
        elif path.endswith((".patch", ".diff")):
            effects = list(patch_effects(text)) if is_patch(text) else []
        else:
            effects = CommandReader(self.book).effects(text)
        changes = [effect for effect in effects if effect.verb not in {"read", "run", "text"}]
        changed = {effect.path for effect in changes}
        self.book.scripts[self.book.key(path)] = tuple(
            ScriptEffect(verb=effect.verb, path=effect.path, target=effect.target)
            for effect in effects
            if effect in changes or (effect.verb == "read" and effect.path in changed)
        )

    def _was_shown(self, effect: Effect) -> bool:
        """Whether an earlier output names this file, so that it existed before it was written.

        A bare name in a listing may be in any folder, so it only counts for a file that is appended to.
        """
        path = effect.path
        if "/" in path or effect.verb == "append":
            return any(mentions.occurs(path, output) for output in self.outputs)
        return any(f"./{path}" in output and mentions.occurs(path, output) for output in self.outputs)


def _shown_state(command: str, output: str) -> Iterable[Effect]:
    """What ``git diff`` and ``git status`` show."""
    if "git" not in command:
        return
    if re.search(r"\bgit\b[^|;&\n]*\bstatus\b", command):
        yield from status_effects(output)
    if is_patch(output) and re.search(r"\bgit\b[^|;&\n]*\bdiff\b(?![^|;&\n]*(?:\.\.|HEAD[~^]))", command):
        yield from diff_effects(output)


def _speaker(message: Message) -> str:
    """The source of what a tool, a page or an import says; none for output that an agent passes on as its user."""
    origin = message.spoken_by
    return speaker(origin, message.speaker, "") if origin in MARKED else ""


def _scanned(message: Message) -> str:
    text = message.content if isinstance(message.content, str) else message.text
    if len(text) <= 2 * MAX_SCANNED_CHARS:
        return text
    return text[:MAX_SCANNED_CHARS] + "\n" + text[-MAX_SCANNED_CHARS:]


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= MAX_COMMAND_CHARS else line[: MAX_COMMAND_CHARS - 1] + "…"


def read_on(older: Ledger, messages: Sequence[Message]) -> Ledger:
    """The ledger of these messages, read as a continuation of the older one; merge it with that."""
    return read_ledger(messages, runs_fences=bool(older.commands))


def changed_since(older: Ledger, messages: Sequence[Message]) -> Ledger:
    """The files that these messages changed, in their current state, considering the older ledger."""
    newer = read_on(older, messages)
    if all(file.operation is Operation.READ for file in newer.files):
        return Ledger()
    touched = {message.id for message in messages}
    files = [file for file in merge(older, newer).files if touched.intersection(file.sources)]
    return Ledger(files=tuple(file for file in files if file.operation is not Operation.READ))
