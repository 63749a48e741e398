"""Names of keys: everything of one owner carries one hash tag, so that it lies in one slot of a cluster."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from hybrid_memory.scope import Scope

NONE = "-"
"""Stands for a session or category that is not there; no digest looks like it."""


def digest(text: str) -> str:
    """24 hexadecimal digits that stand for any text: names in queries and keys need no escaping then."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=65536)
def digest_or_none(text: str | None) -> str:
    """The same, or `NONE`."""
    return NONE if text is None else digest(text)


@lru_cache(maxsize=65536)
def owner_tag(scope: Scope) -> str:
    """32 hexadecimal digits that stand for the scope's owner."""
    return hashlib.blake2b(owner_json(scope).encode(), digest_size=16).hexdigest()


def owner_json(scope: Scope) -> str:
    """The owner, as `owner_of` reads it."""
    return json.dumps([scope.tenant, scope.user, scope.agent, scope.space])


def owner_of(text: str | bytes) -> Scope:
    """The owner that `owner_json` wrote."""
    tenant, user, agent, space = json.loads(text)
    return Scope(tenant, user, agent, space=space)


class Keys:
    """The keys of a store.

    Args:
        prefix: of the store.

    Attributes:
        owners: tag to owner; position: the last one given out; embedder: behind the vectors; totals: over all owners.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.owners = f"{prefix}:owners"
        self.position = f"{prefix}:position"
        self.embedder = f"{prefix}:embedder"
        self.totals = f"{prefix}:totals"
        self.records = f"{prefix}:record:"
        self.search = f"{prefix}:search"

    def log(self, tag: str) -> str:
        """Where the names of the keys of an owner's events begin."""
        return f"{self.prefix}:log:{{{tag}}}"

    def index(self, tag: str) -> str:
        """Where the names of the keys of an owner's records begin, other than the records themselves."""
        return f"{self.prefix}:index:{{{tag}}}"

    def record(self, tag: str, number: int | str = "") -> str:
        """An owner's record."""
        return f"{self.records}{{{tag}}}:{number}"

    def owners_of_records(self, number: int) -> str:
        """Where the tags of the owners of this record and of some thousand others stand, by their ids."""
        return f"{self.prefix}:owner-of:{number >> 12}"
