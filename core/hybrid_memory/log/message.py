"""One message of a conversation, independent of any framework and lossless, and the origin of its words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import AwareDatetime, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.scope import check_name
from hybrid_memory.validation import CheckedModel, stated_time, storable


class Origin(StrEnum):
    """The origin of words, from the highest authority to the lowest.

    Words of the operator are instructions and belong in the system message. Words of the user are requests, or
    instructions about their own memory. Everything else is material: other people, the assistant itself, tool results,
    web pages (with mails and anything else that strangers write), and imported data.
    """

    OPERATOR = "operator"
    USER = "user"
    PERSON = "person"
    ASSISTANT = "assistant"
    TOOL = "tool"
    WEB = "web"
    IMPORTED = "imported"

    @property
    def rank(self) -> int:
        """0 for the operator; grows as authority falls."""
        return _RANKS[self]


_RANKS = {origin: rank for rank, origin in enumerate(Origin)}

INSTRUCTING = frozenset((Origin.OPERATOR, Origin.USER))  # origins whose words may be instructions
MARKED = frozenset((Origin.TOOL, Origin.WEB, Origin.IMPORTED))  # origins that are named wherever their words are shown

_OUTSIDE = re.compile(
    r"(?<![a-z])(?:web|https?|urls?|brows\w*|internet|crawl\w*|scrap\w*|wiki\w*|google|bing|tavily|serp\w*|rss|news|"
    r"e?mails?|gmail|inbox|imap)(?![a-z])|fetch_?(?:page|url|html|site)|(?:page|site)_?fetch|^(?:fetch|search|download)$",
    re.IGNORECASE,
)


def lowest(origins: Iterable[Origin]) -> Origin:
    """The lowest of these origins, for what is made of several; `Origin.IMPORTED` if there are none."""
    return max(origins, key=lambda origin: origin.rank, default=Origin.IMPORTED)


def of_tool(name: str | None) -> Origin:
    """The origin of a tool's result, by the tool's name: `Origin.WEB` if it returns what strangers wrote."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").replace("_", " ").replace("-", " ")
    return Origin.WEB if _OUTSIDE.search(words) or _OUTSIDE.search(name or "") else Origin.TOOL


def spoken(speaker: str, origin: Origin) -> str:
    """The speaker, with the origin if it is unexpected: ``fetch_page (web)``."""
    if origin == speaker or origin in INSTRUCTING or (origin is Origin.ASSISTANT and speaker != Role.USER):
        return speaker  # a note of the model in the user's role is no word of the user
    return f"{speaker} ({origin})".strip()


RESERVED = "hybrid-memory:"  # ids with this prefix are reserved for the library


REPLACES = f"{RESERVED}replaces"
"""The field in which an edited message names the one it replaces; callers cannot set it."""

EARLIER = f"{RESERVED}earlier"
"""The field in which a piece of a file names removed pieces whose words it reuses; they are forgotten together."""

OWN_EXTRA = frozenset((REPLACES, EARLIER))  # fields of ``extra`` that are reserved for the library
PRESSURE = "pressure"  # the event that warns a model that older messages will leave its context
STOPPED = "stopped"  # the event that tells a model that its last run was stopped before it yielded

_MAY_BE_NONE = frozenset(("content", "tool_calls", "metadata", "extra"))
"""Fields for which frameworks write None to mean "nothing"."""


