"""What the ranker is learned from, and how: the benchmark's own parts."""

import numpy as np
import pytest

from benchmarks.ranking.certainty import auroc, learn_certainty
from benchmarks.ranking.collect import Asked
from benchmarks.ranking.learn import FEATURES, learn


def question(number: int, kind: str = "own") -> Asked:
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
        set="made",
        conversation="one",
        id=str(number),
        question="?",
        category="any",
        kind=kind,
        ids=ids,
        labels=labels,
        wanted=[ids[number % 10]] if kind == "own" else [],
        features=extra | features,
    )


def test_what_tells_evidence_is_learned_and_the_sum_is_the_same_in_parts() -> None:
    asked = [question(number) for number in range(60)]
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
            curve(one.features[name]) for name, curve in features.items()
        )
    apart = model.scores(one) - parts
    faded = one.features["brevity"]
    assert np.linalg.matrix_rank(np.stack([apart, np.ones(10), faded]), tol=1e-6) <= 2, "a constant, and what fades"


def test_certainty_tells_what_is_near_from_what_is_not() -> None:
    asked = [question(number, kind) for number in range(40) for kind in ("own", "foreign")]
    model = learn(asked)
    certainty = learn_certainty(asked, model)
    shares = {
        kind: [certainty(one, model.normal(one)) for one in asked if one.kind == kind] for kind in ("own", "foreign")
    }
    assert auroc(shares["own"], shares["foreign"]) > 0.95
    assert all(0 <= share <= 1 for those in shares.values() for share in those)


def test_auroc_counts_pairs() -> None:
    assert auroc([3, 1], [2, 1]) == pytest.approx((1 + 1 + 0 + 0.5) / 4)
