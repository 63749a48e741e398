"""Tombstones: a message that was forgotten is not stored again under its id, by an import or a host that repeats it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services

DIGESTS = "tombstones"
"""The field of the log's note on what was erased."""


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Digests of an owner's forgotten messages, up to a position in the log."""

    position: int = 0
    digests: frozenset[str] = frozenset()

    def after(self, events: Iterable[Event]) -> Self:
        """With those of these notes."""
        notes = list(events)
        new = (digest for note in notes for digest in note.payload.get(DIGESTS, ()))
        return type(self)(notes[-1].position, self.digests.union(new))


class TombstonesProjection(FoldedProjection[Tombstones]):
    """The tombstones of each owner."""

    start = Tombstones
    follows = frozenset({EventKind.ERASED})


def tombstones_of(owner: Scope, turns: Iterable[Event]) -> list[str]:
    """The digests to note for erased messages."""
    return [_digest(owner, turn.id, turn.payload) for turn in turns if turn.kind is EventKind.MESSAGE]


async def forgotten_ids(run: Runner, services: Services, owner: Scope, drafts: Sequence[Draft]) -> set[str]:
    """Ids of those drafts that have the id and the words of a forgotten message."""
    named = [draft for draft in drafts if draft.fixed_id]
    if not named:
        return set()
    digests = (await services.state(TombstonesProjection).read(run, services, owner)).digests
    return {draft.id for draft in named if digests and _digest(owner, draft.id, draft.payload) in digests}


def _digest(owner: Scope, name: str, payload: Mapping[str, Any]) -> str:
    """Short, as one of many; with the words, as files without ids number their messages, and may have grown since."""
    said = [str(owner.owner), name, *(payload.get(key) for key in ("role", "content", "tool_calls"))]
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8).hexdigest()
