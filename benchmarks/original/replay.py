"""A chat, said turn by turn to a plain window and to this library."""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.original.chats import Chat, Fact
from benchmarks.sets import IDENTITY, MAX_TOKENS, count_tokens
from benchmarks.vectors import KeptVectors
from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.models.embedders import LocalEmbedder
from hybrid_memory.ports import Embedder, Floats
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import PRIMING, message_tokens
from hybrid_memory_evaluation.probing.probe import holds, plain

BEFORE, AFTER = "before", "after"
K = 10
LEAST_TERMS = 3
"""Of a sentence of the evidence, to be known again."""


class Kept(LocalEmbedder):
    """The local embedder, which embeds every query that it is asked for; vectors of turns come from a file."""

    def __init__(self, kept: KeptVectors) -> None:
        super().__init__()
        self._kept = kept

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, 385)."""
        return self._kept.embed_documents(list(texts)) if texts else super().embed_documents(texts)


class Plain:
    """What was before: the messages and their vectors, without any cache."""

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._vectors = np.empty((size, embedder.dim), dtype=np.float32)
        self._said: list[Message] = []

    def remember(self, message: Message) -> None:
        """Embed and keep it."""
        self._vectors[len(self._said)] = self._embedder.embed_documents([message.text])[0]
        self._said.append(message)

    def recall(self, query: str) -> list[Message]:
        """The nearest messages, best first."""
        nearness = self._vectors[: len(self._said)] @ self._embedder.embed_query(query)
        return [self._said[row] for row in np.argsort(-nearness)[:K]]

    def prompt(self, question: str) -> list[Message]:
        """The identity, the newest messages that fit, and the question."""
        system, asked = Message(role=Role.SYSTEM, content=IDENTITY), Message(content=question)
        left = MAX_TOKENS - tokens_of([system, asked])
        window: list[Message] = []
        for message in reversed(self._said):
            left -= message_tokens(message, count_tokens)
            if left < 0:
                break
            window.insert(0, message)
        return [system, *window, asked]


def tokens_of(prompt: Sequence[Message]) -> int:
    """Of a whole prompt, with its framing."""
    return sum(message_tokens(message, count_tokens) for message in prompt) + PRIMING


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt has of a fact.

    Attributes:
        found, shown: shares of its answers that stand anywhere in it, and in a sentence of the evidence.
        tokens: of the prompt; standing: of its system message; evidence: of evidence turns in the rest.
        chosen: of the system message, of what was recalled for the question, and of evidence elsewhere.
    """

    found: float
    shown: float
    tokens: int
    standing: int
    evidence: int
    chosen: int


def judged(prompt: Sequence[Message], fact: Fact, evidence: Sequence[str], note: str = "") -> Prompt:
    """The prompt for the question of a fact, whose words do not count; the question is the end of the last message.

    Args:
        prompt: its messages.
        fact: what is asked for.
        evidence: the turns.
        note: what was recalled for the question.
    """
    system = [message for message in prompt if message.role is Role.SYSTEM]
    texts = [message.text for message in prompt if message.role is not Role.SYSTEM]
    texts[-1] = texts[-1].removesuffix(fact.question)
    body = "\n".join(texts)
    whole = "\n".join([*(message.text for message in system), body])
    everything = plain(whole)
    there = [part for text in evidence for part in sentences(text) if plain(part) and plain(part) in everything]
    standing = sum(message_tokens(message, count_tokens) for message in system)
    elsewhere = body.removesuffix("\n\n").removesuffix(note)
    return Prompt(
        found=statistics.fmean(holds(whole, key) for key in fact.keys),
        shown=statistics.fmean(any(holds(part, key) for part in there) for key in fact.keys),
        tokens=tokens_of(prompt),
        standing=standing,
        evidence=sum(literal_tokens(body, text) for text in evidence),
        chosen=standing + count_tokens(note) + sum(literal_tokens(elsewhere, text) for text in evidence),
    )


def literal_tokens(body: str, text: str) -> int:
    """Tokens of a turn that stand in the body: all of them, or those of its longer sentences that do."""
    there = plain(body)
    if plain(text) in there:
        return count_tokens(text)
    return sum(
        count_tokens(part) for part in sentences(text) if len(terms(part)) >= LEAST_TERMS and plain(part) in there
    )


