"""mini-swe-agent's trajectories: ``{"messages": [...], "info": {...}}``, of its text and of its tool-call models.

A command in a code fence becomes a call of ``bash``, and the message that shows its output the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_memory.apps.evaluation.transcripts import openai
from hybrid_memory.apps.evaluation.transcripts.chats import Conversation, message_of
from hybrid_memory.apps.evaluation.transcripts.documents import Record
from hybrid_memory.apps.evaluation.transcripts.fields import items, said
from hybrid_memory.log.message import Message, Role

FILES = ("*.traj.json",)

_FORM = "mini-swe-agent"
_ABOUT = frozenset({"exit_status", "submission", "model_stats", "mini_version"})
_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)[^\S\n]*\n(.*?)\n```", re.DOTALL)
"""As the agent itself finds it; a message with none or several is answered by a complaint, not by an output."""


def fits(value: Any) -> bool:
    """Whether a value is of this form: messages beside what it says about the run."""
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list) or not value["messages"]:
        return False
    form, info = value.get("trajectory_format"), value.get("info")
    told = isinstance(form, str) and form.startswith(_FORM)
    return told or (isinstance(info, Mapping) and not _ABOUT.isdisjoint(info))


def read(records: Iterable[Record]) -> Iterator[Conversation]:
    """The conversation of each trajectory."""
    for record in records:
        if not fits(record.value):
            raise record.refused(f"no {_FORM} trajectory: it needs 'messages' and the 'info' of a run")
        turns = [*record.value["messages"]]
        found: list[Message] = []
        for number, turn in enumerate(turns, 1):
            place = Record(turn, f"{record.where}, message {number}")
            found += message_of(place, _as_answer(turn, found), _FORM, _is_turn, _messages)
        yield Conversation(found)


def _as_answer(turn: Any, before: list[Message]) -> Any:
    """The turn, as the result of the command before it if it is one; what the run ended with is nothing else."""
    waits = bool(before and before[-1].tool_calls)
    role = turn.get("role") if isinstance(turn, Mapping) else None
    if role == "exit" or (role == "user" and waits):
        return {**turn, "role": "tool"} if waits else {**turn, "role": "system", "content": ""}
    return turn


def _messages(turn: Mapping[str, Any]) -> list[Message]:
    if turn.get("object") == "response":
        return _from_response(turn)
    if turn.get("type") == "function_call_output":
        return said(Role.TOOL, turn.get("output"), answers=turn.get("call_id"), at=_at(turn))
    fields = {**turn, "timestamp": _at(turn)}
    content = turn.get("content")
    if turn["role"] == "assistant" and not turn.get("tool_calls") and isinstance(content, str):
        commands = list(_COMMAND.finditer(content))
        if len(commands) == 1:
            found = commands[0]
            fields["content"] = "\n\n".join((content[: found.start()].strip(), content[found.end() :].strip())).strip()
            fields["tool_calls"] = [{"name": "bash", "input": {"command": found[1]}}]
    return openai.messages(fields)


def _from_response(turn: Mapping[str, Any]) -> list[Message]:
    """What OpenAI's Responses API gave: items of text and calls."""
    output = [item for item in items(turn.get("output")) if isinstance(item, Mapping)]
    parts = [part for item in output if item.get("type") == "message" for part in items(item.get("content"))]
    calls = [item for item in output if item.get("type") == "function_call"]
    return said(Role.ASSISTANT, parts, calls=calls, at=_at(turn))


def _at(turn: Mapping[str, Any]) -> Any:
    extra = turn.get("extra")
    return (extra.get("timestamp") if isinstance(extra, Mapping) else None) or turn.get("timestamp")


def _is_turn(turn: Any) -> bool:
    if not isinstance(turn, Mapping):
        return False
    if turn.get("object") == "response" or turn.get("type") == "function_call_output":
        return True
    return openai.has_role(turn) and "content" in turn
