from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory.models.language import as_language_model
from hybrid_memory.testing import FaultyModel, ScriptedModel
from hybrid_memory.testing.models import Fault
from hybrid_memory_evaluation.probing.probe import ProbeKind
from hybrid_memory_evaluation.probing.writing import Written, written_probes

ENGLISH = [
    ("system", "Be brief."),
    ("user", "The server in room 14 is called Heron, and its password is with Ingrid."),
    ("assistant", "Noted: Heron, room 14."),
    ("user", "We moved the backup to Thursday because the tape robot is busy on Mondays."),
    ("assistant", "Fine."),
    ("user", "What else?"),
]


def item(kind: str, question: str, answer: str, keys: Sequence[str], turn: int) -> dict[str, Any]:
    return {"kind": kind, "question": question, "answer": answer, "keys": list(keys), "turns": [turn]}


GOOD = item("recall", "What is the server in room 14 called?", "It is called Heron.", ["Heron"], 2)
BECAUSE = "On Thursday, because the tape robot is busy on Mondays."
WHY = item("decision", "When is the backup made, and why then?", BECAUSE, ["Thursday", "tape robot"], 4)


def talk(said: Sequence[tuple[str, str]] = ENGLISH) -> Transcript:
    return Transcript.of([{"role": role, "content": text} for role, text in said])


def written(*answers: str | Mapping[str, Any], truncated: int = 5, count: int = 2) -> Written:
    return written_probes(talk(), truncated, as_language_model(ScriptedModel(answers)), count=count)


def test_what_holds_becomes_a_probe_with_the_turns_that_it_was_made_from() -> None:
    probes, refused = written({"probes": [GOOD, WHY]})
    assert refused == 0
    assert [(probe.id, probe.kind, probe.keys, probe.sources, probe.by) for probe in probes] == [
        ("written-1", ProbeKind.RECALL, ("Heron",), ("turn-2",), "scripted"),
        ("written-2", ProbeKind.DECISION, ("Thursday", "tape robot"), ("turn-4",), "scripted"),
    ]
    assert probes[0].question == GOOD["question"]
    assert probes[0].gold == GOOD["answer"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"turns": [4]}, {"turns": [99]}, {"turns": [0]}, {"turns": [6]}, {"turns": []}, {"turns": ["2"]},
        {"turns": [True]}, {"turns": 2}, {"keys": ["Osprey"]}, {"keys": ["Heron", "Osprey"]}, {"keys": ["Hero"]},
        {"keys": ["room 14"]}, {"keys": []}, {"keys": [""]}, {"keys": [7]}, {"keys": None}, {"keys": ["Heron"] * 9},
        {"kind": "trivia"}, {"kind": ["recall"]}, {"question": ""}, {"question": 7}, {"answer": "  "},
    ],
    ids=repr,
)  # fmt: skip
def test_what_does_not_hold_is_refused_and_counted(wrong: dict[str, Any]) -> None:
    probes, refused = written({"probes": [{**GOOD, **wrong}, WHY]})
    assert [probe.keys for probe in probes] == [("Thursday", "tape robot")]
    assert refused == 1


@pytest.mark.parametrize("fault", ["raises", "empty", "rubbish"])
def test_a_model_that_fails_writes_nothing(fault: Fault) -> None:
    assert written_probes(talk(), 5, as_language_model(FaultyModel(fault))) == Written([], 0)


def test_the_model_sees_what_is_out_of_sight_and_nothing_else() -> None:
    model = ScriptedModel([{"probes": []}])
    written_probes(talk(), 4, as_language_model(model), count=3)
    task, turns = (message["content"] for message in model.prompts[0][:2])
    assert "Write 3 questions" in task
    assert "[2] user: The server in room 14" in turns
    assert "[4] user: We moved the backup" in turns
    assert "[5]" not in turns
