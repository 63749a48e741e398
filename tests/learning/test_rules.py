from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Category, Event, EventKind, Scope
from hybrid_memory.facts.fact import Claim, Stance
from hybrid_memory.facts.rules.chinese import CHINESE
from hybrid_memory.facts.rules.english import ENGLISH
from hybrid_memory.facts.rules.matching import MAX_VALUE_CHARS
from hybrid_memory.facts.rules.reading import LOOKBACK, MAX_SENTENCE_CHARS, RuleExtractor
from hybrid_memory.facts.rules.rule import OWNER, Language, Pattern, Rule, When, always
from hybrid_memory.facts.rules.turns import MAX_CHARS
from tests.doubles import assert_linear
from tests.learning.claims import written

WEDNESDAY = datetime(2025, 3, 12, 10, 0, tzinfo=UTC)


def event(position: int, text: str, *, session: str = "s", kind: EventKind = EventKind.MESSAGE, **fields: Any) -> Event:
    payload = {"role": "user", "content": text, **fields}
    return Event(position, f"e{position}", Scope(user="u", session=session), kind, WEDNESDAY, payload)


def word(words: str) -> tuple[str, ...]:
    return (words.strip(),)


def made(*rules: Rule, **fields: Any) -> RuleExtractor:
    """An extractor with these rules of a language that splits sentences at semicolons."""
    language = Language(
        name="small",
        script=re.compile("[a-z]"),
        rules=rules,
        clauses=lambda sentence: [part.strip(" .") for part in sentence.split(";")],
        person=lambda words, _told: f"{OWNER}'s {words}" if words.islower() else words,
        **fields,
    )
    return RuleExtractor((language,))


def rule(pattern: str, attribute: Any = "home", **fields: Any) -> Rule:
    return Rule("rule", attribute, Pattern(pattern), fields.pop("values", word), **fields)


def read(extractor: RuleExtractor, text: str) -> list[str]:
    """The claims of a turn, as they are written in a line."""
    return [written(claim) for claim in extractor.extract([event(1, text)], [])]


@pytest.mark.parametrize("language", [CHINESE, ENGLISH], ids=lambda language: language.name)
def test_every_pattern_that_waits_for_its_first_use_is_one(language: Language) -> None:
    patterns = [part for one in language.rules for part in (one.pattern, one.after) if part is not None]
    assert len(patterns) > 50
    for pattern in patterns:
        pattern.search("")  # raises what is wrong with it


def test_a_claim_knows_its_turn_its_rule_and_what_is_known_of_its_attribute() -> None:
    extractor = made(rule(r"lives in (?P<value>\w+)", confidence=0.6))
    (claim,) = extractor.extract([event(7, "lives in Ghent")], [])
    assert claim == Claim(
        "user", "home", "Ghent", Category.KNOWLEDGE, 7, single=True, confidence=0.6, importance=0.85, by="rule"
    )


def test_an_attribute_of_its_own_is_single_if_the_rule_says_so() -> None:
    extractor = made(rule(r"shoe size (?P<value>\d+)", "shoe_size", single=True))
    (claim,) = extractor.extract([event(1, "shoe size 43")], [])
    assert claim.single
    assert claim.category is Category.KNOWLEDGE


def test_an_earlier_rule_takes_the_words_of_its_value() -> None:
    first = rule(r"in (?P<value>\w+)", "home")
    second = rule(r"(?:in|near) (?P<value>\w+)", "hometown")
    assert read(made(first, second), "in Ghent near Lille") == [
        "home=Ghent",
        "hometown=Lille",
    ]


def test_a_rule_that_finds_no_value_takes_no_words() -> None:
    nothing = rule(r"in (?P<value>\w+)", "home", values=lambda _words: ())
    assert read(made(nothing, rule(r"in (?P<value>\w+)", "hometown")), "in Ghent") == ["hometown=Ghent"]


def test_a_guard_has_the_last_word() -> None:
    assert read(made(rule(r"in (?P<value>\w+)", guard=lambda found: found["value"] == "Ghent")), "in Lille") == []


