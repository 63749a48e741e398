"""What importing the adapters loads, and what is said where a framework is missing."""

import subprocess
import sys

import pytest

from tests.doubles import PATIENCE

PACKAGES = ("langchain_hybrid_memory", "llamaindex_hybrid_memory")
FRAMEWORKS = "{'langchain_core', 'langchain_classic', 'langchain', 'langgraph', 'llama_index.core'}"


def run(code: str) -> None:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603 - our own code
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", [*PACKAGES, "llama_index.memory.hybrid"])
def test_a_package_itself_loads_no_framework(package: str) -> None:
    run(f"import sys, {package}; assert not {FRAMEWORKS} & set(sys.modules)")


def test_a_name_loads_what_it_needs_alone() -> None:
    run(
        "import sys\n"
        "from langchain_hybrid_memory import from_langchain, to_langchain\n"
        "assert not {'langchain_classic', 'langchain_core.chat_history'} & set(sys.modules)\n"
        "from langchain_hybrid_memory import HybridChatMessageHistory\n"
        "assert 'langchain_classic' not in sys.modules"
    )


@pytest.mark.parametrize(
    ("module", "missing", "named"),
    [
        ("langchain_hybrid_memory", "langchain_core", ("langchain-core", "langchain")),
        ("langchain_hybrid_memory", "langchain_classic", ("langchain-classic", "langchain")),
        ("llamaindex_hybrid_memory", "llama_index.core", ("llama-index-core", "llamaindex")),
        ("llama_index.memory.hybrid", "llama_index.core", ("llama-index-core", "llamaindex")),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module: str, missing: str, named: tuple[str, str]) -> None:
    run(
        "import importlib, sys\n"
        f"sys.modules[{missing!r}] = None\n"
        "from hybrid_memory.errors import MissingDependencyError\n"
        "try:\n"
        f"    importlib.import_module({module!r}).HybridChatMemory\n"
        "except MissingDependencyError as error:\n"
        f"    assert (error.package, error.extra) == {named!r}\n"
        "else:\n"
        "    raise SystemExit('nothing was raised')"
    )
