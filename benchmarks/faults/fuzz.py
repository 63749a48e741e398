"""Nonsense in every argument of every verb, on both faces: only errors of the library's own, and nothing changed.

Calls are made up from the signatures. After an `InvalidInputError` the log has as many events as before, every known
turn is still found, no call takes longer than five seconds, and the process does not grow.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import inspect
import itertools
import logging
import random
import re
import signal
import tempfile
import time
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, Message, OrchestrationConfig, Weights, open_memory
from hybrid_memory.errors import HybridMemoryError, InvalidInputError
from hybrid_memory.scope import Scope

LONGEST = 5.0
"""Seconds that a call may take."""
PER_STORE = 2_000
"""Calls on one store before the next is opened, so that what calls cost does not depend on how many there were."""
CHECKED_EVERY = 100
GROWTH = 64 * 2**20
"""Bytes that the process may grow by, from the end of its first stores to the end of its last."""
KNOWN = "the lighthouse keeper counts seventeen herons"

LEFT_OUT = {"close", "as_read_only", "lock", "schedule", "rekey", "now", "migrate", "adopt", "language_model"} | {
    f"{verb}_block" for verb in ("put", "edit", "undo", "attach", "remove")
} | {"block_history"}  # fmt: skip
"""What ends the memory, gives it another model or makes another memory; and former names, whose new ones are called."""


NEVER = datetime.max  # noqa: DTZ901 - naive


class _HungError(BaseException):
    """A call took too long."""


def _hung(*_: Any) -> None:
    raise _HungError


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


class Calls:
    """Makes up calls of one store's verbs, and remembers what they returned, to be given to others."""

    def __init__(self, memory: HybridMemory, random: random.Random) -> None:
        self.random = random
        alice = memory.scoped(user="alice", session="s1")
        space = memory.scoped(user="alice").create_space("team")
        self.owners = [memory, alice, memory.scoped(user="alice"), space, alice.block("notes")]
        self.owners += [memory.scoped(user="bob", agent="a"), memory.items("app"), alice.steps(), space.block("plan")]
        alice.remember(["I live in Hamburg", "the red car is fast", "see https://example.org and `x.py`"])
        alice.block("notes").put("first")
        payload = alice.offload("line one\nline two\n" * 50)
        self.made: list[Any] = [alice.recall("car")[0], "#1", "#1-3", payload.result_id, 1, 3, Message(content="hi")]
        self.made += list(alice.facts()) + alice.events()[:3]

    def one(self) -> tuple[Any, str, dict[str, Any]]:
        """An object, the name of a verb of it, and its arguments."""
        owner = self.random.choice(self.owners)
        names = sorted(name for name in dir(owner) if not name.startswith("_") and _is_verb(owner, name))
        verb = self.random.choice(names)
        return owner, verb, dict(self._arguments(getattr(owner, verb)))

    def _arguments(self, verb: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
        chance = self.random.choice((0.15, 0.35))  # few, since some verbs take one of several only
        for name, parameter in inspect.signature(verb).parameters.items():
            required = parameter.default is parameter.empty
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or name in ("self", "progress"):
                continue
            if required or self.random.random() < chance:
                yield name, self._value(name, str(parameter.annotation))

    def _value(self, name: str, annotation: str) -> Any:
        chance = self.random.random()
        if chance < 0.55:
            return self.random.choice(HOSTILE)()
        if chance < 0.7:
            return self.random.choice(self.made)
        return self._fitting(name, annotation)

    def _fitting(self, name: str, annotation: str) -> Any:
        """A value of the parameter's type, which reaches further than one that is refused."""
        fitting: list[Any] = []
        for part, values in FITTING.items():
            if part in annotation:
                fitting += values
        return self.random.choice(fitting) if fitting else None

    def keep(self, value: Any) -> None:
        """Something that a verb returned, for later calls."""
        values = list(value)[:2] if isinstance(value, list) else [value]
        self.made = [*self.made, *(one for one in values if one is not None and not inspect.isawaitable(one))][-60:]


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


def _is_verb(owner: Any, name: str) -> bool:
    return _bare(owner, name) not in LEFT_OUT and isinstance(getattr(type(owner), name, None), types.FunctionType)


def _bare(owner: Any, name: str) -> str:
    return name[1:] if name.startswith("a") and hasattr(type(owner), name[1:]) else name


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."


class Campaign:
    """Counts of what was called and what came of it.

    Attributes:
        broken: by what happened, how often; examples: the first call of each.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.calls = 0
        self.hung = False
        self.slowest = (0.0, "")
        self.outcomes: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def on_store(self, url: str, calls: int) -> None:
        """So many calls on one store, of which half are awaited, or fewer where one of them hangs."""
        self.hung = False
        learning, orchestration = LearningConfig(background=False), OrchestrationConfig(background=False)
        config = MemoryConfig(url=url, embedder="hashing", learning=learning, orchestration=orchestration)
        with open_memory(config) as memory, asyncio.Runner() as loop:
            keeper = memory.scoped(user="keeper")
            keeper.remember(KNOWN, id="known")
            made = Calls(memory, self.random)
            for number in range(calls):
                self._call(memory, made, loop)
                self.calls += 1
                if self.hung:
                    break
                if number % CHECKED_EVERY == 0 or number == calls - 1:
                    found = keeper.recall("lighthouse keeper herons")
                    if [hit.record.text for hit in found] != [KNOWN]:
                        self._note("the known turn is not found", "recall", "")

    def _call(self, memory: HybridMemory, made: Calls, loop: asyncio.Runner) -> None:
        owner, verb, arguments = made.one()
        shown = f"{type(owner).__name__}.{verb}({', '.join(f'{k}={_shown(v)}' for k, v in arguments.items())})"
        before = sum(memory.heads().values())
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        began = time.perf_counter()
        try:
            value = getattr(owner, verb)(**arguments)
            if inspect.isawaitable(value):
                value = loop.run(_awaited(value))
            self.outcomes["done"] += 1
            if verb not in ("rebuild", "arebuild"):
                made.keep(value)
        except HybridMemoryError as error:
            self.outcomes[type(error).__name__] += 1
            if isinstance(error, InvalidInputError) and sum(memory.heads().values()) != before:
                self._note(f"{verb} refused its arguments and changed something", shown, str(error))
        except _HungError:
            self._note(f"{verb} took more than {LONGEST:g} s", shown, "")
            self.hung = True
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{_bare(owner, verb)}: {type(error).__name__} in {Path(where.filename).name}:{where.lineno}"
            self._note(what, shown, str(error) if not isinstance(error, LookupError) else "")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.slowest = max(self.slowest, (time.perf_counter() - began, shown))

    def _note(self, what: str, call: str, error: str) -> None:
        self.broken[what] += 1
        self.examples.setdefault(what, f"{call} -> {error[:200]}")


async def _awaited(value: Any) -> Any:
    return await value


def resident() -> int:
    """Bytes of memory that this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def campaign(count: int, seed: int, *, per_store: int = PER_STORE) -> tuple[Campaign, int]:
    """So many calls on stores in files and in memory by turns; what came of them, and how much the process grew."""
    done = Campaign(seed)
    sizes: list[int] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable()
        before = signal.signal(signal.SIGALRM, _hung)
        while done.calls < count:
            url = f"sqlite:///{folder}/{len(sizes)}.db" if len(sizes) % 2 else "memory://"
            done.on_store(url, min(per_store, count - done.calls))
            sizes.append(resident())
        signal.signal(signal.SIGALRM, before)
        logging.disable(logging.NOTSET)
    return done, sizes[-1] - sizes[len(sizes) // 4] if len(sizes) > 4 else 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many calls, and which."""
    parser.add_argument("--count", type=int, default=100_000, help="calls")
    parser.add_argument("--seed", type=int, help="the same calls again")


def run(args: argparse.Namespace) -> int:
    """Call, and print what broke; 0 if nothing did."""
    seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
    print(f"seed {seed}")
    done, grown = campaign(args.count, seed)
    foreign = sum(done.broken.values())
    print(f"{done.calls:,} calls, {foreign:,} broken ({100 * foreign / done.calls:.2f} %): {dict(done.outcomes)}")
    print(f"slowest {done.slowest[0]:.2f} s: {done.slowest[1]}; grown by {grown / 2**20:.1f} MiB")
    for what, times in done.broken.most_common():
        print(f"{times:6} {what}\n       {done.examples[what]}")
    return 1 if foreign or grown > GROWTH else 0
