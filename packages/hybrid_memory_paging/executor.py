"""The application's functions, and the executor, which checks calls, limits their time and always answers."""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Self, TypeAlias

from pydantic import Field, PydanticUserError, create_model

from hybrid_memory import ScopedMemory, ToolCall
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.runtime.time_limit import NoResultError, TimeLimit, described
from hybrid_memory.steps import Chain
from hybrid_memory.text.structured import cut_off, encodable
from hybrid_memory.tools.tool import Answer, MemoryTool
from hybrid_memory.validation import CheckedModel, shown
from hybrid_memory_paging.reading import HEARTBEAT, THOUGHTS

MAX_ERROR_CHARS = 1000

SHOWN_END = 60

INTERRUPTED = (
    "Error: this call was interrupted, and it is unknown whether it took effect. Find out before you call it again."
)


class Executor:
    """Executes the calls of one agent; errors are answers to the model.

    Args:
        memory: the agent's memory.
        functions: the functions it may call.
        timeout: the time limit for a function of the application.
        max_tokens: the size limit of answers from the memory's functions.
    """

    def __init__(
        self, memory: ScopedMemory, functions: Iterable[Function], *, timeout: timedelta, max_tokens: int
    ) -> None:
        self._memory = memory
        self.functions = {function.name: function for function in functions}
        self._limits = {name: TimeLimit(f"the function {name}", timeout) for name in self.functions}
        self._max_tokens = max_tokens

    def run(
        self,
        call: ToolCall,
        chain: Chain,
        *,
        again: bool = False,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Answer:
        """The answer to the model.

        A function of the memory takes effect once, even if its call is repeated. A function of the application is never
        called a second time.

        Args:
            call: the model's call, with an id.
            chain: the messages up to the answer that contains the call.
            again: whether the call may have been executed before, by a process that ended.
            loop: the event loop for functions that are coroutines; without it, they get their own loop.

        Raises:
            StoreError: the store failed in a function of the memory.
        """
        if isinstance(call.arguments, str):
            return _error(_unread(call.arguments))
        function = self.functions.get(call.name)
        if function is None:
            return _error(f"there is no function {shown(call.name)}; there are: {', '.join(self.functions)}")
        try:
            # Without what is said beside the arguments.
            given = {name: value for name, value in call.arguments.items() if name not in (HEARTBEAT, THOUGHTS)}
            if isinstance(function, CustomFunction):
                checked = function.arguments.of(given)
                return Answer(INTERRUPTED, failed=True) if again else self._custom(function, checked, loop)
        except InvalidInputError as error:
            return _error(str(error))
        return function.run(
            self._memory,
            given,
            max_tokens=self._max_tokens,
            id=call.id or "",
            source="" if chain.answer is None else chain.answer.id,
            because=chain.opened,
            blocks=chain.blocks,
            strict=True,  # the call is made again when the store is back, and then has one effect
        )

    def _custom(self, function: CustomFunction, given: CheckedModel, loop: asyncio.AbstractEventLoop | None) -> Answer:
        arguments = {field.alias or name: getattr(given, name) for name, field in type(given).model_fields.items()}
        made = partial(_awaited, function, arguments, loop) if inspect.iscoroutinefunction(function.call) else None
        try:
            result = self._limits[function.name].call(made or partial(function.call, **arguments))
        except NoResultError as error:
            cause = error.__cause__
            return _error(str(error) if cause is None else described(cause))
        return Answer(written(result))


def _awaited(function: CustomFunction, arguments: dict[str, Any], loop: asyncio.AbstractEventLoop | None) -> Any:
    async def made() -> Any:
        try:
            return await function.call(**arguments)
        except SystemExit as error:  # asyncio would end the caller's loop with it
            raise RuntimeError(repr(error)) from error

    return asyncio.run(made()) if loop is None else asyncio.run_coroutine_threadsafe(made(), loop).result()


def _unread(words: str) -> str:
    """Why a call was not executed: its arguments are not an object."""
    if cut_off(words):
        return (
            "your call was cut off before the end of its JSON, or has a quotation mark that is not escaped, and was "
            f"not made: write it again in full, or say less in it. It ends with: {words[-SHOWN_END:]}"
        )
    return f"the arguments are not a JSON object, and the call was not made: {shown(words)}"


def _error(text: str) -> Answer:
    text = encodable(text)
    short = text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
    return Answer(f"Error: {short}", failed=True)


MAX_CHARS = 10_000_000
"""The longest result; more is cut off before it is stored."""


@dataclass(frozen=True, slots=True)
class CustomFunction:
    """A function of the application that a model can call.

    Attributes:
        name, description: its own name and docstring.
        arguments: the schema made from its annotations.
        call: the function, blocking or async.
    """

    name: str
    description: str
    arguments: type[CheckedModel]
    call: Callable[..., Any]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """The function; raises `InvalidInputError` if a model cannot call it."""
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise InvalidInputError(f"an agent's function must be a named function, got {shown(function)}")
        description = " ".join((inspect.getdoc(function) or "").split())
        return cls(name, description, _arguments(name, function), function)


Function: TypeAlias = MemoryTool | CustomFunction


def written(result: Any) -> str:
    """A result as text: unchanged, as JSON, or as its ``repr``."""
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
                raise InvalidInputError(f"{name}: a model passes arguments by name and cannot fill in {parameter}")
            if parameter.name in (HEARTBEAT, THOUGHTS):
                raise InvalidInputError(f"{name}: {parameter.name!r} is reserved in every call")
            default = ... if parameter.default is parameter.empty else parameter.default
            # Under a name of ours, since pydantic keeps some to itself.
            fields[f"argument_{row}"] = (hints.get(parameter.name, Any), Field(default, alias=parameter.name))
        made = create_model(name, __base__=CheckedModel, **fields)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made.model_json_schema()
    except (NameError, TypeError, ValueError, PydanticUserError, Warning) as error:
        raise InvalidInputError(f"a model cannot call {name}: {error}") from error
    return made
