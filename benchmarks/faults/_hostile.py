"""Values that no caller should give, and some that fit."""

import asyncio
import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory import Message, Scope, Weights

NEVER = datetime.max  # noqa: DTZ901 - naive


class _Text(str):
    """A text that lies."""

    __slots__ = ()

    def __str__(self) -> str:
        raise LookupError("no text")

    def __eq__(self, other: object) -> bool:
        raise LookupError("not comparable")

    def __hash__(self) -> int:
        raise LookupError("no hash")

    def strip(self, *_: Any) -> Any:
        """Nothing."""
        raise LookupError("nothing to strip")


class _Number(int):
    """A number that cannot be compared."""

    def __lt__(self, other: object) -> bool:
        raise LookupError("not comparable")

    __gt__ = __le__ = __ge__ = __lt__


class _Broken:
    """Everything about it raises."""

    def _raises(self, *_: Any) -> Any:
        raise LookupError("broken")

    __str__ = __repr__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __index__ = __float__ = _raises
    __getitem__ = __contains__ = __call__ = __lt__ = __fspath__ = __int__ = _raises


class _Mapping(dict[str, Any]):
    """A mapping that cannot be read."""

    def items(self) -> Any:
        """Nothing."""
        raise LookupError("no items")

    keys = values = __iter__ = items

    def __getitem__(self, name: str) -> Any:
        raise LookupError("no item")


class _Zone(tzinfo):
    """A zone that knows no offset when asked."""

    def utcoffset(self, _: datetime | None) -> Any:
        """None."""
        raise LookupError("no offset")

    tzname = dst = utcoffset


def _deep(depth: int, *, mapping: bool) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": value} if mapping else [value]
    return value


def _circle() -> Any:
    circle: list[Any] = []
    circle.append(circle)
    return circle


def _ring() -> Any:
    ring: dict[str, Any] = {}
    ring["a"] = ring
    return ring


