"""What a model is told of the arguments of a tool."""

from __future__ import annotations

import pytest

import langchain_hybrid_memory as lc
import llamaindex_hybrid_memory as li
from hybrid_memory import HybridMemory


@pytest.mark.parametrize("tool", range(6))
def test_the_arguments_of_a_tool_are_seen(memory: HybridMemory, tool: int) -> None:
    theirs = lc.memory_tools(memory, user="ann")[tool]
    ours = li.HybridMemoryToolSpec(memory=memory, user="ann").to_tool_list()[tool]
    schema = ours.metadata.get_parameters_dict()["properties"]
    assert list(theirs.args) == list(schema)
    assert all("description" in argument for argument in schema.values())
    assert f"{theirs.name}({', '.join(schema)})" in repr(ours)
