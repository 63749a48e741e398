"""A program of somebody who uses the library with LlamaIndex, and checks types strictly; it also runs."""

from typing import assert_type

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import NodeWithScore

from hybrid_memory import HybridMemory, MemoryConfig, Message, open_memory
from llamaindex_hybrid_memory import HybridChatMemory, HybridMemoryRetriever, from_chat_message


def main(memory: HybridMemory) -> None:
    """Everything that an application gives to LlamaIndex."""
    chat: BaseMemory = HybridChatMemory.from_defaults(memory=memory, user="alice", session="s1")
    chat.put(ChatMessage(role="user", content="I live in Rome."))
    assert_type(chat.get("Where do I live?"), list[ChatMessage])
    retriever = HybridMemoryRetriever(memory=memory, user="alice", similarity_top_k=3)
    assert_type(retriever.retrieve("Where do I live?"), list[NodeWithScore])
    assert_type(from_chat_message(ChatMessage(content="hello")), Message)


if __name__ == "__main__":
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as made:
        main(made)
