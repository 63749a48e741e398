"""One turn of a conversation, framework-free and lossless."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.types.scope import check_name


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


def storable(value: Any) -> Any:
    """The value, if it is JSON in valid UTF-8, which every store and model takes unchanged; else ValueError."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"lone surrogate at character {error.start}: not valid text in any encoding") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"only JSON values can be stored: {error}") from None
    return value


class ToolCall(BaseModel):
    """A function that the assistant asked for; accepts the OpenAI form as well."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None

    @field_validator("name", "id")
    @classmethod
    def _names_are_storable(cls, value: str | None) -> str | None:
        return None if value is None else check_name("a name or id of a tool call", value)

    @field_validator("arguments")
    @classmethod
    def _arguments_are_storable(cls, value: Any) -> Any:
        return storable(value)

    @model_validator(mode="before")
    @classmethod
    def _from_openai(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or "function" not in value:
            return value
        arguments = value["function"].get("arguments", {})
        if isinstance(arguments, str):
            try:
                parsed = json.loads(arguments)
            except ValueError:
                parsed = arguments
            arguments = parsed if isinstance(parsed, dict) else arguments
        return {"id": value.get("id"), "name": value["function"].get("name"), "arguments": arguments}


class Message(BaseModel):
    """One turn, framework-free and lossless.

    Attributes:
        role: user, assistant, system or tool.
        content: a string, or content blocks as the frameworks write them (``{"type": "text", "text": ...}``).
        name: the speaker, where it is more than the role.
        tool_calls: what the assistant asked for; tool_call_id: the call that a tool message answers.
        id: the caller's own id; makes the write idempotent. Without one a time-ordered id is given.
        at: when it was said; aware. Without one the clock decides.
        importance: in [0, 1]; without one, the longer a message the more it counts.
        metadata: the caller's own JSON values, filterable in recall.
        extra: what a framework's message holds beyond these fields; unknown keys of a dict land here.

    Raises:
        InvalidMessageError: nothing was said, or a field cannot be stored.
    """

    model_config = ConfigDict(frozen=True)

    role: Role = Role.USER
    content: str | list[dict[str, Any]] = ""
    name: str | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None
    id: str | None = None
    at: AwareDatetime | None = None
    importance: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    metadata: dict[str, Any] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)

    if not TYPE_CHECKING:  # type checkers keep the field names; callers get our error

        def __init__(self, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise InvalidMessageError(_readable(error)) from error

    @model_validator(mode="before")
    @classmethod
    def _unknown_keys_are_extra(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        unknown = {key: item for key, item in value.items() if key not in cls.model_fields and item is not None}
        known = {key: item for key, item in value.items() if key in cls.model_fields}
        for key in ("content", "tool_calls", "metadata", "extra"):
            if known.get(key, ...) is None:  # frameworks write None where they mean "nothing"
                del known[key]
        return {**known, "extra": {**unknown, **known.get("extra", {})}} if unknown else known

    @field_validator("name", "id", "tool_call_id")
    @classmethod
    def _names_are_storable(cls, value: str | None) -> str | None:
        return None if value is None else check_name("a name or id", value)

    @field_validator("at")
    @classmethod
    def _instants_are_utc(cls, value: datetime | None) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    @field_validator("content", "metadata", "extra")
    @classmethod
    def _values_are_storable(cls, value: Any) -> Any:
        return storable(value)

    @model_validator(mode="after")
    def _something_was_said(self) -> Self:
        blank = not self.content.strip() if isinstance(self.content, str) else not self.content
        if blank and not self.tool_calls and self.role is not Role.TOOL:
            raise ValueError("the message is empty: give content or tool_calls")
        return self

    @property
    def text(self) -> str:
        """The words for indexing: text blocks joined by newlines, then each tool call as ``name arguments``."""
        if isinstance(self.content, str):
            parts = [self.content]
        else:
            parts = [block["text"] for block in self.content if isinstance(block.get("text"), str)]
        for call in self.tool_calls:
            written = isinstance(call.arguments, str)
            parts.append(f"{call.name} {call.arguments if written else json.dumps(call.arguments, ensure_ascii=False)}")
        return "\n".join(part for part in parts if part)

    @property
    def speaker(self) -> str:
        """The name, or else the role."""
        return self.name or self.role.value


def _readable(error: ValidationError) -> str:
    """The problems of a pydantic error in one line, each with its field and value."""
    problems = []
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"][:1]) or "message"
        value = repr(problem["input"])
        shown = value if len(value) <= 80 else value[:77] + "..."  # noqa: PLR2004 - one terminal line
        problems.append(f"{where}: {problem['msg']} (got {shown})")
    return "; ".join(dict.fromkeys(problems))
