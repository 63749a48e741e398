from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Category, Fact, FactState, Message, Origin, Role
from hybrid_memory.context.layout import MEMORY_HEADINGS, Language
from hybrid_memory.context.memories import MEMORY_CHARS, Memories, fitting, memory_note, window
from tests.doubles import orphans
from tests.world import NOON, calls, hit, result, rows, words


def last_turn(history: list[Message]) -> list[Message]:
    """From the user's last message on; kept whole, however long."""
    rows = [row for row, message in enumerate(history) if message.role is Role.USER]
    return history[rows[-1] :] if rows else history


NAMES = st.sampled_from(["a", "b", "c", None])
HISTORIES = st.lists(
    st.one_of(
        st.just(Message(content="question")),
        st.just(Message(role=Role.ASSISTANT, content="answer")),
        st.just(Message(role=Role.SYSTEM, content="be brief")),
        st.lists(NAMES, min_size=1, max_size=3).map(lambda names: calls(*names)),
        NAMES.map(result),
        # Whole exchanges, so that not every history is nonsense.
        st.lists(NAMES, min_size=1, max_size=3).map(lambda names: [calls(*names), *map(result, names)]),
    ),
    max_size=14,
).map(lambda parts: [message for part in parts for message in (part if isinstance(part, list) else [part])])


@given(HISTORIES, st.integers(0, 20))
def test_a_window_is_never_orphaned_keeps_the_order_and_invents_nothing(history: list[Message], limit: int) -> None:
    newest = history[max(0, len(history) - max(limit, len(last_turn(history)))) :]
    shown = window(history, limit)
    assert len(shown) <= max(limit, len(last_turn(history)) if limit else 0)
    assert not shown or shown[0].role is Role.USER
    assert orphans(shown) == [], "each call stays together with its one result"
    assert {id(message) for message in shown} <= {id(message) for message in newest}
    rest = iter([message for message in newest if message.role is not Role.TOOL])
    assert all(any(message is said for said in rest) for message in shown if message.role is not Role.TOOL)


def test_a_last_turn_longer_than_the_limit_is_kept_whole() -> None:
    rounds = [message for name in "abcd" for message in (calls(name), result(name))]
    history = [Message(content="old"), Message(content="q"), *rounds]
    assert window(history, 3) == history[1:]
    assert window(history, 0) == []


def test_words_between_two_results_stand_behind_them_and_a_second_result_is_left_out() -> None:
    question, between = Message(content="q"), Message(content="hurry")
    exchange = [calls("a", "b"), result("a"), result("b")]
    assert window([question, *exchange[:2], between, exchange[2]], 10) == [question, *exchange, between]
    shown = window([question, *exchange[:2], result("a"), exchange[2]], 10)
    assert shown == [question, *exchange]
    assert shown[2] is exchange[1]


@pytest.mark.parametrize(("query", "text", "language"), rows("context/marks.tsv", "heading"))
def test_the_heading_is_in_the_language_of_the_query_or_memories(query: str, text: str, language: Language) -> None:
    assert memory_note(Memories((hit(1, text),)), query).splitlines()[0] == MEMORY_HEADINGS[language]


def test_a_note_is_one_bounded_line_a_hit_in_the_words_that_were_said() -> None:
    hits = (hit(1, "word \n" * 1000), hit(2, "a\n\nb"), hit(3, "Um, dois, três; x  # fix"))
    _, line, short, said = memory_note(Memories(hits)).splitlines()
    assert line.endswith("…")
    assert len(line) < MEMORY_CHARS + 50
    assert short.endswith("user: a b")
    assert said == "- [2024-05-04] user: Um, dois, três; x # fix"


def statement(number: int, text: str) -> Fact:
    at = NOON + timedelta(days=number)
    category, state = Category.KNOWLEDGE, FactState.CURRENT
    return Fact(
        number, "user", "knows", text, category, state, 0.7, 0.5, at, None, (f"e{number}",), (number,), text=text
    )


def test_what_the_statements_leave_goes_to_further_turns() -> None:
    turns = [replace(hit(number, " ".join(f"{kind}{word}" for word in range(20))), confidence=0.5)
             for number, kind in ((1, "a"), (2, "b"))]  # fmt: skip
    statements = (statement(3, "I painted the fence."),)
    kept = fitting(Memories(tuple(turns), statements), "the fence?", 150, words)
    assert kept.hits == tuple(turns)
    assert kept.statements == statements


def test_the_surest_turn_is_the_last_to_be_left_out() -> None:
    likely = replace(hit(2, " ".join(["rent"] * 40)), confidence=0.9)
    memories = Memories((replace(hit(1, " ".join(["fence"] * 40)), confidence=0.1), likely))
    assert fitting(memories, "the rent?", 70, words).hits == (likely,)


def test_a_turn_of_the_user_whose_statement_is_shown_is_no_further_turn() -> None:
    turns = (hit(1, " ".join(["rent"] * 40)), hit(3, "I painted the fence. Anyway, what is for dinner today?"))
    statements = (statement(3, "I painted the fence."),)
    kept = fitting(Memories(turns, statements), "the fence?", 110, words)
    assert kept.hits == turns[:1]
    same = tuple(hit(number, "Is this fair?\nPlumber: 2,350 euros") for number in (1, 2))
    assert fitting(Memories(same), "the plumber?", 110, words).hits == same[:1]


def test_beside_statements_stand_the_surest_turn_and_likely_ones_of_others() -> None:
    mine, also_mine = (replace(hit(number, " ".join([word] * 20)), confidence=0.9 - number / 10)
                       for number, word in ((1, "rent"), (2, "flat")))  # fmt: skip
    record = replace(hit(3, " ".join(["answer"] * 20)).record, origin=Origin.ASSISTANT, speaker="assistant")
    statements = tuple(statement(number, " ".join([f"word{number}"] * 20)) for number in range(4, 10))
    for confidence, shown in ((0.5, [mine.record, record]), (0.3, [mine.record])):
        theirs = replace(mine, record=record, confidence=confidence)
        kept = fitting(Memories((mine, also_mine, theirs), statements), "the rent?", 110, words)
        assert [one.record for one in kept.hits] == shown
        assert kept.statements
