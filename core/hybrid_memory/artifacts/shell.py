"""What commands and patches do to files, if all of them succeed: only literal names of files are read."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

MAX_COMMAND_CHARS = 50_000  # how much of a command line is read

_PUNCTUATION = ";|&<>()\n"
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_PATH = re.compile(r"(?!/dev/|-|\d+$|.*://)(?=.*[./\w])[^\s$`*?\[\]{}<>|;&\"'()=,^!\\]{1,999}")
"""What can be a path: not an option, device, number, address or wildcard."""
_READERS = frozenset("cat head tail less more nl wc diff file stat sed awk perl grep egrep rg".split())
_PATTERN_FIRST = frozenset("sed awk perl grep egrep rg".split())
_PREFIXES = frozenset("then do else if while until ! { time sudo env nohup exec".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SHELL_OPTION = re.compile(r"-\w*c")
_PATCH_FILE = re.compile(r"^--- (?:a/)?([^\t\n]+)[^\n]*\n\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_ENVELOPE = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_ENVELOPE_VERBS = {"Add File": "write", "Update File": "edit", "Delete File": "delete"}
_LITERAL = r"""(?:(?:pathlib\.)?Path\()?['"]([^'"\n]{1,300})['"]\)?"""
_NAMED = re.compile(rf"^[ \t]*(\w+)[ \t]*=[ \t]*{_LITERAL}", re.MULTILINE)
_OPENED = re.compile(rf"""\bopen\((?:{_LITERAL}|(\w+))(?:,\s?(?:mode=)?['"]([rwaxbt+]+)['"])?""")


class Effect(NamedTuple):
    """The effect of one step on one path.

    The verbs: ``read``, ``write`` (create or overwrite), ``edit`` (it existed), ``delete``, ``remove`` (all that a
    folder or a pattern covers), ``copy`` and ``move`` (to ``target``).
    """

    verb: str
    path: str
    target: str = ""


@dataclass(slots=True)
class _Command:
    """A program with its unquoted words, redirections as operator and target, and its here-document."""

    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    stdin: str = ""


class CommandLine:
    """The effects of one command line, in order.

    Attributes:
        root: the first absolute folder that a session entered.
        scripts: what it wrote into files, by path, which is read when it is run.
    """

    def __init__(self, text: str, root: str, scripts: dict[str, str]) -> None:
        self.root = root
        self.scripts = scripts
        self.effects: list[Effect] = []
        self._here = ""
        self._read(text)

    def _read(self, text: str) -> None:
        for command in _commands(text[:MAX_COMMAND_CHARS].replace("\r\n", "\n")):
            for operator, target in command.redirects:
                if ">" in operator:
                    self._add("edit" if ">>" in operator else "write", target)
                    self.scripts[self._place(target)] = command.stdin
            words = command.words
            while words and (words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
                words = words[1:]
            if not words:
                continue
            if words[0].endswith(".sh"):
                words = ["sh", *words]
            name, words = re.sub(r"[\d.]+$", "", posixpath.basename(words[0])), words[1:]
            if name == "git" and words[:1] in (["rm"], ["mv"]) and "--cached" not in words:
                name, words = words[0], words[1:]
            if program := self._PROGRAMS.get(name):
                program(self, name, words, command.stdin)

    def _add(self, verb: str, path: str, target: str = "") -> None:
        if _PATH.fullmatch(path) or verb == "remove":
            self.effects.append(Effect(verb, self._place(path), self._place(target) if target else ""))

    def _place(self, path: str) -> str:
        """The path relative to the root, which is where command lines start."""
        return posixpath.normpath(posixpath.join(self._here, path)).removeprefix(f"{self.root}/" if self.root else "")

    def _enter(self, _name: str, words: list[str], _stdin: str) -> None:
        if not words or not _PATH.fullmatch(words[0]):
            return
        self._here = posixpath.normpath(posixpath.join(self._here, words[0]))
        if not self.root and self._here.startswith("/") and not self._here.startswith("/tmp"):  # noqa: S108
            self.root = self._here

    def _touch(self, name: str, words: list[str], _stdin: str) -> None:
        """What commands do to files whose names they are given; the first operand of some is a pattern or script."""
        in_place = name in {"sed", "perl"} and re.search(r"-[A-Za-z0-9]*i|--in-place", _flags(words)) is not None
        edits = in_place or (name == "tee" and "a" in _flags(words))
        verb = "edit" if edits else "read" if name in _READERS else "write"
        for path in _operands(words)[name in _PATTERN_FIRST :]:
            if verb != "read" or "." in path or "/" in path:
                self._add(verb, path)

    def _transfer(self, name: str, words: list[str], _stdin: str) -> None:
        *paths, target = _operands(words) or [""]
        into = target.endswith("/") or len(paths) > 1 or target in {".", ".."}
        for path in paths:
            if _PATH.fullmatch(target):
                place = posixpath.join(target, posixpath.basename(path)) if into else target
                self._add("copy" if name == "cp" else "move", path, place)

    def _remove(self, _name: str, words: list[str], _stdin: str) -> None:
        for path in _operands(words):
            if "$" in path or path in {"/", "*", ".", ".."}:
                continue
            self._add("delete", path)
            if re.search(r"[*?\[]", path) or "r" in _flags(words).lower():
                self._add("remove", path)

    def _interpret(self, name: str, words: list[str], stdin: str) -> None:
        """Shells, Python and patches; a script that was written before is read when it is run."""
        if name in {"patch", "apply_patch"}:
            for effect in patch_effects(stdin or "".join(words[:1])):
                self._add(effect.verb, effect.path, effect.target)
        elif name == "python":
            source = "".join(words[words.index("-c") + 1 :][:1]) if "-c" in words else stdin
            if operands := _operands(words):
                source = self.scripts.get(self._place(operands[0]), source)
            for effect in python_effects(source):
                self._add(effect.verb, effect.path)
        elif words and _SHELL_OPTION.fullmatch(words[0]):
            self._read("".join(words[1:2]))
        elif words:
            self._read(self.scripts.pop(self._place(words[0]), ""))  # once, for it may call itself

    _PROGRAMS: ClassVar[dict[str, Callable[[CommandLine, str, list[str], str], None]]] = {
        **dict.fromkeys((*_READERS, "touch", "tee"), _touch),
        **dict.fromkeys(("mv", "cp"), _transfer),
        **dict.fromkeys("bash sh zsh python patch apply_patch".split(), _interpret),
        "cd": _enter,
        "rm": _remove,
    }


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _flags(words: Sequence[str]) -> str:
    return "".join(word for word in words if word.startswith("-"))


def _commands(text: str) -> Iterator[_Command]:
    """The simple commands of a command line, each with its here-document; nothing after an open quote."""
    lines = text.split("\n")
    ends = {line.strip(): row for row, line in enumerate(lines)}
    outside, bodies, row = [], [], 0
    while row < len(lines):
        outside.append(lines[row])
        marks = [mark[2] for mark in _HERE.finditer(lines[row]) if ends.get(mark[2], 0) > row]
        row += 1
        for mark in marks:
            start = row
            while row < len(lines) and lines[row].strip() != mark:
                row += 1
            bodies.append("\n".join(lines[start:row]) + "\n")
            row += 1
    plain = _COMMENT.sub("", "\n".join(outside).replace("\\\n", " "))
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    command, redirect = _Command(), ""
    with suppress(ValueError):  # an open quote
        for token in lexer:
            if token and not token.strip(_PUNCTUATION):
                redirect = token if "<" in token or ">" in token else ""
                if not redirect:
                    yield command
                    command = _Command()
                elif command.words and command.words[-1].isdigit():
                    command.words.pop()  # the number of a stream: 2>
            elif redirect.startswith("<<"):
                command.stdin, redirect = bodies.pop(0) if redirect == "<<" and bodies else token, ""
            elif redirect:
                command.redirects.append((redirect, token))
                redirect = ""
            else:
                command.words.append(token)
    yield command


def is_patch(text: str) -> bool:
    """Whether a text contains a diff in one of the usual forms."""
    return "*** Begin Patch" in text or _PATCH_FILE.search(text) is not None


def patch_effects(text: str) -> Iterator[Effect]:
    """The effects of applying a patch: a unified diff, or the ``*** Begin Patch`` envelope."""
    previous = ""
    for kind, line in _ENVELOPE.findall(text):
        path = line.strip()
        yield Effect("move", previous, path) if kind == "Move to" else Effect(_ENVELOPE_VERBS[kind], path)
        previous = path
    for old, new in _PATCH_FILE.findall(text):
        verb = "write" if old == "/dev/null" else "delete" if new == "/dev/null" else "edit"
        yield Effect(verb, old if verb == "delete" else new)


def python_effects(code: str) -> Iterator[Effect]:
    """Files that Python code opens under a literal name, in its order."""
    names = dict(_NAMED.findall(code))
    for literal, name, mode in _OPENED.findall(code):
        if path := literal or names.get(name, ""):
            reads = not mode or ("r" in mode and "+" not in mode)
            yield Effect("read" if reads else "edit" if "a" in mode else "write", path)
