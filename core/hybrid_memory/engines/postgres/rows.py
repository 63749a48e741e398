"""Records as rows, terms as numbers, and `Where` as SQL conditions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hybrid_memory.engines.stored import RECORD_FIELDS, row_of, to_micros
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Where
from hybrid_memory.log.views import joined

FIELDS_OF = f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)}"
_WRITTEN = ("owner", "session", "length", "pairs", "terms", "words", *RECORD_FIELDS)
INSERT = f"INSERT INTO hm.records({', '.join(_WRITTEN)}) VALUES ({', '.join(f'%({name})s' for name in _WRITTEN)})"


def to_row(owner: int, entry: Entry, counts: Counter[str]) -> dict[str, Any]:
    """The values of `INSERT`."""
    numbers = [term_number(term) for term in counts]
    indexed = {"pairs": pairs(entry.record.metadata), "terms": numbers, "words": counts.total()}
    return row_of(owner, entry.record) | indexed


@lru_cache(maxsize=1 << 17)
def term_number(term: str) -> int:
    """A 64-bit number for a term in postings, where text would take three times the space."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big", signed=True)


def pairs(metadata: Mapping[str, Any]) -> list[int]:
    """A number for each metadata pair, distinguishing types; lists and objects are left out."""
    return [
        term_number(f"{key}\n{json.dumps(value)}")
        for key, value in metadata.items()
        if not isinstance(value, (dict, list))
    ]


def conditions(where: Where) -> tuple[list[str], list[Any]]:
    """SQL conditions on ``records r`` other than the owner, with their values."""
    asked: list[tuple[str, Any]] = []
    if where.scope.session is not None:
        asked.append(("r.session = %s", where.scope.session))
    for column, names in (("r.kind", where.kinds), ("r.category", where.categories), ("r.origin", where.origins)):
        if names:
            asked.append((f"{column} = ANY(%s)", sorted(map(str, names))))
    if where.since is not None:
        asked.append(("r.at >= %s", to_micros(where.since)))
    if where.until is not None:
        asked.append(("r.at < %s", to_micros(where.until)))
    if where.metadata:
        asked.append(("r.pairs @> %s::bigint[]", pairs(where.metadata)))
    if hidden := joined(where.hidden):
        asked.append(("NOT r.turn <@ %s::int8multirange", _ranges(hidden)))
    parts, values = [part for part, _ in asked], [value for _, value in asked]
    for name, instant in where.fresh.items():
        parts.append("(r.at >= %s OR (r.kind <> %s AND r.category IS DISTINCT FROM %s))")
        values += [to_micros(instant), name, name]
    return parts, values


def _ranges(stretches: Sequence[tuple[int, int]]) -> str:
    return "{" + ",".join(f"[{first},{last}]" for first, last in stretches) + "}"
