from __future__ import annotations

import subprocess
import sys

import pytest

import llamaindex_hybrid_memory


def python(script: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_itself_needs_no_framework() -> None:
    assert python("import sys, llamaindex_hybrid_memory; print('llama_index.core' in sys.modules)") == "False\n"


def test_a_missing_llama_index_names_the_extra() -> None:
    script = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llama_index":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from hybrid_memory.errors import MissingDependencyError
try:
    from llamaindex_hybrid_memory import HybridChatMemory
except MissingDependencyError as error:
    print(error.extra, error)
"""
    expected = "llamaindex llama-index-core is not installed: pip install 'hybrid-agent-memory[llamaindex]'\n"
    assert python(script) == expected


@pytest.mark.parametrize("name", llamaindex_hybrid_memory.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert name in dir(llamaindex_hybrid_memory)
    assert getattr(llamaindex_hybrid_memory, name).__doc__


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        llamaindex_hybrid_memory.Nonsense  # type: ignore[attr-defined]  # noqa: B018 - reading it is the point
