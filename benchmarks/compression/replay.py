"""Prompts along a conversation: how much of each the one before had, whether it is valid, and what it can answer.

The first 200 turns of three LoCoMo conversations, as alternating messages of user and assistant; the prompt for a turn
of the user is asked for before the turn is remembered. After turn 200 each question is asked whose answer is no
adversarial one, has 3 characters or more, stands literally in these turns, and not in the question.

reuse is the common token prefix with the prompt before, by its tokens; cached / sent is the same over all tokens sent.
The tool replay gives every third exchange a call, every sixth two parallel ones, every ninth two rounds of calls. The
agentic one has 10 plain exchanges, then 6 turns of the user with 15 rounds of calls, every third with two of them.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from llama_index.core.utils import get_tokenizer

from benchmarks.compression.sets import IDENTITY, MAX_TOKENS, Table, load
from hybrid_memory import Context, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.context.layout import Layout
from hybrid_memory_evaluation.probing.probe import holds
from hybrid_memory_evaluation.replaying import faults

TURNS = 200
COLUMNS = (
    "memory", "reuse", "median", "cached/sent", "mean", "max", "over", "answers", "n", "in gold", "gold", "folds",
    "prompts", "invalid",
)  # fmt: skip
Speaker = Literal["text", "name", "none"]

ELSEWHERE = (
    ("trim_messages(last, start_on=human)", 0.37, 0.01, 0.27, 1797, 2130, 0.28, 0.25),
    ("VectorStoreRetrieverMemory(k=8)", 0.07, 0.05, 0.06, 629, 978, 0.78, 0.90),
    ("SummarizationMiddleware(<= 600)", 0.89, 1.00, 0.84, 1570, 2116, 0.18, 0.17),
    ("LangMem summarize_messages", 0.97, 1.00, 0.93, 1484, 2739, 0.13, 0.10),
    ("LlamaIndex Memory + VectorBlock", 0.60, 1.00, 0.51, 2247, 3083, 0.45, 0.48),
)
"""Other libraries over the same turns, measured elsewhere on 2026-11-21."""


@dataclass(slots=True)
class Tally:
    """What the prompts of a replay came to."""

    reuse: list[float] = field(default_factory=list)
    common: int = 0
    tokens: list[int] = field(default_factory=list)
    folds: int = 0
    over: int = 0
    faults: list[str] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)
    gold: list[bool] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)
    before: list[int] | None = None

    def prompt(self, context: Context) -> None:
        """Count a prompt of the conversation."""
        tokens = encoded(context)
        if self.before is not None:
            common = next(
                (row for row, (a, b) in enumerate(zip(self.before, tokens, strict=False)) if a != b),
                min(len(self.before), len(tokens)),
            )
            self.common += common
            self.reuse.append(common / len(self.before))
        self.before = tokens
        self.tokens.append(len(tokens))
        self.folds += bool(context.compacted)
        self.check(context)

    def check(self, context: Context) -> None:
        """Count what is wrong with a prompt."""
        self.over += max(context.tokens, len(encoded(context))) > context.max_tokens
        self.faults += faults(context.as_dicts())

    def row(self, name: str) -> dict[str, Any]:
        """As a row of the table."""
        return {
            "memory": name,
            "reuse": statistics.fmean(self.reuse),
            "median": statistics.median(self.reuse),
            "cached/sent": self.common / sum(self.tokens),
            "mean": round(statistics.fmean(self.tokens)),
            "max": max(self.tokens),
            "over": self.over,
            "answers": statistics.fmean(self.answers) if self.answers else None,
            "n": len(self.answers),
            "in gold": statistics.fmean(self.gold) if self.gold else None,
            "gold": len(self.gold),
            "folds": self.folds,
            "prompts": len(self.tokens),
            "invalid": len(self.faults),
            "faults": self.faults[:20],
            "missed": self.missed,
        }


def encoded(context: Context) -> list[int]:
    """The tokens of a prompt as it is sent: role, name, words and calls of each message."""
    parts = [f"{message.role} {message.name or ''}: {message.text}" for message in context.messages]
    tokens: list[int] = get_tokenizer()("\n\n".join(parts))
    return tokens


def eligible(conversation: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Question, answer, and whether the answer stands in a turn of the evidence."""
    turns = conversation["turns"][:TURNS]
    everything = "\n".join(turn["text"] for turn in turns)
    for question in conversation["questions"]:
        asked, answer = question["question"], str(question["answer"] or "")
        if question["category"] == "adversarial" or question.get("bad") or len(answer) < 3:
            continue
        if holds(everything, answer) and not holds(asked, answer):
            gold = "\n".join(turn["text"] for turn in turns if turn["id"] in question["evidence"])
            yield asked, answer, holds(gold, answer)


