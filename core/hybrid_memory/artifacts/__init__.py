"""The artifact ledger: what a working agent did, read from its messages without a model."""

from __future__ import annotations

from hybrid_memory.artifacts.files import merge
from hybrid_memory.artifacts.ledger import render
from hybrid_memory.artifacts.reading import changed_since, read_ledger, read_on

__all__ = ["changed_since", "merge", "read_ledger", "read_on", "render"]
