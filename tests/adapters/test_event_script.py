"""One script of events through every way in which LangChain and LlamaIndex are given a memory.

Two users with two sessions each, all at once: plain turns, parallel tool calls, a model that raises, a person who
writes between two results of tools, a restart. Nothing is orphaned, nothing reaches another user, nothing is lost, and
both frameworks leave the same log.
"""

import asyncio
import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, starmap
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.chains import ConversationChain
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import StructuredTool
from langgraph.runtime import Runtime
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer

from hybrid_memory import HybridMemory, Message, Role, ScopedMemory
from langchain_hybrid_memory import HybridChatMemory, HybridChatMessageHistory, HybridMemoryMiddleware
from langchain_hybrid_memory.messages import from_langchain, to_langchain
from llamaindex_hybrid_memory import HybridChatMemory as LlamaIndexMemory
from llamaindex_hybrid_memory import from_chat_message
from llamaindex_hybrid_memory.messages import from_chat_messages
from tests.doubles import OLD_PYDANTIC, orphans
from tests.faces import Open
from tests.langchain.conftest import ScriptedChat
from tests.llamaindex.conftest import ScriptedLLM

pytestmark = OLD_PYDANTIC

CHATS = [("ann", "s1"), ("ann", "s2"), ("ben", "s1")]
MARK = re.compile(r"(ann|ben)-(s1|s2)-(\w+)")
LIMIT = 1500
BEFORE = ("I keep bees, {}one", "Tell me the weather for {}two", "Please raise, {}three")
AFTER = ("Do I keep bees? {}four", "Once more the weather for {}five")


def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def answer(asked: str, *, tools: bool) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """What the model says, and the calls that it makes, by the mark in the last turn of the user."""
    mark = list(MARK.finditer(asked))[-1].group()
    if f"Please raise, {mark}" in asked:
        raise ConnectionError(mark)
    if tools and f"weather for {mark}" in asked:
        return "", [(f"{mark}-{city[0]}", {"city": f"{city} of {mark}"}) for city in ("Rome", "Oslo")]
    return f"Answer to {mark}.", []


def langchain_model(*, tools: bool) -> tuple[ScriptedChat, Callable[[], list[list[Message]]]]:
    """A model that answers by the prompt, and the prompts that it got."""

    def said(prompt: list[BaseMessage]) -> AIMessage:
        asked = [message.text for message in prompt if message.type == "human"][-1]
        text, calls = answer(asked, tools=tools and prompt[-1].type == "human")
        return AIMessage(text, tool_calls=[{"name": "weather", "args": args, "id": name} for name, args in calls])

    model = ScriptedChat(answer=said)
    return model, lambda: [[from_langchain(message) for message in prompt] for prompt in model.prompts]


