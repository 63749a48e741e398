"""Patches, diffs and version-control status as effects on files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybrid_memory.artifacts.files import Effect

_GIT = re.compile(r'^diff --git "?a/(.+?)"? "?b/(.+?)"?$')
_OLD = re.compile(r"^--- (?:a/)?([^\t\n]+)")
_NEW = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)")
_ENVELOPE = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$")
_LONG_STATUS = re.compile(r"^\s+(?:both )?(modified|new file|deleted|renamed|typechange):\s+(.+?)(?: -> (.+))?$")
_SHORT_STATUS = re.compile(r"^(\?\?|[ MADRCU][ MADRCU]) (\S.*?)(?: -> (.+))?$")
_UNTRACKED = re.compile(r"^Untracked files:")
_HINT = re.compile(r"^\s+\(use ")


def is_patch(text: str) -> bool:
    """Whether a text holds a diff in one of the usual forms."""
    return "\n+++ " in text or text.startswith("diff --git ") or "\ndiff --git " in text or "*** Begin Patch" in text


def patch_effects(text: str) -> Iterator[Effect]:
    """What applying a patch does: unified and git diffs, and the ``*** Begin Patch`` envelope."""
    if "*** Begin Patch" in text:
        yield from _envelope_effects(text)
        return
    for effect in diff_effects(text):
        verb = {"tracked": "edit", "new": "write", "gone": "delete"}.get(effect.verb, effect.verb)
        yield effect._replace(verb=verb)


def diff_effects(text: str) -> Iterator[Effect]:
    """What a diff that version control printed says about files: ``tracked``, ``new``, ``gone`` or ``move``."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if found := _GIT.match(line):
            yield from _git_file(found, lines[number + 1 : number + 6])
        elif line.startswith("--- ") and number + 1 < len(lines) and not _inside_git_file(lines, number):
            old, new = _OLD.match(line), _NEW.match(lines[number + 1])
            if old and new:
                yield _plain_file(old[1].strip(), new[1].strip())


def status_effects(text: str) -> Iterator[Effect]:
    """What ``git status`` says, in its long and its short form."""
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
