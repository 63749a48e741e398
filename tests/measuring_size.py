"""Counts of the code: lines and files of its parts, private functions used once, what a verb enters."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

PROJECT = Path(__file__).parents[1]

_WORD = re.compile(r"\w+")
_PRIVATE = re.compile(r"^ *(?:async )?def (_[^\W_]\w*)", re.MULTILINE)


class Size(NamedTuple):
    """How large a part of the code is."""

    lines: int
    files: int


class Entered(NamedTuple):
    """What a call enters."""

    functions: int
    files: int


def modules(*folders: str) -> list[Path]:
    """The modules below these folders of the project."""
    return [path for folder in folders for path in sorted((PROJECT / folder).rglob("*.py"))]


def size(*folders: str) -> Size:
    """The lines and files below these folders."""
    paths = modules(*folders)
    return Size(sum(path.read_bytes().count(b"\n") for path in paths), len(paths))


def private_functions_used_once(paths: Iterable[Path]) -> float:
    """Their share of the private functions, in [0, 1]; a use is a mention in the same module."""
    private = once = 0
    for path in paths:
        words = Counter(_WORD.findall(text := path.read_text(encoding="utf-8")))
        names = set(_PRIVATE.findall(text))
        private += len(names)
        once += sum(words[name] == 2 for name in names)
    return once / private


def entered(call: Callable[[], Any], package: str) -> Entered:
    """The functions of the package that a call enters on this thread, and the files they are in."""
    codes = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and package in frame.f_code.co_filename:
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    functions = {(code.co_filename, code.co_qualname) for code in codes}
    return Entered(len(functions), len({file for file, _ in functions}))
