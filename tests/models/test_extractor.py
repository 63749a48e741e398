from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Event, EventKind, Message, Scope
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.reader import SPAN_TOKENS, ModelExtractor
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


ENGLISH = [event(3, "I moved to Bergen."), event(4, "Nice!", role="assistant"), event(5, "I own a red bicycle.")]
CHINESE = [event(3, "我搬到了昆明。"), event(4, "不错！", role="assistant"), event(5, "我有一辆红色的自行车。")]


@pytest.mark.parametrize(
    ("turns", "city", "owned"), [(ENGLISH, "Bergen", "red bicycle"), (CHINESE, "昆明", "红色的自行车")]
)
def test_a_model_extracts_what_the_turns_say(turns: list[Event], city: str, owned: str) -> None:
    model = ScriptedModel([{"facts": [fact(city, "home", 1), fact(owned, "possession", 2)]}])
    claims = extractor(model).extract(turns, [event(2, "你好 hello")])
    assert [(claim.source, claim.attribute, claim.value, claim.stance, claim.by) for claim in claims] == [
        (3, "home", city, Stance.HOLDS, "model scripted"),
        (5, "possession", owned, Stance.HOLDS, "model scripted"),
    ]
    (prompt,) = model.prompts
    assert f"[2] user: {turns[2].message.text}" in prompt[-1]["content"]


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
    found = extractor(scripted).extract(turns, [event(0, "Hello.")])
    assert [claim.source for claim in found] == [1]
    prompts = [prompt[-1]["content"] for prompt in scripted.prompts]
    assert 2 <= len(prompts) <= 30 * 300 // SPAN_TOKENS + 1
    spans = [
        [int(number) for number in re.findall(r"I own item (\d+)", prompt.partition("Turns:")[2])] for prompt in prompts
    ]
    assert [position for span in spans for position in span] == list(range(1, 31))


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
