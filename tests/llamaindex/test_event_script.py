"""One script of events through LlamaIndex's agents and chat engines, and the same through LangChain's agent.

Two users with two sessions each, all at once: plain turns, parallel tool calls, a model that raises, a person who
writes between two results of tools, a restart. Nothing is orphaned, nothing reaches another user, nothing is lost, and
both frameworks leave the same log.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.runtime import Runtime
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from langchain_hybrid_memory import HybridMemoryMiddleware, to_langchain
from llamaindex_hybrid_memory import HybridChatMemory
from llamaindex_hybrid_memory.messages import from_chat_messages

if TYPE_CHECKING:
    from tests.llamaindex.conftest import ScriptedLLM

pytestmark = [
    # LlamaIndex's agents look at every attribute of theirs, the deprecated ones of pydantic too.
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince211"),
]

CHATS = [(user, session) for user in ("ann", "ben") for session in ("s1", "s2")]
MARK = re.compile(r"(ann|ben)-(s1|s2)-(\w+)")
LIMIT = 1500

BEFORE = ("I keep bees, {}one", "Tell me the weather for {}two", "Please raise, {}three")
AFTER = ("Do I keep bees? {}four", "Once more the weather for {}five")


def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def answer(asked: str, last: str, *, tools: bool) -> tuple[str, list[tuple[str, dict[str, str]]]]:
    """What the model says, and the calls that it makes, by the mark in the last turn of the user."""
    mark = list(MARK.finditer(asked))[-1].group()
    if f"Please raise, {mark}" in asked:
        raise ConnectionError(mark)
    if tools and last in {"user", "human"} and f"weather for {mark}" in asked:
        return "", [(f"{mark}-{city[0]}", {"city": f"{city} of {mark}"}) for city in ("Rome", "Oslo")]
    return f"Answer to {mark}.", []


class OneNode(BaseRetriever):
    """A retriever that always finds the same page."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="Opening hours: nine to five."), score=1.0)]


Host = Callable[[HybridChatMemory, Any, str], Coroutine[Any, Any, object]]


async def function_agent(memory: HybridChatMemory, llm: Any, text: str) -> object:
    agent = FunctionAgent(llm=llm, tools=[FunctionTool.from_defaults(weather)])
    return await agent.run(text, memory=memory)


async def workflow(memory: HybridChatMemory, llm: Any, text: str) -> object:
    worker = FunctionAgent(llm=llm, tools=[FunctionTool.from_defaults(weather)])
    return await AgentWorkflow(agents=[worker]).run(text, memory=memory)


def engine_of(name: str, memory: HybridChatMemory, llm: Any) -> Any:
    if name == "simple":
        return SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    cls = ContextChatEngine if name == "context" else CondensePlusContextChatEngine
    return cls.from_defaults(retriever=OneNode(), llm=llm, memory=memory)


async def engine(name: str, memory: HybridChatMemory, llm: Any, text: str) -> object:
    return await engine_of(name, memory, llm).achat(text)


HOSTS: dict[str, Host] = {
    "function agent": function_agent,
    "workflow": workflow,
    **{name: partial(engine, name) for name in ("simple", "context", "condense")},
}
AGENTS = ("function agent", "workflow")


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


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], HybridMemory]]:
    memories: list[HybridMemory] = []

    def open_one(name: str = "memory") -> HybridMemory:
        memory = open_memory(MemoryConfig(url=f"sqlite:///{tmp_path / name}.db", embedder="hashing", power_safe=False))
        memories.append(memory)
        return memory

    yield open_one
    for memory in memories:
        memory.close()


