"""What a notebook draws of the memories of both frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

import langchain_hybrid_memory as lc
import llamaindex_hybrid_memory as li
from hybrid_memory import HybridMemory


@pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
def test_a_chat_memory_shows_the_newest_turns_of_its_session(memory: HybridMemory, framework: str) -> None:
    memory.scoped(user="ann", session="monday").remember("I live in <b>Rome</b>.")
    memory.scoped(user="ann", session="friday").remember("I moved.")
    if framework == "langchain":
        drawn = lc.HybridChatMemory(memory=memory, user="ann", session="monday")._repr_html_()
    else:
        drawn = li.HybridChatMemory.from_defaults(memory=memory, user="ann", session="monday")._repr_html_()
    assert "I live in &lt;b&gt;Rome&lt;/b&gt;." in drawn
    assert "session=&#x27;monday&#x27;" in drawn
    assert "I moved." not in drawn


def test_a_store_that_nobody_opened_is_not_opened_to_be_drawn(tmp_path: Path) -> None:
    chat = li.HybridChatMemory.from_defaults(url=f"sqlite:///{tmp_path}/none.db", user="ann", session="monday")
    assert "none.db" in chat._repr_html_()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tool", range(6))
def test_the_arguments_of_a_tool_are_seen(memory: HybridMemory, tool: int) -> None:
    theirs = lc.memory_tools(memory, user="ann")[tool]
    ours = li.HybridMemoryToolSpec(memory=memory, user="ann").to_tool_list()[tool]
    schema = ours.metadata.get_parameters_dict()["properties"]
    assert list(theirs.args) == list(schema)
    assert all("description" in argument for argument in schema.values())
    assert f"{theirs.name}({', '.join(schema)})" in repr(ours)
