"""What a reranker given as ``ranker=`` does to recall, on conversation sets with labelled evidence.

    python benchmarks/rerankers.py --data FOLDER --json rerankers.json

Every conversation goes into a store, and its questions are asked without a reranker and with each one: ``words`` is a
callable (BM25 over the candidates alone), ``embeddings`` LangChain's ``CrossEncoderReranker`` over the local embedder.
Measures are those of `measures.py`; better and worse count the questions whose reciprocal rank rises and falls; ms is
the median of a whole recall.
"""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_core.cross_encoders import BaseCrossEncoder
from tqdm import tqdm

from benchmarks.measures import grade
from benchmarks.retrieval import DEPTH, turns_found
from benchmarks.sets import counted, load, messages, undisturbed
from benchmarks.tables import Table, parser, write
from benchmarks.vectors import KeptVectors
from hybrid_memory import RecallConfig
from hybrid_memory.recall.signals import by_words

NONE = "none"
CANDIDATES = RecallConfig().rerank_candidates
COLUMNS = ("reranker", "n", "hit@1", "mrr", "r@5", "r@10", "better", "worse", "ms")


class Alike(BaseCrossEncoder):
    """The local embedder, as LangChain wants a cross-encoder."""

    def __init__(self, embedder: KeptVectors) -> None:
        self._embedder = embedder

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Inner products of query and text."""
        rows = self._embedder.embed_documents([text for _, text in text_pairs])
        return [float(number) for number in rows @ self._embedder.embed_query(text_pairs[0][0])]


def asked(
    conversation: dict[str, Any], rerankers: Mapping[str, Any], embedder: KeptVectors
) -> dict[str, list[dict[str, float]]]:
    """The grades of each question, by reranker."""
    figures = {}
    questions = [one for one in conversation["questions"] if counted(one) and one.get("evidence")]
    with TemporaryDirectory() as folder:
        for name, reranker in rerankers.items():
            with undisturbed(url=f"sqlite:///{folder}/memory.db", embedder=embedder, ranker=reranker) as memory:
                if name == NONE:
                    for session, said in messages(conversation["turns"]):
                        memory.scoped(user="user", session=session).remember(said)
                    memory.flush(progress=False)
                everything, grades = memory.scoped(user="user"), []
                for question in questions:
                    started = time.perf_counter()
                    found = turns_found(everything, question["question"], DEPTH, None)
                    spent = time.perf_counter() - started
                    grades.append(grade(found, set(question["evidence"])) | {"ms": spent * 1e3})
                figures[name] = grades
    return figures


def row(name: str, grades: Sequence[dict[str, float]], before: Sequence[dict[str, float]]) -> dict[str, Any]:
    """A line of the table."""
    pairs = [(one["mrr"], other["mrr"]) for one, other in zip(grades, before, strict=True)]
    return {
        "reranker": name,
        "n": len(grades),
        **{key: statistics.fmean(one[key] for one in grades) for key in ("hit@1", "mrr", "r@5", "r@10")},
        "better": sum(one > other for one, other in pairs),
        "worse": sum(one < other for one, other in pairs),
        "ms": f"{statistics.median(one['ms'] for one in grades):,.0f}",
    }


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    command = parser(__doc__, "--data", "--limit", "--cache", "--json")
    command.add_argument("--sets", nargs="+", default=["locomo", "memorybank_en", "memorybank_zh"])
    options = command.parse_args()
    results, embedder = {}, KeptVectors(options.cache)
    alike = CrossEncoderReranker(model=Alike(embedder), top_n=CANDIDATES)
    rerankers = {NONE: None, "words": by_words, "embeddings": alike}
    for name in options.sets:
        grades: dict[str, list[dict[str, float]]] = defaultdict(list)
        for conversation in tqdm(list(load(options.data, name, options.limit)), desc=name, disable=None):
            for reranker, those in asked(conversation, rerankers, embedder).items():
                grades[reranker] += those
            embedder.save()
        table = Table(f"{name}, the best {CANDIDATES} reranked", COLUMNS)
        table.rows = [row(reranker, those, grades[NONE]) for reranker, those in grades.items()]
        table.show()
        results[name] = table.rows
    write(options.json, results)


if __name__ == "__main__":
    main()
