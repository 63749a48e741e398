"""The artifact ledger: what a working agent did, read from its messages without a model."""

from __future__ import annotations

from hybrid_memory.artifacts.merging import merge
from hybrid_memory.artifacts.progress import changed_since, read_on
from hybrid_memory.artifacts.reading import read_ledger
from hybrid_memory.artifacts.rendering import render

__all__ = ["changed_since", "merge", "read_ledger", "read_on", "render"]
