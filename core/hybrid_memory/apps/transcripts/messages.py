"""Messages of OpenAI, Anthropic and LangChain, and the parts that all forms share: content, calls, results, times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.analysis import RESERVED
from hybrid_memory.apps.transcripts.documents import MAX_LOOKED_AT, PLAIN_FILES, Conversation, Reader, Record
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.scope import check_name
from hybrid_memory.validation import moment, shown, stated_time

UNNAMED = "unnamed"  # the tool name of a call without one

_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning"})
_CALLS = frozenset({"tool_use", "tool_call", "function_call"})
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


def messages_of(
    role: Role,
    content: Any,
    *,
    calls: Iterable[Any] = (),
    answers: Any = None,
    name: Any = None,
    id_: Any = None,
    at: Any = None,
) -> list[Message]:
    """The messages made from a message of another form; empty if it has no content.

    Tool results among its content blocks become separate tool messages before the rest. Calls among them count if
    ``calls`` has none. Thinking is skipped. The content of a tool's message may be any JSON value, calls may have any
    framework's form, and the id is that of the first message.

    Raises:
        InvalidMessageError: part of it cannot be stored in a message.
    """
    blocks = items(content)
    results = [block for block in blocks if _kind(block) == "tool_result"]
    uses = [block for block in blocks if _kind(block) in _CALLS]
    if results or uses:
        content = [block for block in blocks if _kind(block) not in {"tool_result", *_CALLS}]
    asked = [call_of(call) for call in (list(calls) or uses)]
    own, when = content_of(content), moment(at)
    found = [
        Message(
            role=Role.TOOL,
            content=content_of(result.get("content")),
            tool_call_id=name_of(result.get("tool_use_id")),
            at=when,
        )
        for result in results
    ]
    if asked or role is Role.TOOL or (own.strip() if isinstance(own, str) else own):
        answered = name_of(answers) if role is Role.TOOL else None
        fields: dict[str, Any] = {"name": name_of(name), "tool_calls": asked, "tool_call_id": answered, "at": when}
        found.append(Message(role=role, content=own, **fields))
    own_id = name_of(id_)
    if found and own_id is not None and not own_id.startswith(RESERVED):
        found[0] = found[0].model_copy(update={"id": own_id})
    return found


def content_of(value: Any) -> str | list[dict[str, Any]]:
    """Text alone as a string, with one line per block; otherwise content blocks; anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    parts = [value] if _kind(value) else value
    if not isinstance(parts, list) or not all(
        isinstance(part, str) or _kind(part) or isinstance(mapping(part).get("text"), str) for part in parts
    ):
        return json.dumps(value, ensure_ascii=False)
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if (kind := _kind(part) or "text") in _THINKING:
            continue
        text = part if isinstance(part, str) else part.get(_TEXTS.get(kind, ""))
        if kind == "text" and not isinstance(text, str):  # one that holds no words
            text = "" if text is None else json.dumps(text, ensure_ascii=False)
        if isinstance(text, str):
            blocks.append({"type": "text", "text": text})
        else:
            blocks.append({"type": kind, **{key: field for key, field in part.items() if key != "type"}})
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def call_of(value: Any) -> ToolCall:
    """The call, from the form of OpenAI, Anthropic or LangChain; anything else is an `InvalidMessageError`."""
    if not isinstance(value, Mapping):
        raise InvalidMessageError(f"a tool call must be an object, got {shown(value)}")
    inner = value.get("function", value.get("custom"))
    body = inner if isinstance(inner, Mapping) else value
    keys = ("arguments", "args", "input")
    given: Any = next((body[key] for key in keys if body.get(key) is not None), {})
    arguments = given if isinstance(given, dict | str) else json.dumps(given, ensure_ascii=False)
    id_ = next((value[key] for key in ("call_id", "id", "tool_call_id") if value.get(key)), None)
    function = {"name": name_of(body.get("name")) or UNNAMED, "arguments": arguments}
    return ToolCall.of({"id": name_of(id_), "function": function})


def dated(messages: Sequence[Message], at: datetime | None) -> list[Message]:
    """The messages; one without a time has that of the message before it, or else ``at``, or that of the next one."""
    last = at or next((message.at for message in messages if message.at), None)
    results: list[Message] = []
    for message in messages:
        last = message.at or last
        results.append(message if message.at == last else message.model_copy(update={"at": last}))
    return results


def name_of(value: Any) -> str | None:
    """A name or id that a message can have, or None."""
    try:
        return check_name("a name", str(value) if isinstance(value, int) else value)
    except ValueError:
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def _kind(block: Any) -> str:
    kind = (block.get("type") or block.get("block_type")) if isinstance(block, Mapping) else None
    return kind if isinstance(kind, str) else ""


