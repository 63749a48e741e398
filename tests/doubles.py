"""What stands in for others in tests: a clock that is set, and a line to an engine that can be cut."""

import gc
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

import pytest

from hybrid_memory import Event, EventKind, Hit, HybridMemory, Message, Role, ScopedMemory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import Claim
from hybrid_memory.ports import Embedder, Floats

T = TypeVar("T")

OLD_PYDANTIC = [
    pytest.mark.filterwarnings(f"ignore::pydantic.PydanticDeprecatedSince{since}") for since in ("20", "211")
]
"""LlamaIndex's agents look at every attribute of theirs, the deprecated ones of pydantic too."""

PATIENCE = 120.0
"""Seconds that a test waits for what should happen soon; far more than it takes on a busy machine."""


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: datetime = datetime(2024, 5, 15, 12, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Line:
    """Another object, whose calls are counted by name, and which can be cut off.

    Attributes:
        error: what calls raise while it is set: all, or those whose name and arguments `hits` is true of.
        breaks: a method by whose next call the line is cut, and whether "before" it reaches the object or "after".
        spared: how many calls of a method get through before it breaks.
        during: what happens once within the next call of a method, after the object answered.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self.error: Exception | None = None
        self.hits: Callable[[str, tuple[Any, ...]], bool] = lambda name, _: name != "close"
        self.breaks: dict[str, tuple[str, Exception]] = {}
        self.spared: Counter[str] = Counter()
        self.during: dict[str, Callable[[], object]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.inner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            self.spared[name] -= 1
            when, error = self.breaks.pop(name, ("", None)) if self.spared[name] < 0 else ("", None)
            self.error = error or self.error
            if self.error is not None and when != "after" and self.hits(name, args):
                raise self.error
            answer = method(*args, **kwargs)
            if what := self.during.pop(name, None):
                what()
            if error is not None:
                raise error
            return answer

        return call


class FaultyEmbedder:
    """Another embedder, whose calls are listed by name, and which fails on request."""

    def __init__(self, inner: Embedder) -> None:
        self.name = inner.name
        self.calls: list[str] = []
        self._inner = inner
        self._failing: tuple[Exception, Collection[str], Iterator[int]] | None = None

    @contextmanager
    def failing(self, error: Exception, *, methods: Collection[str] = (), after: int = 0) -> Iterator[None]:
        """Inside the block, raise the error from these methods, or both, after so many successful calls."""
        self._failing = error, methods, count(-after)
        try:
            yield
        finally:
            self._failing = None

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self._called("embed_documents")
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        self._called("embed_query")
        return self._inner.embed_query(text)

    def _called(self, method: str) -> None:
        self.calls.append(method)
        error, methods, calls = self._failing or (None, (), count())
        if error is not None and method in (methods or (method,)) and next(calls) >= 0:
            raise error.with_traceback(None)


def line_to(memory: HybridMemory, engine: str) -> Line:
    """The memory's "log" or "index", from now on behind a line."""
    services = memory._runtime.services
    line = Line(getattr(services, engine))
    setattr(services, engine, line)
    return line


def texts(shown: Iterable[Hit | Message]) -> list[str]:
    """The words of hits or of messages."""
    return [one.record.text if isinstance(one, Hit) else one.text for one in shown]


def orphans(messages: Iterable[Message]) -> list[str | None]:
    """What a provider would refuse: ids of results without a call before them, and of calls without results behind."""
    wrong: list[str | None] = []
    waiting: list[str | None] = []
    for message in messages:
        if message.role is not Role.TOOL:
            wrong += waiting
            waiting = [call.id for call in message.tool_calls]
        elif message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        else:
            wrong.append(message.tool_call_id)
    return wrong + waiting


def events_of(owner: ScopedMemory, *kinds: EventKind) -> list[Event]:
    """All events of an owner, whatever is visible of them."""
    return owner._runtime.services.truth.read(owner.scope.owner, kinds=kinds)


def end_of(owner: ScopedMemory) -> int:
    """The last position of an owner's log."""
    return max(owner._runtime.services.truth.heads(owner.scope).values())


def wait_until(done: Callable[[], object]) -> None:
    """Until it is so; not for ever."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.002)


def until_there(verb: Callable[[], T]) -> T:
    """Its result; while the server is away, or after that not asked yet, it is called again. Not for ever."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return verb()
        except StoreUnavailableError:
            assert time.monotonic() < deadline, "it never came back"
            time.sleep(0.02)


def cpu_seconds(work: Callable[[str], object], text: str) -> float:
    """What the processor works for it in this thread, whatever else runs meanwhile; without collecting garbage."""
    gc.disable()
    start = time.thread_time()
    try:
        work(text)
        return time.thread_time() - start
    finally:
        gc.enable()


def assert_linear(work: Callable[[str], object], make: Callable[[int], str], size: int = 80_000) -> None:
    """A text of this size takes the processor less than 24 times as long as an eighth of it; quadratic work takes 64.

    Nothing counts the steps of a regular expression, so times are compared: the least of both in turn, which a busy
    machine reaches too, if not at once.

    Args:
        make: a text of about so many characters.
    """
    short, long = make(size // 8), make(size)
    least = [math.inf, math.inf]
    for _ in range(20):
        least = [min(least[0], cpu_seconds(work, short)), min(least[1], cpu_seconds(work, long))]
        if least[1] < 24 * max(least[0], 0.0025):
            return
    raise AssertionError(f"{len(long)} characters take {least[1]:.3f} s, {len(short)} take {least[0]:.3f} s")


class Deriving:
    """An extractor of facts, each given by words of its turn, subject, attribute and value, as a model derives them."""

    name = "deriving"

    def __init__(self, *told: tuple[str, str, str, str]) -> None:
        self._told = told

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        return [
            Claim(subject, name, value, attribute(name).category, turn.position)
            for turn in turns
            for words, subject, name, value in self._told
            if words in turn.message.text
        ]
