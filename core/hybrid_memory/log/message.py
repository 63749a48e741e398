"""One turn of a conversation, framework-free and lossless."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import AwareDatetime, ConfigDict, Field, field_validator, model_validator

from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.log.origin import Origin, of_tool
from hybrid_memory.scope import check_name
from hybrid_memory.validation import CheckedModel, storable

RESERVED = "hybrid-memory:"
"""Ids that begin with this are the library's own."""


REPLACES = f"{RESERVED}replaces"
"""Where an edited message says whose place it takes; callers cannot."""

STATES = f"{RESERVED}states"
"""Where a message says the claims that it was written to state; callers cannot."""

EARLIER = f"{RESERVED}earlier"
"""Where a piece of a file says whose words it took over when these left the file; they are forgotten together."""

OWN_EXTRA = frozenset((REPLACES, STATES, EARLIER))
"""Fields of ``extra`` that are the library's own."""

PRESSURE = "pressure"
"""The event by which a model is warned that older messages will leave its context."""

STOPPED = "stopped"
"""The event by which a model is told that its last run was ended before it yielded."""

_MAY_BE_NONE = frozenset(("content", "tool_calls", "metadata", "extra"))
"""Fields where frameworks write None when they mean "nothing"."""


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


_ORIGINS = {
    Role.SYSTEM: Origin.OPERATOR,
    Role.USER: Origin.USER,
    Role.ASSISTANT: Origin.ASSISTANT,
    Role.TOOL: Origin.TOOL,
}
"""The highest origin that a role can have."""


class ToolCall(CheckedModel):
    """A function that the assistant asked for; accepts the OpenAI form as well.

    Raises:
        InvalidMessageError: it has no name, an unknown field, or a value that cannot be stored.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidMessageError

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None

    @field_validator("name", "id")
    @classmethod
    def _names_are_storable(cls, value: str | None) -> str | None:
        return None if value is None else storable(value)

    @field_validator("arguments")
    @classmethod
    def _arguments_are_storable(cls, value: Any) -> Any:
        return storable(value)

    @model_validator(mode="before")
    @classmethod
    def _from_openai(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not isinstance(value.get("function"), Mapping):
            return value
        arguments = value["function"].get("arguments", {})
        if isinstance(arguments, str):
            try:
                parsed = json.loads(arguments)
            except ValueError:
                parsed = arguments
            arguments = parsed if isinstance(parsed, dict) else arguments
        return {"id": value.get("id"), "name": value["function"].get("name"), "arguments": arguments}

    def as_openai(self) -> dict[str, Any]:
        """In the OpenAI form, its arguments as a JSON text."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.written_arguments}}

    @property
    def written_arguments(self) -> str:
        """The arguments as the model wrote them, or as JSON."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


class Message(CheckedModel):
    """One turn, framework-free and lossless.

    Attributes:
        role: user, assistant, system or tool.
        content: a string, or content blocks as the frameworks write them (``{"type": "text", "text": ...}``).
        name: the speaker, where it is more than the role.
        tool_calls: what the assistant asked for; tool_call_id: the call that a tool message answers.
        id: the caller's own id; makes the write idempotent. Without one a time-ordered id is given.
        at: when it was said; aware. Without one the clock decides.
        importance: in [0, 1]; without one, the longer a message the more it counts in recall, and in a summary the
            likelier it is asked about later, as the local embedder tells.
        metadata: the caller's own JSON values, filterable in recall.
        extra: what a framework's message holds beyond these fields; unknown keys of a dict land here.
        origin: whose words these are, where it is lower than the role says, such as ``web`` for a page that a user
            pasted; see `spoken_by`.

    Raises:
        InvalidMessageError: nothing was said, or a field cannot be stored; an origin above that of the role.
    """

    invalid_error: ClassVar = InvalidMessageError

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
    origin: Origin | None = None

    @model_validator(mode="before")
    @classmethod
    def _unknown_keys_are_extra(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        fields = cls.model_fields
        known = {k: item for k, item in value.items() if k in fields and (item is not None or k not in _MAY_BE_NONE)}
        if len(known) == len(value):  # as in nearly all messages of a log, and a prompt is made of many
            return known
        unknown = {key: item for key, item in value.items() if key not in fields and item is not None}
        extra = known.get("extra", {})
        # Another extra than a mapping stays as it is, to be refused like any wrong field.
        return {**known, "extra": {**unknown, **extra}} if unknown and isinstance(extra, Mapping) else known

    @field_validator("name", "id", "tool_call_id")
    @classmethod
    def _names_are_storable(cls, value: str | None) -> str | None:
        return None if value is None else check_name("a name or id", value)

    @field_validator("id")
    @classmethod
    def _some_ids_are_ours(cls, value: str | None) -> str | None:
        if value is not None and value.startswith(RESERVED):
            raise ValueError(f"ids that begin with {RESERVED!r} are the library's own: choose another")
        return value

    @field_validator("at")
    @classmethod
    def _instants_are_utc(cls, value: datetime | None) -> datetime | None:
        try:
            return None if value is None else value.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"{value} has no time in UTC: the year must lie in 1 to 9999") from None

    @field_validator("content", "metadata", "extra")
    @classmethod
    def _values_are_storable(cls, value: Any) -> Any:
        return storable(value)

    @model_validator(mode="after")
    def _something_was_said(self) -> Self:
        blank = not self.content.strip() if isinstance(self.content, str) else not self.content
        if blank and not self.tool_calls and self.role is not Role.TOOL:
            raise ValueError("the message is empty: give content or tool_calls")
        if self.origin is not None and self.origin.rank < _ORIGINS[self.role].rank:
            raise ValueError(f"origin {self.origin.value!r} is above what role {self.role.value!r} can say")
        return self

    @property
    def spoken_by(self) -> Origin:
        """Whose words these are: as the message says, else by its role; a tool's result by the name of the tool."""
        if self.origin is not None:
            return self.origin
        return of_tool(self.name) if self.role is Role.TOOL else _ORIGINS[self.role]

    @property
    def text(self) -> str:
        """The words for indexing: text blocks joined by newlines, then each tool call as ``name arguments``."""
        if isinstance(self.content, str):
            parts = [self.content]
        else:
            parts = [block["text"] for block in self.content if isinstance(block.get("text"), str)]
        for call in self.tool_calls:
            parts.append(f"{call.name} {call.written_arguments}")
        return "\n".join(part for part in parts if part)

    @property
    def event(self) -> str:
        """What happened, where a system message tells an event, such as ``login`` or ``pressure``; else empty."""
        kind = self.extra.get("event") if self.role is Role.SYSTEM else None
        return kind if isinstance(kind, str) else ""

    @property
    def made_of(self) -> tuple[str, ...]:
        """Ids of the messages that a note was made of, where it says so in ``extra``; it is forgotten with them."""
        ids = self.extra.get("made_of")
        return tuple(name for name in ids if isinstance(name, str)) if isinstance(ids, list) else ()

    @property
    def replaces(self) -> int | None:
        """Position of the message whose place it takes because it was edited; None for all others."""
        place = self.extra.get(REPLACES)
        return place if isinstance(place, int) and not isinstance(place, bool) and place > 0 else None

    @property
    def opens(self) -> bool:
        """Whether it asks for something to be done: a turn of the user, or an event from outside."""
        return self.role is Role.USER or self.event not in ("", PRESSURE, STOPPED)

    @property
    def speaker(self) -> str:
        """The name, or else the role."""
        return self.name or self.role.value
