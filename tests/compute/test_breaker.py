from __future__ import annotations

from hybrid_memory.errors import StoreUnavailableError
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


def test_only_a_slow_failure_that_is_no_answer_opens_it() -> None:
    clock = Clock()
    breaker = Breaker("it", clock=clock)
    probes: list[float] = []

    def failing(seconds: float, *, answered: bool = False) -> str:
        def run() -> None:
            clock.now += seconds
            raise OSError("failed")

        try:
            breaker.call(
                run,
                probe=lambda: probes.append(clock.now),
                answered=lambda _: answered,
            )
        except (OSError, StoreUnavailableError) as error:
            return str(error)
        return ""

    assert [failing(0.1), failing(9, answered=True), failing(9)] == ["failed"] * 3
    assert failing(9) == "it is not asked, as it did not answer lately: failed"
    clock.now += 1
    assert failing(0.1) == "failed"
    assert len(probes) == 1
    assert failing(0.1) == "failed", "an error that comes at once closes it"
    assert len(probes) == 1
