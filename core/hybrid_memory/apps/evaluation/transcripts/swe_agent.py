"""SWE-agent's trajectories: ``history``, what its model was shown, or else the steps of ``trajectory``.

Demonstrations are left out: what they do was not done here. An action without a tool call of its own becomes a call of
``bash``, and what was observed after it the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory.apps.evaluation.transcripts import openai
from hybrid_memory.apps.evaluation.transcripts.chats import Conversation, message_of
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, said
from hybrid_memory.log.message import Message, Role

FILES = ("*.traj",)

_FORM = "SWE-agent"


def fits(value: Any) -> bool:
    """Whether a value is of this form: steps with an action and an observation, or a history of messages."""
    if not isinstance(value, Mapping) or not isinstance(value.get("trajectory"), list):
        return False
    steps, history = value["trajectory"], value.get("history")
    return _is_step(steps[0]) if steps else isinstance(history, list) and bool(history) and _is_turn(history[0])


def read(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversation of each trajectory."""
    for record in records:
        if not fits(record.value):
            raise record.refused(f"no {_FORM} trajectory: it needs the steps of one under 'trajectory'")
        history, steps = items(record.value.get("history")), record.value["trajectory"]
        yield Conversation(_from_history(record, history, steps) if history else _from_steps(record, steps))


def _from_history(record: Record, history: list[Any], steps: list[Any]) -> list[Message]:
    turns = _read(record, "history", [turn for turn in history if not _is_demonstration(turn)])
    if turns and turns[-1].tool_calls and steps and _is_step(steps[-1]) and steps[-1]["observation"]:
        # Older versions end before what the last action showed.
        turns += said(Role.TOOL, steps[-1]["observation"])
    return turns


def _from_steps(record: Record, steps: list[Any]) -> list[Message]:
    turns = _read(record, "query", [turn for turn in items(steps[0].get("query")) if not _is_demonstration(turn)])
    for number, step in enumerate(steps, 1):
        if not _is_step(step):
            raise record.refused(f"step {number} has no action with an observation")
        asked = {"role": "assistant", "content": step.get("response"), **step}
        turns += _read(record, f"step {number}", [asked, {"role": "user", "content": step["observation"]}])
    return turns


def _read(record: Record, part: str, turns: list[Any]) -> list[Message]:
    found: list[Message] = []
    acted = False
    for number, turn in enumerate(turns, 1):
        place = Record(turn, f"{record.where}, {part} {number}")
        if not _is_turn(turn):
            raise place.refused("no message of a history")
        if acted and turn["role"] == "user":
            turn = {**turn, "role": "tool"}  # noqa: PLW2901 - the same turn by the role that it has
        read = message_of(place, turn, _FORM, _is_turn, _messages)
        acted = any(message.tool_calls for message in read)
        found += read
    return found


def _messages(turn: Mapping[str, Any]) -> list[Message]:
    ids = items(turn.get("tool_call_ids"))
    action = turn.get("action")
    fields = {**turn, "tool_call_id": ids[0] if ids else None}
    if turn["role"] == "assistant" and not turn.get("tool_calls") and isinstance(action, str) and action.strip():
        fields["content"] = str(turn.get("thought") or "").strip()
        fields["tool_calls"] = [{"name": "bash", "input": {"command": action.strip("\n")}}]
    return openai.messages(fields)


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, Mapping) and openai.has_role(turn) and "content" in turn


def _is_step(step: Any) -> bool:
    return isinstance(step, Mapping) and isinstance(step.get("action"), str) and "observation" in step


def _is_demonstration(turn: Any) -> bool:
    return isinstance(turn, Mapping) and bool(turn.get("is_demo"))
