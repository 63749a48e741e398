"""Labelled sentences and dialogues, read from files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hybrid_memory.analysis import Example, labelled_sentence
from hybrid_memory.errors import InvalidInputError

SAMPLES = Path(__file__).with_name("samples")
"""Those that come with the package."""

T = TypeVar("T")

_LANGUAGE = re.compile(r"(?:^|_)([a-z]{2})\d*$")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation at whose end some things are so, and others no longer.

    Attributes:
        turns: role and text of each.
        kind: what happens in it, such as ``correction``.
        current: words that stand in a fact at the end.
        false: words that stand in none; false_claims: attributes, each with words that stand in no fact of it.
    """

    name: str
    turns: tuple[tuple[str, str], ...]
    kind: str
    current: tuple[str, ...]
    false: tuple[str, ...]
    false_claims: tuple[tuple[str, str], ...]
    language: str

    @classmethod
    def of(cls, given: dict[str, Any], language: str) -> Dialogue:
        """The dialogue of a line of JSON; raises KeyError, TypeError or ValueError where it is none."""
        return cls(
            name=str(given.get("id", "")),
            turns=tuple((str(role), str(text)) for role, text in given["turns"]),
            kind=str(given.get("kind", "")),
            current=tuple(str(words) for _, words in given.get("current", ())),
            false=tuple(map(str, given.get("false", ()))),
            false_claims=tuple((str(name), str(words)) for name, words in given.get("false_claims", ())),
            language=language,
        )


def read_lines(files: Iterable[Path]) -> list[Example]:
    """The sentences of all files, ``LABEL<TAB>[BEFORE<TAB>]TEXT``; of a folder those of its ``*.tsv``.

    The language is what a file's name ends with, or is, such as ``de``.

    Raises:
        InvalidInputError: there are none, or a line is not of this form.
    """
    found = []
    for file, number, line in _lines(files, "*.tsv"):
        try:
            found.append(labelled_sentence(line, _language(file)))
        except ValueError as error:
            raise InvalidInputError(f"{file}, line {number}: {error}") from None
    return _some(found, files)


def read_dialogues(files: Iterable[Path]) -> list[Dialogue]:
    """The dialogues of all files, one a line of JSON; of a folder those of its ``*.jsonl``.

    Raises:
        InvalidInputError: there are none, or a line is not of this form.
    """
    found = []
    for file, number, line in _lines(files, "*.jsonl"):
        try:
            found.append(Dialogue.of(json.loads(line), _language(file)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidInputError(f"{file}, line {number}: no dialogue: {type(error).__name__}: {error}") from None
    return _some(found, files)


def _lines(files: Iterable[Path], pattern: str) -> Iterator[tuple[Path, int, str]]:
    for given in files:
        for file in sorted(given.glob(pattern)) if given.is_dir() else [given]:
            try:
                text = file.read_text(encoding="utf-8-sig")
            except UnicodeDecodeError:
                raise InvalidInputError(f"{file} is not UTF-8 text") from None
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    yield file, number, line


def _some(found: list[T], files: Iterable[Path]) -> list[T]:
    if not found:
        raise InvalidInputError(f"no labelled data in {', '.join(map(str, files))}")
    return found


def _language(file: Path) -> str:
    found = _LANGUAGE.search(file.stem)
    return found[1] if found else ""
