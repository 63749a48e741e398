"""``rebuild``: derive L2 from the log again."""

from __future__ import annotations

from hybrid_memory.display import Progress
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import flush
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present


async def rebuild(
    run: Runner, services: Services, embedder: Embedder | None, progress: Progress | None = None
) -> Receipt:
    """Drop the index and make it anew, with this embedder from now on."""
    present(services)
    services.embedder = embedder  # first: what the background makes with the old one is not stored any more
    await run.call(services.index.reset)
    if services.media is not None:
        await run.call(services.media.reset)
    services.answers.clear()
    return await flush(run, services, progress=progress)
