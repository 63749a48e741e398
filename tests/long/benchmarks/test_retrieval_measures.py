"""The measures of retrieval, computed by hand, and what the benchmark counts."""

from __future__ import annotations

import argparse
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measures import SESSIONS, TURNS, USER_SESSIONS, USER_TURNS, Labels, counted, grade
from benchmarks.retrieval import HYBRID, Row, Run, report, run_set, store, summary
from hybrid_memory.models.embedders import HashingEmbedder

NAMES = st.sampled_from("abcdefghijklmnopqrstuvwxyz")


def test_a_question_by_hand() -> None:
    found = ["a", "x", "y", "z", "w", "b", "v", "u"]
    grades = grade(found, {"a", "b", "c"})
    assert (grades["r@5"], grades["r@10"], grades["r@20"]) == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert (grades["any@5"], grades["any@10"], grades["all@5"], grades["all@10"]) == (1, 1, 0, 0)
    assert (grades["hit@1"], grades["mrr"]) == (1, 1)
    # Three ranks can hold evidence: 1 + 1 + 1 / log2(3); found are ranks 1 and 6.
    assert grades["ndcg@10"] == pytest.approx((1 + 1 / math.log2(6)) / (2 + 1 / math.log2(3)))


def test_strict_recall_needs_every_piece_within_the_cutoff() -> None:
    found = ["x1", "x2", "x3", "a", "b", "x4", "x5", "x6", "x7", "c"]
    assert [grade(found, {"a", "b"})[f"all@{k}"] for k in (5, 10)] == [1, 1]
    assert [grade(found, {"a", "c"})[f"all@{k}"] for k in (5, 10)] == [0, 1]
    assert [grade(found, {"a", "d"})[f"all@{k}"] for k in (5, 10)] == [0, 0]
    assert grade(found, {"a", "d"})["any@5"] == 1
    assert grade(found, {"c"})["mrr"] == 1 / 10


def test_nothing_found() -> None:
    assert set(grade([], {"a"}).values()) == {0.0}


def test_evidence_behind_the_twentieth_place_is_not_found() -> None:
    found = [f"x{number}" for number in range(20)] + ["a"]
    assert set(grade(found, {"a"}).values()) == {0.0}
    assert grade(found[1:], {"a"})["mrr"] == 1 / 20


def test_what_is_found_twice_counts_once_and_takes_two_places() -> None:
    grades = grade(["a", "a", "a", "a", "a", "b"], {"a", "b"})
    assert (grades["r@5"], grades["all@5"], grades["all@10"]) == (0.5, 0, 1)
    assert grades["ndcg@10"] == pytest.approx((1 + 1 / math.log2(6)) / 2)


def test_ndcg_gives_the_first_two_places_the_same_gain() -> None:
    assert grade(["a"], {"a"})["ndcg@10"] == grade(["x", "a"], {"a"})["ndcg@10"] == 1
    assert grade(["x", "y", "a"], {"a"})["ndcg@10"] == pytest.approx(1 / math.log2(3))


def test_the_best_possible_ndcg_of_more_evidence_than_places_is_one() -> None:
    names = [f"a{number}" for number in range(12)]
    assert grade(names, set(names))["ndcg@10"] == pytest.approx(1)


@given(st.lists(NAMES, unique=True), st.sets(NAMES, min_size=1))
def test_the_measures_agree_with_their_definitions(found: list[str], evidence: set[str]) -> None:
    grades = grade(found, evidence)
    for k in (5, 10):
        among = [name in found[:k] for name in evidence]
        assert grades[f"any@{k}"] == any(among)
        assert grades[f"all@{k}"] == all(among)
        assert grades[f"r@{k}"] == pytest.approx(sum(among) / len(among))
    assert grades["r@5"] <= grades["r@10"] <= grades["r@20"]
    assert 0 <= grades["ndcg@10"] <= 1 + 1e-9
    assert (grades["mrr"] == 1) == bool(grades["hit@1"])


def turn(session: str, number: int, speaker: str = "user", text: str = "words", time: str = "") -> dict[str, Any]:
    return {"id": f"{session}:{number}", "session": session, "speaker": speaker, "text": text, "time": time}


TALK = Labels.of(
    [
        turn(session, number, "assistant" if number % 2 else "user")
        for session in ("s1", "s2", "s3")
        for number in range(4)
    ]
)


def test_sessions_stand_where_their_best_turn_stands() -> None:
    assert TALK.sessions(["s2:1", "s1:0", "s2:0", "s3:3", "s1:2"]) == ["s2", "s1", "s3"]


def test_turns_and_sessions_are_graded_apart() -> None:
    question = {"evidence": ["s1:0", "s1:2", "s3:0"]}
    levels = TALK.grades(question, ["s1:1", "s1:0"], ["s1:1", "s1:0", "s2:0", "s3:1"])
    assert set(levels) == {TURNS, SESSIONS}
    assert levels[TURNS]["r@5"] == pytest.approx(1 / 3)
    # The right sessions, if by other turns of theirs: the first and the third.
    assert (levels[SESSIONS]["all@5"], levels[SESSIONS]["hit@1"]) == (1, 1)
    assert levels[SESSIONS]["ndcg@10"] == pytest.approx((1 + 1 / math.log2(3)) / 2)


