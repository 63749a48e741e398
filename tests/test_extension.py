"""A package of somebody else is installed: its parts pass the shipped suites, and are found by their names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "extension"
ROOT = Path(__file__).parents[1]

PARTS = ("engine", "extractor", "strategy", "ranker")

USES = """
from hybrid_memory import CompactionConfig, LearningConfig, MemoryConfig, RecallConfig, open_memory

config = MemoryConfig(
    url="jsonl:///log.jsonl", embedder="hashing", compaction=CompactionConfig(strategy="headlines"),
    learning=LearningConfig(extractor="german"), recall=RecallConfig(ranker="in-order"),
)
with open_memory(config) as memory:
    jana = memory.scoped(user="jana", session="s1")
    jana.remember(["Ich heiße Jana. Guten Tag.", "Ich wohne jetzt in Bremen!", "Der Zug fährt um neun."])
    jana.remember("Na gut.", role="assistant")
    assert {(fact.attribute, fact.value) for fact in jana.facts()} == {("name", "Jana"), ("home", "Bremen")}
    jana.compact(keep=1)
    assert [line.text for line in jana.summary().lines] == ["Ich heiße Jana.", "Ich wohne jetzt in Bremen!"]
with open_memory(config) as memory:
    jana = memory.scoped(user="jana", session="s2")
    first = jana.recall("wohne Bremen", kinds=["turn"])[0]
    assert (first.record.text, first.reranker) == ("Ich wohne jetzt in Bremen!", "in-order")
    memory.scoped(user="jana").forget(query="Bremen")
    assert len(jana.facts()) == 1
assert "Bremen" not in open("log.jsonl", encoding="utf-8").read()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process in which the package is installed."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(PACKAGE, source, dirs_exist_ok=True)  # a build leaves files beside it
    subprocess.run([*pip, str(source)], check=True, timeout=120)  # noqa: S603 - our own package
    paths = [str(folder), str(ROOT / "packages"), str(ROOT / "core"), str(ROOT)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def test_it_passes_the_shipped_suites(installed: dict[str, str]) -> None:
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(PACKAGE / "contracts.py"),
    ]  # fmt: skip
    done = subprocess.run(command, env=installed, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout[-3000:]


def test_its_parts_are_found_by_their_names(installed: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", USES], env=installed, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_it_is_short() -> None:
    files = [file for file in PACKAGE.rglob("*") if file.suffix in {".py", ".toml"}]
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) < 300


def test_the_tutorial_shows_or_names_its_files() -> None:
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    for name in ("pyproject.toml", "contracts.py", *(f"hybrid_memory_example/{part}.py" for part in PARTS)):
        assert (PACKAGE / name).is_file()
        assert f"<!-- make: source {name} -->" in page or f"`{Path(name).name}" in page, name
