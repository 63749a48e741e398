"""Whether the tests notice small faults: each is put into a copy of the code, and the tests of its package must fail.

    python benchmarks/mutants.py --count 24 --rooms recall store    a sample, the same each time
    python benchmarks/mutants.py --json mutants.json                 all 200; some hours on one core
    python benchmarks/mutants.py --list                              what would be changed, without a test

A fault is a comparison turned or moved by its boundary, `and` for `or`, an integer one higher, a `not` left out, or
None returned. A seed chooses them, evenly by package, then by file. The checkout itself is never changed.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
CORE = "core/hybrid_memory"
TESTS = {
    "recall": "scoring routing test_young_stores.py test_in_time.py test_verbs.py"
    " test_answers_cache.py test_isolation.py test_round_trips.py test_read_only.py test_heat.py",
    "context": "test_tiers.py context conversation compression test_follow.py",
    "facts": "learning test_learning.py test_young_stores.py",
    "store": "test_tiers.py test_projections.py test_follow.py test_forgetting.py test_migrate.py test_time_travel.py"
    " test_outbox.py test_verbs.py files/test_forgetting.py",
}
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "site", "notebooks", "results", "memory.db")
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the source between two offsets of a file, and what replaces it."""

    room: str
    file: str
    line: int
    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Outcome:
    """What became of it: killed, survived, or timeout, which counts as killed."""

    mutant: Mutant
    outcome: str
    seconds: float


def changed(node: ast.AST) -> ast.expr | None:
    """The expression with its fault, or nothing."""
    match node:
        case ast.Compare(left, [op], right) if type(op) in TURNED:
            return ast.Compare(left, [TURNED[type(op)]()], right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Constant(int(value)) if not isinstance(value, bool):
            return ast.Constant(value + 1)
    return None


def nodes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions and their faults; not in annotations, nor in f-strings, whose parts have no place of their own."""
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or name in {"annotation", "returns"} or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.Return) and child.value is not None and ast.unparse(child.value) != "None":
                yield child.value, ast.Constant(None)
            if isinstance(child, ast.expr) and (other := changed(child)) is not None:
                yield child, other
            yield from nodes(child)


def mutants_of(room: str, path: Path) -> list[Mutant]:
    """All that one file has room for."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    made = []
    for node, other in nodes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        texts = source[start:end].decode(), f"({ast.unparse(other)})"
        made.append(Mutant(room, path.relative_to(ROOT).as_posix(), node.lineno, start, end, *texts))
    return made


def sample(count: int, rooms: list[str], seed: int) -> list[Mutant]:
    """As many of each package, and of each of its files before a second one of any."""
    chance, taken = random.Random(seed), []  # noqa: S311
    for row, room in enumerate(rooms):
        files = [mutants_of(room, path) for path in sorted((ROOT / CORE / room).glob("*.py"))]
        for made in files:
            chance.shuffle(made)
        chance.shuffle(files)
        ordered = [made[turn] for turn in range(max(map(len, files))) for made in files if turn < len(made)]
        taken += ordered[: count // len(rooms) + (row < count % len(rooms))]
    return taken


def about(tests: Path, module: str) -> bool:
    """Whether a file of tests, or one in their folder, imports the module: these are run first."""
    return any(
        module in path.read_text(encoding="utf-8") for path in (tests.rglob("*.py") if tests.is_dir() else [tests])
    )


def tested(tree: Path, room: str, seconds: float, module: str) -> tuple[str, float]:
    """How the tests of a package end there, and after how long."""
    for folder in (tree / CORE / room).glob("__pycache__"):
        shutil.rmtree(folder)  # a changed file may be as long and as old as the one before it
    paths = os.pathsep.join(map(str, (tree / "packages", tree / "core", tree)))
    found = [f"tests/{name}" for name in TESTS[room].split() if (tree / "tests" / name).exists()]
    tests = sorted(found, key=lambda name: not about(tree / name, module))
    quiet = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not engines", "-k", "not test_size"]
    started = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pytest", *quiet, *tests], cwd=tree, env={**os.environ, "PYTHONPATH": paths},
            capture_output=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout", time.monotonic() - started
    return "survived" if done.returncode == 0 else "killed", time.monotonic() - started


def run(chosen: list[Mutant], limit: float) -> Iterator[Outcome]:
    """Each in turn, in one copy of the tree, whose own tests must pass."""
    with TemporaryDirectory() as folder:
        tree = Path(shutil.copytree(ROOT, Path(folder) / "tree", ignore=LEFT_OUT))
        for room in dict.fromkeys(mutant.room for mutant in chosen):
            outcome, seconds = tested(tree, room, limit, room)
            if outcome != "survived":
                sys.exit(f"the tests of {room} fail without a fault ({outcome}): mend them first")
            print(f"{room}: {seconds:.0f} s without a fault", flush=True)
        for mutant in chosen:
            path = tree / mutant.file
            source = path.read_bytes()
            path.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
            outcome, seconds = tested(tree, mutant.room, limit, f"hybrid_memory.{mutant.room}.{path.stem} ")
            path.write_bytes(source)
            yield Outcome(mutant, outcome, round(seconds, 1))


def main() -> None:
    """Print what became of each, and how many were killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--rooms", nargs="+", choices=TESTS, default=list(TESTS))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--limit", type=float, default=600, help="seconds for the tests of one fault")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    chosen = sample(given.count, given.rooms, given.seed)
    outcomes = []
    for outcome in [] if given.list else run(chosen, given.limit):
        outcomes.append(outcome)
        at = outcome.mutant
        change = f"{' '.join(at.before.split())[:50]} -> {at.after[:50]}"
        print(f"{outcome.outcome:8} {outcome.seconds:5.0f} s  {at.file}:{at.line}  {change}", flush=True)
    for at in chosen if given.list else []:
        print(f"{at.file}:{at.line}  {' '.join(at.before.split())[:60]} -> {at.after[:60]}")
    if outcomes:
        survived = sum(outcome.outcome == "survived" for outcome in outcomes)
        print(f"killed {len(outcomes) - survived} of {len(outcomes)}")
    if given.json:
        given.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")


if __name__ == "__main__":
    main()
