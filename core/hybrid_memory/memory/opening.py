"""``open_memory`` and ``check_store``: the one place that names engines, models and projections."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from operator import index
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from hybrid_memory.arguments import Arguments, checked
from hybrid_memory.arrays import Floats
from hybrid_memory.config import MemoryConfig, RedactionConfig
from hybrid_memory.context.memories import RulesProjection
from hybrid_memory.context.queue import QueueProjection
from hybrid_memory.context.strategies import resolve_strategy
from hybrid_memory.documents.document import DocumentsProjection
from hybrid_memory.documents.items import ItemsProjection
from hybrid_memory.errors import (
    EmbedderMismatchError,
    HybridMemoryError,
    InvalidConfigError,
    InvalidInputError,
    ModelError,
    StoreError,
)
from hybrid_memory.facts.fact import FactExtractor
from hybrid_memory.facts.facts import FactsProjection
from hybrid_memory.facts.learn import Extractors
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.profiling import check_profile_type
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.event import TimeOrderedIds
from hybrid_memory.log.port import Clock, EventLog, Key
from hybrid_memory.log.views import ArchivedLog, ReadOnlyLog
from hybrid_memory.memory import HybridMemory
from hybrid_memory.memory.runtime import close_ports
from hybrid_memory.models import tokenizers
from hybrid_memory.models.batching import BatchingEmbedder
from hybrid_memory.models.embedders import WrappedEmbedder
from hybrid_memory.models.named import any_embedder, embedder_of, given_embedder, language_model_of
from hybrid_memory.models.port import Embedder, TextCompressor
from hybrid_memory.models.rerankers import WrappedReranker
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.runtime.breaker import model_limit
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.sharing import GrantsProjection
from hybrid_memory.sockets import GROUPS, load, registered
from hybrid_memory.store.engine import INDEXES, Engine, Finding, check_contents
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.keepout import KeepingOutLog, KeepOuts
from hybrid_memory.store.projection import Projection
from hybrid_memory.store.remember import RedactingLog
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import ChangesProjection
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.urls import HIDDEN, shown_url
from hybrid_memory.validation import bounded, shown

P = ParamSpec("P")
T = TypeVar("T")

ENGINES = {
    "memory": "hybrid_memory.engines.in_memory:InMemoryEngine",
    "sqlite": "hybrid_memory.engines.sqlite:SqliteEngine",
    "postgresql": "hybrid_memory.engines.postgres:PostgresEngine",
    "postgres": "hybrid_memory.engines.postgres:PostgresEngine",
    "redis": "hybrid_memory.engines.redis:RedisEngine",
    "rediss": "hybrid_memory.engines.redis:RedisEngine",
    "milvus": "hybrid_memory.engines.milvus:MilvusEngine",
    "clickhouse": "hybrid_memory.engines.clickhouse:ClickHouseEngine",
    "chdb": "hybrid_memory.engines.clickhouse:ClickHouseEngine",
}
"""The engines of this library, by URL scheme."""

EXTRAS = ("postgres", "redis", "milvus", "clickhouse")
"""The modules of engines whose packages the extra of the same name installs."""

EXTRACTORS = {"statements": "hybrid_memory.facts.statements:Statements"}

COUNTED_TEXTS = 10_000  # texts whose tokens are remembered


def open_memory(
    source: str | Path | MemoryConfig = "sqlite:///memory.db",
    *,
    embedder: Any = None,
    language_model: Any = None,
    compressor: TextCompressor | None = None,
    token_counter: TokenCounter | str | None = None,
    extractor: FactExtractor | str | None = None,
    ranker: Any = None,
    engine: Engine | None = None,
    clock: Clock | None = None,
    profile: type[UserProfile] = UserProfile,
    key: Key | None = None,
    read_only: bool = False,
) -> HybridMemory:
    """Open a memory, creating its store if necessary.

    Args:
        source: a store URL (``sqlite:///memory.db`` is relative, ``sqlite:////var/memory.db`` absolute, ``memory://``
            lasts as long as the process, ``redis://host:6379/0``), a `MemoryConfig`, or the path of a YAML file.
        embedder: LangChain ``Embeddings``, a LlamaIndex ``BaseEmbedding``, a callable from a list of texts to rows, or
            a name such as ``openai:text-embedding-3-small``; by default as configured: the local embedder.
        language_model: a LangChain chat model, a LlamaIndex ``LLM``, a callable from text to text, or a name such as
            ``ollama:qwen3``; by default as configured: none, so that summaries are made by rules.
        compressor: shortens texts for ``condense(how="llmlingua")``, see `hybrid_memory.models.llmlingua`.
        token_counter: counts tokens as your model does: a callable, or a name (``cl100k_base``, ``o200k_base``,
            ``estimate``, or one from an installed package); by default tiktoken's o200k_base if installed, otherwise
            an estimate.
        extractor: extracts claims from turns instead of the built-in one; a language model is used in addition.
        ranker: a reranker for the best hits: a LangChain document compressor or cross-encoder, a LlamaIndex node
            postprocessor, a callable from a query and texts to numbers, or the name of an installed one; see
            ``RecallConfig.rerank_candidates``.
        engine: holds log and index, instead of the engine of the URL.
        clock: returns the current time, timezone-aware; by default the system clock.
        profile: the schema of the user profile: `UserProfile`, or a subclass with your own fields.
        key: encrypts the store: a passphrase, 32 bytes, or a callable that returns either. A store is encrypted from
            its creation, or never.
        read_only: open for reading only: verbs that change something raise `InvalidInputError`, and nothing is indexed,
            learned, counted or run in the background. Turns that are not indexed yet are not found. The store may be on
            a read-only file system.

    Warns:
        TextOnlyWarning: the local embedder is not installed; recall works with words alone.

    Raises:
        InvalidConfigError: the URL or a setting is wrong.
        StoreUnavailableError: the store cannot be opened or written.
        StoreVersionError: another version of this library wrote the store.
        EmbedderMismatchError: the store's vectors come from another embedder.
        WrongKeyError: the key is wrong or missing, or the store is not encrypted.
        MissingDependencyError: a package that the configuration needs is not installed.
        ModelError: the weights of the local embedder are not the expected ones.
    """
    _checked((), locals())
    check_profile_type(profile)
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith((".yaml", ".yml"))):
        source = MemoryConfig.from_yaml(source)
    config = source if isinstance(source, MemoryConfig) else MemoryConfig(url=source)
    statistics, keeping, timeout = Statistics(), KeepOuts(), config.orchestration.model_timeout
    counted = _counter(tokenizers.token_counter(token_counter), statistics)
    resolve_strategy(config.compaction.strategy)
    embeddings: LruCache[bytes, Floats] = LruCache(
        config.orchestration.cache, ttl=config.orchestration.cache_ttl.total_seconds()
    )
    statistics.watch("embeddings", embeddings)
    batched = partial(_batched, config=config, statistics=statistics, cache=embeddings)
    named = embedder if isinstance(embedder, str) else config.embedder if embedder is None else None
    model = given_embedder(embedder, config.embedder) if named is None else embedder_of(named)
    writer = language_model_of(config.language_model if language_model is None else language_model)
    wanted = config.learning.extractor if extractor is None else extractor
    rules: Any = _made("extractor", wanted, EXTRACTORS)
    if not isinstance(wanted, str) or wanted not in EXTRACTORS:
        rules = _limited("extractor", rules, "extract", timeout)
    reranker = _made("ranker", config.recall.ranker if ranker is None else ranker, {})
    if reranker is not None and not isinstance(reranker, WrappedReranker):
        reranker = WrappedReranker(reranker, timeout)
    shortener: Any = None if compressor is None else _limited("compressor", compressor, "compress", timeout)
    engines = open_engines(config, key, engine=engine, read_only=read_only)
    with ExitStack() as failed:
        failed.callback(close_ports, engines)
        if model is not None:
            stored = engines.index.embedder()
            if stored is not None and stored[0] != model.name:
                raise EmbedderMismatchError(stored, (model.name, None))
            model = batched(model)
        log = KeepingOutLog(engines.log, keeping)
        services = Services(
            log=ReadOnlyLog(engines.log) if read_only else _guarded(log, config.redaction),
            index=engines.index,
            archive=engines.archive,
            outbox=None if engines.outbox is None else _guarded(engines.outbox, config.redaction),
            embedder=model,
            clock=partial(datetime.now, UTC) if clock is None else _checked_clock(clock),
            new_id=TimeOrderedIds(),
            config=config,
            count=counted,
            reranker=reranker,
            compressor=shortener,
            states=(Extractors(rules), keeping, *projections(profile, embeddings)),
            statistics=statistics,
            read_only=read_only,
        )
        statistics.watch("answers", services.state(RecallProjection).answers)
        memory = HybridMemory(services, lambda given: batched(any_embedder(given)))
        failed.callback(memory.close)
        memory.set_language_model(writer)
        failed.pop_all()
    return memory


_checked = Arguments(open_memory, InvalidConfigError)


def _off_the_loop(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    @wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(function, *args, **kwargs)

    twin.__name__ = twin.__qualname__ = f"a{function.__name__}"
    twin.__doc__ = f"Async twin of `{function.__name__}`: reads the model and opens the store off the event loop."
    return twin


aopen_memory = _off_the_loop(open_memory)


def _batched(model: Embedder, config: MemoryConfig, statistics: Statistics, cache: LruCache[bytes, Floats]) -> Embedder:
    work, wrapped = config.orchestration, isinstance(model, WrappedEmbedder)  # our own ask nobody who could hang
    return BatchingEmbedder(
        model,
        batch_size=work.batch,
        window=work.window.total_seconds(),
        concurrency=work.embedding_concurrency,
        limit=model_limit(f"embedder {model.name!r}", work.model_timeout) if wrapped else None,
        cache=cache,
        statistics=statistics,
    )


def _counter(count: TokenCounter, statistics: Statistics) -> TokenCounter:
    """The counter, which remembers what it counted: the same turns stand in prompt after prompt."""
    cache: LruCache[bytes, int] = LruCache(COUNTED_TEXTS)
    statistics.watch("token counts", cache)

    def counted(text: str, /) -> int:
        key = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        if (known := cache.get(key)) is not None:
            return known
        try:
            tokens = count(text)
        except HybridMemoryError:
            raise
        except Exception as error:
            raise ModelError(f"the token counter failed: {error}") from error
        if not hasattr(type(tokens), "__index__") or tokens < 0:
            raise ModelError(f"the token counter returned {shown(tokens)} instead of a number of tokens")
        cache.put(key, index(tokens))
        return index(tokens)

    return counted


def _guarded(log: EventLog, policy: RedactionConfig) -> EventLog:
    """The log behind the gate that redacts, if something is to be redacted."""
    return RedactingLog(log, policy.kinds) if policy.kinds else log


def _checked_clock(clock: Clock) -> Clock:
    """The clock, of which an answer that is no instant is refused."""

    def checked_now() -> datetime:
        try:
            now: object = clock()
        except Exception as error:
            raise InvalidConfigError(
                f"clock must return a datetime with a time zone, it raised {type(error).__name__}: {error}"
            ) from error
        if not isinstance(now, datetime) or now.utcoffset() is None or bounded(now) != now:
            raise InvalidConfigError(f"clock must return a datetime with a time zone, got {shown(now)}")
        return now

    return checked_now


def _made(what: str, offer: Any, own: dict[str, str]) -> Any:
    """The object itself, or the one that its name stands for."""
    if not isinstance(offer, str):
        return offer
    offered = load(what, offer, own)
    return offered() if callable(offered) else offered


def _limited(what: str, model: Any, method: str, timeout: timedelta) -> Any:
    """The one method that is used of a caller's model, within a time limit; its errors are `ModelError`."""
    function = getattr(model, method, None)
    if not callable(function):
        raise InvalidInputError(f"{shown(model)} has no method {method}(...), which is required")
    name = getattr(model, "name", "")
    limit = model_limit(f"{what} {name!r}" if name else f"the {what}", timeout)
    return SimpleNamespace(name=name, **{method: partial(limit.answer, function)})


def projections(
    profile: type[UserProfile] = UserProfile, embeddings: LruCache[bytes, Floats] | None = None
) -> list[Projection]:
    """All of them, in the order in which `flush` derives: facts and uses are written to the log that indexes follow.

    ``embeddings`` are vectors of queries and texts, as the embedder caches them.
    """
    return [
        FactsProjection(profile),
        RecallProjection(),
        TextIndex(embeddings),
        QueueProjection(),
        GrantsProjection(),
        RulesProjection(),
        ItemsProjection(),
        DocumentsProjection(),
        ChangesProjection(),
    ]


def secret(key: Key | None) -> Any:
    """The passphrase or the bytes, None without a key; a callable that returns None would make a plain store."""
    if not callable(key):
        return key
    if (value := key()) is None:
        raise InvalidConfigError("key= returned None: return a passphrase or 32 bytes, or leave key= out")
    return value


def engine_at(url: str, config: MemoryConfig, key: Key | None = None, *, read_only: bool = False) -> Engine:
    """The engine that the scheme of a URL names: one of ours, or of an installed package.

    Raises `InvalidConfigError` if nobody offers the scheme, or a key is given for an engine that cannot encrypt.
    """
    scheme = url.partition(":")[0].partition("+")[0]
    if f"://{HIDDEN}" in url:
        raise InvalidConfigError(f"{url!r} lacks user and password, which are never shown or written: add them")
    if ":" not in url or (scheme not in ENGINES and scheme not in registered("engine")):
        file = "" if ":" in url or not url else f"sqlite:///{url} for a file, or else "
        raise InvalidConfigError(
            f"cannot open {shown_url(url)!r}: use {file}{INDEXES}, the path of a .yaml file, or a package that "
            f"registers the scheme under {GROUPS['engine']}"
        )
    kind: type[Engine] = load("engine", scheme, ENGINES, EXTRAS)
    if key is not None and not kind.encrypts:
        reason = "is written to no disk: there is nothing to encrypt" if url == "memory://" else "has no key"
        raise InvalidConfigError(f"{shown_url(url)} {reason}, leave key= out")
    opened = kind(url, config, secret(key))
    opened.read_only = read_only
    return opened


@dataclass(slots=True)
class Engines:
    """What a memory stands on."""

    log: EventLog
    index: SemanticIndex
    archive: ArchivedLog | None = None
    outbox: EventLog | None = None


def open_engines(
    config: MemoryConfig, key: Key | None, *, engine: Engine | None = None, read_only: bool = False
) -> Engines:
    """The engines that the settings name; what was opened is closed again where another cannot be.

    ``engine`` stands in for the one that ``config.url`` names.
    """
    value = secret(key)
    if engine is not None and value is not None and engine.key != value:
        raise InvalidConfigError("key= does not reach the engine that you give: make that one with the key")
    at = partial(engine_at, config=config, key=value, read_only=read_only)
    first = engine or at(config.url)
    second = first if config.index.url in {None, config.url} else at(config.index.url or "")
    with ExitStack() as opened:
        log = first.log()
        opened.callback(log.close)
        index = second.index()
        opened.callback(index.close)
        engines = Engines(log, index)
        if config.outbox is not None:
            file = Path(config.outbox).expanduser().resolve()  # with the key of the store
            taken = [getattr(engine, "path", None) for engine in (first, second)]
            if file in [path.resolve() for path in taken if path is not None]:
                raise InvalidConfigError(f"outbox={config.outbox!r} is the store itself: choose another file")
            engines.outbox = at(f"sqlite:///{file}").log()
            opened.callback(engines.outbox.close)
        if config.archive.url is not None:
            archive = engine_at(config.archive.url, config).archive()
            engines.archive = engines.log = ArchivedLog(log, archive)
        opened.pop_all()  # none failed: they stay open
    return engines


@checked
def check_store(config: MemoryConfig, *, key: Key | None = None) -> list[Finding]:
    """Check a store's files, then its index against the log, and return all findings; changes no turn.

    Args:
        config: names the store.
        key: the key of an encrypted store.

    Raises:
        InvalidConfigError: the settings cannot name a store.
    """
    try:
        findings = engine_at(config.url, config, key).check()
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidConfigError):
            raise
        return [Finding("store", "wrong", str(error))]
    try:
        engines = open_engines(config, key)
    except StoreError as error:
        return [*findings, Finding("store", "wrong", str(error))]
    try:
        findings += check_contents(engines.log, engines.index, engines.outbox)
        for owner in engines.log.heads():
            findings += [finding for projection in projections() for finding in projection.check(engines.log, owner)]
    except StoreError as error:
        findings.append(Finding("store", "wrong", str(error)))
    finally:
        close_ports(engines)
    return findings
