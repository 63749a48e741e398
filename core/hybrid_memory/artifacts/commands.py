"""The effects of shell command lines on files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from hybrid_memory.artifacts.files import Effect, FileBook
from hybrid_memory.artifacts.scripts import is_patch, patch_effects, python_effects
from hybrid_memory.artifacts.shell import MAX_PATH_CHARS, SimpleCommand, after_script, is_file, parse, values

MAX_NESTING = 3
"""How deeply nested ``bash -c`` is followed."""

_READERS = frozenset("cat head tail less more nl grep egrep rg sed awk wc diff file stat od xxd open view".split())
_FORMATTERS = frozenset("black isort autopep8 yapf gofmt rustfmt prettier clang-format autoflake pyupgrade".split())
_FIRST = {"create": "write", "ed": "edit", "ex": "edit"}
_PREFIXES = frozenset("then do else if elif while until ! { time sudo env nohup command exec builtin".split())
_PATTERN_FIRST = frozenset("grep egrep rg sed awk".split())
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PYTHON = re.compile(r"python[\d.]*|pypy\d*|ipython")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_NAME = re.compile(r"[\w.-]*[A-Za-z_][\w.-]*")


class CommandReader:
    """Reads command lines one after the other.

    ``folder`` is where the next one runs; ``programs`` is how many programs the last one called.
    """

    def __init__(self, book: FileBook) -> None:
        self.folder = ""
        self.folders: set[str] = set()
        self.programs = 0
        self._book = book
        self._variables: dict[str, list[str]] = {}

    def effects(self, command: str, depth: int = 0) -> list[Effect]:
        """The effects of a command line, in order, if all of it succeeds."""
        effects: list[Effect] = []
        stack: list[str] = []
        piped: SimpleCommand | None = None
        commands = parse(command)
        self.programs = len(commands)
        for simple in commands:
            if simple.operator == "(":
                stack.append(self.folder)
            elif simple.operator == ")" and stack:
                self.folder = stack.pop()
            effects += self._simple(simple, piped if simple.operator == "|" else None, depth)
            piped = simple
        return effects

    def place(self, path: str) -> str:
        """The path relative to where the conversation's commands start."""
        if path.startswith(("/", "~", "**/")) or not self.folder:
            return path
        return posixpath.normpath(posixpath.join(self.folder, path))

    def enter(self, folder: str) -> None:
        """Change the folder, as ``cd`` does; the first absolute one becomes the root of relative paths."""
        if not is_file(folder):
            return
        folder = self.place(folder)
        self._book.settle_root(folder)
        self.folder = "" if folder == self._book.root else self._book.key(folder)

    def _simple(self, simple: SimpleCommand, piped: SimpleCommand | None, depth: int) -> Iterator[Effect]:
        words = self._words(simple)
        for operator, target in simple.redirects:
            for path in self._expand(target):
                if operator != "<" and is_file(path):
                    yield self._effect("append" if operator == ">>" else "write", path, by="shell")
                    if piped is None and simple.stdin is not None and words[:1] == ["cat"]:
                        yield Effect("text", self.place(path), simple.stdin)
        if words:
            yield from self._program(words[0], words[1:], simple, piped, depth)

    def _words(self, simple: SimpleCommand) -> list[str]:
        words = simple.words
        while words and (words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
            if found := _ASSIGNMENT.fullmatch(words[0]):
                self._variables[found[1]] = [found[2]]
            words = words[1:]
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            self._variables[words[1]] = [path for word in words[3:] for path in self._expand(word)]
            return []
        return [path for word in words for path in self._expand(word)]

    def _expand(self, word: str) -> list[str]:
        """The word with its first variable and first braces expanded."""
        if (found := _BRACES.search(word)) and len(word) < MAX_PATH_CHARS and "$" not in found[0]:
            return [
                path
                for choice in found[1].split(",")
                for path in self._expand(word[: found.start()] + choice + word[found.end() :])
            ]
        found = _VARIABLE.search(word) if "$" in word else None
        values = self._variables.get(found[1]) if found else None
        if found is None or values is None:
            return [word]
        return [word[: found.start()] + value + word[found.end() :] for value in values]

    def _effect(self, verb: str, path: str, target: str = "", by: str = "") -> Effect:
        return Effect(verb, self.place(path), self.place(target) if target else "", by)

    def _each(self, verb: str, words: list[str], by: str = "") -> Iterator[Effect]:
        return (self._effect(verb, path, by=by) for path in words if is_file(path))

    def _placed(self, effects: Iterable[Effect], by: str) -> Iterator[Effect]:
        return (self._effect(effect.verb, effect.path, effect.target, by) for effect in effects)

    def _program(
        self, name: str, words: list[str], simple: SimpleCommand, piped: SimpleCommand | None, depth: int
    ) -> Iterator[Effect]:
        name = name if name.endswith((".sh", ".py")) else posixpath.basename(name)
        operands = [word for word in words if not word.startswith("-")]
        flags = "".join(word for word in words if word.startswith("-"))
        if name == "cd":
            self.enter(operands[0] if operands else "")
        elif name == "git":
            yield from self._git(words, simple)
        elif _PYTHON.fullmatch(name):
            yield from self._python(words, simple)
        elif name in _SHELLS or name in {"source", "."}:
            yield from self._shell(words, simple, depth)
        elif name == "xargs" and piped is not None and operands:
            listed = piped.words[1:] if piped.words[:1] in (["echo"], ["printf"], ["ls"]) else []
            yield from self._program(operands[0], words[words.index(operands[0]) + 1 :] + listed, simple, None, depth)
        elif name == "find":
            yield from self._find(words)
        elif name.endswith((".sh", ".py")):
            yield self._effect("run", name)
        elif name in {"mv", "cp", "ln", "install"}:
            yield from self._transfer("move" if name == "mv" else "copy", operands)
        elif name == "patch":
            yield from self._patch(operands, simple)
        else:
            yield from self._plain(name, words, operands, flags)

    def _plain(self, name: str, words: list[str], operands: list[str], flags: str) -> Iterator[Effect]:
        if name in _READERS and not _edits_in_place(name, words, flags):
            files = after_script(words) if name in _PATTERN_FIRST else operands
            yield from (effect for effect in self._each("read", files) if "." in effect.path or "/" in effect.path)
        elif _edits_in_place(name, words, flags):
            yield from self._each("edit", after_script(words), by="sed")
        elif name in _FORMATTERS or (name == "ruff" and ("format" in operands or "--fix" in flags)):
            yield from self._each("edit", [path for path in operands if "." in posixpath.basename(path)])
        elif name in {"rm", "unlink", "trash"}:
            yield from self._removed(operands, flags)
        elif name == "mkdir":
            self.folders.update(map(self.place, operands))
        elif name in {"curl", "wget"}:
            yield from self._each("write", values(words, ("-o", "-O", "--output", "--output-document")))
        elif name in _FIRST:
            yield from self._each(_FIRST[name], operands[:1])
        elif name in {"touch", "tee"}:
            verb = "touch" if name == "touch" else "append" if "a" in flags else "write"
            yield from self._each(verb, operands)

    def _removed(self, operands: list[str], flags: str) -> Iterator[Effect]:
        for path in operands:
            if "$" in path or path in {"/", "*", ".", ".."}:
                continue
            wild = re.search(r"[*?\[]", path) is not None
            if not wild:
                yield self._effect("delete", path.rstrip("/"))
            if wild or "r" in flags.lower():
                yield self._effect("remove", path.rstrip("/"))

    def _transfer(self, verb: str, operands: list[str]) -> Iterator[Effect]:
        if len(operands) < 2:  # noqa: PLR2004 - from and to
            return
        *paths, target = operands
        into = target.endswith("/") or len(paths) > 1 or target in {".", ".."} or self.place(target) in self.folders
        for path in paths:
            path = path.rstrip("/")  # noqa: PLW2901 - the same path
            if is_file(path) and is_file(target):
                yield self._effect(verb, path, posixpath.join(target, posixpath.basename(path)) if into else target)

    def _find(self, words: list[str]) -> Iterator[Effect]:
        names = [name for option in ("-name", "-iname", "-path") for name in values(words, (option,))]
        removes = "-delete" in words or ("-exec" in words and "rm" in words)
        if removes and "d" not in values(words, ("-type",)):
            yield from (Effect("remove", f"**/{posixpath.basename(name)}") for name in names)

    def _patch(self, operands: list[str], simple: SimpleCommand) -> Iterator[Effect]:
        for operator, path in simple.redirects:
            if operator == "<":
                yield self._effect("run", path)
        if simple.stdin is not None and is_patch(simple.stdin):
            yield from self._placed(patch_effects(simple.stdin), "patch")
        elif operands:
            yield from self._each("edit", operands[:1])

    def _python(self, words: list[str], simple: SimpleCommand) -> Iterator[Effect]:
        for position, word in enumerate(words):
            if word == "-c" and position + 1 < len(words):
                yield from self._placed(python_effects(words[position + 1]), "python")
                return
            if word == "-m":
                module = words[position + 1 : position + 2]
                yield from self._program(module[0] if module else "", words[position + 2 :], SimpleCommand(), None, 0)
                return
            if not word.startswith("-"):
                yield self._effect("run", word)
                return
        if simple.stdin is not None:
            yield from self._placed(python_effects(simple.stdin), "python")

    def _shell(self, words: list[str], simple: SimpleCommand, depth: int) -> Iterator[Effect]:
        for position, word in enumerate(words):
            if word.startswith("-") and "c" in word and position + 1 < len(words) and depth < MAX_NESTING:
                yield from self.effects(words[position + 1], depth + 1)
                return
            if not word.startswith("-"):
                yield self._effect("run", word)
                return
        if simple.stdin is not None and depth < MAX_NESTING:
            yield from self.effects(simple.stdin, depth + 1)

    def _git(self, words: list[str], simple: SimpleCommand) -> Iterator[Effect]:
        while words[:1] and words[0].startswith("-"):
            words = words[2:] if words[0] in {"-C", "-c"} else words[1:]
        verb, rest = (words[0], words[1:]) if words else ("", [])
        operands = [word for word in rest if not word.startswith("-")]
        if verb == "rm" and "--cached" not in rest:
            yield from self._removed(operands, "r" if "-r" in rest else "")
        elif verb == "mv":
            yield from self._transfer("move", operands)
        elif verb in {"checkout", "restore"} and "--staged" not in rest:
            yield from self._restored(verb, rest, operands)
        elif verb == "reset" and "--hard" in rest:
            yield Effect("reset", "")
        elif verb == "clean" and "-n" not in rest and not any("n" in word for word in rest if word.startswith("-")):
            yield Effect("clean", "")
        elif verb in {"apply", "am"} and not {"--check", "--stat"} & set(rest):
            if simple.stdin is not None:
                yield from self._placed(patch_effects(simple.stdin), "patch")
            yield from self._each("run", operands)
            yield from self._each("run", [path for operator, path in simple.redirects if operator == "<"])

    def _restored(self, verb: str, rest: list[str], operands: list[str]) -> Iterator[Effect]:
        """Files reset by ``git checkout`` and ``git restore``; checking out a branch has no effect here."""
        if "-b" in rest or "-B" in rest:
            return
        explicit = "--" in rest or verb == "restore"
        paths = operands
        if "--" in rest:
            split = rest.index("--")
            operands, paths = [word for word in rest[:split] if not word.startswith("-")], rest[split + 1 :]
        elif verb == "checkout" and len(operands) > 1 and not self._names_file(operands[0]):
            explicit, operands, paths = True, operands[:1], operands[1:]
        else:
            operands = []
        verb = "edit" if operands and operands[0] != "HEAD" else "restore"
        for path in paths:
            if path in {".", "./", ":/"}:
                yield Effect("reset", self.folder if path != ":/" else "")
            elif explicit or self._names_file(path):
                yield self._effect(verb, path)

    def _names_file(self, path: str) -> bool:
        """Whether a word is a file rather than a branch or a commit."""
        return self._book.knows(self.place(path)) or re.search(r"\.[A-Za-z]\w*$", path) is not None


def _edits_in_place(name: str, words: list[str], flags: str) -> bool:
    if name in {"sed", "perl"}:
        return re.search(r"-[A-Za-z0-9]*i|--in-place", flags) is not None
    return name == "awk" and words[:2] == ["-i", "inplace"]