def thinking(scripted: Callable[..., ScriptedLLM], *, tools: bool) -> ScriptedLLM:
    """A model that answers by the prompt."""
    llm = scripted("unused")

    def chat(messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        llm.seen.append([message.model_copy(deep=True) for message in messages])
        asked = [message.content or "" for message in messages if message.role is MessageRole.USER][-1]
        text, calls = answer(asked, messages[-1].role.value, tools=tools)
        blocks = [ToolCallBlock(tool_call_id=name, tool_name="weather", tool_kwargs=args) for name, args in calls]
        said = ChatMessage(role="assistant", blocks=blocks) if blocks else ChatMessage(role="assistant", content=text)
        return ChatResponse(message=said, delta=text)

    object.__setattr__(llm, "chat", chat)
    return llm


def marked(user: str, session: str) -> str:
    return f"{user}-{session}-"


def run(host: str, memory: HybridMemory, llm: Any, turns: Sequence[str], *, feed: bool, face: str) -> None:
    """All sessions at once, each its turns one after the other."""
    script = Script(host, memory, llm, turns, feed)
    rows = range(len(CHATS))
    if face == "async":
        get_tokenizer()  # LlamaIndex loads it with its first use, blocking

        async def all_at_once() -> None:
            await asyncio.gather(*map(script.on_the_loop, rows))

        with blockbuster_ctx() as guard:
            # Its engines with a context count tokens on a thread that they wait for.
            guard.functions["threading.Lock.acquire"].can_block_in("llama_index/core/async_utils.py", "asyncio_run")
            asyncio.run(all_at_once())
    elif face == "inside a loop":

        async def one_by_one() -> None:
            for row in rows:
                script.blocking(row)

        asyncio.run(one_by_one())
    else:
        with ThreadPoolExecutor() as pool:
            list(pool.map(script.blocking, rows))


@dataclass(frozen=True)
class Script:
    """The turns of a session, through a host."""

    host: str
    memory: HybridMemory
    llm: Any
    turns: Sequence[str]
    feed: bool

    def _chat(self, row: int) -> HybridChatMemory:
        user, session = CHATS[row]
        return HybridChatMemory.from_defaults(user=user, session=session, memory=self.memory, token_limit=LIMIT)

    async def on_the_loop(self, row: int) -> None:
        chat, mark = self._chat(row), marked(*CHATS[row])
        for turn in self.turns:
            with suppress(ConnectionError):
                await HOSTS[self.host](chat, self.llm, turn.format(mark))
        if self.feed:
            await chat.aput_messages(interrupted(f"{mark}fed"))

    def blocking(self, row: int) -> None:
        chat, mark = self._chat(row), marked(*CHATS[row])
        for turn in self.turns:
            with suppress(ConnectionError):
                engine_of(self.host, chat, self.llm).chat(turn.format(mark))
        if self.feed:
            chat.put_messages(interrupted(f"{mark}fed"))


CASES = [(host, "async") for host in HOSTS] + [
    ("simple", "inside a loop"),
    ("context", "blocking"),
    ("condense", "inside a loop"),
]


@pytest.mark.parametrize(("host", "face"), CASES)
def test_one_script_of_events(
    host: str, face: str, opened: Callable[..., HybridMemory], scripted: Callable[..., ScriptedLLM]
) -> None:
    llm = thinking(scripted, tools=host in AGENTS)
    for turns, feed in ((BEFORE, True), (AFTER, False)):
        with opened() as memory:
            run(host, memory, llm, turns, feed=feed, face=face)
    check_prompts(llm.seen)
    memory = opened()
    for user, session in CHATS:
        check_log(memory.scoped(user=user, session=session), host)


def check_prompts(prompts: Sequence[Sequence[ChatMessage]]) -> None:
    assert len(prompts) >= len(CHATS) * 5
    for prompt in prompts:
        waiting: set[str | None] = set()
        for message in prompt:
            if message.role is MessageRole.TOOL:
                name = message.additional_kwargs["tool_call_id"]
                assert name in waiting, "no result without its call"
                waiting.discard(name)
                continue
            assert not waiting, "no call without its result"
            waiting = {block.tool_call_id for block in message.blocks if isinstance(block, ToolCallBlock)}
        everything = "\n".join(str(message.content) for message in prompt)
        assert len({found[1] for found in MARK.finditer(everything)}) == 1, "one user's words only"


def check_log(scoped: ScopedMemory, host: str) -> None:
    mark = marked(str(scoped.scope.user), str(scoped.scope.session))
    history = scoped.history()
    users = [message.text for message in history if message.role is Role.USER]
    fed = [f"Compare Bern and Lima, {mark}feda", f"And be quick, {mark}fedb"]
    # Engines with a context hand over nothing of a turn that their model failed on.
    first = [turn.format(mark) for turn in BEFORE if host in (*AGENTS, "simple") or "raise" not in turn]
    assert users == [*first, *fed, *(turn.format(mark) for turn in AFTER)]
    answers = [message.text for message in history if message.role is Role.ASSISTANT and not message.tool_calls]
    assert answers == [f"Answer to {mark}{name}." for name in ("one", "two", "four", "five")]
    results = [message.text for message in history if message.role is Role.TOOL]
    expected = [f"sun in {city} {mark}fed" for city in ("Bern", "Lima")]
    if host in AGENTS:
        two, five = ([f"sunny in {city} of {mark}{name}" for city in ("Rome", "Oslo")] for name in ("two", "five"))
        expected = [*two, *expected, *five]
    assert sorted(results) == sorted(expected)  # older workflows give results in the order in which tools end
    for text in users:
        assert any(hit.record.text == text for hit in scoped.recall(text, k=10)), "and it is recalled"


class Thinking(BaseChatModel):
    """The same model, for LangChain."""

    @property
    def _llm_type(self) -> str:
        return "thinking"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        asked = [message.text for message in messages if message.type == "human"][-1]
        text, calls = answer(asked, messages[-1].type, tools=True)
        wanted: Any = [{"name": "weather", "args": args, "id": name} for name, args in calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=wanted))])


