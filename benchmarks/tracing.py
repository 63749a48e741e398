"""What traces cost: operations without the hooks for them, with the hooks and nobody listening, and with spans.

    python benchmarks/tracing.py --rounds 400

The three take turns within a round, each with a question of its own, so that no answer comes from a cache; what they
differ by is taken within a round, before the median. Measured is the processor time of the thread, which does not count
what else the machine does. Spans go through the SDK's batch processor to an exporter that keeps none. The embedder is
the hashing one: the cheaper the work, the more an overhead shows. Without the hooks means that each traced function is
replaced by the one that it wraps.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from types import FunctionType
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, observe, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.runtime import tracing

WAYS = ("without the hooks", "off", "on")


class Dropping(SpanExporter):
    """Takes spans and keeps none."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep nothing."""
        return SpanExportResult.SUCCESS


def hooks() -> list[tuple[Any, str, Any]]:
    """Every traced function by the module or class that holds it, and its name there."""
    modules = [module for name, module in sys.modules.items() if name.startswith("hybrid_memory")]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    return [
        (home, name, value)
        for home in (*modules, *classes)
        for name, value in list(vars(home).items())
        if isinstance(value, FunctionType)
        and value.__code__.co_filename == tracing.__file__
        and value.__code__.co_name == "begun"
    ]


@contextmanager
def unhooked(found: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Within it, nothing is asked whether anybody listens."""
    for home, name, value in found:
        setattr(home, name, value.__wrapped__)
    try:
        yield
    finally:
        for home, name, value in found:
            setattr(home, name, value)


def filled(turns: int) -> HybridMemory:
    """A memory of one user with so many turns."""
    work = OrchestrationConfig(background=False)
    memory = open_memory(MemoryConfig(url="memory://", embedder="hashing", orchestration=work))
    said = [f"In week {row} I walked to town {row % 101} and ate dish {row % 53}." for row in range(turns)]
    memory.scoped(user="ann", session="before").remember(said)
    memory.flush()
    return memory


def measured(rounds: int, turns: int, operation: Callable[[ScopedMemory, str], object]) -> list[list[float]]:
    """Seconds of each round, in the order of `WAYS`."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Dropping()))
    found, rows = hooks(), list[list[float]]()
    with filled(turns) as memory:
        memory.scoped(user="ann").recall("warm")
        observe(memory, tracer_provider=provider)
        tracers = memory._runtime.services.tracers  # noqa: SLF001 - switched on and off
        (tracer,) = tracers
        for row in range(rounds):
            seconds = [0.0] * len(WAYS)
            for way in sorted(range(len(WAYS)), key=lambda way: (way + row) % len(WAYS)):
                tracers[:] = [tracer] if WAYS[way] == "on" else []
                scoped = memory.scoped(user="ann", session=f"{row}-{way}")
                query = f"What did I eat in town {row}-{way}?"
                with unhooked(found if way == 0 else ()):
                    begun = time.thread_time()
                    operation(scoped, query)
                    seconds[way] = time.thread_time() - begun
            rows.append(seconds)
    provider.shutdown()
    return rows[rounds // 10 :]


OPERATIONS: dict[str, Callable[[ScopedMemory, str], object]] = {
    "recall": lambda scoped, query: scoped.recall(query),
    "assemble": lambda scoped, query: scoped.assemble(query, max_tokens=4000),
}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--turns", type=int, default=100)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    print(f"| operation | {' | '.join(f'{way}, µs' for way in WAYS)} | off adds, µs | on adds, µs |")
    print("|---|---|---|---|---|---|")
    for name, operation in OPERATIONS.items():
        _row(name, measured(options.rounds, options.turns, operation))


def _row(name: str, rounds: Sequence[Sequence[float]]) -> None:
    """Print the medians, and those of the differences within a round."""
    figures = [median(row[way] for row in rounds) for way in range(len(WAYS))]
    figures += [median(row[way] - row[0] for row in rounds) for way in (1, 2)]
    print(f"| {name} | {' | '.join(f'{1e6 * figure:,.0f}' for figure in figures)} |")


if __name__ == "__main__":
    main()
