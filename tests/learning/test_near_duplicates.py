"""Which values of a list are one value: wording and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.facts.values import near_key

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
