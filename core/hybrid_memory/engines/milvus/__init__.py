"""Milvus as L2: a server, or Milvus Lite in this process."""

from __future__ import annotations

from hybrid_memory.engines.milvus.index import MilvusIndex
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.store.engine import Engine

__all__ = ["MilvusEngine", "MilvusIndex"]


class MilvusEngine(Engine):
    """``milvus://host:19530``, or ``milvus:///folder.db`` for Milvus Lite."""

    def index(self) -> SemanticIndex:
        settings = self.config.index
        return MilvusIndex(
            self.url,
            index_type=(settings.algorithm or "ivf_flat").upper(),
            nlist=settings.nlist,
            engine_timeout=self.config.orchestration.engine_timeout.total_seconds(),
        )
