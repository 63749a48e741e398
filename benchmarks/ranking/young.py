"""How many questions a prompt answers from memory while the memory is young, and what else it lets through.

    python benchmarks/ranking/young.py --data PATH [--cache PATH]

For each question a store is filled with so many turns: its evidence and what stands around it. It is asked the question
itself, two questions of other conversations, and four requests to which no memory belongs, for all of them by
`recall`. Shown is the share with a hit of a confidence of 0.2, with and without
`hybrid_memory.recall.recall.SMALLER`; 0 is what was learned from large stores, as it stands.
"""

import random
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.ranking.certainty import LEAST
from benchmarks.ranking.conversations import OWN, conversations
from benchmarks.sets import Clock, counted, messages, undisturbed, when
from benchmarks.tables import parser
from benchmarks.vectors import KeptVectors
from hybrid_memory.recall import recall as confidence

SETS = (*OWN, "memorybank_en", "memorybank_zh", "locomo")
TURNS = (6, 15, 30, 60)
VALUES = (0.0, confidence.SMALLER)
QUESTIONS = 40
FOREIGN = 2
REQUESTS = {
    "en": (
        "Write a Python function that reverses a linked list.",
        "What is the capital of Australia?",
        "Give me a recipe for banana bread.",
        "Draft a polite email declining a meeting.",
    ),
    "zh": (
        "用Python写一个快速排序。", "澳大利亚的首都是哪里？", "红烧肉怎么做？", "帮我写一封婉拒会议的邮件。",
    ),
}  # fmt: skip
KINDS = ("own", "foreign", "request")


def main() -> None:
    """Print a row for each set, size and value."""
    chosen = parser(__doc__, "--data", "--cache").parse_args()
    embedder = KeptVectors(chosen.cache)
    print(f"{'set':16}{'turns':>6}{'smaller':>9}{'n':>5}" + "".join(f"{kind:>9}" for kind in KINDS))
    for name in SETS:
        for turns in TURNS:
            for smaller, (count, shares) in measured(chosen.data, name, turns, embedder).items():
                row = "".join(f"{shares[kind]:9.2f}" for kind in KINDS)
                print(f"{name:16}{turns:6}{smaller:9.2f}{count:5}{row}", flush=True)
        embedder.save()


def measured(data: Path, name: str, turns: int, embedder: KeptVectors) -> dict[float, tuple[int, dict[str, float]]]:
    """For each value, how many questions there were, and the share of each kind that gets memories."""
    chance = random.Random(0)  # noqa: S311 - no secret
    asked = [
        (one, question)
        for one in conversations(data, name)
        for question in one["questions"]
        if question.get("evidence") and not question.get("bad") and counted(question)
    ]
    chance.shuffle(asked)
    asked = asked[:QUESTIONS]
    passed: dict[float, dict[str, list[bool]]] = {value: {kind: [] for kind in KINDS} for value in VALUES}
    for one, question in asked:
        young = around(one["turns"], question["evidence"], turns)
        if young is None:
            continue
        others = [other for stranger, other in asked if stranger["conv"] != one["conv"]]
        language = one.get("lang") or ("zh" if name.endswith("zh") else "en")
        put = [("own", question["question"])]
        put += [("foreign", other["question"]) for other in chance.sample(others, min(FOREIGN, len(others)))]
        put += [("request", request) for request in REQUESTS[language]]
        at = when(question.get("time"))
        for value in VALUES:
            confidence.SMALLER = value
            for (kind, _), hit in zip(put, passing(young, [words for _, words in put], at, embedder), strict=True):
                passed[value][kind].append(hit)
    return {
        value: (len(kinds["own"]), {kind: float(np.mean(share)) for kind, share in kinds.items()})
        for value, kinds in passed.items()
    }


def around(turns: list[dict[str, Any]], evidence: list[str], size: int) -> list[dict[str, Any]] | None:
    """The evidence and the turns nearest to it, in order; None if more than a third would be evidence."""
    said = [turn for turn in turns if turn["text"].strip()]
    place = {str(turn["id"]): row for row, turn in enumerate(said)}
    rows = [place[str(one)] for one in evidence if str(one) in place]
    if not rows or len(rows) > max(1, size // 3):
        return None
    nearest = sorted(range(len(said)), key=lambda row: min(abs(row - one) for one in rows))
    return [said[row] for row in sorted(nearest[:size])]


def passing(turns: list[dict[str, Any]], asked: list[str], at: datetime | None, embedder: KeptVectors) -> list[bool]:
    """For each text whether recall finds something that a prompt would show."""
    clock = Clock()
    clock.now = at or clock.now
    with undisturbed(embedder=embedder, clock=clock) as memory:
        for session, said in messages(turns):
            memory.scoped(user="u", session=session).remember(said)
        memory.flush(progress=False)
        scoped = memory.scoped(user="u")
        return [any((hit.confidence or 0.0) >= LEAST for hit in scoped.recall(words, k=10)) for words in asked]


if __name__ == "__main__":
    main()
