"""Milvus as L2: a server, or Milvus Lite inside the process.

`MilvusIndex` keeps an index in a handful of collections that share a prefix. Milvus has no transactions: see there what
a crash or a second writer may leave behind.
"""

from __future__ import annotations

from typing import Any, ClassVar

from hybrid_memory.engines.engine import Engine
from hybrid_memory.engines.milvus.index import MilvusIndex

__all__ = ["MilvusEngine", "MilvusIndex"]


class MilvusEngine(Engine):
    """``milvus://host``, or ``milvus:///folder.db`` in this process."""

    prefix: ClassVar[str] = "hybrid_memory"
    dash: ClassVar[str] = "_"

    def index(self) -> MilvusIndex:
        """The index on the server."""
        kind: Any = (self.options.algorithm or "ivf_flat").upper()
        return MilvusIndex(self.url, index_type=kind, nlist=self.options.nlist)
