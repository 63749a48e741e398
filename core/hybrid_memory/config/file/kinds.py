"""What a setting may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from math import isfinite
from typing import Any, Final, Literal, TypeAlias

from pydantic import TypeAdapter
from yaml.nodes import ScalarNode, SequenceNode

from hybrid_memory.config.file.bounds import Bounds
from hybrid_memory.config.file.entries import Entry
from hybrid_memory.config.file.mistakes import Mistakes

REFUSED: Final = object()
"""What `Kind.read` gives for a value that is not allowed."""

Unit: TypeAlias = Literal["milliseconds", "seconds", "days"]

_ISO: Final = TypeAdapter(timedelta)
_EXAMPLES: Final = {"milliseconds": "PT0.05S", "seconds": "PT30S", "days": "P30D"}


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """What a setting may be; as text, the values that it may have.

    Attributes:
        null: also nothing at all.
        names: the values, where each has a name.
    """

    null: bool = False
    names: tuple[str, ...] = ()

    def read(self, entry: Entry, mistakes: Mistakes) -> Any:
        """The value; `REFUSED`, and a mistake, if it is not allowed."""
        if entry.empty and self.null:
            return None
        if not entry.empty:
            with suppress(ValueError, OverflowError):
                return self._value(entry)
        # Where one of several names is wanted, null is as good as leaving the setting out.
        allowed = f"{self}, or null" if self.null and not self.names else str(self)
        mistakes.refuse(entry, allowed, self.names)
        return REFUSED

    @abstractmethod
    def _value(self, entry: Entry) -> Any:
        """The value; ValueError or OverflowError if it is not allowed."""

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Choice(Kind):
    """One of several names."""

    def _value(self, entry: Entry) -> str:
        # As written: `off` without quotes would be a boolean.
        return self.names[self.names.index(entry.text())]

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}"


@dataclass(frozen=True, kw_only=True)
class Switch(Kind):
    """True or false."""

    def _value(self, entry: Entry) -> bool:
        value = entry.scalar()
        if not isinstance(value, bool):
            raise ValueError  # noqa: TRY004 - what `read` expects of all kinds
        return value

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """Any text."""

    def _value(self, entry: Entry) -> str:
        value = entry.scalar()
        if not isinstance(value, str):
            raise ValueError  # noqa: TRY004 - what `read` expects of all kinds
        return value

    def __str__(self) -> str:
        return "text in quotes"


@dataclass(frozen=True, kw_only=True)
class Number(Kind):
    """A number within bounds.

    Attributes:
        whole: only an integer.
        unit: what is counted.
    """

    whole: bool = False
    unit: str = ""
    bounds: Bounds = field(default_factory=Bounds)

    def _value(self, entry: Entry) -> float:
        value = _number(entry)
        if self.whole and value != int(value):
            raise ValueError
        return self.bounds.held(int(value) if self.whole else float(value))

    def __str__(self) -> str:
        number = "a whole number" if self.whole else "a number"
        return f"{number}{f' of {self.unit}' if self.unit else ''}{self.bounds}"


@dataclass(frozen=True, kw_only=True)
class Duration(Kind):
    """A time that is given as a number of its unit, or as an ISO 8601 duration."""

    unit: Unit
    bounds: Bounds = field(default_factory=Bounds)

    def _value(self, entry: Entry) -> timedelta:
        text = entry.text()
        # A number in quotes would be read as seconds, whatever the unit.
        if "P" in text.upper() or ":" in text:
            return self.bounds.held(_ISO.validate_python(text))
        return self.bounds.held(timedelta(**{self.unit: _number(entry)}))

    def __str__(self) -> str:
        bounds = self.bounds.over(timedelta(**{self.unit: 1}))
        return f"a number of {self.unit}{bounds}, or an ISO 8601 duration such as {_EXAMPLES[self.unit]}"


@dataclass(frozen=True, kw_only=True)
class ListOf(Kind):
    """Any number of values of one kind."""

    item: Kind

    def read(self, entry: Entry, mistakes: Mistakes) -> Any:
        """The values; `REFUSED`, and a mistake for each that is not allowed, if there is one."""
        if not isinstance(entry.node, SequenceNode):
            return super().read(entry, mistakes)
        values = tuple(self.item.read(entry.item(row, node), mistakes) for row, node in enumerate(entry.node.value))
        return REFUSED if REFUSED in values else values

    def _value(self, entry: Entry) -> Any:
        raise ValueError(f"{entry.key} is no list")

    def __str__(self) -> str:
        return f"a list, each item {self.item}"


def _number(entry: Entry) -> float:
    value = entry.scalar()
    # YAML 1.1, which PyYAML reads, takes 1e-3 for text.
    if isinstance(value, str) and isinstance(entry.node, ScalarNode) and entry.node.style is None:
        value = float(value)
    if isinstance(value, bool | str) or not isfinite(value):
        raise ValueError
    return value
