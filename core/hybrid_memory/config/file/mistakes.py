"""All that is wrong with a file, told at once."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from hybrid_memory.config.file.entries import Entry
from hybrid_memory.errors import InvalidConfigError


class Mistakes:
    """What is wrong with a file, a line for each.

    Args:
        file: its name, as messages say it.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._told: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._told)

    def add(self, entry: Entry, text: str) -> None:
        """Note what is wrong with an entry."""
        key = f"{entry.key}: " if entry.key else ""
        self._told.append((entry.line, f"{self._file} line {entry.line}: {key}{text}"))

    def refuse(self, entry: Entry, allowed: str, names: Iterable[str] = ()) -> None:
        """Note that a value is not allowed, what is, and which of these names may be meant."""
        value = entry.node.value if entry.node is not None else ""
        meant = near(value, names) if isinstance(value, str) else ""
        self.add(entry, f"{entry.shown} is not allowed: use {allowed}{meant}")

    def check(self) -> None:
        """Raise what was noted, in the order of the file.

        Raises:
            InvalidConfigError: there is something.
        """
        if self._told:
            raise InvalidConfigError("\n".join(text for _, text in sorted(self._told, key=lambda told: told[0])))


def near(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'NAME'?)`` for the one that looks most like it; nothing if none does."""
    by_form = {known.casefold(): known for known in names}
    found = get_close_matches(name.casefold(), by_form, n=1)
    return f" (did you mean {by_form[found[0]]!r}?)" if found else ""
