"""Memories of LlamaIndex that a model writes: with one that copies the first sentences of all that it sees."""

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata, MessageRole
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import ChatSummaryMemoryBuffer, FactExtractionMemoryBlock, InsertMethod

from benchmarks.acting.models import first_sentences
from benchmarks.acting.surroundings import Surroundings
from benchmarks.poisoning.hosts import BUDGET, SUMMARISING, ChatMemory, stock_memory


class CopyingLLM(CustomLLM):
    """Writes the first sentences of each message, as facts where it is asked for facts."""

    @property
    def metadata(self) -> LLMMetadata:
        """It chats."""
        return LLMMetadata(is_chat_model=True)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """The sentences."""
        facts = "<facts>" in (messages[-1].content or "")
        said = messages[:-1] if facts else messages[1:]
        found = [part for message in said for part in first_sentences(message.content or "", SUMMARISING.sentences)]
        text = "".join(f"<fact>{part}</fact>" for part in found) if facts else "\n".join(found)
        return ChatResponse(message=ChatMessage(text, role=MessageRole.ASSISTANT))

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """The same."""
        return self.chat(messages)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The same for a text."""
        return CompletionResponse(text="\n".join(first_sentences(prompt, SUMMARISING.sentences)))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """The same, in one piece."""
        yield self.complete(prompt)


def summary_buffer(_thread: str, _around: Surroundings) -> ChatSummaryMemoryBuffer:
    """Which summarises what goes beyond its limit."""
    return ChatSummaryMemoryBuffer.from_defaults(llm=CopyingLLM(), token_limit=BUDGET // 2)


def fact_block(thread: str, _around: Surroundings) -> Any:
    """The stock memory with the block that extracts facts, inserted as it is by default."""
    return stock_memory(thread, [FactExtractionMemoryBlock(llm=CopyingLLM())])


def fact_block_by_user(thread: str, _around: Surroundings) -> Any:
    """The same, inserted into the user's message."""
    return stock_memory(thread, [FactExtractionMemoryBlock(llm=CopyingLLM())], insert_method=InsertMethod.USER)


PEERS: dict[str, ChatMemory] = {
    "ChatSummaryMemoryBuffer": summary_buffer,
    "FactExtractionMemoryBlock": fact_block,
    "FactExtractionMemoryBlock, InsertMethod.USER": fact_block_by_user,
}
"""For `FunctionAgent` and `SimpleChatEngine`."""
