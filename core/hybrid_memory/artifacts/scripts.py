"""The effects of Python code, patches, diffs and version-control output on files, as far as their text shows."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import repeat

from hybrid_memory.artifacts.files import Effect

MAX_SCRIPT_CHARS = 100_000
"""Longer code is not read."""

_HINTS = re.compile(r"open\(|write_|unlink|os\.|shutil|savefig|\bto_[a-z]+\(|_file|Path\(|\.save\(|savetxt")
_WRITERS = {"savefig", "to_csv", "to_json", "to_excel", "to_parquet", "to_pickle", "to_html", "save", "savetxt"}
_PATH_METHODS = {"write_text": "write", "write_bytes": "write", "unlink": "delete", "touch": "touch"}
_OS_CALLS = {
    ("os", "remove"): "delete",
    ("os", "unlink"): "delete",
    ("os", "rename"): "move",
    ("os", "replace"): "move",
    ("shutil", "move"): "move",
    ("os", "symlink"): "copy",
    ("shutil", "copy"): "copy",
    ("shutil", "copy2"): "copy",
    ("shutil", "copyfile"): "copy",
    ("shutil", "rmtree"): "remove",
}
_FILE_FUNCTION = re.compile(r"(create|edit|append|insert|write|delete|open|read)_(?:\w+_)?(?:file|at)\w*|\w+_file\w*")
_NO_FILE = re.compile(r"[\n\r{}<>|*]")

_FUNCTION_VERBS = (
    ("create", "write"),
    ("write", "write"),
    ("edit", "edit"),
    ("append", "edit"),
    ("insert", "edit"),
    ("delete", "delete"),
)

_GIT = re.compile(r'^diff --git "?a/(.+?)"? "?b/(.+?)"?$')

_OLD = re.compile(r"^--- (?:a/)?([^\t\n]+)")

_NEW = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)")

_ENVELOPE = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$")

_LONG_STATUS = re.compile(r"^\s+(?:both )?(modified|new file|deleted|renamed|typechange):\s+(.+?)(?: -> (.+))?$")

_SHORT_STATUS = re.compile(r"^(\?\?|[ MADRCU][ MADRCU]) (\S.*?)(?: -> (.+))?$")

_UNTRACKED = re.compile(r"^Untracked files:")

_HINT = re.compile(r"^\s+\(use ")


def python_effects(code: str) -> list[Effect]:
    """Writes, deletions and moves with literal paths, in order; none for code that does not parse."""
    if len(code) > MAX_SCRIPT_CHARS or not _HINTS.search(code):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the parser thinks of the code's escapes is nobody's business
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_Reader(tree).effects())


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.names: dict[str, list[str]] = {}

    def effects(self) -> Iterator[Effect]:
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Assign | ast.For | ast.Call)]
        nodes.sort(key=lambda node: (node.lineno, node.col_offset))
        for node in nodes:
            if isinstance(node, ast.Assign):
                self._assign(node)
            elif isinstance(node, ast.For):
                self._loop(node)
            else:
                for effect in self._call(node):
                    if effect.path and not _NO_FILE.search(effect.path):
                        yield effect
        yield from self._parameters([node for node in nodes if isinstance(node, ast.Call)])

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and (paths := self._paths(node.value)):
            self.names[target.id] = paths

    def _loop(self, node: ast.For) -> None:
        if isinstance(node.target, ast.Name) and (paths := self._paths(node.iter)):
            self.names[node.target.id] = paths

    def _paths(self, node: ast.expr | None) -> list[str]:
        """The literal strings that an expression may evaluate to."""
        found: list[str] = []
        match node:
            case ast.Constant(value=str(text)):
                found = [text]
            case ast.Name(id=name):
                found = self.names.get(name, [])
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                found = [text for item in items for text in self._paths(item)]
            case ast.Call(func=ast.Name(id="Path" | "PurePath" | "str") | ast.Attribute(attr="Path"), args=[item]):
                found = self._paths(item)
            case ast.Call(func=ast.Attribute(attr="join"), args=[first, *rest]) if rest:
                found = self._joined([first, *rest])
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                found = self._joined([left, right])
        return found

    def _joined(self, parts: list[ast.expr]) -> list[str]:
        found = [self._paths(part) for part in parts]
        return ["/".join(options[0] for options in found)] if all(len(options) == 1 for options in found) else []

    def _argument(self, node: ast.Call, place: int = 0) -> list[str]:
        return self._paths(node.args[place]) if len(node.args) > place else []

    def _call(self, node: ast.Call) -> list[Effect]:
        match node.func:
            case ast.Name(id="open"):
                return _each(_verb_of_mode(self._mode(node)), self._argument(node))
            case ast.Name(id=name) if _FILE_FUNCTION.fullmatch(name):
                verb = next((verb for word, verb in _FUNCTION_VERBS if word in name), "read")
                return _each(verb, self._argument(node))
            case ast.Attribute(value=owner, attr=attribute):
                return self._method(owner, attribute, node)
        return []

    def _method(self, owner: ast.expr, attribute: str, node: ast.Call) -> list[Effect]:
        first = self._argument(node)
        verb = _OS_CALLS.get((owner.id, attribute)) if isinstance(owner, ast.Name) else None
        if verb in {"move", "copy"}:
            return list(map(Effect, repeat(verb), first, self._argument(node, 1)))
        if verb:
            return _each(verb, first)
        if attribute in _PATH_METHODS:
            return _each(_PATH_METHODS[attribute], self._paths(owner))
        if attribute in {"rename", "replace"} and len(node.args) == 1:
            return list(map(Effect, repeat("move"), self._paths(owner), first))
        if attribute == "open":
            return _each(_verb_of_mode(first[0] if first else ""), self._paths(owner))
        return _each("write" if attribute in _WRITERS else None, [path for path in first if "." in path])

    def _mode(self, node: ast.Call) -> str:
        for keyword in node.keywords:
            if keyword.arg == "mode":
                return next(iter(self._paths(keyword.value)), "")
        return next(iter(self._argument(node, 1)), "") if len(node.args) > 1 else "r"

    def _parameters(self, calls: list[ast.Call]) -> Iterator[Effect]:
        """Writes to a parameter of a function, for the literal paths that it is called with."""
        writers: dict[str, tuple[int, str]] = {}
        functions = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        for call in calls:
            match call:
                case ast.Call(func=ast.Name(id="open"), args=[ast.Name(id=name), *_]):
                    verb = _verb_of_mode(self._mode(call))
                    for function in functions:
                        names = [argument.arg for argument in function.args.args]
                        if verb and name in names and function.lineno <= call.lineno <= (function.end_lineno or 0):
                            writers[function.name] = (names.index(name), verb)
        for call in calls if writers else ():
            match call:
                case ast.Call(func=ast.Name(id=name)) if name in writers:
                    position, verb = writers[name]
                    yield from _each(verb, self._argument(call, position))


def _each(verb: str | None, paths: Iterable[str]) -> list[Effect]:
    return [Effect(verb, path) for path in paths] if verb else []


def _verb_of_mode(mode: str) -> str | None:
    if mode.startswith(("w", "x")):
        return "write"
    if mode.startswith("a"):
        return "append"
    if "+" in mode:
        return "edit"
    return "read" if mode.startswith("r") else None


def is_patch(text: str) -> bool:
    """Whether a text holds a diff in one of the usual forms."""
    return "\n+++ " in text or text.startswith("diff --git ") or "\ndiff --git " in text or "*** Begin Patch" in text


def patch_effects(text: str) -> Iterator[Effect]:
    """The effects of applying a patch: unified and git diffs, and the ``*** Begin Patch`` envelope."""
    if "*** Begin Patch" in text:
        yield from _envelope_effects(text)
        return
    for effect in diff_effects(text):
        verb = {"tracked": "edit", "new": "write", "gone": "delete"}.get(effect.verb, effect.verb)
        yield effect._replace(verb=verb)


def diff_effects(text: str) -> Iterator[Effect]:
    """What a diff printed by version control says about files: ``tracked``, ``new``, ``gone`` or ``move``."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if found := _GIT.match(line):
            yield from _git_file(found, lines[number + 1 : number + 6])
        elif line.startswith("--- ") and number + 1 < len(lines) and not _inside_git_file(lines, number):
            old, new = _OLD.match(line), _NEW.match(lines[number + 1])
            if old and new:
                yield _plain_file(old[1].strip(), new[1].strip())