def test_an_attribute_that_the_match_tells_may_be_none() -> None:
    extractor = made(rule(r"my (?P<noun>\w+) (?P<value>\w+)", lambda found: {"cat": "pet"}.get(found["noun"], "")))
    assert read(extractor, "my cat Milo; my plan B") == ["pet=Milo"]


def test_the_group_who_names_the_subject() -> None:
    extractor = made(rule(r"(?P<who>\w+) lives in (?P<value>\w+)"))
    assert read(extractor, "sister lives in Ghent") == ["user's sister.home=Ghent"]
    assert read(extractor, "Ann lives in Ghent") == ["Ann.home=Ghent"]


def test_old_values_end_and_wrong_ones_never_held() -> None:
    extractor = made(
        rule(r"from (?P<old>\w+) to (?P<value>\w+)"), rule(r"called (?P<value>\w+), never (?P<wrong>\w+)", "name")
    )
    assert read(extractor, "from Lille to Ghent; called Ann, never Anna") == [
        "home=Ghent",
        "home=Lille ended",
        "name=Ann",
        "name=Anna wrong",
    ]


def test_an_empty_value_may_end_but_not_hold() -> None:
    assert read(made(rule("quit", "employer", values=always(""), stance=Stance.ENDED)), "quit") == ["employer= ended"]
    assert read(made(rule("quit", "employer", values=always(""))), "quit") == []


def test_a_contrast_is_read_in_attributes_of_one_value_only() -> None:
    contrast = re.compile(r"(?P<value>\w+), not (?P<wrong>\w+)")
    home, likes = rule(r"in (?P<value>.+)"), rule(r"likes (?P<value>.+)", "likes")
    assert read(made(home, contrast=contrast), "in Ghent, not Lille") == [
        "home=Lille wrong",
        "home=Ghent",
    ]
    assert read(made(likes, contrast=contrast), "likes tea, not rum") == ["likes=tea, not rum"]


def test_a_rule_for_sentences_goes_first_and_its_words_are_not_read_again() -> None:
    whole = rule(r"(?P<value>likes tea; a lot)", "habit", sentence=True)
    part = rule(r"likes (?P<value>\w+)", "likes")
    assert read(made(part, whole), "likes tea; a lot. likes rum") == [
        "habit=likes tea; a lot",
        "likes=rum",
    ]


def test_the_same_claim_of_two_rules_is_made_once_by_the_surer_one() -> None:
    extractor = made(rule(r"in (?P<value>\w+)", confidence=0.5), rule(r"at (?P<value>\w+)", confidence=0.9))
    (claim,) = extractor.extract([event(1, "in Ghent; at ghent")], [])
    assert (claim.value, claim.confidence) == ("ghent", 0.9)


