from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.apps.transcripts.transcript import Transcript
from hybrid_memory.errors import ModelError
from hybrid_memory.models.language import as_language_model
from hybrid_memory.testing import FaultyModel, ScriptedModel
from hybrid_memory.testing.models import Fault
from hybrid_memory_evaluation.probing.probe import ProbeKind
from hybrid_memory_evaluation.probing.writing import PER_CALL, Written, written_probes

ENGLISH = [
    ("system", "Be brief."),
    ("user", "The server in room 14 is called Heron, and its password is with Ingrid."),
    ("assistant", "Noted: Heron, room 14."),
    ("user", "We moved the backup to Thursday because the tape robot is busy on Mondays."),
    ("assistant", "Fine."),
    ("user", "What else?"),
]
CHINESE = [
    ("user", "我们的服务器叫苍鹭，放在14号机房。"),
    ("assistant", "好的，记下了。"),
    ("user", "备份改到星期四，因为星期一太忙。"),
    ("assistant", "好的。"),
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


@pytest.mark.parametrize("answer", [{"probes": "none"}, {"questions": [GOOD]}, {}])
def test_an_answer_without_a_list_is_refused_once(answer: dict[str, Any]) -> None:
    assert written(answer) == Written([], 1)


def test_one_question_may_come_without_a_list() -> None:
    assert written(GOOD) == written({"probes": [GOOD]})


def test_a_question_counts_once() -> None:
    again = {**GOOD, "question": "what is the server in room 14 called"}
    probes, refused = written({"probes": [GOOD, again]})
    assert len(probes) == 1
    assert refused == 1


def test_more_than_was_asked_for_is_not_taken() -> None:
    assert written({"probes": [GOOD, WHY]}, count=1).probes == written({"probes": [GOOD]}, count=1).probes


@pytest.mark.parametrize("fault", ["raises", "empty", "rubbish"])
def test_a_model_that_fails_writes_nothing(fault: Fault) -> None:
    assert written_probes(talk(), 5, as_language_model(FaultyModel(fault))) == Written([], 0)


def test_where_one_call_fails_the_others_count() -> None:
    class Model:
        name = "moody"
        calls = 0

        def complete(self, messages: Sequence[Message]) -> str:
            raise NotImplementedError

        def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
            self.calls += 1
            if self.calls == 1:
                raise ModelError("it is tired")
            turns = messages[-1].text
            number = int(turns.rpartition("[")[2].partition("]")[0])
            key = f"K{number}"
            return {"probes": [{**GOOD, "question": f"Which one {key[0]}?", "keys": [key], "turns": [number]}]}

    filler = "and many other words that nobody will ever need to read again " * 20
    said = [("user", f"The key is K{row} {filler}") for row in range(1, 41)]
    model = Model()
    probes, refused = written_probes(talk(said), 40, model, count=3 * PER_CALL)
    assert model.calls == 3
    assert [probe.by for probe in probes] == ["moody"]
    assert refused == 1  # the same question twice


def test_the_model_sees_what_is_out_of_sight_and_nothing_else() -> None:
    model = ScriptedModel([{"probes": []}])
    written_probes(talk(), 4, as_language_model(model), count=3)
    task, turns = (message["content"] for message in model.prompts[0][:2])
    assert "Write 3 questions" in task
    assert "[2] user: The server in room 14" in turns
    assert "[4] user: We moved the backup" in turns
    assert "[5]" not in turns


def test_parts_of_a_long_conversation_are_shown_evenly() -> None:
    model = ScriptedModel([{"probes": []}] * 3)
    filler = "and many other words that nobody will ever need to read again " * 20
    said = [("user", f"Turn {row}. {filler}") for row in range(60)]
    written_probes(talk(said), 60, as_language_model(model), count=10)
    starts = [int(prompt[1]["content"].partition("]")[0].lstrip("[")) for prompt in model.prompts]
    asked = [prompt[0]["content"].partition(" questions")[0][-1] for prompt in model.prompts]
    assert len(starts) == 3
    assert starts == sorted(starts)
    assert starts[0] < 20 <= starts[1] < 40 <= starts[2]
    assert sum(map(int, asked)) == 10


def test_a_chinese_conversation_is_asked_about_in_chinese() -> None:
    heron = item("recall", "14号机房的服务器叫什么？", "叫苍鹭。", ["苍鹭"], 1)
    model = ScriptedModel([{"probes": [heron]}])
    probes, refused = written_probes(talk(CHINESE), 3, as_language_model(model), count=1)
    assert "请写1个" in model.prompts[0][0]["content"]
    assert [probe.keys for probe in probes] == [("苍鹭",)]
    assert refused == 0


@pytest.mark.parametrize("truncated", [0, 1])
def test_nothing_is_asked_where_nobody_has_said_anything(truncated: int) -> None:
    assert written(truncated=truncated) == Written([], 0)
