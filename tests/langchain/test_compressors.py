"""Documents of any retriever, ranked and shortened; and conversations of agents, summarised and edited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ContextEditingMiddleware, SummarizationMiddleware
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

from hybrid_memory import HybridMemory, MemoryConfig, Weights, open_memory
from langchain_hybrid_memory import HybridDocumentCompressor, HybridScoreCompressor
from tests.langchain.conftest import Invoke, ScriptedChat

SUMMARISER = "summarizer" in inspect.signature(SummarizationMiddleware).parameters
EDITS = "edits" in inspect.signature(ContextEditingMiddleware).parameters

DOCUMENTS = [
    Document("It rains in Berlin. The train is late.", metadata={"page": 1}, id="a"),
    Document("The hotel has 40 rooms. My sister lives in Lisbon. Breakfast is at 7.", metadata={"page": 2}, id="b"),
    Document("我妹妹喜欢喝茶。今天天气很好。", metadata={"page": 3, "tags": ["zh"]}),
]


class Shelf(BaseRetriever):
    """Returns the same documents for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return DOCUMENTS


Compress = Callable[[BaseDocumentCompressor, str], Sequence[Document]]


@pytest.fixture(params=["alone", "alone async", "retriever", "retriever async"])
def compress(request: pytest.FixtureRequest) -> Iterator[Compress]:
    """Lets a compressor work on `DOCUMENTS`; on a loop that must not be blocked, and leaving them as they are."""

    def retriever(compressor: BaseDocumentCompressor) -> ContextualCompressionRetriever:
        return ContextualCompressionRetriever(base_compressor=compressor, base_retriever=Shelf())

    ways: dict[str, Compress] = {
        "alone": lambda compressor, query: compressor.compress_documents(DOCUMENTS, query),
        "alone async": lambda compressor, query: asyncio.run(compressor.acompress_documents(DOCUMENTS, query)),
        "retriever": lambda compressor, query: retriever(compressor).invoke(query),
        "retriever async": lambda compressor, query: asyncio.run(retriever(compressor).ainvoke(query)),
    }
    before = deepcopy(DOCUMENTS)
    if "async" in request.param:
        with blockbuster_ctx():
            yield ways[request.param]
    else:
        yield ways[request.param]
    assert before == DOCUMENTS


@pytest.fixture
def memory() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        yield memory


def test_documents_are_ranked_and_say_why(memory: HybridMemory, compress: Compress) -> None:
    ranked = compress(HybridScoreCompressor(memory=memory), "Where does my sister live?")
    expected = memory.score("Where does my sister live?", [document.page_content for document in DOCUMENTS])
    assert [document.page_content for document in ranked] == [one.text for one in expected]
    assert ranked[0].id == "b"
    assert ranked[0].metadata == {"page": 2, "score": pytest.approx(1), "why": expected[0].why()}


def test_an_empty_question_leaves_the_order(memory: HybridMemory, compress: Compress) -> None:
    assert list(compress(HybridScoreCompressor(memory=memory, top_n=2), " ")) == DOCUMENTS[:2]


def test_a_recency_reads_the_time_of_a_document(memory: HybridMemory) -> None:
    times = ["2020-01-01T00:00:00+00:00", "2024-01-01", "no time", None]
    documents = [Document("The meeting is at nine.", metadata={"at": at}) for at in times]
    ranker = HybridScoreCompressor(memory=memory, weights=Weights(vector=0, text=0.1, recency=0.9))
    ranked = ranker.compress_documents(documents, "meeting")
    assert [document.metadata["at"] for document in ranked] == [
        "2024-01-01",
        "2020-01-01T00:00:00+00:00",
        "no time",
        None,
    ]


def test_documents_are_shortened_to_a_budget_that_they_share(memory: HybridMemory, compress: Compress) -> None:
    compressor = HybridDocumentCompressor(memory=memory, max_tokens=9)
    (left,) = compress(compressor, "Where does my sister live?")
    assert (left.page_content, left.id) == ("My sister lives in Lisbon.", "b")
    condensed = memory.condense(
        [document.page_content for document in DOCUMENTS], query="Where does my sister live?", max_tokens=9
    )
    assert left.metadata == {"page": 2, "original_tokens": condensed.before[1], "compressed_tokens": condensed.after[1]}


def test_what_fits_stays_word_for_word(memory: HybridMemory, compress: Compress) -> None:
    left = compress(HybridDocumentCompressor(memory=memory), "")
    assert [document.page_content for document in left] == [document.page_content for document in DOCUMENTS]
    assert left[2].metadata["tags"] == ["zh"]


@tool
def look_up(number: int) -> str:
    """Look a booking up."""
    filler = " ".join(f"Line {row} of page {number} says nothing of interest." for row in range(60))
    return f"{filler} The code of booking {number} is order_{number}4711. {filler}"


