"""Reads the result of an action: success, exit code, errors, and how test runs ended."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hybrid_memory.artifacts.files import Effect
from hybrid_memory.artifacts.mentions import occurs
from hybrid_memory.text.patterns import lazy

MAX_MESSAGE_CHARS = 120
"""How much of an error's message is kept."""

MAX_COMPLAINTS = 100
"""The most complaints of programs that are read."""

_OBSERVED = lazy(
    r"\s*(?:<returncode>|<output|<warning>|<exit_?code|observation\b|execution result|\[file:|\[the command"
    r"|\[command finished|diff --git |the last command|exit code|command output|std(?:out|err)\b|```output|output:)",
    re.IGNORECASE,
)
_EXIT = lazy(
    r"<returncode>\s*(-?\d+)|<exit_?code>\s*(-?\d+)|\bexit(?:ed with)?[ _](?:code|status)\"?[:= ]+(-?\d+)",
    re.IGNORECASE,
)
_COMPLAINT = lazy(
    r"^(?:(?:/[\w/.-]*/)?-?(?:bash|sh|zsh|dash)|sed|rm|mv|cp|cat|touch|tee|ln|perl|patch|error|fatal|/?[\w/.-]*python[\d.]*)"
    r": .*",
    re.MULTILINE,
)
_REFUSED = lazy(
    r"\A\W{0,4}(?:error|failed|failure|invalid|exception|traceback|no replacement was performed|no such file|could not"
    r"|cannot|unable to|permission denied|file not found|string to replace not found|your proposed edit has introduced"
    r"|edit failed|错误|失败|文件不存在)|\"(?:success|ok)\"\s*:\s*false|\"is_?error\"\s*:\s*true"
    r"|(?:no replacement was performed|did not appear verbatim|string to replace not found|old_str(?:ing)? not found)",
    re.IGNORECASE,
)
_SYNTAX = lazy(r"^\S*sh: (?:-c: )?(?:line \d+: )?(?:syntax error|unexpected EOF)")
_ERROR_LINE = lazy(
    r"^(?:E\s+|!+\s*)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Interrupt|Exit|Panic))\b"
    r"(?::[ \t]*(\S.*))?\r?$",
    re.MULTILINE,
)
_CODES = (
    ("error[E", lazy(r"error\[(E\d{4})\]")),
    ("TS", lazy(r"\b(TS\d{4,5})\b", re.ASCII)),
    ("error C", lazy(r"\berror (C\d{4})\b")),
    ("ORA-", lazy(r"ORA-\d{5}")),
    ("npm ERR! code", lazy(r"npm ERR! code \w+")),
    ("HTTP", lazy(r"HTTP(?:/[\d.]+)?(?: [Ee]rror)?[ :]+[45]\d\d\b")),
    ("status", lazy(r"status(?:[ _]code)?\"?\s*[:= ]\s*([45]\d\d)\b", re.ASCII)),
    ("错误", lazy(r"错误(?:码|代码)\s*[:：=]?\s*[A-Za-z]*-?\d[A-Za-z0-9_-]*")),
    ("code", lazy(r"[Ee]rror[ _]?[Cc]ode\"?\s*[:= ]\s*\"?[A-Za-z]*-?\d[\w-]*", re.ASCII)),
    (
        "E",
        lazy(
            r"E(?<![\w.-].)(?:CONN[A-Z]+|NOENT|ACCES|PERM|EXIST|ADDRINUSE|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH"
            r"|MFILE|NOSPC)\b"
        ),
    ),
)
_NOT_FOUND = lazy(
    r"^.{0,80}?: (?:command not found|No such file or directory)\r?$|^(?:fatal|error): .{3,}$", re.MULTILINE
)

MAX_FAILING = 60
"""How many failing tests of a run are named."""
_PYTEST = lazy(
    r"^=*\s?(\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b[^=\n]*?) in [\d.]+ ?s",
    re.MULTILINE,
)
_UNITTEST = lazy(r"^Ran (\d+) tests? in [^\n]*\n\s*(OK[^\n]*|FAILED[^\n]*|NO TESTS RAN)", re.MULTILINE)
_JEST = lazy(r"^Tests:\s+(.*\d+ total)", re.MULTILINE)
_CARGO = lazy(r"^test result: (.*?)(?:;\s*finished.*)?$", re.MULTILINE)
_GO = lazy(r"^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\])", re.MULTILINE)
_MOCHA = lazy(r"^[ \t]+(\d+ (?:passing|failing))\b", re.MULTILINE)
_FAILING = lazy(
    r"^(?:FAILED|ERROR) (\S+::.*?|\S+\.py)(?: - .*)?$|^(?:FAIL|ERROR): (\w+ \([\w.]+\)|\w[\w.]*\b(?= \())"
    r"|^[ \t]*--- FAIL: (\S+)|^test (\S+) \.\.\. FAILED|^[ \t]+[✕×✗] (.+?)(?: \(\d+ ?m?s\))?$"
    r"|^[ \t]*● (.+ › .+)$|^FAIL (\S+\.\w+)",
    re.MULTILINE,
)
_BROKEN = lazy(
    r"^(ERROR (?:\S+::.*|\S+\.py\b.*))$|^(ERROR: \w+ \([\w.]+\))"
    r"|^_+ (ERROR (?:collecting|at (?:setup|teardown) of) \S+) _+$"
    r"|^(thread '[^']+'(?: \(\d+\))? panicked at .+?):?$|^(panic: .+?)(?: \[recovered\].*)?$|^(\S+\.go:\d+:\d+: .+)$"
    r"|^(FAIL\s+\S+ \[(?:build|setup) failed\])|^[ \t]*● (Test suite failed to run)|^npm (?:ERR!|error) (code \w+)",
    re.MULTILINE,
)
"""Errors that kept a test from running or broke it, in addition to failures."""
_COUNTED = lazy(r"\b([1-9]\d*) errors?\b(?=.* in [\d.]+ ?s)|^FAILED \(.*?\berrors=(\d+)", re.MULTILINE)
_RUNNERS = (
    (" in ", _PYTEST, "{}"),
    ("Ran ", _UNITTEST, "{} tests, {}"),
    ("Tests:", _JEST, "{}"),
    ("test result:", _CARGO, "{}"),
    ("\t", _GO, "{} {}"),
    (" passing", _MOCHA, "{}"),
)


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
    found = _EXIT.search(text, 0, 400) or _EXIT.search(text, max(0, len(text) - 400))
    code = next((int(group) for group in found.groups() if group), None) if found else None
    return Outcome(text, code)


