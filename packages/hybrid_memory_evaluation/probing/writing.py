"""Probes written by a language model, each checked against the turns it names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory.errors import ModelError
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokenize import cjk_share
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory_evaluation.probing.probe import CHINESE, History, Probe, ProbeKind, plain

STRETCH_TOKENS = 3000
"""The most tokens of turns in one call."""

TURN_CHARS = 1500
"""Longer turns are shown by their beginning and end."""

PER_CALL = 4
"""How many questions one call asks for, so that questions cover several parts of the conversation."""

MAX_KEYS = 8

_ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "turns": {"type": "array", "items": {"type": "integer"}},
        "kind": {"enum": [kind.value for kind in ProbeKind]},
        "question": {"type": "string"},
        "answer": {"type": "string"},
        "keys": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["turns", "kind", "question", "answer", "keys"],
}

_ENGLISH = """\
You examine whether somebody who goes on with a long conversation still knows what was said before. Below is a part of \
it, each turn behind its number. Write {count} questions about it that have one exact answer:
- recall: something that was said, such as a name, a figure, a date, an error
- artifact: what became of a file, a document or a record
- decision: what was decided about something, and why
- continuation: what was to be done next
For each give the numbers of the turns that hold the answer, the kind, the question, the answer in a sentence, and as \
keys the one to three decisive words or figures of the answer, copied letter by letter from those turns. No key may \
stand in the question. The question must make sense to somebody who does not see these turns, and its answer must not \
change later."""

_CHINESE = """\
你要检验接着进行一段长对话的人是否还知道之前说过的内容。下面是对话的一部分，每轮前面有编号。请写{count}个答案唯一而准确的问题：
- recall：说过的内容，例如名字、数字、日期、错误
- artifact：某个文件、文档或记录后来怎样了
- decision：对某件事作了什么决定，为什么
- continuation：接下来要做什么
每个问题给出：含有答案的轮次编号 turns，类别 kind，问题 question，用一句话写的答案 answer，\
以及 keys：答案中一到三个关键的词或数字，必须从这些轮次中逐字照抄。\
keys 不能出现在问题里。没看到这些轮次的人也要能看懂问题，而且答案以后不会改变。"""


def written_probes(transcript: Transcript, truncated: int, model: LanguageModel, *, count: int = 8) -> list[Probe]:
    """At most ``count`` probes about the first messages; fewer if the model fails or its probes are rejected.

    A probe is rejected if it names turns that were not shown or an unknown kind, if its keys are not in those turns or
    occur in the question, if the question repeats, or if the visible messages answer it in full. Whether an answer is
    still true at the end of the conversation is left to the model.

    Args:
        transcript: the whole conversation.
        truncated: how many of its first messages are no longer visible.
        model: writes the questions, four per call.
        count: how many questions to ask for.
    """
    history = History(transcript, truncated)
    stretches = _stretches(history)
    calls = min(len(stretches), math.ceil(count / PER_CALL))
    result: dict[str, Probe] = {}
    for call in range(calls):
        stretch = stretches[(2 * call + 1) * len(stretches) // (2 * calls)]
        wanted = (call + 1) * count // calls - call * count // calls
        try:
            items = {"type": "array", "maxItems": wanted, "items": _ITEM}
            schema = {"title": "probes", "type": "object", "properties": {"probes": items}, "required": ["probes"]}
            answer: Any = model.structured(_prompt(history, stretch, wanted), schema)
        except ModelError:
            continue
        given = answer.get("probes") if isinstance(answer, Mapping) else None
        for item in (given if isinstance(given, list) else [answer])[:wanted]:
            probe = _read(history, stretch, item, model.name)
            if probe is not None:
                result.setdefault(plain(probe.question), probe)
    return [replace(probe, id=f"written-{number}") for number, probe in enumerate(result.values(), 1)]


def _stretches(history: History) -> list[range]:
    """The truncated rows in runs that fit into a call, without system prompts."""
    runs: list[range] = []
    start, room = 0, STRETCH_TOKENS
    for row, message in enumerate(history.past):
        tokens = estimate_tokens(_shown(message))
        if row > start and tokens > room:
            runs.append(range(start, row))
            start, room = row, STRETCH_TOKENS
        room -= tokens
    runs.append(range(start, history.truncated))
    return [run for run in runs if any(history.messages[row].role is not Role.SYSTEM for row in run)]


def _shown(message: Message) -> str:
    text = " ".join(message.text.split())
    if len(text) > TURN_CHARS:
        text = f"{text[: TURN_CHARS * 2 // 3]} […] {text[-TURN_CHARS // 3 :]}"
    return f"{message.speaker}: {text}"


def _prompt(history: History, stretch: Sequence[int], count: int) -> list[Message]:
    turns = "\n".join(f"[{row + 1}] {_shown(history.messages[row])}" for row in stretch)
    task = _CHINESE if cjk_share(turns) > CHINESE else _ENGLISH
    return [Message(role=Role.SYSTEM, content=task.format(count=count)), Message(role=Role.USER, content=turns)]


def _read(history: History, stretch: Sequence[int], item: Any, name: str) -> Probe | None:
    """The probe described by an item, if it is fair."""
    if not isinstance(item, Mapping) or item.get("kind") not in tuple(ProbeKind):
        return None
    question, gold, given = (item.get(field) for field in ("question", "answer", "keys"))
    # An invalid key becomes one that occurs nowhere.
    keys = [key.strip() if isinstance(key, str) else "" for key in (given if isinstance(given, list) else [given])]
    turns = item.get("turns")
    if not all(isinstance(text, str) and text.strip() for text in (question, gold)) or not isinstance(turns, list):
        return None
    rows = [turn - 1 if isinstance(turn, int) and not isinstance(turn, bool) else -1 for turn in turns]
    if not rows or not keys or len(keys) > MAX_KEYS or any(row not in stretch for row in rows):
        return None
    sources = tuple(history.messages[row].id or "" for row in rows)
    probe = Probe("", ProbeKind(item["kind"]), str(question), str(gold), tuple(dict.fromkeys(keys)), sources, by=name)
    return history.checked(probe)
