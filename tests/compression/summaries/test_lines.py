import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Line, Message, Role, Section
from hybrid_memory.context.compact import audited, critical_items, measured, unsaid
from hybrid_memory.context.lines import (
    CRITICAL,
    THRESHOLD,
    SummaryRoom,
    candidates,
    chosen,
    cost,
    importance,
    judged,
    merged,
    prose,
    shown,
)
from hybrid_memory.context.strategies import Anchored, SummaryJob
from hybrid_memory.text.tokens import estimate_tokens
from tests.compression.summaries.conftest import line, texts
from tests.world import column, event, rows

TABLE = "compression/summaries/lines.tsv"
HEADING = 5


def test_candidates_are_the_sentences_that_are_worth_a_line() -> None:
    span = [
        event(1, "Ok. My name is Nora Winter. Haha!"),
        event(2, "记住，我对花生过敏。好的。", name="小明"),
        event(3, '{"rows": 3, "name": "Nora"}', Role.TOOL, tool_call_id="c"),
        event(4, "```py\nname = 'My name is Tom'\n```\nWe decided to use the blue tiles.", Role.ASSISTANT),
    ]
    found = candidates(span, "light")
    assert texts(found) == [
        "user: My name is Nora Winter.",
        "小明: 记住，我对花生过敏。",
        "assistant: We decided to use the blue tiles.",
    ]
    assert [(one.first, one.last, one.sources) for one in found] == [(1, 1, ("e1",)), (2, 2, ("e2",)), (4, 4, ("e4",))]


def test_a_system_message_is_always_worth_a_line() -> None:
    (found,) = candidates([event(1, "Answer with short sentences.", Role.SYSTEM)], "off")
    assert found.importance >= 0.9


def test_prose_leaves_out_code_tags_and_media() -> None:
    image = {"type": "image", "data": "aGVsbG8="}
    text = "Look <b>here</b>.\n```js\nlet a = 1\n```\nAnd there."
    assert prose(Message(content=[{"type": "text", "text": text}, image])).split() == "Look here . And there.".split()
    assert "Line 500" not in prose(Message(content="\n".join(f"Line {number} of the log." for number in range(1000))))


WORDS = st.sampled_from("tiles bathroom river nora ghent invoice blue 12 2024 门 钥匙 蓝色".split())
LINES = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), st.sampled_from([0.3, 0.5, 0.9])), max_size=12
).map(lambda rows: [line(text, worth, position) for position, (text, worth) in enumerate(rows, start=1)])


@given(LINES, st.integers(0, 120))
def test_chosen_lines_fit_and_keep_their_order(lines: list[Line], budget: int) -> None:
    kept = chosen(lines, max_tokens=budget, count=estimate_tokens)
    assert sum(cost(each, estimate_tokens) for each in kept) <= budget
    rest = iter(lines)
    assert all(any(each is other for other in rest) for each in kept)
    assert chosen(kept, max_tokens=budget, count=estimate_tokens) == kept


@given(LINES)
def test_with_room_enough_each_different_line_is_kept_and_none_twice(lines: list[Line]) -> None:
    kept = chosen(lines, max_tokens=100_000, count=estimate_tokens)
    assert len({frozenset(each.text.split()) for each in kept}) == len(kept)
    assert bool(kept) == bool(lines)


def test_the_most_important_lines_come_first() -> None:
    lines = [line("the river is wide", 0.3, 1), line("the tiles are blue", 0.9, 2), line("nora lives in ghent", 0.9, 3)]
    room = sum(cost(each, estimate_tokens) for each in lines[1:]) + HEADING
    assert texts(chosen(lines, max_tokens=room, count=estimate_tokens)) == texts(lines[1:])


@pytest.mark.parametrize(("section", "winner"), [(Section.FACTS, 1), (Section.INTENT, 1), (Section.NEXT_STEPS, 9)])
def test_of_equal_lines_facts_stay_and_plans_move_on(section: Section, winner: int) -> None:
    same = [line(text, 0.5, at, section) for text, at in (("blue tiles", 1), ("green walls", 9))]
    room = cost(same[1], estimate_tokens) + HEADING
    assert [each.first for each in chosen(same, max_tokens=room, count=estimate_tokens)] == [winner]


@pytest.mark.parametrize(("old", "new"), rows(TABLE, "new value"))
def test_a_new_value_is_never_taken_for_a_repetition_of_the_old_one(old: str, new: str) -> None:
    standing, fresh = [line(old, 0.9, 1)], [line(new, 0.9, 2)]
    assert new in texts(merged(standing, fresh, max_tokens=900, count=estimate_tokens))
    assert texts(chosen(fresh, max_tokens=900, count=estimate_tokens, besides=standing)) == [new]


