"""Outcomes of test runs in the output of pytest, unittest, jest, mocha, go and cargo."""

from __future__ import annotations

import re

MAX_FAILING = 60
"""How many failing tests of a run are named."""

_PYTEST = re.compile(
    r"^=*\s?(\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b[^=\n]*?) in [\d.]+ ?s",
    re.MULTILINE,
)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in [^\n]*\n\s*(OK[^\n]*|FAILED[^\n]*|NO TESTS RAN)", re.MULTILINE)
_JEST = re.compile(r"^Tests:\s+(.*\d+ total)", re.MULTILINE)
_CARGO = re.compile(r"^test result: (.*?)(?:;\s*finished.*)?$", re.MULTILINE)
_GO = re.compile(r"^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\])", re.MULTILINE)
_MOCHA = re.compile(r"^[ \t]+(\d+ (?:passing|failing))\b", re.MULTILINE)
_FAILING = re.compile(
    r"^(?:FAILED|ERROR) (\S+::.*?|\S+\.py)(?: - .*)?$|^(?:FAIL|ERROR): (\w+ \([\w.]+\)|\w[\w.]*\b(?= \())"
    r"|^[ \t]*--- FAIL: (\S+)|^test (\S+) \.\.\. FAILED|^[ \t]+[✕×✗] (.+?)(?: \(\d+ ?m?s\))?$"
    r"|^[ \t]*● (.+ › .+)$|^FAIL (\S+\.\w+)",
    re.MULTILINE,
)
_BROKEN = re.compile(
    r"^(ERROR (?:\S+::.*|\S+\.py\b.*))$|^(ERROR: \w+ \([\w.]+\))"
    r"|^_+ (ERROR (?:collecting|at (?:setup|teardown) of) \S+) _+$"
    r"|^(thread '[^']+'(?: \(\d+\))? panicked at .+?):?$|^(panic: .+?)(?: \[recovered\].*)?$|^(\S+\.go:\d+:\d+: .+)$"
    r"|^(FAIL\s+\S+ \[(?:build|setup) failed\])|^[ \t]*● (Test suite failed to run)|^npm (?:ERR!|error) (code \w+)",
    re.MULTILINE,
)
"""What kept a test from running or broke it, beside tests that failed."""

_COUNTED = re.compile(r"\b([1-9]\d*) errors?\b(?=.* in [\d.]+ ?s)|^FAILED \(.*?\berrors=(\d+)", re.MULTILINE)
_RUNNERS = (
    (" in ", _PYTEST, "{}"),
    ("Ran ", _UNITTEST, "{} tests, {}"),
    ("Tests:", _JEST, "{}"),
    ("test result:", _CARGO, "{}"),
    ("\t", _GO, "{} {}"),
    (" passing", _MOCHA, "{}"),
)


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
    """The errors of test runs in an output: each that is named, or how many there were."""
    if not any(hint in text for hint in ("ERR", "error", "panic", "FAIL", ".go:", "●")):
        return []
    named = [next(group for group in groups if group).strip() for groups in _BROKEN.findall(text)]
    counted = sum(int(number) for groups in _COUNTED.findall(text) for number in groups if number)
    return list(dict.fromkeys(named)) or ([f"{counted} error{'s' * (counted > 1)} in tests"] if counted else [])
