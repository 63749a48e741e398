"""The services that every flow works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from hybrid_memory.config import MemoryConfig
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import Origin
from hybrid_memory.log.port import Clock, Draft, EventLog, IdSource
from hybrid_memory.log.views import ArchivedLog, Horizon
from hybrid_memory.models.port import Embedder, LanguageModel, TextCompressor
from hybrid_memory.models.rerankers import WrappedReranker
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tracing import Tracer
from hybrid_memory.text.tokens import TokenCounter

T = TypeVar("T")


@dataclass(slots=True)
class Services:
    """The ports of one memory, and the state shared by all its users.

    Without an embedder, recall works with words alone. Without a language model and a compressor, every summary is
    deterministic.

    Attributes:
        log: all events; in a `View`, those that are visible.
        outbox: stores messages while the log is unreachable; archive: moves old messages out of the log.
        states: the state of each concept, one object per type; see `state`.
        statistics: what was done, and how long it took.
        tracers: receive a span of each operation; one list, shared by everything made from these services.
        read_only: nothing is written, indexed or learned.
        horizon: the end of a view of the past.
        author: in a space, who writes through this object.
        speaks: the highest origin of what they write.
    """

    log: EventLog
    index: SemanticIndex
    embedder: Embedder | None
    clock: Clock
    new_id: IdSource
    config: MemoryConfig
    count: TokenCounter
    reranker: WrappedReranker | None = None
    language_model: LanguageModel | None = None
    compressor: TextCompressor | None = None
    outbox: EventLog | None = None
    archive: ArchivedLog | None = None
    states: tuple[object, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    tracers: list[Tracer] = field(default_factory=list)
    read_only: bool = False
    horizon: Horizon | None = None
    author: str = ""
    speaks: Origin = Origin.OPERATOR

    @property
    def truth(self) -> EventLog:
        """The log including what a rollback hides."""
        return self.log

    def state(self, kind: type[T]) -> T:
        """The state of this type; raises `LookupError` if the memory was opened without it."""
        for state in self.states:
            if isinstance(state, kind):
                return state
        raise LookupError(f"this memory was opened without a {kind.__name__}")

    def draft(
        self,
        kind: EventKind,
        payload: dict[str, Any],
        *,
        id: str | None = None,  # noqa: A002 - as in `Draft`
        session: str | None = None,
        sources: tuple[str, ...] = (),
        author: str = "",
    ) -> Draft:
        """An event dated now, with a new id unless one is given."""
        return Draft(
            id=self.new_id() if id is None else id,
            fixed_id=False,
            session=session,
            kind=kind,
            at=self.clock(),
            payload=payload,
            sources=sources,
            author=author,
        )
