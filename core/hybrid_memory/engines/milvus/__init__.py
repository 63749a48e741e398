"""Milvus as L2: a server, or Milvus Lite inside the process.

`MilvusIndex` keeps an index in a handful of collections that share a prefix. Milvus has no transactions: see there what
a crash or a second writer may leave behind.
"""

from hybrid_memory.engines.milvus.index import MilvusIndex

__all__ = ["MilvusIndex"]
