"""What a prompt still knows of the work of a coding agent: files with what became of them, tests, errors.

The runs of mini-swe-agent are remembered whole, and one prompt is asked for, with 2,000 tokens or 1.4 % of the run's,
whichever is more. Only what the remembered turns name literally is asked for. A path is *named* if it stands anywhere
in the prompt; it is *right* if it stands in the right group (created, modified or renamed, deleted) of the artifacts
or of the note about the turns since, there also within a longer path, as the labels don't follow `cd`; *right or seen*
also if a turn that changed it is in the prompt word by word. *ledger* is right in the ledger of the whole run without
any budget. Tests are those that the turns name behind two colons, errors the exceptions at the beginning of a line.

Whole run: the final turns that show the complete diff are dropped, the gold is the diff's. Not asked for are files that
the environment changed: listed as such, or so listed in another run of the repository and only read in this one.

At 60 %: the files that were written or edited so far; those that were deleted last are to be in that group. A file that
was written may count as created or as modified, because the labels don't say whether it was there before.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.compression.sets import MAX_TOKENS, Table, count_tokens, load
from hybrid_memory import Context, MemoryConfig, Message, open_memory
from hybrid_memory.artifacts import read_ledger, render
from hybrid_memory.models.embedders import HashingEmbedder

SHARE = 0.014
ASKED = "What is the state of the work?"
COLUMNS = (
    "probe", "paths", "named", "right", "right or seen", "ledger", "mean", "max", "over", "tests", "of",
    "errors", "of ",
)  # fmt: skip
GROUPS = {"created": "created", "modified": "modified", "renamed": "modified", "deleted": "deleted"}
NO_PATH = re.compile(r"s?/\w+")
"""A pattern of sed that a label took for a path."""

RAISED = re.compile(r"^(?:E +)?(?:\w+\.)*([A-Z]\w*(?:Error|Exception))(?:: |$)", re.MULTILINE)

ELSEWHERE = (
    ("last messages that fit 2000", 0.712, 0.440),
    ("200 characters a message, newest 2000", 0.816, 0.644),
    ("SummarizationMiddleware keep 20", 0.776, 0.562),
)
"""Other methods: paths named after the whole run and at 60 %, measured elsewhere on 2026-11-21."""


@dataclass(slots=True)
class Tally:
    """The paths of all runs, and how many of them the prompts know."""

    paths: int = 0
    named: int = 0
    right: int = 0
    seen: int = 0
    ledger: int = 0
    tokens: list[int] = field(default_factory=list)
    over: int = 0
    tests: list[bool] = field(default_factory=list)
    errors: list[bool] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)

    def row(self, name: str) -> dict[str, Any]:
        """As a row of the table."""
        return {
            "probe": name,
            "paths": self.paths,
            "named": self.named / self.paths,
            "right": self.right / self.paths,
            "right or seen": self.seen / self.paths,
            "ledger": self.ledger / self.paths,
            "mean": round(sum(self.tokens) / len(self.tokens)),
            "max": max(self.tokens),
            "over": self.over,
            "tests": sum(self.tests) / len(self.tests) if self.tests else None,
            "of": len(self.tests),
            "errors": sum(self.errors) / len(self.errors) if self.errors else None,
            "of ": len(self.errors),
            "missed": self.missed,
        }


def probe(run: dict[str, Any], turns: Sequence[dict[str, Any]], wanted: Mapping[str, set[str]], tally: Tally) -> None:
    """Count what the prompt after these turns knows of the wanted paths."""
    messages = [
        Message(role=turn["speaker"], content=turn["text"], id=str(turn["id"]))
        for turn in turns
        if turn["text"].strip()
    ]
    everything = "\n".join(turn["text"] for turn in turns)
    budget = max(MAX_TOKENS, int(SHARE * count_tokens(everything)))
    with open_memory(MemoryConfig(url="memory://"), embedder=HashingEmbedder()) as memory:
        chat = memory.scoped(user="u", session="s")
        chat.remember(messages)
        context = chat.assemble(ASKED, max_tokens=budget)
    tally.tokens.append(context.tokens)
    tally.over += context.tokens > budget
    groups = grouped("\n".join(context.sections.get(name, "") for name in ("artifacts", "recalled", "progress")))
    ledger = grouped(render(read_ledger(messages), max_tokens=10**6, count=count_tokens))
    changed = changing_turns(run, turns, context)
    for path, operations in wanted.items():
        if path not in everything:
            continue
        right = standing(path, groups) & operations
        tally.paths += 1
        tally.ledger += bool(standing(path, ledger) & operations)
        tally.named += path in context.text
        tally.right += bool(right)
        tally.seen += bool(right) or path in changed
        if not right:
            found = {"named": path in context.text, "seen": path in changed, "stands": sorted(standing(path, groups)),
                     "ledger": sorted(standing(path, ledger))}  # fmt: skip
            tally.missed.append({"run": run["conv"], "path": path, "wanted": sorted(operations), **found})
    tally.tests += [name in context.text for name in named_tests(run, everything)]
    tally.errors += [name in context.text for name in sorted(set(RAISED.findall(everything)))]


def grouped(artifacts: str) -> dict[str, set[str]]:
    """The changed paths of the rendered artifacts, by what became of them."""
    groups: dict[str, set[str]] = defaultdict(set)
    for line in artifacts.splitlines():
        label, _, rest = line.partition(": ")
        if label in GROUPS:
            items = re.sub(r"^\(\d+ older\) ", "", rest).split(", ")
            groups[GROUPS[label]].update(part for item in items for part in item.split(" -> ")[-1:])
    return groups


def standing(path: str, groups: Mapping[str, set[str]]) -> set[str]:
    """The groups that a path stands in."""
    return {name for name, paths in groups.items() if any(f"/{there}".endswith(f"/{path}") for there in paths)}


def changing_turns(run: dict[str, Any], turns: Sequence[dict[str, Any]], context: Context) -> set[str]:
    """The paths that were changed by a turn which the prompt shows word by word."""
    shown = {turn["id"] for turn in turns if turn["text"].strip() and turn["text"] in context.text}
    return {step["path"] for step in run["file_ops"] if step["op"] != "read" and step["turn"] in shown}


def named_tests(run: dict[str, Any], everything: str) -> Iterable[str]:
    """The names of the run's tests, without their folder, that the turns name as a runner does."""
    names = {test.rpartition("::")[2] for test in run["tests"]}
    return sorted(name for name in names if name and f"::{name}" in everything)


