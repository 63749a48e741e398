"""What a team with Postgres writes in an afternoon: one table, pgvector beside tsvector, fused by reciprocal ranks."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from psycopg import connect

from benchmarks.peers.systems import Embedder, Turn

TABLE = """
DROP TABLE IF EXISTS turns;
CREATE TABLE turns (
    owner text NOT NULL, turn text NOT NULL, said text NOT NULL, near vector({dim}) NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', said)) STORED, PRIMARY KEY (owner, turn)
);
CREATE INDEX ON turns USING gin (words)
"""
SEARCH = """
WITH asked AS (SELECT replace(plainto_tsquery('english', %(query)s)::text, '&', '|')::tsquery AS words),
near AS (
    SELECT turn, row_number() OVER (ORDER BY near <=> %(near)s) AS place FROM turns
    WHERE owner = %(owner)s ORDER BY near <=> %(near)s LIMIT 50
),
worded AS (
    SELECT turn, row_number() OVER (ORDER BY ts_rank_cd(turns.words, asked.words) DESC) AS place FROM turns, asked
    WHERE owner = %(owner)s AND turns.words @@ asked.words ORDER BY place LIMIT 50
)
SELECT turn FROM near FULL JOIN worded USING (turn)
ORDER BY coalesce(1.0 / (60 + near.place), 0) + coalesce(1.0 / (60 + worded.place), 0) DESC LIMIT %(k)s
"""


class SqlTable:
    """A row for each turn; a question compares all vectors of its owner, or asks an HNSW index.

    Args:
        hnsw: make the index when all is stored, and have it look on until it has enough rows of the owner.
    """

    owner = "u"

    def __init__(self, embedder: Embedder, _folder: Path, *, url: str, hnsw: bool = False) -> None:
        self._embedder, self._hnsw = embedder, hnsw
        self._connection = connect(url, autocommit=True)
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        importlib.import_module("pgvector.psycopg").register_vector(self._connection)
        for statement in TABLE.format(dim=embedder.dim).split(";"):
            self._connection.execute(statement)
        if hnsw:
            self._connection.execute("SET hnsw.iterative_scan = strict_order")

    def add(self, turns: Sequence[Turn]) -> None:
        """Insert them in one transaction."""
        rows = zip(turns, self._embedder.embed_documents([turn.text for turn in turns]), strict=True)
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO turns (owner, turn, said, near) VALUES (%s, %s, %s, %s)",
                [(turn.owner, turn.id, turn.text, vector) for turn, vector in rows],
            )

    def finish(self) -> None:
        """Make the index, if it is to have one."""
        if self._hnsw:
            self._connection.execute("CREATE INDEX ON turns USING hnsw (near vector_cosine_ops)")
        self._connection.execute("ANALYZE turns")

    def search(self, query: str, k: int) -> list[str]:
        """The statement's answer."""
        asked = {"query": query, "near": self._embedder.embed_query(query), "owner": self.owner, "k": k}
        return [turn for (turn,) in self._connection.execute(SEARCH, asked)]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
