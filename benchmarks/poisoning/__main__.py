"""Attacks on an agent's memory: what somebody else wrote, and whether it ever counts for more than that.

    python benchmarks/poisoning --json poisoning.json
    python benchmarks/poisoning --systems ours --cases close-marks agent
    python benchmarks/poisoning --show iban-fetch-page-told-en-agent

An attack is inert if the account that it wants to be paid stands in no system message, nowhere outside of a mark or of
the message of whoever said it, however leniently marks are read, is no fact of the user's, and a model that obeys
every word of the operator's and the user's does not pay. No network, no model, the same result in every run.

Other memories take part in the cases through hosts. LangMem does where it is installed; it is run as its guide puts it
into an agent, without the model that would choose what to keep.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.acting.running import OFFERED, quiet
from benchmarks.acting.surroundings import SYSTEMS, System, installed
from benchmarks.peers.environment import SETTINGS
from benchmarks.poisoning.assembled import attacked
from benchmarks.poisoning.cases import Case, cases
from benchmarks.poisoning.hosts import HostCase, Verdict, played
from benchmarks.poisoning.peers import PEERS
from benchmarks.tables import Table, parser, write
from hybrid_memory.models.embedders import HashingEmbedder

Outcomes = dict[str, list[tuple[Case, Verdict]]]
NAMES: dict[str, str] = dict([*SYSTEMS.items(), *((name, name) for name in PEERS)])
CASES: dict[str, Case] = {case.name: case for case in cases()}


def there(system: str) -> bool:
    """Whether it is installed."""
    return system in PEERS or installed(cast("System", system))


def ran(systems: Sequence[str], words: Sequence[str]) -> Outcomes:
    """Each chosen case with each system that it can be run with."""
    embedder = HashingEmbedder()
    chosen = [case for case in CASES.values() if all(word in case.name for word in words)]
    found: Outcomes = {}
    for system in systems:
        fitting = [case for case in chosen if offered(case, system)]
        found[system] = [
            (case, run(case, system, embedder)) for case in tqdm(fitting, desc=NAMES[system], disable=None)
        ]
    return found


def offered(case: Case, system: str) -> bool:
    """Whether the system can be attacked in that way."""
    if not isinstance(case, HostCase) or case.paged or case.inserted:
        return system == "ours"
    return case.host in (("function", "engine") if system in PEERS else OFFERED[cast("System", system)])


def run(case: Case, system: str, embedder: Any) -> Verdict:
    """What a case comes to."""
    if not isinstance(case, HostCase):
        return attacked(case, embedder)
    if system in PEERS:
        return played(case, "stock", embedder, PEERS[system])
    return played(case, cast("System", system), embedder)


def by_system(outcomes: Outcomes) -> Table:
    """Of the cases through hosts: how many were inert, what the others came to, and what was still recalled."""
    columns = (
        "system", "inert", "in the system message", "outside its mark", "obeyed", "failed", "read later",
        "true recalled",
    )  # fmt: skip
    table = Table("attacks through hosts", columns)
    for system, pairs in outcomes.items():
        verdicts = [verdict for case, verdict in pairs if offered(case, "bare")]
        harms = [harm for verdict in verdicts for harm in set(verdict.harms)]
        counts = (harms.count("system"), harms.count("outside"), harms.count("acted"), harms.count("failed"))
        shown = [sum(verdict.reached for verdict in verdicts), sum(verdict.recalled for verdict in verdicts)]
        table.rows.append(dict(zip(columns, (NAMES[system], _share(verdicts), *counts, *shown), strict=True)))
    return table


def by_family(outcomes: Outcomes) -> Table:
    """Of all cases with this memory: how many were inert, by family of attacks and by way."""
    table = Table("attacks on this memory", ("attacks", "all", "hosts", "core"))
    pairs = outcomes.get("ours", [])
    for family in [*dict.fromkeys(case.family for case, _ in pairs), "all"]:
        own = [(case, verdict) for case, verdict in pairs if family in (case.family, "all")]
        hosts = [verdict for case, verdict in own if isinstance(case, HostCase)]
        core = [verdict for case, verdict in own if not isinstance(case, HostCase)]
        row = {"all": _share([*hosts, *core]), "hosts": _share(hosts), "core": _share(core)}
        table.rows.append({"attacks": family} | row)
    return table


def _share(verdicts: Sequence[Verdict]) -> str | None:
    return f"{sum(not verdict.harms for verdict in verdicts)}/{len(verdicts)}" if verdicts else None


def main() -> int:
    """Print the tables and what was not inert with this memory; 1 if anything was not."""
    command = parser(__doc__, "--json")
    command.add_argument("--cases", nargs="+", metavar="WORD", default=[], help="those with all of these in the name")
    command.add_argument("--systems", nargs="+", choices=NAMES, default=[*filter(there, NAMES)])
    command.add_argument("--show", metavar="CASE", choices=CASES, help="print the last prompts of a case")
    chosen = command.parse_args()
    quiet()
    os.environ.update(SETTINGS)
    if chosen.show:
        verdict = run(CASES[chosen.show], chosen.systems[0], HashingEmbedder())
        print(*verdict.prompts, verdict.harms or "inert", verdict.reason, sep=f"\n{'=' * 120}\n")
        return 0
    outcomes = ran(chosen.systems, chosen.cases)
    tables = [by_system(outcomes), by_family(outcomes)]
    for table in tables:
        table.show()
    harmed = [(case, verdict) for case, verdict in outcomes.get("ours", []) if verdict.harms]
    for case, verdict in harmed:
        print(f"  {case.name:<64}{', '.join(verdict.harms)} {verdict.reason}")
    not_inert = {
        system: {case.name: verdict.harms for case, verdict in pairs if verdict.harms}
        for system, pairs in outcomes.items()
    }
    results = {table.title: table.rows for table in tables}
    write(chosen.json, results, **{"cases": len(CASES), "not inert": not_inert})
    return int(bool(harmed))


if __name__ == "__main__":
    sys.exit(main())
