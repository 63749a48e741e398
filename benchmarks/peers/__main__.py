"""This library beside what people would otherwise take: recall and speed, in one run on one machine.

    python benchmarks/peers --data PATH --cache PATH --json peers.json
    python benchmarks/peers --parts speed --sizes 1000 10000 100000 1000000 10000x1000 --json speed.json

The peers are installed, in fixed versions, into an environment of their own (--env, by default .venv-peers beside the
project), and the script goes on with its Python. Parts: quality, speed; what each counts stands at the top
of its module; speed needs no data. Every memory runs in a process of its own, with the same embedder, on the same
turns; telemetry is off, and but for the package index nothing is asked of the network. A peer that fails is listed
with its reason.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.peers import environment
from benchmarks.peers.texts import SEED
from benchmarks.tables import parser

PARTS = ("quality", "speed")


def ask(options: argparse.Namespace, reasons: dict[str, str], job: dict[str, Any], entry: Any) -> dict[str, Any]:
    """What a memory's process answers, or why there is none."""
    if entry.group in reasons:
        return {"failed": reasons[entry.group]}
    started = time.perf_counter()
    result = environment.in_process({**job, "system": entry.name}, options.patience)
    what = result.get("failed", f"{time.perf_counter() - started:.0f} s")
    print(f"  {entry.name}: {what}", file=sys.stderr, flush=True)
    return result


def parsed() -> argparse.Namespace:
    """The options."""
    command = parser(__doc__, "--limit", "--cache", "--json")
    command.add_argument("--data", type=Path, help="folder of the conversation sets (*.jsonl.gz); speed needs none")
    command.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    command.add_argument("--sets", nargs="+", help="of the part quality")
    command.add_argument(
        "--sizes", nargs="+", default=["1000", "10000", "100000"],
        help="of the part speed: turns of one owner, or OWNERSxTURNS",
    )  # fmt: skip
    command.add_argument("--only", nargs="+", default=[], help="memories with one of these words in their name")
    command.add_argument("--patience", type=float, default=3600, help="seconds that a memory may take for a measure")
    command.add_argument("--env", type=Path, default=environment.PROJECT / ".venv-peers", help="where the peers are")
    command.add_argument("--publish", type=Path, help="write the part speed for benchmarks/results here")
    options = command.parse_args()
    if options.data is None and set(options.parts) != {"speed"}:
        command.error("quality needs --data")
    return options


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    options = parsed()
    environment.prepare(options.env)
    if Path(sys.prefix).resolve() != options.env.resolve():
        command = [str(environment.python_of(options.env)), str(Path(__file__).parent), *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, check=False).returncode)  # noqa: S603 - this script again
    with tempfile.TemporaryDirectory() as temporary:
        report = measured(options, (options.cache or Path(temporary)).resolve())
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")
    if options.publish:
        text = (
            json.dumps(published(report), indent=None, ensure_ascii=False)
            .replace('[["', '[\n["')
            .replace('], ["', '],\n["')
        )
        options.publish.write_text(text + "\n", encoding="utf-8")


def published(report: dict[str, Any]) -> dict[str, Any]:
    """The part speed as the page of benchmarks reads it."""
    from benchmarks.peers import speed  # noqa: PLC0415 - needs what only the environment has

    return {
        "date": report["date"][:10],
        "command": "python benchmarks/peers --parts speed --publish speed.json",
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: number for name, number in report["versions"].items() if number},
        "note": "",
        "results": speed.published(report["results"]["speed"]),
    }


def measured(options: argparse.Namespace, cache: Path) -> dict[str, Any]:
    """The parts' tables, and what they were made with."""
    asked = partial(ask, options, environment.reasons_of(options.env))
    job = {
        "data": options.data and str(options.data.resolve()), "cache": str(cache), "limit": options.limit,
        "only": options.only, "sets": options.sets, "sizes": options.sizes,
    }  # fmt: skip
    report: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}",
        "seed": SEED,
        "versions": environment.versions(),
        "not installed": environment.reasons_of(options.env),
        "results": {},
    }
    for name in options.parts:
        part = __import__(f"benchmarks.peers.{name}", fromlist=["run"])
        started = time.perf_counter()
        report["results"][name] = []
        for table in part.run(job, asked):
            table.show()
            report["results"][name].append({"title": table.title, "note": table.note, "rows": table.rows})
        print(f"\n{name}: {time.perf_counter() - started:.0f} s", flush=True)
    return report


if __name__ == "__main__":
    main()
