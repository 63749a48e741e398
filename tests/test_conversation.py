"""The verbs of a conversation, end to end and on both faces."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, ScopedMemory, ToolCall, open_memory
from hybrid_memory.config import CompactionConfig
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.types import Context

if TYPE_CHECKING:
    from tests.conftest import Face

OpenWith = Callable[..., HybridMemory]
Prompt = list[tuple[str, str]]


@pytest.fixture
def open_with(store: str) -> Iterator[OpenWith]:
    """Opens a memory with these settings of compaction."""
    memories: list[HybridMemory] = []

    def open_one(
        *, url: str = "memory://", embedder: Any = "none", model: Any = None, **compaction: Any
    ) -> HybridMemory:
        config = MemoryConfig(
            url=store if url == "sqlite" else url, embedder=embedder, compaction=CompactionConfig(**compaction)
        )
        memories.append(open_memory(config, language_model=model, token_counter=estimate_tokens))
        return memories[-1]

    yield open_one
    for memory in memories:
        memory.close()


def assistant(text: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text)


def exchange(name: str, result: str, **arguments: Any) -> list[Message]:
    calls = [ToolCall(name="look_up", arguments=arguments, id=name)]
    return [
        Message(role=Role.ASSISTANT, tool_calls=calls),
        Message(role=Role.TOOL, content=result, tool_call_id=name),
    ]


def rounds(first: int, last: int) -> list[Message]:
    return [
        message
        for number in range(first, last)
        for message in (
            Message(content=f"Room {number} needs {number + 3} chairs."),
            assistant(f"Noted room {number}."),
        )
    ]


def prompt(context: Context) -> Prompt:
    return [(message.role.value, message.text) for message in context.messages]


def events(handle: ScopedMemory) -> int:
    return len(handle._house.world.log.read(handle.scope))


GARDEN = [
    "The roses at the old wall were planted by Nora in April.",
    "The apple tree beside the pond needs water every second day.",
    "Tom borrowed the green ladder and brought it back on Friday.",
    "厨房的窗帘是蓝色的，客厅的是白色的。",
]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(range(4)), st.booleans(), st.integers(0, 2)), min_size=2, max_size=9))
@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_until_a_compaction_each_prompt_begins_with_the_one_before(
    embedder: str, turns: list[tuple[int, bool, int]]
) -> None:
    settings = {"url": "memory://", "embedder": embedder, "compaction": CompactionConfig(max_tokens=900)}
    with open_memory(MemoryConfig(**settings), token_counter=estimate_tokens) as memory:
        memory.scoped(user="a", session="before").remember(GARDEN)
        alice = memory.scoped(user="a", session="s")
        last: Prompt = []
        for number, (topic, said_before, steps) in enumerate(turns):
            question = [
                "Who planted the roses?",
                "When does the tree get water?",
                "Um, and the the ladder?",
                "窗帘是什么颜色？",
            ][topic]
            question = f"{question} ({number})"
            if said_before:
                alice.remember(question)
            asked = None if said_before else question
            shown = []
            for step in range(steps + 1):
                if step:
                    alice.remember(exchange(f"c{number}-{step}", f"Result {step} of {number}.", step=step))
                context = alice.assemble(asked if step == 0 else None)
                assert context.compacted or prompt(context)[: len(last)] == last
                last = prompt(context)
                if step == 0:
                    assert prompt(alice.assemble(asked)) == last
                    if not said_before:
                        alice.remember(question)
                shown.append(context)
            assert alice.assemble(None).tokens <= 900
            alice.remember(assistant(f"That is answer {number}."))


def test_a_reopened_store_and_another_handle_give_the_same_prompt(face: Face, open_with: OpenWith) -> None:
    first = open_with(url="sqlite", rounds=4, keep_rounds=2, keep_least=2)
    alice = first.scoped(user="a", session="s")
    face(first.scoped(user="a", session="old"), "remember", GARDEN)
    for number in range(8):
        face(alice, "remember", rounds(number, number + 1))
        face(alice, "assemble", f"Who planted the roses in {number}?")
    face(alice, "remember", "Who planted the roses at the wall?")
    before = face(alice, "assemble")
    summary = face(alice, "summary")
    assert summary
    other = open_with(url="sqlite", rounds=4, keep_rounds=2, keep_least=2)
    assert prompt(face(other.scoped(user="a", session="s"), "assemble")) == prompt(before)
    face(first, "close")
    face(other, "close")
    again = open_with(url="sqlite", rounds=4, keep_rounds=2, keep_least=2).scoped(user="a", session="s")
    assert prompt(face(again, "assemble")) == prompt(before)
    assert face(again, "summary") == summary
    assert face(again, "expand", summary) == face(again, "conversation")[: len(face(again, "expand", summary))]


def test_compact_folds_all_but_the_newest_rounds(face: Face, open_with: OpenWith) -> None:
    alice = open_with(rounds=None).scoped(user="a", session="s")
    said = rounds(0, 6)
    assert face(alice, "compact").folded == 0
    assert not face(alice, "summary")
    face(alice, "remember", said)
    assert face(alice, "compact", keep=2).folded == 8
    assert face(alice, "compact", keep=2).folded == 0
    (name,) = face(alice, "summary").handles
    assert face(alice, "expand", name) == face(alice, "history")[:8]
    shown = prompt(face(alice, "assemble", k=0))
    assert [text for _, text in shown[1:]] == [message.text for message in said[8:]]
    assert face(alice, "summary").audit.compactions == 1


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("What is the phone number of the plumber?", "555-0143"), ("水管工的电话是多少？", "13812340143")],
)
def test_a_long_chat_answers_in_either_language_from_a_bounded_prompt(
    face: Face, open_with: OpenWith, query: str, wanted: str
) -> None:
    chinese = not query.isascii()
    alice = open_with(max_tokens=800, embedder="hashing").scoped(user="a", session="s")
    told = "记住，水管工的电话是13812340143。" if chinese else "Remember that the plumber's phone number is 555-0143."
    face(alice, "remember", [Message(content=told), assistant("好的。" if chinese else "Noted.")])
    for number in range(60):
        text = (
            f"今天第{number}次去河边散步，天气不错，没什么事。"
            if chinese
            else f"I went for walk {number} by the river today."
        )
        face(alice, "remember", [Message(content=text), assistant("真好。" if chinese else "How nice.")])
        if number % 10 == 0:
            assert face(alice, "assemble", max_tokens=800).tokens <= 800
    context = face(alice, "assemble", query)
    assert wanted in context.text
    assert context.tokens <= 800
    summary = face(alice, "summary")
    assert any(wanted in line.text for line in summary)
    assert wanted in face(alice, "assemble", query, k=0).text
    assert face(alice, "expand", summary)[0].text == told


def test_reset_starts_anew_with_what_is_kept(face: Face, open_with: OpenWith) -> None:
    memory = open_with(url="sqlite")
    alice, other = memory.scoped(user="a", session="s"), memory.scoped(user="a", session="t")
    kept, *_ = face(alice, "remember", rounds(0, 3)).ids
    face(other, "remember", rounds(3, 4))
    face(alice, "compact", keep=1)
    face(alice, "reset", keep=[kept])
    face(alice, "remember", ["What about room 9?"])
    texts = [message.text for message in face(alice, "conversation")]
    assert texts == ["Room 0 needs 3 chairs.", "What about room 9?"]
    assert [message.text for message in face(alice, "conversation", limit=1)] == texts[1:]
    assert face(alice, "conversation", limit=0) == []
    assert [text for _, text in prompt(face(alice, "assemble", k=0))] == texts
    assert not face(alice, "summary")
    assert len(face(alice, "history")) == 7
    assert len(face(other, "conversation")) == 2
    assert face(alice, "recall", "Room 2 chairs", within="session")
    face(memory, "close")
    again = open_with(url="sqlite").scoped(user="a", session="s")
    assert [message.text for message in face(again, "conversation")] == texts
    face(again, "reset")
    assert face(again, "conversation") == []
    with pytest.raises(InvalidInputError):
        face(again, "reset", keep=["nobody said this"])


LONG = "\n".join(f"row {number:05d}: {number * 7919 % 10007} parts in store {number % 13}" for number in range(3100))


def test_a_long_result_is_a_digest_that_leads_to_all_of_it(face: Face, open_with: OpenWith) -> None:
    alice = open_with(max_tokens=2000).scoped(user="a", session="s")
    assert len(LONG) > 100_000
    face(alice, "remember", ["How many parts are there?", *exchange("c", LONG), assistant("Many.")])
    context = face(alice, "assemble", "And in store 3?")
    assert context.tokens <= 2000
    assert LONG[:500] not in context.text
    (result,) = [message for message in context.messages if message.role is Role.TOOL]
    name = result.text.split("result_id=")[1].split("]")[0]
    pages, where = [], None
    while True:
        page = face(alice, "fetch", name, where, max_chars=9000)
        assert len(page.text) <= 9000
        pages.append(page.text)
        if (where := page.next) is None:
            break
    assert "".join(pages) == LONG
    found = face(alice, "grep", name, r"row 01234: \d+")
    assert (found.total, found.text.split(": ", 1)[1]) == (1, LONG.splitlines()[1234])
    assert face(alice, "expand", name)[0].text == LONG


def test_a_picture_travels_once(face: Face, open_with: OpenWith) -> None:
    alice = open_with(max_tokens=2000).scoped(user="a", session="s")
    data = base64.b64encode(b"\x89PNG" + bytes(range(256)) * 40).decode()
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    face(alice, "remember", Message(content=[{"type": "text", "text": "What is on this picture?"}, picture]))
    assert str(face(alice, "assemble").as_dicts()).count(data) == 1
    face(alice, "remember", [assistant("A red door."), Message(content="And behind it?")])
    later = face(alice, "assemble")
    assert data not in str(later.as_dicts())
    assert later.text.count("[image/png, ") == 1
    assert face(alice, "history")[0].content[1] == picture


def test_the_scratchpad_is_no_part_of_the_conversation(face: Face, open_with: OpenWith) -> None:
    alice = open_with(embedder="hashing").scoped(user="a", session="s")
    face(alice, "remember", "Hello there.")
    put = face(alice, "offload", LONG)
    assert put.result_id in put.digest
    assert estimate_tokens(put.digest) <= 200
    assert face(alice, "fetch", put.result_id, "1-1").text == LONG.splitlines(keepends=True)[0]
    assert face(alice, "grep", put.result_id, "row 03099").total == 1
    assert [message.text for message in face(alice, "history")] == ["Hello there."]
    assert face(alice, "conversation") == face(alice, "history")
    assert "parts in store" not in repr(face(alice, "recall", "parts in store 3", k=9))
    assert "parts in store" not in face(alice, "assemble").text


def test_a_context_tells_what_is_where_and_what_did_not_fit(face: Face, open_with: OpenWith) -> None:
    alice = open_with(rounds=None, flush=1.0).scoped(user="a", session="s")
    face(alice, "remember", rounds(0, 30))
    face(alice, "compact", keep=3)
    context = face(
        alice, "assemble", "What does room 3 need?", max_tokens=420, identity="You are a guide.",
        instructions="Be brief.", blocks={"human": "Nora"}, profile="likes tea",
    )  # fmt: skip
    parts = ["identity", "instructions", "blocks", "profile", "summary", "turns", "recalled", "question"]
    assert [name for name in context.sections if name != "artifacts"] == parts
    assert context.section_tokens == {name: estimate_tokens(text) for name, text in context.sections.items()}
    assert all(text in context.text for name, text in context.sections.items() if name != "turns")
    assert {part.section for part in context.dropped} >= {"summary"}
    for part in context.dropped:
        said = " ".join(message.text for message in face(alice, "expand", part))
        assert part.what.split(": ", 1)[1][:40] in said
        assert part.what.split(": ", 1)[1] not in context.sections["summary"] or part.section != "summary"
    assert context.breakpoints == (0, len(context.messages) - 1)
    plain, marked = context.as_dicts(), context.as_dicts(cache_control=True)
    for row, (one, other) in enumerate(zip(plain, marked, strict=True)):
        if row in context.breakpoints:
            assert other["content"][-1].pop("cache_control") == {"type": "ephemeral"}
            assert other["content"] == [{"type": "text", "text": one["content"]}]
        else:
            assert one == other


def test_the_classic_layout_ends_with_instructions_and_question(face: Face, open_with: OpenWith) -> None:
    alice = open_with().scoped(user="a", session="s")
    face(alice, "remember", rounds(0, 2))
    context = face(alice, "assemble", "Why?", identity="A guide.", instructions="Be brief.", layout="classic", k=0)
    shown = prompt(context)
    assert (shown[0], shown[-2:]) == (("system", "A guide."), [("system", "Be brief."), ("user", "Why?")])
    assert len(shown) == 7


def test_what_stands_in_the_recent_turns_is_not_recalled_again(face: Face, open_with: OpenWith) -> None:
    memory = open_with(embedder="hashing")
    face(memory.scoped(user="a", session="old"), "remember", GARDEN[:2])
    alice = memory.scoped(user="a", session="s")
    face(alice, "remember", [Message(content=GARDEN[2]), assistant("I see.")])
    context = face(alice, "assemble", "Who borrowed the ladder, and who planted the roses?")
    assert context.text.count("Tom borrowed the green ladder") == 1
    assert context.text.count("planted by Nora") == 1
    assert all(GARDEN[2] != hit.record.text for hit in context.hits)


BAD: list[tuple[str, dict[str, Any]]] = [
    ("assemble", {"query": ""}),
    ("assemble", {"query": 3}),
    ("assemble", {"max_tokens": 10}),
    ("assemble", {"max_tokens": "many"}),
    ("assemble", {"k": -1}),
    ("assemble", {"layout": "wild"}),
    ("assemble", {"identity": None}),
    ("assemble", {"instructions": "\ud800"}),
    ("assemble", {"blocks": {"a": 1}}),
    ("assemble", {"blocks": ["a"]}),
    ("assemble", {"tools": 5}),
    ("assemble", {"tools": [{"a": {1}}]}),
    ("assemble", {"tools": ["look_up"]}),
    ("assemble", {"max_tokens": 60, "identity": "You are a guide. " * 50}),
    ("compact", {"strategy": "magic"}),
    ("compact", {"strategy": 5}),
    ("compact", {"keep": 0}),
    ("compact", {"keep": "all"}),
    ("conversation", {"limit": -1}),
    ("reset", {"keep": 5}),
    ("reset", {"keep": "m1"}),
    ("reset", {"keep": ["unknown"]}),
    ("expand", {"what": None}),
    ("expand", {"what": ""}),
    ("expand", {"what": "#999"}),
    ("expand", {"what": "#2-1"}),
    ("fetch", {"result_id": "#999"}),
    ("fetch", {"result_id": 5}),
    ("fetch", {"result_id": "#1", "where": (1,)}),
    ("fetch", {"result_id": "#1", "where": 1.5}),
    ("fetch", {"result_id": "#1", "where": "9999-"}),
    ("fetch", {"result_id": "#1", "max_chars": 0}),
    ("fetch", {"result_id": "#1", "max_chars": "x"}),
    ("grep", {"result_id": "#1", "pattern": "("}),
    ("grep", {"result_id": "#1", "pattern": None}),
    ("grep", {"result_id": "#1", "pattern": "x", "context": "a"}),
    ("offload", {"text": ""}),
    ("offload", {"text": "\ud800"}),
    ("offload", {"text": "abc", "max_tokens": "x"}),
    ("offload", {"text": "abc", "max_tokens": -1}),
]


@pytest.mark.parametrize(("verb", "arguments"), BAD, ids=lambda part: str(part)[:40])
def test_a_wrong_argument_changes_nothing(
    face: Face, open_with: OpenWith, verb: str, arguments: dict[str, Any]
) -> None:
    alice = open_with().scoped(user="a", session="s")
    face(alice, "remember", rounds(0, 8))
    before = events(alice)
    with pytest.raises(InvalidInputError):
        face(alice, verb, **arguments)
    assert events(alice) == before


def test_without_a_word_of_the_user_there_is_nothing_to_answer(face: Face, open_with: OpenWith) -> None:
    alice = open_with().scoped(user="a", session="s")
    with pytest.raises(InvalidInputError, match="nothing to answer"):
        face(alice, "assemble")
    face(alice, "remember", [assistant("Welcome."), Message(role=Role.SYSTEM, content="Be kind.")])
    with pytest.raises(InvalidInputError, match="nothing to answer"):
        face(alice, "assemble")
    assert prompt(face(alice, "assemble", "Hello"))[-1] == ("user", "Hello")
