"""What a reranker given as ``ranker=`` does to recall, on conversation sets with labelled evidence.

    python benchmarks/rerankers.py --data FOLDER --sets locomo memorybank_en memorybank_zh --json rerankers.json
    python benchmarks/rerankers.py --data FOLDER --rerankers llm --model Qwen2.5 --candidates 10 --questions 60

Every conversation goes into a store, and its questions are asked without a reranker and with each one: ``words`` is a
callable (BM25 over the candidates alone), ``embeddings`` LangChain's ``CrossEncoderReranker`` over the local embedder,
``llm`` LlamaIndex's ``LLMRerank`` over a GGUF file, and ``likelihood`` a callable that takes a turn for as good as a
small language model finds the question likely after it (Sachan et al. 2022; transformers, a folder in .models). The
last two need the environment of make test-full. With --questions so many are asked, evenly spread over the set.
Measures are those of `measures.py`; better and worse count the questions whose reciprocal rank rises and falls; ms is
the median of a whole recall.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

import numpy as np
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_core.cross_encoders import BaseCrossEncoder
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor import LLMRerank
from tqdm import tqdm

from benchmarks.compression.sets import CachedEmbedder, Table
from benchmarks.measures import counted
from benchmarks.retrieval import DEPTH, grade, load, messages, turns_found
from benchmarks.served import gguf, served
from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.config import LearningConfig, OrchestrationConfig, RecallConfig
from hybrid_memory.recall.signals import by_words

NONE = "none"
COLUMNS = ("reranker", "n", "hit@1", "mrr", "r@5", "r@10", "better", "worse", "failed", "ms")


class Alike(BaseCrossEncoder):
    """The local embedder, as LangChain wants a cross-encoder."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Inner products of query and text."""
        rows = self._embedder.embed_documents([text for _, text in text_pairs])
        return [float(number) for number in rows @ self._embedder.embed_query(text_pairs[0][0])]


