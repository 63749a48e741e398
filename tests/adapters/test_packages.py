"""What importing the adapters loads, and what is said where a framework is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import hybrid_memory
from hybrid_memory.errors import MissingDependencyError
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


def test_only_langchain_warns_and_of_its_chain_alone() -> None:
    run(
        "import asyncio, warnings\n"
        "with warnings.catch_warnings(record=True) as warned:\n"
        "    warnings.simplefilter('always')\n"
        "    from langchain_classic.chains import ConversationChain\n"
        "    from langchain_core.language_models import FakeListLLM\n"
        "    from hybrid_memory import MemoryConfig, open_memory\n"
        "    from langchain_hybrid_memory import HybridChatMemory, migration\n"
        "    memory = open_memory(MemoryConfig(url='memory://', embedder='hashing'))\n"
        "    llm = FakeListLLM(responses=['x'])\n"
        "    old = [getattr(migration, name)(llm=llm) for name in migration.__all__]\n"
        "    for chat in [HybridChatMemory(memory=memory, user='alice', session='s1'), *old]:\n"
        "        chat.save_context({'input': 'I keep bees'}, {'output': 'b'})\n"
        "        assert 'bees' in chat.load_memory_variables({'input': 'bees'})['history']\n"
        "        asyncio.run(chat.asave_context({'input': 'I keep cats'}, {'output': 'b'}))\n"
        "        assert 'cats' in asyncio.run(chat.aload_memory_variables({'input': 'cats'}))['history']\n"
        "        chat.clear()\n"
        "    chain = ConversationChain(llm=llm, memory=HybridChatMemory(memory=memory, user='bob', session='s1'))\n"
        "    assert chain.invoke({'input': 'a'})['response'] == 'x'\n"
        "assert ['ConversationChain' in str(one.message) for one in warned] == [True], warned"
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


def importable(module: ModuleType, name: str) -> bool:
    """False only for the backend of deep agents, which want a newer LangChain than the oldest that we admit."""
    try:
        return bool(getattr(module, name))
    except MissingDependencyError:
        if name != "HybridMemoryBackend":
            raise
        return False


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_found_as_in_any_module(package: str) -> None:
    module = import_module(package)
    assert set(dir(module)) == set(module.__all__)
    named = [name for name in module.__all__ if name != "__version__" and importable(module, name)]
    assert [getattr(module, name).__name__ for name in named] == named
    assert all(getattr(module, name).__doc__ for name in named)
    assert module.__version__ == hybrid_memory.__version__
    with pytest.raises(AttributeError, match="no attribute 'HybridSomething'"):
        _ = module.HybridSomething
