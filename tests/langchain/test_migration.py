"""LangChain's old memories beside ours of the same names, on the same words."""

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic import memory as old
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidConfigError, InvalidScopeError
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
@settings(max_examples=20)
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


@pytest.mark.parametrize(
    ("name", "face"),
    [("ConversationSummaryMemory", "blocking"), ("ConversationSummaryBufferMemory", "async")],
    indirect=["face"],
)
def test_a_summary_fits_its_limit_and_nothing_is_lost(opened: Call, face: Call, name: str) -> None:
    def written(messages: Any) -> str:
        return '{"facts": ["Ann keeps three hives of bees in Lisbon."]}'

    theirs, _ = pair(name, llm=FakeListLLM(responses=["x"]))
    ours = getattr(migration, name)(llm=written, max_token_limit=120)
    assert ours.memory_variables == theirs.memory_variables
    assert face(ours).load_memory_variables({"input": "Hello?"}) == {"history": ""}
    assert face(ours).load_memory_variables({}) == theirs.load_memory_variables({})
    said = [(f"What is {number} plus {number}?", f"It is {2 * number}.") for number in range(20)]
    said[0] = ("I keep bees in Lisbon, three hives.", "How nice.")
    for text, answer in said:
        face(ours).save_context({"input": text}, {"output": answer})
        loaded = face(ours).load_memory_variables({"input": text})["history"]
        assert estimate_tokens(loaded) <= 1.1 * 120  # an estimate of the count
    text = face(ours).load_memory_variables({"input": "How many hives does Ann have?"})["history"]
    assert "three hives" in text
    assert "It is 38." in text
    assert "three hives" in ours.moving_summary_buffer
    assert "It is 38." in ours.buffer
    scoped = ours.chat_memory.scoped
    for text, answer in said:
        recalled = [hit.record.text for hit in scoped.recall(f"{text} {answer}", k=5)]
        assert {text, answer} <= set(recalled)
    assert [message.content for message in ours.chat_memory.messages] == [part for turn in said for part in turn]
    face(ours).clear()
    assert face(ours).load_memory_variables({}) == {"history": ""}
    assert ours.moving_summary_buffer == ""


FRESH: list[tuple[str, dict[str, Any]]] = [
    ("ConversationBufferMemory", {}),
    ("ConversationBufferWindowMemory", {"k": 3}),
    ("ConversationSummaryMemory", {"llm": None}),
    ("ConversationSummaryBufferMemory", {"llm": None}),
]


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
