"""The actions in an assistant's message: tool calls, commands in code fences, calls written as tags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.artifacts.files import Effect
from hybrid_memory.artifacts.scripts import is_patch, patch_effects, python_effects
from hybrid_memory.artifacts.shell import MAX_COMMAND_CHARS
from hybrid_memory.log.message import Message, ToolCall

_PATH_KEYS = (
    "path file_path filepath filePath filename file_name fileName file target_file targetFile absolute_path "
    "relative_path notebook_path source_path src source old_path from uri"
).split()
_TARGET_KEYS = "destination dest dst target new_path new_name to target_path destination_path".split()
_TEXT_KEYS = "content contents file_text text code new_str body data".split()
_COMMAND_KEYS = "command cmd commands script bash_command shell_command input".split()
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
    found = [_from_call(call, source) for call in message.tool_calls]
    text = message.content if isinstance(message.content, str) else message.text
    if not found and "<function=" in text:
        found = [_from_call(call, source) for call in _tagged(text)]
    if not found and "```" in text:
        fences = _SHELL_FENCE.findall(text) or _PLAIN_FENCE.findall(text)
        found = [Action(source, command=fence, fenced=True) for fence in fences[-1:]]
    return found


def words_of(name: str) -> list[str]:
    """The lower-case words of a tool's name, in snake or camel case."""
    return [word.lower() for word in _WORD.findall(name)]


def _tagged(text: str) -> Iterator[ToolCall]:
    for name, body in _TAGGED.findall(text[:MAX_COMMAND_CHARS]):
        yield ToolCall(name=name, arguments={key: value.strip("\n") for key, value in _PARAMETER.findall(body)})


def _from_call(call: ToolCall, source: str) -> Action:
    arguments = _arguments(call.arguments)
    words = set(words_of(call.name))
    action = Action(source, call.id, literals=" ".join(_strings(arguments)))
    path = _first(arguments, _PATH_KEYS)
    command = _first(arguments, _COMMAND_KEYS)
    if command and is_patch(command):
        action.effects = list(patch_effects(command))
    elif path:
        action.effects = list(_file_effects(words, path, arguments))
    elif patch := _first(arguments, ("patch", "diff", "patch_text")):
        action.effects = list(patch_effects(patch))
    elif command and (words & _SHELL_WORDS or "command" in arguments or "cmd" in arguments):
        action.command = command
    elif code := _first(arguments, ("code", "source", "script", "command", "input")):
        if words & _PYTHON_WORDS:
            action.effects = python_effects(code)
        elif words & _SHELL_WORDS:
            action.command = code
    return action


def _arguments(arguments: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    try:
        parsed = json.loads(arguments)
    except ValueError:
        found = _LOOSE_PATH.search(arguments)
        return {"path": found[1]} if found else {"input": arguments}
    return parsed if isinstance(parsed, dict) else {"input": arguments}


def _file_effects(words: set[str], path: str, arguments: dict[str, Any]) -> Iterator[Effect]:
    command = arguments.get("command")
    if isinstance(command, str) and " " not in command:
        words = set(words_of(command))  # an editor with commands: view, create, str_replace, insert
        if "str" in words:
            words = {"edit"}
    verb = next((verb for word, verb in _VERBS.items() if word in words), "read")
    target = _first(arguments, _TARGET_KEYS)
    if words & _FOLDER_WORDS and verb in {"read", "write"}:
        return
    if verb in {"move", "copy"} and target:
        yield Effect(verb, path, target)
        return
    yield Effect("edit" if verb in {"move", "copy"} else verb, path)
    if verb == "write" and (text := _first(arguments, _TEXT_KEYS)):
        yield Effect("text", path, text)


def _first(arguments: dict[str, Any], keys: tuple[str, ...] | list[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value if key in _TEXT_KEYS or key in _COMMAND_KEYS else value.strip()
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value) and key in _COMMAND_KEYS:
            return " ".join(value)
    return ""


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """All short strings and numbers in JSON arguments."""
    if isinstance(value, str):
        if len(value) <= 500:  # noqa: PLR2004 - ids and addresses are short
            yield value
    elif isinstance(value, dict) and depth < 8:  # noqa: PLR2004 - deeper than any tool's arguments
        for item in value.values():
            yield from _strings(item, depth + 1)
    elif isinstance(value, list) and depth < 8:  # noqa: PLR2004
        for item in value:
            yield from _strings(item, depth + 1)
