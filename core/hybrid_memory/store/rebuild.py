"""``rebuild``: derive L2 from the log again."""

from __future__ import annotations

from hybrid_memory.log.receipt import Receipt
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.progress import Progress
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import flush
from hybrid_memory.store.services import World
from hybrid_memory.store.view import present


async def rebuild(run: Runner, world: World, embedder: Embedder | None, progress: Progress | None = None) -> Receipt:
    """Drop the index and make it anew, with this embedder from now on."""
    present(world)
    world.embedder = embedder  # first: what the background makes with the old one is not stored any more
    await run.call(world.index.reset)
    if world.media is not None:
        await run.call(world.media.reset)
    world.answers.clear()
    return await flush(run, world, progress=progress)