def said(turn: dict[str, Any], role: Role, speaker: Speaker) -> Message:
    """A turn as a message, its speaker in front of the words, as the name, or not at all."""
    text = f"{turn['speaker']}: {turn['text']}" if speaker == "text" else turn["text"]
    return Message(role=role, content=text, name=turn["speaker"] if speaker == "name" else None)


def replayed(
    data: Path, embedder: Any, *, limit: int | None, layout: Layout = "stable", speaker: Speaker = "text",
    tools: bool = False,
) -> Tally:  # fmt: skip
    """The tally over the conversations."""
    tally = Tally()
    for conversation in load(data, "locomo", limit):
        with open_memory(MemoryConfig(url="memory://"), embedder=embedder) as memory:
            chat = memory.scoped(user="u", session="s")
            tally.before = None
            turns = conversation["turns"][:TURNS]
            for row in range(0, len(turns) - 1, 2):
                asked = said(turns[row], Role.USER, speaker)
                tally.prompt(chat.assemble(asked.text, max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout))
                chat.remember(asked)
                if tools:
                    _call_tools(chat, tally, row // 2, layout)
                chat.remember(said(turns[row + 1], Role.ASSISTANT, speaker))
            for question, answer, gold in eligible(conversation):
                context = chat.assemble(question, max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout)
                tally.check(context)
                found = holds(context.text, answer)
                tally.answers.append(found)
                if gold:
                    tally.gold.append(found)
                if not found:
                    tally.missed.append({"question": question, "answer": answer, "gold": gold, "prompt": repr(context)})
    return tally


def _call_tools(chat: ScopedMemory, tally: Tally, number: int, layout: Layout) -> None:
    """Every third exchange has a call, every sixth two at once, every ninth two rounds; a prompt follows each round."""
    if (number + 1) % 3:
        return
    for step in range(2 if not (number + 1) % 9 else 1):
        _round(chat, f"{number}.{step}", parallel=not (number + 1) % 6)
        tally.prompt(chat.assemble(max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout))


def _round(chat: ScopedMemory, name: str, *, parallel: bool, long: int = 1) -> None:
    ids = [f"call_{name}.{part}" for part in range(2 if parallel else 1)]
    calls = [{"id": id_, "name": "search_orders", "arguments": {"query": f"order {id_}", "limit": 5}} for id_ in ids]
    chat.remember({"role": "assistant", "content": "", "tool_calls": calls})
    for id_ in ids:
        found = {"order": id_, "status": "shipped", "carrier": "north", "items": ["lamp", "desk", "chair"] * long}
        chat.remember({"role": "tool", "tool_call_id": id_, "content": json.dumps(found)})


def agentic(data: Path, embedder: Any, *, layout: Layout = "stable") -> Tally:
    """The long agentic replay."""
    tally = Tally()
    turns = next(load(data, "locomo"))["turns"]
    with open_memory(MemoryConfig(url="memory://"), embedder=embedder) as memory:
        chat = memory.scoped(user="u", session="s")
        for row in range(0, 20, 2):
            tally.prompt(chat.assemble(turns[row]["text"], max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout))
            chat.remember([said(turns[row], Role.USER, "text"), said(turns[row + 1], Role.ASSISTANT, "text")])
        for number in range(6):
            chat.remember(f"Task {number}: check all open orders of the lamp shop and tell me which are late.")
            tally.prompt(chat.assemble(max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout))
            for step in range(15):
                _round(chat, f"{number}.{step}", parallel=not (step + 1) % 3, long=20)
                tally.prompt(chat.assemble(max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout))
            chat.remember(f"Task {number} is done: nothing is late.", role="assistant")
    return tally


def run(data: Path, embedder: Any, limit: int | None) -> Iterator[Table]:
    """Both replays."""
    table = Table(f"Replay: the first {TURNS} turns at {MAX_TOKENS} tokens", COLUMNS)
    ways: list[tuple[str, dict[str, Any]]] = [
        ("stable, speaker in the text", {"speaker": "text"}),
        ("stable, speaker as name", {"speaker": "name"}),
        ("stable, no speaker", {"speaker": "none"}),
        ("classic, speaker in the text", {"speaker": "text", "layout": "classic"}),
        ("stable, with tools", {"speaker": "text", "tools": True}),
        ("classic, with tools", {"speaker": "text", "tools": True, "layout": "classic"}),
    ]
    for name, options in ways:
        table.rows.append(replayed(data, embedder, limit=limit, **options).row(name))
    if limit is None:
        keys = ("memory", "reuse", "median", "cached/sent", "mean", "max", "answers", "in gold")
        table.rows += [dict(zip(keys, (f"elsewhere: {name}", *figures), strict=True)) for name, *figures in ELSEWHERE]
    yield table
    long = Table("Agentic replay: 10 exchanges, then 6 turns with 15 rounds of calls", COLUMNS)
    for name in ("stable", "classic"):
        long.rows.append(agentic(data, embedder, layout=name).row(name))  # type: ignore[arg-type]
    yield long
