"""Engines behind the ports, found by the scheme of a URL: SQLite with FAISS, in memory, Redis, Milvus, ClickHouse."""
