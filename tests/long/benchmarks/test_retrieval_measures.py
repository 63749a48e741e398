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

from benchmarks.measures import SESSIONS, TURNS, Labels, grade
from benchmarks.retrieval import HYBRID, Row, report, run_set, store, summary
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


def test_turns_and_sessions_are_graded_apart() -> None:
    question = {"evidence": ["s1:0", "s1:2", "s3:0"]}
    levels = TALK.grades(question, ["s1:1", "s1:0"], ["s1:1", "s1:0", "s2:0", "s3:1"])
    assert set(levels) == {TURNS, SESSIONS}
    assert levels[TURNS]["r@5"] == pytest.approx(1 / 3)
    # The right sessions, if by other turns of theirs: the first and the third.
    assert (levels[SESSIONS]["all@5"], levels[SESSIONS]["hit@1"]) == (1, 1)
    assert levels[SESSIONS]["ndcg@10"] == pytest.approx((1 + 1 / math.log2(3)) / 2)


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