def test_labelled_sessions_replace_those_of_the_turns() -> None:
    question = {"evidence": ["s1:0"], "ev_sessions": ["s1", "s3"]}
    levels = TALK.grades(question, ["s1:0"], ["s1:0", "s2:0"])
    assert (levels[TURNS]["all@5"], levels[SESSIONS]["all@5"], levels[SESSIONS]["r@5"]) == (1, 0, 0.5)
    assert levels[USER_SESSIONS]["all@5"] == 1, "s3 has no turn of the user that is evidence"


def test_the_level_of_the_users_turns_leaves_the_assistant_out() -> None:
    question = {"evidence": ["s1:0", "s2:1"], "ev_sessions": ["s1", "s2"]}
    deep = ["s3:1", "s2:1", "s3:0", "s1:0"]
    levels = TALK.grades(question, deep, deep)
    assert (levels[TURNS]["mrr"], levels[USER_TURNS]["mrr"]) == (1 / 2, 1 / 2)
    assert (levels[TURNS]["r@5"], levels[USER_TURNS]["r@5"]) == (1, 1)
    assert (levels[SESSIONS]["mrr"], levels[USER_SESSIONS]["mrr"]) == (1 / 2, 1 / 2)
    assert levels[USER_SESSIONS]["ndcg@10"] == 1, "s1 alone, second after s3"


def test_questions_that_only_the_assistant_answers_have_no_level_of_the_user() -> None:
    levels = TALK.grades({"evidence": ["s2:1"], "ev_sessions": ["s2"]}, ["s2:1"], ["s2:1"])
    assert set(levels) == {TURNS, SESSIONS}


def test_numbers_for_ids_are_read_as_their_texts() -> None:
    labels = Labels.of([{"id": 0, "session": 7, "speaker": "user"}, {"id": 1, "session": 8, "speaker": "user"}])
    levels = labels.grades({"evidence": [1]}, ["1"], ["0", "1"])
    assert (levels[TURNS]["hit@1"], levels[SESSIONS]["mrr"]) == (1, 1 / 2)


def test_a_question_with_labelled_sessions_alone_is_graded_by_session_alone() -> None:
    assert set(TALK.grades({"evidence": [], "ev_sessions": ["s2"]}, [], [])) == {SESSIONS}
    assert TALK.grades({"evidence": []}, [], []) == {}


def test_wrong_labels_and_abstentions_are_not_asked() -> None:
    assert counted({"category": "multi-hop", "bad": None})
    assert not counted({"category": "multi-hop", "bad": "another speaker"})
    assert not counted({"category": "abstention"})


def row(share: float, *, method: str = HYBRID, category: str = "1") -> Row:
    found = ["a"] if share == 1 else ["x"]
    return Row(TURNS, method, category, grade(found, {"a"}))


def test_the_mean_is_over_questions_and_the_adversarial_ones_stand_apart() -> None:
    rows = [row(1), row(0), row(1, category="4"), row(0, category="5")]
    groups = summary(rows)
    assert [(name, group["questions"], group["r@10"]) for name, group in groups.items()] == [
        ("all", 4, 0.5),
        ("1-4", 3, pytest.approx(2 / 3)),
        ("1", 2, 0.5),
        ("4", 1, 1),
        ("5", 1, 0),
    ]
    assert "1-4" not in summary(rows[:3])


SHOPPING = [
    turn("s1", 0, text="I bought a lamp for the hall.", time="2023/05/01 (Mon) 10:00"),
    turn("s2", 0, text="I bought a vase for the hall.", time="2023/05/20 (Sat) 10:00"),
    turn("s3", 0, text=" ", time="2023/05/20 (Sat) 11:00"),
]


def conversation(name: str, asked_at: str) -> dict[str, Any]:
    question = {"question": "What did I buy for the hall yesterday?", "evidence": ["s2:0"], "time": asked_at}
    return {"conv": name, "turns": SHOPPING, "questions": [question, {**question, "bad": "wrong"}]}


@pytest.mark.parametrize(("asked_at", "first"), [("2023/05/21 (Sun) 09:00", 1.0), ("2023/05/02 (Tue) 09:00", 0.0)])
def test_a_question_has_its_time(asked_at: str, first: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.memory.opening.embedder_of", lambda _: HashingEmbedder())
    run = Run("shop", tmp_path, {HYBRID: None})
    run.ask(0, conversation("c", asked_at))
    assert [one.level for one in run.rows] == [TURNS, SESSIONS], "the wrong label is not asked"
    assert [one.grades["hit@1"] for one in run.rows] == [first, first]
    assert (run.turns, run.fewest, len(run.spent)) == (3, 3, 1)


def test_every_other_conversation_and_those_that_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.memory.opening.embedder_of", lambda _: HashingEmbedder())
    with gzip.open(tmp_path / "shop.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(conversation(f"c{n}", "2023/05/21 (Sun) 09:00")) + "\n" for n in range(5))
    options = argparse.Namespace(data=tmp_path, limit=4, step=2, stored=False, vectors=None)
    run = run_set("shop", options, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["shop-0.db", "shop-2.db"]
    assert report(run)["levels"][TURNS][HYBRID]["all"]["questions"] == 2
    store(tmp_path, "shop", 0).unlink()
    stored = run_set("shop", argparse.Namespace(data=tmp_path, limit=None, step=1, stored=True, vectors=None), tmp_path)
    assert stored.turns == 3, "that of the third conversation is left"
    store(tmp_path, "shop", 2).unlink()
    with pytest.raises(SystemExit, match="no store of shop"):
        run_set("shop", argparse.Namespace(data=tmp_path, limit=None, step=1, stored=True, vectors=None), tmp_path)
