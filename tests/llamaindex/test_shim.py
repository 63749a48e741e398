"""The name under which LlamaIndex users look for a memory, beside what others ship there."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

import llamaindex_hybrid_memory

ROOT = Path(__file__).parents[2]
HUB = tomllib.loads((ROOT / "packages/llama-index-memory-hybrid/pyproject.toml").read_text(encoding="utf-8"))
SHIM = "llama_index.memory.hybrid"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder that holds the memory of somebody else's distribution."""
    package = tmp_path / "other" / "llama_index" / "memory" / "other"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class OtherMemory: ...\n", encoding="utf-8")
    return tmp_path / "other"


def test_the_shared_folders_are_nobodys() -> None:
    assert [path.name for path in (ROOT / "llama_index").rglob("__init__.py")] == ["__init__.py"]
    assert (ROOT / "llama_index/memory/hybrid/__init__.py").is_file()
    assert (ROOT / "llama_index/memory/hybrid/py.typed").is_file()


def test_it_stands_beside_another_integration_in_an_editable_install(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(other)
    theirs = importlib.import_module("llama_index.memory.other")
    assert Path(str(theirs.__file__)).is_relative_to(other)
    ours = importlib.reload(importlib.import_module(SHIM))
    assert Path(str(ours.__file__)).is_relative_to(ROOT)
    assert issubclass(ours.HybridChatMemory, importlib.import_module("llama_index.core.memory").BaseMemory)


def test_it_has_the_public_names_and_no_others() -> None:
    shim = importlib.import_module(SHIM)
    assert dir(shim) == dir(llamaindex_hybrid_memory) == sorted(shim.__all__)
    for name in llamaindex_hybrid_memory.__all__:
        assert getattr(shim, name) is getattr(llamaindex_hybrid_memory, name)
    names: dict[str, object] = {}
    exec(f"from {SHIM} import *", names)  # noqa: S102 - as a user would
    assert set(shim.__all__) <= set(names)
    with pytest.raises(AttributeError, match="Nonsense"):
        shim.Nonsense  # noqa: B018 - reading it is the point


def test_llamahub_is_told_where_it_is() -> None:
    hub = HUB["tool"]["llamahub"]
    module = importlib.import_module(hub["import_path"])
    for name in hub["class_authors"]:
        assert isinstance(getattr(module, name), type)
