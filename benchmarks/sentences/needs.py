"""Learns which kinds of sentences a question or task needs, from tasks of invented people with the sentences for each.

    python benchmarks/sentences/needs.py [--cache FOLDER] [--write]

A line of `tasks.tsv` has the file of the chats, the first and the last line of a person in it, a task of theirs, and
the lines that it needs. Printed is the share of these among the first 10, 20 and 30 sentences of the person, with
people left out of the learning: by likeness and size alone, with what any task needs, and with what this one needs.
With ``--write`` it is learned from all and stored in the package, beside the judge.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.sentences.training import CHATS, parsed, saved
from benchmarks.tables import Table, parser
from benchmarks.vectors import KeptVectors
from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.judge import SHIPPED, Judge, judge_of
from hybrid_memory.facts.sheet import Sheet, size_of

TASKS = Path(__file__).with_name("tasks.tsv")
UNSTATED = frozenset({"question", "quote", "fiction", "hypothetical", "sarcasm", "translate"})
"""Kinds of sentences that a store hardly keeps; those that a task needs are learned from all the same."""

PARTS = 32  # principal components of a question that count
FOLDS = 5
PENALTY = 8e-5
FIRST = (10, 20, 30)


@dataclass(frozen=True, slots=True)
class Case:
    """A task: its person, the sentences' likeness and size as the sheet adds them, what the judge sees in them."""

    person: str
    question: Floats
    base: Array
    outlines: Floats
    needed: npt.NDArray[np.bool_]


def cases(embedder: KeptVectors, judge: Judge) -> list[Case]:
    """All tasks with the sentences of their people."""
    made = []
    lines = {file.stem: file.read_text("utf-8").splitlines() for file in CHATS.glob("*.tsv")}
    for row in TASKS.read_text("utf-8").splitlines():
        name, first, last, task, numbers = row.split("\t")
        wanted = set(map(int, numbers.split()))
        spoken = {number: parsed(lines[name][number - 1], name[:2]) for number in range(int(first), int(last) + 1)}
        kept = {number: one for number, one in spoken.items() if number in wanted or one.kind not in UNSTATED}
        texts = [one.text for one in kept.values()]
        vectors, question = embedder.embed_documents(texts), embedder.embed_query(task)
        base = Sheet([], vectors, size_of(texts)).nearness(question)
        needed = np.array([number in wanted for number in kept])
        made.append(Case(f"{name} {first}", question, base, judge.outlines(vectors), needed))
    return made


def learned(given: Sequence[Case], axes: Floats, mean: Floats) -> Array:
    """What a question needs, of shape (outputs, dim + 1): each needed sentence before all that are not (softmax)."""
    count = given[0].outlines.shape[1]
    questions = [np.append(axes @ (case.question - mean), 0.3) for case in given]

    def loss(weights: Array) -> tuple[float, Array]:
        scale, need, total = weights[0], weights[1:].reshape(-1, count), PENALTY * len(given) * (weights[1:] ** 2).sum()
        slope = 2 * PENALTY * len(given) * np.append(0.0, weights[1:])
        for case, question in zip(given, questions, strict=True):
            score = scale * case.base + case.outlines @ (question @ need)
            raised = np.exp(score - score.max())
            others = raised[~case.needed].sum()
            share = raised[case.needed] / (raised[case.needed] + others)
            total -= np.log(share).mean()
            pull = raised * (share / raised[case.needed]).mean()
            pull[case.needed] = (share - 1) / case.needed.sum()
            slope += np.append(pull @ case.base, np.outer(question, pull @ case.outlines))
        return float(total), slope

    start = np.append(1.0, np.zeros(len(questions[0]) * count))
    scale, *rest = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
    need = np.array(rest).reshape(-1, count) / scale
    whole = need[:-1].T @ axes
    return np.column_stack([whole, 0.3 * need[-1] - whole @ mean])


def first_of(case: Case, score: Array) -> list[float]:
    """The share of the needed sentences among the first."""
    places = np.argsort(np.argsort(-score, kind="stable"))[case.needed]
    return [float((places < k).mean()) for k in FIRST]


def main() -> None:
    """Print how well it does, and write the weights if asked."""
    command = parser(__doc__, "--cache")
    command.add_argument("--write", action="store_true")
    options = command.parse_args()
    embedder = KeptVectors(options.cache)
    if (judge := judge_of(embedder)) is None:
        raise SystemExit("the judge is of another embedder: run benchmarks/sentences --write")
    given = cases(embedder, judge)
    embedder.save()
    rows = np.array([case.question for case in given])
    mean = rows.mean(axis=0)
    axes = np.linalg.svd(rows - mean, full_matrices=False)[2][:PARTS]
    people = sorted({case.person for case in given})
    shares: dict[str, list[list[float]]] = {"likeness and size": [], "what any task needs": [], "what it needs": []}
    for fold in range(FOLDS):
        left = frozenset(people[fold::FOLDS])
        known = [case for case in given if case.person not in left]
        ways = [learned(known, axes[:0], mean), learned(known, axes, mean)]
        for case in given:
            if case.person in left:
                needs = [np.zeros(case.outlines.shape[1]), *(way @ np.append(case.question, 1) for way in ways)]
                for name, need in zip(shares, needs, strict=True):
                    shares[name].append(first_of(case, case.base + case.outlines @ need))
    table = Table(f"{len(given)} tasks of {len(people)} people", ("way", *map(str, FIRST)))
    for name, each in shares.items():
        table.rows.append(dict(zip(table.columns, (name, *np.mean(each, axis=0).tolist()), strict=True)))
    table.show()
    if options.write:
        saved(replace(judge, needs=learned(given, axes, mean).astype(np.float32)), SHIPPED)


if __name__ == "__main__":
    main()
