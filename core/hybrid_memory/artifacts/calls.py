"""The actions in an assistant's message: tool calls, commands in code fences, calls written as tags."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.artifacts.shell import MAX_COMMAND_CHARS, Effect, is_patch, patch_effects, python_effects
from hybrid_memory.log.message import Message, ToolCall

_PATH_KEYS = (
    "path file_path filepath filePath filename file_name fileName file target_file targetFile absolute_path "
    "relative_path notebook_path source_path src source old_path from uri"
).split()
_TARGET_KEYS = "destination dest dst target new_path new_name to target_path destination_path".split()
_COMMAND_KEYS = "command cmd commands script bash_command shell_command input code".split()
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_VERBS = {
    **dict.fromkeys("write create save put new touch".split(), "write"),
    **dict.fromkeys("edit replace insert append update modify patch change apply undo".split(), "edit"),
    **dict.fromkeys("delete remove unlink rm".split(), "delete"),
    **dict.fromkeys("rename move mv".split(), "move"),
    **dict.fromkeys("copy cp duplicate".split(), "copy"),
}
_FOLDER_WORDS = frozenset("dir directory directories folder folders list ls glob search grep find tree mkdir".split())
_SHELL_WORDS = frozenset("bash shell terminal execute exec run command cmd".split())
_PYTHON_WORDS = frozenset("python ipython jupyter code".split())
_SHELL_FENCE = re.compile(r"^[ \t]*```(?:bash|sh|shell|console)[^\S\n]*\n(.*?)\n[ \t]*```", re.DOTALL | re.MULTILINE)
_PLAIN_FENCE = re.compile(r"^```[^\S\n]*\n(.*?)\n```", re.DOTALL | re.MULTILINE)
_TAGGED = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.DOTALL)
_LOOSE_PATH = re.compile(r'"(?:path|file_path|filename|file|target_file)"\s*:\s*"([^"\n]{1,500})"')


@dataclass(slots=True)
class Action:
    """One requested action.

    Attributes:
        source: id of the message; call: id of the tool call, if it has one.
        command: a shell command line; effects: its other effects on files.
        fenced: whether it is in a code fence, so that only a result shows that it was run.
        literals: other arguments, to be searched for ids.
    """

    source: str
    call: str | None = None
    command: str | None = None
    effects: list[Effect] = field(default_factory=list)
    fenced: bool = False
    literals: str = ""


def actions(message: Message) -> list[Action]:
    """The actions in this message of the assistant, in order."""
    source = message.id or ""
    text = message.content if isinstance(message.content, str) else message.text
    calls = message.tool_calls
    if not calls and "<function=" in text:
        calls = [
            ToolCall(name=name, arguments={key: value.strip("\n") for key, value in _PARAMETER.findall(body)})
            for name, body in _TAGGED.findall(text[:MAX_COMMAND_CHARS])
        ]
    if not calls and "```" in text:
        fences = _SHELL_FENCE.findall(text) or _PLAIN_FENCE.findall(text)
        return [Action(source, command=fence, fenced=True) for fence in fences[-1:]]
    return [_action(call, source) for call in calls]


def _action(call: ToolCall, source: str) -> Action:
    arguments = _arguments(call.arguments)
    words = {word.lower() for word in _WORD.findall(call.name)}
    action = Action(source, call.id, literals=" ".join(_short_values(arguments)))
    path, command = _first(arguments, _PATH_KEYS), _first(arguments, _COMMAND_KEYS)
    patch = _first(arguments, ("patch", "diff", "patch_text")) or command
    if is_patch(patch) and not path and not patch.lstrip().startswith("apply_patch"):
        action.effects = list(patch_effects(patch))
    elif path:
        action.effects = _file_effects(words, path.strip(), arguments)
    elif command and words & _PYTHON_WORDS:
        action.effects = python_effects(command)
    elif command and (words & _SHELL_WORDS or "command" in arguments or "cmd" in arguments):
        action.command = command
    return action


def _arguments(arguments: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    try:
        parsed = json.loads(arguments)
    except ValueError:
        match = _LOOSE_PATH.search(arguments)
        return {"path": match[1]} if match else {"input": arguments}
    return parsed if isinstance(parsed, dict) else {"input": arguments}


def _file_effects(words: set[str], path: str, arguments: dict[str, Any]) -> list[Effect]:
    command = arguments.get("command")
    if isinstance(command, str) and " " not in command:  # an editor with commands: view, create, str_replace, insert
        words = {"edit"} if command.startswith("str") else set(command.split("_"))
    verb = next((verb for word, verb in _VERBS.items() if word in words), "read")
    target = _first(arguments, _TARGET_KEYS).strip()
    if words & _FOLDER_WORDS and verb in {"read", "write"}:
        return []
    if verb in {"move", "copy"}:
        return [Effect(verb, path, target) if target else Effect("edit", path)]
    return [Effect(verb, path)]


def _first(arguments: dict[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return shlex.join(value)
    return ""


def _short_values(value: Any, depth: int = 0) -> Iterator[str]:
    """All short strings in JSON arguments."""
    if isinstance(value, str):
        if len(value) <= 500:  # noqa: PLR2004 - ids and addresses are short
            yield value
    elif isinstance(value, dict | list) and depth < 8:  # noqa: PLR2004 - deeper than any tool's arguments
        for item in value.values() if isinstance(value, dict) else value:
            yield from _short_values(item, depth + 1)
