"""Prompts: what each has of the one before, whether it is valid, within its budget, and what it can answer.

The replays are those of `benchmarks.compression.replay`, driven over other memories as over ours: the first 200 turns
of the LoCoMo conversations, the same with calls of tools, and the agentic one; 2,000 tokens. A memory whose limit is
for the history alone gets 1,800 of them, which leaves room for the identity and the question, and where it does not
count its summary, 1,200. No model writes: where a peer summarises, its summary is the first 200 characters of each
message, of these the newest 600 tokens; ours summarises by its own extraction. A better summary would raise answers,
but not reuse, validity or budget.

reuse: the common token prefix with the prompt before, by its tokens; over: prompts beyond the budget; invalid: prompts
that a provider would refuse; orphans: those with a result without its call, or a call without its result; answers: the
share of the questions whose answer stands in the prompt; in gold: of those whose answer stands in a turn of the
evidence. equal work: whether the memory recalls older turns, as ours does, or only keeps and summarises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.compression import replay
from benchmarks.compression.sets import MAX_TOKENS, CachedEmbedder, Table

OURS = "ours"
MEMORIES: dict[str, tuple[str, Mapping[str, Any], bool]] = {
    "LangChain trim_messages": ("Trimmed", {}, False),
    "LangChain trim_messages(start_on=human)": ("Trimmed", {"start_on": "human"}, False),
    "LangChain SummarizationMiddleware(20 messages)": ("Middleware", {"keep": ("messages", 20)}, False),
    "LangChain SummarizationMiddleware(1000 tokens)": ("Middleware", {"keep": ("tokens", 1000)}, False),
    "LangChain ConversationSummaryBufferMemory": ("SummaryBuffer", {}, False),
    "LlamaIndex Memory": ("LlamaIndexMemory", {}, False),
    "LlamaIndex Memory(flush 500)": ("LlamaIndexMemory", {"token_flush_size": 500}, False),
    "LlamaIndex Memory+VectorMemoryBlock": ("LlamaIndexMemory", {}, True),
    "LlamaIndex Memory+VectorMemoryBlock(flush 500)": ("LlamaIndexMemory", {"token_flush_size": 500}, True),
}
"""The class in `chats`, its options, and whether it takes the embedder, to recall older turns."""

REPLAYS: dict[str, Callable[[Path, Any, int | None], replay.Tally]] = {
    "the first 200 turns of LoCoMo": lambda data, embedder, limit: replay.replayed(data, embedder, limit=limit),
    "the same with tools": lambda data, embedder, limit: replay.replayed(data, embedder, limit=limit, tools=True),
    "the agentic replay": lambda data, embedder, _limit: replay.agentic(data, embedder),
}
HIGHER, LOWER = ("reuse", "answers", "in gold"), ("over", "invalid", "orphans")
COLUMNS = (
    "memory", "equal work", "reuse", "cached/sent", "mean", "max", "over", "invalid", "orphans", "answers", "in gold",
    "prompts", "reuse to ours", "answers to ours", "better than ours",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompting:
    """A row of the tables."""

    name: str
    group: str = field(default="library")


def entries(only: list[str]) -> list[Prompting]:
    """Ours, and the memories with one of the words in their name."""
    names = [name for name in MEMORIES if not only or any(word.lower() in name.lower() for word in only)]
    return [Prompting(OURS), *(Prompting(name, "llamaindex" if "Llama" in name else "langchain") for name in names)]


def work(job: dict[str, Any], _entry: Any) -> dict[str, Any]:
    """In the memory's own process: its rows, by replay."""
    name = job["system"]
    embedder = CachedEmbedder(Path(job["cache"]))
    rows: dict[str, Any] = {}
    try:
        for title, drive in REPLAYS.items():
            with opened(name, embedder):
                tally = drive(Path(job["data"]), embedder, job["limit"])
            row = tally.row(name) | {"orphans": sum("its" in fault for fault in tally.faults)}
            rows[title] = {key: value for key, value in row.items() if key not in ("missed", "faults", "n", "gold")}
    finally:
        embedder.save()
    return rows


def opened(name: str, embedder: Any) -> Any:
    """While it lasts, the replays open this memory."""
    if name == OURS:
        return nullcontext()
    chats: Any = __import__("benchmarks.peers.chats", fromlist=["Chat"])
    kind, options, recalls = MEMORIES[name]
    given = {"embedder": embedder, **options} if recalls else options
    return mock.patch.object(replay, "open_memory", side_effect=lambda *_, **__: getattr(chats, kind)(**given))


def run(job: dict[str, Any], ask: Callable[[dict[str, Any], Any], dict[str, Any]]) -> Iterator[Table]:
    """A table for each replay."""
    answered = {
        entry.name: ask({**job, "measure": "prompts", "of": "replays"}, entry) for entry in entries(job["only"])
    }
    failures = [f"not measured: {name}: {found['failed']}" for name, found in answered.items() if "failed" in found]
    for title in REPLAYS:
        made = Table(f"Prompts along {title}, {MAX_TOKENS} tokens", COLUMNS, note="\n".join(failures))
        rows = {name: found[title] for name, found in answered.items() if "failed" not in found}
        made.rows = [compared(row, rows.get(OURS)) for row in rows.values()]
        yield made


def compared(row: dict[str, Any], ours: dict[str, Any] | None) -> dict[str, Any]:
    """The row beside ours."""
    name = row["memory"]
    row = row | {"equal work": "yes" if name == OURS or MEMORIES[name][2] else "no"}
    if ours is None:
        return row
    higher = [key for key in HIGHER if row[key] is not None and row[key] > ours[key]]
    lower = [key for key in LOWER if row[key] < ours[key]]
    shares = {f"{key} to ours": round(row[key] / ours[key], 2) for key in ("reuse", "answers") if ours[key]}
    return row | shares | {"better than ours": ", ".join([*higher, *lower]) or "no"}
