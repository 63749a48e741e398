from __future__ import annotations

import subprocess
import sys

import pytest

import langchain_hybrid_memory


def run(code: str) -> None:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert done.returncode == 0, done.stderr


def test_a_name_loads_what_it_needs_alone() -> None:
    run(
        "import sys, langchain_hybrid_memory\n"
        "there = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not there & {'langchain_core', 'langchain_classic', 'langchain', 'langgraph'}\n"
        "from langchain_hybrid_memory import from_langchain, to_langchain\n"
        "assert not {'langchain_classic', 'langchain_core.chat_history'} & set(sys.modules)\n"
        "from langchain_hybrid_memory import HybridChatMessageHistory\n"
        "assert 'langchain_classic' not in sys.modules"
    )


def test_only_langchain_warns_and_of_its_chain_alone() -> None:
    run(
        "import asyncio, warnings\n"
        "with warnings.catch_warnings(record=True) as told:\n"
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
        "assert ['ConversationChain' in str(one.message) for one in told] == [True], told"
    )


@pytest.mark.parametrize("missing", ["langchain_core", "langchain_classic"])
def test_a_missing_package_is_named_with_its_extra(missing: str) -> None:
    run(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import langchain_hybrid_memory\n"
        "from hybrid_memory.errors import MissingDependencyError\n"
        "try:\n"
        "    langchain_hybrid_memory.HybridChatMemory\n"
        "except MissingDependencyError as error:\n"
        f"    assert (error.package, error.extra) == ({missing.replace('_', '-')!r}, 'langchain')\n"
        "else:\n"
        "    raise SystemExit('nothing was raised')"
    )


def test_names_are_found_as_in_any_module() -> None:
    assert set(dir(langchain_hybrid_memory)) == set(langchain_hybrid_memory.__all__)
    assert [getattr(langchain_hybrid_memory, name).__name__ for name in langchain_hybrid_memory.__all__] == [
        *langchain_hybrid_memory.__all__
    ]
    with pytest.raises(AttributeError, match="no attribute 'HybridSomething'"):
        _ = langchain_hybrid_memory.HybridSomething  # type: ignore[attr-defined]