def status_effects(text: str) -> Iterator[Effect]:
    """What ``git status`` says, in its long and short formats."""
    untracked = False
    for line in text.splitlines():
        if found := _LONG_STATUS.match(line):
            yield from _status(found[1][0].upper(), found[2], found[3])
        elif _UNTRACKED.match(line):
            untracked = True
        elif untracked and line.startswith(("\t", "        ")) and not _HINT.match(line):
            if not line.endswith("/"):
                yield Effect("new", line.strip())
        elif found := _SHORT_STATUS.match(line):
            yield from _status(found[1].strip()[:1], found[2], found[3])


def _status(letter: str, path: str, target: str | None) -> Iterator[Effect]:
    path = path.strip('"')
    if target:
        yield Effect("move", path, target.strip('"'))
    elif path.endswith("/"):
        return
    elif letter in "AN?":
        yield Effect("new", path)
    elif letter in "MTU":
        yield Effect("tracked", path)
    elif letter == "D":
        yield Effect("gone", path)


def _git_file(header: re.Match[str], following: list[str]) -> Iterator[Effect]:
    old, new = header[1], header[2]
    for line in following:
        if line.startswith("new file mode"):
            yield Effect("new", new)
            return
        if line.startswith("deleted file mode"):
            yield Effect("gone", old)
            return
        if line.startswith("rename from "):
            yield Effect("move", old, new)
            return
    yield Effect("tracked", new)


def _inside_git_file(lines: list[str], number: int) -> bool:
    return any(line.startswith(("diff --git ", "index ")) for line in lines[max(0, number - 5) : number])


def _plain_file(old: str, new: str) -> Effect:
    if old == "/dev/null":
        return Effect("new", new)
    if new == "/dev/null":
        return Effect("gone", old)
    return Effect("tracked", new)


def _envelope_effects(text: str) -> Iterator[Effect]:
    verbs = {"Add File": "write", "Update File": "edit", "Delete File": "delete"}
    previous = ""
    for line in text.splitlines():
        if found := _ENVELOPE.match(line):
            path = found[2].strip()
            yield Effect("move", previous, path) if found[1] == "Move to" else Effect(verbs[found[1]], path)
            previous = path
