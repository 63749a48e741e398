"""``open_memory``: the one place that names concrete engines and models, each imported when it is needed."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from hybrid_memory.compute.caches import LruCache
from hybrid_memory.config import MemoryConfig
from hybrid_memory.errors import (
    EmbedderMismatchError,
    InvalidConfigError,
    MissingDependencyError,
    TextOnlyWarning,
)
from hybrid_memory.flows.world import World
from hybrid_memory.learning.profile_schema import check_profile_type, field_guide
from hybrid_memory.learning.rules.bilingual import BilingualRules
from hybrid_memory.memory import HybridMemory
from hybrid_memory.models import tokenizers
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder, as_embedder
from hybrid_memory.ports import (
    Clock,
    Embedder,
    EventLog,
    FactExtractor,
    Key,
    LanguageModel,
    SemanticIndex,
    TextCompressor,
    TokenCounter,
)
from hybrid_memory.types import UserProfile


def open_memory(
    source: str | Path | MemoryConfig = "sqlite:///memory.db",
    *,
    embedder: Any = None,
    language_model: Any = None,
    compressor: TextCompressor | None = None,
    token_counter: TokenCounter | None = None,
    clock: Clock | None = None,
    profile: type[UserProfile] = UserProfile,
    key: Key | None = None,
) -> HybridMemory:
    """Open a memory, creating its store if there is none.

    Args:
        source: a store URL (``sqlite:///memory.db`` is relative, ``sqlite:////var/memory.db`` absolute, ``memory://``
            lives as long as the process), a `MemoryConfig`, or the path of a YAML file with one.
        embedder: LangChain ``Embeddings``, a LlamaIndex ``BaseEmbedding``, or a callable from a list of texts to rows;
            without one the configuration decides, by default the local embedder.
        language_model: a LangChain chat model, a LlamaIndex ``LLM``, or a callable from text to text; without one every
            summary is deterministic.
        compressor: shortens texts for the strategy ``llmlingua``, as `hybrid_memory.models.llmlingua` does.
        token_counter: counts the tokens of a text as your model does; by default tiktoken's cl100k_base where it is
            installed, else an estimate.
        clock: tells the time, aware; by default the system's.
        profile: what is to be known of a user; `UserProfile`, or a subclass with fields of your own.
        key: encrypts the store: a passphrase, 32 bytes, or a callable that gives one of them when the store is opened.
            A store is encrypted from its first opening on, or never.

    Warns:
        TextOnlyWarning: the local embedder is not installed; recall works on words alone.

    Raises:
        InvalidConfigError: the URL or a setting is wrong.
        StoreUnavailableError: the store cannot be opened or written.
        StoreVersionError: a newer version of this library wrote the store.
        EmbedderMismatchError: the store's vectors come from another embedder.
        WrongKeyError: the store has another key, or none; or it has one and none was given.
        MissingDependencyError: the configuration asks for a package that is not installed.
    """
    check_profile_type(profile)
    config = _config(source)
    model = as_embedder(embedder) if embedder is not None else _embedder(config)
    log, index, rekey = _stores(config, key)
    try:
        _check_embedder(index, model)
    except BaseException:
        index.close()
        log.close()
        raise
    language_model = _language_model(language_model, config)
    rules = BilingualRules()
    world = World(
        log=log,
        index=index,
        embedder=model,
        clock=clock or _now,
        new_id=TimeOrderedIds(),
        config=config,
        queries=LruCache(config.recall.query_cache),
        count=token_counter or tokenizers.token_counter(),
        language_model=language_model,
        compressor=compressor,
        rules=rules,
        reader=_reader(language_model, rules, profile),
        profile=profile,
    )
    return HybridMemory(world, as_embedder, rekey)


MAX_COUNTER = 0xFFF
"""The 12 bits of rand_a in a UUID of version 7."""


class TimeOrderedIds:
    """UUIDs of version 7 (RFC 9562): milliseconds, a counter, random bits; ordered within a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def __call__(self) -> str:
        """A new id."""
        with self._lock:
            now = time.time_ns() // 1_000_000
            millis, counter = self._last
            # The counter takes the 12 bits of rand_a; when it or the clock runs back, borrow from the next millisecond.
            if now > millis:
                millis, counter = now, 0
            elif counter < MAX_COUNTER:
                counter += 1
            else:
                millis, counter = millis + 1, 0
            self._last = (millis, counter)
        value = millis << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(UUID(int=value))


