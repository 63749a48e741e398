"""Items: JSON values that an application keeps under a namespace and a key, and what it asks of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown, storable

Namespace: TypeAlias = tuple[str, ...]
"""A path of labels; ``("users", "alice")`` lies in ``("users",)``, and not in ``("user",)``."""


@dataclass(frozen=True, slots=True)
class Item:
    """A value as it stands; a copy, to do with as one likes.

    Attributes:
        created_at: when its key was first put; updated_at: when it was put last.
        score: in [0, 1], of a search with words; None where it was not ranked.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


@dataclass(frozen=True, slots=True)
class GetItem:
    """Asks for the item of a key; ``refresh`` lets its time to live begin anew.

    Raises:
        InvalidInputError: the namespace or the key is none.
    """

    namespace: Namespace
    key: str
    refresh: bool = True

    def __post_init__(self) -> None:
        _check_name(self.namespace, self.key)


@dataclass(frozen=True, slots=True)
class FindItems:
    """Asks for items.

    Attributes:
        prefix: of their namespaces, label by label; empty for all.
        query: words to rank them by; without them the item that was put last comes first.
        where: which values are wanted; None for all.
        limit, offset: how many, after leaving out how many.
        refresh: lets the time to live of what is found begin anew.

    Raises:
        InvalidInputError: the prefix is no namespace, or a number is negative.
    """

    prefix: Namespace = ()
    query: str = ""
    where: Callable[[dict[str, Any]], bool] | None = None
    limit: int = 10
    offset: int = 0
    refresh: bool = True

    def __post_init__(self) -> None:
        _check_name(self.prefix, "")
        if self.limit < 0 or self.offset < 0:
            raise InvalidInputError(f"limit and offset must be 0 or more, got {self.limit} and {self.offset}")


@dataclass(frozen=True, slots=True)
class PutItem:
    """Puts a value in the place of the one before; None destroys the item.

    Attributes:
        texts: what a search with words looks at; empty for nothing.
        ttl: its time to live, since it was put or refreshed last; None for ever.

    Raises:
        InvalidInputError: it cannot be stored.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any] | None
    texts: tuple[str, ...] = ()
    ttl: timedelta | None = None

    def __post_init__(self) -> None:
        _check_name(self.namespace, self.key)
        if not isinstance(self.value, dict | None):
            raise InvalidInputError(f"the value must be a dict of JSON values, got {shown(self.value)}")
        try:
            storable([self.value, *self.texts])
        except ValueError as error:
            raise InvalidInputError(f"the value of {shown(self.key)}: {error}") from None


@dataclass(frozen=True, slots=True)
class ListNamespaces:
    """Asks for the namespaces that hold something, in order."""


ItemOperation: TypeAlias = GetItem | FindItems | PutItem | ListNamespaces

ItemResult: TypeAlias = Item | list[Item] | list[Namespace] | None
"""Of `GetItem` the item or None, of `FindItems` items, of `ListNamespaces` namespaces, of `PutItem` None."""


def _check_name(namespace: Namespace, key: str) -> None:
    for label in (*namespace, key):
        if not isinstance(label, str):
            raise InvalidInputError(f"labels and keys must be strings, got {shown(label)}")
        try:
            storable(label)
        except ValueError as error:
            raise InvalidInputError(f"no label or key can be {shown(label)}: {error}") from None
