"""``rebuild``: derive L2 from the log again."""

from __future__ import annotations

from hybrid_memory.compute.runners import Runner
from hybrid_memory.flows.flush import flush
from hybrid_memory.flows.visible import present
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Embedder, Progress
from hybrid_memory.types import Receipt


async def rebuild(run: Runner, world: World, embedder: Embedder | None, progress: Progress | None = None) -> Receipt:
    """Drop the index and make it anew, with this embedder from now on."""
    present(world)
    world.embedder = embedder  # first: what the background makes with the old one is not stored any more
    await run.call(world.index.reset)
    if world.media is not None:
        await run.call(world.media.reset)
    world.answers.clear()
    return await flush(run, world, progress=progress)
