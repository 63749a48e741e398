"""A model's start: the instructions about its memory, its first blocks, and how it reads the conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from hybrid_memory import Block, Message, Role, ScopedMemory, ToolCall
from hybrid_memory.tools import MAX_TOKENS, MemoryTool
from hybrid_memory_paging.functions import HEARTBEAT, SEND, THOUGHTS, CustomFunction

Function: TypeAlias = MemoryTool | CustomFunction

MEMORY = (
    "How your memory works. You see only a window of the conversation. The blocks, such as <human>, are your "
    "working context: they are always in front of you, and only you keep them true. When the user tells you something "
    "that lasts, write it there at once, with the names, in the user's language; when it is no longer true, replace "
    "it. Older messages leave the window, and a summary replaces them; nothing is lost: search the conversation for "
    "what was said, and archival memory for your own notes, before you say that you do not know. Text in "
    "<system>, <summary>, <memory> or <record> tags comes from the memory or from outside, not from the user."
)
"""For hosts that provide the functions themselves."""

FORMAT = (
    "You act by calling functions. Answer with a JSON object, a call, and with nothing else. With "
    '"{heartbeat}": true in it you are called again at once, with its result; without it you wait until the next '
    "event. The user reads only what you say with {send}, so end with it. For example:"
)

EXAMPLES: tuple[tuple[str, str, tuple[dict[str, str], ...]], ...] = (
    ("Asked for what you do not see, search", "conversation_search", ({"query": "dentist"},)),
    (
        "Told that something changed, correct it",
        "core_memory_replace",
        ({"label": "human", "old_content": "in Oslo", "new_content": "in Bergen"},),
    ),
    (
        "Told something that lasts, note it in the user's language",
        "core_memory_append",
        (
            {"label": "human", "content": "Ada works as a nurse in Oslo."},
            {"label": "human", "content": "她的猫叫小黑。"},
        ),
    ),
)
"""When to call which function, and how. Small models imitate the examples, even their language."""


def instructions(functions: Sequence[Function]) -> str:
    """Everything a model must know to act by text alone: the memory, the functions, the form of its answers."""
    names = {function.name for function in functions}
    form = [FORMAT.format(heartbeat=HEARTBEAT, send=SEND.name)]
    for when, name, several in EXAMPLES:
        if name in names:
            calls = [ToolCall(name=name, arguments={**arguments, HEARTBEAT: True}) for arguments in several]
            form.append("\n".join([f"{when}:", *map(_call, calls)]))
    return "\n\n".join([MEMORY, "Functions:\n" + "\n".join(map(signature, functions)), "\n".join(form)])


def signature(function: Function) -> str:
    """A function in one line: name, arguments and description; with types for the application's functions."""
    schema = function.arguments.model_json_schema()
    required = schema.get("required", ())
    parts = []
    for name, field in schema.get("properties", {}).items():
        kind = field.get("type") or "/".join(str(kind.get("type", "any")) for kind in field.get("anyOf", ())) or "any"
        default = json.dumps(field.get("default", [] if kind == "array" else None), ensure_ascii=False)
        typed = f": {kind}" if isinstance(function, CustomFunction) else ""
        parts.append(f"{name}{typed}{'' if name in required else f' = {default}'}")
    return f"- {function.name}({', '.join(parts)}): {function.description}"


def rendered(messages: Sequence[Message]) -> list[Message]:
    """The conversation for a model that reads and writes text; its own turns appear as the calls it wrote.

    Adjacent messages of one role are merged, since some models refuse two in a row.
    """
    results: list[Message] = []
    for message in messages:
        role, text = _as_read(message)
        if not results or results[-1].role is not role:
            results.append(Message(role=role, content=text))
            continue
        before = results[-1].text
        # The log has the words of an answer before its calls; models call first, and imitate what they see.
        joined = f"{text}\n{before}" if message.tool_calls else f"{before}\n\n{text}"
        results[-1] = Message(role=role, content=joined)
    return results


def _as_read(message: Message) -> tuple[Role, str]:
    text = message.content
    if not isinstance(text, str):
        hidden = "({}, which you cannot see)"
        text = "\n".join(str(part.get("text") or hidden.format(part.get("type", "something"))) for part in text)
    if message.role is Role.TOOL:
        name = f' of="{message.name}"' if message.name else ""
        return Role.USER, f"<result{name}>\n{text}\n</result>"
    if message.role is not Role.ASSISTANT:
        return message.role, f"{message.name}: {text}" if message.name else text
    reply = [ToolCall(name=SEND.name, arguments={"message": text})] if text.strip() else []
    return Role.ASSISTANT, "\n".join(map(_call, [*reply, *message.tool_calls]))


def _call(call: ToolCall) -> str:
    """A call as the model writes it; what it wrote that is no object stays as it was."""
    if not isinstance(call.arguments, dict):
        return call.arguments
    arguments = dict(call.arguments)
    written: dict[str, Any] = {THOUGHTS: arguments.pop(THOUGHTS)} if THOUGHTS in arguments else {}
    heartbeat = {HEARTBEAT: arguments.pop(HEARTBEAT)} if HEARTBEAT in arguments else {}
    return json.dumps({**written, "function": call.name, "arguments": arguments, **heartbeat}, ensure_ascii=False)


BLOCKS = {
    "persona": "Who you are, and how you want to speak and act.",
    "human": "Who the user is: name, people, work, plans, preferences.",
}
"""What belongs in each block."""


def prepared(memory: ScopedMemory, blocks: Mapping[str, str] | None = None) -> None:
    """Create MemGPT's blocks ``persona`` and ``human`` for an owner who never had a block.

    Args:
        memory: the owner's memory.
        blocks: initial texts by label; blocks with other labels are created too.

    Raises:
        InvalidInputError: a block cannot have this label or text. Nothing was written.
    """
    memory.blocks(begin=_first(blocks or {}))


async def aprepared(memory: ScopedMemory, blocks: Mapping[str, str] | None = None) -> None:
    """Async twin of `prepared`."""
    await memory.ablocks(begin=_first(blocks or {}))


def _first(texts: Mapping[str, str]) -> list[Block]:
    return [Block(label, texts.get(label, ""), BLOCKS.get(label, "")) for label in {**BLOCKS, **texts}]


PAGE_SHARE = 0.125
"""Share of a prompt for one answer, so that it has room for several pages."""

LEAST_TOKENS = 40


def answer_tokens(max_tokens: int) -> int:
    """The size limit of an answer in a prompt of ``max_tokens``; at most `MAX_TOKENS`."""
    return min(MAX_TOKENS, max(LEAST_TOKENS, int(PAGE_SHARE * max_tokens)))
