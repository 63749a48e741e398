"""Whether recall puts the newest value before the stale one, and what it would do without knowing which is which.

MemoryCode: a mentor gives rules for code and changes them in later sessions; a rule with two versions is asked for by
its wording without the literal. The turns that hold the quoted literal in the session that gave it are looked for.
LongMemEval: questions about something that was updated, by the older and the newer turn of their evidence. Where the
answer stands in the older one only, the question is about the past, and the older turn is to come first.

Counted are the cases in which `recall(k=5)` returns both, as turns or as facts read from them. *right first* is the
share of them in which the right one ranks higher; *alone* is how often recall returned only the right one, *stale* only
the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from benchmarks.compression.sets import CachedEmbedder, Table, load
from benchmarks.learning.sets import Options, by_session, share
from hybrid_memory import MemoryConfig, ScopedMemory, Weights, open_memory
from hybrid_memory_evaluation.probing.probe import holds

K = 5
MAX_TURNS = 250
"""Longer conversations of MemoryCode are left out: a store of one takes minutes."""

METHODS: dict[str, Weights | None] = {"as configured": None, "Weights(current=0.0)": Weights(current=0.0)}
_LITERAL = re.compile(r"'([^']+)'")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, with the turns that answer it rightly and those that did so at another time."""

    question: str
    right: frozenset[str]
    stale: frozenset[str]


def rules(one: dict[str, Any]) -> Iterator[Case]:
    """The last two versions of each rule that was updated."""
    if len(one["turns"]) > MAX_TURNS:
        return
    versions: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for fact in one["facts"]:
        versions[fact["rule"]].append(fact)
    for told in versions.values():
        if len(told) < 2:
            continue
        stale, right = (_turns(one, fact) for fact in told[-2:])
        if stale and right:
            what = " ".join(_LITERAL.sub("", told[-1]["fact"]).replace("always ", "").split())
            yield Case(f"What is the current rule: how do I {what}?", right, stale)


def _turns(one: dict[str, Any], fact: dict[str, Any]) -> frozenset[str]:
    """The turns of the session in which a rule was given that quote it."""
    literal = _LITERAL.search(fact["fact"])
    if literal is None:
        return frozenset()
    return frozenset(
        str(turn["id"])
        for turn in one["turns"]
        if turn["session"] in fact["ev_sessions"] and literal[1] in turn["text"]
    )


def updates(one: dict[str, Any]) -> Iterator[Case]:
    """The questions about something that was updated."""
    said = {str(turn["id"]): turn["text"] for turn in one["turns"]}
    for question in one["questions"]:
        if (
            question["category"] != "knowledge-update"
            or question["id"].endswith("_abs")
            or len(question["evidence"]) != 2
        ):
            continue
        older, newer = question["evidence"]
        answer = str(question["answer"])
        past = holds(said[older], answer) and not holds(said[newer], answer)
        right, stale = (older, newer) if past else (newer, older)
        yield Case(question["question"], frozenset([right]), frozenset([stale]))


SETS: dict[str, Callable[[dict[str, Any]], Iterator[Case]]] = {"memorycode": rules, "longmemeval_oracle": updates}


def run(options: Options) -> Iterator[Table]:
    """A table for each set, with a row for each method."""
    for name, cases_of in SETS.items():
        rows: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
        conversations = [(one, cases) for one in load(options.data, name) if (cases := list(cases_of(one)))]
        for one, cases in tqdm(conversations[: options.limit], desc=name, disable=None):
            for method, ranks in ranked(one, cases, options.embedder).items():
                rows[method] += ranks
            options.embedder.save()
        columns = ["method", "cases", "both found", "right first", "alone", "stale", "neither"]
        yield Table(
            f"Newest before stale: {name}, recall(k={K})", columns, [_row(method, rows[method]) for method in METHODS]
        )


def ranked(one: dict[str, Any], cases: Sequence[Case], embedder: CachedEmbedder) -> dict[str, list[dict[str, Any]]]:
    """By method, for each case of a conversation, at which rank its turns come, from 1; None where they don't."""
    with open_memory(MemoryConfig(url="memory://"), embedder=embedder) as memory:
        for session, said in by_session(one["turns"]).items():
            memory.scoped(user="u", session=session).remember(said)
        owner = memory.scoped(user="u")
        owner.flush(progress=False)
        return {
            method: [
                {
                    "conversation": one["conv"],
                    "question": case.question,
                    "right": _rank(found, case.right),
                    "stale": _rank(found, case.stale),
                }
                for case in cases
                for found in [_found(owner, case.question, weights)]
            ]
            for method, weights in METHODS.items()
        }


def _found(owner: ScopedMemory, question: str, weights: Weights | None) -> list[str]:
    return [hit.record.sources[0] for hit in owner.recall(question, k=K, weights=weights)]


def _rank(found: Sequence[str], turns: frozenset[str]) -> int | None:
    return next((rank for rank, turn in enumerate(found, 1) if turn in turns), None)


def _row(method: str, cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    both = [case for case in cases if case["right"] and case["stale"]]
    return {
        "method": method,
        "cases": len(cases),
        "both found": len(both),
        "right first": share(sum(case["right"] < case["stale"] for case in both), len(both)),
        "alone": sum(bool(case["right"]) and not case["stale"] for case in cases),
        "stale": sum(bool(case["stale"]) and not case["right"] for case in cases),
        "neither": sum(not case["stale"] and not case["right"] for case in cases),
        "failed": [case for case in both if case["right"] > case["stale"]],
    }
