"""Methods side by side on labelled conversations, without a model: what survives, what is within reach, what it costs.

    python benchmarks/methods.py --data PATH --sets miniswe tau_airline --limit 20 --json methods.json

Each conversation is replayed under each method at the same budget, with a prompt wherever the assistant spoke, and is
then asked by its labels, not by probes that our own reading made: which files of a coding run were created, modified or
deleted (the final diff is dropped), which ids of a service dialogue came up, and questions whose answer stands
literally in a turn of the evidence. Conversations that fit the budget are left out. The measures are those of
`hybrid_memory_evaluation.Figures`. Methods of LangChain and LlamaIndex that need a model get excerpts: the first
200 characters of each line, the newest that fit; ours have their deterministic summaries. Methods that end in "-alone"
have no recall. See `hybrid-memory eval --list-methods`.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from benchmarks.sets import MAX_TOKENS, count_tokens, load
from benchmarks.tables import Table, parser, write
from benchmarks.vectors import KeptVectors
from hybrid_memory.errors import InvalidInputError
from hybrid_memory_evaluation import Evaluation, Probe, ProbeKind, Report, Transcript, found_methods
from hybrid_memory_evaluation.probing.probe import holds

LEFT_OUT = ("llmlingua", "llmlingua-alone")
"""By default: what needs LLMLingua."""

ASKED_FILES = "Which files were {operation} in the course of this work?"
ASKED_IDS = "Which reservations, flights and payment methods came up?"


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversation and what its labels ask."""

    chat: Transcript
    probes: list[Probe]


def coding(one: dict[str, Any]) -> Asked:
    """A run of a coding agent without its final diff: files by what became of them."""
    turns = [turn for turn in one["turns"] if turn["text"].strip()]
    while turns and ("diff --git" in turns[-1]["text"] or turns[-1]["speaker"] != "user"):
        turns.pop()
    chat = _chat(one, turns)
    probes = []
    for operation in ("created", "modified", "deleted"):
        paths = [path for path, what in one["artifacts"].items() if what == operation]
        naming = {path: [str(turn["id"]) for turn in turns if path in turn["text"]] for path in paths}
        if keys := tuple(path for path in paths if naming[path]):
            asked = ASKED_FILES.format(operation=operation)
            sources = tuple(dict.fromkeys(_written(one, path) or naming[path][0] for path in keys))
            probes.append(Probe(operation, ProbeKind.ARTIFACT, asked, ", ".join(keys), keys, sources))
    return Asked(chat, probes)


def _written(one: dict[str, Any], path: str) -> str:
    """The first turn that wrote the file; empty if no label says."""
    turns = [op["turn"] for op in one["file_ops"] if op["path"] == path and op["op"] != "read"]
    return str(turns[0]) if turns else ""


def service(one: dict[str, Any]) -> Asked:
    """A service dialogue with tools: each id that came up, by the first turn that has it."""
    probes = [
        Probe(fact["fact"], ProbeKind.RECALL, ASKED_IDS, fact["fact"], (fact["fact"],), (str(fact["evidence"][0]),))
        for fact in one["facts"]
    ]
    return Asked(Transcript.of(list(_with_calls(one["turns"])), name=one["conv"]), probes)


def _with_calls(turns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    waiting: list[str] = []
    for turn in turns:
        said = {"role": turn["speaker"], "content": turn["text"], "id": str(turn["id"])}
        if turn["speaker"] == "tool":
            yield said | {"tool_call_id": waiting.pop(0)}
            continue
        calls = [
            {"id": f"call{turn['id']}.{part}", "name": name, "arguments": arguments}
            for part, (name, arguments) in enumerate(turn.get("calls") or ())
        ]
        waiting = [call["id"] for call in calls]
        if turn["text"] or calls:
            yield said | {"tool_calls": calls}


def questions(one: dict[str, Any]) -> Asked:
    """Chats of a user with an assistant: questions whose answer stands in a turn of the evidence."""
    said = {turn["id"]: turn["text"] for turn in one["turns"]}
    probes = []
    for asked in one["questions"]:
        answer = str(asked["answer"] or "")
        sources = tuple(source for source in asked["evidence"] if said.get(source, "").strip())
        told = any(holds(said[source], answer) for source in sources)
        if not asked.get("bad") and len(answer) > 2 and told and not holds(asked["question"], answer):
            probes.append(Probe(str(asked["id"]), ProbeKind.RECALL, asked["question"], answer, (answer,), sources))
    return Asked(_chat(one, [turn for turn in one["turns"] if turn["text"].strip()]), probes)


def _chat(one: dict[str, Any], turns: list[dict[str, Any]]) -> Transcript:
    return Transcript.of(
        [{"role": turn["speaker"], "content": turn["text"], "id": str(turn["id"])} for turn in turns], name=one["conv"]
    )


COLUMNS = ("method", "survival", "reach", "finished", "ratio", "tokens", "a task", "reuse", "over", "invalid", "ms")
SETS = {"miniswe": coding, "tau_airline": service, "longmemeval_oracle": questions}


def run(data: Path, name: str, options: argparse.Namespace, embedder: KeptVectors | None) -> Report | None:
    """The report on one set."""
    asked = [one for one in map(SETS[name], load(data, name)) if one.probes]
    fitting = []
    for one in asked[: options.limit]:
        try:
            Evaluation([one.chat], ["none"], max_tokens=MAX_TOKENS, probes={one.chat.name: one.probes})
        except InvalidInputError:
            continue
        fitting.append(one)
    if not fitting:
        return None
    evaluation = Evaluation(
        [one.chat for one in fitting], options.methods, max_tokens=MAX_TOKENS, embedder=embedder or "none",
        token_counter=count_tokens, probes={one.chat.name: one.probes for one in fitting},
    )  # fmt: skip
    report = evaluation.run()
    if embedder is not None:
        embedder.save()
    return report


def show(name: str, report: Report) -> None:
    """The table of one set."""
    chats, tokens = len(report.transcripts), sum(chat["tokens"] for chat in report.transcripts)
    size = f"{chats} conversations of {tokens / chats:,.0f} tokens, {len(report.probes)} probes, {MAX_TOKENS}"
    table = Table(f"{name}: {size}", COLUMNS, note="\n".join(f"failed: {failure}" for failure in report.failures))
    for one in report.methods:
        cells = (
            one.method, one.survival, one.reach, one.finished, f"{one.ratio:.1f}", round(one.context),
            None if one.task is None else round(one.task), one.reuse, f"{one.over}/{one.prompts}", one.invalid,
            f"{one.milliseconds or 0:.1f}",
        )  # fmt: skip
        table.rows.append(dict(zip(COLUMNS, cells, strict=True)))
    table.show()


def main() -> None:
    """Print a table for each set, and write the JSON if asked."""
    command = parser(__doc__, "--data", "--limit", "--cache", "--json")
    command.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    command.add_argument("--methods", nargs="+", default=[name for name in found_methods() if name not in LEFT_OUT])
    command.add_argument("--words", action="store_true", help="recall by words alone: no embedder")
    options = command.parse_args()
    reports = {}
    embedder = None if options.words else KeptVectors(options.cache)
    for name in options.sets:
        if (report := run(options.data, name, options, embedder)) is not None:
            reports[name] = report
            show(name, report)
    write(options.json, {name: report.as_dict() for name, report in reports.items()})


if __name__ == "__main__":
    main()
