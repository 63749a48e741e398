"""Agents and chat engines whose model pages its memory itself; the models read nothing but their prompts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from pydantic import Field

from hybrid_memory import HybridMemory
from hybrid_memory.context.layout import SUMMARY_HEADINGS
from hybrid_memory_paging import MEMORY
from llamaindex_hybrid_memory import HybridChatMemory, HybridMemoryToolSpec
from tests.llamaindex.conftest import OneNode, ScriptedLLM, calls, orphans, tokens
from tests.llamaindex.test_paging_memory import LIMIT, WARNED, fact, folds, paged, warned

SUMMARY_HEADING = SUMMARY_HEADINGS["en"]


Shown = Sequence[ChatMessage]
PAGES = 5
SAVED = "saved before a flush"


class Policy(ScriptedLLM):
    """Answers what a function makes of the prompt."""

    replies: list[ChatMessage] = Field(default_factory=list)
    think: Callable[[Shown], ChatMessage]

    def chat(self, messages: Shown, **kwargs: Any) -> ChatResponse:
        self.seen.append([message.model_copy(deep=True) for message in messages])
        reply = self.think(messages)
        return ChatResponse(message=reply, delta=reply.content or "")


def said(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def called(message: ChatMessage) -> list[str]:
    return [block.tool_name for block in message.blocks if isinstance(block, ToolCallBlock)]


class Keeper:
    """Saves when it is warned, notes names, and looks for what is not in its prompt, page by page."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, shown: Shown) -> ChatMessage:
        rows = range(len(shown))
        alarm = max((row for row in rows if WARNED in (shown[row].content or "")), default=None)
        if alarm is not None and not any("core_memory_append" in called(shown[row]) for row in rows[alarm:]):
            return self._calls(("core_memory_append", {"label": "persona", "content": SAVED}))
        asked = max(row for row in rows if shown[row].role == "user" and "<system>" not in (shown[row].content or ""))
        words = shown[asked].content or ""
        if name := re.match(r"My name is (\w+)\.", words):
            if any(f"Name: {name[1]}" in (one.content or "") for one in shown[1:3]):
                return said(f"Hello {name[1]}!")
            return self._calls(("core_memory_append", {"label": "human", "content": f"Name: {name[1]}"}))
        if box := re.match(r"How many apples are in box (\d+)\?", words):
            known = re.search(rf"Box {box[1]} in the cellar holds (\d+)", "\n".join(one.content or "" for one in shown))
            if known:
                return said(f"{known[1]} apples.")
            page = sum("conversation_search" in called(one) for one in shown[asked:])
            query = {"query": words, "page": page}
            return self._calls(("conversation_search", query)) if page < PAGES else said("I do not know.")
        return said("I see. Thank you for telling me all of that.")

    def _calls(self, *wanted: tuple[str, dict[str, Any]]) -> ChatMessage:
        self.number += len(wanted)
        return calls(*wanted, start=self.number)


def agent_of(memory: HybridMemory, llm: ScriptedLLM, *, user: str = "alice", **settings: Any) -> FunctionAgent:
    tools = HybridMemoryToolSpec(memory=memory, user=user, session="s1", paging=True, token_limit=LIMIT, **settings)
    return FunctionAgent(llm=llm, tools=[*tools.to_tool_list()], system_prompt="Be brief.")


async def ask(agent: FunctionAgent | ReActAgent, words: str, chat: HybridChatMemory) -> Any:
    return await agent.run(words, memory=chat)


async def test_an_agent_lives_through_a_long_conversation(store: HybridMemory) -> None:
    llm, chat = Policy(think=Keeper()), paged(store)
    agent = agent_of(store, llm)
    with blockbuster_ctx():
        hello = await ask(agent, "My name is Ada.", chat)
        for number in range(32):
            await ask(agent, fact(number)[0].content or "", chat)
        shown = "\n".join(one.content or "" for one in llm.seen[-1])
        gone = next(number for number in range(32) if f"Box {number} in" not in shown)
        answer = await ask(agent, f"How many apples are in box {gone}?", chat)
        greeting = await ask(agent, "My name is Ada.", chat)

    assert str(hello) == str(greeting) == "Hello Ada!"
    assert str(answer) == f"{7 * gone} apples."
    assert "conversation_search" in [call.tool_name for call in answer.tool_calls]
    # Every warning was seen, and each once: the model saved something for each.
    blocks = store.scoped(user="alice").blocks()
    assert blocks["persona"].value.splitlines() == [SAVED] * len(warned(store))
    assert folds(store) >= 3
    assert len(warned(store)) in (folds(store), folds(store) + 1)
    assert blocks["human"].value == "Name: Ada"
    for prompt in llm.seen:
        assert not orphans(prompt)
        (system,) = (one.content for one in prompt if one.role == "system" and one.content != "Be brief.")
        assert MEMORY in (system or "")
    round_tokens = 200  # what the agent itself adds: its system prompt, the calls of the round and their results
    assert max(map(tokens, llm.seen)) <= LIMIT + round_tokens
    assert sum(WARNED in (one.content or "") for one in await chat.aget_all()) == 0
    assert len([one for one in await chat.aget_all() if one.role == "user"]) == 35


def simple(llm: ScriptedLLM, memory: HybridChatMemory) -> Any:
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory)


def with_context(llm: ScriptedLLM, memory: HybridChatMemory) -> Any:
    return ContextChatEngine.from_defaults(retriever=OneNode(), llm=llm, memory=memory)


def condensing(llm: ScriptedLLM, memory: HybridChatMemory) -> Any:
    return CondensePlusContextChatEngine.from_defaults(OneNode(), llm=llm, memory=memory, skip_condense=True)


@pytest.mark.parametrize(
    ("make", "face"), [(simple, "async"), (with_context, "sync"), (with_context, "async"), (condensing, "sync")]
)
def test_a_chat_engine_shows_blocks_summary_and_warnings(
    make: Callable[..., Any], face: str, store: HybridMemory
) -> None:
    store.scoped(user="alice").block("task").put("Count the apples.")
    llm = Policy(think=lambda _: said("I see. Thank you for telling me all of that."))
    chat = paged(store, token_limit=800)
    engine = make(llm, chat)
    questions = [fact(number)[0].content or "" for number in range(20)]
    if face == "sync":
        for question in questions:
            engine.chat(question)
    else:

        async def talk() -> None:
            for question in questions:
                await engine.achat(question)

        asyncio.run(talk())

    assert len(llm.seen) == len(questions)
    for question, prompt in zip(questions, llm.seen, strict=True):
        text = "\n".join(one.content or "" for one in prompt)
        assert text.count("Count the apples.") == 1
        assert text.count(question) == 1
    assert folds(store) >= 1
    assert any(SUMMARY_HEADING in (one.content or "") for one in llm.seen[-1])
    assert any(WARNED in (one.content or "") for prompt in llm.seen for one in prompt)
    assert [one.content for one in engine.chat_history if one.role == "user"] == questions
