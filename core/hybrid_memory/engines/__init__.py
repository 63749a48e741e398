"""Engines behind the ports, chosen by the scheme of a URL: SQLite, in memory, Redis, Milvus, ClickHouse."""
