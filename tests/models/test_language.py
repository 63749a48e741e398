import json
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from llama_index.core.llms import MockLLM

from hybrid_memory import Message, Role
from hybrid_memory.errors import ModelError
from hybrid_memory.memory import runtime
from hybrid_memory.models.language import as_language_model
from hybrid_memory.runtime.breaker import MAX_HANGING, Breaker
from hybrid_memory.testing import FaultyModel, ScriptedModel
from tests.doubles import PATIENCE, texts, wait_until
from tests.faces import Face, Open
from tests.test_background import Embedder

TALK = [
    Message(role=Role.SYSTEM, content="Be short."),
    Message(content="我住在里斯本。"),
    Message(role=Role.ASSISTANT, content="Noted."),
    Message(role=Role.TOOL, content="17 °C", tool_call_id="c1"),
    Message(content=[{"type": "text", "text": "Where do I live?"}]),
]
PLAIN = [
    "system: Be short.", "user: 我住在里斯本。", "assistant: Noted.", "user: 17 °C", "user: Where do I live?",
    "assistant:",
]  # fmt: skip
QUESTION = [Message(content="Where do I live?")]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "城市"}}}
SHORT = timedelta(milliseconds=100)


class RecordingChatModel(FakeListChatModel):
    """Keeps what it is asked."""

    seen: list[list[BaseMessage]] = []  # noqa: RUF012 - a pydantic field

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


def test_a_langchain_chat_model_gets_the_messages_with_their_roles() -> None:
    chat_model = RecordingChatModel(responses=[" Lisbon. \n"])
    assert as_language_model(chat_model).complete(TALK) == "Lisbon."
    assert [(message.type, message.content) for message in chat_model.seen[0]] == [
        ("system", "Be short."), ("human", "我住在里斯本。"), ("ai", "Noted."), ("human", "17 °C"),
        ("human", "Where do I live?"),
    ]  # fmt: skip


def test_a_llamaindex_llm_answers() -> None:
    answer = as_language_model(MockLLM()).complete(TALK)  # it repeats its prompt
    assert [line for line in answer.splitlines() if line] == PLAIN


def test_a_callable_gets_a_prompt_or_messages_as_it_declares() -> None:
    def takes_messages(messages: Any) -> str:
        return json.dumps(messages)

    def takes_list(conversation: list[dict[str, str]]) -> str:
        return json.dumps(conversation)

    def takes_prompt(prompt: str) -> str:
        return prompt

    chat = [{"role": "user", "content": "Where do I live?"}]
    for one in (takes_messages, takes_list):
        assert json.loads(as_language_model(one).complete(QUESTION)) == chat
    anything: list[Callable[[Any], Any]] = [takes_prompt, lambda words: words, str]
    for other in anything[:2]:
        assert as_language_model(other).complete(QUESTION) == "Where do I live?"
        assert as_language_model(other).complete(TALK).splitlines()[::2] == PLAIN


@pytest.mark.parametrize(
    "answer",
    [
        "Lisbon.", {"content": "Lisbon."}, {"role": "assistant", "content": [{"type": "text", "text": "Lisbon."}]},
        SimpleNamespace(text="Lisbon."), SimpleNamespace(message=SimpleNamespace(content="Lisbon.")),
        "<think>\nA city?\n</think>\nLisbon.",
    ],
)  # fmt: skip
def test_the_text_is_found_in_what_clients_return(answer: Any) -> None:
    assert as_language_model(lambda prompt: answer).complete(QUESTION) == "Lisbon."


@pytest.mark.parametrize(
    "answer", [None, 7, b"Lisbon.", [], [{"type": "image"}], {}, object(), SimpleNamespace(text=3)]
)
def test_what_is_no_text_is_a_model_error(answer: Any) -> None:
    with pytest.raises(ModelError, match="not text"):
        as_language_model(lambda prompt: answer).complete(QUESTION)


@pytest.mark.parametrize("error", [ConnectionError("offline"), SystemExit(3), TimeoutError("slow"), RuntimeError("no")])
def test_whatever_a_model_raises_is_a_model_error(error: BaseException) -> None:
    def fails(prompt: str) -> str:
        raise error

    with pytest.raises(ModelError, match=r"fails' failed") as caught:
        as_language_model(fails).complete(QUESTION)
    assert caught.value.__cause__ is error


def test_a_structured_answer_is_asked_for_with_the_schema() -> None:
    model = ScriptedModel(['Sure:\n```json\n{"city": "里斯本",}\n```'])
    assert as_language_model(model).structured(TALK, SCHEMA) == {"city": "里斯本"}
    (prompt,) = model.prompts
    assert [message["role"] for message in prompt] == ["system", "user", "assistant", "user", "user"]
    assert prompt[-1]["content"].startswith("Where do I live?\n\n")
    assert json.dumps(SCHEMA, ensure_ascii=False) in prompt[-1]["content"]


