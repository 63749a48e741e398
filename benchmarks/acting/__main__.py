"""Tasks that an agent must finish through its real host: with this memory, and with what people use instead.

    python benchmarks/acting --json acting.json
    python benchmarks/acting --tasks regenerate small-talk-hi --systems ours bare
    python benchmarks/acting --show order-idle-en-agent
    python benchmarks/acting --systems ours --check        (fails if a task is not finished)

The model is a policy that reads its prompt and its bound tools, and knows nothing of what a memory writes: see
``policies.py``. A task is what a user says over one or more threads and what must come of it; it runs in an empty store
with every default, unless its name tells a budget. No network, no data, the same result in every run.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.acting import lengths, loops, mails, minds, reading, smalltalk, states
from benchmarks.acting.running import OFFERED, Outcome, quiet, run
from benchmarks.acting.surroundings import SYSTEMS, System, installed
from benchmarks.acting.tasks import HOSTS, IDENTITY, Task
from benchmarks.tables import Table, parser, write
from benchmarks.vectors import KeptVectors
from hybrid_memory.models.embedders import HashingEmbedder

KINDS = (reading, mails, loops, minds, smalltalk, states, lengths)
LANGUAGES = tuple(IDENTITY)
TASKS: dict[str, Task] = {task.name: task for kind in KINDS for task in kind.tasks()}


def finished(outcomes: Sequence[Outcome], systems: Sequence[System]) -> Table:
    """Tasks finished of tasks, a row for each system and a column for each host; and tokens of a prompt, a mean."""
    table = Table("tasks finished", ("system", "all", *HOSTS.values(), *LANGUAGES, "tokens"))
    for system in systems:
        own = [outcome for outcome in outcomes if outcome.system == system]
        tokens = [count for outcome in own for count in outcome.tokens]
        row: dict[str, Any] = {"system": SYSTEMS[system], "all": _share(own)}
        row |= {name: _share([each for each in own if each.task.host == host]) for host, name in HOSTS.items()}
        row |= {name: _share([each for each in own if each.task.language == name]) for name in LANGUAGES}
        table.rows.append(row | {"tokens": round(sum(tokens) / max(len(tokens), 1))})
    return table


def _share(outcomes: Sequence[Outcome]) -> str | None:
    return f"{sum(outcome.finished for outcome in outcomes)}/{len(outcomes)}" if outcomes else None


def behind(outcomes: Sequence[Outcome]) -> list[str]:
    """The tasks that an agent without memory finishes and ours does not."""
    bare = {outcome.task.name for outcome in outcomes if outcome.system == "bare" and outcome.finished}
    ours = [outcome.task.name for outcome in outcomes if outcome.system == "ours" and not outcome.finished]
    return [name for name in ours if name in bare]


def show(outcome: Outcome) -> None:
    """Print each prompt of a task as it was sent, and what came of it."""
    for said, prompts, answer in outcome.turns:
        for number, prompt in enumerate(prompts, 1):
            print(f"{'=' * 120}\nprompt {number} for {said[:80]!r}\n{'-' * 120}\n{prompt}")
        print(f"{'-' * 120}\nanswer: {answer}")
    print(f"{'=' * 120}\n{outcome.task.name} with {SYSTEMS[outcome.system]}: {outcome.reason or 'finished'}")


def main() -> None:
    """Print the table, and write the JSON if asked."""
    command = parser(__doc__, "--cache", "--json")
    command.add_argument("--tasks", nargs="+", metavar="WORD", default=[""], help="those with one of these in the name")
    command.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[name for name in SYSTEMS if installed(name)])
    command.add_argument(
        "--show", metavar="TASK", choices=TASKS, help="print the prompts of a task as the first system sent them"
    )
    command.add_argument("--check", action="store_true", help="exit with 1 if a task is not finished with this memory")
    command.add_argument("--embedder", choices=("local", "hashing"), default="local")
    chosen = command.parse_args()
    quiet()
    kept = KeptVectors(chosen.cache)
    embedder = kept if chosen.embedder == "local" else HashingEmbedder()
    outcomes = list[Outcome]()
    if chosen.show:
        show(run(TASKS[chosen.show], chosen.systems[0], embedder))
    else:
        outcomes = ran(chosen, embedder)
        tell(chosen, outcomes)
    kept.save()
    if chosen.check and any(outcome.system == "ours" and not outcome.finished for outcome in outcomes):
        sys.exit(1)


def ran(chosen: argparse.Namespace, embedder: Any) -> list[Outcome]:
    """What came of each chosen task with each chosen system."""
    tasks = [task for task in TASKS.values() if any(word in task.name for word in chosen.tasks)]
    outcomes: list[Outcome] = []
    for system in chosen.systems:
        started = time.perf_counter()
        own = [task for task in tasks if task.host in OFFERED[system]]
        outcomes += [run(task, system, embedder) for task in tqdm(own, desc=system, disable=None)]
        print(f"{SYSTEMS[system]}: {time.perf_counter() - started:.0f} s", flush=True)
    return outcomes


def tell(chosen: argparse.Namespace, outcomes: Sequence[Outcome]) -> None:
    """Print the table and what is unfinished with ours, and write the JSON."""
    table = finished(outcomes, chosen.systems)
    table.show()
    print("\nnot finished with this memory")
    for outcome in outcomes:
        if outcome.system == "ours" and not outcome.finished:
            print(f"  {outcome.task.name:<44}{outcome.reason}")
    print("\nfinished without memory, not with this one: " + (", ".join(behind(outcomes)) or "none"))
    unfinished = {
        system: {each.task.name: each.reason for each in outcomes if each.system == system and each.reason}
        for system in chosen.systems
    }
    write(
        chosen.json, {table.title: table.rows}, embedder=chosen.embedder, unfinished=unfinished, behind=behind(outcomes)
    )


if __name__ == "__main__":
    main()
