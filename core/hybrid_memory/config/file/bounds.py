"""How small and how large a value may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Self, TypeVar

Value = TypeVar("Value", float, timedelta)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How small and how large a value may be; the names are those of `pydantic.Field`."""

    ge: Any = None
    gt: Any = None
    le: Any = None
    lt: Any = None

    @classmethod
    def of(cls, metadata: Iterable[Any]) -> Self:
        """The bounds in the metadata of a pydantic field."""
        names = [part.name for part in fields(cls)]
        return cls(**{name: getattr(mark, name) for mark in metadata for name in names if hasattr(mark, name)})

    def held(self, value: Value) -> Value:
        """The value.

        Raises:
            ValueError: it is not within the bounds.
        """
        low = (self.ge is None or value >= self.ge) and (self.gt is None or value > self.gt)
        high = (self.le is None or value <= self.le) and (self.lt is None or value < self.lt)
        if not (low and high):
            raise ValueError(f"{value} is not allowed{self}")
        return value

    def over(self, unit: timedelta) -> Bounds:
        """Bounds of a time as numbers of this unit."""
        return Bounds(*(bound if bound is None else bound / unit for bound in (self.ge, self.gt, self.le, self.lt)))

    def __str__(self) -> str:
        """What follows "a number": `` from 0 to 1``."""
        limited = self.le is not None or self.lt is not None
        low = high = ""
        if self.ge is not None:
            low = f" from {_written(self.ge)}" if limited else f", {_written(self.ge)} or more"
        if self.gt is not None:
            low = f" above {_written(self.gt)}"
        if self.le is not None:
            high = f"{' to' if self.ge is not None else ', at most'} {_written(self.le)}"
        if self.lt is not None:
            high = f", below {_written(self.lt)}"
        return low + high


def _written(bound: Any) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)
