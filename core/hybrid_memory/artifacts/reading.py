"""Reads messages into a ledger: tool calls, commands in code fences and calls written as tags, and their results."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

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
from hybrid_memory.artifacts.shell import (
    MAX_COMMAND_CHARS,
    CommandLine,
    Effect,
    is_patch,
    patch_effects,
    python_effects,
)
from hybrid_memory.log.message import MARKED, Message, Role, ToolCall
from hybrid_memory.text.asking import ends
from hybrid_memory.text.speakers import speaker

MAX_READ, MAX_TESTS = 200, 10
"""The newest files that were only read, and test runs that a ledger keeps."""

MAX_CHANGED = 1000
"""The most changed files; of more, those with several messages and the newest are kept."""

MAX_SCANNED_CHARS = 120_000
"""How much of a message is read, half at each end."""

SHOWN_COMMAND_CHARS = 160
"""How much of a command is kept."""


def read_ledger(messages: Sequence[Message], older: Ledger | None = None) -> Ledger:
    """The ledger of these messages, or of the older one continued by them.

    An action without a result in the messages counts as successful.
    """
    reader = _Reader(older or Ledger())
    for message in messages:
        reader.read(message)
    return reader.finish()


class _Reader:
    def __init__(self, older: Ledger) -> None:
        self.root = older.root
        self.files = {self._key(file.path): file for file in older.files}
        self.tests = list(older.tests)
        self.mentions: dict[str, list[Mention]] = {kind: list(getattr(older, kind)) for kind in LIMITS}
        self.runs_fences = bool(older.commands)
        self.pending: list[Action] = []
        self.scripts: dict[str, str] = {}

    def read(self, message: Message) -> None:
        if message.role is Role.SYSTEM:
            return
        source = message.id or ""
        text = message.content if isinstance(message.content, str) else message.text
        text = ends(text, MAX_SCANNED_CHARS)
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
        called = message.tool_call_id
        answered = (action for action in self.pending if None in (called, action.call) or action.call == called)
        if (action := next(answered, None)) is not None:
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
            self._mention("commands", [short(action.command, SHOWN_COMMAND_CHARS)], action.source)
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
        verb, path, target = effect
        if verb == "remove":
            names = self._key(path).split("/")
            for key, file in list(self.files.items()):
                parts = key.split("/")
                patterned = re.search(r"[*?\[]", path) and len(parts) >= len(names)
                covered = parts[: len(names)] == names or (patterned and all(map(fnmatchcase, parts, names)))
                if covered and file.operation is not Operation.DELETED:
                    self._change("delete", file.path, source)
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
        if verb == "delete":
            operation = Operation.DELETED
        elif verb == "read":
            operation = file.operation
        elif file.operation is Operation.RENAMED and not moved_from:
            operation = Operation.RENAMED
        if verb != "read" or is_new or operation is Operation.READ:
            sources, moved_from = bounded((*file.sources, source)), moved_from or file.moved_from
            file = file.model_copy(update={"operation": operation, "sources": sources, "moved_from": moved_from})
        self.files[key] = file
        return file


_PATH_KEYS = (
    "path file_path filepath filePath filename file_name fileName file target_file targetFile absolute_path "
    "relative_path notebook_path source_path src source old_path from uri"
).split()
_TARGET_KEYS = "destination dest dst target new_path new_name to target_path destination_path".split()
_COMMAND_KEYS = "command cmd commands script bash_command shell_command input code".split()
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_VERBS = {
    **dict.fromkeys("write create save put new touch".split(), "write"),
    **dict.fromkeys("edit replace insert append update modify patch change apply undo".split(), "edit"),
    **dict.fromkeys("delete remove unlink rm".split(), "delete"),
    **dict.fromkeys("rename move mv".split(), "move"),
    **dict.fromkeys("copy cp duplicate".split(), "copy"),
}
_FOLDER_WORDS = frozenset("dir directory directories folder folders list ls glob search grep find tree mkdir".split())
_SHELL_WORDS = frozenset("bash shell terminal execute exec run command cmd".split())
_PYTHON_WORDS = frozenset("python ipython jupyter code".split())
_SHELL_FENCE = re.compile(r"^[ \t]*```(?:bash|sh|shell|console)[^\S\n]*\n(.*?)\n[ \t]*```", re.DOTALL | re.MULTILINE)
_PLAIN_FENCE = re.compile(r"^```[^\S\n]*\n(.*?)\n```", re.DOTALL | re.MULTILINE)
_TAGGED = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.DOTALL)


@dataclass(slots=True)
class Action:
    """One requested action.

    Attributes:
        source: id of the message; call: id of the tool call, if it has one.
        command: a shell command line; effects: its other effects on files.
        fenced: whether it is in a code fence, so that only a result shows that it was run.
        literals: other arguments, to be searched for ids.
    """

    source: str
    call: str | None = None
    command: str | None = None
    effects: list[Effect] = field(default_factory=list)
    fenced: bool = False
    literals: str = ""


def actions(message: Message) -> list[Action]:
    """The actions in this message of the assistant, in order."""
    source = message.id or ""
    text = message.content if isinstance(message.content, str) else message.text
    calls = message.tool_calls
    if not calls and "<function=" in text:
        calls = [
            ToolCall(name=name, arguments={key: value.strip("\n") for key, value in _PARAMETER.findall(body)})
            for name, body in _TAGGED.findall(text[:MAX_COMMAND_CHARS])
        ]
    if not calls and "```" in text:
        fences = _SHELL_FENCE.findall(text) or _PLAIN_FENCE.findall(text)
        return [Action(source, command=fence, fenced=True) for fence in fences[-1:]]
    return [_action(call, source) for call in calls]


def _action(call: ToolCall, source: str) -> Action:
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except ValueError:
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else {"input": arguments}
    words = {word.lower() for word in _WORD.findall(call.name)}
    action = Action(source, call.id, literals=" ".join(_short_values(arguments)))
    path, command = _first(arguments, _PATH_KEYS), _first(arguments, _COMMAND_KEYS)
    patch = _first(arguments, ("patch", "diff", "patch_text")) or command
    if is_patch(patch) and not path and not patch.lstrip().startswith("apply_patch"):
        action.effects = list(patch_effects(patch))
    elif path:
        action.effects = _file_effects(words, path.strip(), arguments)
    elif command and words & _PYTHON_WORDS:
        action.effects = list(python_effects(command))
    elif command and (words & _SHELL_WORDS or "command" in arguments or "cmd" in arguments):
        action.command = command
    return action


def _file_effects(words: set[str], path: str, arguments: dict[str, Any]) -> list[Effect]:
    command = arguments.get("command")
    if isinstance(command, str) and " " not in command:  # an editor with commands: view, create, str_replace, insert
        words = {"edit"} if command.startswith("str") else set(command.split("_"))
    verb = next((verb for word, verb in _VERBS.items() if word in words), "read")
    target = _first(arguments, _TARGET_KEYS).strip()
    if words & _FOLDER_WORDS and verb in {"read", "write"}:
        return []
    if verb in {"move", "copy"}:
        return [Effect(verb, path, target) if target else Effect("edit", path)]
    return [Effect(verb, path)]


def _first(arguments: dict[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return shlex.join(value)
    return ""


def _short_values(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= 500:  # noqa: PLR2004 - ids and addresses are short
            yield value
    elif isinstance(value, dict | list) and depth < 8:  # noqa: PLR2004 - deeper than any tool's arguments
        for item in value.values() if isinstance(value, dict) else value:
            yield from _short_values(item, depth + 1)
