"""Reads messages into a ledger: tool calls, commands in code fences and calls written as tags, and their results.

Of results: success and exit code, errors, how test runs ended, ids and addresses.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from hybrid_memory.artifacts.ledger import LIMITS, FileState, Ledger, Mention, Operation, TestRun, bounded, newest
from hybrid_memory.artifacts.shell import (
    MAX_COMMAND_CHARS,
    CommandLine,
    Effect,
    is_patch,
    patch_effects,
    python_effects,
)
from hybrid_memory.log.message import MARKED, Message, Role, ToolCall
from hybrid_memory.text import lazy
from hybrid_memory.text.asking import ends
from hybrid_memory.text.speakers import speaker

MAX_READ, MAX_TESTS = 200, 10  # the newest files that were only read, and test runs that a ledger keeps
MAX_CHANGED = 1000  # the most changed files; of more, those with several messages and the newest are kept
MAX_SCANNED_CHARS = 120_000  # how much of a message is read, half at each end
SHOWN_COMMAND_CHARS = 160  # how much of a command is kept


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
        dropped = {*read[:-MAX_READ], *changed[:-MAX_CHANGED]}
        return Ledger(
            files=tuple(file for key, file in self.files.items() if key not in dropped),
            root=self.root,
            tests=tuple(self.tests[-MAX_TESTS:]),
            **{kind: newest(self.mentions[kind], limit) for kind, limit in LIMITS.items()},
        )

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
        source = action.source
        for verb, path, target in effects:
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
                origin = before.path if verb == "move" and before.existed else None
                self._change("write", target, source, moved_from=origin)
            else:
                self._change(verb, path, source)

    def _key(self, path: str) -> str:
        """A key shared by the absolute and the relative name of a file."""
        return posixpath.normpath(path).removeprefix(f"{self.root}/" if self.root else "")

    def _change(self, verb: str, path: str, source: str, *, moved_from: str | None = None) -> FileState:
        key = self._key(path)
        unread = FileState(path=posixpath.normpath(path), operation=Operation.READ, existed=verb != "write")
        file = self.files.get(key, unread)
        operation = Operation.MODIFIED if file.existed else Operation.RENAMED if moved_from else Operation.CREATED
        if verb == "delete":
            operation = Operation.DELETED
        elif verb == "read":
            operation = file.operation
        elif file.operation is Operation.RENAMED and not moved_from:
            operation = Operation.RENAMED
        if verb != "read" or operation is Operation.READ:
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
        editor, path = arguments.get("command"), path.strip()
        if isinstance(editor, str) and " " not in editor:  # with commands: view, create, str_replace, insert
            words = {"edit"} if editor.startswith("str") else set(editor.split("_"))
        verb = next((verb for word, verb in _VERBS.items() if word in words), "read")
        if verb in {"move", "copy"}:
            target = _first(arguments, _TARGET_KEYS).strip()
            action.effects = [Effect(verb, path, target) if target else Effect("edit", path)]
        elif not words & _FOLDER_WORDS or verb not in {"read", "write"}:
            action.effects = [Effect(verb, path)]
    elif command and words & _PYTHON_WORDS:
        action.effects = list(python_effects(command))
    elif command and (words & _SHELL_WORDS or "command" in arguments or "cmd" in arguments):
        action.command = command
    return action


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


MAX_MESSAGE_CHARS = 120  # how much of an error's message is kept
MAX_COMPLAINTS = 100  # the most complaints of programs that are read
MAX_FAILING = 60  # how many failing tests of a run are named

_OBSERVED = lazy(
    r"(?i)\s*(?:<returncode>|<output|<warning>|<exit_?code|observation\b|execution result|\[file:|\[the command"
    r"|\[command finished|diff --git |the last command|exit code|command output|std(?:out|err)\b|```output|output:)"
)
_EXIT = lazy(r"(?i)<returncode>\s*(-?\d+)|<exit_?code>\s*(-?\d+)|\bexit(?:ed with)?[ _](?:code|status)\"?[:= ]+(-?\d+)")
_COMPLAINT = lazy(
    r"(?m)^(?:(?:/[\w/.-]*/)?-?(?:bash|sh|zsh|dash)|sed|rm|mv|cp|cat|touch|tee|ln|perl|patch|error|fatal"
    r"|/?[\w/.-]*python[\d.]*): .*"
)
_REFUSED = lazy(
    r"(?i)\A\W{0,4}(?:error|failed|failure|invalid|exception|traceback|no replacement was performed|no such file"
    r"|could not|cannot|unable to|permission denied|file not found|string to replace not found|错误|失败|文件不存在)"
    r"|\"(?:success|ok)\"\s*:\s*false|\"is_?error\"\s*:\s*true"
    r"|no replacement was performed|did not appear verbatim|old_str(?:ing)? not found"
)
_ERROR_LINE = lazy(
    r"(?m)^(?:E\s+|!+\s*)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Interrupt|Exit|Panic))\b"
    r"(?::[ \t]*(\S.*))?\r?$"
)
# Each with a word that a text must contain: a plain search is faster by far.
_CODES = (
    ("error[E", lazy(r"error\[(E\d{4})\]")),
    ("TS", lazy(r"\b(TS\d{4,5})\b", re.ASCII)),
    ("HTTP", lazy(r"HTTP(?:/[\d.]+)?(?: [Ee]rror)?[ :]+[45]\d\d\b")),
    ("status", lazy(r"status(?:[ _]code)?\"?\s?[:= ]\s?([45]\d\d)\b", re.ASCII)),
    ("错误", lazy(r"错误(?:码|代码)\s?[:：=]?\s?[A-Za-z]*-?\d[A-Za-z0-9_-]*")),
    ("E", lazy(r"E(?<![\w.-].)(?:CONN[A-Z]+|NOENT|ACCES|PERM|EXIST|ADDRINUSE|TIMEDOUT|PIPE|NOTFOUND|NOSPC)\b")),
    (": ", lazy(r"(?m)^.{0,80}?: (?:command not found|No such file or directory)\r?$|^(?:fatal|error): .{3,}$")),
)
_BROKEN = lazy(
    r"(?m)^(ERROR (?:\S+::.*|\S+\.py\b.*))$|^(ERROR: \w+ \([\w.]+\))|^_+ (ERROR (?:collecting|at \w+ of) \S+) _+$"
    r"|^(thread '[^']+'(?: \(\d+\))? panicked at .+?):?$|^(panic: .+?)(?: \[recovered\].*)?$|^(\S+\.go:\d+:\d+: .+)$"
)
"""Errors that kept a test from running or broke it, in addition to failures."""
_FAILING = lazy(
    r"(?m)^(?:FAILED|ERROR) (\S+::.*?|\S+\.py)(?: - .*)?$|^(?:FAIL|ERROR): (\w+ \([\w.]+\)|\w[\w.]*\b(?= \())"
    r"|^[ \t]*--- FAIL: (\S+)|^test (\S+) \.\.\. FAILED|^[ \t]*● (.+ › .+)$"
)
_RUNNERS = (
    (" in ", lazy(r"(?m)^=*\s?(\d+ (?:passed|failed|errors?|skipped|deselected)\b[^=\n]*?) in [\d.]+ ?s"), "{}"),
    ("Ran ", lazy(r"(?m)^Ran (\d+) tests? in [^\n]*\n\s*(OK[^\n]*|FAILED[^\n]*)"), "{} tests, {}"),
    ("Tests:", lazy(r"(?m)^Tests:\s+(.*\d+ total)"), "{}"),
    ("test result:", lazy(r"(?m)^test result: (.*?)(?:;\s*finished.*)?$"), "{}"),
    ("\t", lazy(r"(?m)^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\])"), "{} {}"),
)
_TOKEN = lazy(r"[A-Za-z0-9](?<![\w.-].)[A-Za-z0-9_-]{3,80}(?![\w-]|\.\w)", re.ASCII)
_ID = lazy(
    r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,12}|[A-Z][A-Z0-9]{1,9}-\d{1,8}|[a-z]+(?:_[a-z]+)*_\d{3,12}"
    r"|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_NO_ID = lazy(
    r"(?:(?:SHA|UTF|MD|U?INT|FLOAT|BASE|ISO|PY|HTTP|CP|RFC|ASCII|UCS|AES|RSA|GPT|PEP|WIN|LATIN|COMPLEX|BYTES|X|ARM|CRC"
    r"|TEST|USER)-?\d.*|\d+(?:[KMGT]B?|PX|MS|AM|PM|ST|ND|RD|TH|X)\d*|E\d{3,4}|[WCRFD]\d{4}|\d+E\d+|0X\w+)\Z"
)
_KEYED = lazy(
    r"(?a)\"(?:\w{0,40}[_ ])?(?:ids?|uuid|code|ref|reference|number|ticket|token|sku|key)\":"
    r"\s?\"?([A-Za-z0-9][\w.:-]{2,63})\"?"
)
_LISTED = lazy(r"\[\s?(\"[A-Z0-9]{5,12}\"(?:,\s?\"[A-Z0-9]{5,12}\")*)\s?\]")
_LABELLED = lazy(
    r"(?ai)\b(?:order|ticket|reservation|booking|confirmation|tracking|invoice|case|issue|request|customer|user|account"
    r"|commit)(?: (?:id|number|no\.?|code|ref))?\s?[:#]?\s?#?([A-Za-z0-9][\w-]{3,40})\b"
)
_CHINESE_LABEL = lazy(
    r"(?:单|编|账|流水|快递|会员|合同|票|预订|学|工|卡)号\s?码?\s?(?:是|为|[:：=])?\s?([A-Za-z0-9][A-Za-z0-9_-]{2,40})"
)
_URL = lazy(r"\b(?:https?|ftp|wss?|s3|redis|postgres(?:ql)?|mysql|mongodb|milvus)://[^\s<>\"'`\\)\]}，。；、）】》]+")


class Outcome(NamedTuple):
    """The result of an action: its text, and the exit code if known."""

    text: str
    exit_code: int | None

    def complaints(self) -> list[str]:
        """The lines in which a shell or its tools report what they could not do."""
        return _COMPLAINT.findall(self.text)[:MAX_COMPLAINTS]


def is_observation(text: str) -> bool:
    """Whether a user's message has a form in which agents pass on the output of a command."""
    return _OBSERVED.match(text) is not None


