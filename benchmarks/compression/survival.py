"""Whether literal facts of the beginning of a chat are still in the prompt after many compactions.

A conversation with facts is remembered; then turns of other conversations follow in 30 equal portions (LoCoMo in
English, meetings in Chinese), the same for every method, each followed by `compact()`. After 1, 3, 10 and 30 of them
every question is asked of a copy of the store with 2,000 tokens, once with recall and once with ``k=0``, which leaves
what the summary keeps. *found* is the share of questions whose prompt holds the fact; of several keys of one question
the mean share, of alternatives any. The question's own words don't count.

sliding window: the newest messages that fit the same budget. expands: evicted stretches that come back word by word.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.sets import IDENTITY, MAX_TOKENS, count_tokens, dialogue, load
from benchmarks.tables import Table
from hybrid_memory import CompactionConfig, MemoryConfig, Message, ScopedMemory, open_memory
from hybrid_memory.context.layout import RECALLED_TURNS
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_evaluation.methods import COMPARED
from hybrid_memory_evaluation.probing.probe import holds

STEPS = 30
AFTER = (1, 3, 10, 30)
PORTION = 12
STRATEGIES = ("anchored", "regenerate", "compact", "recursive", "window")
RECALL, ALONE, SLIDING = "recall", "k=0", "sliding window"


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with the strings to look for: the share of ``keys``, or any of them."""

    question: str
    keys: tuple[str, ...]
    any_of: bool = False

    def found(self, prompt: str) -> float:
        """The share that the prompt holds, in [0, 1]."""
        there = [holds(prompt, key) for key in self.keys]
        return float(any(there)) if self.any_of else statistics.fmean(there)


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation with its questions."""

    messages: list[Message]
    probes: list[Probe]


@dataclass(slots=True)
class Tally:
    """What was found: shares by method and number of compactions."""

    found: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    stretches: int = 0
    exact: int = 0
    gaps: int = 0
    over: int = 0


def bfcl(data: Path, limit: int | None) -> Iterator[Chat]:
    """Facts that the user told a service or a notebook."""
    for one in load(data, "bfcl_memory", limit):
        messages = [Message(content=turn["text"], id=f"fact{row}") for row, turn in enumerate(one["turns"])]
        everything = "\n".join(turn["text"] for turn in one["turns"])
        probes = [Probe(q["question"], tuple(q["keys_any"]), any_of=True) for q in one["questions"]]
        yield Chat(messages, [probe for probe in probes if probe.found(everything)])


def memorybank(data: Path, limit: int | None) -> Iterator[Chat]:
    """Chinese chats with a companion."""
    for one in load(data, "memorybank_zh", limit):
        messages = dialogue(one["turns"], prefix="fact")
        probes = [
            Probe(q["question"], tuple(q["keys"])) for q in one["questions"] if not q.get("bad") and q.get("keys")
        ]
        yield Chat(messages, probes)


def fillers(data: Path, *, chinese: bool) -> list[Message]:
    """The turns that follow, the same for every method."""
    turns = [turn for one in load(data, "vcsum_dev" if chinese else "locomo") for turn in one["turns"]]
    return dialogue([turn for turn in turns if turn["text"].strip()][: STEPS * PORTION], prefix="filler")


def measure(chat: Chat, filler: Sequence[Message], strategy: str, embedder: Any, tally: Tally) -> None:
    """Count one chat under one strategy."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chat.db"
        compaction = CompactionConfig(strategy=COMPARED[strategy], max_tokens=MAX_TOKENS)
        config = MemoryConfig(url=f"sqlite:///{file}", power_safe=False, compaction=compaction)
        with open_memory(config, embedder=embedder, token_counter=count_tokens) as memory:
            owner = memory.scoped(user="u", session="s")
            owner.remember(chat.messages)
            for step in range(1, STEPS + 1):
                owner.remember(list(filler[(step - 1) * PORTION : step * PORTION]))
                owner.compact()
                if step in AFTER:
                    owner.flush(progress=False)
                    copy = file.with_name(f"after{step}.db")
                    _copy(file, copy)
                    there = config.model_copy(update={"url": f"sqlite:///{copy}"})
                    with open_memory(there, embedder=embedder, token_counter=count_tokens) as then:
                        _ask(then.scoped(user="u", session="s"), chat.probes, strategy, step, tally)
            _expand(owner, [*chat.messages, *filler], tally)


