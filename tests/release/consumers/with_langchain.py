"""A program of somebody who uses the library with LangChain, and checks types strictly; it also runs."""

from typing import assert_type

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from langchain_hybrid_memory import (
    HybridChatMemory,
    HybridChatMessageHistory,
    HybridMemoryMiddleware,
    HybridMemoryRetriever,
    HybridMemoryStore,
    memory_tools,
)


def main(memory: HybridMemory) -> None:
    """Everything that an application gives to LangChain."""
    tools = memory_tools(memory, user="alice")
    assert_type(tools, list[BaseTool])
    assert_type(HybridMemoryMiddleware(memory, user="alice", session="s1"), HybridMemoryMiddleware)
    retriever = HybridMemoryRetriever(memory=memory, user="alice", k=3)
    assert_type(retriever.invoke("Where do I live?"), list[Document])
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    assert_type(history.messages, list[BaseMessage])
    store: BaseStore = HybridMemoryStore(memory)
    store.put(("alice",), "key", {"text": "hello"})
    chat = HybridChatMemory(memory=memory, user="alice", session="s1")
    chat.save_context({"input": "I live in Rome."}, {"output": "Noted."})


if __name__ == "__main__":
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as made:
        main(made)
