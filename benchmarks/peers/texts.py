"""Turns, questions and vectors made from numbers: any amount, the same every time, and nobody's words.

Words are drawn as often as words of a language are: the first are English, the others made of syllables. A turn has
some twenty, every tenth begins with a sentence that tells a fact, and its last word is its topic. A question has words
of a turn that there is, and its topic. The vectors of a topic lie around a direction of their own.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.peers.systems import Turn
from hybrid_memory.models.embedders import unit_rows
from hybrid_memory.ports import Floats

SEED = 7
COMMON = (
    "the to and a of i you it in that is was for on my me we with have so but just what be are at this not do like "
    "know he she they had there his her from your all can about get when out then up would think one time if really "
    "some how were been more did go very our by an as too could or see good new last week day home work people again "
    "still"
).split()
SYLLABLES = [first + then for first, then in product("bdfgklmnprstvz", "aeiou")]
FACTS = ("I live in {}.", "I work as a {}.", "My sister is called {}.", "I like {}.", "I have a dog called {}.")
VOCABULARY, TOPICS, LENGTH, ASKED, SESSION = 50_000, 2_000, 20, 7, 1_000
MARK = "</message>"
"""What stands behind a turn that ours embeds."""

NEAR = 1.0
"""How far vectors are from the direction of their topic, which is as long as 1 a dimension."""


def words() -> list[str]:
    """The vocabulary, the most frequent first."""
    made = ["".join(parts) for parts in product(SYLLABLES, repeat=3)]
    np.random.default_rng(SEED).shuffle(made)
    return COMMON + made[: VOCABULARY - len(COMMON)]


class Corpus:
    """What owners say and ask."""

    def __init__(self) -> None:
        self._words = np.array(words())
        shares = 1 / (np.arange(VOCABULARY) + 2.7)
        self._reach = np.cumsum(shares / shares.sum())

    def texts(self, owner: int, first: int, count: int) -> list[str]:
        """What an owner says, from the first of these on; a thousand have one seed."""
        found: list[str] = []
        for block in range(first // SESSION, (first + count - 1) // SESSION + 1):
            start = block * SESSION
            found += self._block(owner, block)[max(first - start, 0) : first + count - start]
        return found

    def _block(self, owner: int, block: int) -> list[str]:
        chance = np.random.default_rng([SEED, owner, block])
        lengths = np.clip(chance.lognormal(np.log(LENGTH), 0.5, SESSION), 4, 4 * LENGTH).astype(int)
        drawn = self._words[np.searchsorted(self._reach, chance.random(int(lengths.sum())))]
        texts = [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]
        for row in range(0, SESSION, 10):
            told = FACTS[row // 10 % len(FACTS)].format(texts[row].split()[-1].capitalize())
            texts[row] = f"{told} {texts[row]}"
        return texts

    def turns(self, owner: int, first: int, count: int) -> list[Turn]:
        """The same as turns; their ids are opaque."""
        return [
            Turn(f"{owner}-{number}", "user", text, session=f"s{number // SESSION}", owner=f"u{owner}")
            for number, text in enumerate(self.texts(owner, first, count), first)
        ]

    def questions(self, owner: int, turns: int, count: int) -> list[tuple[str, str]]:
        """Questions about some of the first turns of an owner, and the ids of these."""
        chance = np.random.default_rng([SEED, owner, turns, 1])
        asked = []
        for number in chance.integers(0, turns, count):
            said = self.texts(owner, int(number), 1)[0].split()
            picked = chance.choice(said, min(ASKED, len(said)), replace=False)
            asked.append((f"What about {' '.join(picked)} {said[-1]}", f"{owner}-{number}"))
        return asked


@dataclass
class Clustered:
    """Vectors around the direction of the last word, made in microseconds."""

    name = "benchmark-clustered"
    dim = 384

    def __post_init__(self) -> None:
        chance = np.random.default_rng(SEED)
        self._centres = chance.standard_normal((TOPICS, self.dim), dtype=np.float32)
        noise = chance.standard_normal(1 << 20, dtype=np.float32) * np.float32(NEAR)
        self._noise = np.lib.stride_tricks.sliding_window_view(noise, self.dim)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows."""
        said = [text.removesuffix(MARK) for text in texts]
        topics = [zlib.crc32(text.rpartition(" ")[2].encode()) % TOPICS for text in said]
        places = [zlib.crc32(text.encode()) % len(self._noise) for text in texts]
        return unit_rows(self._centres[topics] + self._noise[places])

    def embed_query(self, text: str) -> Floats:
        """A unit vector."""
        row: Floats = self.embed_documents([text])[0]
        return row


@dataclass(frozen=True, slots=True)
class Shape:
    """How much there is: of one owner, or of many with the same number of turns each."""

    owners: int
    turns: int

    @classmethod
    def of(cls, text: str) -> Shape:
        """``10000``, or ``10000x1000`` for so many owners with a thousand each."""
        owners, _, turns = text.rpartition("x")
        return cls(int(owners or 1), int(turns))

    def __str__(self) -> str:
        return f"{self.turns:,} turns" if self.owners == 1 else f"{self.owners:,} owners with {self.turns:,} turns"

    @property
    def total(self) -> int:
        """Turns of all."""
        return self.owners * self.turns

    def batches(self, size: int) -> Iterator[list[tuple[int, int, int]]]:
        """Parts of so many turns, each as (owner, first, count)."""
        if self.turns >= size:
            for owner in range(self.owners):
                for first in range(0, self.turns, size):
                    yield [(owner, first, min(size, self.turns - first))]
            return
        each = size // self.turns
        for owner in range(0, self.owners, each):
            yield [(one, 0, self.turns) for one in range(owner, min(owner + each, self.owners))]