def outcome(text: str) -> Outcome:
    """What the result says about success."""
    match = _EXIT.search(text, 0, 400) or _EXIT.search(text, max(0, len(text) - 400))
    return Outcome(text, int(next(filter(None, match.groups()))) if match else None)


def refused(result: Outcome) -> bool:
    """Whether the result of a tool other than a shell says that nothing was done."""
    return _REFUSED.search(result.text[:500]) is not None


def possible(effects: Sequence[Effect], result: Outcome) -> list[Effect]:
    """The effects of a shell command that its result does not rule out."""
    complaints = "\n".join(result.complaints())
    return [
        effect
        for effect in effects  # named there, but not as a part of a longer name
        if not re.search(rf"(?<![\w.-]){re.escape(effect.path.rpartition('/')[2])}(?![\w-]|\.\w)", complaints)
    ]


def errors(result: Outcome) -> list[str]:
    """Exceptions with the head of their message, error codes and errors of tests, complaints of programs, exit code."""
    text = result.text
    lines = [": ".join(filter(None, groups)) for groups in _ERROR_LINE.findall(text)]
    for hint, pattern in _CODES:
        if hint in text:
            lines += pattern.findall(text)
    lines += [next(filter(None, groups)).strip() for groups in _BROKEN.findall(text)]
    if result.exit_code not in {None, 0}:
        lines.append(f"exit {result.exit_code}")
    return list(dict.fromkeys(short(line, MAX_MESSAGE_CHARS) for line in lines))


