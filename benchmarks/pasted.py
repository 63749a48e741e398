"""Whether a question is found when a long text is pasted behind or before it, and how long that recall takes.

    python benchmarks/pasted.py --data PATH [--sets memorybank_en memorybank_zh] [--chars 400 100000]

Each question of a set is asked alone, before and behind 4,000 characters of a chat of other people. any@10 is the share
of questions with a turn of their evidence among ten hits, with the local embedder. ``--chars`` are values of
`QUESTION_CHARS`, how much of a question is embedded; 100,000 is all of it. Seconds are for one recall, in one process.
"""

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from benchmarks.sets import dialogue, load
from benchmarks.tables import parser
from hybrid_memory import HybridMemory, open_memory
from hybrid_memory.recall import gather

FOREIGN = {"en": "realtalk", "zh": "crosswoz_val"}
PASTED_CHARS = 4_000
K = 10


def main() -> None:
    """Print a row for each set, size and place of the question."""
    command = parser(__doc__, "--data")
    command.add_argument("--sets", nargs="+", default=["memorybank_en", "memorybank_zh"])
    command.add_argument("--chars", nargs="+", type=int, default=[gather.QUESTION_CHARS, 100_000])
    chosen = command.parse_args()
    print(f"{'set':16}{'chars':>8}  {'question':8}{'n':>4}{'any@10':>8}{'seconds':>9}")
    for name in chosen.sets:
        conversations = list(load(chosen.data, name))
        foreign = load(chosen.data, FOREIGN[conversations[0]["lang"]])
        pasted = "\n".join(turn["text"] for other in foreign for turn in other["turns"])[:PASTED_CHARS]
        for chars in chosen.chars:
            gather.QUESTION_CHARS = chars
            # A store for each: answers are cached.
            with open_memory("memory://") as memory:
                filled(memory, conversations)
                for place in ("alone", "before", "behind"):
                    hits, seconds = asked(memory, conversations, place, pasted)
                    share = sum(hits) / len(hits)
                    print(f"{name:16}{chars:8}  {place:8}{len(hits):4}{share:8.3f}{seconds:9.2f}", flush=True)


def filled(memory: HybridMemory, conversations: list[dict[str, Any]]) -> None:
    """Write every conversation as turns of an owner of its own, and index them."""
    for conversation in conversations:
        memory.scoped(user=conversation["conv"]).remember(dialogue(conversation["turns"]))
    memory.flush(progress=False)


def asked(
    memory: HybridMemory, conversations: list[dict[str, Any]], place: str, pasted: str
) -> tuple[list[bool], float]:
    """For each question whether its evidence was found, and the mean seconds of a recall."""
    hits, begun = [], time.perf_counter()
    for conversation in conversations:
        scoped = memory.scoped(user=conversation["conv"])
        for question in conversation["questions"]:
            if not question["evidence"]:
                continue
            words = question["question"]
            query = {"alone": words, "before": f"{words}\n\n{pasted}", "behind": f"{pasted}\n\n{words}"}[place]
            found = {source for hit in scoped.recall(query, k=K) for source in hit.record.sources}
            hits.append(not found.isdisjoint(question["evidence"]))
    return hits, (time.perf_counter() - begun) / len(hits)


if __name__ == "__main__":
    main()
