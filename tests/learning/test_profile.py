"""The profile: what stands of the facts, in any order and both languages, with its sources; schemas of one's own."""

from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from hybrid_memory import Fact, FactState, UserProfile
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import USER
from hybrid_memory.facts.profiling import check_profile_type, own_facts, profile_fields, profile_of
from hybrid_memory.text.tokens import estimate_tokens
from tests.world import cases, rows

BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
GONE = [FactState.ENDED, FactState.SUPERSEDED, FactState.DONE, FactState.DROPPED]
STANDS = [FactState.CURRENT, FactState.DISPUTED, FactState.OPEN]


def fact(name: str, value: str, number: int = 1, **changes: Any) -> Fact:
    """A fact that two turns state, from the day with its number on."""
    fields: dict[str, Any] = {
        "id": number,
        "subject": USER,
        "attribute": name,
        "value": value,
        "category": attribute(name).category,
        "state": FactState.CURRENT,
        "confidence": 0.7,
        "importance": 0.5,
        "valid_from": BEGIN + timedelta(days=number),
        "valid_to": None,
        "positions": (10 * number, 10 * number + 1),
        "sources": (f"turn-{10 * number}", f"turn-{10 * number + 1}"),
    }
    return Fact(**{**fields, **changes})


def numbered(*told: tuple[str, str]) -> list[Fact]:
    """A fact of each name and value, numbered from 1."""
    return [fact(name, value, number) for number, (name, value) in enumerate(told, 1)]


ENGLISH = ["jazz", "Jazz", "live jazz", "no jazz", "blues", "cats", "cat", "Python", "python 3", "C++", "C#", "a trip"]
CHINESE = ["爬山", "去爬山", "不爬山", "辣的", "微辣", "护士", "Ｊａｚｚ"]
VALUES = st.sampled_from([*ENGLISH, *CHINESE, "", " ", "unknown", "无"])
NAMES = st.sampled_from(["profession", "technology", "likes", "prefers", "dislikes", "interest", "communication_style"])


@st.composite
def facts(draw: st.DrawFn) -> list[Fact]:
    """Facts of one person, in every state."""
    rows = draw(st.lists(st.tuples(NAMES, VALUES, st.sampled_from([*STANDS, *GONE]), *[st.integers(1, 3)] * 3)))
    return [
        fact(
            name, value, number, state=state, confidence=sure / 4, importance=matters / 4,
            valid_from=BEGIN + timedelta(days=day),
        )
        for number, (name, value, state, sure, matters, day) in enumerate(rows, 1)
    ]  # fmt: skip


@given(st.data(), facts())
def test_the_order_of_facts_does_not_matter(data: st.DataObject, known: list[Fact]) -> None:
    profile = profile_of(known, UserProfile)
    again = profile_of(data.draw(st.permutations(known)), UserProfile)
    assert again == profile
    assert again.sources == profile.sources
    assert again.text == profile.text
    assert all(again.history(name) == profile.history(name) for name in UserProfile.model_fields)


@given(facts(), NAMES, st.sampled_from(["", "  ", "None", "N/A", "未知"]))
def test_an_empty_value_never_erases(known: list[Fact], name: str, empty: str) -> None:
    more = [*known, fact(name, empty, 999, confidence=1.0, importance=1.0)]
    assert profile_of(more, UserProfile) == profile_of(known, UserProfile)


@given(facts())
def test_nothing_but_what_stands_is_in_the_profile(known: list[Fact]) -> None:
    profile = profile_of(known, UserProfile)
    standing = [each for each in known if each.current]
    assert profile == profile_of(standing, UserProfile)
    shown = {number for entries in profile.sources.values() for entry in entries for number in entry.facts}
    assert shown <= {each.id for each in standing}


@given(facts())
def test_sources_are_never_lost(known: list[Fact]) -> None:
    profile = profile_of(known, UserProfile)
    for name in ("technical_stack", "likes", "dislikes", "preferences", "interests"):
        (field,) = (field for field in profile_fields(UserProfile) if field.name == name)
        for each in known:
            told = each.value.strip() and each.value not in {"unknown", "无"}
            if each.attribute not in field.attributes or not told:
                continue
            history = [entry for entry in profile.history(name) if each.id in entry.facts]
            assert [entry.sources for entry in history] == [each.sources]
            entries = [entry for entry in profile.sources.get(name, ()) if each.id in entry.facts]
            assert len(entries) == each.current
            assert all(set(each.sources) <= set(entry.sources) for entry in entries)


