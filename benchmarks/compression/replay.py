"""Prompts along a conversation: how much of each the one before had, whether it is valid, and what it can answer.

The first 200 turns of LoCoMo conversations, as alternating messages of user and assistant; the prompt for a turn of the
user is asked for before the turn is remembered. After turn 200 each question is asked whose answer is no adversarial
one, has 3 characters or more, stands literally in these turns, and not in the question. ``stable`` and ``classic`` are
the layouts of prompts: what is recalled stays with its turn, or stands in the system message.

reuse is the common token prefix with the prompt before, by its tokens; cached / sent is the same over all tokens sent.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llama_index.core.utils import get_tokenizer

from benchmarks.sets import IDENTITY, MAX_TOKENS, load
from benchmarks.tables import Table
from hybrid_memory import Context, MemoryConfig, Message, Role, open_memory
from hybrid_memory.context.layout import Layout
from hybrid_memory_evaluation.probing.probe import holds
from hybrid_memory_evaluation.replaying import faults

TURNS = 200
LAYOUTS: tuple[Layout, ...] = ("stable", "classic")
COLUMNS = ("layout", "reuse", "cached/sent", "mean", "max", "over", "answers", "n", "prompts", "invalid")


@dataclass(slots=True)
class Tally:
    """What the prompts of a replay came to."""

    reuse: list[float] = field(default_factory=list)
    common: int = 0
    tokens: list[int] = field(default_factory=list)
    over: int = 0
    faults: list[str] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)
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
        self.check(context)

    def check(self, context: Context) -> None:
        """Count what is wrong with a prompt."""
        self.over += max(context.tokens, len(encoded(context))) > context.max_tokens
        self.faults += faults(context.as_dicts())

    def row(self, layout: str) -> dict[str, Any]:
        """As a row of the table."""
        return {
            "layout": layout, "reuse": statistics.fmean(self.reuse), "cached/sent": self.common / sum(self.tokens),
            "mean": round(statistics.fmean(self.tokens)), "max": max(self.tokens), "over": self.over,
            "answers": statistics.fmean(self.answers), "n": len(self.answers), "prompts": len(self.tokens),
            "invalid": len(self.faults), "faults": self.faults[:20],
        }  # fmt: skip


def encoded(context: Context) -> list[int]:
    """The tokens of a prompt as it is sent: role, name and words of each message."""
    parts = [f"{message.role} {message.name or ''}: {message.text}" for message in context.messages]
    tokens: list[int] = get_tokenizer()("\n\n".join(parts))
    return tokens


def eligible(conversation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Questions and answers."""
    everything = "\n".join(turn["text"] for turn in conversation["turns"][:TURNS])
    for question in conversation["questions"]:
        asked, answer = question["question"], str(question["answer"] or "")
        if question["category"] == "adversarial" or question.get("bad") or len(answer) < 3:
            continue
        if holds(everything, answer) and not holds(asked, answer):
            yield asked, answer


def said(turn: dict[str, Any], role: Role) -> Message:
    """A turn as a message, its speaker in front of the words."""
    return Message(role=role, content=f"{turn['speaker']}: {turn['text']}")


def replayed(data: Path, embedder: Any, limit: int | None, layout: Layout) -> Tally:
    """The tally over the conversations."""
    tally = Tally()
    for conversation in load(data, "locomo", limit):
        with open_memory(MemoryConfig(url="memory://"), embedder=embedder) as memory:
            chat = memory.scoped(user="u", session="s")
            tally.before = None
            turns = conversation["turns"][:TURNS]
            for row in range(0, len(turns) - 1, 2):
                asked = said(turns[row], Role.USER)
                tally.prompt(chat.assemble(asked.text, max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout))
                chat.remember([asked, said(turns[row + 1], Role.ASSISTANT)])
            for question, answer in eligible(conversation):
                context = chat.assemble(question, max_tokens=MAX_TOKENS, identity=IDENTITY, layout=layout)
                tally.check(context)
                tally.answers.append(holds(context.text, answer))
    return tally


def run(data: Path, embedder: Any, limit: int | None) -> Iterator[Table]:
    """A row for each layout."""
    table = Table(f"Replay: the first {TURNS} turns at {MAX_TOKENS} tokens", COLUMNS)
    table.rows = [replayed(data, embedder, limit, layout).row(layout) for layout in LAYOUTS]
    yield table