class Role(StrEnum):
    """The role of a message's speaker."""

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
    """A function call by the assistant; also accepts OpenAI's format.

    Raises:
        InvalidMessageError: it has no name, an unknown field, or a value that cannot be stored.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidMessageError

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None

    @field_validator("name", "arguments", "id")
    @classmethod
    def _parts_are_storable(cls, value: Any) -> Any:
        return None if value is None else storable(value)

    @model_validator(mode="before")
    @classmethod
    def _from_openai(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not isinstance(value.get("function"), Mapping):
            return value
        arguments = value["function"].get("arguments", {})
        if isinstance(arguments, str):
            with suppress(ValueError):
                parsed = json.loads(arguments)
                arguments = parsed if isinstance(parsed, dict) else arguments
        return {"id": value.get("id"), "name": value["function"].get("name"), "arguments": arguments}

    def as_openai(self) -> dict[str, Any]:
        """The call in OpenAI's format, with its arguments as JSON text."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.written_arguments}}

    @property
    def written_arguments(self) -> str:
        """The arguments as the model wrote them, or as JSON."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


class Message(CheckedModel):
    """One message of a conversation, independent of any framework and lossless.

    Attributes:
        role: user, assistant, system or tool.
        content: a string, or content blocks as the frameworks write them (``{"type": "text", "text": ...}``).
        name: the speaker's name, if there is one.
        tool_calls: the assistant's function calls; tool_call_id: the call that a tool message answers.
        id: your own id, which makes the write idempotent; by default a time-ordered UUID.
        at: when it was said, timezone-aware; by default what a dict has under ``timestamp``, ``created_at``,
            ``createdAt``, ``create_time``, ``date`` or ``time``, or else now.
        importance: in [0, 1]; by default estimated: for recall from the length, for summaries from how likely the
            message is to be asked about.
        metadata: your own JSON values; `recall` can filter by them.
        extra: further fields of a framework's message; unknown keys of a dict end up here.
        origin: whose words these are, if less trusted than the role, such as ``web`` for a page that a user pasted; see
            `spoken_by`.

    Raises:
        InvalidMessageError: the message is empty, a field cannot be stored, or the origin is above the role's.
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
        if known.get("at") is None and (at := stated_time(unknown)) is not None:
            known["at"] = at
        extra = known.get("extra", {})
        # Another extra than a mapping stays as it is, to be refused like any wrong field.
        return {**known, "extra": {**unknown, **extra}} if unknown and isinstance(extra, Mapping) else known

    @field_validator("name", "id", "tool_call_id")
    @classmethod
    def _names_are_storable(cls, value: str | None, field: ValidationInfo) -> str | None:
        if value is not None and field.field_name == "id" and value.startswith(RESERVED):
            raise ValueError(f"ids that start with {RESERVED!r} are reserved: choose another")
        return None if value is None else check_name("a name or id", value)

    @field_validator("at")
    @classmethod
    def _instants_are_utc(cls, value: datetime | None) -> datetime | None:
        try:
            return None if value is None else value.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"{value} has no time in UTC: the year must lie in 1 to 9999") from None

    _values_are_storable = field_validator("content", "metadata", "extra")(storable)

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
        """Whose words these are: the stated origin, or the one implied by the role and, for a tool, by its name."""
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
        return "\n".join(filter(None, parts))

    @property
    def event(self) -> str:
        """The name of the event that a system message reports, such as ``login`` or ``pressure``; otherwise empty."""
        kind = self.extra.get("event") if self.role is Role.SYSTEM else None
        return kind if isinstance(kind, str) else ""

    @property
    def made_of(self) -> tuple[str, ...]:
        """Ids of the messages that a note was made from, if ``extra`` states them; the note is forgotten with them."""
        ids = self.extra.get("made_of")
        return tuple(name for name in ids if isinstance(name, str)) if isinstance(ids, list) else ()

    @property
    def replaces(self) -> int | None:
        """Position of the message that this edited one replaces; None for all others."""
        place = self.extra.get(REPLACES)
        return place if isinstance(place, int) and not isinstance(place, bool) and place > 0 else None

    @property
    def opens(self) -> bool:
        """Whether it starts a new exchange: a turn of the user, or an event from outside."""
        return self.role is Role.USER or self.event not in ("", PRESSURE, STOPPED)

    @property
    def speaker(self) -> str:
        """The name, or the role if there is no name."""
        return self.name or self.role.value