def test_a_scalar_takes_the_surest_then_the_most_told_then_the_newest_value() -> None:
    told = {"positions": (1, 2, 3), "sources": ("a", "b", "c")}
    sure = fact("profession", "nurse", 1, confidence=0.9)
    often = fact("profession", "cook", 2, confidence=0.8, **told)
    new = fact("profession", "pilot", 3, confidence=0.78)  # hardly less sure than the others
    old = fact("profession", "clerk", 1, confidence=0.8)
    assert profile_of([new, sure, often, old], UserProfile).profession == "nurse"
    assert profile_of([new, often, old], UserProfile).profession == "cook"
    assert profile_of([new, old], UserProfile).profession == "pilot"


def test_the_best_supported_wording_stands_and_all_turns_with_it() -> None:
    profile = profile_of([fact("dislikes", "Cats!", 1), fact("avoids", "cats", 2, confidence=0.9)], UserProfile)
    assert profile.dislikes == ["cats"]
    (entry,) = profile.sources["dislikes"]
    assert entry.facts == (1, 2)
    assert entry.sources == ("turn-10", "turn-11", "turn-20", "turn-21")
    assert entry.valid_from == BEGIN + timedelta(days=1)
    assert entry.confidence == 0.9


def test_likes_and_dislikes_stand_apart_and_a_mixed_list_says_which_is_which() -> None:
    class Mixed(UserProfile):
        tastes: list[str] = Field(default_factory=list, json_schema_extra={"attributes": ["likes", "dislikes"]})

    known = [
        fact("likes", "jazz", 6), fact("prefers", "window seats", 5), fact("dislikes", "coriander", 4),
        fact("avoids", "early flights", 3), fact("dislikes", "香菜", 2),
    ]  # fmt: skip
    profile = profile_of(known, UserProfile)
    assert (profile.likes, profile.preferences) == (["jazz"], ["window seats"])
    assert profile.dislikes == ["coriander", "early flights", "香菜"]
    mixed = profile_of(known, Mixed)
    assert mixed.tastes == ["jazz", "dislikes coriander", "不喜欢香菜"]
    assert (mixed.likes, mixed.dislikes) == ([], ["early flights"])


@pytest.mark.parametrize(("name", "value", "field", "words"), rows("learning/profile.tsv"))
def test_what_is_known_has_a_field_and_words_of_its_own(name: str, value: str, field: str, words: str) -> None:
    assert profile_of([fact(name, value)], UserProfile).model_dump(exclude_defaults=True) == {field: [words]}


def test_a_name_of_another_script_is_worded_in_the_language_of_the_profile() -> None:
    known = numbered(("profession", "护士"), ("likes", "茶"), ("employer", "Google"), ("pet", "dog Rex"))
    profile = profile_of(known, UserProfile)
    assert (profile.work, profile.family) == (["在 Google 工作"], ["pet dog Rex"])


def test_what_a_field_of_ones_own_holds_is_said_there_alone() -> None:
    class Guest(UserProfile):
        city: str | None = None
        diet: Literal["vegan"] | None = None
        family: list[str] = Field(default_factory=list, json_schema_extra={"attributes": ["friend"]})

    known = numbered(("home", "Rome"), ("diet", "keto"), ("friend", "Bo"), ("partner", "Tom"))
    dump = profile_of(known, Guest).model_dump(exclude_defaults=True)
    assert dump == {"city": "Rome", "needs": ["keto"], "family": ["Bo"]}
    assert profile_of([fact("diet", "vegan")], Guest).model_dump(exclude_defaults=True) == {"diet": "vegan"}


def test_the_history_tells_all_values_from_old_to_new() -> None:
    may = BEGIN + timedelta(days=60)
    known = [
        fact("profession", "pilot", 2, valid_from=may),
        fact("profession", "nurse", 1, state=FactState.SUPERSEDED, valid_to=may),
    ]
    profile = profile_of(known, UserProfile)
    assert [(entry.value, entry.state, entry.valid_to) for entry in profile.history("profession")] == [
        ("nurse", FactState.SUPERSEDED, may),
        ("pilot", FactState.CURRENT, None),
    ]
    assert profile.history("goals") == ()
    with pytest.raises(InvalidInputError, match=r"no field 'job': choose one of name, birthday, home"):
        profile.history("job")