HOSTILE: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: -1, lambda: 1, lambda: 2**31, lambda: 2**63,
    lambda: 2**64 + 1, lambda: -(2**63) - 1, lambda: 10**30, lambda: 10**5000, lambda: -(10**5000),
    lambda: 0.0, lambda: -0.0, lambda: 1e308, lambda: float("nan"), lambda: float("inf"), lambda: -float("inf"),
    lambda: 5e-324, lambda: 1.5, lambda: 1 + 2j, lambda: Decimal("NaN"), lambda: Decimal("1e999"),
    lambda: Fraction(1, 3), lambda: np.int64(3), lambda: np.float32("nan"), lambda: np.array([1, 2]),
    lambda: np.array(["a", "b"]), lambda: np.bool_(True), lambda: _Number(3),
    lambda: "", lambda: " \n\t", lambda: "\x00", lambda: "a\x00b", lambda: "\ud800", lambda: "ok\udfff", lambda: "#1",
    lambda: "#²", lambda: "#٣", lambda: "#99999999999999999999999", lambda: "#-1", lambda: "#1-", lambda: "#5-2",
    lambda: "#1-99999999999999999999", lambda: "c0-0", lambda: "10-", lambda: "²-³", lambda: "a[²]", lambda: "[",
    lambda: "(" * 500, lambda: "[[[[" * 50, lambda: "(?P<a", lambda: "(a+)+$", lambda: "a{99999}", lambda: "\\",
    lambda: "%s%n", lambda: "'; DROP TABLE events; --", lambda: '"', lambda: '" OR NEAR(', lambda: "*", lambda: "-x",
    lambda: "../../etc/passwd", lambda: "x" * 70_000, lambda: "字" * 20_000, lambda: "a " * 20_000, lambda: "1" * 5_000,
    lambda: "two weeks ago " * 200, lambda: "\u202e\u200b\ufeff", lambda: "🙂" * 300, lambda: "e\u0301" * 3_000,
    lambda: "99999 years ago", lambda: "in 10000000000 days", lambda: "公元99999年", lambda: "0000-00-00",
    lambda: "9999-12-31T23:59:59+14:00", lambda: "user", lambda: "all", lambda: "session", lambda: "fact",
    lambda: b"", lambda: b"\xff\xfe", lambda: bytearray(b"x"), lambda: memoryview(b"x"), lambda: _Text("odd"),
    list, dict, set, tuple, lambda: [None], lambda: ["\ud800"], lambda: [[]], lambda: [{}], lambda: {"a": None},
    lambda: {1: 2}, lambda: {"\ud800": 1}, lambda: {"a": float("nan")}, lambda: {"a": {1, 2}}, lambda: {"a": 10**30},
    lambda: {"a": b"x"}, lambda: {"role": "robot", "content": "x"}, lambda: {"content": ["x"]}, lambda: {None: None},
    lambda: {"role": "user", "content": [{"type": "text", "text": 7}]}, lambda: {"a": "x" * 50_000}, _circle, _ring,
    lambda: {"content": "x", "metadata": _deep(500, mapping=True)}, lambda: {"content": [_ring()]},
    lambda: {"role": "assistant", "tool_calls": [{"name": "f", "arguments": _deep(400, mapping=True)}]},
    lambda: {"role": "user", "content": "x", "at": NEVER}, lambda: {"content": "x", "id": "\x00"},
    lambda: {"content": "x", "extra": _deep(300, mapping=True)}, lambda: {"content": "x", "at": 1e30},
    lambda: {"content": "x", "importance": 10**400}, lambda: {"content": "x", "replaces": 10**30},
    lambda: _deep(60, mapping=True), lambda: _deep(500, mapping=True), lambda: _deep(500, mapping=False),
    lambda: _deep(100_000, mapping=False), lambda: {"a": _deep(990, mapping=False)},
    lambda: {"a": _deep(5_000, mapping=True)}, lambda: iter(()), lambda: (x for x in "ab"),
    lambda: itertools.repeat("x"), itertools.count, lambda: range(3), lambda: range(10**12),
    lambda: {"a", "b"}, lambda: frozenset([1]), lambda: [1] * 5_000, lambda: ["x"] * 3_000,
    lambda: list(range(3_000)), lambda: {str(n): n for n in range(3_000)},
    _Mapping, _Broken, lambda: [_Broken()], lambda: {"a": _Broken()}, object, lambda: int, lambda: str,
    lambda: len, lambda: print, lambda: Ellipsis, lambda: NotImplemented, lambda: asyncio, lambda: Path("x"),
    lambda: (1, 2), lambda: (0, 0), lambda: (-5, 10**30), lambda: ("a", "b"), lambda: (1,), lambda: re.compile("x"),
    lambda: NEVER, lambda: NEVER.replace(year=1, month=1, day=1), lambda: datetime.max.replace(tzinfo=UTC),
    lambda: datetime.min.replace(tzinfo=UTC), lambda: NEVER.replace(year=2024),
    lambda: datetime(2024, 5, 1, tzinfo=UTC),
    lambda: datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))), lambda: datetime(2024, 5, 1, tzinfo=_Zone()),
    lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=23))), NEVER.date,
    lambda: timedelta.max, lambda: timedelta.min, lambda: timedelta(0), Weights, lambda: Weights,
    lambda: Scope(user="other"), lambda: Message(content="hello"), lambda: Message,
]  # fmt: skip
"""What no caller should give, and sometimes what it should, made anew for each call."""


FITTING: dict[str, list[Any]] = {
    "str": ["car", "notes", "user", "where is the red car?", "Hamburg", "plan", "line", "team", "auto", "classic"],
    "int": [1, 2, 5, 10, 100, 4000],
    "bool": [True, False],
    "float": [0.0, 0.5, 1.0],
    "datetime": [datetime(2024, 5, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)],
    "Mapping": [{"a": 1}, {"topic": "car"}, {}],
    "Sequence": [["one", "two"], [], ["car"]],
    "Collection": [["turn"], ["notes"], [], [1, 2]],
    "Content": ["hello there", {"role": "assistant", "content": "well"}, ["a", "b"]],
    "Weights": [Weights(), Weights.plain()],
    "Literal": ["user", "session", "auto", "read", "admin"],
}


def shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."
