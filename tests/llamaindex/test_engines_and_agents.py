from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.tools import FunctionTool

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


def test_a_history_given_to_an_engine_replaces_what_it_shows(
    chat: HybridChatMemory, scripted: Scripted, store: HybridMemory
) -> None:
    engine = SimpleChatEngine.from_defaults(llm=scripted("ok"), memory=chat)
    given = [ChatMessage(role="user", content="one"), ChatMessage(role="assistant", content="two")]

    engine.chat("three", chat_history=given)
    engine.chat("five", chat_history=engine.chat_history)

    assert [text for _, text in texts(engine.chat_history)] == ["one", "two", "three", "ok", "five", "ok"]
    assert len(store.scoped(user="alice").history()) == 6


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def asks_for_the_weather(*cities: str) -> ChatMessage:
    return ChatMessage(
        role="assistant",
        blocks=[
            TextBlock(text="Let me look."),
            *(
                ToolCallBlock(tool_call_id=f"call-{city}", tool_name="weather", tool_kwargs={"city": city})
                for city in cities
            ),
        ],
    )


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


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
async def test_a_react_agent_with_a_system_prompt_keeps_the_instructions_of_a_conversation(
    chat: HybridChatMemory, scripted: Scripted
) -> None:
    opening = [ChatMessage(role="system", content="Answer in German.")]
    llm = scripted(REACT.format("Ja."))

    await ReActAgent(llm=llm, tools=[weather], system_prompt="Be kind.").run("Hm?", memory=chat, chat_history=opening)

    react, instructions, asked = texts(llm.seen[0])
    assert "Be kind." in str(react[1])
    assert instructions == ("system", "Answer in German.")
    assert asked == ("user", "Hm?")


async def test_an_agent_reads_on_with_the_tool_of_its_memory(store: HybridMemory, scripted: Scripted) -> None:
    chat = HybridChatMemory.from_defaults(user="alice", session="s1", memory=store, token_limit=1500)
    rows = "\n".join(f"{number}: rain in town number {number}" for number in range(2000))
    read = ToolCallBlock(tool_call_id="r", tool_name="memory_fetch", tool_kwargs={"handle": "#5", "where": "1410-1414"})
    asks = asks_for_the_weather("all towns")
    llm = scripted(asks, "Rain.", ChatMessage(role="assistant", blocks=[read]), "Rain in 1412 too.")

    def report(city: str) -> str:
        return rows

    own = FunctionTool.from_defaults(report, name="weather")
    agent = FunctionAgent(llm=llm, tools=[own, *chat.tools()])
    await agent.run("How is the weather everywhere?", memory=chat)
    await agent.run("And in 1412?", memory=chat)

    assert llm.seen[1][-1].content == rows, "before the model has read it"
    assert 'memory_fetch("#5", ' in "".join(str(message.content) for message in llm.seen[2])
    assert "1412: rain in town number 1412" in str(llm.seen[3][-1].content)


async def test_images_and_documents_stay_as_they_are(
    store: HybridMemory, chat: HybridChatMemory, scripted: Scripted
) -> None:
    about_the_cat(store)
    blocks = [
        TextBlock(text="Is this my cat?"),
        ImageBlock(image=b"aGVsbG8=", image_mimetype="image/png", detail="low"),
        DocumentBlock(data=b"aGVsbG8=", document_mimetype="application/pdf", title="cat.pdf"),
    ]
    llm = scripted("Yes.", "Pixel.")
    agent = FunctionAgent(llm=llm, tools=[FunctionTool.from_defaults(weather)])

    await agent.run(ChatMessage(role="user", blocks=blocks), memory=chat)
    await agent.run("What is it called?", memory=chat)

    for seen in llm.seen:
        note, *said = seen[0].blocks
        assert "My cat is called Pixel." in note.text
        assert said == blocks


async def test_an_agent_without_call_ids_keeps_its_pairs(chat: HybridChatMemory, scripted: Scripted) -> None:
    call = ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_name="weather", tool_kwargs={"city": "Bern"})])
    agent = FunctionAgent(llm=scripted(call, "Rain."), tools=[FunctionTool.from_defaults(weather)])
    await agent.run("weather?", memory=chat)

    assert [message.role.value for message in await chat.aget()] == ["user", "assistant", "tool", "assistant"]