def refused(result: Outcome) -> bool:
    """Whether the result of a tool other than a shell says that nothing was done."""
    return _REFUSED.search(result.text[:500]) is not None


def possible(effects: Sequence[Effect], result: Outcome, *, alone: bool) -> list[Effect]:
    """The effects of a shell command that its result does not rule out; ``alone`` if it called only one program."""
    complaints = result.complaints()
    if any(_SYNTAX.search(line) for line in complaints):
        return []
    failed = alone and result.exit_code not in {None, 0} and not complaints
    return [
        effect._replace(verb="absent") if _was_absent(effect, complaints) else effect
        for effect in effects
        if not (failed and effect.by != "shell" and effect.verb != "run")
        and not _ruled_out(effect, result.text, complaints)
    ]


def _ruled_out(effect: Effect, text: str, complaints: Sequence[str]) -> bool:
    if effect.verb == "restore" and "Switched to " in text:
        return True
    if effect.by == "python" and _crashed(text, ("<stdin>", "<string>")):
        return True
    if effect.verb == "run" and _crashed(text, (posixpath.basename(effect.path),)):
        return True
    if effect.by == "sed" and any(line.startswith(("sed: -e", "sed: unknown")) for line in complaints):
        return True
    name = posixpath.basename(effect.path)
    return not _was_absent(effect, complaints) and any(occurs(name, line) for line in complaints)


def _was_absent(effect: Effect, complaints: Sequence[str]) -> bool:
    """Whether a file could not be removed because it is gone already."""
    return effect.verb == "delete" and any(
        "cannot remove" in line and "No such file" in line and occurs(effect.path, line) for line in complaints
    )


def _crashed(text: str, names: Iterable[str]) -> bool:
    return any(f'{name}", line ' in text for name in names) and ("Traceback (" in text or "SyntaxError" in text)


def errors(result: Outcome) -> list[str]:
    """Exceptions with the head of their message, error codes and errors of tests, complaints of programs, exit code."""
    text = result.text
    found: dict[str, None] = {}
    if "rror" in text or "xception" in text or "Failure" in text or "Interrupt" in text:
        for name, message in _ERROR_LINE.findall(text):
            found[_head(f"{name}: {message}" if message else name)] = None
    for hint, pattern in _CODES:
        if hint in text:
            found.update(dict.fromkeys(map(_head, pattern.findall(text))))
    if ": command not found" in text or "No such file" in text or "fatal: " in text or "error: " in text:
        for line in _NOT_FOUND.findall(text):
            found[_head(line)] = None
    found.update(dict.fromkeys(map(_head, broken(text))))
    if result.exit_code not in {None, 0}:
        found[f"exit {result.exit_code}"] = None
    return list(found)


def _head(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_MESSAGE_CHARS else text[: MAX_MESSAGE_CHARS - 1] + "…"


def verdicts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The outcomes of test runs in an output, each with the names of the tests that failed."""
    outcomes: list[str] = []
    for hint, pattern, form in _RUNNERS:
        if hint in text:
            outcomes += [
                form.format(*((found,) if isinstance(found, str) else found)) for found in pattern.findall(text)
            ]
    failing: tuple[str, ...] = ()
    if "FAIL" in text or "ERROR" in text or "● " in text or "✕" in text:
        names = (next(group for group in groups if group) for groups in _FAILING.findall(text))
        failing = tuple(dict.fromkeys(names))[:MAX_FAILING]
    if not outcomes:
        return [(f"{len(failing)} failed", failing)] if failing else []
    return [(", ".join(outcome.strip(" ,") for outcome in outcomes), failing)]


def broken(text: str) -> list[str]:
    """The errors of test runs in an output: each by name, or their number."""
    if not any(hint in text for hint in ("ERR", "error", "panic", "FAIL", ".go:", "●")):
        return []
    named = [next(group for group in groups if group).strip() for groups in _BROKEN.findall(text)]
    counted = sum(int(number) for groups in _COUNTED.findall(text) for number in groups if number)
    return list(dict.fromkeys(named)) or ([f"{counted} error{'s' * (counted > 1)} in tests"] if counted else [])