ROLES = {role.value: role for role in Role} | {"developer": Role.SYSTEM, "function": Role.TOOL}
_SAYING = ("content", "tool_calls", "function_call", "refusal")
_OTHERS = ("blocks", "additional_kwargs", "uuid", "lc")  # fields that identify messages of other forms


def _listed(value: Any) -> list[Any] | None:
    """The items of a list, or of the ``messages`` of an object; None for anything else."""
    listed = value.get("messages") if isinstance(value, Mapping) else value
    return listed if isinstance(listed, list) else None


class OpenAi(Reader):
    """Lists of messages as OpenAI's interface takes them, or one of these messages a line."""

    program, files = "OpenAI chat", PLAIN_FILES

    def fits(self, value: Any) -> bool:
        """Whether a value is a message, or a conversation with one near its beginning."""
        listed = _listed(value)
        return self.is_turn(value) if listed is None else any(map(self.is_turn, listed[:MAX_LOOKED_AT]))

    def read(self, records: Iterable[Record]) -> Iterator[Conversation]:
        """A conversation for each list; messages on separate lines form one conversation."""
        single: list[Message] = []
        lists = False
        for record in records:
            listed = _listed(record.value)
            lists = lists or (listed is not None and not single)
            if lists == (listed is None):
                record.refuse("a file holds one message a line or one conversation a line, not both")
            elif listed is None:
                single += self.messages_in(record)
            else:
                turns = (record.part(item, f"message {number}") for number, item in enumerate(listed, 1))
                yield Conversation(
                    [said for turn in turns for said in self.messages_in(turn)],
                    name_of(mapping(record.value).get("session")) or "",
                    stated_time(mapping(record.value)),
                )
        if not lists:
            yield Conversation(single)

    def is_turn(self, value: Any) -> bool:
        """Whether it has a role and content, or explicitly empty content."""
        return (
            isinstance(value, Mapping)
            and isinstance(value.get("role"), str)
            and value["role"] in ROLES
            and any(key in value for key in _SAYING)
            and not any(key in value for key in _OTHERS)
        )

    def messages(self, turn: Mapping[str, Any]) -> list[Message]:
        """The messages behind one of this form."""
        legacy = turn.get("function_call")
        calls = items(turn.get("tool_calls")) or ([{"function": legacy}] if legacy else [])
        return messages_of(
            ROLES[turn["role"]],
            turn.get("content") or turn.get("refusal"),
            calls=calls,
            answers=turn.get("tool_call_id"),
            name=turn.get("name"),
            id_=turn.get("id"),
            at=stated_time(turn),
        )


_SPEAKERS = {"assistant": Role.ASSISTANT, "ai": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_LANGCHAIN_ROLES = {"ai": Role.ASSISTANT, "system": Role.SYSTEM, **dict.fromkeys(("tool", "function"), Role.TOOL)}
_LANGCHAIN_ROLES |= dict.fromkeys(("human", "chat", "remove"), Role.USER)


class LangChain(OpenAi):
    """The same of LangChain's messages, in one of their three shapes."""

    program = "LangChain"

    def is_turn(self, value: Any) -> bool:
        """Whether it is one of its messages."""
        return _langchain_fields(value) is not None

    def messages(self, turn: Mapping[str, Any]) -> list[Message]:
        """The messages of one of them; of one that removes another, none."""
        kind, fields = _langchain_fields(turn) or ("remove", {})
        if kind == "remove":
            return []
        extra, metadata = mapping(fields.get("additional_kwargs")), mapping(fields.get("response_metadata"))
        legacy = extra.get("function_call")
        calls = items(fields.get("tool_calls")) + items(fields.get("invalid_tool_calls"))
        calls = calls or items(extra.get("tool_calls")) or ([{"function": legacy}] if legacy else [])
        speaker = str(fields.get("role", "")).lower() if kind == "chat" else ""
        return messages_of(
            _SPEAKERS.get(speaker, _LANGCHAIN_ROLES[kind]),
            fields.get("content"),
            calls=calls,
            answers=fields.get("tool_call_id"),
            name=fields.get("name") or (speaker if speaker not in {"user", "human", *_SPEAKERS} else None),
            id_=fields.get("id"),
            at=stated_time(fields) or stated_time(extra) or stated_time(metadata),
        )


def _langchain_fields(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """The type and the fields of a message; None if it is not a message."""
    if not isinstance(value, Mapping):
        return None
    fields = value
    if isinstance(value.get("data"), Mapping):
        fields = {"type": value.get("type"), **value["data"]}
    elif "lc" in value and isinstance(value.get("kwargs"), Mapping):
        path = items(value.get("id"))
        fields = {"type": path[-1] if path else None, **value["kwargs"]}
    kind = fields.get("type")
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else ""
    return (kind, fields) if kind in _LANGCHAIN_ROLES and "content" in fields and "uuid" not in fields else None
