"""One conversation through the adapters of both frameworks."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock

from hybrid_memory import HybridMemory
from langchain_hybrid_memory import HybridChatMessageHistory
from llamaindex_hybrid_memory import HybridChatMemory

TURNS: list[tuple[BaseMessage, ChatMessage]] = [
    (HumanMessage("Wie ist das Wetter in 北京?"), ChatMessage(role="user", content="Wie ist das Wetter in 北京?")),
    (
        AIMessage("Let me look.", tool_calls=[{"name": "weather", "args": {"city": "北京"}, "id": "c1"}]),
        ChatMessage(
            role="assistant",
            blocks=[
                TextBlock(text="Let me look."),
                ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "北京"}),
            ],
        ),
    ),
    (
        ToolMessage("12 degrees", tool_call_id="c1", name="weather"),
        ChatMessage(role="tool", content="12 degrees", additional_kwargs={"tool_call_id": "c1"}),
    ),
    (AIMessage("12 degrees."), ChatMessage(role="assistant", content="12 degrees.")),
    (HumanMessage("Thank you."), ChatMessage(role="user", content="Thank you.")),
]


def test_each_reads_what_the_other_wrote(memory: HybridMemory) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    chat = HybridChatMemory.from_defaults(user="alice", session="s1", memory=memory, k=0)

    history.add_messages([langchain for langchain, _ in TURNS])

    expected = [llama.model_copy(deep=True) for _, llama in TURNS]
    expected[2].additional_kwargs["name"] = "weather"  # LangChain's tools say who they are
    assert chat.get_all() == chat.get() == expected
    chat.set(chat.get_all()[:4])
    assert history.messages == [langchain for langchain, _ in TURNS[:4]]
