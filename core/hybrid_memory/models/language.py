"""Language models: a wrapper that makes a `LanguageModel` with a time limit, and one that counts calls."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.log.message import Message, Role
from hybrid_memory.models.embedders import name_of
from hybrid_memory.models.port import LanguageModel
from hybrid_memory.runtime.breaker import Breaker, TimeLimit
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import PATIENT
from hybrid_memory.text.structured import parse_object, without_thoughts
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.validation import shown

_UNSEEN = {"tags": ["nostream"]}  # LangChain's call settings that keep tokens out of LangGraph's message stream

Chat = list[dict[str, str]]
"""Messages in the form that the frameworks take: ``role`` is system, user or assistant, ``content`` is text."""


def as_language_model(
    model: Any, *, timeout: timedelta = timedelta(seconds=30), hurried: timedelta | None = None
) -> LanguageModel:
    """A `LanguageModel` that answers with text within a time limit, or raises `ModelError`.

    Accepts a LangChain chat model or LLM, a LlamaIndex ``LLM``, a `LanguageModel`, and any callable that returns text.
    A callable whose parameter is called ``messages``, or has an annotation other than ``str``, gets a list of
    ``{"role": ..., "content": ...}``, any other the conversation as one text. Tool results are sent as user messages.

    Calls of a LangChain model have the tag ``nostream``, so that they do not appear in the message stream of a
    LangGraph run. The run's callbacks are kept, so that its trace and token count include these calls.

    The limit is for each call of the model, of which `LanguageModel.structured` may make two; ``hurried`` is that
    while a user waits for a prompt, if shorter.
    """
    if timeout <= timedelta(0):
        raise InvalidInputError(f"timeout must be positive, got {timeout}")
    if isinstance(model, WrappedLanguageModel):
        return model
    return WrappedLanguageModel(model, timeout, timeout if hurried is None else min(hurried, timeout))


class WrappedLanguageModel:
    """See `as_language_model`."""

    def __init__(self, model: Any, timeout: timedelta, hurried: timedelta) -> None:
        self.name = name_of(model)
        self._ask = _asker(model)
        self._structured = model.structured if _has(model, "complete", "structured") else None
        self._limit = TimeLimit(
            f"language model {self.name!r}", hurried, patience=timeout, breaker=Breaker(), usual=PATIENT
        )

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer, stripped, without the model's reasoning."""
        given = _chat(messages) if self._structured is None else list(messages)
        return self._text(self._limit.answer(self._ask, given))

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object in the answer to a prompt with the schema; tries once more if there is none."""
        if self._structured is not None:
            value = self._limit.answer(self._structured, list(messages), schema)
            if not isinstance(value, dict):
                raise ModelError(f"language model {self.name!r} answered {type(value).__name__}, not an object")
            return value
        chat = _chat(messages)
        task = (
            "Answer with one JSON object that follows this JSON schema, and with nothing else:\n"
            f"{json.dumps(schema, ensure_ascii=False)}"
        )
        if chat and chat[-1]["role"] == "user":  # some models refuse two messages of one role in a row
            task = f"{chat.pop()['content']}\n\n{task}"
        chat = [*chat, {"role": "user", "content": task}]
        for _ in range(2):
            answer = self._text(self._limit.answer(self._ask, chat))
            if (value := parse_object(answer)) is not None:
                return value
            problem = "There is no JSON object in this answer. Answer again with the JSON object alone."
            chat = [*chat, {"role": "assistant", "content": answer}, {"role": "user", "content": problem}]
        raise ModelError(f"language model {self.name!r} did not answer with a JSON object: {answer[:200]!r}")

    def _text(self, answer: Any) -> str:
        text = _text_of(answer)
        if text is None:
            raise ModelError(f"language model {self.name!r} answered {type(answer).__name__}, not text")
        if not (stripped := without_thoughts(text)):
            raise ModelError(f"language model {self.name!r} answered nothing")
        return stripped


def _asker(model: Any) -> Callable[[Any], Any]:
    if isinstance(model, type):
        raise InvalidInputError(f"{shown(model)} is a class: give an instance")
    if _has(model, "complete", "structured"):
        return model.complete  # type: ignore[no-any-return]
    if _has(model, "invoke"):  # LangChain
        settings = (_UNSEEN,) if _is_of("langchain_core", model) else ()
        return lambda chat: model.invoke([(message["role"], message["content"]) for message in chat], *settings)
    if _is_of("llama_index", model) and _has(model, "chat"):
        # Their chat takes objects of their own; where the model is, so is this module.
        chat_message = importlib.import_module("llama_index.core.llms").ChatMessage
        return lambda chat: model.chat([chat_message(**message) for message in chat])
    if callable(model):
        with suppress(StopIteration, TypeError, ValueError):  # not all callables tell their parameters
            first = next(iter(inspect.signature(model).parameters.values()))
            if first.name == "messages" or first.annotation not in (first.empty, str, "str", Any, "Any"):
                return model  # type: ignore[no-any-return]

        def answer(chat: Chat) -> Any:
            # The text alone if there is only one role, otherwise each text after its role.
            if all(message["role"] != "assistant" for message in chat):
                return model("\n\n".join(message["content"] for message in chat))
            return model("\n\n".join([*(f"{one['role']}: {one['content']}" for one in chat), "assistant:"]))

        return answer
    raise InvalidInputError(
        f"{shown(model)} is not a language model: give a LangChain chat model, a LlamaIndex LLM, a LanguageModel, "
        "or a callable from a prompt, or from messages, to text"
    )


def _is_of(package: str, model: Any) -> bool:
    return any(base.__module__.partition(".")[0] == package for base in type(model).__mro__)


def _has(model: Any, *methods: str) -> bool:
    return all(callable(getattr(model, method, None)) for method in methods)


def _chat(messages: Sequence[Message]) -> Chat:
    return [
        {"role": (Role.USER if message.role is Role.TOOL else message.role).value, "content": message.text}
        for message in messages
    ]


def _text_of(answer: Any) -> str | None:
    """The text of a string, a message, a list of content blocks, or a response that contains one of these."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        parts = [block.get("text") if isinstance(block, Mapping) else block for block in answer]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    for field in ("message", "content", "text"):
        inner = answer.get(field) if isinstance(answer, Mapping) else getattr(answer, field, None)
        if inner is not None and not callable(inner):
            return _text_of(inner)
    return None


class MeasuredModel:
    """A language model whose calls and tokens are counted, and timed as ``reasoning``."""

    def __init__(self, model: LanguageModel, statistics: Statistics, count: TokenCounter) -> None:
        self.name = model.name
        self._model = model
        self._statistics = statistics
        self._count = count

    def complete(self, messages: Sequence[Message]) -> str:
        with self._statistics.timed("reasoning"):
            answer = self._model.complete(messages)
        self._counted(messages, answer)
        return answer

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        with self._statistics.timed("reasoning"):
            answer = self._model.structured(messages, schema)
        self._counted(messages, json.dumps(schema, ensure_ascii=False), json.dumps(answer, ensure_ascii=False))
        return answer

    def _counted(self, messages: Sequence[Message], *others: str) -> None:
        self._statistics.model_call(sum(map(self._count, (*(message.text for message in messages), *others))))