def langchain_run(memory: HybridMemory) -> None:
    """The script, one session after the other."""
    for user, session in CHATS:
        mark = marked(user, session)
        layer = HybridMemoryMiddleware(memory, user=user, session=session, max_tokens=LIMIT)
        agent: Any = create_agent(Thinking(), [tool(weather)], middleware=[layer])
        for turn in BEFORE:
            with suppress(ConnectionError):
                agent.invoke({"messages": [HumanMessage(turn.format(mark))]})
        said: Any = [to_langchain(message) for message in from_chat_messages(interrupted(f"{mark}fed"), {})]
        for row, message in enumerate(said):
            message.id = f"fed-{row}"
        layer.after_agent({"messages": said}, Runtime())
        for turn in AFTER:
            agent.invoke({"messages": [HumanMessage(turn.format(mark))]})


def in_order(history: Sequence[Message]) -> Iterator[Message]:
    """The messages, results of parallel calls by the id of their call."""
    for tools, together in groupby(history, key=lambda message: message.role is Role.TOOL):
        messages = list(together)
        yield from sorted(messages, key=lambda message: message.tool_call_id or "") if tools else messages


def test_both_frameworks_leave_the_same_log(
    opened: Callable[..., HybridMemory], scripted: Callable[..., ScriptedLLM]
) -> None:
    ours, theirs = opened("langchain"), opened("llamaindex")
    langchain_run(ours)
    llm = thinking(scripted, tools=True)
    for turns, feed in ((BEFORE, True), (AFTER, False)):
        run("function agent", theirs, llm, turns, feed=feed, face="async")
    for user, session in CHATS:
        one, other = ours.scoped(user=user, session=session), theirs.scoped(user=user, session=session)
        # Ids and times are of the run; what only one framework has a word for stands in ``extra``.
        written = [
            [message.model_dump_json(exclude={"id", "at", "extra"}) for message in in_order(scoped.history())]
            for scoped in (one, other)
        ]
        assert written[0] == written[1]
        for question in ("Do I keep bees?", "sunny in Oslo", "Compare Lima"):
            found = [[hit.record.text for hit in scoped.recall(question, within="session")] for scoped in (one, other)]
            assert found[0] == found[1]
