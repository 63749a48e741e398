"""Work that waits for a pause."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from hybrid_memory.compute.debounce import Debounced


class Jobs:
    """What was done, and a way to wait for it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.happened = threading.Condition()

    def __call__(self, key: str) -> None:
        with self.happened:
            self.done.append(key)
            self.happened.notify_all()
        if key == "broken":
            raise ValueError("no luck")

    def wait_for(self, count: int) -> list[str]:
        with self.happened:
            assert self.happened.wait_for(lambda: len(self.done) >= count, timeout=20), self.done
            return list(self.done)


def test_what_is_asked_for_often_is_done_once_after_the_pause() -> None:
    jobs = Jobs()
    debounced = Debounced(jobs, delay=0.2)
    for _ in range(50):
        debounced.ask("alice")
    assert jobs.done == []
    assert jobs.wait_for(1) == ["alice"]
    debounced.ask("alice")
    assert jobs.wait_for(2) == ["alice", "alice"]
    time.sleep(0.3)
    assert jobs.done == ["alice", "alice"]
    debounced.close()


def test_each_key_has_a_pause_of_its_own() -> None:
    jobs = Jobs()
    debounced = Debounced(jobs, delay=0.05)
    for name in ("alice", "bob", "alice"):
        debounced.ask(name)
    assert sorted(jobs.wait_for(2)) == ["alice", "bob"]
    debounced.close()


def test_a_failure_is_told_and_the_next_job_done(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs()
    debounced = Debounced(jobs, delay=0)
    with caplog.at_level(logging.WARNING):
        debounced.ask("broken")
        jobs.wait_for(1)
        debounced.ask("alice")
        assert jobs.wait_for(2) == ["broken", "alice"]
    assert "no luck" in caplog.text
    debounced.close()


def test_closing_waits_for_the_running_job_and_drops_the_others() -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()
    before = set(threading.enumerate())

    def job(_: str) -> None:
        started.set()
        release.wait(20)
        ended.set()

    debounced = Debounced(job, delay=0)
    debounced.ask("alice")
    assert started.wait(20)
    debounced.ask("bob")
    threading.Timer(0.1, release.set).start()
    debounced.close()
    assert ended.is_set()
    debounced.ask("carol")
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name == "hybrid-memory-learning"]