def llamaindex_model(*, tools: bool) -> tuple[ScriptedLLM, Callable[[], list[list[Message]]]]:
    """The same for LlamaIndex."""
    llm = ScriptedLLM(replies=[])

    def chat(messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        llm.seen.append([message.model_copy(deep=True) for message in messages])
        asked = [message.content or "" for message in messages if message.role is MessageRole.USER][-1]
        text, calls = answer(asked, tools=tools and messages[-1].role is MessageRole.USER)
        blocks = [ToolCallBlock(tool_call_id=name, tool_name="weather", tool_kwargs=args) for name, args in calls]
        said = ChatMessage(role="assistant", blocks=blocks) if blocks else ChatMessage(role="assistant", content=text)
        return ChatResponse(message=said, delta=text)

    object.__setattr__(llm, "chat", chat)
    return llm, lambda: [[from_chat_message(message) for message in prompt] for prompt in llm.seen]


@dataclass(frozen=True)
class Chat:
    """One session of one user, through one host: asks; takes messages from elsewhere."""

    ask: Callable[[str], object]
    aask: Callable[[str], Awaitable[object]]
    feed: Callable[[list[Any]], object]
    afeed: Callable[[list[Any]], Awaitable[object]]


async def drained(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


def agent(memory: HybridMemory, user: str, session: str, model: Any) -> Chat:
    layer = HybridMemoryMiddleware(memory, user=user, session=session, max_tokens=LIMIT)
    made: Any = create_agent(model, [WEATHER], middleware=[layer])

    def given(text: str) -> Any:
        return {"messages": [HumanMessage(text)]}

    return Chat(
        lambda text: list(made.stream(given(text), stream_mode="messages")),
        lambda text: drained(made.astream(given(text), stream_mode="messages")),
        lambda messages: made.invoke({"messages": messages}),
        lambda messages: made.ainvoke({"messages": messages}),
    )


def lcel(memory: HybridMemory, user: str, session: str, model: Any) -> Chat:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    log = HybridChatMessageHistory(memory, user=user, session=session)
    chain: Any = RunnableWithMessageHistory(
        prompt | model, lambda _: log, input_messages_key="input", history_messages_key="history"
    )
    config = {"configurable": {"session_id": session}}
    return Chat(
        lambda text: list(chain.stream({"input": text}, config)),
        lambda text: drained(chain.astream({"input": text}, config)),
        log.add_messages,
        log.aadd_messages,
    )


def chain(memory: HybridMemory, user: str, session: str, model: Any) -> Chat:
    chat = HybridChatMemory(memory=memory, user=user, session=session, max_tokens=LIMIT)
    made: Any = ConversationChain(llm=model, memory=chat)
    return Chat(
        lambda text: list(made.stream({"input": text})),
        lambda text: drained(made.astream({"input": text})),
        chat.chat_memory.add_messages,
        chat.chat_memory.aadd_messages,
    )


def executor(memory: HybridMemory, user: str, session: str, model: Any) -> Chat:
    places: list[Any] = [
        MessagesPlaceholder("chat_history"),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
    owner: dict[str, Any] = {"memory": memory, "user": user, "session": session}
    chat = HybridChatMemory(memory_key="chat_history", return_messages=True, max_tokens=LIMIT, **owner)
    steps: Any = create_tool_calling_agent(model, [WEATHER], ChatPromptTemplate.from_messages(places))
    made: Any = AgentExecutor(agent=steps, tools=[WEATHER], memory=chat)
    return Chat(
        lambda text: list(made.stream({"input": text})),
        lambda text: made.ainvoke({"input": text}),  # its astream loads every memory on the loop, blocking
        chat.chat_memory.add_messages,
        chat.chat_memory.aadd_messages,
    )


WEATHER = StructuredTool.from_function(weather)


class OneNode(BaseRetriever):
    """A retriever that always finds the same page."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="Opening hours: nine to five."), score=1.0)]


def llamaindex(name: str, memory: HybridMemory, user: str, session: str, llm: Any) -> Chat:
    chat = LlamaIndexMemory.from_defaults(user=user, session=session, memory=memory, token_limit=LIMIT)

    def made() -> Any:
        """Anew for each question."""
        tools: list[Any] = [FunctionTool.from_defaults(weather)]
        if name == "function agent":
            return FunctionAgent(llm=llm, tools=tools)
        if name == "workflow":
            return AgentWorkflow(agents=[FunctionAgent(llm=llm, tools=tools)])
        if name == "simple":
            return SimpleChatEngine.from_defaults(llm=llm, memory=chat)
        cls = ContextChatEngine if name == "context" else CondensePlusContextChatEngine
        return cls.from_defaults(retriever=OneNode(), llm=llm, memory=chat)

    async def aask(text: str) -> object:
        return await (made().run(text, memory=chat) if name in TOOLS else made().achat(text))

    return Chat(lambda text: made().chat(text), aask, chat.put_messages, chat.aput_messages)


LANGCHAIN: dict[str, Callable[..., Chat]] = {"agent": agent, "lcel": lcel, "chain": chain, "executor": executor}
LLAMAINDEX: dict[str, Callable[..., Chat]] = {
    name: partial(llamaindex, name) for name in ("function agent", "workflow", "simple", "context", "condense")
}
HOSTS = {**LANGCHAIN, **LLAMAINDEX}
TOOLS = ("agent", "function agent", "workflow")
"""Hosts that run the tools that a model calls, and store the calls."""

EAGER = ("agent", "function agent", "workflow", "simple")
"""Hosts that write a turn before their model answers it; the others hand over nothing of one that it failed on."""


def interrupted(mark: str) -> list[ChatMessage]:
    """A person writes while the second tool still runs."""
    cities = ("Bern", "Lima")
    calls = [ToolCallBlock(tool_call_id=f"{mark}-{c}", tool_name="weather", tool_kwargs={"city": c}) for c in cities]
    results = [
        ChatMessage(role="tool", content=f"sun in {c} {mark}", additional_kwargs={"tool_call_id": f"{mark}-{c}"})
        for c in cities
    ]
    return [
        ChatMessage(role="user", content=f"Compare Bern and Lima, {mark}a"),
        ChatMessage(role="assistant", blocks=calls),
        results[0],
        ChatMessage(role="user", content=f"And be quick, {mark}b"),
        results[1],
    ]


def for_langchain(messages: Sequence[ChatMessage]) -> list[Any]:
    return [to_langchain(message) for message in from_chat_messages(messages, {})]


def blocking(chat: Chat, turns: Sequence[str], fed: list[Any]) -> None:
    """The turns of a session, and what it is fed at the end."""
    for turn in turns:
        with suppress(ConnectionError):
            chat.ask(turn)
    if fed:
        chat.feed(fed)


async def on_the_loop(chat: Chat, turns: Sequence[str], fed: list[Any]) -> None:
    for turn in turns:
        with suppress(ConnectionError):
            await chat.aask(turn)
    if fed:
        await chat.afeed(fed)


def run(host: str, memory: HybridMemory, model: Any, turns: Sequence[str], *, feed: bool, face: str) -> None:
    """All sessions at once, each its turns one after the other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=LangChainDeprecationWarning)  # what LangChain says of its own
        chats = [(HOSTS[host](memory, user, session, model), f"{user}-{session}-") for user, session in CHATS]
    feeds = [interrupted(f"{mark}fed") if feed else [] for _, mark in chats]
    scripts = [
        (chat, [turn.format(mark) for turn in turns], for_langchain(fed) if host in LANGCHAIN else fed)
        for (chat, mark), fed in zip(chats, feeds, strict=True)
    ]

    async def all_at_once() -> None:
        await asyncio.gather(*starmap(on_the_loop, scripts))

    async def inside_a_loop() -> None:
        list(starmap(blocking, scripts))

    if face == "async":
        get_tokenizer()  # LlamaIndex loads it with its first use, blocking
        with blockbuster_ctx() as guard:
            # Its engines with a context count tokens on a thread that they wait for.
            guard.functions["threading.Lock.acquire"].can_block_in("llama_index/core/async_utils.py", "asyncio_run")
            asyncio.run(all_at_once())
    elif face == "inside a loop":
        asyncio.run(inside_a_loop())
    else:
        with ThreadPoolExecutor() as pool:
            list(pool.map(blocking, *zip(*scripts, strict=True)))


CASES = [
    *((host, "async") for host in HOSTS),
    *((host, "blocking") for host in ("agent", "context")),
    *((host, "inside a loop") for host in ("simple",)),
]


@pytest.mark.parametrize(("host", "face"), CASES)
def test_one_script_of_events(host: str, face: str, opened: Open) -> None:
    made = langchain_model if host in LANGCHAIN else llamaindex_model
    model, prompts = made(tools=host in TOOLS)
    for turns, feed in ((BEFORE, True), (AFTER, False)):
        with opened() as memory:
            run(host, memory, model, turns, feed=feed, face=face)
    check_prompts(prompts(), host)
    memory = opened()
    for user, session in CHATS:
        check_log(memory.scoped(user=user, session=session), host)


def check_prompts(prompts: Sequence[Sequence[Message]], host: str) -> None:
    assert len(prompts) >= len(CHATS) * 5
    for prompt in prompts:
        # A history of messages is the log as it was said, and shows a model what was interrupted.
        assert host == "lcel" or not orphans(prompt)
        everything = "\n".join(message.text for message in prompt)
        assert len({found[1] for found in MARK.finditer(everything)}) == 1, "one user's words only"


def check_log(scoped: ScopedMemory, host: str) -> None:
    mark = f"{scoped.scope.user}-{scoped.scope.session}-"
    history = scoped.history()
    users = [message.text for message in history if message.role is Role.USER]
    fed = [f"Compare Bern and Lima, {mark}feda", f"And be quick, {mark}fedb"]
    first = [turn.format(mark) for turn in BEFORE if host in EAGER or "raise" not in turn]
    assert users == [*first, *fed, *(turn.format(mark) for turn in AFTER)]
    answers = [message.text.strip() for message in history if message.role is Role.ASSISTANT and not message.tool_calls]
    expected = [f"Answer to {mark}{name}." for name in ("one", "two", "four", "five")]
    assert [text for text in answers if "fed" not in text] == expected
    results = [message.text for message in history if message.role is Role.TOOL]
    expected = [f"sun in {city} {mark}fed" for city in ("Bern", "Lima")]
    if host in TOOLS:
        expected += [f"sunny in {city} of {mark}{name}" for city in ("Rome", "Oslo") for name in ("two", "five")]
    assert sorted(results) == sorted(expected)  # older workflows give results in the order in which tools end
    for text in users:
        assert any(hit.record.text == text for hit in scoped.recall(text, k=10)), "and it is recalled"


def in_order(history: Sequence[Message]) -> Iterator[Message]:
    """The messages, results of parallel calls by the id of their call."""
    for tools, together in groupby(history, key=lambda message: message.role is Role.TOOL):
        messages = list(together)
        yield from sorted(messages, key=lambda message: message.tool_call_id or "") if tools else messages


def test_both_frameworks_leave_the_same_log(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def unanswered(memory: HybridMemory, user: str, session: str, model: Any) -> Chat:
        """An agent that is not run for what is fed."""
        layer = HybridMemoryMiddleware(memory, user=user, session=session, max_tokens=LIMIT)

        def feed(messages: list[Any]) -> None:
            for row, message in enumerate(messages):
                message.id = f"fed-{row}"
            layer.after_agent({"messages": messages}, Runtime())

        made: Any = create_agent(model, [WEATHER], middleware=[layer])
        chat = agent(memory, user, session, model)
        return Chat(lambda text: made.invoke({"messages": [HumanMessage(text)]}), chat.aask, feed, chat.afeed)

    monkeypatch.setitem(HOSTS, "agent", unanswered)
    logs: list[list[ScopedMemory]] = []
    for host, made, face in (("agent", langchain_model, "blocking"), ("function agent", llamaindex_model, "async")):
        memory = opened(url="memory://")
        model, _ = made(tools=True)
        for turns, feed in ((BEFORE, True), (AFTER, False)):
            run(host, memory, model, turns, feed=feed, face=face)
        logs.append([memory.scoped(user=user, session=session) for user, session in CHATS])
    for one, other in zip(*logs, strict=True):
        # Ids and times are of the run; what only one framework has a word for stands in ``extra``.
        written = [
            [message.model_dump_json(exclude={"id", "at", "extra"}) for message in in_order(scoped.history())]
            for scoped in (one, other)
        ]
        assert written[0] == written[1]
        for question in ("Do I keep bees?", "sunny in Oslo", "Compare Lima"):
            found = [[hit.record.text for hit in scoped.recall(question, scope="session")] for scoped in (one, other)]
            assert found[0] == found[1]
