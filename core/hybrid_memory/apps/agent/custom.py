"""Functions of the application, beside those of the memory."""

from __future__ import annotations

import inspect
import json
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from pydantic import Field, PydanticUserError, create_model

from hybrid_memory.apps.agent.reading import HEARTBEAT, THOUGHTS
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.structured import encodable
from hybrid_memory.tools.tool import MemoryTool
from hybrid_memory.validation import CheckedModel, shown

MAX_CHARS = 10_000_000
"""Of a result; more is cut off before it is stored."""


@dataclass(frozen=True, slots=True)
class CustomFunction:
    """A function of the application, as a model calls it.

    Attributes:
        name, description: its own name and docstring.
        arguments: the schema of its annotations.
        call: the function, blocking or async.
    """

    name: str
    description: str
    arguments: type[CheckedModel]
    call: Callable[..., Any]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """The function; raises `InvalidInputError` where a model could not call it."""
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise InvalidInputError(f"a function of an agent is a function with a name, got {shown(function)}")
        description = " ".join((inspect.getdoc(function) or "").split())
        return cls(name, description, _arguments(name, function), function)


Function: TypeAlias = MemoryTool | CustomFunction


def written(result: Any) -> str:
    """A result as text: as it is, as JSON, or as Python shows it."""
    if result is None:
        return "Done."
    if not isinstance(result, str):
        try:
            result = json.dumps(result, ensure_ascii=False, default=str)
        except Exception:  # noqa: BLE001 - whatever a foreign object does
            result = f"(a {type(result).__name__}, which cannot be written as JSON)"
    text = encodable(result)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n(cut after {MAX_CHARS} characters)"


def _arguments(name: str, function: Callable[..., Any]) -> type[CheckedModel]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for row, parameter in enumerate(inspect.signature(function).parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise InvalidInputError(f"{name}: a model calls by name, so it cannot fill in {parameter}")
            if parameter.name in (HEARTBEAT, THOUGHTS):
                raise InvalidInputError(f"{name}: {parameter.name!r} stands beside the arguments of every call")
            default = ... if parameter.default is parameter.empty else parameter.default
            # Under a name of ours, since pydantic keeps some to itself.
            fields[f"argument_{row}"] = (hints.get(parameter.name, Any), Field(default, alias=parameter.name))
        made = create_model(name, __base__=CheckedModel, **fields)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made.model_json_schema()
    except (NameError, TypeError, ValueError, PydanticUserError, Warning) as error:
        raise InvalidInputError(f"no model can call {name}: {error}") from error
    return made
