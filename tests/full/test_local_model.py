from __future__ import annotations

from hybrid_memory import Message, Role
from hybrid_memory.ports import LanguageModel

TALK = [
    Message(role=Role.SYSTEM, content="You answer questions about the conversation. Answer in a few words."),
    Message(content="我叫梅雅，三月份搬到了里斯本，在一家机器人公司写固件。I am allergic to peanuts."),
]


def test_a_question_is_answered_from_the_conversation(local_model: LanguageModel) -> None:
    answer = local_model.complete([*TALK, Message(content="Which food must she avoid?")])
    assert "peanut" in answer.lower()


def test_a_schema_is_followed(local_model: LanguageModel) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "allergies": {"type": "array", "items": {"type": "string"}}},
        "required": ["city", "allergies"],
    }
    found = local_model.structured(
        [*TALK, Message(content="Where does she live, and what is she allergic to?")], schema
    )
    assert found.keys() == {"city", "allergies"}
    assert found["city"] in {"里斯本", "Lisbon"}
    assert any(word in found["allergies"][0] for word in ("peanut", "花生"))
