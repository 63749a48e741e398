"""Engines behind the ports, chosen by the scheme of a URL: SQLite, Postgres, Redis, Milvus, ClickHouse, in memory."""