class Told(CustomLLM):
    """A chat model of LangChain's, as LlamaIndex asks it."""

    model: Any

    @property
    def metadata(self) -> LLMMetadata:
        """A model that completes."""
        return LLMMetadata(context_window=4096, model_name="local")

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The answer to the prompt."""
        return CompletionResponse(text=self.model.invoke(prompt).content)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """The answer at once."""
        yield self.complete(prompt)


class Likelihood:
    """How likely a causal language model finds the question after the turn: mean log probability of its tokens."""

    def __init__(self, folder: Path) -> None:
        self._torch, transformers = import_module("torch"), import_module("transformers")
        self._torch.set_num_threads(1)
        self._tokens = transformers.AutoTokenizer.from_pretrained(folder)
        self._model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        self.name = f"likelihood/{folder.name}"

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """A mean for each text."""
        asked = self._tokens(f" {query}")["input_ids"]
        return [self._mean(self._tokens(f"{text[:600]}\nA question about this:")["input_ids"], asked) for text in texts]

    def _mean(self, said: list[int], asked: list[int]) -> float:
        with self._torch.inference_mode():
            logits = self._model(self._torch.tensor([said + asked])).logits[0, len(said) - 1 : -1]
            chances = self._torch.log_softmax(logits.float(), -1)
            return float(chances[range(len(asked)), asked].mean())


def made(name: str, options: argparse.Namespace, embedder: CachedEmbedder, stack: ExitStack) -> Any:
    """The reranker of this name."""
    if name == "words":
        words: Callable[[str, list[str]], Any] = by_words
        return words
    if name == "embeddings":
        return CrossEncoderReranker(model=Alike(embedder), top_n=options.candidates)
    if name == "likelihood":
        return Likelihood(options.folder)
    llm = Told(model=stack.enter_context(served(gguf(options.model))))
    return LLMRerank(llm=llm, top_n=options.candidates, choice_batch_size=options.candidates)


def chosen(conversations: Sequence[dict[str, Any]], number: int | None) -> dict[int, list[dict[str, Any]]]:
    """The questions that are asked, by conversation."""
    every = [(row, one) for row, told in enumerate(conversations) for one in told["questions"] if counted(one)]
    every = [(row, one) for row, one in every if one.get("evidence")]
    places = (
        range(len(every)) if number is None else np.linspace(0, len(every) - 1, min(number, len(every))).astype(int)
    )
    found = defaultdict(list)
    for place in places:
        found[every[place][0]].append(every[place][1])
    return found


def asked(
    url: str,
    rerankers: dict[str, Any],
    *,
    embedder: CachedEmbedder,
    conversation: dict[str, Any],
    questions: list[Any],
    n: int,
) -> dict[str, list[dict[str, float]]]:
    """The grades of each question, by reranker."""
    figures = {}
    config = MemoryConfig(
        url=url,
        recall=RecallConfig(rerank_candidates=n, count_uses=False),
        learning=LearningConfig(background=False),
        orchestration=OrchestrationConfig(model_timeout=timedelta(minutes=10), background=False),
    )
    for name, reranker in rerankers.items():
        with open_memory(config, embedder=embedder, ranker=reranker) as memory:
            if name == NONE:
                for session, said in messages(conversation["turns"]):
                    memory.scoped(user="user", session=session).remember(said)
                memory.flush(progress=False)
            everything, grades = memory.scoped(user="user"), []
            for question in questions:
                started = time.perf_counter()
                found = turns_found(everything, question["question"], DEPTH, None)
                spent = time.perf_counter() - started
                failed = any("not reranked" in hit.note for hit in everything.recall(question["question"], k=DEPTH))
                grades.append(grade(found, set(question["evidence"])) | {"ms": spent * 1e3, "failed": float(failed)})
            figures[name] = grades
    return figures


def row(name: str, grades: list[dict[str, float]], before: list[dict[str, float]]) -> dict[str, Any]:
    """A line of the table."""
    pairs = [(one["mrr"], other["mrr"]) for one, other in zip(grades, before, strict=True)]
    return {
        "reranker": name,
        "n": len(grades),
        **{key: statistics.fmean(one[key] for one in grades) for key in ("hit@1", "mrr", "r@5", "r@10")},
        "better": sum(one > other for one, other in pairs),
        "worse": sum(one < other for one, other in pairs),
        "failed": int(sum(one["failed"] for one in grades)),
        "ms": f"{statistics.median(one['ms'] for one in grades):,.0f}",
    }


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversation sets (*.jsonl.gz)")
    parser.add_argument("--sets", nargs="+", default=["locomo", "memorybank_en", "memorybank_zh"])
    parser.add_argument("--rerankers", nargs="+", default=["words", "embeddings"])
    parser.add_argument("--questions", type=int, help="of each set")
    parser.add_argument("--candidates", type=int, default=RecallConfig().rerank_candidates)
    parser.add_argument("--model", help="a GGUF file, or the beginning of its name in .models")
    parser.add_argument("--folder", type=Path, help="of a causal model, as transformers reads it")
    parser.add_argument("--cache", type=Path, help="keep the vectors here, and use those that are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedder = CachedEmbedder(options.cache or temporary)
        rerankers = {NONE: None} | {name: made(name, options, embedder, stack) for name in options.rerankers}
        for name in options.sets:
            conversations = list(load(options.data / f"{name}.jsonl.gz", None))
            grades: dict[str, list[dict[str, float]]] = defaultdict(list)
            for number, questions in tqdm(chosen(conversations, options.questions).items(), desc=name, disable=None):
                url = f"sqlite:///{temporary / f'{name}-{number}.db'}"
                found = asked(
                    url,
                    rerankers,
                    embedder=embedder,
                    conversation=conversations[number],
                    questions=questions,
                    n=options.candidates,
                )
                for reranker, those in found.items():
                    grades[reranker] += those
                embedder.save()
            table = Table(f"{name}, the best {options.candidates} reranked", COLUMNS)
            table.rows = [row(reranker, those, grades[NONE]) for reranker, those in grades.items()]
            table.show()
            results[name] = {"rows": table.rows, "questions": grades}
    if options.json:
        options.json.write_text(json.dumps({"candidates": options.candidates, "results": results}, indent=1))


if __name__ == "__main__":
    main()
