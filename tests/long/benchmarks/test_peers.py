from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import quality, speed
from benchmarks.peers.own import Own
from benchmarks.peers.systems import SYSTEMS, Turn
from benchmarks.peers.texts import Shape
from hybrid_memory.models.embedders import HashingEmbedder

OWN = SYSTEMS[0]
SAID = ["I adopted a grey cat", "My brother plays the cello", "We moved to Lisbon in May", "The boat needs new paint"]
CONVERSATION: dict[str, Any] = {
    "turns": [
        {"id": f"gold-{n}", "session": f"answer_{n // 2}", "time": None, "speaker": "Ann", "text": text}
        for n, text in enumerate(SAID)
    ],
    "questions": [
        {"question": "Which instrument does the brother play, the cello?", "evidence": ["gold-1"]},
        {"question": "Who painted the boat?", "evidence": ["gold-3"], "bad": "nobody did"},
        {"question": "What is the weather?", "evidence": []},
    ],
}


def test_quality_asks_what_counts_and_shows_no_memory_the_ids_of_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Turn] = []

    class Watched(Own):
        def add(self, turns: Sequence[Turn]) -> None:
            shown.extend(turns)
            super().add(turns)

    monkeypatch.setattr("benchmarks.peers.own.Own", Watched)
    found = quality.answers(OWN, HashingEmbedder(), [CONVERSATION])
    assert [len(answers) for answers in found] == [1]
    assert found[0][0][0] == "gold-1"
    assert {turn.text for turn in shown} == {f"Ann: {text}" for text in SAID}
    assert not any("gold" in str(turn) for turn in shown)
    figures = quality.graded([CONVERSATION], found)
    assert figures == {"questions": 1, "r@5": 1.0, "r@10": 1.0, "all@10": 1.0, "hit@1": 1.0, "mrr@20": 1.0}


def test_speed_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "QUESTIONS", (1, 16))
    monkeypatch.setattr(speed, "SINGLES", 10)
    clock = speed.Clock(speed.Timed())
    system = Own(clock.embedder, tmp_path)
    row = speed.measured(system, clock, Shape(owners=2, turns=40))
    system.close()
    assert min(row["search p50 ms"], row["first ms"], row["writes/s"], row["bulk/s"]) > 0
    assert row["found"] > 0.9
    filled = speed.table(Shape(2, 40), {OWN.name: row})
    title, columns, first = speed.published([{"title": filled.title, "rows": filled.rows}])[0].values()
    assert (title, columns[:2], first[0][:2]) == (filled.title, ["memory", "work"], ["ours", "hybrid"])
