"""The memory inside chains of LangChain, with models that answer from a script."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from operator import itemgetter
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_classic.chains import ConversationalRetrievalChain, ConversationChain, LLMChain
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from hybrid_memory import HybridMemory
from langchain_hybrid_memory import HybridChatMemory, HybridChatMessageHistory
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


def test_a_conversation_chain_remembers_over_sessions(opened: Open) -> None:
    with opened() as memory:
        model = scripted("How nice!", "Of course.")
        chain = conversation(model, chat(memory, "s1"))
        assert chain.invoke({"input": "My sister lives in Lisbon."})["response"] == "How nice!"
        assert chain.invoke({"input": "Can you remember that?"})["response"] == "Of course."
        assert "Human: My sister lives in Lisbon.\nAI: How nice!\nHuman: Can you" in str(model.prompts[1][0].content)
    with opened() as memory:
        model = scripted("In Lisbon.")
        conversation(model, chat(memory, "s2")).invoke({"input": "Where does my sister live?"})
        (prompt,) = model.prompts[0]
        assert "user: My sister lives in Lisbon." in str(prompt.content)
        assert [message.content for message in memory.scoped(user="alice", session="s2").history()] == [
            "Where does my sister live?",
            "In Lisbon.",
        ]


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


def with_history(memory: HybridMemory, model: Runnable[Any, Any]) -> Any:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{input}")])

    def history(session_id: str) -> HybridChatMessageHistory:
        return HybridChatMessageHistory(memory, user="alice", session=session_id)

    return deprecated(
        RunnableWithMessageHistory,
        prompt | model,
        history,
        input_messages_key="input",
        history_messages_key="past",
    )


def in_session(session: str) -> Any:
    return {"configurable": {"session_id": session}}


@pytest.mark.parametrize("face", ["invoke", "stream", "ainvoke", "astream"])
def test_a_runnable_with_message_history_remembers_every_word_once(opened: Open, face: str) -> None:
    def shown(model: ScriptedChat) -> list[list[Any]]:
        return [[message.content for message in each] for each in model.prompts]

    async def talk(chain: Any, said: str, session: str) -> None:
        if face == "ainvoke":
            await chain.ainvoke({"input": said}, in_session(session))
        else:
            assert [chunk async for chunk in chain.astream({"input": said}, in_session(session))]

    def ask(chain: Any, said: str, session: str) -> None:
        if face.startswith("a"):
            on_a_guarded_loop(talk(chain, said, session))
        elif face == "stream":
            assert list(chain.stream({"input": said}, in_session(session)))
        else:
            chain.invoke({"input": said}, in_session(session))

    with opened() as memory:
        model = scripted("How nice!", "Which hives?")
        chain = with_history(memory, model)
        ask(chain, "My sister lives in Lisbon.", "s1")
        ask(chain, "I keep bees.", "s2")
        assert shown(model) == [["My sister lives in Lisbon."], ["I keep bees."]]
    with opened() as memory:
        model = scripted("In Lisbon.")
        ask(with_history(memory, model), "Where?", "s1")
        assert shown(model) == [["My sister lives in Lisbon.", "How nice!", "Where?"]]
        one = HybridChatMessageHistory(memory, user="alice", session="s1")
        said = ["My sister lives in Lisbon.", "How nice!", "Where?", "In Lisbon."]
        assert [message.content for message in one.messages] == said
        hits = memory.scoped(user="alice", session="s3").recall("Where does my sister live?", k=3)
        assert "My sister lives in Lisbon." in [hit.record.text for hit in hits]
