import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.context.explain import Page, grep, page
from hybrid_memory.context.layout import payload_of
from hybrid_memory.errors import InvalidInputError

TEXT = st.text(st.sampled_from('ab{}[]":,1 \n\n\r\t航班é\u2028'), max_size=200)
FLIGHTS = '{"flights": [{"id": "HX1", "price": 120, "to": "上海"}], "空": []}'


def walk(text: str, where: str | None, max_chars: int) -> list[Page]:
    pages = [page(text, where, max_chars=max_chars)]
    while (after := pages[-1].next) is not None:
        pages.append(page(text, after, max_chars=max_chars))
    return pages


@given(TEXT, st.integers(1, 60))
def test_the_pages_of_a_text_give_it_back_exactly(text: str, max_chars: int) -> None:
    pages = walk(text, None, max_chars)
    assert "".join(one.text for one in pages) == text
    assert all(len(one.text) <= max_chars for one in pages)
    assert all(one.text for one in pages) or not text


@given(TEXT, st.integers(1, 60))
def test_a_page_is_found_again_at_the_place_that_it_names(text: str, max_chars: int) -> None:
    for one in walk(text, None, max_chars):
        if one.text:
            assert page(text, one.where, max_chars=max_chars) == page(text, one.where, max_chars=10_000)
            assert page(text, one.where, max_chars=max_chars).text == one.text
            lines = text.split("\n")
            assert one.text.rstrip("\n") in "\n".join(lines[one.first - 1 : one.last])


@given(st.lists(st.text(st.sampled_from("ab é航"), max_size=9), min_size=1), st.data())
def test_a_range_of_lines_holds_those_lines(lines: list[str], data: st.DataObject) -> None:
    lines[-1] = "end"
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    got = page("\n".join(lines), f"{first}-{last}", max_chars=10_000)
    assert got.text.removesuffix("\n").split("\n") == lines[first - 1 : last]
    assert (got.first, got.last, got.total_lines, got.next) == (first, last, len(lines), None)


@given(TEXT.filter(bool), st.data())
def test_a_range_of_characters_holds_those_characters(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(text)))
    last = data.draw(st.integers(first, len(text)))
    assert page(text, f"c{first}-{last}", max_chars=10_000).text == text[first - 1 : last]


def test_a_page_ends_with_a_line_and_the_next_one_is_named_by_lines() -> None:
    text = "one\ntwo\nthree\nfour"
    assert page(text, max_chars=9) == Page("one\ntwo\n", "1-2", 1, 2, 4, 18, "3-4")
    assert page(text, "2-3", max_chars=5) == Page("two\n", "2-2", 2, 2, 4, 18, "3-3")
    assert page(text, "4", max_chars=5).text == "four"
    assert page(text, "3-", max_chars=50).text == "three\nfour"


def test_a_line_that_is_too_long_is_read_by_characters() -> None:
    text = f"{'x' * 25}\nthe end"
    assert [(one.where, one.next) for one in walk(text, None, 10)] == [
        ("c1-10", "c11-33"), ("c11-20", "c21-33"), ("c21-26", "2-2"), ("2-2", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("5-9", ["'5-9'", "1-1"]),
        ("c900-901", ["'c900-901'", f"c1-{len(FLIGHTS)}"]),
        ("0-1", ["'0-1'", "1-1"]),
        ("flights[0]", ["'flights[0]'", "lines 1-1", f"characters c1-{len(FLIGHTS)}"]),
    ],
)
def test_a_place_that_leads_nowhere_is_told_with_what_there_is(where: str, told: list[str]) -> None:
    with pytest.raises(InvalidInputError) as raised:
        page(FLIGHTS, where, max_chars=100)
    assert [part for part in told if part not in str(raised.value)] == []


@given(st.text(st.sampled_from("$.[]*:-'\"\\ab0c1 航"), max_size=12), TEXT)
def test_any_place_gives_a_page_or_our_error(where: str, text: str) -> None:
    for payload in (text, FLIGHTS):
        with suppress(InvalidInputError):
            assert len(page(payload, where, max_chars=20).text) <= 20


def test_the_payload_of_a_message_is_the_text_of_its_content() -> None:
    assert payload_of(Message(role=Role.TOOL, content="a\nb")) == "a\nb"
    image = {"type": "image_url", "image_url": {"url": "u"}}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}]
    assert payload_of(Message(content=blocks)) == "a\nb"
    assert payload_of(Message(role=Role.ASSISTANT, content="x", tool_calls=[ToolCall(name="f")])) == "x"


LINES = st.lists(st.text(st.sampled_from("abAB 1.错误"), max_size=8), min_size=1, max_size=20)


@given(LINES, st.sampled_from(["a", "a.b", "^b", "1$", "错误", "[ab]+1", "a|误", r"\d"]), st.integers(1, 40))
def test_grep_finds_the_lines_that_python_finds_as_far_as_there_is_room(
    lines: list[str], pattern: str, max_chars: int
) -> None:
    lines[-1] = "end"
    expected = [f"{at}: {line}" for at, line in enumerate(lines, 1) if re.search(pattern, line, re.IGNORECASE)]
    got = grep("\n".join(lines), pattern, max_chars=10_000)
    assert got.text.split("\n") == (expected or [""])
    assert (got.total_matches, got.shown_matches, got.total_lines) == (len(expected), len(expected), len(lines))
    short = grep("\n".join(lines), pattern, max_chars=max_chars)
    assert len(short.text) <= max_chars
    assert short.total_matches == len(expected)
    assert bool(short.shown_matches) == bool(expected)


def test_grep_ends_after_fifty_matches() -> None:
    got = grep("a\n" * 60, "a", max_chars=1000)
    assert (got.shown_matches, got.total_matches) == (50, 60)


def test_a_match_in_a_long_line_is_shown_with_a_place_to_read_on() -> None:
    text = "first\n" + "x" * 5000 + "needle" + "y" * 5000
    got = grep(text, "needle", max_chars=1000)
    place = re.fullmatch(r"2 (c\d+-\d+): x*needley*", got.text)
    assert place is not None
    assert "needle" in page(text, place[1], max_chars=1000).text
    assert grep(text, "^x{3000}", max_chars=1000).text.startswith("2 c7-246: xxx")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"([a-z]+)*\d$", "(.*a){20}$"])
def test_a_pattern_that_backtracks_without_end_elsewhere_ends(pattern: str) -> None:
    assert grep("a" * 20_000 + "b\n" + "a" * 30 + "b", pattern, max_chars=100).total_matches == 0


@pytest.mark.parametrize("pattern", ["(a", "[", "*", '{"id"', "(?=a)b", r"(a)\1", "a{1000}{1000}{1000}", "", "\ud800"])
def test_a_pattern_that_cannot_be_searched_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInputError, match="pattern"):
        grep("text", pattern, max_chars=100)
