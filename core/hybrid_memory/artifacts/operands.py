"""The words behind a program's name: which of them are files."""

from __future__ import annotations

import re

MAX_PATH_CHARS = 1000
"""Longer words are no paths."""

_PATH = re.compile(r"(?=.*[./\w])[^\s$`*?\[\]{}<>|;&\"'()=,^!\\]+")


def is_file(path: str) -> bool:
    """Whether a word can be a path: no option, device, number, address or wildcard."""
    return (
        len(path) < MAX_PATH_CHARS
        and not path.startswith(("/dev/", "-", "&"))
        and not path.isdigit()
        and _PATH.fullmatch(path) is not None
        and "://" not in path
    )


def values(words: list[str], options: tuple[str, ...]) -> list[str]:
    """What follows each of these options."""
    return [words[n + 1] for n, word in enumerate(words[:-1]) if word in options]


def after_script(words: list[str]) -> list[str]:
    """The operands behind the script or pattern of sed, perl, awk and grep."""
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
