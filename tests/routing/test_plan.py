"""What a query names, what it asks for, and by which paths recall looks for it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Hit, HybridMemory, Intent, ScopedMemory, Weights
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.recall import plan as planning
from hybrid_memory.recall.gather import QUESTION_CHARS
from hybrid_memory.recall.plan import CUES, DEFAULT, EXACT, TEMPORAL, EntityKind, Plan, entities, folded, intent, plan
from tests.doubles import texts
from tests.faces import Face, Open
from tests.world import cases, column, rows

MARKS = "\"'“”「」『』《》`«»‘’ \n\t.,/\\#-_@:。，"
WORDS = "Ann of Dr. 王 小 明 欧阳 src/a.py E-17 I A The x 's".split()
PIECES = st.sampled_from([*MARKS, *WORDS])


def named(query: str, kind: EntityKind) -> list[str]:
    return [entity.text for entity in entities(query) if entity.kind is kind]


NAMED: list[tuple[str, EntityKind, list[str]]] = [
    *((query, EntityKind.QUOTED, ["red door"]) for query in column("routing/entities.tsv", "quoted")),
    *((query, EntityKind.QUOTED, []) for query in column("routing/entities.tsv", "not quoted")),
    *(
        (around.format(path), EntityKind.PATH, [path])
        for path in column("routing/entities.tsv", "path")
        for around in ("open {} now", "打开{}看看", "({})")
    ),
    *(
        (around.format(name), EntityKind.ID, [name])
        for name in ("E-1234", "#4521", "8f3a2b91", "JIRA-7", "v2.3.1", "8812345")
        for around in ("what about {} again", "关于{}的进展")
    ),
    *(
        (query, EntityKind.NAME, names)
        for language in ("english", "chinese")
        for query, *names in rows("routing/entities.tsv", f"{language} names")
    ),
]


@pytest.mark.parametrize(("query", "kind", "names"), NAMED)
def test_what_a_query_names_is_found_whole(query: str, kind: EntityKind, names: list[str]) -> None:
    assert named(query, kind) == names


@pytest.mark.parametrize("query", column("routing/entities.tsv", "no id"))
def test_dates_ordinals_and_sizes_are_no_ids(query: str) -> None:
    assert entities(query) == ()


def test_of_what_stands_in_quotes_each_phrase_is_named_once_and_eight_at_most() -> None:
    asked = entities('did "Alice Miller at src/a.py" ask Bob about #17a?')
    assert [(entity.text, entity.kind) for entity in asked] == [
        ("Alice Miller at src/a.py", EntityKind.QUOTED), ("Bob", EntityKind.NAME), ("#17a", EntityKind.ID),
    ]  # fmt: skip
    assert [entity.text for entity in entities('"Red Door", "ＲＥＤ  door" or `red door`')] == ["Red Door"]
    many = entities(" ".join(f'"w{number}"' for number in range(20)))
    assert [entity.text for entity in many] == [f"w{number}" for number in range(planning.MAX_ENTITIES)]
    assert named(f'"{"a" * planning.MAX_QUOTED_CHARS}"', EntityKind.QUOTED)
    assert not named(f'"{"a" * (planning.MAX_QUOTED_CHARS + 1)}"', EntityKind.QUOTED), "a whole page is no phrase"


@given(st.text() | st.lists(PIECES, max_size=40).map("".join))
def test_any_text_gives_words_of_its_own_in_order_and_each_once(query: str) -> None:
    assert folded(folded(query)) == folded(query)
    found = entities(query)
    assert len(found) <= planning.MAX_ENTITIES
    assert all(entity.text.strip() for entity in found)
    start = 0
    for entity in found:
        start = query.index(entity.text, start) + len(entity.text)
    assert len({folded(entity.text) for entity in found}) == len(found)


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


@pytest.mark.parametrize(("query", "ranges"), cases("routing/plan.json", "times"))
def test_times_are_ranges_that_count_from_now_and_have_begun(query: str, ranges: list[list[str]]) -> None:
    made = planned(query)
    assert [[one.text, f"{one.since:%Y-%m-%d}", f"{one.until:%Y-%m-%d}"] for one in made.times] == ranges
    assert all(query[one.start : one.end] == one.text for one in made.times)
    assert bool(made.temporal) == bool(ranges)


def test_times_count_in_the_zone_of_the_clock() -> None:
    (utc,) = planned("last week").times
    assert (utc.since, utc.until) == (datetime(2024, 5, 6, tzinfo=UTC), datetime(2024, 5, 13, tzinfo=UTC))
    tokyo = timezone(timedelta(hours=9))
    (span,) = planned("yesterday", now=datetime(2024, 5, 15, 1, tzinfo=tokyo)).times
    assert span.since.isoformat() == "2024-05-14T00:00:00+09:00"


@pytest.mark.parametrize(("query", "groups", "found"), cases("routing/plan.json", "synonyms"))
def test_synonyms_stand_for_whole_words(query: str, groups: list[list[str]], found: dict[str, list[str]]) -> None:
    assert planned(query, synonyms=groups).synonyms == {name: tuple(others) for name, others in found.items()}


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


NO_CUE = ["Ann's phone number", "somewhat", "whoever", "whyever", "电话号码", "?", ""]
CUED = [*rows("routing/intent.tsv", "cue"), *((query, DEFAULT, "") for query in NO_CUE)]
FIRST = rows("routing/intent.tsv", "first")
"""Going back counts before weighing, and weighing before facts; whichever word it was."""


@pytest.mark.parametrize(("query", "kind", "cue"), [*CUED, *((*row, None) for row in FIRST)])
def test_a_cue_word_tells_the_intent_and_without_one_it_is_the_default(query: str, kind: str, cue: str | None) -> None:
    assert intent(query)[0] == kind
    assert cue is None or intent(query)[1] == cue


@given(st.text() | st.sampled_from(["what", "remember", "为什么", "是谁", "vs"]).flatmap(lambda w: st.just(f"x {w} y")))
def test_any_text_has_an_intent_and_the_cue_is_one_of_its_words(query: str) -> None:
    kind, cue = intent(query)
    assert kind in CUES
    assert cue in query
    assert bool(cue) or kind is DEFAULT


class Embedder(HashingEmbedder):
    """Remembers the questions that it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return super().embed_queries(texts)


