"""Whether literal facts of the beginning of a chat are still in the prompt after many compactions.

A conversation with facts is remembered; then turns of other conversations follow in 30 equal portions (LoCoMo in
English, meetings in Chinese), each followed by `compact()`. After 1, 3, 10 and 30 of them every question is asked of a
copy of the store with 2,000 tokens, once with recall and once with ``k=0``, which leaves what the summary keeps.
*found* is the share of questions whose prompt holds the fact; of several keys of one question the mean share, of
alternatives any. The question's own words don't count.
"""

import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.sets import IDENTITY, MAX_TOKENS, copied, count_tokens, dialogue, load
from benchmarks.tables import Table
from hybrid_memory import CompactionConfig, MemoryConfig, Message, ScopedMemory, open_memory
from hybrid_memory.context.layout import RECALLED_TURNS
from hybrid_memory_evaluation.probing.probe import holds

STEPS = 30
AFTER = (1, 3, 10, 30)
PORTION = 12
METHODS = {"recall": RECALLED_TURNS, "k=0": 0}

Found = dict[tuple[str, int], list[float]]
"""Shares by method and number of compactions."""


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
        asked = [question for question in one["questions"] if not question.get("bad") and question.get("keys")]
        yield Chat(messages, [Probe(question["question"], tuple(question["keys"])) for question in asked])


SETS = {"bfcl_memory": (bfcl, "locomo"), "memorybank_zh": (memorybank, "vcsum_dev")}
"""The sets, and whose turns follow."""


def measure(chat: Chat, filler: Sequence[Message], embedder: Any, found: Found) -> None:
    """Count one chat."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chat.db"
        compaction = CompactionConfig(max_tokens=MAX_TOKENS)
        config = MemoryConfig(url=f"sqlite:///{file}", power_safe=False, compaction=compaction)
        with open_memory(config, embedder=embedder, token_counter=count_tokens) as memory:
            owner = memory.scoped(user="u", session="s")
            owner.remember(chat.messages)
            for step in range(1, STEPS + 1):
                owner.remember(list(filler[(step - 1) * PORTION : step * PORTION]))
                owner.compact()
                if step in AFTER:
                    owner.flush(progress=False)
                    copy = copied(file, f"after{step}.db")
                    there = config.model_copy(update={"url": f"sqlite:///{copy}"})
                    with open_memory(there, embedder=embedder, token_counter=count_tokens) as then:
                        _ask(then.scoped(user="u", session="s"), chat.probes, step, found)


def _ask(owner: ScopedMemory, probes: Sequence[Probe], step: int, found: Found) -> None:
    """Ask every question without recall, then with it: what was recalled for a question stays with it."""
    for method, k in reversed(METHODS.items()):
        for probe in probes:
            prompt = owner.assemble(probe.question, max_tokens=MAX_TOKENS, identity=IDENTITY, k=k).text
            found[method, step].append(probe.found(prompt.removesuffix(probe.question)))


def run(data: Path, embedder: Any, limit: int | None) -> Iterator[Table]:
    """A table for each set."""
    for name, (chats_of, others) in SETS.items():
        turns = [turn for one in load(data, others) for turn in one["turns"] if turn["text"].strip()]
        filler = dialogue(turns[: STEPS * PORTION], prefix="filler")
        chats, found = list(chats_of(data, limit)), defaultdict[tuple[str, int], list[float]](list)
        for chat in tqdm(chats, desc=name, disable=None):
            measure(chat, filler, embedder, found)
        embedder.save()
        questions = sum(len(chat.probes) for chat in chats)
        table = Table(
            f"Survival: {name}, {len(chats)} chats, {questions} questions, found after n compactions",
            ["method", *map(str, AFTER)],
        )
        for method in METHODS:
            shares = {str(after): statistics.fmean(found[method, after]) for after in AFTER}
            table.rows.append({"method": method} | shares)
        yield table
