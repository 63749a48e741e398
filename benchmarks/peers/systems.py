"""What every memory is asked to do, and which memories there are."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from hybrid_memory.ports import Floats

Work = Literal["hybrid", "vector", "text"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said; ``id`` is an opaque number."""

    id: str
    speaker: str
    said: str
    role: str = "user"
    session: str = "s"
    at: datetime | None = None
    owner: str = "u"

    @property
    def text(self) -> str:
        """What a memory that knows texts only is given."""
        return f"{self.speaker}: {self.said}"


class Embedder(Protocol):
    """Unit rows for texts, a unit vector for a query."""

    name: str
    dim: int

    def embed_documents(self, texts: Sequence[str]) -> Floats: ...  # noqa: D102

    def embed_query(self, text: str) -> Floats: ...  # noqa: D102


class System(Protocol):
    """A memory under test; one that keeps owners apart searches those of its attribute ``owner``."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Store them; the next search finds them."""

    def search(self, query: str, k: int) -> list[str]:
        """The ids of the turns that answer the query best, at most k, best first."""

    def close(self) -> None:
        """Let go of files and threads."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory of the list.

    Attributes:
        work: what a search looks at.
        group: of packages that it needs, see `environment.GROUPS`.
        note: what a reader must know to read its rows.
        server: that it runs on, see `servers.serving`.
        owners: whether it keeps owners apart.
        most: turns that it is measured with.
    """

    name: str
    work: Work
    group: str
    factory: str
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    server: str = ""
    owners: bool = False
    most: int | None = None

    @property
    def ours(self) -> bool:
        """Whether it is this library."""
        return self.factory == "own:Own"

    def open(self, embedder: Embedder, folder: Path, url: str | None = None) -> System:
        """An empty store in an empty folder, or on the server under the URL."""
        module, _, name = self.factory.partition(":")
        where = {} if url is None else {"url": url}
        made: System = getattr(importlib.import_module(f"benchmarks.peers.{module}"), name)(
            embedder, folder, **where, **self.options
        )
        return made


OURS: dict[Work, str] = {"hybrid": "ours", "vector": "ours, vectors alone", "text": "ours, words alone"}
"""Our row for each kind of work."""

SERVERS = {"postgres": "Postgres", "redis": "Redis", "milvus": "SQLite with Milvus"}
"""Where ours runs beside a file."""

FEW = 100_000
"""Turns that Milvus Lite, which reads all rows in Python, is measured with."""


def _on(server: str) -> Entry:
    """Ours on a server."""
    most = FEW if server == "milvus" else None
    return Entry(f"ours on {SERVERS[server]}", "hybrid", "library", "own:Own", server=server, owners=True, most=most)


SYSTEMS = (
    Entry(OURS["hybrid"], "hybrid", "library", "own:Own", owners=True),
    Entry(OURS["vector"], "vector", "library", "own:Own", {"only": "vector"}, owners=True),
    Entry(OURS["text"], "text", "library", "own:Own", {"only": "text"}, owners=True),
    _on("postgres"),
    _on("redis"),
    _on("milvus"),
    Entry(
        "one table of SQL (pgvector+tsvector, RRF)", "hybrid", "library", "sql_table:SqlTable",
        server="postgres", owners=True, note="all vectors of an owner are compared",
    ),
    Entry(
        "one table of SQL (HNSW+tsvector, RRF)", "hybrid", "library", "sql_table:SqlTable", {"hnsw": True},
        server="postgres", owners=True, note="the index made when all is stored",
    ),
    Entry(
        "LangChain PGVectorStore (HNSW)", "vector", "pgvector", "pgvector_store:Pgvector",
        server="postgres", owners=True, note="the index made when all is stored, its defaults: not exact",
    ),
    Entry(
        "LangChain PGVectorStore (hybrid, HNSW)", "hybrid", "pgvector", "pgvector_store:Pgvector", {"words": True},
        server="postgres", owners=True, note="tsvector and vectors, fused by reciprocal ranks",
    ),
    Entry(
        "mem0 (pgvector, HNSW)", "vector", "mem0", "mem0_store:OnPgvector", server="postgres",
        owners=True, note="infer=False; as installed offline",
    ),
    Entry("LangChain InMemoryVectorStore", "vector", "langchain", "langchain_stores:InMemory"),
    Entry("LangChain FAISS", "vector", "langchain", "langchain_stores:Faiss"),
    Entry("LangChain Ensemble (BM25+FAISS)", "hybrid", "langchain", "langchain_stores:Ensemble"),
    Entry("LlamaIndex QueryFusion (BM25+vector)", "hybrid", "llamaindex", "llamaindex_stores:Fusion"),
    Entry("mem0 (dense)", "vector", "mem0", "mem0_store:Mem0", note="infer=False; as installed offline"),
    Entry(
        "mem0 (dense+BM25)", "hybrid", "mem0", "mem0_store:Mem0", {"words": True},
        note="infer=False; its BM25 with a list of stop words of ours, as it would fetch its own",
    ),
    Entry("Chroma", "vector", "chroma", "chroma_store:Chroma", owners=True, note="HNSW: not exact"),
    Entry("LanceDB (FTS+vector, RRF)", "hybrid", "lancedb", "lancedb_store:Lance", owners=True),
    Entry("bm25s (stemmer, CJK bigrams)", "text", "bm25s", "lexical:Words"),
)  # fmt: skip


def chosen(words: Sequence[str]) -> list[Entry]:
    """The memories with one of the words in their name; all of them without words. Ours in a file is always there."""
    return [
        entry
        for entry in SYSTEMS
        if not words or entry.name in OURS.values() or any(word.lower() in entry.name.lower() for word in words)
    ]
