from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Event, EventKind, Message, Scope
from hybrid_memory.errors import ModelError
from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.reader import ModelExtractor
from hybrid_memory.models.language import as_language_model
from hybrid_memory.ports import LanguageModel
from hybrid_memory.testing import FaultyModel, ScriptedModel

MONDAY = datetime(2024, 5, 6, 9, 30, tzinfo=UTC)
OWNER = Scope(user="mara", session="s1")


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


def test_the_model_is_asked_for_fields_of_the_profile() -> None:
    fields = [("shoe_size", "whole number", "European size of their shoes")]
    model = ScriptedModel([{"facts": [fact("43", "shoe_size", 1)]}])
    found = extractor(model, fields=fields).extract([event(1, "I wear 43.")], [])
    assert [(claim.attribute, claim.value, claim.single) for claim in found] == [("shoe_size", "43", True)]
    assert "- shoe_size (whole number): European size" in model.prompts[0][0]["content"]


@pytest.mark.parametrize("fault", ["raises", "empty", "rubbish", "broken JSON", "other schema"])
@pytest.mark.parametrize("turns", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_whatever_fails_is_a_model_error(fault: Any, turns: list[Event]) -> None:
    with pytest.raises(ModelError):
        extractor(FaultyModel(fault)).extract(turns, [])


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
