"""`Where` in the language of the Query Engine, and as a mask over rows that were fetched by id."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.redis.keys import digest, digest_or_none, owner_tag
from hybrid_memory.engines.redis.records import pairs
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import RecordKind, Where

_EXACT = 2**53
"""Numbers of the Query Engine are doubles."""

_COLUMNS = 13


def condition(where: Where) -> str:
    """The query that finds what may be found; every name in it is a digest, so that nothing needs escaping."""
    parts = [f"@owner:{{{owner_tag(where.scope)}}}"]
    if where.scope.session is not None:
        parts.append(f"@session:{{{digest_or_none(where.scope.session)}}}")
    if where.kinds:
        parts.append(f"@kind:{{{'|'.join(sorted(where.kinds))}}}")
    if where.categories:
        parts.append(f"@category:{{{'|'.join(sorted(map(digest, where.categories)))}}}")
    if where.since is not None:
        parts.append(f"@at:[{to_micros(where.since)} +inf]")
    if where.until is not None:
        parts.append(f"@at:[-inf ({to_micros(where.until)}]")
    parts += [f"@meta:{{{pair}}}" for pair in pairs(where.metadata)]
    parts += [f"-@turn:[{max(first, 0)} {_bound(last)}]" for first, last in where.hidden if 0 <= last >= first]
    for name, instant in where.fresh.items():
        labels = f"@category:{{{digest(name)}}}"
        if name in set(RecordKind):
            labels = f"({labels}|@kind:{{{name}}})"
        parts.append(f"-({labels} @at:[-inf ({to_micros(instant)}])")
    return " ".join(parts)


def _bound(position: int) -> str:
    return "+inf" if position >= _EXACT else str(position)


class Rows:
    """Records that were fetched by id.

    Args:
        told: a line for each: id, segment, ordinal, length, importance, time, uses, last use, turn, kind, category,
            session, metadata.
    """

    def __init__(self, told: bytes) -> None:
        words = told.decode().split()
        columns = [words[column::_COLUMNS] for column in range(_COLUMNS)]
        ids, segments, ordinals, lengths, importance, at, uses, last_used, turns, *labels = columns
        self._at, self._turns = _whole(at), _whole(turns)
        self._kinds, self._categories, self._sessions, self._metadata = (
            np.array(label, dtype=np.str_) for label in labels
        )
        self._places = RecordColumns(
            ids=_whole(ids),
            segments=_whole(segments),
            ordinals=_whole(ordinals),
            lengths=_whole(lengths),
            at=self._at / 1e6,
            importance=np.array(importance, dtype=np.float32),
            uses=_whole(uses),
            last_used=_whole(last_used) / 1e6,
        )

    def places(self, where: Where) -> RecordColumns:
        """Those that the condition allows, by id; the owner was asked for by name."""
        mask = np.ones(len(self._at), dtype=np.bool_)
        if where.scope.session is not None:
            mask &= self._sessions == digest_or_none(where.scope.session)
        if where.kinds:
            mask &= np.isin(self._kinds, sorted(where.kinds))
        if where.categories:
            mask &= np.isin(self._categories, list(map(digest, where.categories)))
        if where.since is not None:
            mask &= self._at >= to_micros(where.since)
        if where.until is not None:
            mask &= self._at < to_micros(where.until)
        for pair in pairs(where.metadata):
            mask &= np.char.find(self._metadata, pair) >= 0
        mask &= self._visible(where)
        allowed = np.flatnonzero(mask)
        return self._places.rows(allowed[self._places.ids[allowed].argsort()])

    def _visible(self, where: Where) -> npt.NDArray[np.bool_]:
        mask = np.ones(len(self._at), dtype=np.bool_)
        if where.hidden:
            first, last = np.array(where.hidden, dtype=np.int64).T
            mask &= ~((self._turns[:, None] >= first) & (self._turns[:, None] <= last)).any(axis=1)
        for name, instant in where.fresh.items():
            labelled = (self._kinds == name) | (self._categories == digest(name))
            mask &= (self._at >= to_micros(instant)) | ~labelled
        return mask


def _whole(column: list[str]) -> Ids:
    return np.array(list(map(int, column)), dtype=np.int64)
