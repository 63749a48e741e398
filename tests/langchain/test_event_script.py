"""One script of events through every way in which LangChain is given a memory.

Two users with two sessions each, all at once: plain turns, parallel tool calls, a model that raises, a person who
writes between two results of tools, a restart. Nothing is orphaned, nothing reaches another user, nothing is lost.
"""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.chains import ConversationChain
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool

from hybrid_memory import HybridMemory, Role, ScopedMemory
from langchain_hybrid_memory import HybridChatMemory, HybridChatMessageHistory, HybridMemoryMiddleware

if TYPE_CHECKING:
    from tests.conftest import Open
    from tests.langchain.conftest import ScriptedChat

    Scripted = type[ScriptedChat]
    Orphans = Callable[[Sequence[BaseMessage]], list[str]]

CHATS = [(user, session) for user in ("ann", "ben") for session in ("s1", "s2")]
MAX_TOKENS = 1500
MARK = re.compile(r"(ann|ben)-(s1|s2)-(\w+)")


@tool
async def weather(city: str) -> str:
    """The weather in a city."""
    await asyncio.sleep(0)
    return f"sunny in {city}"


@tool("weather")
def weather_now(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def brain(prompt: list[BaseMessage], *, tools: bool) -> AIMessage:
    """Answers the last turn of the user that it is shown, by the mark in it."""
    asked = [message.text for message in prompt if message.type == "human"][-1]
    mark = list(MARK.finditer(asked))[-1].group()
    if f"Please raise, {mark}" in asked:
        raise ConnectionError(mark)
    if tools and prompt[-1].type == "human" and f"weather for {mark}" in asked:
        cities = [f"{city} of {mark}" for city in ("Rome", "Oslo")]
        calls = [{"name": "weather", "args": {"city": city}, "id": f"{mark}-{city[0]}"} for city in cities]
        return AIMessage("", tool_calls=calls)
    return AIMessage(f"Answer to {mark}.")


@dataclass(frozen=True)
class Chat:
    """One session of one user, through one host: asks and streams the answer; takes messages from elsewhere."""

    ask: Callable[[str], Iterator[Any]]
    aask: Callable[[str], AsyncIterator[Any]]
    feed: Callable[[list[Any]], object]
    afeed: Callable[[list[Any]], Awaitable[object]]


Host = Callable[[HybridMemory, str, str, Any, Any], Chat]


def agent(memory: HybridMemory, user: str, session: str, model: Any, asked: Any) -> Chat:
    made: Any = create_agent(
        model, [asked], middleware=[HybridMemoryMiddleware(memory, user=user, session=session, max_tokens=MAX_TOKENS)]
    )

    def given(text: str) -> Any:
        return {"messages": [HumanMessage(text)]}

    return Chat(
        lambda text: made.stream(given(text), stream_mode="messages"),
        lambda text: made.astream(given(text), stream_mode="messages"),
        lambda messages: made.invoke({"messages": messages}),
        lambda messages: made.ainvoke({"messages": messages}),
    )


def lcel(memory: HybridMemory, user: str, session: str, model: Any, asked: Any) -> Chat:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    log = HybridChatMessageHistory(memory, user=user, session=session)
    chain: Any = RunnableWithMessageHistory(
        prompt | model, lambda _: log, input_messages_key="input", history_messages_key="history"
    )
    config = {"configurable": {"session_id": session}}
    return Chat(
        lambda text: chain.stream({"input": text}, config),
        lambda text: chain.astream({"input": text}, config),
        log.add_messages,
        log.aadd_messages,
    )


def chain(memory: HybridMemory, user: str, session: str, model: Any, asked: Any) -> Chat:
    chat = HybridChatMemory(memory=memory, user=user, session=session, max_tokens=MAX_TOKENS)
    made: Any = ConversationChain(llm=model, memory=chat)
    return Chat(
        lambda text: made.stream({"input": text}),
        lambda text: made.astream({"input": text}),
        chat.chat_memory.add_messages,
        chat.chat_memory.aadd_messages,
    )


def executor(memory: HybridMemory, user: str, session: str, model: Any, asked: Any) -> Chat:
    prompt = ChatPromptTemplate.from_messages(
        [
            MessagesPlaceholder("chat_history"),
            ("human", "{input}"),
            MessagesPlaceholder("agent_scratchpad"),
        ]
    )
    owner: dict[str, Any] = {"memory": memory, "user": user, "session": session}
    chat = HybridChatMemory(memory_key="chat_history", return_messages=True, max_tokens=MAX_TOKENS, **owner)
    steps: Any = create_tool_calling_agent(model, [asked], prompt)
    made: Any = AgentExecutor(agent=steps, tools=[asked], memory=chat, return_intermediate_steps=True)

    async def invoked(text: str) -> AsyncIterator[Any]:
        yield await made.ainvoke({"input": text})  # its astream loads every memory on the loop, blocking

    return Chat(
        lambda text: made.stream({"input": text}),
        invoked,
        chat.chat_memory.add_messages,
        chat.chat_memory.aadd_messages,
    )


TOOLS = (agent, executor)
"""Hosts that run the tools that a model calls."""


def interrupted(mark: str) -> list[Any]:
    """A person writes while the second tool still runs."""
    calls: Any = [{"name": "weather", "args": {"city": city}, "id": f"{mark}-{city}"} for city in ("Bern", "Lima")]
    return [
        HumanMessage(f"Compare Bern and Lima, {mark}a"),
        AIMessage("", tool_calls=calls),
        ToolMessage(f"rain in Bern {mark}", tool_call_id=f"{mark}-Bern"),
        HumanMessage(f"And be quick, {mark}b"),
        ToolMessage(f"sun in Lima {mark}", tool_call_id=f"{mark}-Lima"),
    ]


BEFORE = ("I keep bees, {}one", "Tell me the weather for {}two", "Please raise, {}three")
AFTER = ("Do I keep bees? {}four", "Once more the weather for {}five")


def run(chats: Sequence[Chat], turns: Sequence[str], *, feed: bool, asynchronous: bool) -> None:
    """All chats at once, each its turns one after the other."""

    def blocking(row: int) -> None:
        for turn in turns:
            with suppress(ConnectionError):
                list(chats[row].ask(turn.format(f"{'-'.join(CHATS[row])}-")))
        if feed:
            chats[row].feed(interrupted(f"{'-'.join(CHATS[row])}-fed"))

    async def on_the_loop(row: int) -> None:
        for turn in turns:
            with suppress(ConnectionError):
                async for _ in chats[row].aask(turn.format(f"{'-'.join(CHATS[row])}-")):
                    pass
        if feed:
            await chats[row].afeed(interrupted(f"{'-'.join(CHATS[row])}-fed"))

    async def all_at_once() -> None:
        await asyncio.gather(*map(on_the_loop, range(len(chats))))

    if asynchronous:
        with blockbuster_ctx():
            asyncio.run(all_at_once())
    else:
        with ThreadPoolExecutor() as pool:
            list(pool.map(blocking, range(len(chats))))


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
@pytest.mark.parametrize("host", [agent, lcel, chain, executor])
def test_one_script_of_events(
    host: Host, asynchronous: bool, opened: Open, scripted: Scripted, orphans: Orphans
) -> None:
    model = scripted(answer=partial(brain, tools=host in TOOLS))
    for turns, feed in ((BEFORE, True), (AFTER, False)):
        memory = opened()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=LangChainDeprecationWarning)  # what LangChain says of its own
            asked = weather if asynchronous else weather_now
            chats = [host(memory, user, session, model, asked) for user, session in CHATS]
        run(chats, turns, feed=feed, asynchronous=asynchronous)
        memory.close()
    # A history of messages is the log as it was said; whoever shows it to a model as it is shows what was interrupted.
    check_prompts(model.prompts, orphans if host is not lcel else lambda _: [])
    memory = opened()
    for user, session in CHATS:
        check_log(memory.scoped(user=user, session=session), host)


