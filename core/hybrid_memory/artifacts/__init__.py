"""The artifact ledger: what a working agent did, read from its calls and their results without a model."""

from __future__ import annotations

from hybrid_memory.artifacts.ledger import render
from hybrid_memory.artifacts.reading import read_ledger

__all__ = ["read_ledger", "render"]
