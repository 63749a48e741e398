"""Trajectories of SWE-agent and mini-swe-agent: actions become calls of ``bash``, observations their results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts.documents import Conversation, Reader, Record, message_of
from hybrid_memory.apps.transcripts.fields import items, messages_of
from hybrid_memory.apps.transcripts.frameworks import has_role, openai_messages

_SWE = "SWE-agent"


def _fits_swe(value: Any) -> bool:
    """Whether a value has this form: steps with an action and an observation, or a history of messages."""
    if not isinstance(value, Mapping) or not isinstance(value.get("trajectory"), list):
        return False
    steps, history = value["trajectory"], value.get("history")
    return _is_step(steps[0]) if steps else isinstance(history, list) and bool(history) and _is_swe_turn(history[0])


def _read_swe(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversation of each trajectory."""
    for record in records:
        if not _fits_swe(record.value):
            record.refuse(f"no {_SWE} trajectory: it needs steps under 'trajectory'")
            continue
        history, steps = items(record.value.get("history")), record.value["trajectory"]
        yield Conversation(_from_history(record, history, steps) if history else _from_steps(record, steps))


def _from_history(record: Record, history: list[Any], steps: list[Any]) -> list[Message]:
    turns = _read(record, "history", [turn for turn in history if not _is_demonstration(turn)])
    if turns and turns[-1].tool_calls and steps and _is_step(steps[-1]) and steps[-1]["observation"]:
        # Older versions end before what the last action showed.
        turns += messages_of(Role.TOOL, steps[-1]["observation"])
    return turns


def _from_steps(record: Record, steps: list[Any]) -> list[Message]:
    turns = _read(record, "query", [turn for turn in items(steps[0].get("query")) if not _is_demonstration(turn)])
    for number, step in enumerate(steps, 1):
        if not _is_step(step):
            record.refuse(f"step {number} has no action with an observation")
            continue
        asked = {"role": "assistant", "content": step.get("response"), **step}
        turns += _read(record, f"step {number}", [asked, {"role": "user", "content": step["observation"]}])
    return turns


def _read(record: Record, part: str, turns: list[Any]) -> list[Message]:
    results: list[Message] = []
    acted = False
    for number, turn in enumerate(turns, 1):
        place = record.part(turn, f"{part} {number}")
        if not _is_swe_turn(turn):
            place.refuse("no message of a history")
            continue
        if acted and turn["role"] == "user":
            turn = {**turn, "role": "tool"}  # noqa: PLW2901 - the same turn by the role that it has
        read = message_of(place, turn, _SWE, _is_swe_turn, _swe_messages)
        acted = any(message.tool_calls for message in read)
        results += read
    return results


def _swe_messages(turn: Mapping[str, Any]) -> list[Message]:
    ids = items(turn.get("tool_call_ids"))
    action = turn.get("action")
    fields = {**turn, "tool_call_id": ids[0] if ids else None}
    if turn["role"] == "assistant" and not turn.get("tool_calls") and isinstance(action, str) and action.strip():
        fields["content"] = str(turn.get("thought") or "").strip()
        fields["tool_calls"] = [{"name": "bash", "input": {"command": action.strip("\n")}}]
    return openai_messages(fields)


def _is_swe_turn(turn: Any) -> bool:
    return isinstance(turn, Mapping) and has_role(turn) and "content" in turn


def _is_step(step: Any) -> bool:
    return isinstance(step, Mapping) and isinstance(step.get("action"), str) and "observation" in step


def _is_demonstration(turn: Any) -> bool:
    return isinstance(turn, Mapping) and bool(turn.get("is_demo"))


SWE_AGENT = Reader(("*.traj",), _fits_swe, _read_swe)


_MINI_SWE = "mini-swe-agent"
_ABOUT = frozenset({"exit_status", "submission", "model_stats", "mini_version"})
_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)[^\S\n]*\n(.*?)\n```", re.DOTALL)
"""The command as the agent itself finds it; a message with none or several gets an error instead of an output."""


def _fits_mini_swe(value: Any) -> bool:
    """Whether a value has this form: messages, with information about the run."""
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list) or not value["messages"]:
        return False
    form, info = value.get("trajectory_format"), value.get("info")
    told = isinstance(form, str) and form.startswith(_MINI_SWE)
    return told or (isinstance(info, Mapping) and not _ABOUT.isdisjoint(info))


def _read_mini_swe(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversation of each trajectory."""
    for record in records:
        if not _fits_mini_swe(record.value):
            record.refuse(f"no {_MINI_SWE} trajectory: it needs 'messages' and 'info'")
            continue
        turns = [*record.value["messages"]]
        results: list[Message] = []
        for number, turn in enumerate(turns, 1):
            place = record.part(turn, f"message {number}")
            results += message_of(place, _as_answer(turn, results), _MINI_SWE, _is_mini_swe_turn, _mini_swe_messages)
        yield Conversation(results)


def _as_answer(turn: Any, before: list[Message]) -> Any:
    """The turn, as the result of the command before it if it is one; the end of the run is such a result too."""
    waits = bool(before and before[-1].tool_calls)
    role = turn.get("role") if isinstance(turn, Mapping) else None
    if role == "exit" or (role == "user" and waits):
        return {**turn, "role": "tool"} if waits else {**turn, "role": "system", "content": ""}
    return turn


def _mini_swe_messages(turn: Mapping[str, Any]) -> list[Message]:
    if turn.get("object") == "response":
        return _from_response(turn)
    if turn.get("type") == "function_call_output":
        return messages_of(Role.TOOL, turn.get("output"), answers=turn.get("call_id"), at=_at(turn))
    fields = {**turn, "timestamp": _at(turn)}
    content = turn.get("content")
    if turn["role"] == "assistant" and not turn.get("tool_calls") and isinstance(content, str):
        commands = list(_COMMAND.finditer(content))
        if len(commands) == 1:
            result = commands[0]
            fields["content"] = "\n\n".join(
                (content[: result.start()].strip(), content[result.end() :].strip())
            ).strip()
            fields["tool_calls"] = [{"name": "bash", "input": {"command": result[1]}}]
    return openai_messages(fields)


def _from_response(turn: Mapping[str, Any]) -> list[Message]:
    """The text and the calls of a response from OpenAI's Responses API."""
    output = [item for item in items(turn.get("output")) if isinstance(item, Mapping)]
    parts = [part for item in output if item.get("type") == "message" for part in items(item.get("content"))]
    calls = [item for item in output if item.get("type") == "function_call"]
    return messages_of(Role.ASSISTANT, parts, calls=calls, at=_at(turn))


def _at(turn: Mapping[str, Any]) -> Any:
    extra = turn.get("extra")
    return (extra.get("timestamp") if isinstance(extra, Mapping) else None) or turn.get("timestamp")


def _is_mini_swe_turn(turn: Any) -> bool:
    if not isinstance(turn, Mapping):
        return False
    if turn.get("object") == "response" or turn.get("type") == "function_call_output":
        return True
    return has_role(turn) and "content" in turn


MINI_SWE_AGENT = Reader(("*.traj.json",), _fits_mini_swe, _read_mini_swe)
