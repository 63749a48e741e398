"""A store that is copied from engine to engine is still the same store."""

from contextlib import ExitStack

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from tests.engines.conftest import Config
from tests.test_migrate import NOW, fill, seen

ENGINES = ["sqlite", "redis", "postgres", "memory+milvus", "memory"]


@pytest.fixture(params=ENGINES)
def journey(request: pytest.FixtureRequest) -> list[str]:
    """From one engine to each of the others, and back from the last."""
    first = ENGINES.index(request.param)
    return [*ENGINES[first:], *ENGINES[:first], request.param]


def opened(config: MemoryConfig, stack: ExitStack) -> HybridMemory:
    return stack.enter_context(open_memory(config, clock=lambda: NOW))


def test_a_copy_may_go_from_any_engine_to_any_other(journey: list[str], new_config: Config) -> None:
    with ExitStack() as stack:
        first, *others = [opened(new_config(engine, recall={"count_uses": False}), stack) for engine in journey]
        fill(first)
        expected, last, sums = seen(first), first, set()
        for memory in others:
            done = last.migrate(memory)
            sums.add((done.checksum, done.events, done.embedded))
            assert last.migrate(memory).embedded == 0
            last = memory
        assert len(sums) == 1
        assert seen(last) == expected
