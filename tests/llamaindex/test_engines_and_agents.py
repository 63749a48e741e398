from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    MessageRole,
)
from llama_index.core.chat_engine import SimpleChatEngine

from hybrid_memory import HybridMemory
from llamaindex_hybrid_memory import HybridChatMemory

Scripted = Callable[..., Any]


def texts(messages: list[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in messages]


def spoken(messages: list[ChatMessage]) -> list[tuple[str, str | None]]:
    """As they were said: without what was recalled for them."""
    return [(role, (text or "").rpartition("\n\n")[2]) for role, text in texts(messages)]


def about_the_cat(store: HybridMemory) -> None:
    """What the user said in an earlier session."""
    earlier = HybridChatMemory.from_defaults(user="alice", session="earlier", memory=store)
    earlier.put_messages(
        [
            ChatMessage(role="user", content="My cat is called Pixel."),
            ChatMessage(role="assistant", content="A nice name."),
        ]
    )


@pytest.mark.parametrize("face", ["chat", "achat", "stream_chat", "astream_chat"])
async def test_simple_chat_engine(face: str, store: HybridMemory, chat: HybridChatMemory, scripted: Scripted) -> None:
    about_the_cat(store)
    llm = scripted("It is Pixel.", "Yes.")
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=chat)

    for question in ("What is my cat called?", "Are you sure?"):
        if face == "chat":
            engine.chat(question)
        elif face == "achat":
            await engine.achat(question)
        elif face == "stream_chat":
            list(engine.stream_chat(question).response_gen)
        else:
            [token async for token in (await engine.astream_chat(question)).async_response_gen()]

    first, second = llm.seen
    assert "My cat is called Pixel." in first[0].content
    assert spoken(first) == [("user", "What is my cat called?")]
    said = [("user", "What is my cat called?"), ("assistant", "It is Pixel."), ("user", "Are you sure?")]
    assert spoken(second) == said
    assert second[0] == first[0]
    assert texts(engine.chat_history) == [*said, ("assistant", "Yes.")]
    engine.reset()
    assert engine.chat_history == []


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


REACT = "Thought: I can answer without using any more tools.\nAnswer: {}"


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
async def test_a_react_agent_loses_neither_profile_nor_summary(store: HybridMemory, scripted: Scripted) -> None:
    whose: dict[str, Any] = {"user": "alice", "session": "s1", "memory": store, "token_limit": 400}
    chat = HybridChatMemory.from_defaults(**whose, profile="Alice is a nurse.")
    chat.put(ChatMessage(role="user", content="We decided to paint the house blue."))
    for number in range(40):
        chat.put(ChatMessage(role="assistant", content=f"It is {number}."))
        chat.put(ChatMessage(role="user", content=f"What is {number} plus one?"))
    llm = scripted(REACT.format("Blue."))

    await ReActAgent(llm=llm, tools=[weather]).run("Which colour did we decide on?", memory=chat)

    first = llm.seen[0][1]
    assert first.role is MessageRole.USER
    profile, _, behind = str(first.content).partition("</user_profile>")
    assert profile.endswith("\nAlice is a nurse.\n")
    assert "paint the house blue" in behind.partition("</summary>")[0].partition("<summary>")[2]
