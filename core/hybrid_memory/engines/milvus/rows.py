"""Records as rows of a collection, and `Where` as a filter expression.

Names of owners, sessions and categories, and metadata pairs, are stored as digests: no caller's text ever occurs in a
filter, and none is too long for a field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias

from hybrid_memory.engines.stored import plain, record_of, to_micros
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.message import Origin
from hybrid_memory.log.views import Stretches, joined, visible
from hybrid_memory.scope import Scope

Row: TypeAlias = dict[str, Any]

PIECE_CHARS = 16_000  # characters per piece of a stored text: a VARCHAR holds 65,535 bytes

TERMS_BYTES = 65_000
NEVER = -(2**62)
NARROWING = ["id", "owner", "session", "kind", "category", "at", "turn", "metadata"]  # the fields that filters use

_COLUMNS = ("id", "at", "kind", "segment", "ordinal", "importance", "uses", "last_used", "turn")
WHOLE = [*NARROWING, "segment", "ordinal", "importance", "uses", "last_used", "doc"]


@lru_cache(maxsize=65_536)
def digest(*parts: str | None) -> str:
    """A digest of these names, 32 characters long."""
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def owner_key(scope: Scope) -> str:
    """The owner's partition key."""
    return digest("owner", scope.tenant, scope.user, scope.agent, scope.space)


def pieces(text: str) -> list[str]:
    """The text, split into pieces that fit into a VARCHAR."""
    return [text[start : start + PIECE_CHARS] for start in range(0, max(len(text), 1), PIECE_CHARS)]


def to_row(entry: Entry) -> Row:
    """The entry's row, without vectors."""
    record, values = entry.record, plain(entry.record)
    rest = {"scope": asdict(record.scope), **{name: value for name, value in values.items() if name not in _COLUMNS}}
    terms, encoded = entry.terms, entry.terms.encode()
    if len(encoded) > TERMS_BYTES:
        terms = encoded[:TERMS_BYTES].decode(errors="ignore").rpartition(" ")[0]
    pairs = [_pair(key, value) for key, value in record.metadata.items() if not isinstance(value, dict | list)]
    return {
        **{name: values[name] for name in _COLUMNS},
        "owner": owner_key(record.scope),
        "session": digest("session", record.scope.session),
        "category": "" if record.category is None else digest("category", record.category),
        "metadata": pairs if record.origin is Origin.IMPORTED else [*pairs, digest("origin", record.origin)],
        "importance": float(record.importance),
        "last_used": NEVER if record.last_used is None else values["last_used"],
        "terms": terms,
        "doc": pieces(json.dumps(rest, ensure_ascii=False)),
    }


def to_record(row: Row) -> Record:
    """The record of a row."""
    rest = json.loads("".join(row["doc"]))
    scope = Scope(**rest.pop("scope"))
    values = rest | {name: None if row[name] == NEVER else row[name] for name in _COLUMNS}
    return record_of(scope, values)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The filter of a search, and the hidden stretches, which are sifted out of its results: there may be thousands.

    Attributes:
        expression: the filter expression.
        plain: whether it only names the owner.
        hidden: disjoint stretches, ascending.
    """

    expression: str
    plain: bool
    hidden: Stretches

    @classmethod
    def of(cls, where: Where) -> Narrowing:
        parts = [f'owner == "{owner_key(where.scope)}"']
        if where.scope.session is not None:
            parts.append(f'session == "{digest("session", where.scope.session)}"')
        if where.kinds:
            parts.append(f"kind in {json.dumps(sorted(where.kinds))}")
        if where.categories:
            parts.append(f"category in {json.dumps(sorted(digest('category', name) for name in where.categories))}")
        if where.since is not None:
            parts.append(f"at >= {to_micros(where.since)}")
        if where.until is not None:
            parts.append(f"at < {to_micros(where.until)}")
        for name, instant in where.fresh.items():
            kinds = [f'kind != "{name}"'] if name in list(RecordKind) else []
            others = " and ".join([*kinds, f'category != "{digest("category", name)}"'])
            parts.append(f"(at >= {to_micros(instant)} or ({others}))")
        parts += (f'array_contains(metadata, "{_pair(key, value)}")' for key, value in where.metadata.items())
        # ``imported`` has no label: to have one of these, or none of them.
        one_of = Origin.IMPORTED not in where.origins
        labels = [digest("origin", one.value) for one in Origin if (one in where.origins) == one_of]
        if where.origins and labels:
            holds = " or ".join(f'array_contains(metadata, "{label}")' for label in labels)
            parts.append(f"({holds})" if one_of else f"not ({holds})")
        return cls(" and ".join(parts), len(parts) == 1, joined(where.hidden))

    def sifted(self, rows: Iterable[Row]) -> list[Row]:
        """The rows whose turn is in no hidden stretch."""
        return [row for row in rows if visible(row["turn"], self.hidden)]


def _pair(key: str, value: Any) -> str:
    """The digest of a metadata pair; based on JSON, so that 1, 1.0, true and "1" are four values."""
    return digest("metadata", key, json.dumps(value))
