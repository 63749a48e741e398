"""Which values of a list are one value: wording, numbers, negation, and what the cosine may decide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.facts.values import ALIKE, near_key, says_the_same, united

SAME = [
    ("Jazz", "jazz"), ("ＪＡＺＺ", "jazz"), ("the sea", "sea"), ("cat", "cats"), ("movie", "movies"),
    ("hobby", "hobbies"), ("box", "boxes"), ("sandwich", "sandwiches"), ("tomato", "tomatoes"), ("horse", "horses"),
    ("Node.js", "NodeJS"), ("hip-hop", "hip hop"), ("爬山。", "爬山"), ("《三体》", "三体"), ("Ｃ＋＋", "c++"),
]  # fmt: skip
OTHER = [
    ("C", "C++"), ("C++", "C#"), ("bus", "bu"), ("tennis", "tenni"), ("Java", "JavaScript"),
    ("Python 3.1", "Python 31"), ("10:30", "1030"), ("5%", "5"), ("猫", "狗"), ("😀", "😡"), ("!!!", "???"),
    ("plans", "planes"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_case_width_plural_and_punctuation_make_no_other_value(one: str, other: str) -> None:
    assert near_key(one) == near_key(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_tells_two_things_apart_stays(one: str, other: str) -> None:
    assert near_key(one) != near_key(other)


@given(st.text(min_size=1))
def test_every_value_has_a_key_and_its_case_does_not_count(value: str) -> None:
    assert near_key(value)
    assert near_key(value.upper().lower()) == near_key(value.upper().lower().casefold())


@pytest.mark.parametrize(
    ("one", "other"), [("going hiking", "hiking"), ("打篮球", "篮球"), ("learn Spanish", "learning Spanish")]
)
def test_more_words_for_one_thing_are_united_if_they_are_alike(one: str, other: str) -> None:
    assert says_the_same(one, other, lambda *_: ALIKE)
    assert not says_the_same(one, other, lambda *_: ALIKE - 0.01)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("red wine", "white wine"), ("甜豆腐脑", "咸豆腐脑"), ("Python", "Python 2"), ("smoking", "stop smoking"),
        ("spicy food", "no spicy food"), ("sugar", "without sugar"), ("加糖", "不加糖"), ("辣", "微辣"),
        ("run a marathon", "run a half marathon"), ("the", "a"),
    ],
)  # fmt: skip
def test_no_cosine_unites_what_contradicts_or_counts_differently(one: str, other: str) -> None:
    assert not says_the_same(one, other, lambda *_: 1.0)
    assert not says_the_same(other, one, lambda *_: 1.0)


WORDS = st.sampled_from(["jazz", "Jazz!", "live jazz", "blues", "Blues", "爬山", "去爬山", "茶", "绿茶"])


@given(st.lists(WORDS), st.booleans())
def test_a_union_loses_nothing_and_is_its_own_union(values: list[str], by_meaning: bool) -> None:
    alike = (lambda *_: 1.0) if by_meaning else None
    groups = united(values, words=str, kind=lambda _: "", alike=alike)
    assert sorted(value for group in groups for value in group) == sorted(values)
    first = [group[0] for group in groups]
    assert [group[0] for group in united(first, words=str, kind=lambda _: "", alike=alike)] == first
    assert len({near_key(value) for value in first}) == len(first)


def test_things_of_another_kind_are_never_united() -> None:
    groups = united(["jazz", "Jazz"], words=str, kind=str, alike=lambda *_: 1.0)
    assert groups == [["jazz"], ["Jazz"]]


def test_the_best_supported_wording_stands_for_its_group() -> None:
    groups = united(["hiking", "Hiking", "going hiking"], words=str, kind=lambda _: "", alike=lambda *_: 1.0)
    assert groups == [["hiking", "Hiking", "going hiking"]]