def check_prompts(prompts: Sequence[Sequence[BaseMessage]], orphans: Orphans) -> None:
    assert len(prompts) >= len(CHATS) * 5
    for prompt in prompts:
        assert not orphans(prompt)
        everything = "\n".join(message.text for message in prompt)
        assert len({found[1] for found in MARK.finditer(everything)}) == 1, "one user's words only"


def check_log(scoped: ScopedMemory, host: Host) -> None:
    mark = f"{scoped.scope.user}-{scoped.scope.session}-"
    history = scoped.history()
    users = [message.text for message in history if message.role is Role.USER]
    fed = [f"Compare Bern and Lima, {mark}feda", f"And be quick, {mark}fedb"]
    # A chain hands over nothing of a turn that its model failed on; an agent's turn is written before.
    first = [turn.format(mark) for turn in BEFORE if host is agent or "raise" not in turn]
    assert users == [*first, *fed, *(turn.format(mark) for turn in AFTER)]
    answers = [message.text.strip() for message in history if message.role is Role.ASSISTANT and not message.tool_calls]
    expected = [f"Answer to {mark}{name}." for name in ("one", "two", "four", "five")]
    assert [text for text in answers if "fed" not in text] == expected
    results = [message.text for message in history if message.role is Role.TOOL]
    assert [f"rain in Bern {mark}fed", f"sun in Lima {mark}fed"] == [text for text in results if "fed" in text]
    if host in TOOLS:
        cities = [f"sunny in {city} of {mark}{name}" for name in ("two", "five") for city in ("Rome", "Oslo")]
        assert [text for text in results if "fed" not in text] == cities
    for text in users:
        assert any(hit.record.text == text for hit in scoped.recall(text, k=10)), "and it is recalled"
