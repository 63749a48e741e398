"""The memory inside chains of LangChain, with models that answer from a script."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from operator import itemgetter
from typing import Any

import pytest
from blockbuster import BlockingError, blockbuster_ctx
from langchain_classic.chains import ConversationChain
from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from pydantic import Field

from hybrid_memory import HybridMemory
from langchain_hybrid_memory import HybridChatMemory

Open = Callable[..., HybridMemory]


class ScriptedModel(FakeMessagesListChatModel):
    """Answers from a list, and keeps what it was shown."""

    shown: list[list[BaseMessage]] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.shown.append(messages)
        return super()._generate(messages, *args, **kwargs)


def scripted(*answers: str) -> ScriptedModel:
    return ScriptedModel(responses=[AIMessage(answer) for answer in answers])


def chat(memory: HybridMemory, session: str, **options: Any) -> HybridChatMemory:
    return HybridChatMemory(memory=memory, user="alice", session=session, **options)


def conversation(model: ScriptedModel, memory: HybridChatMemory, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the chain, and only of the first one in a process
        return ConversationChain(llm=model, memory=memory, **options)


def on_a_guarded_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run it; a call that blocks the loop raises."""
    with blockbuster_ctx():
        asyncio.run(work)


def test_a_conversation_chain_remembers_over_sessions(opened: Open) -> None:
    with opened() as memory:
        model = scripted("How nice!", "Of course.")
        chain = conversation(model, chat(memory, "s1"))
        assert chain.invoke({"input": "My sister lives in Lisbon."})["response"] == "How nice!"
        assert chain.invoke({"input": "Can you remember that?"})["response"] == "Of course."
        assert "Human: My sister lives in Lisbon.\nAI: How nice!\nHuman: Can you" in str(model.shown[1][0].content)
    with opened() as memory:
        model = scripted("In Lisbon.")
        conversation(model, chat(memory, "s2")).invoke({"input": "Where does my sister live?"})
        (prompt,) = model.shown[0]
        assert "user: My sister lives in Lisbon." in str(prompt.content)
        assert [message.content for message in memory.scoped(user="alice", session="s2").history()] == [
            "Where does my sister live?",
            "In Lisbon.",
        ]


def test_a_conversation_chain_with_names_of_its_own(memory: HybridMemory) -> None:
    model = scripted("one", "two")
    prompt = PromptTemplate.from_template("{past}\n---\n{question}")
    own = chat(memory, "s1", memory_key="past")
    chain = conversation(model, own, prompt=prompt, input_key="question", output_key="reply")
    chain.invoke({"question": "first"})
    chain.invoke({"question": "second"})
    assert [message.content for message in model.shown[1]] == ["Human: first\nAI: one\n---\nsecond"]


def test_an_async_conversation_chain_never_blocks_the_loop(opened: Open) -> None:
    model = scripted("How nice!", "In Lisbon.")
    chain = conversation(model, chat(opened(), "s1"))

    async def talk() -> None:
        await chain.ainvoke({"input": "My sister lives in Lisbon."})
        await chain.ainvoke({"input": "Where does my sister live?"})
        await chain.memory.aclear()
        assert await chain.memory.aload_memory_variables({}) == {"history": ""}

    on_a_guarded_loop(talk())
    assert "Human: My sister lives in Lisbon.\nAI: How nice!" in str(model.shown[1][0].content)


def test_blocking_would_be_noticed(opened: Open) -> None:
    blocking = chat(opened(), "s1")

    async def talk() -> None:
        blocking.save_context({"input": "Hello"}, {"output": "Hello"})

    with pytest.raises(BlockingError):
        on_a_guarded_loop(talk())


def lcel(model: Runnable[Any, Any], memory: HybridChatMemory) -> Runnable[dict[str, Any], AIMessage]:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    load = RunnableLambda(memory.load_memory_variables, memory.aload_memory_variables)
    return RunnablePassthrough.assign(history=load | itemgetter("history")) | prompt | model


def test_an_lcel_chain(memory: HybridMemory) -> None:
    chat(memory, "s1").save_context({"input": "My sister lives in Lisbon."}, {"output": "How nice!"})
    now = chat(memory, "s2", return_messages=True)
    model = scripted("In Lisbon.", "Porto, then.")
    first = {"input": "Where does my sister live?"}
    answer = lcel(model, now).invoke(first)
    now.save_context(first, {"output": answer})
    lcel(model, now).invoke({"input": "She moved to Porto."})
    system, note, *rest = model.shown[1]
    assert system == SystemMessage("Be brief.")
    assert isinstance(note, SystemMessage)
    assert "Lisbon" in str(note.content)
    assert rest == [HumanMessage(first["input"]), answer, HumanMessage("She moved to Porto.")]


def test_an_async_lcel_chain_never_blocks_the_loop(opened: Open) -> None:
    now = chat(opened(), "s1", return_messages=True)
    chain = lcel(scripted("one", "two"), now)

    async def talk() -> None:
        for said in ("first", "second"):
            answer = await chain.ainvoke({"input": said})
            await now.asave_context({"input": said}, {"output": answer})
        loaded = await now.aload_memory_variables({"input": "third"})
        assert [message.content for message in loaded["history"]] == ["first", "one", "second", "two"]

    on_a_guarded_loop(talk())


def test_streamed_answers_can_be_saved(memory: HybridMemory) -> None:
    now = chat(memory, "s1", return_messages=True)
    chunks = list(lcel(FakeListChatModel(responses=["streamed"]), now).stream({"input": "go"}))
    answer = chunks[0]
    for chunk in chunks[1:]:
        answer += chunk  # type: ignore[assignment]
    now.save_context({"input": "go"}, {"output": answer})
    assert now.load_memory_variables({})["history"] == [HumanMessage("go"), answer]
