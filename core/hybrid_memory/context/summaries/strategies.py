"""All strategies by name."""

from __future__ import annotations

from hybrid_memory.context.summaries.alternatives import Compact, Importance, Merging, Recursive, Shortened, Window
from hybrid_memory.context.summaries.anchored import Anchored, Regenerate
from hybrid_memory.context.summaries.strategy import Strategy

STRATEGIES: dict[str, Strategy] = {
    made.name: made
    for made in (
        Anchored(), Regenerate(), Compact(), Recursive(), Window(), Merging(), Importance(), Shortened()
    )
}  # fmt: skip
"""A test asserts that these are the names of `hybrid_memory.config.StrategyName`."""