def plan_of(hit: Hit) -> Any:
    assert hit.plan is not None
    return hit.plan


@pytest.mark.parametrize(("query", "turn", "other"), cases("routing/plan.json", "lifted"))
def test_quotes_lift_their_turn(face: Face, memory: HybridMemory, query: str, turn: str, other: str) -> None:
    for name, order in (("ann", [turn, other]), ("bob", [other, turn])):
        mine = memory.scoped(user=name)
        for place, text in enumerate(order):
            mine.remember(text, at=NOW + timedelta(days=place))
        first, second = face(mine).recall(query)
        assert first.record.text == turn
        assert (first.signals.exact, second.signals.exact) == (1, 0)
        assert first.weights.exact == Weights().exact
        assert plan_of(first).exact == EXACT
        assert "word for word" in first.why()


def test_what_is_named_is_found_behind_hundreds_that_share_its_words(opened: Open) -> None:
    """More turns match the query than the paths by words and by meaning bring in."""
    alice = opened(recall={"candidates": 5}).scoped(user="alice")
    alice.remember("build 8f3a2b failed")
    alice.remember([f"the report of yesterday about the long build number {number}" for number in range(60)])
    query = "the long report of yesterday about the number of the build 8f3a2b"
    assert any(hit.signals.exact for hit in alice.recall(query, k=5))


def test_a_slip_of_the_fingers_is_found_and_told(face: Face, alice: ScopedMemory) -> None:
    alice.remember(["I ran a marathon in spring", "it rains in the evening", "so on " * 30_000])
    hit = face(alice).recall("the Marahton", k=1)[0]
    assert hit.record.text == "I ran a marathon in spring"
    assert hit.signals.text == 1
    assert plan_of(hit).corrected == {"marahton": "marathon"}
    assert "'marahton' read as 'marathon'" in hit.why()
    assert "e-" not in hit.why(), "beside a long text, signals of the surroundings weigh next to nothing"


def test_slips_are_read_by_the_words_of_whose_memory_it_is(face: Face, memory: HybridMemory) -> None:
    memory.scoped(user="bob").remember("the zanzibarquux project is secret")
    memory.scoped(user="alice", agent="coach").remember("zanzibarquux again")
    alice = memory.scoped(user="alice")
    alice.remember(["I moved to Berlin", "it rains"])
    for hit in face(alice).recall("zanzibarquox Berlin"):
        assert plan_of(hit).corrected == {}
        assert "zanzibarquux" not in hit.why()
    team = alice.space("team").create()
    team.remember(["Berlyn is our dentist", "Berlin is far away"])
    hits = {hit.record.text: hit.signals.text for hit in face(alice).recall("Berlyn", spaces=["team"])}
    assert min(hits["I moved to Berlin"], hits["Berlyn is our dentist"]) > 0
    assert hits.get("Berlin is far away", 0) == 0


def test_words_of_what_was_forgotten_are_read_no_more(face: Face, alice: ScopedMemory) -> None:
    alice.remember("my cat sleeps")
    told = alice.remember("the marathon")
    assert plan_of(face(alice).recall("marahton cat")[0]).corrected
    alice.forget(ids=told.ids[0])
    (hit,) = face(alice).recall("marahton cat")
    assert plan_of(hit).corrected == {}


def test_a_question_that_goes_back_brings_in_what_was_said_last(opened: Open) -> None:
    alice = opened(embedder="none", recall={"candidates": 3}).scoped(user="alice")
    alice.remember([f"the garden plan number {number}" for number in range(40)], at=NOW - timedelta(days=60))
    alice.remember("zebra crossing", at=NOW)
    assert "zebra crossing" in texts(alice.recall("the garden plan, remember", k=50))
    assert "zebra crossing" not in texts(alice.recall("the garden plan", k=50))


@pytest.mark.parametrize("filler", ["The fence was painted green in April. ", "四月里篱笆漆成了绿色。"])
def test_a_pasted_document_does_not_hide_the_question_before_or_after_it(face: Face, opened: Open, filler: str) -> None:
    embedder = Embedder()
    alice = opened(embedder=embedder).scoped(user="alice")
    face(alice).remember([{"role": "user", "content": words} for words in ("I keep bees.", "I paint the fence.")])
    pasted = filler * 600  # also longer than all that is read of a question
    for question in (f"Where are the bees?\n{pasted}", f"{pasted}\nWhere are the bees?"):
        face(alice).recall(question)
        assert "bees" in embedder.asked[-1]
        assert len(embedder.asked[-1]) <= QUESTION_CHARS + 1
    face(alice).recall("Where are the bees?")
    assert embedder.asked[-1] == "Where are the bees?"


@pytest.mark.parametrize(("query", "asked"), cases("routing/plan.json", "asked"))
def test_a_plan_has_the_sentences_that_ask(query: str, asked: str) -> None:
    assert plan(query, now=NOW, candidates=48).asked == asked
