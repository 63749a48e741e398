"""What a query names, what it asks for, and by which paths recall looks for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Intent
from hybrid_memory.recall.plan import (
    CUES,
    DEFAULT,
    EXACT,
    MAX_ENTITIES,
    MAX_QUOTED_CHARS,
    TEMPORAL,
    EntityKind,
    Plan,
    entities,
    folded,
    intent,
    plan,
)
from tests.world import column, rows

MARKS = "\"'“”「」『』《》`«»‘’ \n\t.,/\\#-_@:。，"
WORDS = "Ann of Dr. 王 小 明 欧阳 src/a.py E-17 I A The x 's".split()
PIECES = st.sampled_from([*MARKS, *WORDS])


def named(query: str, kind: EntityKind) -> list[str]:
    return [entity.text for entity in entities(query) if entity.kind is kind]


@pytest.mark.parametrize("query", column("routing/entities.tsv", "quoted"))
def test_each_kind_of_quotes_holds_words(query: str) -> None:
    assert named(query, EntityKind.QUOTED) == ["red door"]


@pytest.mark.parametrize("query", column("routing/entities.tsv", "not quoted"))
def test_apostrophes_and_empty_quotes_hold_none(query: str) -> None:
    assert named(query, EntityKind.QUOTED) == []


def test_quotes_around_a_whole_page_are_no_phrase() -> None:
    assert named(f'"{"a" * MAX_QUOTED_CHARS}"', EntityKind.QUOTED)
    assert not named(f'"{"a" * (MAX_QUOTED_CHARS + 1)}"', EntityKind.QUOTED)


@pytest.mark.parametrize("path", column("routing/entities.tsv", "path"))
@pytest.mark.parametrize("around", ["open {} now", "打开{}看看", "({})"])
def test_paths_addresses_and_files_are_found_whole(path: str, around: str) -> None:
    assert named(around.format(path), EntityKind.PATH) == [path]


@pytest.mark.parametrize("name", ["E-1234", "#4521", "8f3a2b91", "JIRA-7", "v2.3.1", "8812345"])
@pytest.mark.parametrize("around", ["what about {} again", "关于{}的进展"])
def test_ids_are_found_whole(name: str, around: str) -> None:
    assert named(around.format(name), EntityKind.ID) == [name]


@pytest.mark.parametrize("query", column("routing/entities.tsv", "no id"))
def test_dates_ordinals_and_sizes_are_no_ids(query: str) -> None:
    assert entities(query) == ()


@pytest.mark.parametrize("row", rows("routing/entities.tsv", "english names"), ids="|".join)
def test_english_names_are_capitalised_words_that_open_no_sentence(row: tuple[str, ...]) -> None:
    query, *names = row
    assert named(query, EntityKind.NAME) == names


@pytest.mark.parametrize("row", rows("routing/entities.tsv", "chinese names"), ids="|".join)
def test_chinese_names_begin_with_a_surname(row: tuple[str, ...]) -> None:
    query, *names = row
    assert named(query, EntityKind.NAME) == names


def test_what_stands_in_quotes_is_not_named_once_more() -> None:
    assert [
        (entity.text, entity.kind) for entity in entities('did "Alice Miller at src/a.py" ask Bob about #17a?')
    ] == [("Alice Miller at src/a.py", EntityKind.QUOTED), ("Bob", EntityKind.NAME), ("#17a", EntityKind.ID)]


def test_the_same_words_in_another_case_or_width_count_once() -> None:
    assert [entity.text for entity in entities('"Red Door", "ＲＥＤ  door" or `red door`')] == ["Red Door"]


def test_the_first_eight_are_kept() -> None:
    assert [entity.text for entity in entities(" ".join(f'"w{number}"' for number in range(20)))] == [
        f"w{number}" for number in range(MAX_ENTITIES)
    ]


@given(st.text() | st.lists(PIECES, max_size=40).map("".join))
def test_any_text_gives_words_of_its_own_in_order_and_each_once(query: str) -> None:
    found = entities(query)
    assert len(found) <= MAX_ENTITIES
    assert all(entity.text.strip() for entity in found)
    start = 0
    for entity in found:
        start = query.index(entity.text, start) + len(entity.text)
    assert len({folded(entity.text) for entity in found}) == len(found)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)


NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
"""A Wednesday."""


def planned(
    query: str, *, now: datetime = NOW, wanted: Intent = Intent.AUTO, synonyms: Sequence[Sequence[str]] = ()
) -> Plan:
    return plan(query, now=now, candidates=48, route=wanted, synonyms=synonyms)


def paths(made: Plan) -> tuple[int, int, int, int]:
    return made.vector, made.text, made.exact, made.temporal


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who is my dentist", (48, 48, 0, 0)), ("我的牙医是谁", (48, 48, 0, 0)), ("why was I late", (72, 48, 0, 0)),
        ("为什么迟到", (72, 48, 0, 0)), ("remember the dentist", (48, 48, 0, TEMPORAL)),
        ("记得牙医吗", (48, 48, 0, TEMPORAL)), ('who said "red door"', (48, 48, EXACT, 0)),
        ("who saw Alice Miller", (48, 48, 0, 0)), ("who called last week", (48, 48, 0, TEMPORAL)),
    ],
)  # fmt: skip
def test_the_words_decide_which_paths_run(query: str, expected: tuple[int, int, int, int]) -> None:
    assert paths(planned(query)) == expected


@pytest.mark.parametrize("wanted", [Intent.FACT, Intent.REASONING, Intent.CONTEXTUAL])
def test_the_intent_of_the_caller_counts_and_then_no_word_told_it(wanted: Intent) -> None:
    made = planned("why do you remember who", wanted=wanted)
    assert (made.intent, made.cue) == (wanted, "")
    assert paths(made) == paths(planned({"fact": "who", "reasoning": "why", "contextual": "remember"}[wanted]))


@pytest.mark.parametrize("query", ["what did I do last week", "上周做了什么"])
def test_times_are_ranges_that_count_from_now(query: str) -> None:
    (span,) = planned(query).times
    assert (span.since, span.until) == (datetime(2024, 5, 6, tzinfo=UTC), datetime(2024, 5, 13, tzinfo=UTC))
    assert query[span.start : span.end] == span.text


def test_times_are_in_the_zone_of_the_clock() -> None:
    tokyo = timezone(timedelta(hours=9))
    (span,) = planned("yesterday", now=datetime(2024, 5, 15, 1, tzinfo=tokyo)).times
    assert span.since.isoformat() == "2024-05-14T00:00:00+09:00"


@pytest.mark.parametrize("query", ["what will I do next week", "tomorrow", "下周做什么", "明天"])
def test_a_time_that_has_not_begun_is_left_out(query: str) -> None:
    made = planned(query)
    assert (made.times, made.temporal) == ((), 0)


def test_of_several_times_each_is_a_range() -> None:
    spans = planned("what did I do yesterday, and what in May 2023, not tomorrow").times
    assert [(span.text, f"{span.since:%Y-%m-%d}", f"{span.until:%Y-%m-%d}") for span in spans] == [
        ("yesterday", "2024-05-14", "2024-05-15"),
        ("May 2023", "2023-05-01", "2023-06-01"),
    ]


@pytest.mark.parametrize(
    ("query", "groups", "found"),
    [
        ("a trip to new york", [["NYC", "New York"]], {"New York": ("NYC",)}),
        ("去NYC玩", [["NYC", "New York"]], {"NYC": ("New York",)}),
        ("ＮＹＣ again", [["NYC", "New York"]], {"NYC": ("New York",)}),
        ("my nyce trip to Newyork", [["NYC", "New York"]], {}),
        ("NYC or New York", [["NYC", "New York"]], {}),
        ("我老婆的生日", [["老婆", "妻子", "太太"]], {"老婆": ("妻子", "太太")}),
        ("tu espères", [["père", "dad"]], {}),
        ("который час", [["кот", "cat"]], {}),
        ("my cat", [["cat", "feline"], ["cat", "puss"]], {"cat": ("feline", "puss")}),
    ],
)
def test_synonyms_stand_for_whole_words(query: str, groups: list[list[str]], found: dict[str, tuple[str, ...]]) -> None:
    assert planned(query, synonyms=groups).synonyms == found


def test_a_plan_tells_what_was_made_of_the_query() -> None:
    told = str(planned('why did I say "red door" last week in src/a.py', synonyms=[["door", "gate"]]))
    assert told == (
        "read as a question about earlier talk ('did I say'); compared: up to 48 turns by meaning, 48 by words, "
        "24 with 'red door' or 'src/a.py' word for word, 20 from 2024-05-06 to 2024-05-12 ('last week'), these first; "
        "'door' also as 'gate'"
    )


@given(st.text(), st.lists(st.lists(st.text(), max_size=3), max_size=3), st.sampled_from(Intent))
def test_any_text_has_a_plan(query: str, synonyms: list[list[str]], wanted: Intent) -> None:
    made = planned(query, wanted=wanted, synonyms=synonyms)
    assert made.intent is not Intent.AUTO
    assert all(span.since < span.until and span.since <= NOW for span in made.times)
    assert made.exact == (EXACT if any(entity.verbatim for entity in made.entities) else 0)
    assert made.vector >= made.text == 48
    assert all(others for others in made.synonyms.values())
    assert str(made).startswith("read as a question ")
    assert "\n" not in str(made)


@pytest.mark.parametrize(("query", "kind", "cue"), rows("routing/intent.tsv", "cue"))
def test_a_cue_word_tells_the_intent(query: str, kind: str, cue: str) -> None:
    assert intent(query) == (kind, cue)


@pytest.mark.parametrize(("query", "kind"), rows("routing/intent.tsv", "first"))
def test_going_back_counts_before_weighing_and_weighing_before_facts(query: str, kind: str) -> None:
    assert intent(query)[0] == kind


@pytest.mark.parametrize("query", ["Ann's phone number", "somewhat", "whoever", "whyever", "电话号码", "?", ""])
def test_without_a_cue_it_is_the_default_and_no_word_told_it(query: str) -> None:
    assert intent(query) == (DEFAULT, "")


@given(st.text() | st.sampled_from(["what", "remember", "为什么", "是谁", "vs"]).flatmap(lambda w: st.just(f"x {w} y")))
def test_any_text_has_an_intent_and_the_cue_is_one_of_its_words(query: str) -> None:
    kind, cue = intent(query)
    assert kind in CUES
    assert cue in query
    assert bool(cue) or kind is DEFAULT