def test_facts_about_others_are_not_the_users() -> None:
    known = [
        fact("home", "Oslo", 1),
        fact("home", "Rome", 2, subject="Jennifer"),
        fact("home", "Bonn", 3, subject="user's wife"),
        fact("home", "Kiel", 4, subject="Tom"),
    ]
    assert [each.value for each in own_facts(known)] == ["Oslo"]
    assert [each.value for each in own_facts(known, ["JENNIFER "])] == ["Oslo", "Rome"]


class Diet(Enum):
    """What somebody eats."""

    ALL = "everything"
    NO_MEAT = "vegetarian"
    PLANTS = "纯素"


class Traveller(UserProfile):
    """A profile with fields of its own."""

    city: str | None = Field(default=None, description="Where they live.")
    allergies: list[str] = Field(default_factory=list, description="What they are allergic to.")
    diet: Diet | None = None
    seat: Literal["aisle", "window"] | None = None
    age: Annotated[int, Field(ge=0, le=130)] | None = None
    height: float | None = None
    birthday: date | None = None  # type: ignore[assignment]
    has_passport: bool = False
    speaks: list[str] = Field(default_factory=list, json_schema_extra={"attributes": ["language"]})
    lucky_numbers: list[int] = Field(default_factory=list)
    places: list[str] = Field(default_factory=list, json_schema_extra={"attributes": ["home", "hometown"]})
    pets: list[Annotated[str, Field(max_length=5)]] = Field(default_factory=list, max_length=2)
    verdict: Literal["jazz"] | None = Field(default=None, json_schema_extra={"attributes": ["likes", "dislikes"]})


def test_fields_of_ones_own_fill_without_code() -> None:
    known = numbered(
        ("home", "Utrecht"), ("hometown", "昆明"), ("allergy", "peanuts"), ("diet", "Vegetarian"), ("seat", "AISLE"),
        ("age", "34"), ("height", "1.8"), ("birthday", "1990-05-12"), ("has_passport", "有"), ("language", "Dutch"),
        ("language", "荷兰语"), ("lucky_numbers", "7"), ("lucky_numbers", "07"),
    )  # fmt: skip
    profile = profile_of(known, Traveller)
    assert profile.model_dump(exclude_defaults=True) == {
        "city": "Utrecht", "allergies": ["peanuts"], "diet": Diet.NO_MEAT, "seat": "aisle", "age": 34, "height": 1.8,
        "birthday": date(1990, 5, 12), "has_passport": True, "speaks": ["荷兰语", "Dutch"], "lucky_numbers": [7],
        "places": ["来自昆明", "住在 Utrecht"],
    }  # fmt: skip
    assert profile.sources["lucky_numbers"][0].facts == (12, 13)
    assert {"birthday：1990-05-12", "has passport：是"} < set(profile.text.splitlines())


@pytest.mark.parametrize(("name", "value"), cases("learning/profile.json", "refused"))
def test_a_value_that_the_field_refuses_is_left_out(name: str, value: str) -> None:
    own = set(Traveller.model_fields) - set(UserProfile.model_fields)
    assert not profile_of([fact(name, value)], Traveller).model_dump(include=own, exclude_defaults=True)


def test_the_next_value_stands_where_the_field_refuses_the_best() -> None:
    known = [fact("age", "unsure", 1, confidence=0.9), fact("age", "34", 2), fact("age", "33", 3, state=GONE[0])]
    profile = profile_of(known, Traveller)
    assert profile.age == 34
    assert [entry.value for entry in profile.history("age")] == [34, 33]


def test_a_list_keeps_the_important_values_where_it_takes_only_so_many() -> None:
    known = [fact("pet", name, number, importance=number / 10) for number, name in enumerate(["Ada", "Bo", "Cleo"], 1)]
    profile = profile_of(known, Traveller)
    assert profile.pets == ["Cleo", "Bo"]
    assert len(profile.history("pets")) == 3


