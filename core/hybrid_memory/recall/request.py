"""A validated call of ``recall``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self, TypeVar

from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Category
from hybrid_memory.index.record import RecordKind, Scalar, Where
from hybrid_memory.log.origin import Origin
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.plan import Intent
from hybrid_memory.scope import Scope
from hybrid_memory.text.asking import ends
from hybrid_memory.validation import check_span, checked_count, checked_share, shown, storable

E = TypeVar("E", bound=StrEnum)

MAX_QUERY_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class Request:
    """A validated call of recall; ``session`` is the caller's."""

    query: str
    k: int
    where: Where
    weights: Weights | None
    intent: Intent = Intent.AUTO
    spaces: Collection[str] = ()
    min_confidence: float | None = None
    session: str | None = None

    @classmethod
    def of(
        cls,
        scope: Scope,
        query: str,
        *,
        k: int,
        within: str,
        kinds: Collection[RecordKind | str],
        categories: Collection[str],
        since: datetime | None,
        until: datetime | None,
        metadata: Mapping[str, Scalar] | None,
        weights: Weights | None,
        intent: Intent | str = Intent.AUTO,
        spaces: Collection[str] = (),
        origins: Collection[Origin | str] = (),
        min_confidence: float | None = None,
    ) -> Self:
        """The request; raises `InvalidInputError` if an argument is invalid."""
        query = checked_query(query)
        number = checked_count("k", k, least=1)
        if within == "session" and scope.session is None:
            raise InvalidInputError("within='session' needs a scope with a session: scoped(..., session=...)")
        if within == "session" and spaces:
            raise InvalidInputError("within='session' searches this session only: leave out spaces")
        check_span(since, until)
        least = None if min_confidence is None else checked_share("min_confidence", min_confidence)
        where = Where(
            scope=scope if within == "session" else scope.owner,
            kinds=_members("kinds", RecordKind, kinds),
            categories=_members("categories", Category, categories),
            since=since,
            until=until,
            metadata={} if metadata is None else _scalars(metadata),
            origins=_members("origins", Origin, origins),
        )
        return cls(query, number, where, weights, _intent(intent), spaces, least, scope.session)

    def keeps(self, hit: Hit, usual: float) -> bool:
        """Whether the hit's confidence is high enough, by the requested or the usual threshold, or unknown."""
        return hit.confidence is None or hit.confidence >= (
            usual if self.min_confidence is None else self.min_confidence
        )


def checked_query(query: str) -> str:
    """The query, or both ends of one over `MAX_QUERY_CHARS`; raises `InvalidInputError` if it is empty."""
    if not query.strip():
        raise InvalidInputError("the query is empty: ask for something")
    return ends(query, MAX_QUERY_CHARS)


def _intent(intent: Intent | str) -> Intent:
    try:
        return Intent(intent)
    except ValueError:
        raise InvalidInputError(f"intent must be one of {', '.join(Intent)}; got {shown(intent)}") from None


def _members(name: str, kind: type[E], given: Collection[E | str]) -> frozenset[E]:
    try:
        return frozenset(kind(each) for each in given)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidInputError(f"{name} must be a collection of these: {known}; got {shown(given)}") from None


def _scalars(metadata: Mapping[Any, Any]) -> dict[str, Scalar]:
    """The metadata to match, if every engine can compare its values for equality."""
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be values by name, got {shown(metadata)}")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, Scalar):
            raise InvalidInputError(
                f"metadata can be text, numbers, booleans or None by name, got {shown(key)}: {shown(value)}"
            )
        try:
            storable({key: value})
        except ValueError as error:
            raise InvalidInputError(f"metadata cannot have {shown(key)}: {shown(value)}; {error}") from None
    return dict(metadata)
