"""The measures of retrieval, computed by hand, what the benchmark counts, and how the ranker is learned."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measures import SESSIONS, TURNS, Labels, grade
from benchmarks.ranking.certainty import auroc, learn_certainty
from benchmarks.ranking.collect import Asked
from benchmarks.ranking.learn import FEATURES, learn
from benchmarks.retrieval import HYBRID, Run
from hybrid_memory.models.embedders import HashingEmbedder

NAMES = st.sampled_from("abcdefghijklmnopqrstuvwxyz")


@given(st.lists(NAMES, unique=True), st.sets(NAMES, min_size=1))
def test_the_measures_agree_with_their_definitions(found: list[str], evidence: set[str]) -> None:
    grades = grade(found, evidence)
    for k in (5, 10):
        among = [name in found[:k] for name in evidence]
        assert grades[f"any@{k}"] == any(among)
        assert grades[f"all@{k}"] == all(among)
        assert grades[f"r@{k}"] == pytest.approx(sum(among) / len(among))
    assert grades["r@5"] <= grades["r@10"] <= grades["r@20"]
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


SHOPPING = [
    turn("s1", 0, text="I bought a lamp for the hall.", time="2023/05/01 (Mon) 10:00"),
    turn("s2", 0, text="I bought a vase for the hall.", time="2023/05/20 (Sat) 10:00"),
    turn("s3", 0, text=" ", time="2023/05/20 (Sat) 11:00"),
]


def test_a_question_is_asked_at_its_time_and_one_with_a_wrong_label_is_not() -> None:
    question = {
        "question": "What did I buy for the hall yesterday?",
        "evidence": ["s2:0"],
        "time": "2023/05/21 (Sun) 09:00",
    }
    run = Run("shop", HashingEmbedder())
    run.ask({"turns": SHOPPING, "questions": [question, {**question, "bad": "wrong"}]})
    figures = run.report()["levels"][TURNS][HYBRID]
    assert (figures["questions"], figures["hit@1"]) == (1, 1)


def of_ten(number: int, kind: str = "own") -> Asked:
    """Ten candidates, of which the evidence is the one that asks nothing and lies in time."""
    rng = np.random.default_rng(number)
    features = {feature: rng.random(10) for _, feature in FEATURES}
    extra = dict.fromkeys(
        ("vector", "text", "similarity", "covered", "never said", "told after", "brevity"), rng.random(10)
    )
    labels = np.zeros(10)
    if kind == "own":
        labels[number % 10] = 1.0
        features["asks"] = np.where(labels, 0.0, 0.5 + 0.5 * features["asks"])
        extra["similarity"] = extra["similarity"] / 2 + 0.5 * labels
    else:
        extra["similarity"] = extra["similarity"] / 4
    ids = [str(row) for row in range(10)]
    return Asked(
        set="made", conversation="one", id=str(number), question="?", category="any", kind=kind, ids=ids, labels=labels,
        wanted=[ids[number % 10]] if kind == "own" else [], features=extra | features,
    )  # fmt: skip


def test_what_tells_evidence_is_learned_and_the_sum_is_the_same_in_parts() -> None:
    asked = [of_ten(number) for number in range(60)]
    model = learn(asked[:40])
    for one in asked[40:]:
        scores = model.scores(one)
        assert int(scores.argmax()) == int(one.labels.argmax())
    curves, weights = model.curves()
    assert weights["statement"] == max(weights.values())
    one = asked[-1]
    parts = model.relevance * (0.7 * one.features["vector"] + 0.3 * one.features["text"])
    for signal, features in curves.items():
        fade = one.features["brevity"] if signal in {"neighbours", "segment", "importance"} else 1.0
        parts = parts + model.relevance * weights[signal] * fade * sum(
            np.interp(one.features[name], *curve) for name, curve in features.items()
        )
    apart = model.scores(one) - parts
    faded = one.features["brevity"]
    assert np.linalg.matrix_rank(np.stack([apart, np.ones(10), faded]), tol=1e-6) <= 2, "a constant, and what fades"


def test_certainty_tells_what_is_near_from_what_is_not() -> None:
    asked = [of_ten(number, kind) for number in range(40) for kind in ("own", "foreign")]
    model = learn(asked)
    certainty = learn_certainty(asked, model)
    shares = {kind: [certainty(q, model.normal(q)) for q in asked if q.kind == kind] for kind in ("own", "foreign")}
    assert auroc(shares["own"], shares["foreign"]) > 0.95
    assert all(0 <= share <= 1 for those in shares.values() for share in those)


def test_auroc_counts_pairs() -> None:
    assert auroc([3, 1], [2, 1]) == pytest.approx((1 + 1 + 0 + 0.5) / 4)