def test_a_structured_answer_is_asked_for_once_more_with_the_problem() -> None:
    model = ScriptedModel(["You live in Lisbon.", {"city": "Lisbon"}])
    assert as_language_model(model).structured(TALK[:3], SCHEMA) == {"city": "Lisbon"}
    first, second = model.prompts
    assert second[: len(first)] == first
    assert [message["role"] for message in first] == ["system", "user", "assistant", "user"]
    assert [message["role"] for message in second[len(first) :]] == ["assistant", "user"]
    assert second[-2]["content"] == "You live in Lisbon."
    assert "no JSON object" in second[-1]["content"]


class Port:
    """A `LanguageModel` of somebody else."""

    name = "theirs"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.seen: list[Any] = []

    def complete(self, messages: Sequence[Message]) -> str:
        self.seen.append(messages)
        return self.answer  # type: ignore[no-any-return]

    def structured(self, messages: Sequence[Message], schema: Any) -> dict[str, Any]:
        self.seen.append((messages, schema))
        return self.answer  # type: ignore[no-any-return]


def test_a_language_model_is_passed_through_and_checked() -> None:
    model = Port({"city": "Lisbon"})
    wrapped = as_language_model(model)
    assert wrapped.structured(TALK, SCHEMA) == {"city": "Lisbon"}
    assert model.seen == [(TALK, SCHEMA)]
    with pytest.raises(ModelError, match="answered nothing"):
        as_language_model(Port("")).complete(TALK)
    with pytest.raises(ModelError, match="answered list, not an object"):
        as_language_model(Port([1])).structured(TALK, SCHEMA)
    assert as_language_model(wrapped) is wrapped


def test_hanging_calls_are_left_and_bounded_until_one_comes_back(request: pytest.FixtureRequest) -> None:
    hanging = FaultyModel("hangs")
    request.addfinalizer(hanging.release)
    model = as_language_model(hanging, timeout=SHORT)
    before = threading.active_count()
    with pytest.raises(ModelError, match=r"'faulty' took longer than 0\.1 s"):
        model.complete(QUESTION)
    for _ in range(20):
        with pytest.raises(ModelError, match=r"longer than|hangs"):
            model.complete(QUESTION)
    assert 1 <= hanging.calls <= MAX_HANGING
    assert threading.active_count() <= before + MAX_HANGING
    hanging.release()

    def answers() -> bool:
        with suppress(ModelError):
            return model.complete(QUESTION) == "too late"
        return False

    wait_until(answers)
    wait_until(lambda: threading.active_count() <= before + 1)


AT_ONCE = {"model_timeout": timedelta(milliseconds=50)}


@pytest.mark.background
def test_close_leaves_behind_what_hangs(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runtime, "CLOSING", timedelta(milliseconds=50))
    embedder = Embedder()
    embedder.gate.clear()
    # Not one of the library's own: those ask nobody.
    far = type("Far", (), {"embed_documents": embedder.embed_documents, "embed_query": embedder.embed_query})()
    memory = opened(embedder=far, learning={"delay": timedelta(0)})
    memory.scoped(user="alice").remember("my cat sleeps")
    assert embedder.entered.wait(PATIENCE)
    with caplog.at_level(logging.WARNING):
        memory.close()
    assert "while some work hangs" in caplog.text
    embedder.gate.set()
    again = opened(embedder=far).scoped(user="alice")
    assert texts(again.recall("cat")) == ["my cat sleeps"]
    assert again.recall("cat")[0].note == ""


def test_a_prompt_goes_by_rules_while_the_language_model_hangs(
    face: Face, opened: Open, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("hybrid_memory.models.language.Breaker", partial(Breaker, pause=3600.0))  # no probe in time
    model = FaultyModel("hangs")
    request.addfinalizer(model.release)
    memory = opened(compaction={"max_tokens": 300}, orchestration=AT_ONCE | {"background": False})
    memory.set_language_model(model)
    alice = face(memory.scoped(user="alice", session="s1"))
    for number in range(20):
        alice.remember([f"town {number} is very nice", {"role": "assistant", "content": "tell me more about it"}])
    assert alice.assemble("which town?").messages
    assert model.calls == 1
    assert alice.summary().text
    alice.remember([f"river {number} is very long" for number in range(20)])
    assert alice.assemble("which river?").messages
    assert model.calls == 1, "a model that hangs is not asked for the next prompt as well"
