"""What running a piece of Python code does to files, as far as its text tells."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

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


def python_effects(code: str) -> list[Effect]:
    """Writes, deletions and moves with literal paths, in the order of the text; code that does not parse has none."""
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
        """The literal strings that an expression can stand for."""
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

    def _call(self, node: ast.Call) -> Iterator[Effect]:
        match node.func:
            case ast.Name(id="open"):
                mode = self._mode(node)
                for path in self._paths(node.args[0] if node.args else None):
                    if verb := _verb_of_mode(mode):
                        yield Effect(verb, path)
            case ast.Name(id=name) if _FILE_FUNCTION.fullmatch(name):
                verb = next((verb for word, verb in _FUNCTION_VERBS if word in name), "read")
                for path in self._paths(node.args[0] if node.args else None):
                    yield Effect(verb, path)
            case ast.Attribute(value=owner, attr=attribute):
                yield from self._method(owner, attribute, node)

    def _method(self, owner: ast.expr, attribute: str, node: ast.Call) -> Iterator[Effect]:
        first = self._paths(node.args[0] if node.args else None)
        verb = _OS_CALLS.get((owner.id, attribute)) if isinstance(owner, ast.Name) else None
        if verb in {"move", "copy"}:
            targets = self._paths(node.args[1] if len(node.args) > 1 else None)
            yield from (Effect(verb, path, target) for path, target in zip(first, targets, strict=False))
        elif verb:
            yield from (Effect(verb, path) for path in first)
        elif attribute in _PATH_METHODS:
            yield from (Effect(_PATH_METHODS[attribute], path) for path in self._paths(owner))
        elif attribute in {"rename", "replace"} and len(node.args) == 1:
            yield from (Effect("move", path, target) for path, target in zip(self._paths(owner), first, strict=False))
        elif attribute == "open":
            mode = first[0] if first else ""
            yield from (Effect(verb, path) for path in self._paths(owner) if (verb := _verb_of_mode(mode)))
        elif attribute in _WRITERS:
            yield from (Effect("write", path) for path in first if "." in path)

    def _mode(self, node: ast.Call) -> str:
        for keyword in node.keywords:
            if keyword.arg == "mode":
                return next(iter(self._paths(keyword.value)), "")
        return next(iter(self._paths(node.args[1])), "") if len(node.args) > 1 else "r"

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
                case ast.Call(func=ast.Name(id=name), args=arguments) if name in writers:
                    position, verb = writers[name]
                    if position < len(arguments):
                        yield from (Effect(verb, path) for path in self._paths(arguments[position]))


_FUNCTION_VERBS = (
    ("create", "write"),
    ("write", "write"),
    ("edit", "edit"),
    ("append", "edit"),
    ("insert", "edit"),
    ("delete", "delete"),
)


def _verb_of_mode(mode: str) -> str | None:
    if mode.startswith(("w", "x")):
        return "write"
    if mode.startswith("a"):
        return "append"
    if "+" in mode:
        return "edit"
    return "read" if mode.startswith("r") else None
