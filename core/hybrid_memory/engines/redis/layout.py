"""The names in the keys of a store. Those of one owner have the owner's tag in braces, and are of log or index.

``owners``: a hash, owners by tag. ``position``: the last one given out. ``rows:embedder``: name and width, of the
vectors. ``rows:records``: a hash, the owner's tag by record id. ``rows:holders``: a sorted set of content hash, tag and
id, in one text, of the records with a vector.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from hybrid_memory.engines.stored import owner_json
from hybrid_memory.scope import Scope

NONE = "-"
"""Represents a missing session or category; no digest looks like it."""


@lru_cache(maxsize=65536)
def digest_or_none(text: str | None) -> str:
    """A digest of 24 hexadecimal digits, so that names in keys need no escaping; `NONE` for None."""
    return NONE if text is None else hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=65536)
def owner_tag(scope: Scope) -> str:
    """A digest of the scope's owner, 32 hexadecimal digits."""
    return hashlib.blake2b(owner_json(scope).encode(), digest_size=16).hexdigest()


def owner_of(text: str | bytes) -> Scope:
    """The owner that `owner_json` wrote."""
    tenant, user, agent, space = json.loads(text)
    return Scope(tenant, user, agent, space=space)
