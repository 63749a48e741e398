"""Tasks from an event loop: awaited, cancelled, and never blocking it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from blockbuster import blockbuster_ctx

from hybrid_memory.errors import MemoryClosedError, ModelError, QueueFullError
from hybrid_memory.runtime.tasks import Task

if TYPE_CHECKING:
    from tests.compute.conftest import Holding, Make


@pytest.fixture(autouse=True)
def unblocked() -> Iterator[None]:
    """Fails a test whose event loop is blocked."""
    with blockbuster_ctx() as blockbuster:
        # Coverage guards its own data, wherever the measured code runs.
        blockbuster.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
        # The fixtures wait for threads while no loop has anything to do.
        blockbuster.functions["threading.Lock.acquire"].can_block_in("tests/compute/conftest.py", "__init__")
        yield


async def test_a_future_can_be_awaited_more_than_once_and_gives_the_error_itself(make: Make) -> None:
    scheduler, error = make(), ModelError("told")

    def fail() -> None:
        raise error

    job = scheduler.schedule(Task(lambda: 42, "recall", 8))
    assert [await job, await job] == [42, 42]
    with pytest.raises(ModelError) as raised:
        await scheduler.schedule(Task(fail, "recall", 8))
    assert raised.value is error


async def test_hundreds_are_awaited_side_by_side(make: Make) -> None:
    scheduler = make()
    jobs = [scheduler.schedule(Task(partial(int, number), "recall", 8)) for number in range(300)]
    assert await asyncio.gather(*jobs) == list(range(300))


async def test_cancelling_the_awaiting_task_cancels_what_has_not_begun(make: Make, hold: Holding) -> None:
    scheduler, done = make(workers=1), list[int]()
    held = await asyncio.to_thread(hold, scheduler)
    job = scheduler.schedule(Task(lambda: done.append(1), "recall"))

    async def wait() -> None:
        await job

    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    assert job.cancelled()
    held.release()
    await scheduler.schedule(Task(int, "recall"))
    assert done == []


async def test_what_has_begun_goes_on_though_nobody_awaits_it_any_more(make: Make, hold: Holding) -> None:
    scheduler = make(workers=1)
    held = await asyncio.to_thread(hold, scheduler)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(held.jobs[0], timeout=0.01)
    held.release()
    assert await scheduler.schedule(Task(lambda: "next", "recall")) == "next"
    assert not held.jobs[0].cancelled()


async def test_room_is_awaited_without_blocking_the_loop(make: Make, hold: Holding) -> None:
    scheduler = make(workers=1, capacity=1)
    held = await asyncio.to_thread(hold, scheduler)
    queued = scheduler.schedule(Task(lambda: "first", "recall"))
    for timeout in (0, 0.01):
        with pytest.raises(QueueFullError):
            await scheduler.aschedule(Task(int, "recall"), timeout=timeout)
    entering = [asyncio.ensure_future(scheduler.aschedule(Task(partial(int, number), "recall"))) for number in range(3)]
    await asyncio.sleep(0.01)
    entering[1].cancel()
    await asyncio.sleep(0)
    held.release()
    assert await queued == "first"
    assert await (await entering[0]) == 0
    assert await (await entering[2]) == 2
    assert entering[1].cancelled()
    stats = scheduler.statistics.snapshot().kinds["recall"]
    assert (stats.done, stats.cancelled, stats.queued) == (3, 3, 0)


async def test_with_room_it_does_not_wait(make: Make) -> None:
    job = await make().aschedule(Task(threading.get_ident, "recall"))
    assert await job != threading.get_ident()


async def test_closing_ends_the_wait_for_room(make: Make, hold: Holding) -> None:
    scheduler = make(workers=1, capacity=1)
    await asyncio.to_thread(hold, scheduler)
    scheduler.schedule(Task(int, "recall"))
    entering = asyncio.ensure_future(scheduler.aschedule(Task(int, "recall")))
    await asyncio.sleep(0)
    scheduler.close(wait=False)
    with pytest.raises(MemoryClosedError):
        await entering