def without_diff(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns without the last ones that show the complete diff."""
    turns: list[dict[str, Any]] = list(run["turns"])
    while turns and turns[-1]["text"].lstrip().startswith("diff --git"):
        turns.pop()
    return turns


def written_so_far(run: dict[str, Any], until: int) -> dict[str, set[str]]:
    """The operations that are right for each file that was written or edited before this turn."""
    steps: dict[str, list[str]] = defaultdict(list)
    for step in run["file_ops"]:
        if step["turn"] < until and step["op"] in ("write", "edit", "delete"):
            steps[step["path"]].append(step["op"])
    wanted = {}
    for path, ops in steps.items():
        if path in run["env_artifacts"] or NO_PATH.fullmatch(path) or not {"write", "edit"} & set(ops):
            continue
        if ops[-1] == "delete":
            wanted[path] = {"deleted"}
        else:
            wanted[path] = {"created", "modified"} if "write" in ops else {"modified"}
    return wanted


def diffed(run: dict[str, Any], runs: Sequence[dict[str, Any]]) -> dict[str, set[str]]:
    """What became of each file that the agent changed."""
    repository = run["conv"].rpartition("-")[0]
    environment = {path for other in runs if other["conv"].startswith(repository) for path in other["env_artifacts"]}
    changed = {step["path"] for step in run["file_ops"] if step["op"] != "read"}
    ignored = set(run["env_artifacts"]) | (environment - changed)
    return {path: {operation} for path, operation in run["artifacts"].items() if path not in ignored}


def run(data: Path, _embedder: Any, limit: int | None) -> Iterator[Table]:
    """Both probes over all runs."""
    whole, cut = Tally(), Tally()
    runs = list(load(data, "miniswe", limit))
    for one in tqdm(runs, desc="miniswe", disable=None):
        probe(one, without_diff(one), diffed(one, runs), whole)
        until = int(0.6 * len(one["turns"]))
        probe(one, one["turns"][:until], written_so_far(one, until), cut)
    table = Table("Artifacts of coding runs", COLUMNS)
    table.rows = [whole.row("whole run, final diff dropped"), cut.row("60 %, files written so far")]
    if limit is None:
        for name, after, before in ELSEWHERE:
            table.rows.append({"probe": f"elsewhere, whole: {name}", "named": after})
            table.rows.append({"probe": f"elsewhere, 60 %: {name}", "named": before})
    yield table
