"""Parses shell command lines into simple commands: words, redirections, here-documents; finds words that are files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_COMMAND_CHARS = 200_000
"""How much of a command line is read."""

_SPACE = re.compile(r"(?:[ \t\r]|\\\n)+")
_REDIRECT = re.compile(r"(?:\d*|&)(<<<|<<-|<<|>>|>\||>&|<&|>|<)")
_CONTROL = re.compile(r"&&|\|\||\|&|;;|[;|&()\n]")
_BARE = re.compile(r"[^\s;|&()<>\"'\\`$]+")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACKTICKS = re.compile(r"`[^`]*`")
_UNESCAPE = re.compile(r"\\([\"\\$`\n])")
_PARENTHESES = re.compile(r"[()]")

MAX_PATH_CHARS = 1000
"""Longer words are not paths."""

_PATH = re.compile(r"(?=.*[./\w])[^\s$`*?\[\]{}<>|;&\"'()=,^!\\]+")


@dataclass(slots=True)
class SimpleCommand:
    """One program with its words.

    Attributes:
        words: unquoted; empty for a bare redirection.
        operator: the operator before it: ``&&``, ``||``, ``|``, ``;``, ``(``, ``)``, or nothing.
        redirects: operator and target, in order; stdin: the here-document or here-string.
    """

    operator: str = ""
    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    stdin: str | None = None


def parse(command: str) -> list[SimpleCommand]:
    """The simple commands of a command line, in order; text that is not shell syntax is read as words."""
    return _Lexer(command[:MAX_COMMAND_CHARS].replace("\r\n", "\n")).run()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.commands: list[SimpleCommand] = []
        self.current = SimpleCommand()
        self.heredocs: list[tuple[SimpleCommand, str, bool]] = []
        self.last_parenthesis = text.rfind(")")

    def run(self) -> list[SimpleCommand]:
        while self.at < len(self.text):
            self._step()
        self._finish("")
        return self.commands

    def _step(self) -> None:
        text, at = self.text, self.at
        if found := _SPACE.match(text, at):
            self.at = found.end()
        elif text[at] == "#":
            end = text.find("\n", at)
            self.at = len(text) if end < 0 else end
        elif found := _REDIRECT.match(text, at):
            self.at = found.end()
            self._redirect(found[1])
        elif found := _CONTROL.match(text, at):
            self.at = found.end()
            self._finish(";" if found[0] in {"\n", "&", ";;"} else found[0])
            if found[0] == "\n":
                self._read_heredocs()
        else:
            self.current.words.append(self._word())

    def _finish(self, operator: str) -> None:
        command = self.current
        if command.words or command.redirects or command.operator in {"(", ")"}:
            self.commands.append(command)
            self.current = SimpleCommand(operator)
        else:
            self.current.operator = operator

    def _redirect(self, operator: str) -> None:
        if space := _SPACE.match(self.text, self.at):
            self.at = space.end()
        target = self._word()
        if operator in {"<<", "<<-"}:
            self.heredocs.append((self.current, target, operator == "<<-"))
        elif operator == "<<<":
            self.current.stdin = target
        else:
            self.current.redirects.append((operator, target))

    def _read_heredocs(self) -> None:
        for command, delimiter, dashed in self.heredocs:
            lines = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = end + 1
                line = line.lstrip("\t") if dashed else line
                if line.rstrip() == delimiter:
                    break
                lines.append(line)
            command.stdin = "\n".join(lines) + "\n"
        self.heredocs.clear()

    def _word(self) -> str:
        parts: list[str] = []
        while (part := self._part()) is not None:
            parts.append(part)
        return "".join(parts)

    def _part(self) -> str | None:
        """The next piece of the word, or None at its end."""
        text, at = self.text, self.at
        if at >= len(text) or text[at] in " \t\r\n;|&()<>":
            return None
        for pattern, unescape in ((_BARE, False), (_SINGLE, False), (_DOUBLE, True), (_ANSI, False)):
            if found := pattern.match(text, at):
                self.at = found.end()
                piece = found[found.lastindex or 0]
                return _UNESCAPE.sub(lambda m: m[1].replace("\n", ""), piece) if unescape else piece
        if found := _BACKTICKS.match(text, at):
            self.at = found.end()
            return found[0]
        if text.startswith("\\", at):
            self.at = at + 2
            return text[at + 1 : at + 2].replace("\n", "")
        self.at = self._substitution_end(at) if text.startswith("$(", at) else at + 1
        return text[at : self.at]

    def _substitution_end(self, at: int) -> int:
        if at > self.last_parenthesis:
            return at + 1
        depth = 0
        for found in _PARENTHESES.finditer(self.text, at):
            depth += 1 if found[0] == "(" else -1
            if depth == 0:
                return found.end()
        self.last_parenthesis = -1
        return at + 1


def is_file(path: str) -> bool:
    """Whether a word can be a path: not an option, device, number, address or wildcard."""
    return (
        len(path) < MAX_PATH_CHARS
        and not path.startswith(("/dev/", "-", "&"))
        and not path.isdigit()
        and _PATH.fullmatch(path) is not None
        and "://" not in path
    )


def values(words: list[str], options: tuple[str, ...]) -> list[str]:
    """The values of these options."""
    return [words[n + 1] for n, word in enumerate(words[:-1]) if word in options]


def after_script(words: list[str]) -> list[str]:
    """The operands after the script or pattern of sed, perl, awk and grep."""
    operands: list[str] = []
    scripted = False
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in {"-e", "-f", "-A", "-B", "-C", "-m", "--include", "--exclude"}:
            skip = True
            scripted |= word in {"-e", "-f"}
        elif re.fullmatch(r"-[a-zA-Z]*[ef]", word) and not word.startswith("--"):
            skip = scripted = True
        elif not word.startswith("-") and word:
            operands.append(word)
    return operands if scripted else operands[1:]
