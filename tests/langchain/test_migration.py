"""LangChain's old memories beside ours of the same names, on the same words."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic import memory as old
from langchain_classic.chains import ConversationChain
from langchain_core.agents import AgentAction
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.vectorstores import InMemoryVectorStore

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidConfigError, InvalidInputError, InvalidScopeError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.testing.models import ScriptedModel
from hybrid_memory.text.tokens import estimate_tokens
from langchain_hybrid_memory import HybridChatMemory, HybridChatMessageHistory, migration

Call = Callable[..., Any]

SCRIPT = [
    ({"input": "Hello, I am Ann."}, {"output": "Hello Ann."}),
    ({"input": "I keep bees in Lisbon."}, {"output": "How many hives?"}),
    ({"question": "Three. 还有一只猫。"}, {"answer": "真好！"}),
    ({"input": "What should I\nplant?", "stop": ["\n"]}, {"text": "Lavender: bees like it."}),
]
NAMES = {"memory_key": "past", "human_prefix": "Ann", "ai_prefix": "Bot"}


def original(name: str, **arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(old, name)(**arguments)


def renewed(name: str, **arguments: Any) -> Any:
    return getattr(migration, name)(**arguments)


def pair(name: str, **arguments: Any) -> tuple[Any, Any]:
    """LangChain's class and ours of one name, made from the same arguments."""
    return original(name, **arguments), renewed(name, **arguments)


def history(*messages: BaseMessage) -> BaseChatMessageHistory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return InMemoryChatMessageHistory(messages=list(messages))


@pytest.mark.parametrize("return_messages", [False, True])
@pytest.mark.parametrize("arguments", [{}, NAMES, {"return_message": True, "k": 1}], ids=["plain", "names", "unknown"])
def test_a_buffer_gives_what_the_original_gives(face: Call, arguments: dict[str, Any], return_messages: bool) -> None:
    theirs, ours = pair("ConversationBufferMemory", return_messages=return_messages, **arguments)
    for inputs, outputs in SCRIPT:
        assert ours.memory_variables == theirs.memory_variables
        assert face(ours).load_memory_variables(inputs) == theirs.load_memory_variables(inputs)
        theirs.save_context(inputs, outputs)
        face(ours).save_context(inputs, outputs)
    assert face(ours).load_memory_variables({}) == theirs.load_memory_variables({})
    for view in ("buffer", "buffer_as_str", "buffer_as_messages"):
        assert getattr(ours, view) == getattr(theirs, view)
        assert asyncio.run(getattr(ours, f"a{view}")()) == getattr(theirs, view)
    theirs.clear()
    face(ours).clear()
    assert face(ours).load_memory_variables({}) == theirs.load_memory_variables({})


ANY_TEXT = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))


@given(
    st.lists(st.one_of(st.tuples(ANY_TEXT, ANY_TEXT), st.just("clear")), max_size=10),
    st.sampled_from(["ConversationBufferMemory", "ConversationBufferWindowMemory"]),
    st.integers(-1, 6),
    st.booleans(),
)
@settings(max_examples=50)
def test_whatever_is_said_both_give_the_same(
    script: list[tuple[str, str] | str], name: str, k: int, return_messages: bool
) -> None:
    theirs, ours = pair(name, k=k, return_messages=return_messages)
    for step in script:
        for each in (theirs, ours):
            if isinstance(step, str):
                each.clear()
            else:
                each.save_context({"input": step[0]}, {"output": step[1]})
        assert ours.load_memory_variables({}) == theirs.load_memory_variables({})


