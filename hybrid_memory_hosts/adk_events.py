"""Convert between `Message` and the events of Google's ADK.

An event becomes one message, plus one for each tool result in it. It comes back as ADK itself restores it from JSON.
Words, arguments and results are stored where every host reads them, so that they can be recalled, learned from and
redacted; the rest is kept in ``extra["google_adk"]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event

from hybrid_memory import Message, Role
from hybrid_memory.adapters import REST, as_shown, encodable_json, media_block, storable_name

MARK = "google_adk"
"""Our key in ``Message.extra`` and in content blocks."""

TEMPORARY = "temp:"
"""The prefix of state that is not kept."""


def from_event(event: Event) -> list[Message]:
    """The event in the form that the core stores, without temporary state; writing it twice changes nothing.

    Raises:
        InvalidMessageError: it contains something that cannot be stored.
    """
    head = encodable_json(event.model_dump(mode="json", exclude_none=True))
    delta = head["actions"].get("state_delta", {})
    head["actions"]["state_delta"] = {key: value for key, value in delta.items() if not key.startswith(TEMPORARY)}
    parts = (head.get("content") or {}).pop("parts", None)
    content, calls, results, rests = _parted(parts or [])
    mark = {"event": head, "parts": None if parts is None else rests}
    said = {"id": event.id, "at": datetime.fromtimestamp(event.timestamp, UTC)}
    if not content and not calls and results:
        results[0] |= {"extra": {MARK: {**results[0]["extra"][MARK], **mark}}}
        made = results
    else:
        speaks = Role.SYSTEM if not content and not calls else Role.USER if event.author == "user" else Role.ASSISTANT
        words = content or ([] if calls else [{MARK: None}])
        made = [{"role": speaks, "content": words, "tool_calls": calls, "extra": {MARK: mark}}, *results]
    return [
        Message(**{**said, **one, "id": event.id if row == 0 else f"{event.id}:{row}"}) for row, one in enumerate(made)
    ]


def _parted(parts: list[dict[str, Any]]) -> tuple[list[Any], list[Any], list[dict[str, Any]], list[Any]]:
    """The blocks, the calls, the tool results, and the rest of each part."""
    content: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    rests: list[dict[str, Any] | None] = []
    for part in parts:
        rest = dict(part)
        if "text" in part:
            kind = "reasoning" if part.get("thought") else "text"
            content.append({"type": kind, kind: rest.pop("text")})
        elif call := part.get("function_call"):
            named = {"name": call.get("name") or "", "id": storable_name(call.get("id"))}
            calls.append({"arguments": call.get("args") or {}, **named})
            rest["function_call"] = {key: value for key, value in call.items() if key != "args" or not value}
        elif answer := part.get("function_response"):
            results.append(_result(answer))
            rest["function_response"] = {key: value for key, value in answer.items() if key != "response"}
        else:
            key = next((key for key in ("inline_data", "file_data") if part.get(key)), "")
            named = {**rest, key: None}
            content.append(media_block(part[key], named) if key else {MARK: part})
            rest = {}
        rests.append(rest or None)
    return content, calls, results, rests


def _result(answer: Mapping[str, Any]) -> dict[str, Any]:
    response = answer.get("response")
    words = response.get("result") if isinstance(response, Mapping) and len(response) == 1 else None
    plain = isinstance(words, str)
    return {
        "role": Role.TOOL,
        "content": words if plain else json.dumps(response, ensure_ascii=False),
        "name": storable_name(answer.get("name")),
        "tool_call_id": storable_name(answer.get("id")),
        "extra": {MARK: {"plain": plain}},
    }


def to_events(messages: Iterable[Message], *, agent: str) -> list[Event]:
    """The events of these messages; of another host's message only the text, the calls, or the result.

    Args:
        messages: the messages in order.
        agent: the author of answers that another host wrote.
    """
    said = list(messages)
    made = []
    for row, message in enumerate(said):
        mark, shown = message.extra.get(MARK), as_shown(message)
        if not isinstance(mark, Mapping) or shown is not message:  # a prompt may show it as somebody else's
            made.append(_from_elsewhere(shown, agent))
        elif "event" in mark:
            made.append(_event(mark, iter(said[row:])))
    return [Event.model_validate_json(json.dumps(one)) for one in made]


def _event(mark: Mapping[str, Any], following: Iterator[Message]) -> dict[str, Any]:
    first = next(following)
    blocks, calls = iter(first.content if isinstance(first.content, list) else ()), iter(first.tool_calls)
    results = following if first.role is not Role.TOOL else iter([first, *following])
    event: dict[str, Any] = {**mark["event"]}
    if mark["parts"] is None:
        return event
    parts = [_part(rest or {}, blocks, calls, results) for rest in mark["parts"]]
    return {**event, "content": {**event["content"], "parts": parts}}


def _part(
    rest: Mapping[str, Any], blocks: Iterator[Any], calls: Iterator[Any], results: Iterator[Message]
) -> dict[str, Any]:
    if "function_call" in rest:
        return {**rest, "function_call": {"args": next(calls).arguments, **rest["function_call"]}}
    if "function_response" in rest:
        result = next(results)
        plain = result.extra[MARK]["plain"]
        response = {"result": result.content} if plain else _parsed(result.text)
        return {**rest, "function_response": {**rest["function_response"], "response": response}}
    block = next(blocks)
    if REST in block:
        return {key: block["source"] if value is None else value for key, value in block[REST].items()}
    return block[MARK] if MARK in block else {**rest, "text": block[block["type"]]}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # a number may have been redacted
        return {"result": text}


def _from_elsewhere(message: Message, agent: str) -> dict[str, Any]:
    words = message.model_copy(update={"tool_calls": []}).text
    parts: list[dict[str, Any]] = [{"text": words}] if words else []
    if message.role is Role.TOOL:
        answer = {"id": message.tool_call_id, "name": message.name or "tool", "response": {"result": words}}
        parts = [{"function_response": answer}]
    for call in message.tool_calls:
        arguments = call.arguments if isinstance(call.arguments, dict) else _parsed(call.arguments)
        parts.append({"function_call": {"id": call.id, "name": call.name, "args": arguments}})
    answered = message.role is Role.ASSISTANT
    return {
        "id": message.id,
        "author": agent if message.role in (Role.ASSISTANT, Role.TOOL) else "user",
        "content": {"role": "model" if answered else "user", "parts": parts},
        **({} if message.at is None else {"timestamp": message.at.timestamp()}),
    }
