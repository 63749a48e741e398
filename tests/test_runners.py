import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, get_type_hints

import pytest

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.runtime.runners import InlineRunner, LoopRunner, Runner, drive, two_faces
from tests.doubles import PATIENCE, texts
from tests.faces import Child

CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")

Flow = Callable[[Runner], Coroutine[Any, Any, Any]]
Run = Callable[[Flow], Any]


class Port:
    """Has an async twin for one of its methods."""

    def plain(self, value: int) -> tuple[str, int, bool]:
        return "plain", value, threading.current_thread() is threading.main_thread()

    def twinned(self, value: int) -> tuple[str, int]:
        return "blocking", value

    async def atwinned(self, value: int) -> tuple[str, int]:
        await asyncio.sleep(0)
        return "twin", value

    def half(self) -> str:
        return "blocking"

    def ahalf(self) -> str:
        raise AssertionError("not a coroutine function, so no twin")


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=4) as executor:
        yield executor


@pytest.fixture(params=["inline", "loop"])
def run(request: pytest.FixtureRequest, executor: ThreadPoolExecutor) -> Run:
    """Runs a flow on each runner."""
    if request.param == "inline":
        return lambda flow: drive(flow(InlineRunner()))
    return lambda flow: asyncio.run(flow(LoopRunner(executor)))


def test_drive_refuses_a_flow_that_waits_and_closes_it() -> None:
    closed = []

    async def flow() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match="async twin"):
        drive(flow())
    assert closed == [True]


def test_inline_calls_stay_on_the_calling_thread_and_take_no_twin() -> None:
    async def flow(run: Runner) -> list[Any]:
        return [await run.call(Port().plain, 1), await run.call(Port().twinned, 2)]

    assert drive(flow(InlineRunner())) == [("plain", 1, True), ("blocking", 2)]


async def test_the_loop_awaits_a_twin_and_runs_the_rest_on_a_worker(executor: ThreadPoolExecutor) -> None:
    run = LoopRunner(executor)
    assert await run.call(Port().twinned, 2) == ("twin", 2)
    assert await run.call(Port().plain, value=1) == ("plain", 1, False)
    assert await run.call(Port().half) == "blocking"
    assert await run.call(len, "abc") == 3


def test_context_variables_reach_the_call(run: Run) -> None:
    async def flow(run: Runner) -> list[str]:
        CALLER.set("alice")
        return [await run.call(CALLER.get), *(await run.gather(lambda: run.call(CALLER.get)))]

    assert contextvars.copy_context().run(run, flow) == ["alice", "alice"]
    assert CALLER.get() == "nobody"


async def test_gather_on_the_loop_runs_side_by_side_and_keeps_the_order(executor: ThreadPoolExecutor) -> None:
    run, meeting, last = LoopRunner(executor), threading.Barrier(3, timeout=PATIENCE), threading.Event()

    def one(number: int) -> int:
        meeting.wait()
        if number == 2:
            last.set()
        last.wait(PATIENCE)
        return number

    assert await run.gather(*(partial(run.call, one, number) for number in range(3))) == [0, 1, 2]


class OwnError(Exception):
    """Raised by a port."""


def fail() -> None:
    raise OwnError("told")


@pytest.mark.parametrize(
    "flow",
    [
        lambda run: run.call(fail),
        lambda run: run.gather(lambda: run.call(fail)),
        lambda run: run.gather(lambda: run.call(int), lambda: run.call(fail), lambda: run.call(int)),
    ],
    ids=["call", "gather one", "gather several"],
)
def test_both_runners_raise_the_error_itself(run: Run, flow: Callable[[Runner], Awaitable[Any]]) -> None:
    async def whole(run: Runner) -> Any:
        return await flow(run)

    with pytest.raises(OwnError, match="told"):
        run(whole)


async def test_after_an_error_no_other_job_of_the_gather_goes_on(executor: ThreadPoolExecutor) -> None:
    run, go, reached = LoopRunner(executor), asyncio.Event(), []

    async def patient() -> None:
        await go.wait()
        reached.append("end")

    with pytest.raises(OwnError):
        await run.gather(patient, lambda: run.call(fail))
    go.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert reached == []


async def test_cancelling_a_flow_cancels_its_jobs(executor: ThreadPoolExecutor) -> None:
    run, begun, ended = LoopRunner(executor), asyncio.Semaphore(0), []

    async def patient() -> None:
        begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.ensure_future(run.gather(patient, patient))
    await begun.acquire()
    await begun.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True, True]


class Counter:
    """One verb."""

    async def _times(self, run: Runner, number: int, *, factor: int = 2) -> int:
        """The product."""
        return await run.call(lambda: number * factor)

    times, atimes = two_faces(_times, lambda _: InlineRunner())


async def test_both_faces_have_the_name_the_words_and_the_arguments_of_the_flow() -> None:
    assert (Counter().times(3), await Counter().atimes(3, factor=3)) == (6, 9)
    assert inspect.iscoroutinefunction(Counter.atimes)
    assert not inspect.iscoroutinefunction(Counter.times)
    assert (Counter.times.__name__, Counter.atimes.__qualname__) == ("times", "Counter.atimes")
    assert (Counter.times.__doc__, Counter.atimes.__doc__) == ("The product.", "Async twin of `times`.")
    shown = "(self, number: int, *, factor: int = 2) -> int"
    assert str(inspect.signature(Counter.times)) == str(inspect.signature(Counter.atimes)) == shown
    assert get_type_hints(Counter.times) == {"number": int, "factor": int, "return": int}


async def test_hundreds_of_calls_at_once_on_one_loop() -> None:
    async with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        users = [memory.scoped(user=f"user {number}") for number in range(100)]
        await asyncio.gather(*(user.aremember(f"the cat of {user.scope.user}") for user in users for _ in range(2)))
        found = await asyncio.gather(*(user.arecall("cat") for user in users))
        assert [texts(hits) for hits in found] == [[f"the cat of {u.scope.user}"] * 2 for u in users]
        assert (await memory.astats()).records == 200


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
async def test_closing_under_running_calls_fails_them_clearly(store: str, engine: str) -> None:
    url = store if engine == "sqlite" else "memory://"
    for answered in (0, 1, 5, 20):
        memory = open_memory(MemoryConfig(url=url, embedder="hashing"))
        alice = memory.scoped(user="alice")
        await alice.aremember([f"cat {number}" for number in range(50)])
        running = [asyncio.ensure_future(alice.arecall(f"cat {number}")) for number in range(40)]
        await asyncio.gather(*running[:answered])
        await memory.aclose()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            assert isinstance(outcome, list | MemoryClosedError), repr(outcome)


def test_closing_under_running_threads_fails_them_clearly(child: Child, store: str) -> None:
    urls = [store, "memory://"]
    done = child("close_under_threads.py", *urls)
    assert (done.returncode, done.stdout.splitlines()) == (0, [f"closed {url}" for url in urls]), done.stderr
