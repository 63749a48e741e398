"""What a flow works with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hybrid_memory.arrays import Floats
from hybrid_memory.blocks.kept import KeptBlocks
from hybrid_memory.config import MemoryConfig
from hybrid_memory.context.shortening import Costs, Shown
from hybrid_memory.facts.currency import Outdated
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.port import FactExtractor
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.items.kept import KeptItems
from hybrid_memory.log.port import Clock, EventLog, Expiring, IdSource
from hybrid_memory.log.visible import Horizon, Stretches
from hybrid_memory.models.port import Embedder, LanguageModel, MediaEmbedder, Ranker, TextCompressor
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.counting import Counts
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.standing import Standing
from hybrid_memory.text.tokens import TokenCounter

SHOWN_CACHE = 8192
WARNED_CACHE = 1024
FACTS_CACHE = 256
STANDINGS_CACHE = 4096
PASSAGES_CACHE = 2048
ITEMS_CACHE = 64
ANSWERS_CACHE = 1024
BLOCKS_CACHE = 1024

FactsKey: TypeAlias = tuple[Scope, Stretches, Horizon | None]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What an owner's claims come to.

    Attributes:
        mark: the last events that it follows from.
        told: position of each claim's turn, ascending, with its session; a claim that settles is of none.
    """

    mark: tuple[int, ...]
    facts: list[Fact]
    outdated: Outdated
    told: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class Services:
    """The ports of one memory.

    ``shown`` remembers how messages of the log stand in prompts, and their tokens.

    Without an embedder recall works on words alone; without a language model and a compressor every summary is
    deterministic.

    Attributes:
        log: what is to be seen of the events; ``truth`` is all of them.
        hidden, horizon: what is not seen, and how far a view of the past reaches; ``viewed`` once both are known.
        superseded: the hidden messages that were edited or said anew: their ids by position.
        warned: budgets that were too small, which are told once.
        rules, reader: who reads claims from turns; the reader asks the language model.
        portraits: profiles as prompts show them, and what users are called.
        facts: what is known, by owner and view.
        standings: who may do what, by space.
        passages: vectors of texts that are no memories, by embedder and text.
        items: what applications keep, by owner; blocks: of working context, by owner and view.
        embeddings: vectors of queries and texts.
        answers: what recall found lately.
        uses: which records it found since this was noted last, by owner.
        outbox: takes what is said while the log cannot be reached; archive: moves old messages out of the log.
        donor: an index that may have vectors of the same texts.
        statistics: what was done, and how long it took.
        read_only: nothing is written, indexed or learned.
        author, trusted: in a space, who writes through this handle, and whether that needs no approval.
    """

    log: EventLog
    index: SemanticIndex
    embedder: Embedder | None
    clock: Clock
    new_id: IdSource
    config: MemoryConfig
    count: TokenCounter
    ranker: Ranker
    language_model: LanguageModel | None = None
    compressor: TextCompressor | None = None
    shown: LruCache[tuple[object, ...], Shown] = field(default_factory=lambda: LruCache(SHOWN_CACHE))
    rules: FactExtractor | None = None
    reader: FactExtractor | None = None
    profile: type[UserProfile] = UserProfile
    facts: LruCache[FactsKey, Knowledge] = field(default_factory=lambda: LruCache(FACTS_CACHE))
    portraits: LruCache[tuple[Any, ...], str] = field(default_factory=lambda: LruCache(FACTS_CACHE))
    horizon: Horizon | None = None
    hidden: Stretches = ()
    superseded: Mapping[int, str] = field(default_factory=dict)
    warned: LruCache[tuple[Scope, int], bool] = field(default_factory=lambda: LruCache(WARNED_CACHE))
    viewed: bool = False
    whole: EventLog | None = None
    standings: LruCache[Scope, Standing] = field(default_factory=lambda: LruCache(STANDINGS_CACHE))
    passages: LruCache[bytes, Floats] = field(default_factory=lambda: LruCache(PASSAGES_CACHE))
    items: LruCache[Scope, KeptItems] = field(default_factory=lambda: LruCache(ITEMS_CACHE))
    blocks: LruCache[FactsKey, KeptBlocks] = field(default_factory=lambda: LruCache(BLOCKS_CACHE))
    embeddings: LruCache[bytes, Floats] = field(default_factory=lambda: LruCache(0))
    answers: LruCache[Hashable, Any] = field(default_factory=lambda: LruCache(ANSWERS_CACHE))
    uses: Counts[Scope] = field(default_factory=Counts)
    outbox: EventLog | None = None
    archive: Expiring | None = None
    donor: SemanticIndex | None = None
    statistics: Statistics = field(default_factory=Statistics)
    media: SemanticIndex | None = None
    media_embedder: MediaEmbedder | None = None
    read_only: bool = False
    author: str = ""
    trusted: bool = True

    @property
    def truth(self) -> EventLog:
        """The log with what a rollback hides."""
        return self.log if self.whole is None else self.whole

    @property
    def costs(self) -> Costs:
        """What messages take in a prompt."""
        return Costs(self.count, self.shown)
