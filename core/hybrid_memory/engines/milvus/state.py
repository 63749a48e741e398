"""Small documents by name, among them what no query of Milvus adds up in time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hybrid_memory.engines.milvus.catalog import FLAT, STATE, Catalog
from hybrid_memory.engines.milvus.rows import pieces

EMBEDDER = "embedder"


class StateTable:
    """Documents that are read and replaced by name, several in one call."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get(self, names: Iterable[str]) -> dict[str, Any]:
        """Those that are there, by name."""
        rows = self._catalog.fetch(STATE, list(dict.fromkeys(names)), ["id", "value"])
        return {row["id"]: json.loads("".join(row["value"])) for row in rows}

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace these; None removes one."""
        self._catalog.write(
            STATE,
            [
                {"id": name, "value": pieces(json.dumps(value)), "dummy": FLAT}
                for name, value in values.items()
                if value is not None
            ],
        )
        self._catalog.remove(STATE, [name for name, value in values.items() if value is None])


def applied_of(owner: str) -> str:
    """Where the owner's applied position stands."""
    return f"applied:{owner}"


def newest_of(owner: str) -> str:
    """Where the instant stands after which the owner's records were not said, in microseconds."""
    return f"newest:{owner}"


def sum_of(owner: str) -> str:
    """Where the sum of the owner's vectors stands."""
    return f"sum:{owner}"


def place_of(segment: int, ordinal: int) -> str:
    """Where the ids of the records at this place stand."""
    return f"place:{segment}:{ordinal}"
