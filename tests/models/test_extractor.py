from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Event, EventKind, Message, Scope
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import Claim, Stance
from hybrid_memory.facts.reader.asking import SPAN_TOKENS
from hybrid_memory.facts.reader.extractor import ModelExtractor
from hybrid_memory.models.language import as_language_model
from hybrid_memory.ports import FactExtractor, LanguageModel
from hybrid_memory.testing import FaultyModel, ScriptedModel

MONDAY = datetime(2024, 5, 6, 9, 30, tzinfo=UTC)
OWNER = Scope(user="mara", session="s1")
SHORT = timedelta(milliseconds=100)


def event(position: int, text: str, **fields: Any) -> Event:
    payload = Message(content=text, **fields).model_dump(mode="json", exclude_none=True)
    return Event(position, f"e{position}", OWNER, EventKind.MESSAGE, MONDAY, payload)


def fact(value: str, attribute: str, turn: int, **more: str) -> dict[str, Any]:
    return {"value": value, "attribute": attribute, "subject": "user", "turn": turn, "stance": "holds", **more}


def extractor(model: Any, **options: Any) -> ModelExtractor:
    return ModelExtractor(as_language_model(model, timeout=timedelta(seconds=20)), **options)


def said(by: str, value: str, source: int, **more: Any) -> Claim:
    return Claim("user", by, value, attribute(by).category, source, by="other", **more)


ENGLISH = [event(3, "I moved to Bergen."), event(4, "Nice!", role="assistant"), event(5, "I own a red bicycle.")]
CHINESE = [event(3, "我搬到了昆明。"), event(4, "不错！", role="assistant"), event(5, "我有一辆红色的自行车。")]


@pytest.mark.parametrize(
    ("turns", "city", "owned"), [(ENGLISH, "Bergen", "red bicycle"), (CHINESE, "昆明", "红色的自行车")]
)
def test_a_model_adds_what_others_missed_and_corrects_them(turns: list[Event], city: str, owned: str) -> None:
    known = [said("home", city, 3), said("likes", owned, 5)]
    model = ScriptedModel([{"facts": [fact(city, "home", 1), fact(owned, "possession", 2)], "wrong": [2]}])
    found = extractor(model).extract(turns, [event(2, "你好 hello")], known)
    assert [(claim.source, claim.attribute, claim.value, claim.stance, claim.by) for claim in found] == [
        (5, "likes", owned, Stance.WRONG, "model scripted"),
        (5, "possession", owned, Stance.HOLDS, "model scripted"),
    ]
    (prompt,) = model.prompts
    assert prompt[0]["content"].startswith("You note" if turns is ENGLISH else "你为记忆库")
    assert f"(1) user · home: {city}" in prompt[-1]["content"]
    assert f"[2] user: {turns[2].message.text}" in prompt[-1]["content"]


SENTENCES = [
    event(3, "Since the wedding it has been a terrace in York."),
    event(4, "Sold the kayak, at last."),
    event(5, "One bite of prawn and my throat closes up."),
]


def told_by(attributes: Sequence[str], **more: Any) -> list[Claim]:
    """Findings that are the sentences themselves."""
    return [
        said(name, turn.message.text, turn.position, verbatim=True, **more)
        for name, turn in zip(attributes, SENTENCES, strict=False)
    ]


def test_a_finding_that_is_a_sentence_gets_its_value_and_what_harms_keeps_the_words_of_the_user() -> None:
    home, sold, allergy = told_by(["home", "possession", "allergy"])
    known = [home, replace(sold, stance=Stance.ENDED), allergy]
    answer = [
        fact("York", "home", 1), fact("kayak", "possession", 2, stance="ended"), fact("prawn", "allergy", 3)
    ]  # fmt: skip
    model = ScriptedModel([{"facts": answer, "wrong": []}])
    found = extractor(model).extract(SENTENCES, [], known)
    assert [(claim.attribute, claim.value, claim.stance) for claim in found] == [
        ("home", "York", Stance.HOLDS),
        ("possession", "kayak", Stance.ENDED),
    ]
    assert [line for line in model.prompts[0][-1]["content"].splitlines() if line.startswith("(")] == [
        "(1) user · home: Since the wedding it has been a terrace in York. (sentence)",
        "(2) user · possession: Sold the kayak, at last. (sentence) (ended)",
        "(3) user · allergy: One bite of prawn and my throat closes up.",
    ]


def test_what_is_cut_from_a_sentence_keeps_it_from_being_called_wrong() -> None:
    known = told_by(["home"])
    model = ScriptedModel([{"facts": [fact("York", "home", 1)], "wrong": [1]}, {"facts": [], "wrong": [1]}])
    (cut,) = extractor(model).extract(SENTENCES, [], known)
    assert (cut.value, cut.stance) == ("York", Stance.HOLDS)
    (denied,) = extractor(model).extract(SENTENCES, [], known)
    assert (denied.value, denied.stance, denied.verbatim) == (known[0].value, Stance.WRONG, True)


