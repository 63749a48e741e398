"""What we ask of the world; engines and models implement these.

Methods block, may be called from any thread, and return lists or arrays, never lazy iterators. A port may also offer
an async twin of a method under the same name with a leading ``a``; the async runner prefers it.
Vectors are float32 unit rows. Contract suites are in `hybrid_memory.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hybrid_memory.types import Claim, Event, EventKind, Message, Record, Scope, Where

Ids: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]

Key: TypeAlias = str | bytes | Callable[[], str | bytes]
"""A passphrase, or the 32 bytes of a key, or what gives one of them when the store is opened."""

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work runs."""


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime:
        """Now; aware."""
        ...


class IdSource(Protocol):
    """Gives ids."""

    def __call__(self) -> str:
        """A new id that sorts after all earlier ones of this process."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no position yet; ``fixed_id`` when the id is the caller's, so that it may be there already."""

    id: str
    fixed_id: bool
    session: str | None
    kind: EventKind
    at: datetime
    payload: dict[str, Any]
    sources: tuple[str, ...] = ()
    author: str = ""


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an event stands; ``fresh`` is False when the same event was there before."""

    id: str
    position: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class LogSize:
    """Counts over the whole log, and its bytes on disk with everything that shares its files.

    What is said without a session is one session; what the library notes without one is none.
    """

    owners: int
    sessions: int
    events: int
    bytes: int


class EventLog(Protocol):
    """L3: the durable, append-only log; the truth that everything else is derived from."""

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """Append all or nothing, in order; durable on return.

        Raises:
            IdConflictError: a fixed id is taken in its session by an event with another payload.
        """
        ...

    def read(
        self,
        scope: Scope,
        *,
        after: int = 0,
        upto: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Collection[EventKind] = (),
        limit: int | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Events of the scope with ``after < position <= upto`` and ``since <= at < until``, by position.

        Of these kinds, or of any if none is given. With a limit the first ones, or the last ones if ``newest``;
        ascending in both cases.
        """
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids, by position; unknown ids are left out."""
        ...

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """Destroy these events of the owner, give others a new payload, and append the note: all or nothing.

        What is not there is left out. Until `scrub` the words may still stand in free pages and in the journal.
        """
        ...

    def scrub(self) -> None:
        """Overwrite what was destroyed wherever the engine may still hold it; may take seconds.

        Raises:
            StoreUnavailableError: another process keeps the engine from doing so.
        """
        ...

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner, or of this scope's owner only; no entry where nothing was written."""
        ...

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many events the owner has beyond this position."""
        ...

    def size(self) -> LogSize:
        """Counts over all owners."""
        ...

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A record on its way into the index, with the terms that the text index takes."""

    record: Record
    terms: str


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search found, best first, of shape (n,)."""

    ids: Ids
    scores: Floats


@dataclass(frozen=True, slots=True)
class Places:
    """Where records stand, as columns of shape (n,), by id.

    ``lengths`` in characters, times in seconds since 1970, ``last_used`` 0 if never.
    """

    ids: Ids
    segments: Ids
    ordinals: Ids
    lengths: Ids
    at: npt.NDArray[np.float64]
    importance: Floats
    uses: Ids
    last_used: npt.NDArray[np.float64]

    def rows(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Places:
        """Some of them, by row numbers or a mask."""
        return Places(**{part.name: getattr(self, part.name)[rows] for part in fields(self)})

    @classmethod
    def joined(cls, several: Sequence[Places]) -> Places:
        """All of them, one after the other."""
        return cls(
            **{part.name: np.concatenate([getattr(places, part.name) for places in several]) for part in fields(cls)}
        )


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Counts over the whole index; ``pending`` records wait for their vector."""

    records: int
    vectors: int
    pending: int


class SemanticIndex(Protocol):
    """L2: records with text and vectors, a projection of the log that can be dropped and rebuilt."""

    def applied(self, owner: Scope) -> int:
        """The log position up to which this owner's records were derived; 0 at first."""
        ...

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each of these sessions that has one."""
        ...

    def upsert(self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int) -> bool:
        """Store records, without vectors, and move the applied position from ``after`` to ``upto``, atomically.

        False, and nothing is stored, if the applied position is not ``after``: another process was faster.
        """
        ...

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, oldest first, each with the one before it in its segment."""
        ...

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder that the vectors come from; None before the first vector."""
        ...

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give records their vectors: record id to content hash, and hash to vector where it is new.

        Raises:
            EmbedderMismatchError: the index holds vectors of another embedder.
        """
        ...

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number; a vector of width 0 if there are none."""
        ...

    def settle(self, owner: Scope) -> None:
        """Prepare for fast searches after much was written; may take seconds, and only changes speed."""
        ...

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product with the vector, which need not be of unit length."""
        ...

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25 over any of the terms; scores are positive.

        An engine may leave out the most frequent terms where the owner has thousands of records with them.
        """
        ...

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records, NaN where it has no vector yet; shape (n,)."""
        ...

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records, of shape (n, n); 0 where one has no vector yet."""
        ...

    def places(self, ids: Ids, where: Where, radius: int) -> Places:
        """These records and their neighbours up to ``radius`` turns away in their segment, as far as allowed."""
        ...

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given; unknown ids are left out."""
        ...

    def delete(self, ids: Sequence[int]) -> int:
        """Remove records with their terms and vectors; returns how many there were."""
        ...

    def reset(self) -> None:
        """Drop everything derived: records, terms, vectors, applied positions, the embedder's name."""
        ...

    def size(self) -> IndexSize:
        """Counts over all owners."""
        ...

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""
        ...


class FactExtractor(Protocol):
    """Reads claims from turns."""

    @property
    def name(self) -> str:
        """Of the extractor; what it has read is kept apart from what others have."""
        ...

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What these turns claim, by position; ``before`` are the turns that came before them, oldest first.

        The claims of a turn depend on the turn and those before it, not on how turns are cut into calls.

        Raises:
            ModelError: a model failed; the turns will be given again.
        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors; vectors of embedders with different names are never compared."""

    @property
    def name(self) -> str:
        """Of model and variant."""
        ...

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim)."""
        ...

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,)."""
        ...


class TokenCounter(Protocol):
    """Counts the tokens of a text, as the model that will read it does."""

    def __call__(self, text: str, /) -> int:
        """0 or more."""
        ...


class LanguageModel(Protocol):
    """Writes text; optional everywhere, and whatever needs one has a deterministic default.

    Every method raises `ModelError` when the model fails, answers nothing, or takes longer than its time limit.
    """

    @property
    def name(self) -> str:
        """Of the model."""
        ...

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer to this conversation; not empty."""
        ...

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as a JSON object that was asked to follow this JSON schema; its fields are not validated."""
        ...


class TextCompressor(Protocol):
    """Shortens a text by leaving out tokens that say little."""

    def compress(self, text: str, *, max_tokens: int) -> str:
        """The text in about so many tokens, or fewer; raises `ModelError` when that fails."""
        ...
