"""How large the code is: a ceiling falls with a change that makes it smaller, and rises for a new promise alone."""

from pathlib import Path

import pytest

import hybrid_memory
from hybrid_memory import ScopedMemory, open_memory
from tests.measuring_size import Entered, Size, entered, modules, private_functions_used_once, size

PARTS = {
    ("core",): Size(39_895, 182),
    ("langchain_hybrid_memory", "llamaindex_hybrid_memory", "hybrid_memory_hosts"): Size(6_286, 39),
    ("packages",): Size(5_494, 30),
    ("tests",): Size(32_980, 228),
    ("benchmarks",): Size(11_960, 99),
}
USED_ONCE = 0.298
RECALL = Entered(248, 42)
ASSEMBLE = Entered(465, 64)
VERBS, ROOT = 50, 49


@pytest.mark.parametrize("folders", PARTS, ids="-".join)
def test_lines_and_files(folders: tuple[str, ...]) -> None:
    ceiling, now = PARTS[folders], size(*folders)
    assert now.lines <= ceiling.lines
    assert now.files <= ceiling.files


def test_private_functions_used_once() -> None:
    assert private_functions_used_once(modules("core")) <= USED_ONCE


def test_public_names() -> None:
    assert sum(not name.startswith("_") for name in dir(ScopedMemory)) <= VERBS
    assert len(hybrid_memory.__all__) <= ROOT


def test_functions_that_the_warm_verbs_enter(tmp_path: Path) -> None:
    package = str(Path(hybrid_memory.__file__).parent)
    with open_memory(f"sqlite:///{tmp_path}/memory.db", embedder="hashing") as memory:
        user = memory.scoped(user="mei", session="now")
        user.remember([f"Note {number}: I live in town {number % 9} and like tea {number}." for number in range(40)])
        memory.flush()
        user.recall("where do I live?")
        user.assemble("what tea do I like?", max_tokens=800)
        recall = entered(lambda: user.recall("what kind of tea do I like best?", k=5), package)
        assemble = entered(lambda: user.assemble("do I like tea?", max_tokens=800), package)

    assert 0 < recall.functions <= RECALL.functions
    assert recall.files <= RECALL.files
    assert assemble.functions <= ASSEMBLE.functions
    assert assemble.files <= ASSEMBLE.files
