"""File paths: validation, parent folders, and patterns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from hybrid_memory.errors import FileError
from hybrid_memory.validation import checked_text, shown

MAX_PATH_CHARS = 1_000
MAX_NAME_BYTES = 255
"""The longest name between two slashes, as in file systems to which files may be exported."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")


def checked_path(path: Any, *, folder: bool = False) -> str:
    """The normalized path, without a trailing slash; raises `FileError` if it is invalid.

    Args:
        path: absolute.
        folder: whether it may name a folder, including the root, and end with a slash.
    """
    text = checked_text("path", path)
    if not text.startswith("/"):
        raise FileError("path", f"a path begins with '/', got {shown(text)}")
    if len(text) > MAX_PATH_CHARS:
        raise FileError("path", f"a path has {MAX_PATH_CHARS} characters at most, got {len(text)}")
    if _CONTROL.search(text) or "\\" in text:
        raise FileError("path", f"a path has no control characters and no backslash, got {shown(text)}")
    if _ENCODED.search(text):
        raise FileError("path", f"a path is written as it is, without percent encoding, got {shown(text)}")
    if text.endswith("/") and not folder:
        raise FileError("folder", f"{shown(text)} names a folder: give the path of a file")
    names = [name for name in unicodedata.normalize("NFC", text).split("/") if name]
    for name in names:
        if name.strip(".") == "" or name != name.strip():
            raise FileError("path", f"{shown(name)} is not a valid name of a file or folder in {shown(text)}")
        if len(name.encode()) > MAX_NAME_BYTES:
            raise FileError("path", f"a name has {MAX_NAME_BYTES} bytes at most, got {shown(name)}")
    return "/" + "/".join(names)


def below(path: str, folder: str) -> bool:
    """Whether a path is inside a folder, at any depth."""
    return path.startswith("/" if folder == "/" else f"{folder}/")


def folders_above(path: str) -> Iterator[str]:
    """The parent folders of a path, outermost first, without the root."""
    names = path.split("/")[1:-1]
    return ("/" + "/".join(names[: row + 1]) for row in range(len(names)))


def matches(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern: ``*`` and ``?`` within a name, ``**`` across names, ``[ab]`` and ``{a,b}``.

    A pattern without a slash matches the name alone, in any folder.
    """
    name = path.rpartition("/")[2] if "/" not in pattern and pattern != "**" else path.lstrip("/")
    return _pattern(pattern.lstrip("/")).fullmatch(name) is not None


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    found, row, depth = "", 0, 0
    while row < len(pattern):
        letter = pattern[row]
        if pattern.startswith("**/", row):
            found, row = f"{found}(?:[^/]+/)*", row + 3
            continue
        if pattern.startswith("**", row):
            found, row = f"{found}.*", row + 2
            continue
        end = pattern.find("]", row + 2) if letter == "[" else -1
        if end > 0:
            inside = pattern[row + 1 : end].replace("\\", "\\\\")
            found += f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
            row = end + 1
            continue
        depth += (letter == "{") - (letter == "}" and depth > 0)
        plain = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")" if depth >= 0 else r"\}"}
        found += "|" if letter == "," and depth else plain.get(letter, re.escape(letter))
        row += 1
    try:
        return re.compile(found, re.DOTALL)
    except re.error:
        raise FileError("pattern", f"{shown(pattern)} is not a valid path pattern") from None
