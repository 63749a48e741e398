"""The application's functions as a model calls them: their schemas, time limits and answers."""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Self

from pydantic import Field, PydanticUserError, create_model

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.runtime.breaker import NoResultError, TimeLimit, described
from hybrid_memory.text.structured import cut_off, encodable
from hybrid_memory.tools.tool import Answer
from hybrid_memory.validation import CheckedModel, shown
from hybrid_memory_paging.reading import HEARTBEAT, THOUGHTS

MAX_ERROR_CHARS = 1000
SHOWN_END = 60

INTERRUPTED = (
    "Error: this call was interrupted, and it is unknown whether it took effect. Find out before you call it again."
)


@dataclass(frozen=True, slots=True)
class CustomFunction:
    """A function of the application that a model can call.

    Attributes:
        name, description: its own name and docstring.
        arguments: the schema made from its annotations.
        call: the function, blocking or async.
        limit: the time that it may take.
    """

    name: str
    description: str
    arguments: type[CheckedModel]
    call: Callable[..., Any]
    limit: TimeLimit

    @classmethod
    def of(cls, function: Callable[..., Any], timeout: timedelta) -> Self:
        """The function; raises `InvalidInputError` if a model cannot call it."""
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise InvalidInputError(f"an agent's function must be a named function, got {shown(function)}")
        description = " ".join((inspect.getdoc(function) or "").split())
        limit = TimeLimit(f"the function {name}", timeout)
        return cls(name, description, _schema(name, function), function, limit)

    def run(self, given: Mapping[str, Any]) -> Answer:
        """The answer to the model; whatever goes wrong is an answer too."""
        try:
            checked = self.arguments.of(given)
        except InvalidInputError as error:
            return failure(str(error))
        arguments = {field.alias or name: getattr(checked, name) for name, field in type(checked).model_fields.items()}
        try:
            result = self.limit.call(partial(self._called, arguments))
        except NoResultError as error:
            return failure(str(error) if error.__cause__ is None else described(error.__cause__))
        return Answer(_as_text(result))

    def _called(self, arguments: Mapping[str, Any]) -> Any:
        result = self.call(**arguments)
        return asyncio.run(_awaited(result)) if inspect.iscoroutine(result) else result


async def _awaited(result: Any) -> Any:
    return await result


def failure(text: str) -> Answer:
    """The answer that tells the model of an error."""
    text = encodable(text)
    short = text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
    return Answer(f"Error: {short}", failed=True)


def unread(words: str) -> str:
    """Why a call was not executed whose arguments are not an object."""
    if cut_off(words):
        return (
            "your call was cut off before the end of its JSON, or has a quotation mark that is not escaped, and was "
            f"not made: write it again in full, or say less in it. It ends with: {words[-SHOWN_END:]}"
        )
    return f"the arguments are not a JSON object, and the call was not made: {shown(words)}"


def _as_text(result: Any) -> str:
    if result is None:
        return "Done."
    if not isinstance(result, str):
        try:
            result = json.dumps(result, ensure_ascii=False, default=str)
        except Exception:  # noqa: BLE001 - whatever a foreign object does
            result = f"(a {type(result).__name__}, which cannot be written as JSON)"
    return encodable(result)


def _schema(name: str, function: Callable[..., Any]) -> type[CheckedModel]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for row, parameter in enumerate(inspect.signature(function).parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise InvalidInputError(f"{name}: a model passes arguments by name and cannot fill in {parameter}")
            if parameter.name in (HEARTBEAT, THOUGHTS):
                raise InvalidInputError(f"{name}: {parameter.name!r} is reserved in every call")
            default = ... if parameter.default is parameter.empty else parameter.default
            # Under a name of ours, since pydantic keeps some to itself.
            fields[f"argument_{row}"] = (hints.get(parameter.name, Any), Field(default, alias=parameter.name))
        schema = create_model(name, __base__=CheckedModel, **fields)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schema.model_json_schema()
    except (NameError, TypeError, ValueError, PydanticUserError, Warning) as error:
        raise InvalidInputError(f"a model cannot call {name}: {error}") from error
    return schema
