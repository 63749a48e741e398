"""What a prompt tells of itself: for every part why it stands as it does."""

import logging
import re
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, Context, Hit, Line, Message, Role, Section
from hybrid_memory.context.context import context_of, plan
from hybrid_memory.context.layout import SUMMARY_HEADINGS
from hybrid_memory.context.memories import Memories
from hybrid_memory.context.view import LEAST_ROOM, PromptView
from hybrid_memory.text.tokens import estimate_tokens
from tests.context.conftest import See, page
from tests.faces import Face, Open
from tests.world import assistant, exchange, hit, user

TOOL = {"type": "function", "function": {"name": "read_page", "description": page("tool", 100)}}
LINES = [Line(Section.FACTS, "The bag is red.", ("a",), 1, 4), Line(Section.DECISIONS, "Take the train.", ("b",), 5, 9)]


def told(seen: PromptView, hits: Sequence[Hit] = ()) -> Context:
    memories = Memories(tuple(hits))
    return context_of(plan(seen, memories), memories)


def test_every_part_of_a_prompt_has_its_place_in_the_plan(see: See) -> None:
    seen = see(
        [user("Hello"), assistant("Hi.")], "Where is my bag?", max_tokens=4000, identity="A guide.",
        instructions="Be brief.", profile="likes tea", blocks={"human": "Nora"}, tools=[TOOL], lines=LINES,
    )  # fmt: skip
    context = told(seen, [hit(3, "My bag is in the hall.", 0.5)])
    assert [(piece.section, piece.what, piece.reason) for piece in context.plan] == [
        ("identity", "A guide.", "whole"),
        ("instructions", "Be brief.", "whole"),
        ("profile", "likes tea", "what is known of the user, within its share"),
        ("summary", "decisions: - Take the train. facts: - The bag is red.", "for older turns, within its share"),
        ("blocks", "human", "whole"),
        ("tools", "schemas of the tools", "whole"),
        ("turns", "user: Hello", "whole"),
        ("turns", "assistant: Hi.", "whole"),
        ("recalled", "user: My bag is in the hall.", "recalled: 0.50"),
        ("question", "Where is my bag?", "whole"),
    ]
    assert all(piece.shown and piece.tokens > 0 for piece in context.plan)
    assert [piece.handle for piece in context.plan if piece.section == "turns"] == ["#10", "#20"]
    assert context.dropped == ()


@pytest.mark.parametrize(("reader", "way"), [(None, "shortened"), ("look_up", "digested for look_up")])
def test_what_is_shortened_says_how_and_for_want_of_how_much(see: See, reader: str | None, way: str) -> None:
    said = [user("Read."), *exchange("c", page("page", 5000)), assistant("Done.")]
    seen = see(said, "And?", max_tokens=2000, reader=reader)
    (piece,) = [piece for piece in told(seen).plan if piece.reason != "whole"]
    assert piece.handle == "#30"
    assert piece.shown
    assert re.fullmatch(rf"{way}: [45],\d\d\d tokens, 1,\d\d\d for all turns", piece.reason)


def test_hits_beyond_the_share_for_memories_are_told(see: See) -> None:
    hits = [hit(number, page(f"memory {number}", 100), 1 / number) for number in range(1, 9)]
    seen = see([], "What did I say of memory 3?", max_tokens=1000)
    context = told(seen, hits)
    assert 0 < len(context.hits) < len(hits)
    recalled = [piece for piece in context.plan if piece.section == "recalled"]
    assert [piece.shown for piece in recalled] == [found in context.hits for found in hits]
    assert {piece.reason for piece in recalled if not piece.shown} == {"left out: beyond the share for memories"}
    assert estimate_tokens(context.note) <= seen.config.recall_ratio * seen.share


LONG = [user("Read."), *exchange("c", page("page", 3000)), assistant("Done.")]