def short(text: str, limit: int) -> str:
    """The text on one line, cut to this many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def verdicts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The outcome of the test runs in an output with the names of the tests that failed; empty if there were none."""
    outcomes: list[str] = []
    for hint, pattern, form in _RUNNERS:
        if hint in text:
            outcomes += [form.format(*match.groups()).strip(" ,") for match in pattern.finditer(text)]
    names = (next(filter(None, groups)) for groups in _FAILING.findall(text))
    failing = tuple(dict.fromkeys(names))[:MAX_FAILING]
    if not outcomes and failing:
        outcomes = [f"{len(failing)} failed"]
    return [(", ".join(outcomes), failing)] if outcomes else []


def ids(text: str) -> Iterator[str]:
    """Ids by their form: uuid, commit, ``ABC-12``, ``name_4821``, ``2FBBAH``, and JSON values with an id's key."""
    for token in _TOKEN.findall(text):
        if _ID.fullmatch(token) and not _NO_ID.match(token):
            yield token
    for value in _KEYED.findall(text):
        if value.isupper() or any(map(str.isdigit, value)):
            yield value.rstrip(".:-")
    for listed in _LISTED.findall(text):
        yield from re.findall(r"[A-Z0-9]+", listed)


def labelled_ids(text: str) -> Iterator[str]:
    """Ids that prose introduces: ``order #W482``, 订单号 20391."""
    for value in _LABELLED.findall(text):
        if value.isupper() or any(map(str.isdigit, value)):
            yield value.rstrip("-_")
    if "号" in text:
        yield from _CHINESE_LABEL.findall(text)


def urls(text: str) -> Iterator[str]:
    """Addresses, without the punctuation of the sentence around them."""
    return (address.rstrip(".,;:!?*_") for address in _URL.findall(text))
