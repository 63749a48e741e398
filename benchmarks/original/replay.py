"""A chat, said turn by turn to a plain window and to this library."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.original.chats import Chat, Fact
from benchmarks.sets import IDENTITY, MAX_TOKENS, copied, count_tokens
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
        self._vectors = np.empty((size, len(embedder.embed_query("width"))), dtype=np.float32)
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
        found: the share of its answers.
        tokens: of the prompt; used: of its system message, and of evidence turns in the rest.
    """

    found: float
    tokens: int
    used: int


def judged(prompt: Sequence[Message], fact: Fact, evidence: Sequence[str]) -> Prompt:
    """The prompt for the question of a fact, whose words do not count; the question is the end of the last message."""
    system = [message for message in prompt if message.role is Role.SYSTEM]
    texts = [message.text for message in prompt if message.role is not Role.SYSTEM]
    texts[-1] = texts[-1].removesuffix(fact.question)
    body = "\n".join(texts)
    whole = "\n".join([*(message.text for message in system), body])
    standing = sum(message_tokens(message, count_tokens) for message in system)
    return Prompt(
        found=statistics.fmean(holds(whole, key) for key in fact.keys),
        tokens=tokens_of(prompt),
        used=standing + sum(literal_tokens(body, text) for text in evidence),
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
    """What a replay came to: prompts for questions and seconds of recalls by side, and hits and misses of the cache."""

    prompts: dict[str, list[Prompt]] = field(default_factory=lambda: {BEFORE: [], AFTER: []})
    spent: dict[str, list[float]] = field(default_factory=lambda: {BEFORE: [], AFTER: []})
    requests: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        for side in (BEFORE, AFTER):
            self.prompts[side] += other.prompts[side]
            self.spent[side] += other.spent[side]
        self.requests += other.requests


class Replay:
    """One chat, said to both sides turn by turn."""

    def __init__(self, chat: Chat, embedder: Embedder, folder: Path) -> None:
        self.tally = Tally()
        self._chat = chat
        self._embedder = embedder
        self._file = folder / "chat.db"
        self._plain = Plain(embedder, len(chat.messages))

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
                    memory.flush(progress=False)
                    self._recall(owner, message.text)
                    owner.assemble(message.text, max_tokens=MAX_TOKENS, identity=IDENTITY)
                owner.remember(message)
                self._plain.remember(message)
                if rounds[row] in due and (row + 1 == len(rounds) or rounds[row + 1] > rounds[row]):
                    memory.flush(progress=False)
                    self._questions(owner, due[rounds[row]])
            cache = memory.work.caches["embeddings"]
            self.tally.requests.update(hits=cache.hits, misses=cache.misses)
        return self.tally

    def _questions(self, owner: ScopedMemory, facts: Sequence[Fact]) -> None:
        copy = copied(self._file, "copy.db")
        with self._opened(copy) as then:
            asked = then.scoped(user="u", session="s")
            for fact in facts:
                self._judge(asked, fact)
        for left in copy.parent.glob("copy.db*"):
            left.unlink()
        for fact in facts:
            self._recall(owner, fact.question)

    def _judge(self, owner: ScopedMemory, fact: Fact) -> None:
        evidence = [self._chat.messages[row].text for row in fact.evidence]
        context = owner.assemble(fact.question, max_tokens=MAX_TOKENS, identity=IDENTITY)
        self.tally.prompts[AFTER].append(judged(context.messages, fact, evidence))
        self.tally.prompts[BEFORE].append(judged(self._plain.prompt(fact.question), fact, evidence))

    def _recall(self, owner: ScopedMemory, words: str) -> None:
        sides: list[tuple[str, Callable[[], object]]] = [
            (BEFORE, lambda: self._plain.recall(words)),
            (AFTER, lambda: owner.recall(words, k=K)),
        ]
        calls = len(self.tally.spent[BEFORE])
        for side, recall in sides if calls % 2 else reversed(sides):  # whoever comes later finds a warmer processor
            began = time.perf_counter()
            recall()
            self.tally.spent[side].append(time.perf_counter() - began)
