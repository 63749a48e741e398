"""``archive``: old messages leave the log for the archive, and stay readable."""

from __future__ import annotations

from hybrid_memory.log.receipt import Receipt
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present


async def archive(run: Runner, services: Services) -> Receipt:
    """Move what is older than configured, of every owner; nothing where no archive is configured.

    Raises:
        StoreUnavailableError: the archive cannot be reached; what it has not taken stays in the log.
    """
    present(services)
    if services.archive is None:
        return Receipt()
    before = services.clock() - services.config.archive.after
    count = 0
    for owner in await run.call(services.truth.heads):
        count += await run.call(services.archive.expire, owner, before)
    return Receipt(archived=count)
