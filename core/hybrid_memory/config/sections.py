"""The sections that files had before version 0.10, under ``memory_system``: translated as they are read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from hybrid_memory.config.compaction import DEFAULT_TOKENS
from hybrid_memory.config.memory import Weights
from hybrid_memory.config.yaml import Document, nearest

TOP = "memory_system"

_FIELDS = {
    "tiers.l1_context": "compaction",
    "tiers.l1_context.compression_threshold": "old.threshold",
    "tiers.l2_semantic": "index",
    "tiers.l2_semantic.vector_store": "old.index",
    "tiers.l2_semantic.index_type": "index.algorithm",
    "tiers.l2_semantic.embedding_model": "embedder",
    "tiers.l2_semantic.exact_limit": "exact_limit",
    "tiers.l2_semantic.cleaning": "cleaning",
    "tiers.l3_episodic.kv_store": "old.log",
    "tiers.l3_episodic.url": "url",
    "tiers.l3_episodic.ttl_days": "archive.after",
    "tiers.l3_episodic.backup": "old.archive",
    "tiers.l3_episodic.backup_url": "archive.url",
    "tiers.l3_episodic.outbox": "outbox",
    "tiers.l3_episodic.power_safe": "power_safe",
    "orchestration": "orchestration",
    "orchestration.max_concurrent_tasks": "orchestration.concurrency",
    "orchestration.embedding_batch_size": "orchestration.batch",
    "orchestration.embedding_window_ms": "orchestration.window",
    "orchestration.cache.enabled": "old.cache",
    "orchestration.cache.max_size": "orchestration.cache",
    "orchestration.cache.ttl_seconds": "orchestration.cache_ttl",
    "retrieval": "recall",
    "retrieval.default_strategy": "old.weights",
    "retrieval.weights.exact_match": "recall.weights.exact",
    "retrieval.weights.semantic": "recall.weights.vector",
    "retrieval.cache_ttl_seconds": "recall.cache_ttl",
    "retrieval.half_life_days": "recall.half_life",
    "prompt": "prompt",
    "learning": "learning",
    "retention": "retention",
    "redaction": "redaction",
}
"""By key: the field that it is, or, under ``old``, what `_resolve` reads. Keys below a key are below its field."""

_ENGINES = {
    "log": {"sqlite": "sqlite:///memory.db", "memory": "memory://", "redis": "redis://localhost:6379/0"},
    "index": {
        "faiss": "sqlite:///memory.index.db",
        "memory": "memory://",
        "redis": "redis://localhost:6379/0",
        "milvus": "milvus://localhost:19530",
    },
    "archive": {"clickhouse": "clickhouse://localhost:8123/default", "chdb": "chdb:///memory.archive"},
}
"""Where an engine is unless the file has its URL."""

_WEIGHTS: dict[str, dict[str, float]] = {
    "hybrid": {},
    "vector": {"vector": 1.0, "text": 0.0},
    "text": {"vector": 0.0, "text": 1.0},
}
_SECONDS = {"ttl_days": 86_400, "half_life_days": 86_400, "embedding_window_ms": 0.001}

_SECTIONS = {TOP, "url", *(part for key in _FIELDS for part in key.split(".")[:-1]), *_FIELDS.values()}
"""What may be null, or without anything below it, and then says nothing."""

Keys: TypeAlias = tuple[str, ...]


def translate(document: Document) -> None:
    """Turn sections, if the file has them, into the fields of `MemoryConfig`."""
    values = document.values
    cache = _section(values, "recall").pop("query_cache", None)  # as files had it until 0.5
    if isinstance(values, dict) and TOP in values:
        document.values = _fields_of(document, values)
    elif cache is not None:
        values["orchestration"] = {"cache": cache, **_section(values, "orchestration")}
    else:
        return
    warnings.warn(
        f"{document.file} has settings as they were before version 0.10, which will not be read for ever: replace it "
        "by what MemoryConfig.from_yaml(file).to_yaml() returns",
        DeprecationWarning,
        stacklevel=4,
    )


def _section(values: Any, name: str) -> dict[str, Any]:
    section = values.get(name) if isinstance(values, dict) else None
    return section if isinstance(section, dict) else {}


def _fields_of(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    places = document.places
    for name in values.keys() - {TOP}:
        document.refuse(places[name,], f"move it below {TOP}, or leave {TOP} out")
    document.places = {(): places[TOP,]}
    translated: dict[str, Any] = {}
    for keys, value in _leaves(values[TOP], (TOP,)):
        field = _field(keys[1:])
        if not field:
            document.refuse(places[keys], "there is no such setting")
            continue
        section = translated
        for depth, name in enumerate(field[:-1], 1):
            section = section.setdefault(name, {})
            document.places.setdefault(field[:depth], places[keys[:-1]])
        section[field[-1]] = _value(keys[-1], value)
        document.places[field] = places[keys]
    _resolve(document, translated, translated.pop("old", {}))
    if {"exact_match", "semantic"} & _section(_section(values[TOP], "retrieval"), "weights").keys():
        recall = translated.setdefault("recall", {})  # weights that are not named are 0 then
        given = _section(recall, "weights")
        if "text" not in given and isinstance(exact := given.get("exact"), int | float):
            given |= {"text": exact / 2, "exact": exact / 2}  # as `Weights.routed` shares what is found word for word
        recall["weights"] = {part.name: 0.0 for part in fields(Weights)} | given
    return translated


def _leaves(value: Any, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*keys, name))
    elif value is not None or keys[-1] not in _SECTIONS:
        yield keys, value


def _field(keys: Keys) -> Keys:
    """The field that a key is; empty if there is none."""
    for end in range(len(keys), 0, -1):
        if field := _FIELDS.get(".".join(keys[:end])):
            return (*field.split("."), *keys[end:])
    return ()


def _value(name: str, value: Any) -> Any:
    if name in _SECONDS and isinstance(value, int | float) and not isinstance(value, bool):
        return value * _SECONDS[name]
    return value.lower() if name == "index_type" and isinstance(value, str) else value


def _resolve(document: Document, values: dict[str, Any], old: dict[str, Any]) -> None:
    """Set the fields that the keys under ``old`` stand for, unless they are set."""

    def chosen(name: str, known: Mapping[str, Any]) -> Any:
        value = str(old.get(name) or "")
        if value and value not in known:
            reason = f"{value!r} is not allowed: use one of {', '.join(known)}{nearest(value, known)}"
            document.refuse(document.places["old", name], reason)
        return known.get(value)

    def fill(section: str, name: str, value: Any) -> None:
        if value is not None and _section(values, section).get(name) is None:
            values[section] = {**_section(values, section), name: value}

    log, index, archive = (chosen(name, known) for name, known in _ENGINES.items())
    values.setdefault("url", log or _ENGINES["log"]["sqlite"])
    engine = str(values["url"]).partition(":")[0].partition("+")[0].replace("rediss", "redis")
    if old.get("index") != {"sqlite": "faiss"}.get(engine, engine):  # else the index is beside the log
        fill("index", "url", index)
    fill("archive", "url", archive)
    if "after" in _section(values, "archive") and _section(values, "archive").get("url") is None:
        document.refuse(
            document.places["archive", "after"], "it does nothing without backup: name one, or leave it out"
        )
    fill("recall", "weights", chosen("weights", _WEIGHTS) or None)  # hybrid: the ranker's own
    threshold, limit = old.get("threshold"), _section(values, "compaction").get("max_tokens", DEFAULT_TOKENS)
    if isinstance(threshold, int | float) and isinstance(limit, int | float) and limit:
        document.places["compaction", "flush"] = document.places["old", "threshold"]
        fill("compaction", "flush", threshold / limit)
    if old.get("cache") is False:
        values["orchestration"] = {**_section(values, "orchestration"), "cache": 0}
