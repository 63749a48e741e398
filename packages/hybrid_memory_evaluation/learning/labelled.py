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
"""The labelled data in this package."""

T = TypeVar("T")

_LANGUAGE = re.compile(r"(?:^|_)([a-z]{2})\d*$")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation with what is true at its end, and what is no longer true.

    Attributes:
        turns: the role and text of each turn.
        kind: what happens in it, such as ``correction``.
        current: words that a fact must contain at the end.
        false: words that no fact may contain; false_claims: attributes, each with words that no fact of it may contain.
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
        """The dialogue in a line of JSON; raises KeyError, TypeError or ValueError if it is invalid."""
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
    """The sentences of all files, ``LABEL<TAB>[BEFORE<TAB>]TEXT``; a folder means its ``*.tsv`` files.

    The language is the end of a file's name, or the whole name, such as ``de``.

    Raises:
        InvalidInputError: there are no sentences, or a line has another form.
    """
    found = []
    for file, number, line in _lines(files, "*.tsv"):
        try:
            found.append(labelled_sentence(line, _language(file)))
        except ValueError as error:
            raise InvalidInputError(f"{file}, line {number}: {error}") from None
    return _some(found, files)


def read_dialogues(files: Iterable[Path]) -> list[Dialogue]:
    """The dialogues of all files, one per line of JSON; a folder means its ``*.jsonl`` files.

    Raises:
        InvalidInputError: there are no dialogues, or a line has another form.
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
