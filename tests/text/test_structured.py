import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.speakers import named, voice
from hybrid_memory.text.structured import parse_object
from tests.doubles import assert_linear
from tests.world import column, rows

ODD = st.text(st.sampled_from("ab 猫\"'{}[],:\\\n\t`0/é<>“”#*_\x07"), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3))
OBJECTS = st.dictionaries(ODD, VALUES, min_size=1, max_size=4)
PROSE = st.text(st.sampled_from("ab 猫，。\"'[],:!?\n*_`"), max_size=30).filter(lambda text: "```" not in text)
INDENTS = st.sampled_from([None, 2])


def written(value: dict[str, Any], indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


@given(st.dictionaries(ODD, VALUES, max_size=4), PROSE, PROSE, INDENTS)
def test_an_object_in_prose_comes_back(value: dict[str, Any], before: str, after: str, indent: int | None) -> None:
    assert parse_object(before + written(value, indent) + after) == value


@given(OBJECTS, INDENTS, st.data())
def test_of_a_cut_off_object_the_complete_fields_come_back(
    value: dict[str, Any], indent: int | None, data: st.DataObject
) -> None:
    text = written(value, indent)
    cut = data.draw(st.integers(1, len(text) - 1))
    found = parse_object(f"Sure:\n{text[:cut]}") or {}
    for count in range(1, len(value)):
        first = dict(list(value.items())[:count])
        if cut > len(written(first, indent).rstrip("}\n")):  # its comma is there as well
            assert {key: found[key] for key in first} == first
    assert len(found) <= len(value)


@pytest.mark.parametrize(("kind", "text", "expected"), rows("text/structured.tsv"))
def test_what_models_get_wrong_is_repaired_and_the_right_of_several_taken(kind: str, text: str, expected: str) -> None:
    assert parse_object(text) == json.loads(expected, strict=False), kind


@pytest.mark.parametrize("text", ["", " ", "no object", "[1, 2]", '"text"', "12", "null", "a } b {", "if (x) { y }"])
def test_without_an_object_there_is_none(text: str) -> None:
    assert parse_object(text) is None


@given(st.text(st.sampled_from('{}[]",:\\a1 \n`<think>/'), max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    assert isinstance(parse_object(text), dict | None)


@pytest.mark.parametrize(
    "unit", ["{", "}", "{}", '{"', '{"a":', '\\"', "```\n", "{ ", '{"a" 1} ', '{"a": 1,} ', "<think>", "[{"]
)
def test_time_grows_with_the_text_only(unit: str) -> None:
    for head in ("", '{"a":"'):
        assert_linear(parse_object, lambda size, head=head: head + unit * (size // len(unit)), 300_000)  # type: ignore[misc]


SPOKEN = [*rows("text/speakers.tsv", "speaker"), *((text, "", text) for text in column("text/speakers.tsv", "heading"))]


@pytest.mark.parametrize(("text", "name", "words"), SPOKEN)
def test_a_name_before_a_colon_is_the_speaker_and_a_heading_none(text: str, name: str, words: str) -> None:
    assert voice(text) == (name, words)


def test_named_takes_what_is_short_enough_before_a_colon() -> None:
    assert named("my plan: buy milk") == ("my plan", "buy milk")
    assert named("this is what I said: buy milk") == ("", "this is what I said: buy milk")


@given(st.text(max_size=60))
def test_the_words_are_the_end_of_the_text(text: str) -> None:
    for read in (named, voice):
        name, words = read(text)
        assert text.endswith(words)
        assert text.startswith(name)
        assert bool(name) == (words != text)
