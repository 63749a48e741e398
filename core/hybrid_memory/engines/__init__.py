"""Engines behind the ports, chosen by the scheme of a URL: SQLite with FAISS, in memory, Redis, Milvus, ClickHouse."""