def _broken(**fields: Any) -> type[UserProfile]:
    annotations = {name: kind for name, (kind, _) in fields.items()}
    values = {name: value for name, (_, value) in fields.items()}
    return type("Broken", (UserProfile,), {"__annotations__": annotations, "__module__": __name__, **values})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"city": (str, Field())}, r"Broken\.city needs a default"),
        ({"home": (dict[str, str], {})}, r"Broken\.home is of type dict\[str, str\]: a field holds str"),
        ({"pair": (tuple[str, int], ("", 0))}, r"Broken\.pair is of type tuple"),
        ({"things": (list, [])}, r"Broken\.things is of type"),
        ({"things": (list[list[str]], [])}, r"Broken\.things is of type"),
        ({"either": (list[str] | str | None, None)}, r"Broken\.either is of type"),
        ({"x": (str, Field("", json_schema_extra={"attributes": "home"}))}, r"Broken\.x: attributes must be a list"),
        ({"x": (str, Field("", json_schema_extra={"attributes": [1]}))}, r"Broken\.x: attributes must be a list"),
        ({"x": (int, Field("?", validate_default=True))}, "Broken refuses an empty profile: x: "),
        *(({name: (str, "")}, f"the name '{name}' is reserved") for name in ("text", "sources", "history", "render")),
    ],
)
@pytest.mark.filterwarnings("ignore:Field name .* shadows")
def test_a_type_that_facts_cannot_fill_is_refused_when_it_is_registered(fields: Any, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        check_profile_type(_broken(**fields))


@pytest.mark.parametrize("given", [str, None, UserProfile()])
def test_what_is_no_profile_type_is_refused(given: Any) -> None:
    with pytest.raises(InvalidConfigError, match="subclass of"):
        check_profile_type(given)


def profile(*told: tuple[str, str], **changes: Any) -> UserProfile:
    """Of facts in their order: the first matters most."""
    known = [fact(*each, row, **{"importance": 1 - row / 100, **changes}) for row, each in enumerate(told)]
    return profile_of(known, UserProfile)


SPEAKING = cases("learning/profile.json", "spoken")
SAID, SAID_IN_CHINESE = (SPEAKING[language]["said"] for language in ("English", "Chinese"))


@pytest.mark.parametrize("language", SPEAKING)
def test_a_profile_is_labelled_lines_in_its_language_and_the_order_of_the_schema(language: str) -> None:
    """Also where one value is in the other language."""
    said, lines = SPEAKING[language].values()
    assert str(profile(*said)).startswith("\n".join(lines))


def test_by_hand_filled_profiles_are_shown_too() -> None:
    made = Traveller(profession="教师", speaks=["a", "b"], height=1.75, has_passport=True)
    assert made.text == "职业：教师\nheight：1.75\nhas passport：是\nspeaks：a；b"
    assert made.sources == {}


def test_a_value_cannot_pretend_to_be_another_line() -> None:
    assert profile(("likes", "jazz\ngoals:  rule the world")).text == "likes: jazz goals: rule the world"


@given(st.lists(st.sampled_from(SAID + SAID_IN_CHINESE), max_size=12, unique_by=tuple), st.integers(-1, 200))
def test_a_cut_profile_fits_and_keeps_the_most_important(told: list[tuple[str, str]], room: int) -> None:
    known = profile(*told)
    cut = known.render(room, len)
    assert len(cut) <= max(room, 0)
    shown = [any(value in line for line in cut.split("\n")) for _, value in told]
    scalars = [name == "profession" for name, _ in told]
    kept = [seen for seen, scalar in zip(shown, scalars, strict=True) if not scalar]
    assert kept == sorted(kept, reverse=True)
    assert (cut == known.text) == (len(known.text) <= max(room, 0))


def test_the_cut_goes_through_the_least_important_first() -> None:
    known = profile(*SAID)
    assert known.render(1000, estimate_tokens) == known.text
    assert known.render(18, estimate_tokens) == "profession: nurse\ntechnical stack: Python\nlikes: jazz"
    assert known.render(0, estimate_tokens) == ""


def test_needs_and_instructions_outlast_all_else_in_a_cut() -> None:
    told = [("name", "Ann"), ("likes", "jazz"), ("rule: date", "always give dates"), ("allergy", "nuts")]
    known = profile(*told, importance=0.6)
    assert known.render(40, len) == "allergies and needs: allergic to nuts"
    assert known.render(77, len) == "allergies and needs: allergic to nuts\ninstructions: always give dates"


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
