"""Recall: which turns come back for a question, of a store that holds one conversation.

Every memory gets the same turns (`speaker: text`; ours the speaker and the text apart, and the session and time that
the peers have no use for), the same embedder, and gives 20 ids for the question as it stands. Ids are running numbers,
never indexed. Questions marked `bad` and those without evidence are skipped. A process of the memory's own answers; the
evidence is read after all its answers are in.

r@k is the share of the evidence among the first k, all@k whether all of it is (strict), hit@1 whether the first is
evidence, mrr@20 the inverse rank of the first evidence; each the mean over questions. The last table is the unweighted
mean over the sets.
"""

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measures import grade
from benchmarks.peers.servers import serving
from benchmarks.peers.systems import SYSTEMS, Embedder, Entry, Turn, chosen
from benchmarks.retrieval import DEPTH
from benchmarks.sets import load, messages
from benchmarks.tables import Table
from benchmarks.vectors import KeptVectors

SETS = ("locomo", "realtalk", "memorybank_zh", "longmemeval_oracle")
MEASURES = ("r@5", "r@10", "all@10", "hit@1", "mrr@20")
COLUMNS = ("memory", "work", *MEASURES)


def turns_of(conversation: dict[str, Any]) -> tuple[list[Turn], dict[str, str]]:
    """The turns under running numbers, and the turn's own id by number."""
    turns: list[Turn] = []
    ids: dict[str, str] = {}
    for session, said in messages(conversation["turns"]):
        for message in said:
            number = f"t{len(turns)}"
            ids[number] = str(message.id)
            turns.append(
                Turn(number, message.name or message.role, message.text, message.role.value, session, message.at)
            )
    return turns, ids


def asked(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """The questions that count."""
    return [question for question in conversation["questions"] if not question.get("bad") and question.get("evidence")]


def answers(entry: Entry, embedder: Embedder, conversations: Sequence[dict[str, Any]]) -> list[list[list[str]]]:
    """For every question of every conversation the turn ids that come back; each has a server of its own."""
    found = []
    for conversation in conversations:
        turns, ids = turns_of(conversation)
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            serving(entry.server, Path(folder) / "server") as server,
        ):
            system = entry.open(embedder, Path(folder), server)
            try:
                system.add(turns)
                questions = [question["question"] for question in asked(conversation)]
                found.append([[ids[number] for number in system.search(words, DEPTH)] for words in questions])
            finally:
                system.close()
    return found


def work(job: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """In the memory's own process: its answers by set, or why it has none."""
    embedder = KeptVectors(Path(job["cache"]))
    found: dict[str, Any] = {}
    for name in job["sets"]:
        conversations = list(load(Path(job["data"]), name, job["limit"]))
        try:
            found[name] = {"answers": answers(entry, embedder, conversations)}
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its row of this set
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
        embedder.save()
    return found


def graded(conversations: Sequence[dict[str, Any]], found: list[list[list[str]]]) -> dict[str, float]:
    """The means over all questions."""
    rows = []
    for conversation, lists in zip(conversations, found, strict=True):
        for question, ids in zip(asked(conversation), lists, strict=True):
            figures = grade(ids[:DEPTH], set(question["evidence"]))
            rows.append(figures | {"mrr@20": figures["mrr"]})
    return {"questions": len(rows)} | {key: statistics.fmean(row[key] for row in rows) for key in MEASURES}


def run(job: dict[str, Any], ask: Callable[[dict[str, Any], Entry], dict[str, Any]]) -> Iterator[Table]:
    """A table for each set, then the means over all of them."""
    sets = job["sets"] or SETS
    asking = {**job, "sets": sets, "measure": "quality", "of": " ".join(sets)}
    entries = [entry for entry in chosen(job["only"]) if not entry.server or not entry.ours]
    answered = {entry.name: ask(asking, entry) for entry in entries}
    every: dict[str, list[dict[str, float]]] = {}
    for name in sets:
        conversations = list(load(Path(job["data"]), name, job["limit"]))
        figures: dict[str, dict[str, Any]] = {}
        for system, found in answered.items():
            answer = found if "failed" in found else found[name]
            figures[system] = answer if "failed" in answer else graded(conversations, answer["answers"])
            if "failed" not in answer:
                every.setdefault(system, []).append(figures[system])
        questions = max((int(row["questions"]) for row in figures.values() if "failed" not in row), default=0)
        yield table(f"Recall on {name}: {len(conversations)} conversations, {questions} questions", figures)
    means = {
        name: {key: statistics.fmean(row[key] for row in rows) for key in MEASURES}
        for name, rows in every.items()
        if len(rows) == len(sets)
    }
    if len(sets) > 1:
        yield table(f"Recall, mean over {', '.join(sets)}", means)


def table(title: str, figures: dict[str, dict[str, Any]]) -> Table:
    """The rows, best r@10 first."""
    entries = {entry.name: entry for entry in SYSTEMS}
    made = Table(title, COLUMNS)
    for name, row in sorted(figures.items(), key=lambda item: -item[1].get("r@10", -1.0)):
        made.rows.append({"memory": name, "work": entries[name].work, "note": entries[name].note, **row})
    failures = [f"{name}: {row['failed']}" for name, row in figures.items() if "failed" in row]
    made.note = "".join(f"not measured: {reason}\n" for reason in failures).rstrip()
    return made