async def aopen_memory(
    source: str | Path | MemoryConfig = "sqlite:///memory.db",
    *,
    embedder: Any = None,
    language_model: Any = None,
    compressor: TextCompressor | None = None,
    token_counter: TokenCounter | None = None,
    clock: Clock | None = None,
    profile: type[UserProfile] = UserProfile,
    key: Key | None = None,
) -> HybridMemory:
    """Async twin of `open_memory`: reads the model and migrates the store off the event loop."""
    return await asyncio.to_thread(
        open_memory,
        source,
        embedder=embedder,
        language_model=language_model,
        compressor=compressor,
        token_counter=token_counter,
        clock=clock,
        profile=profile,
        key=key,
    )


def _config(source: str | Path | MemoryConfig) -> MemoryConfig:
    if isinstance(source, MemoryConfig):
        return source
    if isinstance(source, Path) or source.endswith((".yaml", ".yml")):
        return MemoryConfig.from_yaml(source)
    return MemoryConfig(url=source)


def _stores(config: MemoryConfig, key: Key | None) -> tuple[EventLog, SemanticIndex, Callable[[Key], None] | None]:
    """The engines, and how to change the key of those that have one."""
    if config.url == "memory://":
        if key is not None:
            raise InvalidConfigError("memory:// is written to no disk: there is nothing to encrypt, leave key= out")
        from hybrid_memory.stores.memory import InMemoryIndex, InMemoryLog  # noqa: PLC0415 - only what is asked for

        return InMemoryLog(), InMemoryIndex(), None
    if config.url.startswith("sqlite:///") and config.url.removeprefix("sqlite:///") not in {"", ":memory:"}:
        from hybrid_memory.stores.sqlite import Database, SqliteIndex, SqliteLog  # noqa: PLC0415 - brings FAISS

        path = Path(config.url.removeprefix("sqlite:///")).expanduser()
        database = Database(path, power_safe=config.power_safe, key=key)
        return SqliteLog(database), SqliteIndex(database, exact_limit=config.exact_limit), database.rekey
    raise InvalidConfigError(
        f"cannot open {config.url!r}: use sqlite:///memory.db (relative), sqlite:////full/path/memory.db, memory://, "
        "or the path of a .yaml file"
    )


def _embedder(config: MemoryConfig) -> Embedder | None:
    if config.embedder == "none":
        return None
    if config.embedder == "hashing":
        return HashingEmbedder()
    try:
        return LocalEmbedder()
    except MissingDependencyError as error:
        if config.embedder == "local":
            raise
        warnings.warn(
            f"recall works on words alone: {error}; or give open_memory(embedder=...) a LangChain Embeddings, a "
            "LlamaIndex BaseEmbedding or a callable; or silence this with MemoryConfig(embedder='none')",
            TextOnlyWarning,
            stacklevel=3,
        )
        return None


def _language_model(model: Any, config: MemoryConfig) -> LanguageModel | None:
    if model is None:
        return None
    from hybrid_memory.models.language import as_language_model  # noqa: PLC0415 - only who has a model pays for it

    return as_language_model(model, timeout=config.compaction.model_timeout)


def _reader(model: LanguageModel | None, rules: FactExtractor, profile: type[UserProfile]) -> FactExtractor | None:
    if model is None:
        return None
    from hybrid_memory.models.extractor import ModelExtractor  # noqa: PLC0415 - only who has a model pays for it

    return ModelExtractor(model, rules=rules, fields=field_guide(profile))


def _check_embedder(index: SemanticIndex, model: Embedder | None) -> None:
    there = index.embedder()
    if there is not None and model is not None and there[0] != model.name:
        raise EmbedderMismatchError(there, (model.name, None))


def _now() -> datetime:
    return datetime.now(UTC)
