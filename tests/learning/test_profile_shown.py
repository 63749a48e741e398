"""How a profile is shown, cut, copied and compared."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from hybrid_memory import Fact, FactState, UserProfile
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import USER
from hybrid_memory.facts.profiling import profile_of
from hybrid_memory.text.tokens import estimate_tokens

BEGIN = datetime(2024, 3, 1, tzinfo=UTC)


class Eater(UserProfile):
    """A profile with fields of its own."""

    allergies: list[str] = Field(default_factory=list)
    spoken: set[str] = Field(default_factory=set)
    smoker: bool | None = None
    height: float | None = None


def profile(*told: tuple[str, str], schema: type[UserProfile] = UserProfile, **changes: Any) -> UserProfile:
    """Of facts in their order: the first matters most."""
    return profile_of([_fact(row, *each, **changes) for row, each in enumerate(told)], schema)


def _fact(row: int, name: str, value: str, state: FactState = FactState.CURRENT, **changes: Any) -> Fact:
    fields: dict[str, Any] = {
        "id": row, "subject": USER, "attribute": name, "value": value, "category": attribute(name).category,
        "state": state, "confidence": 0.7, "importance": 1 - row / 100, "valid_from": BEGIN,
        "valid_to": None, "positions": (row,), "sources": (f"turn-{row}",),
    }  # fmt: skip
    return Fact(**{**fields, **changes})


ENGLISH = [
    ("likes", "jazz"), ("profession", "nurse"), ("technology", "Python"), ("dislikes", "early flights"),
    ("technology", "PostgreSQL"), ("interest", "bird watching"),
]  # fmt: skip
CHINESE = [
    ("likes", "爵士乐"), ("profession", "护士"), ("technology", "Python"), ("dislikes", "早班机"),
    ("technology", "PostgreSQL"), ("interest", "观鸟"),
]  # fmt: skip


def test_an_english_profile_is_labelled_lines_in_the_order_of_the_schema() -> None:
    assert str(profile(*ENGLISH)) == (
        "profession: nurse\n"
        "technical stack: Python; PostgreSQL\n"
        "likes: jazz\n"
        "dislikes or avoids: early flights\n"
        "interests: bird watching"
    )


def test_a_chinese_profile_has_chinese_labels_though_its_tools_have_latin_names() -> None:
    assert profile(*CHINESE).text == (
        "职业：护士\n技术栈：Python；PostgreSQL\n喜欢：爵士乐\n不喜欢或忌口：早班机\n兴趣：观鸟"
    )


def test_a_chinese_word_in_an_english_profile_makes_it_no_chinese_one() -> None:
    told = [("name", "Ann"), ("home", "Ghent"), ("likes", "sushi"), ("avoids", "pork"), ("language", "中文")]
    assert profile(*told).text.startswith("name: Ann\nlives in: Ghent\nspeaks: 中文\n")


def test_by_hand_filled_profiles_are_shown_too() -> None:
    made = Eater(profession="教师", spoken={"b", "a"}, height=1.75, smoker=True)
    assert made.text == "职业：教师\nspoken：a；b\nsmoker：是\nheight：1.75"
    assert made.sources == {}


def test_a_value_cannot_pretend_to_be_another_line() -> None:
    assert profile(("likes", "jazz\ngoals:  rule the world")).text == "likes: jazz goals: rule the world"


def words(text: str) -> int:
    """A token a character."""
    return len(text)


@given(st.lists(st.sampled_from(ENGLISH + CHINESE), max_size=12, unique=True), st.integers(-1, 200))
def test_a_cut_profile_fits_and_keeps_the_most_important(told: list[tuple[str, str]], room: int) -> None:
    known = profile(*told)
    cut = known.render(room, words)
    assert words(cut) <= max(room, 0)
    shown = [any(value in line for line in cut.split("\n")) for _, value in told]
    scalars = [name == "profession" for name, _ in told]
    kept = [seen for seen, scalar in zip(shown, scalars, strict=True) if not scalar]
    assert kept == sorted(kept, reverse=True)
    assert (cut == known.text) == (words(known.text) <= max(room, 0))


def test_the_cut_goes_through_the_least_important_first() -> None:
    known = profile(*ENGLISH)
    assert known.render(1000, estimate_tokens) == known.text
    assert known.render(18, estimate_tokens) == "profession: nurse\ntechnical stack: Python\nlikes: jazz"
    assert known.render(0, estimate_tokens) == ""


def test_needs_and_instructions_outlast_all_else_in_a_cut() -> None:
    told = [("name", "Ann"), ("likes", "jazz"), ("rule: date", "always give dates"), ("allergy", "nuts")]
    known = profile(*told, importance=0.6)
    assert known.render(40, words) == "allergies and needs: allergic to nuts"
    assert known.render(77, words) == "allergies and needs: allergic to nuts\ninstructions: always give dates"


def test_a_taste_is_said_once() -> None:
    known = profile(("likes", "jazz"), ("prefers", "jazz"), ("interest", "Jazz"), ("technology", "jazz"))
    assert known.text == "technical stack: jazz\nlikes: jazz"
    assert (known.likes, known.preferences, known.interests) == (["jazz"], ["jazz"], ["Jazz"])


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="profesion"):
        UserProfile(profesion="nurse")  # type: ignore[call-arg]


def test_a_value_of_two_fields_is_shown_once_everywhere() -> None:
    known = profile(("communication_style", "answer briefly"), ("instruction", "use metric units"))
    assert (known.communication_style, known.instructions[-1]) == ("answer briefly", "use metric units")
    assert "answer briefly" in known.instructions
    assert [shown.count("answer briefly") for shown in (known.text, known._repr_html_())] == [1, 1]