@dataclass
class Tally:
    """What a replay came to.

    Attributes:
        prompts: by side and depth.
        spent: seconds of recalls, on the clock and of the processor, by side and what was asked for: a ``turn``, a
            ``first`` question, or words that were asked for before, ``again``.
        requests: hits and misses of the cache of embeddings, by what was asked for: turns, questions, writes.
        sections: tokens of the prompts after, by part.
        known: turns whose very words the user had said before; turns: of the user.
    """

    prompts: dict[tuple[str, int], list[Prompt]] = field(default_factory=lambda: defaultdict(list))
    spent: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    requests: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    sections: Counter[str] = field(default_factory=Counter)
    missed: list[dict[str, Any]] = field(default_factory=list)
    chats: int = 0
    turns: int = 0
    known: int = 0

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        for asked, prompts in other.prompts.items():
            self.prompts[asked] += prompts
        for recalled, spent in other.spent.items():
            self.spent[recalled] += spent
        for kind, counted in other.requests.items():
            self.requests[kind] += counted
        self.sections += other.sections
        self.missed += other.missed
        self.chats += other.chats
        self.turns += other.turns
        self.known += other.known


class Replay:
    """One chat, said to both sides turn by turn."""

    def __init__(self, chat: Chat, embedder: Embedder, folder: Path) -> None:
        self.tally = Tally(chats=1)
        self._chat = chat
        self._embedder = embedder
        self._file = folder / "chat.db"
        self._plain = Plain(embedder, len(chat.messages))
        self._asked: set[str] = set()

    def _opened(self, file: Path) -> HybridMemory:
        config = MemoryConfig(
            url=f"sqlite:///{file}", power_safe=False, compaction=CompactionConfig(max_tokens=MAX_TOKENS)
        )
        return open_memory(config, embedder=self._embedder, token_counter=count_tokens)

    def run(self) -> Tally:
        """Play it."""
        rounds, due = self._chat.rounds, self._chat.due()
        with self._opened(self._file) as memory:
            owner = memory.scoped(user="u", session="s")
            for row, message in enumerate(self._chat.messages):
                if message.role is Role.USER:
                    self._pause(memory)
                    self._turn(memory, owner, message.text)
                owner.remember(message)
                self._plain.remember(message)
                if rounds[row] in due and (row + 1 == len(rounds) or rounds[row + 1] > rounds[row]):
                    self._pause(memory)
                    self._questions(memory, owner, due[rounds[row]])
        return self.tally

    def _pause(self, memory: HybridMemory) -> None:
        with self._counted(memory, "writes"):
            memory.flush(progress=False)

    def _turn(self, memory: HybridMemory, owner: ScopedMemory, words: str) -> None:
        self.tally.turns += 1
        self.tally.known += words in self._asked
        with self._counted(memory, "turns"):
            self._recall(owner, words, "again" if words in self._asked else "turn")
            owner.assemble(words, max_tokens=MAX_TOKENS, identity=IDENTITY)

    def _questions(self, memory: HybridMemory, owner: ScopedMemory, due: Sequence[tuple[int, Fact]]) -> None:
        copy = self._file.with_name("copy.db")
        with closing(sqlite3.connect(self._file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        with self._opened(copy) as then:
            asked = then.scoped(user="u", session="s")
            for depth, fact in due:
                self._judge(asked, depth, fact)
        for left in copy.parent.glob("copy.db*"):
            left.unlink()
        for _, fact in due:
            with self._counted(memory, "questions"):
                self._recall(owner, fact.question, "again" if fact.question in self._asked else "first")

    def _judge(self, owner: ScopedMemory, depth: int, fact: Fact) -> None:
        evidence = [self._chat.messages[row].text for row in fact.evidence]
        context = owner.assemble(fact.question, max_tokens=MAX_TOKENS, identity=IDENTITY)
        after = judged(context.messages, fact, evidence, context.note)
        before = judged(self._plain.prompt(fact.question), fact, evidence)
        self.tally.prompts[AFTER, depth].append(after)
        self.tally.prompts[BEFORE, depth].append(before)
        self.tally.sections.update(context.section_tokens)
        if after.found < 1:
            self.tally.missed.append({"question": fact.question, "answers": fact.keys, "rounds": depth})

    def _recall(self, owner: ScopedMemory, words: str, kind: str) -> None:
        sides: list[tuple[str, Callable[[], object]]] = [
            (BEFORE, lambda: self._plain.recall(words)),
            (AFTER, lambda: owner.recall(words, k=K)),
        ]
        calls = len(self.tally.spent[BEFORE, kind])
        for side, recall in sides if calls % 2 else reversed(sides):  # whoever comes later finds a warmer processor
            began, processor = time.perf_counter(), time.process_time()
            recall()
            self.tally.spent[side, kind].append((time.perf_counter() - began, time.process_time() - processor))
        self._asked.add(words)

    @contextmanager
    def _counted(self, memory: HybridMemory, kind: str) -> Iterator[None]:
        """Count what the cache of embeddings is asked for meanwhile."""
        before = memory.work.caches["embeddings"]
        yield
        now = memory.work.caches["embeddings"]
        self.tally.requests[kind].update(hits=now.hits - before.hits, misses=now.misses - before.misses)
