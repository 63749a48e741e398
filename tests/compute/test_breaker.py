from __future__ import annotations

from hybrid_memory.runtime.breaker import Admission, Breaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_calls_are_refused_after_a_failure_but_for_a_probe_at_growing_pauses() -> None:
    clock = Clock()
    breaker = Breaker(pause=1, longest=4, clock=clock)
    assert breaker.admit() is Admission.YES
    breaker.failed(OSError("first"))
    pauses = []
    for _ in range(4):
        began = clock.now
        while breaker.admit() is Admission.NO:
            clock.now += 0.5
        pauses.append(clock.now - began)
        assert breaker.admit() is Admission.NO  # one probe
        breaker.failed(OSError("again"))
    assert pauses == [1, 2, 4, 4]
    assert str(breaker.failure) == "again"
    clock.now += 4
    assert breaker.admit() is Admission.PROBE
    breaker.succeeded()
    assert breaker.admit() is Admission.YES
    assert breaker.failure is None


def test_failures_of_calls_that_were_under_way_make_no_pause_longer() -> None:
    clock = Clock()
    breaker = Breaker(failures=2, pause=1, clock=clock)
    breaker.failed(OSError())
    assert breaker.admit() is Admission.YES
    for _ in range(20):
        breaker.failed(OSError())
    clock.now = 1.0
    assert breaker.admit() is Admission.PROBE


def test_a_probe_that_never_tells_is_made_again() -> None:
    clock = Clock()
    breaker = Breaker(pause=1, longest=8, clock=clock)
    breaker.failed(OSError())
    clock.now = 1.0
    assert breaker.admit() is Admission.PROBE
    clock.now = 8.5
    assert breaker.admit() is Admission.NO
    clock.now = 9.0
    assert breaker.admit() is Admission.PROBE