def _copy(file: Path, copy: Path) -> None:
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _ask(owner: ScopedMemory, probes: Sequence[Probe], strategy: str, step: int, tally: Tally) -> None:
    """Ask every question without recall, then with it: what was recalled for a question stays with it."""
    for method, k in ((ALONE, 0), (RECALL, RECALLED_TURNS)):
        prompts: dict[str, str] = {}
        for probe in probes:
            if probe.question not in prompts:
                context = owner.assemble(probe.question, max_tokens=MAX_TOKENS, identity=IDENTITY, k=k)
                tally.over += context.tokens > MAX_TOKENS
                prompts[probe.question] = context.text.removesuffix(probe.question)
            tally.found[f"{strategy}, {method}", step].append(probe.found(prompts[probe.question]))


def _expand(owner: ScopedMemory, said: Sequence[Message], tally: Tally) -> None:
    """Whether each stretch expands to the messages that were remembered, and none that was evicted is missing."""
    rows = {message.id: row for row, message in enumerate(said)}
    found: list[int] = []
    for name in owner.summary().handles:
        messages = owner.expand(name)
        tally.stretches += 1
        tally.exact += all(_same(message, said[rows[message.id]]) for message in messages)
        found += [rows[message.id] for message in messages]
    tally.gaps += found != list(range(len(found)))


def _same(one: Message, other: Message) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ("role", "content", "tool_calls", "tool_call_id"))


def slide(chat: Chat, filler: Sequence[Message], tally: Tally) -> None:
    """Count one chat for the plain sliding window."""
    for step in AFTER:
        said = [*chat.messages, *filler[: step * PORTION]]
        for probe in chat.probes:
            left = MAX_TOKENS - count_tokens(IDENTITY) - count_tokens(probe.question) - 11
            kept: list[str] = []
            for message in reversed(said):
                left -= message_tokens(message, count_tokens)
                if left < 0:
                    break
                kept.insert(0, message.text)
            tally.found[SLIDING, step].append(probe.found("\n\n".join(kept)))


def run(data: Path, embedder: Any, limit: int | None) -> Iterator[Table]:
    """A table for each set."""
    sets: list[tuple[str, list[Chat], bool]] = [
        ("bfcl_memory", list(bfcl(data, limit)), False),
        ("memorybank_zh", list(memorybank(data, limit)), True),
    ]
    for name, chats, chinese in sets:
        filler = fillers(data, chinese=chinese)
        tally = Tally()
        for chat in tqdm(chats, desc=name, disable=None):
            slide(chat, filler, tally)
            for strategy in STRATEGIES:
                measure(chat, filler, strategy, embedder, tally)
        embedder.save()
        yield _table(name, chats, tally)


def _table(name: str, chats: Sequence[Chat], tally: Tally) -> Table:
    questions = sum(len(chat.probes) for chat in chats)
    table = Table(
        f"Survival: {name}, {len(chats)} chats, {questions} questions, found after n compactions",
        ["method", *map(str, AFTER)],
        note=f"{tally.exact} of {tally.stretches} stretches expand word by word, sessions with gaps: {tally.gaps}; "
        f"prompts over budget: {tally.over}",
    )
    methods = [f"{strategy}, {method}" for method in (RECALL, ALONE) for strategy in STRATEGIES]
    for method in [*methods, SLIDING]:
        row: dict[str, Any] = {str(after): statistics.fmean(tally.found[method, after]) for after in AFTER}
        table.rows.append({"method": method} | row)
    return table