@pytest.mark.parametrize("name", ["ConversationBufferMemory", "ConversationBufferWindowMemory"])
def test_a_chain_returns_the_history_that_the_original_returns(name: str) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{input}")])
    returned: list[list[Any]] = []
    for memory in pair(name, memory_key="past", return_messages=True, k=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            chain = ConversationChain(llm=FakeListLLM(responses=["one", "two", "three"]), memory=memory, prompt=prompt)
        results = [chain.invoke({"input": "first"}), asyncio.run(chain.ainvoke({"input": "second"}))]
        returned.append([list(results[1]["past"]), results[1]["response"]])
    assert returned[0] == returned[1]
    mine = [HumanMessage("mine")]
    ours = migration.ConversationBufferMemory()
    ours.save_context({"input": "Hello", "history": mine}, {"output": "Hello."})
    assert mine == [HumanMessage("mine")]


@pytest.mark.parametrize("name", migration.__all__[:-1])
def test_tool_steps_are_left_out_as_before_unless_they_are_wanted(name: str, face: Call) -> None:
    steps = [(AgentAction("weather", "Bonn", "I look it up."), "12 degrees")]
    for wanted, said in (({}, 2), ({"keep_steps": True}, 4)):
        ours = renewed(name, llm=None, **wanted)
        face(ours).save_context({"input": "Weather?"}, {"output": "12.", "intermediate_steps": steps})
        assert len(ours.chat_memory.messages) == said
        assert ("Tool: 12 degrees" in ours.buffer) == bool(wanted)


def test_a_window_counts_rounds_not_messages(memory: HybridMemory, face: Call) -> None:
    own = migration.ConversationBufferWindowMemory(
        memory=memory, user="ann", session="s1", k=2, return_messages=True, keep_steps=True
    )
    calls = [{"name": "f", "args": {}, "id": f"c{number}"} for number in range(4)]
    rounds = [
        [HumanMessage(f"turn {number}"), AIMessage("", tool_calls=calls)]
        + [ToolMessage("r", tool_call_id=str(call["id"])) for call in calls]
        + [AIMessage(f"answer {number}")]
        for number in range(4)
    ]
    for said, *answered in rounds:
        face(own).save_context({"input": said}, {"output": answered})
    assert face(own).load_memory_variables({}) == {"history": [*rounds[2], *rounds[3]]}


@pytest.mark.parametrize(
    ("name", "face"),
    [("ConversationSummaryMemory", "blocking"), ("ConversationSummaryBufferMemory", "async")],
    indirect=["face"],
)
def test_a_summary_fits_its_limit_and_nothing_is_lost(opened: Call, face: Call, name: str) -> None:
    def written(messages: Any) -> str:
        return '{"facts": ["Ann keeps three hives of bees in Lisbon."]}'

    theirs, _ = pair(name, llm=FakeListLLM(responses=["x"]))
    ours = getattr(migration, name)(llm=written, max_token_limit=200)
    assert ours.memory_variables == theirs.memory_variables
    assert face(ours).load_memory_variables({"input": "Hello?"}) == {"history": ""}
    assert face(ours).load_memory_variables({}) == theirs.load_memory_variables({})
    said = [(f"What is {number} plus {number}?", f"It is {2 * number}.") for number in range(40)]
    said[0] = ("I keep bees in Lisbon, three hives.", "How nice.")
    for text, answer in said:
        face(ours).save_context({"input": text}, {"output": answer})
        loaded = face(ours).load_memory_variables({"input": text})["history"]
        assert estimate_tokens(loaded) <= 1.1 * 200  # an estimate of the count
    text = face(ours).load_memory_variables({"input": "How many hives does Ann have?"})["history"]
    assert "three hives" in text
    assert "It is 78." in text
    assert "three hives" in ours.moving_summary_buffer
    assert "It is 78." in ours.buffer
    scoped = ours.chat_memory.scoped
    for text, answer in said:
        recalled = [hit.record.text for hit in scoped.recall(f"{text} {answer}", k=5)]
        assert {text, answer} <= set(recalled)
    assert [message.content for message in ours.chat_memory.messages] == [part for turn in said for part in turn]
    face(ours).clear()
    assert face(ours).load_memory_variables({}) == {"history": ""}
    assert ours.moving_summary_buffer == ""


def test_a_short_conversation_is_shown_as_by_the_original(face: Call) -> None:
    for return_messages in (False, True):
        name, model = "ConversationSummaryBufferMemory", FakeListLLM(responses=["never asked"])
        theirs, ours = pair(name, llm=model, max_token_limit=10_000, return_messages=return_messages)
        object.__setattr__(theirs, "prune", lambda: None)  # counting tokens, it downloads a tokenizer
        for inputs, outputs in SCRIPT:
            theirs.save_context(inputs, outputs)
            face(ours).save_context(inputs, outputs)
        assert face(ours).load_memory_variables({}) == theirs.load_memory_variables({})
        assert ours.buffer == theirs.buffer
        assert asyncio.run(ours.abuffer()) == theirs.buffer


def test_a_summary_memory_is_one_text(face: Call) -> None:
    ours = migration.ConversationSummaryMemory(
        llm=ScriptedModel(["x"]), return_messages=True, summary_message_cls=HumanMessage
    )
    assert face(ours).load_memory_variables({}) == {"history": []}
    face(ours).save_context({"input": "I keep bees."}, {"output": "How nice."})
    text = "Human: I keep bees.\nAI: How nice."
    assert face(ours).load_memory_variables({"input": "What?"}) == {"history": [HumanMessage(text)]}
    assert ours.buffer == text
    ours.return_messages = False
    assert face(ours).load_memory_variables({}) == {"history": text}
    assert ours.buffer == text


@pytest.mark.parametrize(
    ("name", "argument"),
    [("ConversationSummaryMemory", "buffer"), ("ConversationSummaryBufferMemory", "moving_summary_buffer")],
)
def test_an_old_summary_goes_on(opened: Call, face: Call, name: str, argument: str) -> None:
    with opened() as memory:
        place = {"memory": memory, "user": "ann", "session": "s1", argument: "Ann keeps bees in Lisbon."}
        ours = getattr(migration, name)(llm=None, **place)
        ours = getattr(migration, name)(**place)
        face(ours).save_context({"input": "Hello"}, {"output": "Hello Ann."})
        shown = face(ours).load_memory_variables({})["history"]
        assert shown.count("Ann keeps bees in Lisbon.") == 1
        assert shown.endswith("</record>\n\nHello\nAI: Hello Ann.")
        assert len(memory.scoped(user="ann").history()) == 3


def test_the_language_model_writes_the_summaries_of_a_private_store_only(memory: HybridMemory) -> None:
    asked: list[str] = []

    def writes(prompt: str) -> str:
        asked.append(prompt)
        return "{}"

    given = migration.ConversationSummaryBufferMemory(
        llm=writes, max_token_limit=100, memory=memory, user="ann", session="s1"
    )
    private = migration.ConversationSummaryBufferMemory(llm=writes, max_token_limit=100)
    for own, calls in ((given, 0), (private, 1)):
        for number in range(20):
            own.save_context({"input": f"What is {number} plus one?"}, {"output": f"It is {number + 1}."})
        own.load_memory_variables({})
        assert min(len(asked), 1) == calls


def test_a_summary_memory_from_messages() -> None:
    said = [HumanMessage("I keep bees."), AIMessage("How nice.")]
    made = migration.ConversationSummaryMemory.from_messages(
        FakeListLLM(responses=["x"]), history(*said), summarize_step=2, memory_key="past"
    )
    assert made.load_memory_variables({}) == {"past": "Human: I keep bees.\nAI: How nice."}


FRESH: list[tuple[str, dict[str, Any]]] = [
    ("ConversationBufferMemory", {}),
    ("ConversationBufferWindowMemory", {"k": 3}),
    ("ConversationSummaryMemory", {"llm": None}),
    ("ConversationSummaryBufferMemory", {"llm": None}),
    ("VectorStoreRetrieverMemory", {}),
]


@pytest.mark.parametrize(("name", "arguments"), FRESH)
def test_without_a_memory_each_has_its_own_store(name: str, arguments: dict[str, Any], face: Call) -> None:
    kind = getattr(migration, name)
    one, other = kind(**arguments), kind(**arguments)
    face(one).save_context({"input": "I keep bees."}, {"output": "How nice."})
    assert "I keep bees." in face(one).load_memory_variables({"input": "bees"})["history"]
    assert face(other).load_memory_variables({"input": "bees"}) == {"history": ""}
    assert one.memory.url == "memory://"
    for owner in ("user", "session", "tenant", "agent"):
        with pytest.raises(InvalidConfigError, match=rf"{owner}= names an owner .* give memory="):
            kind(**{owner: "ann"}, **arguments)


@pytest.mark.parametrize(("name", "arguments"), FRESH)
def test_with_a_memory_it_is_durable_and_kept_apart(
    name: str, arguments: dict[str, Any], opened: Call, face: Call
) -> None:
    kind = getattr(migration, name)
    with opened() as memory:
        ours = kind(memory=memory, user="ann", session="s1", **arguments)
        face(ours).save_context({"input": "I keep bees."}, {"output": "How nice."})
        with pytest.raises(InvalidScopeError):
            kind(memory=memory, session="s1", **arguments)
    with opened() as memory:
        again = kind(memory=memory, user="ann", session="s1", **arguments)
        assert "I keep bees." in face(again).load_memory_variables({"input": "bees"})["history"]
        bob = kind(memory=memory, user="bob", session="s1", **arguments)
        assert face(bob).load_memory_variables({"input": "bees"}) == {"history": ""}
        anywhere = HybridChatMemory(memory=memory, user="ann", session="s2")
        assert "user: I keep bees." in anywhere.load_memory_variables({"input": "bees"})["history"]


def test_a_session_must_be_named_in_a_memory(memory: HybridMemory) -> None:
    with pytest.raises(InvalidScopeError, match="no session given"):
        migration.ConversationBufferMemory(memory=memory, user="ann")


WORDS = st.sampled_from(["yes", "no", "And then?", "我喜欢茶。"])
SAID = st.lists(st.tuples(st.sampled_from([HumanMessage, AIMessage]), WORDS).map(lambda drawn: drawn[0](drawn[1])))


@given(SAID, st.integers(0, 5), SAID)
@settings(max_examples=40)
def test_a_history_that_is_given_is_read_once(before: list[Any], lost: int, grown: list[Any]) -> None:
    ours = migration.ConversationBufferMemory(chat_memory=history(*before), return_messages=True)
    assert ours.buffer == before
    place: dict[str, Any] = {"memory": ours.memory, "user": ours.user, "session": ours.session, "return_messages": True}
    ours.save_context({"input": "new"}, {"output": "words"})
    now = [*before, HumanMessage("new"), AIMessage("words")]
    assert migration.ConversationBufferMemory(chat_memory=history(*before), **place).buffer == now
    # In between the old program went on, and its history lost its beginning.
    later = history(*before[min(lost, len(before)) :], *grown)
    if before and not lost:
        assert migration.ConversationBufferMemory(chat_memory=later, **place).buffer == [*now, *grown]
    elif not grown and lost < len(before):
        assert migration.ConversationBufferMemory(chat_memory=later, **place).buffer == now


def test_what_was_read_keeps_its_ids_and_calls(memory: HybridMemory) -> None:
    said = [
        SystemMessage("Be brief."),
        HumanMessage("Weather?", id="h1"),
        AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c1"}], id="a1"),
        ToolMessage("12 degrees", tool_call_id="c1"),
        AIMessage("12.", id="a2", response_metadata={"model": "m"}),
    ]
    place: dict[str, Any] = {"memory": memory, "user": "ann", "session": "s1", "return_messages": True}
    for _ in range(2):
        ours = migration.ConversationBufferMemory(chat_memory=history(*said), **place)
        assert ours.buffer == said
    ours.clear()
    assert migration.ConversationBufferMemory(chat_memory=history(*said), **place).buffer == []


def test_a_history_of_ours_is_used_as_it_is(memory: HybridMemory) -> None:
    ours = HybridChatMessageHistory(memory, user="ann", session="s1")
    ours.add_messages([HumanMessage("Hello"), AIMessage("Hello Ann.")])
    kept = migration.ConversationBufferMemory(chat_memory=ours)
    assert kept.buffer == "Human: Hello\nAI: Hello Ann."
    kept.save_context({"input": "And now?"}, {"output": "Now."})
    assert len(ours.messages) == 4
    same = migration.ConversationBufferMemory(chat_memory=ours, memory=memory, user="ann", session="s1")
    assert len(same.buffer_as_messages) == 4
    others: list[dict[str, Any]] = [{"user": "bob"}, {"session": "s2"}, {"agent": "x"}]
    for other in others:
        with pytest.raises(InvalidConfigError, match=r"leave .*= out"):
            migration.ConversationBufferMemory(chat_memory=ours, **other)


class Hashed(Embeddings):
    """Words in common are nearness."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(part) for part in row] for row in HashingEmbedder().embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return [float(part) for part in HashingEmbedder().embed_query(text)]


def vector_store(*texts: str) -> InMemoryVectorStore:
    store = InMemoryVectorStore(Hashed())
    store.add_texts(list(texts))
    return store


def test_a_retriever_memory_gives_what_answers_the_input(face: Call) -> None:
    theirs, ours = (
        make("VectorStoreRetrieverMemory", retriever=retriever, memory_key="past")
        for make in (original, renewed)
        for retriever in [vector_store().as_retriever(search_kwargs={"k": 1})]
    )
    assert ours.memory_variables == theirs.memory_variables
    assert face(ours).load_memory_variables({"prompt": "food?"}) == theirs.load_memory_variables({"prompt": "food?"})
    for food in ("pizza", "soup"):
        inputs, outputs = {"input": f"My favourite {food} is the one with basil", "past": "x"}, {"output": "Good."}
        theirs.save_context(inputs, outputs)
        face(ours).save_context(inputs, outputs)
    query = {"prompt": "My favourite soup is the one with basil"}
    assert face(ours).load_memory_variables(query) == {
        "past": "user: My favourite soup is the one with basil\nassistant: Good."
    }
    ours.return_docs = theirs.return_docs = True
    (found,) = face(ours).load_memory_variables(query)["past"]
    assert isinstance(found, type(theirs.load_memory_variables(query)["past"][0]))
    assert isinstance(found, Document)
    assert {found.metadata["speaker"], found.metadata["kind"]} <= {"user", "assistant", "turn"}
    assert found.metadata["why"].startswith(f"{found.metadata['score']:.3f} = ")
    face(ours).clear()
    (again,) = face(ours).load_memory_variables(query)["past"]
    assert (again.id, again.page_content) == (found.id, found.page_content)


def test_documents_of_the_old_store_are_found_beside_new_turns(face: Call) -> None:
    store = vector_store("input: My cat is called Tom\noutput: Nice.", "input: unrelated\noutput: words")
    ours = migration.VectorStoreRetrieverMemory(retriever=store.as_retriever(search_kwargs={"k": 2}), return_docs=True)
    face(ours).save_context({"input": "My dog is called Rex"}, {"output": "Fine."})
    found = face(ours).load_memory_variables({"input": "My dog is called Rex"})["history"]
    assert [len(found), found[0].page_content] == [2, "user: My dog is called Rex\nassistant: Fine."]
    found = face(ours).load_memory_variables({"input": "What was my cat called? Tom?"})["history"]
    assert "My cat is called Tom" in "".join(each.page_content for each in found)
    assert found[0].metadata["score"] >= found[1].metadata["score"]
    assert all(each.metadata["why"] for each in found)
    assert len(store.store) == 2, "new turns are not written there"


def test_a_retriever_memory_stores_all_that_is_not_excluded(memory: HybridMemory, face: Call) -> None:
    ours = migration.VectorStoreRetrieverMemory(
        memory=memory, user="ann", session="s1", input_key="question", exclude_input_keys=["context"], k=2
    )
    inputs = {"question": "Which bees?", "mood": 5, "context": "secret", "history": "old"}
    face(ours).save_context(inputs, {"answer": "Mason bees.", "sure": True})
    said = [(str(message.role), message.text) for message in memory.scoped(user="ann", session="s1").history()]
    assert said == [("user", "question: Which bees?\nmood: 5"), ("assistant", "answer: Mason bees.\nsure: True")]
    assert "Which bees?" in face(ours).load_memory_variables({"question": "bees", "input": "x"})["history"]
    assert face(ours).load_memory_variables({"question": " "}) == {"history": ""}
    with pytest.raises(InvalidInputError, match="set input_key"):
        face(ours).load_memory_variables({"other": "bees"})


def test_read_only_and_combined_memories_take_ours() -> None:
    ours = migration.ConversationBufferMemory(memory_key="past", input_key="input")
    window = migration.ConversationBufferWindowMemory(memory_key="recent", k=1, input_key="input")
    both = old.CombinedMemory(memories=[ours, window])
    shared = old.ReadOnlySharedMemory(memory=ours)
    for number in range(3):
        inputs = {"input": f"turn {number}", **both.load_memory_variables({"input": f"turn {number}"})}
        both.save_context(inputs, {"output": f"answer {number}"})
        shared.save_context(inputs, {"output": "never"})
    assert both.load_memory_variables({}) == {
        "past": "".join(f"Human: turn {n}\nAI: answer {n}\n" for n in range(3)).strip(),
        "recent": "Human: turn 2\nAI: answer 2",
    }
    assert shared.load_memory_variables({}) == ours.load_memory_variables({})
