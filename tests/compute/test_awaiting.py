"""Tasks from an event loop: awaited, cancelled, and never blocking it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from blockbuster import blockbuster_ctx

from hybrid_memory.errors import ModelError
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
