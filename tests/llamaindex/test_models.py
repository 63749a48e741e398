"""LlamaIndex's models behind the core's ports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.tools.types import BaseTool
from pydantic import Field

from hybrid_memory import Message, Role
from hybrid_memory.models.language import as_language_model

Scripted = Callable[..., Any]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = [Message(content="我住在里斯本。 Where do I live?")]
LISBON = {"city": "里斯本"}
IN_TEXT = '{"city": "里斯本"}'
BRACED = [
    Message(role=Role.SYSTEM, content='Answer like {"city": "..."}, {{so}}, {message1} or {0}.'),
    Message(content="The code is f'{user!r}' and {city}; \\1 \\g<0> {}"),
]


def call_of(arguments: Any, name: str = "answer", times: int = 1) -> ChatMessage:
    call = ToolCallBlock(tool_call_id="c1", tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[call] * times)


def shown(llm: Any) -> list[list[tuple[str, str]]]:
    return [[(message.role.value, message.content or "") for message in messages] for messages in llm.seen]


@pytest.fixture
def caller(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """A model with a script that calls tools; what it was offered stands in ``offered``, what it refuses raises."""
    kind = type(scripted("x"))
    prepare = kind._prepare_chat_with_tools

    class Caller(kind):  # type: ignore[misc, valid-type]
        offered: list[dict[str, Any]] = Field(default_factory=list)
        refuses: bool = False

        def _prepare_chat_with_tools(self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any) -> dict[str, Any]:
            self.offered += [tool.metadata.to_openai_tool()["function"] for tool in tools]
            if self.refuses:
                raise RuntimeError("400: this model does not support tools")
            return prepare(self, tools, *args, **kwargs)  # type: ignore[no-any-return]

    def make(*replies: str | ChatMessage, **fields: Any) -> Any:
        return Caller(replies=scripted(*replies).replies, **fields)

    return make


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([call_of(LISBON)], 1), (["You live in Lisbon.", f"Sure:\n```json\n{IN_TEXT[:-1]},}}\n```"], 2),
        ([call_of(LISBON, name="Answer"), IN_TEXT], 2), ([call_of({}), IN_TEXT], 2),
        ([call_of(LISBON, times=2), IN_TEXT], 2), (["Lisbon.", "Lisbon!", f"<think>{{}}</think>{IN_TEXT}"], 3),
    ],
    ids=["call", "no call", "another tool", "empty", "twice", "third time"],
)  # fmt: skip
def test_a_structured_answer_is_found_however_it_comes(
    caller: Scripted, answers: list[str | ChatMessage], asked: int
) -> None:
    llm = caller(*answers)
    wrapped = as_language_model(llm)
    assert wrapped.structured(QUESTION, SCHEMA) == LISBON
    assert len(llm.seen) == asked
    (tool,) = llm.offered
    assert (tool["name"], tool["description"]) == ("answer", "The answer.")
    assert tool["parameters"] == SCHEMA
    first, *later = shown(llm)
    assert first == [("user", QUESTION[0].text)]
    assert all("JSON schema" in str(messages) for messages in later)


@pytest.mark.parametrize("answers", [[call_of(LISBON)], ["no call", IN_TEXT]], ids=["tools", "text"])
def test_braces_reach_the_model_as_they_were_written(caller: Scripted, answers: list[str | ChatMessage]) -> None:
    llm = caller(*answers)
    assert as_language_model(llm).structured(BRACED, SCHEMA) == LISBON
    first, *later = shown(llm)
    assert first == [("system", BRACED[0].text), ("user", BRACED[1].text)]
    for system, user in later:
        assert system == ("system", BRACED[0].text)
        assert user[1].startswith(BRACED[1].text)
    assert as_language_model(caller("ok")).complete(BRACED) == "ok"
