"""The memory inside chains of LangChain, with models that answer from a script."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from operator import itemgetter
from typing import Any

from blockbuster import blockbuster_ctx
from langchain_classic.chains import ConversationalRetrievalChain, ConversationChain, LLMChain
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from hybrid_memory import HybridMemory
from langchain_hybrid_memory import HybridChatMemory
from tests.langchain.conftest import ScriptedChat

Open = Callable[..., HybridMemory]


def scripted(*answers: str) -> ScriptedChat:
    return ScriptedChat(answers=list(answers))


def chat(memory: HybridMemory, session: str, **options: Any) -> HybridChatMemory:
    return HybridChatMemory(memory=memory, user="alice", session=session, **options)


def deprecated(make: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Make something that LangChain calls deprecated, which it says of the first one in a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return make(*values, **options)


def conversation(model: ScriptedChat, memory: HybridChatMemory, **options: Any) -> Any:
    return deprecated(ConversationChain, llm=model, memory=memory, **options)


def on_a_guarded_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run it; a call that blocks the loop raises."""
    with blockbuster_ctx():
        asyncio.run(work)


def test_concurrent_chains_of_one_session_keep_question_and_answer_together(opened: Open) -> None:
    memory = opened()
    said = [f"question {number}" for number in range(12)]

    class Echo(FakeListChatModel):
        def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
            return f"answer to {messages[-1].content}"

    async def talk() -> None:
        prompt = PromptTemplate.from_template("{input}{history}")
        chains = [
            conversation(Echo(responses=["x"]), chat(memory, "s1", window=0, k=0), prompt=prompt)  # type: ignore[arg-type]
            for _ in range(3)
        ]
        await asyncio.gather(*(chains[row % 3].ainvoke({"input": text}) for row, text in enumerate(said)))

    on_a_guarded_loop(talk())
    words = [message.text for message in memory.scoped(user="alice", session="s1").history()]
    assert sorted(words[::2]) == sorted(said)
    assert words[1::2] == [f"answer to {text}" for text in words[::2]]


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
    assert model.prompts[0][0] == model.prompts[1][0] == SystemMessage("Be brief.")
    note, asked = model.prompts[0][1:]
    assert "Lisbon" in str(note.content)
    assert str(note.content).endswith("</memory>")
    assert asked == HumanMessage(first["input"])
    told, answered, *_, last = model.prompts[1][1:]
    assert told.content == f"{note.content}\n\n{asked.content}", "what was recalled stays where it stood"
    assert (answered.content, last) == (answer.content, HumanMessage("She moved to Porto."))


def test_streamed_answers_can_be_saved(memory: HybridMemory) -> None:
    now = chat(memory, "s1", return_messages=True)
    chunks = list(lcel(FakeListChatModel(responses=["streamed"]), now).stream({"input": "go"}))
    answer = chunks[0]
    for chunk in chunks[1:]:
        answer += chunk  # type: ignore[assignment]
    now.save_context({"input": "go"}, {"output": answer})
    assert now.load_memory_variables({})["history"] == [HumanMessage("go"), answer]


def test_an_async_llm_chain_never_blocks_the_loop(opened: Open) -> None:
    with opened() as memory:
        model = scripted("How nice!", "In Lisbon.")
        prompt = PromptTemplate.from_template("{history}\n{place}: {remark}")
        chain = deprecated(LLMChain, llm=model, prompt=prompt, memory=chat(memory, "s1", input_key="remark"))

        async def talk() -> None:
            await chain.ainvoke({"place": "here", "remark": "My sister lives in Lisbon."})
            assert (await chain.ainvoke({"place": "here", "remark": "Where?"}))["text"] == "In Lisbon."

        on_a_guarded_loop(talk())
    with opened() as memory:
        assert [message.text for message in memory.scoped(user="alice", session="s1").history()] == [
            *("My sister lives in Lisbon.", "How nice!", "Where?", "In Lisbon."),
        ]


class OneDocument(BaseRetriever):
    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return [Document("Lisbon is in Portugal.")]

    async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return self._get_relevant_documents(query)


def test_a_retrieval_chain_stores_question_and_answer_alone(opened: Open) -> None:
    now = chat(opened(), "s1", memory_key="chat_history", return_messages=True)
    model = scripted("In Portugal.", "Where is Lisbon by the sea?", "In the west.")
    chain = deprecated(
        ConversationalRetrievalChain.from_llm,
        llm=model,
        retriever=OneDocument(),
        memory=now,
        return_source_documents=True,
        return_generated_question=True,
    )

    async def talk() -> None:
        first = await chain.ainvoke({"question": "Where is Lisbon?"})
        assert (first["answer"], first["chat_history"]) == ("In Portugal.", [])
        second = await chain.ainvoke({"question": "By the sea?"})
        assert second["source_documents"] == [Document("Lisbon is in Portugal.")]

    on_a_guarded_loop(talk())
    assert "Where is Lisbon?" in str(model.prompts[1][0].content)
    assert [message.content for message in now.chat_memory.messages] == [
        *("Where is Lisbon?", "In Portugal.", "By the sea?", "In the west."),
    ]