def test_what_is_over_is_not_called_wrong_since_it_was_so() -> None:
    model = ScriptedModel([{"facts": [], "wrong": [1]}])
    assert extractor(model).extract(SENTENCES, [], told_by(["home"], stance=Stance.ENDED)) == []


def test_a_long_sentence_is_shown_by_its_beginning() -> None:
    turn = event(3, "The house with the green door and the crooked chimney, " * 4)
    model = ScriptedModel([{"facts": [], "wrong": []}])
    extractor(model).extract([turn], [], [said("home", turn.message.text, 3, verbatim=True)])
    (line,) = [line for line in model.prompts[0][-1]["content"].splitlines() if line.startswith("(1)")]
    assert line.endswith("… (sentence)")
    assert len(line) < 100


def test_it_is_named_by_its_model() -> None:
    port: FactExtractor = extractor(ScriptedModel([]))
    assert port.name == "model scripted"


def test_the_model_is_asked_for_fields_of_the_profile() -> None:
    fields = [("shoe_size", "whole number", "European size of their shoes")]
    model = ScriptedModel([{"facts": [fact("43", "shoe_size", 1)]}])
    found = extractor(model, fields=fields).extract([event(1, "I wear 43.")], [])
    assert [(claim.attribute, claim.value, claim.single) for claim in found] == [("shoe_size", "43", True)]
    assert "- shoe_size (whole number): European size" in model.prompts[0][0]["content"]


def test_no_call_where_nobody_speaks() -> None:
    model = ScriptedModel([])
    turns = [event(1, "I live in the cloud.", role="assistant"), event(2, "17 °C", role="tool")]
    assert extractor(model).extract(turns, []) == []
    assert extractor(model).extract([], turns) == []
    assert model.prompts == []


def test_more_than_a_question_has_room_for_is_several_questions() -> None:
    filler = "The hills were green and the road was long. "
    turns = [event(number, f"I own item {number}. {filler * 25}") for number in range(1, 31)]
    scripted = ScriptedModel([{"facts": [fact("item 1", "possession", 1)]}, *[{"facts": []}] * 9])
    known = [said("possession", f"number {turn.position}", turn.position) for turn in turns]
    found = extractor(scripted).extract(turns, [event(0, "Hello.")], known)
    assert [claim.source for claim in found] == [1]
    prompts = [prompt[-1]["content"] for prompt in scripted.prompts]
    assert 2 <= len(prompts) <= 30 * 300 // SPAN_TOKENS + 1
    spans = [
        [int(number) for number in re.findall(r"I own item (\d+)", prompt.partition("Turns:")[2])] for prompt in prompts
    ]
    assert [position for span in spans for position in span] == list(range(1, 31))
    assert [[int(number) for number in re.findall(r"number (\d+)", prompt)] for prompt in prompts] == spans


@pytest.mark.parametrize("fault", ["raises", "empty", "rubbish", "broken JSON", "other schema"])
@pytest.mark.parametrize("turns", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_whatever_fails_is_a_model_error(fault: Any, turns: list[Event]) -> None:
    with pytest.raises(ModelError):
        extractor(FaultyModel(fault)).extract(turns, [])


@pytest.fixture
def hanging() -> Iterator[FaultyModel]:
    model = FaultyModel("hangs")
    yield model
    model.release()


def test_a_model_that_hangs_is_a_model_error(hanging: FaultyModel) -> None:
    slow = ModelExtractor(as_language_model(hanging, timeout=SHORT))
    with pytest.raises(ModelError, match="longer than"):
        slow.extract(ENGLISH, [])


@pytest.mark.parametrize("answer", [None, 7, "tea", [], {}, {"facts": "none"}, {"facts": [{"turn": 1}]}])
def test_another_port_that_answers_nonsense_is_a_model_error(answer: Any) -> None:
    class Port:
        name = "theirs"

        def complete(self, messages: Sequence[Message]) -> str:
            raise NotImplementedError

        def structured(self, messages: Sequence[Message], schema: Any) -> dict[str, Any]:
            return answer  # type: ignore[no-any-return]

    model: LanguageModel = Port()
    with pytest.raises(ModelError, match="no facts by model theirs: ValueError: the answer has no facts"):
        ModelExtractor(model).extract(ENGLISH, [])


@pytest.mark.parametrize(
    "error", [KeyError("facts"), RecursionError("deep"), InvalidInputError("odd"), OSError(5, "io")]
)
def test_another_port_that_raises_is_a_model_error(error: Exception) -> None:
    def fails(*_: Any) -> Any:
        raise error

    port: Callable[..., Any] = type("Port", (), {"name": "theirs", "complete": fails, "structured": fails})
    with pytest.raises(ModelError, match="no facts by model theirs") as caught:
        ModelExtractor(port()).extract(ENGLISH, [])
    assert caught.value.__cause__ is error
