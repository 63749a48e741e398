"""`check_store`: whether all is well with a store, also with one that can no longer be opened."""

from __future__ import annotations

from hybrid_memory.config import MemoryConfig
from hybrid_memory.errors import StoreError
from hybrid_memory.log.port import Key
from hybrid_memory.memory.engines import engine_at, open_engines
from hybrid_memory.memory.projections import projections
from hybrid_memory.store.health import Finding, check_contents


def check_store(config: MemoryConfig, *, key: Key | None = None) -> list[Finding]:
    """All that was found: of a file its pages first, then the index against the log. Nothing that was said changes.

    Args:
        config: names the store.
        key: of an encrypted one.

    Raises:
        InvalidConfigError: the settings name no store that can be.
    """
    found = engine_at(config.url, config, key).check()
    try:
        engines = open_engines(config, key, media=False)
    except StoreError as error:
        return [*found, Finding("store", "wrong", str(error))]
    try:
        found += check_contents(engines.log, engines.index, engines.outbox)
        for owner in engines.log.heads():
            found += [finding for projection in projections() for finding in projection.check(engines.log, owner)]
    except StoreError as error:
        found.append(Finding("store", "wrong", str(error)))
    finally:
        engines.close()
    return found
