"""Build the distributions, look into them, and use them in clean environments: bare, and with each extra alone.

    python tests/release/smoke.py [--out dist] [--extras mcp,redis]

Takes some minutes. Needs the package registry, mypy and pyright.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PACKAGES = {
    "hybrid_memory": ROOT / "core" / "hybrid_memory",
    "hybrid_memory_hosts": ROOT / "hybrid_memory_hosts",
    "langchain_hybrid_memory": ROOT / "langchain_hybrid_memory",
    "llamaindex_hybrid_memory": ROOT / "llamaindex_hybrid_memory",
    "llama_index": ROOT / "llama_index",
    "hybrid_memory_evaluation": ROOT / "packages" / "hybrid_memory_evaluation",
    "hybrid_memory_inspector": ROOT / "packages" / "hybrid_memory_inspector",
    "hybrid_memory_paging": ROOT / "packages" / "hybrid_memory_paging",
}
EXTRAS = (
    "local langchain llamaindex tiktoken encryption postgres redis milvus clickhouse telemetry report inspector mcp "
    "anthropic deepagents openai-agents pydantic-ai google-adk"
).split()
NEEDS_NOTHING = {"bare", "tiktoken"}
"""Without tiktoken tokens are estimated, which is no error."""

ALONG = {
    "anthropic": {"telemetry"},
    "llamaindex": {"report"},
    "mcp": {"telemetry"},
    "langchain": {"telemetry"},
    "milvus": {"telemetry"},
    "deepagents": {"anthropic", "langchain", "telemetry"},
    "openai-agents": {"mcp", "telemetry"},
    "pydantic-ai": {"telemetry"},
    "google-adk": {"inspector", "telemetry"},
}
"""What another extra may happen to bring along."""

CONSUMERS = {"": "core_only.py", "langchain": "with_langchain.py", "llamaindex": "with_llamaindex.py"}
"""Programs that are type-checked in the environment of an extra, and run there."""

NAMED = {"langchain": "langchain-hybrid-memory", "llamaindex": "llama-index-memory-hybrid"}
"""Packages without modules that stand for an extra; its environment is made by installing them."""

SECONDS = 1200


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What the command printed; its errors end this."""
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """Tell at once how far it is."""
    print(text, flush=True)  # noqa: T201 - a script


def environment(folder: Path, *packages: str) -> Path:
    """The interpreter of a new environment with these packages."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", *packages)
    return python


def build(out: Path, temp: Path) -> Path:
    """The wheel, in ``out`` beside the source distribution that it was built from.

    Exits where the wheel that the source tree gives is another one.
    """
    python = environment(temp / "build", "build")
    run(python, "-m", "build", "--outdir", out, ROOT)
    run(python, "-m", "build", "--wheel", "--outdir", temp / "tree", ROOT)
    (straight,) = (temp / "tree").glob("*.whl")
    wheel = out / straight.name
    if contents(wheel) != contents(straight):
        sys.exit(f"the source distribution gives another wheel: {set(contents(wheel)) ^ set(contents(straight))}")
    return wheel


def build_named(extra: str, wheel: Path, temp: Path) -> Path:
    """The package of another name beside the wheel; exits if it holds a module, or asks for another version."""
    name = NAMED[extra]
    python = temp / "build" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "build", "--wheel", "--outdir", wheel.parent, ROOT / "packages" / name)
    version = wheel.name.split("-")[1]
    made = wheel.parent / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    if modules := [inside for inside in contents(made) if ".dist-info/" not in inside]:
        sys.exit(f"{made.name} holds {modules}, which hybrid-agent-memory may hold too")
    with zipfile.ZipFile(made) as archive:
        told = archive.read(f"{made.name.removesuffix('-py3-none-any.whl')}.dist-info/METADATA").decode()
    if f"\nRequires-Dist: hybrid-agent-memory[{extra}]=={version}\n" not in told:
        sys.exit(f"{made.name} does not ask for hybrid-agent-memory[{extra}]=={version}:\n{told}")
    return made


def contents(wheel: Path) -> dict[str, str]:
    """The digest of each file in it."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def look_into(wheel: Path, sdist: Path) -> None:
    """Exit where the wheel holds anything but the packages, or not all of them, or the sdist lacks something."""
    names = set(contents(wheel))
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES.values()).splitlines()
    expected = {
        f"{name}/{(ROOT / path).relative_to(folder).as_posix()}"
        for path in tracked
        for name, folder in PACKAGES.items()
        if (ROOT / path).is_relative_to(folder)
    }
    packaged = {name for name in names if ".dist-info/" not in name}
    if packaged != expected:
        sys.exit(f"not in the wheel: {sorted(expected - packaged)}; only there: {sorted(packaged - expected)}")
    told = {name.split(".dist-info/")[1] for name in names - packaged}
    if not {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= told:
        sys.exit(f"the wheel says only {sorted(told)} of itself")
    with tarfile.open(sdist) as archive:
        kept = {name.partition("/")[2] for name in archive.getnames()}
    missing = {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "core/hybrid_memory/__init__.py"} - kept
    ours = set(run("git", "ls-files").splitlines())
    made = {name for name in kept if name.endswith((".db", ".pyc", ".whl")) or name.startswith((".venv", "dist"))}
    wrong = made - ours  # the store of an earlier version is one of the tests' own
    if missing or wrong:
        sys.exit(f"the source distribution lacks {sorted(missing)} and has {sorted(wrong)}")


def try_out(wheel: Path, extra: str, temp: Path) -> None:
    """Exit where something does not work that the extra is for, or where a missing package is not told of."""
    started = time.monotonic()
    folder = temp / (extra or "bare")
    wanted = [wheel, build_named(extra, wheel, temp)] if extra in NAMED else [f"{wheel}[{extra}]" if extra else wheel]
    python = environment(folder / "venv", *map(str, wanted))
    (folder / "work").mkdir()
    outcomes: dict[str, str] = json.loads(run(python, "-I", HERE / "probes.py", cwd=folder / "work"))
    for probe, outcome in outcomes.items():
        expected = "works" if probe in NEEDS_NOTHING | {extra} else probe
        if outcome != expected and not (outcome == "works" and probe in ALONG.get(extra, ())):
            sys.exit(f"with {extra or 'no extra'}: {probe} gave {outcome!r} instead of {expected!r}")
    if program := CONSUMERS.get(extra):
        run(sys.executable, HERE / "typed.py", "--python", python, HERE / "consumers" / program)
        run(python, "-I", HERE / "consumers" / program, cwd=folder / "work")
    say(f"   {extra or 'no extra':<12} works, and names what is missing; {time.monotonic() - started:.0f} s")


def main() -> None:
    """Exits with what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--extras", default=",".join(["", *EXTRAS]), help="separated by commas; an empty one is none")
    given = parser.parse_args()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if untried := set(declared) - {*EXTRAS, "all", "chdb", "llmlingua", "redis-server", "postgres-server"}:
        sys.exit(f"no probe for the extras {sorted(untried)}")
    with tempfile.TemporaryDirectory() as folder:
        temp = Path(folder)
        wheel = build(given.out, temp)
        sdist = given.out / wheel.name.replace("-py3-none-any.whl", ".tar.gz")
        look_into(wheel, sdist)
        say(f"   {wheel.name} {wheel.stat().st_size / 1e3:.0f} kB, {sdist.name} {sdist.stat().st_size / 1e3:.0f} kB")
        for extra in given.extras.split(","):
            try_out(wheel, extra, temp)


if __name__ == "__main__":
    main()