def test_of_two_that_say_the_same_the_newer_stays() -> None:
    standing = [line("user: The tiles in the bathroom are blue.", 0.9, 1), line("user: The river is wide.", 0.9, 2)]
    fresh = [line("user: Tiles in the bathroom: blue!", 0.5, 7)]
    assert [each.first for each in merged(standing, fresh, max_tokens=900, count=estimate_tokens)] == [2, 7]


@pytest.mark.parametrize("text", [*column(TABLE, "critical"), *column(TABLE, "small talk")])
def test_what_must_be_kept_is_critical_and_small_talk_below_the_threshold(text: str) -> None:
    assert importance(text) >= CRITICAL if text in column(TABLE, "critical") else importance(text) < THRESHOLD


@pytest.mark.parametrize(("section", "text"), rows(TABLE, "section"))
def test_a_sentence_goes_to_its_section_in_both_languages(section: str, text: str) -> None:
    assert judged(text).section == section


@pytest.mark.parametrize("row", rows(TABLE, "items"), ids="|".join)
def test_critical_items_are_found_in_both_languages(row: tuple[str, ...]) -> None:
    text, *items = row
    found = critical_items(event(1, text))
    assert set(found) >= set(items)
    assert bool(found) == bool(items)
    assert len(set(found)) == len(found)


def test_what_a_tool_said_and_code_are_not_looked_at() -> None:
    assert critical_items(event(1, "It costs 430 EUR.", Role.TOOL)) == ()
    assert critical_items(event(1, "```\ncosts 430 EUR\n```")) == ()


def test_each_item_is_counted_in_one_place() -> None:
    span = [event(1, "It costs 430 EUR on 2024-07-01."), event(2, "See src/api/server.py, says Nora.")]
    fresh = [line("user: it costs 430  eur.")]
    audit = audited(span, fresh, fresh, "modified src/api/server.py")
    assert (audit.compactions, audit.items, audit.lines) == (1, 4, 1)
    assert (audit.in_summary, audit.in_ledger, audit.in_log) == (1, 1, 2)
    assert audit.survived == 0.5
    both = audit + audited([], [], [], "")
    assert (both.compactions, both.items, both.coverage) == (2, 4, audit.coverage)
    assert audited([], [], [], "").survived == 1


def test_what_is_nowhere_is_told_by_turn() -> None:
    span = [event(1, "It costs 430 EUR."), event(2, "It is due on 2024-07-01."), event(3, "Fine.")]
    assert unsaid(span, [line("430 EUR")], "") == {2: ["2024-07-01"]}
    assert unsaid(span, [line("430 EUR")], "2024-07-01") == {}


def test_coverage_is_the_share_of_the_words_that_were_said() -> None:
    span = [event(1, "I prefer tiles from Ghent."), event(2, "我喜欢厨房的蓝色窗帘。")]
    assert [found.coverage for found in measured(candidates(span, "off"), span)] == [1.0, 1.0]
    (made_up,) = measured([line("tiles of Lisbon")], span)
    assert made_up.coverage == 0.5


@pytest.mark.parametrize("shown_tokens", [400, 600, 900])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_rules_and_keys_of_a_long_conversation_precede_its_talk(language: str, shown_tokens: int) -> None:
    """Eight rules and seven names, numbers, dates and decisions in 185 turns, compacted twelve turns at a time."""
    wanted, talk = column(TABLE, f"rules and keys {language}"), column(TABLE, f"talk {language}")
    said = [wanted[n // 12] if n % 12 == 5 else talk[n % len(talk)].format(n=n) for n in range(185)]
    room = SummaryRoom(standing=3 * shown_tokens // 2, shown=shown_tokens // 2, fresh=120, count=estimate_tokens)
    kept: list[Line] = []
    for start in range(0, len(said), 12):
        span = [event(n, said[n - 1]) for n in range(start + 1, min(start + 12, len(said)) + 1)]
        kept = Anchored().extract(SummaryJob(kept, span, room))
    lines = texts(shown(kept, max_tokens=shown_tokens // 2, spare=shown_tokens // 2, count=estimate_tokens))
    assert {text for text in wanted if f"user: {text}" not in lines} == set()
    assert len(lines) - len(wanted) <= len(talk) + 2, "a series takes one line, or two until it goes on"