def run(
    invoke: Invoke, model: ScriptedChat, middleware: AgentMiddleware[Any, Any], messages: list[AnyMessage]
) -> list[AnyMessage]:
    """The messages that an agent leaves."""
    agent = create_agent(model, [look_up], system_prompt="Be brief.", middleware=[middleware])
    return list(invoke(agent, {"messages": messages})["messages"])


def asking(number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look_up", "args": {"number": number}, "id": f"c{number}"}])


def paired(messages: Sequence[BaseMessage]) -> bool:
    """Whether every result has its call somewhere before it, and every call its result behind it."""
    waiting: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        waiting |= {call["id"] for call in getattr(message, "tool_calls", ())}
    return not waiting


@pytest.mark.skipif(not EDITS, reason="this langchain takes no edits")
def test_as_an_edit_it_bounds_what_the_model_sees_and_nothing_else(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(answers=[asking(1), asking(2), asking(3), AIMessage("Done.")])
    middleware = ContextEditingMiddleware(edits=[HybridDocumentCompressor(memory=memory, max_tokens=2500)])
    question = HumanMessage("What are the codes of the bookings?", id="q")
    state = run(invoke, model, middleware, [question])
    assert [len(str(message.content)) > 4000 for message in state if isinstance(message, ToolMessage)] == [True] * 3
    for shown in model.prompts:
        assert paired(shown)
        assert (shown[0].content, shown[1].content) == ("Be brief.", question.content)
        assert count_tokens_approximately(shown[1:]) <= 2500
    last = [message for message in model.prompts[-1] if isinstance(message, ToolMessage)]
    assert [message.tool_call_id for message in last] == ["c1", "c2", "c3"]
    # The sentence that was asked for is what stays of an old result; the newest one is whole.
    assert all(f"order_{number}4711" in str(message.content) for number, message in enumerate(last, 1))
    assert len(str(last[0].content)) < 4000
    assert last[2].content == state[-2].content
    assert [message.id for message in last] == [message.id for message in state if isinstance(message, ToolMessage)]


@pytest.mark.skipif(not SUMMARISER, reason="this langchain takes no summariser")
def test_as_a_summariser_it_reads_every_message(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(answers=[AIMessage("Done.")])
    middleware = SummarizationMiddleware(
        model,
        trigger=("messages", 10),
        keep=("messages", 2),
        trim_tokens_to_summarize=None,
        summarizer=HybridDocumentCompressor(memory=memory, max_tokens=400),
    )
    history: list[AnyMessage] = [
        HumanMessage("Remember that my name is Nora Winter."),
        AIMessage("We decided to use booking 7."),
    ]
    for number in range(12):  # one turn of the user, then tools only: 25,000 tokens that the stock one loses
        history += [asking(number), ToolMessage(look_up.invoke({"number": number}), tool_call_id=f"c{number}")]
    history += [AIMessage("So be it."), HumanMessage("Which one?")]
    state = run(invoke, model, middleware, history)
    summary = str(state[0].content)
    assert "Nora Winter" in summary
    assert "We decided to use booking 7." in summary
    assert memory.condense([summary.partition("\n\n")[2]], max_tokens=400).how == ""
    assert "Which one?" in [message.content for message in model.prompts[0]]


@pytest.mark.skipif(not SUMMARISER, reason="this langchain takes no summariser")
def test_a_summary_is_summarised_on_without_growing_labels(memory: HybridMemory) -> None:
    compressor = HybridDocumentCompressor(memory=memory, max_tokens=60)
    first = compressor([HumanMessage("My name is Nora."), AIMessage("Noted.")])
    assert first == "user: My name is Nora.\nassistant: Noted."
    before = HumanMessage(
        f"Here is a summary of the conversation to date:\n\n{first}", additional_kwargs={"lc_source": "summarization"}
    )
    assert compressor([before, HumanMessage("I live in Ghent.")]) == f"{first}\nuser: I live in Ghent."


def test_what_no_log_could_hold_is_summarised_all_the_same(memory: HybridMemory) -> None:
    assert "Nora" in HybridDocumentCompressor(memory=memory)([HumanMessage("I am Nora \ud800.")])


def edit(memory: HybridMemory, messages: list[AnyMessage], max_tokens: int) -> list[AnyMessage]:
    """The messages as an edit leaves them, from copies."""
    edited = deepcopy(messages)
    HybridDocumentCompressor(memory=memory, max_tokens=max_tokens).apply(
        edited, count_tokens=count_tokens_approximately
    )
    return edited


LONG = " ".join(f"Sentence number {row} tells of the weather." for row in range(80))


def test_old_results_go_first_and_only_as_far_as_it_takes(memory: HybridMemory) -> None:
    messages: list[AnyMessage] = [HumanMessage("What is sentence number 7?")]
    for number in range(4):
        messages += [asking(number), ToolMessage(LONG, tool_call_id=f"c{number}")]
    edited = edit(memory, messages, count_tokens_approximately(messages) - 100)
    changed = [row for row, (old, new) in enumerate(zip(messages, edited, strict=True)) if old != new]
    assert changed == [2]
    assert "Sentence number 7 tells of the weather." in str(edited[2].content)


def test_a_digest_keeps_its_handle(memory: HybridMemory) -> None:
    digest = f'[text, 9,000 characters, 80 lines; result_id=r-17]\n{LONG}\nread on: fetch("r-17", "1-50")'
    messages: list[AnyMessage] = [
        HumanMessage("Hello."),
        asking(1),
        ToolMessage(digest, tool_call_id="c1", id="t1"),
        asking(2),
        ToolMessage(LONG, tool_call_id="c2"),
    ]
    edited = edit(memory, messages, count_tokens_approximately(messages) - 100)
    assert edited[2] == messages[2]
    assert edited[4] != messages[4]


def test_blocks_of_a_result_are_shortened_and_images_stay(memory: HybridMemory) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": LONG, "index": 0}, image, LONG]
    messages: list[AnyMessage] = [
        HumanMessage("Hello."), asking(1), ToolMessage(blocks, tool_call_id="c1"), AIMessage("Yes.")
    ]  # fmt: skip
    content = edit(memory, messages, 400)[2].content
    assert isinstance(content, list)
    first, second, third = content
    assert isinstance(first, dict)
    assert 0 < len(first["text"]) < len(LONG) > len(str(third)) > 0
    assert (second, first["index"]) == (image, 0)


def test_when_results_are_not_enough_the_oldest_exchanges_go(memory: HybridMemory) -> None:
    messages: list[AnyMessage] = [SystemMessage("Be brief.")]
    for number in range(6):
        messages += [HumanMessage(f"Question {number}: {LONG}"), AIMessage(f"Answer {number}: {LONG}")]
    messages += [HumanMessage("And now?")]
    edited = edit(memory, messages, count_tokens_approximately(messages) // 2 + 50)
    assert edited == [messages[0], *messages[7:]]


def test_a_result_between_messages_of_people_goes_with_its_call(memory: HybridMemory) -> None:
    two = AIMessage("", tool_calls=[*asking(1).tool_calls, *asking(2).tool_calls])
    messages: list[AnyMessage] = [
        HumanMessage(LONG), two, ToolMessage(LONG, tool_call_id="c1"), HumanMessage("Hurry."),
        ToolMessage(LONG, tool_call_id="c2"), AIMessage("Done."), HumanMessage("Thanks."), AIMessage("Sure."),
        HumanMessage("Bye."),
    ]  # fmt: skip
    assert edit(memory, messages, 22) == messages[-3:]


turns = st.lists(
    st.one_of(
        st.builds(HumanMessage, st.sampled_from(["Hi.", LONG[:900], "我住在上海。" * 40])),
        st.builds(AIMessage, st.sampled_from(["Yes.", LONG[:900]])),
        st.integers(1, 3),  # calls in parallel
        st.just(SystemMessage("Mind the gap.")),
    ),
    max_size=12,
)
MEMORY = open_memory(MemoryConfig(url="memory://", embedder="none"))


def conversation(parts: list[Any]) -> list[AnyMessage]:
    """A conversation that a provider accepts: every call is answered, now and then after somebody else spoke."""
    messages: list[AnyMessage] = [SystemMessage("Be brief."), HumanMessage("Hello.")]
    for place, part in enumerate(parts):
        if not isinstance(part, int):
            messages.append(part)
            continue
        names = [f"{place}-{call}" for call in range(part)]
        calls = [{"name": "look_up", "args": {}, "id": name} for name in names]
        results = [
            ToolMessage(LONG[:900] if call % 2 else "short", tool_call_id=name) for call, name in enumerate(names)
        ]
        messages += [AIMessage("", tool_calls=calls), *results[:1]]
        if place % 3 == 0:
            messages.append(HumanMessage("Hurry."))
        messages += results[1:]
    return [message.model_copy(update={"id": str(row)}) for row, message in enumerate(messages)]


@settings(max_examples=50)
@given(turns, st.integers(1, 1500))
def test_no_edit_orphans_a_result_or_loses_what_must_stay(parts: list[Any], max_tokens: int) -> None:
    messages = conversation(parts)
    before = deepcopy(messages)
    edited = edit(MEMORY, messages, max_tokens)
    assert messages == before
    assert paired(edited)
    ids = [message.id for message in edited]
    assert ids == sorted(ids, key=lambda name: int(name or 0))
    by_id = {message.id: message for message in messages}
    for message in edited:
        if not isinstance(message, ToolMessage):
            assert message == by_id[message.id]
        else:
            assert message.content
    assert {message.id for message in messages if isinstance(message, SystemMessage)} <= set(ids)
    asked = [message.id for message in messages if isinstance(message, HumanMessage)]
    assert asked[-1] in ids
    assert isinstance(next(m for m in edited if not isinstance(m, SystemMessage)), HumanMessage)
    if count_tokens_approximately(edited) > max_tokens:  # then nothing is left that could go
        assert len([message for message in edited if isinstance(message, HumanMessage | AIMessage)]) <= 3
        assert all(len(str(message.content)) < 200 for message in edited if isinstance(message, ToolMessage))