@pytest.mark.parametrize(
    ("when", "text", "field", "at"),
    [
        (When.SINCE, "lives in Ghent since 2019", "since", datetime(2019, 1, 1, tzinfo=UTC)),
        (When.UNTIL, "lives in Ghent until last May", "until", datetime(2024, 5, 1, tzinfo=UTC)),
        (When.DUE, "lives in Ghent tomorrow", "due", datetime(2025, 3, 13, tzinfo=UTC)),
        (When.APPOINTED, "tomorrow lives in Ghent", "due", datetime(2025, 3, 13, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_by_the_rule_and_left_out_of_the_value(when: When, text: str, field: str, at: datetime) -> None:
    (claim,) = made(rule(r"lives in (?P<value>.+)", when=when)).extract([event(1, text)], [])
    assert claim.value == "Ghent"
    assert getattr(claim, field) == at
    assert [name for name in ("since", "until", "due") if getattr(claim, name) is not None] == [field]


def test_a_time_that_says_nothing_stays_in_the_value() -> None:
    assert read(made(rule(r"in (?P<value>.+)")), "in Ghent tomorrow") == ["home=Ghent tomorrow"]


def test_without_its_time_an_appointment_is_none() -> None:
    assert read(made(rule(r"meets (?P<value>.+)", "appointment", when=When.APPOINTED)), "meets Ann") == []


def test_a_home_does_not_begin_in_the_future() -> None:
    (claim,) = made(rule(r"in (?P<value>\w+)", when=When.SINCE)).extract([event(1, "in Ghent from tomorrow")], [])
    assert claim.since is None


def test_the_time_of_a_group_is_read_alone() -> None:
    extractor = made(rule(r"(?P<value>\w+) was moved to (?P<time>.+)", "appointment", when=When.APPOINTED))
    (claim,) = extractor.extract([event(1, "lunch was moved to Friday")], [])
    assert claim.due == datetime(2025, 3, 14, tzinfo=UTC)


def test_an_answer_is_read_where_the_question_was_asked_by_somebody_else() -> None:
    extractor = made(rule(r"(?P<value>\w+)", after=re.compile(r"where\?$")))
    assert extractor.extract([event(1, "so where?", role="assistant"), event(2, "Ghent")], [])[0].value == "Ghent"
    assert extractor.extract([event(1, "so where?"), event(2, "Ghent")], []) == []
    assert extractor.extract([event(1, "so where?", role="assistant"), event(2, "Ghent", session="t")], []) == []
    assert extractor.extract([event(2, "Ghent")], [event(1, "so where?", role="assistant")])[0].value == "Ghent"


def test_the_question_may_tell_what_the_answer_is_about() -> None:
    asked = rule(r"(?P<value>\w+)", lambda found: found["what"], after=re.compile(r"(?P<what>\w+)\?$"))
    turns = [event(1, "your school?", role="assistant"), event(2, "Ghent")]
    assert [claim.attribute for claim in made(asked).extract(turns, [])] == ["school"]


CORRECTION = re.compile(r"^(?P<value>\w+) and not (?P<wrong>\w+)$")


def test_a_correction_is_about_what_the_same_speaker_said() -> None:
    extractor = made(rule(r"in (?P<value>\w+)"), correction=CORRECTION)
    turns = [event(1, "in Lille"), event(2, "in Lille", name="Ann"), event(3, "Ghent and not Lille")]
    assert [(claim.source, claim.subject, claim.value, claim.stance) for claim in extractor.extract(turns, [])] == [
        (1, "user", "Lille", Stance.HOLDS),
        (2, "Ann", "Lille", Stance.HOLDS),
        (3, "user", "Lille", Stance.WRONG),
        (3, "user", "Ghent", Stance.HOLDS),
    ]


def test_a_correction_reaches_only_so_far_back() -> None:
    extractor = made(rule(r"in (?P<value>\w+)"), correction=CORRECTION)
    for between, corrected in ((LOOKBACK - 1, 2), (LOOKBACK, 0)):
        turns = [event(number, "well") for number in range(2, between + 2)]
        turns = [event(1, "in Lille"), *turns, event(99, "Ghent and not Lille")]
        assert len([claim for claim in extractor.extract(turns, []) if claim.source == 99]) == corrected


@pytest.mark.parametrize(
    ("text", "fields", "subject"),
    [
        ("I live in Ghent.", {}, "user"),
        ("I live in Ghent.", {"name": "Ann"}, "Ann"),
        ("Ann: I live in Ghent.", {}, "Ann"),
        ("Speaker 2: I live in Ghent.", {}, "Speaker 2"),
        ("User: I live in Ghent.", {}, "user"),
        ("Note: I live in Ghent.", {}, "user"),
        ("I live in Ghent.", {"role": "assistant", "name": "Ann"}, "Ann"),
        ("Ann: I live in Ghent.", {"role": "assistant"}, "Ann"),
    ],
)
def test_the_speaker_is_the_subject(text: str, fields: dict[str, Any], subject: str) -> None:
    assert [claim.subject for claim in RuleExtractor().extract([event(1, text, **fields)], [])] == [subject]


def test_nobody_speaks_in_what_the_assistant_the_system_and_tools_write() -> None:
    turns = [
        event(1, "I live in Ghent.", role="assistant"),
        event(2, "I live in Ghent.", role="system"),
        event(3, "I live in Ghent.", role="tool", tool_call_id="t"),
        event(4, "I live in Ghent.", kind=EventKind.RECALLED),
    ]
    assert RuleExtractor().extract(turns, []) == []


def test_a_turn_in_two_languages_is_read_by_both() -> None:
    found = RuleExtractor().extract([event(1, "My name is Wei. 我住在杭州。")], [])
    assert {(claim.attribute, claim.value) for claim in found} >= {("name", "Wei"), ("home", "杭州")}


def test_text_blocks_are_read_and_code_and_quoted_lines_are_not() -> None:
    blocks = [{"type": "text", "text": "I live in Ghent."}, {"type": "image_url", "image_url": {"url": "x"}}]
    (claim,) = RuleExtractor().extract([event(1, "", content=blocks)], [])
    assert claim.value == "Ghent"
    assert RuleExtractor().extract([event(1, "> I live in Ghent.\n```\nI live in Ghent.\n```")], []) == []


def test_a_text_to_be_worked_on_claims_nothing_but_what_stands_before_it_does() -> None:
    turn = event(1, "I live in Ghent. Please translate this:\n\nMy name is Tom. I love jazz.")
    assert [claim.value for claim in RuleExtractor().extract([turn], [])] == ["Ghent"]


def test_only_the_beginning_of_a_turn_and_of_a_sentence_is_read() -> None:
    extractor = made(rule(r"in (?P<value>[A-Z]\w+)"))
    assert read(extractor, "x " * MAX_SENTENCE_CHARS + "in Ghent") == []
    assert read(extractor, "x.\n" * MAX_CHARS + "in Ghent") == []
    assert read(extractor, "x.\n" * 50 + "in Ghent") == ["home=Ghent"]


def test_a_value_that_is_too_long_is_none() -> None:
    extractor = made(rule(r"(?P<value>x+)"))
    assert read(extractor, "x" * MAX_VALUE_CHARS) != []
    assert read(extractor, "x" * (MAX_VALUE_CHARS + 1)) == []


SENTENCES = st.sampled_from(
    [
        "I live in Ghent.", "Where do you live?", "Berlin.", "No, I meant Munich, not Berlin.",
        "What's your favourite dish?", "Lasagna.", "My sister Ana is a nurse. She lives in Turin.",
        "I don't like jazz any more.", "I need to call the bank tomorrow.", "你住在哪里？", "我住在杭州。",
        "我不喜欢爵士乐了。", "Ann: I'm a carpenter.", "ok",
    ]
)  # fmt: skip
TURNS = st.lists(st.tuples(SENTENCES, st.sampled_from(["user", "assistant"]), st.sampled_from("st")), max_size=14)


@given(TURNS, st.data())
def test_claims_do_not_depend_on_how_turns_are_cut_into_calls(
    turns: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    events = [event(number, text, role=role, session=session) for number, (text, role, session) in enumerate(turns, 1)]
    extractor = RuleExtractor()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=4)))
    claims: list[Claim] = []
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        claims.extend(extractor.extract(events[start:end], events[:start]))
    assert claims == extractor.extract(events, [])


@given(st.text(max_size=300))
def test_any_text_gives_claims_in_bounds(text: str) -> None:
    payload = text.replace("\0", "").encode("utf-8", "ignore").decode()
    found = RuleExtractor().extract([event(1, payload if payload.strip() else ".")], [])
    for claim in found:
        assert len(claim.value) <= MAX_VALUE_CHARS
        assert claim.subject
        assert claim.attribute
        assert 0 < claim.confidence <= 1
        assert claim.source == 1


PIECES = ["I really ", "my wife ", "my wife my wife. ", "Anna's ", "start method names with ", "I like tea, "]
PIECES += ["always use ", "well, ", "'", '"', "我", "我喜欢", "a"]


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_turns_are_read_in_bounded_time(piece: str) -> None:
    assert_linear(
        lambda text: RuleExtractor().extract([event(1, text)], []), lambda size: piece * (size // len(piece)), 4000
    )


def test_turns_of_a_long_pause_apart_are_still_of_one_session() -> None:
    turns = [
        event(1, "Where do you live?", role="assistant"),
        replace(event(2, "Berlin."), at=WEDNESDAY + timedelta(9)),
    ]
    assert [claim.value for claim in RuleExtractor().extract(turns, [])] == ["Berlin"]
