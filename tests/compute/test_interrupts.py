"""An interrupt, wherever it comes, wedges neither the scheduler nor the embedder."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from hybrid_memory.models.batching import BatchingEmbedder
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.tasks import Task
from tests.doubles import PATIENCE
from tests.interrupts import interrupted

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What is raised where a generator is closed is swallowed."""


def test_whoever_schedules_and_waits_may_be_interrupted() -> None:
    scheduler, kept = Scheduler(workers=2), list[object]()
    for error in interrupted(lambda: scheduler.schedule(Task(lambda: 1, "recall", priority=8)).result(5)):
        kept.append(error)
        jobs = [scheduler.schedule(Task(lambda: 2, "learning")) for _ in range(5)]
        assert [job.result(PATIENCE) for job in jobs] == [2] * 5
    assert len(kept) > 30
    scheduler.close()


def test_whoever_embeds_may_be_interrupted() -> None:
    kept, model = list[object](), HashingEmbedder()
    batching = BatchingEmbedder(model, concurrency=1)
    with ThreadPoolExecutor(1) as pool:
        embed: Callable[[], object] = lambda: batching.embed_documents(["one", "two"])  # noqa: E731
        for error in interrupted(embed):
            kept.append(error)
            assert pool.submit(batching.embed_query, "one").result(PATIENCE).shape == (model.dim,)
            assert pool.submit(batching.embed_documents, ["one", "two"]).result(PATIENCE).shape == (2, model.dim)
            assert not batching._running
            assert not batching._texts
    assert len(kept) > 20