@pytest.mark.parametrize("chinese", [False, True])
def test_the_reader_is_named_only_where_something_can_be_read_with_it(see: See, chinese: bool) -> None:
    lines = [Line(Section.FACTS, "包是红色的。", ("a",), 1, 4)] if chinese else LINES
    whole = told(see(LONG, "And?", max_tokens=9000, reader="look_up"))
    assert whole.reader == ""
    assert "look_up" not in whole.text
    pressed = told(see(LONG, "And?", max_tokens=2000, reader="look_up"))
    assert pressed.reader == "look_up"
    assert 'look_up("#30"' in pressed.text
    summarised = told(see([user("Hello")], lines=lines, reader="look_up"))
    assert summarised.reader == "look_up"
    assert re.search(r'look_up\("#\d+-\d+"\)', summarised.text)
    assert "[#1-4]" in summarised.text


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(200, 6000), st.booleans())
def test_without_a_reader_no_handle_and_no_tool_is_named(see: See, budget: int, summarised: bool) -> None:
    context = told(see(LONG, "And?", max_tokens=budget, lines=LINES if summarised else ()))
    assert context.reader == ""
    assert not re.search(r"#\d|fetch|expand|read on", context.text)
    for heading in SUMMARY_HEADINGS.values():
        assert "#" not in heading


@pytest.mark.parametrize("max_tokens", [60, 100, 300, 1000])
def test_the_conversation_gets_its_least_room_however_much_the_caller_brings(see: See, max_tokens: int) -> None:
    tools = [TOOL] * 20
    seen = see([user("Read."), *exchange("c", page("p", 900)), assistant("Done.")], "And?", max_tokens=max_tokens,
               identity=page("you", 400), tools=tools)  # fmt: skip
    assert seen.own > max_tokens
    assert seen.budget == seen.own + int(LEAST_ROOM * max_tokens)
    context = told(seen)
    assert context.messages[0].text == page("you", 400)
    assert context.messages[-1].text.endswith("And?")
    assert context.tokens <= max(seen.budget, seen.own + 40)


def test_instructions_that_a_conversation_began_with_keep_half_of_the_budget(see: See) -> None:
    long = [Message(role=Role.SYSTEM, content=page("rule", 3000)), user("Which rule is line 77?")]
    seen = see(long, max_tokens=1000)
    head = told(seen).messages[0]
    assert head.role is Role.SYSTEM
    assert estimate_tokens(head.text) <= 500
    assert told(see(long, max_tokens=8000)).messages[0].text == page("rule", 3000)


def test_a_budget_too_small_is_told_once(opened: Open, face: Face, caplog: pytest.LogCaptureFixture) -> None:
    small = opened(url="memory://", compaction=CompactionConfig(max_tokens=200))
    alice, eve = small.scoped(user="alice", session="s"), small.scoped(user="eve", session="s")
    eve.remember([user("Read."), *exchange("c", page("p", 900)), assistant("Done.")])
    with caplog.at_level(logging.WARNING, logger="hybrid_memory"):
        assert face(eve).assemble("And?").tokens <= 200
        assert caplog.messages == [], "a sufficient budget is not told"
        for number in range(3):
            context = face(alice).assemble(f"Hello {number}", identity=page("you", 400), tools=[TOOL])
            assert context.messages[-1].text == f"Hello {number}"
            assert context.tokens > 200
    (warning,) = caplog.messages
    own = re.search(r"max_tokens=200 is too small: system prompt and tools take (\d+), the prompt (\d+)", warning)
    assert own
    assert 400 < int(own[1]) < int(own[2])
    with caplog.at_level(logging.WARNING, logger="hybrid_memory"):
        face(alice).assemble("Hello", identity=page("you", 400), tools=[TOOL], max_tokens=300)
        face(small.scoped(user="bob", session="s")).assemble("Hello", identity=page("you", 400), tools=[TOOL])
    assert len(caplog.messages) == 3, "another budget and another conversation are told too"
