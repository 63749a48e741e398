"""What is learned from labelled sentences and dialogues, compared with their labels."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import Category, Fact, FactState
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.sentences.examples import KINDS, Example, parsed
from hybrid_memory.testing import FaultyModel, ScriptedModel
from hybrid_memory_evaluation.learning import SAMPLES, Dialogue, Learner, Report, read_dialogues, read_lines
from hybrid_memory_evaluation.learning.figures import agrees, dialogue_figures, holds, judged
from hybrid_memory_evaluation.learning.learning import MAX_FAILURES

NOW = datetime(2024, 5, 6, tzinfo=UTC)
LINES = """\
home=Bergen\tI live in Bergen.
allergy=peanuts\tDo you have any allergies?\tYes, I'm allergic to peanuts.
profession=nurse; employer=St Mary's\tI work as a nurse.
-quote\t"I live in Oslo", said the hero of the film.
-question\tDo I live in Rome?
-momentary\tI live in Paris.
"""


def fact(attribute: str, value: str, *, state: FactState = FactState.CURRENT, subject: str = "user") -> Fact:
    return Fact(1, subject, attribute, value, Category.KNOWLEDGE, state, 0.75, 0.5, NOW, None, ("t1",), (1,))


def report(text: str, tmp_path: Path, model: Any = None) -> Report:
    file = tmp_path / "mine_en.tsv"
    file.write_text(text, encoding="utf-8")
    with Learner("statements", embedder="none", model=model) as learner:
        return learner.report(read_lines([file]), [])


def test_figures_are_what_the_labels_and_the_facts_come_to(tmp_path: Path) -> None:
    told = report(LINES, tmp_path)
    (one,) = told.figures
    assert (one.language, one.lines) == ("", 6)
    counts = {
        name: (share.count, share.total)
        for name in ("recall", "placed", "precision", "traps")
        for share in [getattr(one, name)]
    }
    assert counts == {"recall": (3, 4), "placed": (2, 4), "precision": (3, 5), "traps": (2, 3)}
    assert {kind: (share.count, share.total) for kind, share in one.kinds.items()} == {
        "momentary": (1, 1), "question": (0, 1), "quote": (1, 1),
    }  # fmt: skip
    for share in (one.recall, one.precision, one.traps, *one.kinds.values()):
        assert share.value is not None
        assert 0 <= share.low <= share.value <= share.high <= 1
        assert share.low < share.high
    assert sum(each.facts for each in told.calibration) == 5
    assert sum(each.right for each in told.calibration) == 3
    assert [line["missed"] for line in told.lines] == [[], [], ["employer: St Mary's"], [], [], []]
    assert [[each["right"] for each in line["facts"]] for line in told.lines] == [
        [True],
        [True],
        [True],
        [False],
        [],
        [False],
    ]


def test_a_model_reads_beside_the_reader_and_what_it_adds_is_seen(tmp_path: Path) -> None:
    added = {"value": "Bodil", "attribute": "boss", "subject": "user", "turn": 1, "stance": "holds"}
    text = "boss=Bodil\tBodil, who is my boss, keeps bees.\n"
    assert report(text, tmp_path).figures[0].placed.count == 0
    model = ScriptedModel([{"facts": [added]}])
    told = report(text, tmp_path, model)
    assert (told.reader, told.figures[0].placed.count, len(model.prompts)) == ("statements + model", 1, 1)


def test_a_model_that_fails_is_told_and_not_asked_for_ever(tmp_path: Path) -> None:
    told = report(LINES[: LINES.index("profession")], tmp_path, FaultyModel("rubbish"))
    assert len(told.failures) == 2
    assert told.figures[0].recall.count == 2, "the statements are there"
    model = FaultyModel("raises")
    with pytest.raises(ModelError, match="offline"):
        report(LINES * 3, tmp_path, model)
    assert model.calls <= MAX_FAILURES


@pytest.mark.parametrize(
    ("label", "known", "right"),
    [
        ("allergy=Peanuts", fact("allergy", "Those with “peanuts” make me swell."), True),
        ("allergy=ｐｅａｎｕｔｓ, roasted", fact("condition", "peanuts"), True),
        ("allergy=nut", fact("allergy", "walnut"), False),
        ("allergy=虾", fact("allergy", "一吃虾就起疹子"), True),
        ("technology=pytest", fact("instruction", "以后用pytest测试"), True),
        ("home!ended=Leeds", fact("home", "Leeds"), False),
        ("home!ended=Leeds", fact("home", "Leeds", state=FactState.ENDED), True),
        ("home=Leeds", fact("home", "Leeds", state=FactState.SUPERSEDED), False),
        ("likes=olives", fact("interest", "olives"), True),
        ("likes=olives", fact("dislikes", "olives"), False),
        ("name=!", fact("name", "Bob"), False),
    ],
)  # fmt: skip
def test_a_fact_is_right_if_it_has_the_value_and_is_as_current(label: str, known: Fact, right: bool) -> None:
    (told,) = parsed(f"{label}\tso it is").told
    assert agrees(told, known) is right


def test_what_is_known_of_others_and_what_one_sentence_cannot_show_count_for_nothing() -> None:
    line = parsed("name!wrong=Rob; name=Bob; user's sister/home=Rome\tNot Rob, Bob. My sister lives in Rome.")
    seen = judged(line, [fact("name", "Bob"), fact("home", "Rome", subject="user's sister")])
    assert seen.counts == (1, 1, 1, 1, 1, 0, 0)


def test_words_stand_in_a_text_as_whole_words() -> None:
    assert holds("New-York, N.Y.", "york n y")
    assert not holds("party", "art")
    assert not holds("anything", "")


def test_dialogues_end_right_with_all_that_is_so_and_nothing_that_is_not() -> None:
    def dialogue(**given: Any) -> Dialogue:
        return Dialogue.of({"turns": [["user", "…"]], "kind": "update", **given}, "en")

    so = dialogue(current=[["home", "Colchester"]], false=["Norwich"])
    polar = dialogue(current=[["likes", "olives"]], false=[], false_claims=[["dislikes", "olives"]])
    moved = [fact("home", "Colchester"), fact("home", "Norwich", state=FactState.SUPERSEDED)]
    ends = [
        (so, moved, (1, 0)),
        (so, [fact("home", "Colchester"), fact("address", "a terrace in Norwich")], (0, 1)),
        (so, [], (0, 0)),
        (polar, [fact("likes", "olives")], (1, 0)),
        (polar, [fact("likes", "olives"), fact("dislikes", "olives")], (0, 1)),
    ]
    for talk, facts, expected in ends:
        (end,) = dialogue_figures([talk], [facts])
        assert (end.kind, end.language, end.dialogues, end.right, end.false) == ("update", "en", 1, *expected)


def test_dialogues_are_learned_from_turn_by_turn() -> None:
    turns = [["user", "I live in Oslo."], ["assistant", "I live in a rack."], ["user", "I moved to Bergen."]]
    talk = Dialogue.of({"turns": turns, "current": [["home", "Bergen"]], "false": ["Oslo", "rack"]}, "en")
    with Learner("statements", embedder="none") as learner:
        told = learner.report([], [talk])
    assert [(end.right, end.false) for end in told.dialogues] == [(1, 0)]
    assert told.figures == ()


def test_the_package_has_labelled_sentences_and_dialogues() -> None:
    lines, dialogues = read_lines([SAMPLES]), read_dialogues([SAMPLES])
    assert Counter(line.language for line in lines) == {"en": 60, "zh": 60, "de": 15, "es": 15, "fr": 15, "ja": 15}
    assert {line.kind for line in lines} == set(KINDS)
    assert all(told.value in line.text for line in lines for told in line.told)
    assert Counter(talk.language for talk in dialogues) == {"en": 12, "zh": 12}
    assert all(talk.current or talk.false or talk.false_claims for talk in dialogues)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no tab", r"mine\.tsv, line 1: "),
        ("home=Rome\tI live in Rome.\nhome=\tI live.", r"line 2: no such label: 'home='"),
        ("hobby=tennis\tI play tennis.", r"no such label: 'hobby=tennis'"),
        ("home!sold=Rome\tI left Rome.", r"line 1: 'sold' is not a valid"),
        ("-joke\tI live on Mars.", r"no such kind"),
        ("\n\n", r"no labelled data in .*mine\.tsv"),
    ],
)
def test_what_is_no_labelled_line_is_told_with_its_number(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=told):
        read_lines([file])


@pytest.mark.parametrize("text", ["[]", "{", '{"kind": "update"}', '{"turns": [["user"]]}', '{"turns": 3}', ""])
def test_what_is_no_dialogue_is_told_with_its_number(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"mine\.jsonl"):
        read_dialogues([file])


@pytest.mark.parametrize(("name", "language"), [("de", "de"), ("mine_zh2", "zh"), ("mine", ""), ("made", "")])
def test_the_language_is_what_the_name_of_a_file_ends_with(tmp_path: Path, name: str, language: str) -> None:
    (tmp_path / f"{name}.tsv").write_text("home=Rome\tI live in Rome.\n", encoding="utf-8")
    examples: list[Example] = read_lines([tmp_path])
    assert [one.language for one in examples] == [language]
