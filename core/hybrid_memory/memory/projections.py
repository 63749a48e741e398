"""Everything that is derived from the log, registered in one place."""

from __future__ import annotations

from hybrid_memory.arrays import Floats
from hybrid_memory.blocks.kept import BlocksProjection
from hybrid_memory.context.session import QueueProjection
from hybrid_memory.facts.facts import FactsProjection
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.items.kept import ItemsProjection
from hybrid_memory.media.media import MediaIndex
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.sharing.grant import GrantsProjection
from hybrid_memory.steps import StepsProjection
from hybrid_memory.store.projection import Projection
from hybrid_memory.store.text_index import TextIndex


def projections(
    profile: type[UserProfile] = UserProfile, embeddings: LruCache[bytes, Floats] | None = None
) -> list[Projection]:
    """All of them, in the order in which `flush` derives: facts and uses are written to the log that indexes follow.

    Args:
        profile: what is to be known of a user.
        embeddings: vectors of queries and texts, as the embedder caches them.
    """
    return [
        FactsProjection(profile),
        RecallProjection(),
        TextIndex(embeddings),
        MediaIndex(),
        QueueProjection(),
        GrantsProjection(),
        ItemsProjection(),
        BlocksProjection(),
        StepsProjection(),
    ]
