"""From a file to settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaml.nodes import MappingNode

from hybrid_memory.config.compaction import CompactionConfig
from hybrid_memory.config.engines import ArchiveConfig, IndexConfig
from hybrid_memory.config.file.engines import ARCHIVES, INDEXES, LOGS, Engine, named
from hybrid_memory.config.file.entries import Entry, root
from hybrid_memory.config.file.form import (
    CACHE,
    FLAT,
    MEMORY_L2,
    MEMORY_L3,
    ORCHESTRATION,
    RECALL,
    ROUTED,
    SECTIONS,
    STRATEGIES,
    TOP,
)
from hybrid_memory.config.file.keys import WEIGHTS
from hybrid_memory.config.file.mistakes import Mistakes
from hybrid_memory.config.file.sections import Section, read
from hybrid_memory.config.keeping import RedactionConfig, RetentionConfig
from hybrid_memory.config.learning import LearningConfig
from hybrid_memory.config.memory import MemoryConfig
from hybrid_memory.config.orchestration import OrchestrationConfig
from hybrid_memory.config.prompt import PromptConfig
from hybrid_memory.config.recall import RecallConfig
from hybrid_memory.config.weights import Weights
from hybrid_memory.errors import InvalidInputError


def settings(content: bytes, file: str) -> dict[str, Any]:
    """The fields of a `MemoryConfig` that a file sets.

    Args:
        content: of the file, YAML in UTF-8.
        file: its name, as messages say it.

    Raises:
        InvalidConfigError: all mistakes of the file, each with its line.
    """
    mistakes = Mistakes(file)
    top = root(content, file)
    if _has(top, TOP):
        read_in = _sectioned(read(top, {TOP: SECTIONS}, mistakes).sections[TOP], mistakes)
    else:
        read_in = _flat(read(top, {TOP: SECTIONS, **FLAT}, mistakes), mistakes)
    mistakes.check()
    return read_in


def _has(top: Entry, name: str) -> bool:
    return isinstance(top.node, MappingNode) and any(key.value == name for key, _ in top.node.value)


def _flat(top: Section, mistakes: Mistakes) -> dict[str, Any]:
    found = top.settings()
    cache = found.get("recall", {}).pop("query_cache", None)
    for name, section in top.sections.items():
        if name in MemoryConfig.model_fields:
            section.model(type(MemoryConfig.model_fields[name].get_default()), found.get(name, {}), mistakes)
    if cache is not None:
        found["orchestration"] = {"cache": cache, **found.get("orchestration", {})}
    return found


def _sectioned(system: Section, mistakes: Mistakes) -> dict[str, Any]:
    tiers = system.sections["tiers"].sections
    semantic, episodic = tiers["l2_semantic"], tiers["l3_episodic"]
    url = _url(episodic, ("kv_store", "url"), LOGS, mistakes) or LOGS["sqlite"].url
    own = {
        "prompt": PromptConfig,
        "learning": LearningConfig,
        "retention": RetentionConfig,
        "redaction": RedactionConfig,
    }
    return {
        "url": url,
        "index": _index(semantic, url, mistakes),
        "archive": _archive(episodic, mistakes),
        "compaction": _compaction(tiers["l1_context"], mistakes),
        "recall": _recall(system.sections["retrieval"], mistakes),
        "orchestration": _orchestration(system.sections["orchestration"], mistakes),
        **_fields(semantic, MEMORY_L2),
        **_fields(episodic, MEMORY_L3),
        **{
            name: system.sections[name].model(model, system.sections[name].settings(), mistakes)
            for name, model in own.items()
        },
    }


def _fields(section: Section, names: Mapping[str, str]) -> dict[str, Any]:
    return {field: section.values[name] for name, field in names.items() if name in section.values}


def _url(section: Section, names: tuple[str, str], engines: Mapping[str, Engine], mistakes: Mistakes) -> str | None:
    """The URL that is given, else the usual one of the engine that is; None if neither is, or one was refused."""
    if section.refused(*names):
        return None
    name, url = (section.values.get(key) for key in names)
    if url is None:
        return engines[name].url if name else None
    possible = {name: engines[name]} if name else engines
    if named(url, possible) is None:
        prefixes = " or ".join(prefix for engine in possible.values() for prefix in engine.prefixes)
        wanted = f"a URL of {names[0]} {name}, which begins" if name else "a URL that begins"
        mistakes.refuse(section.entries[names[1]], f"{wanted} with {prefixes}")
    return str(url)


def _index(section: Section, log: str, mistakes: Mistakes) -> IndexConfig | None:
    name, kind = section.values.get("vector_store"), section.values.get("index_type")
    url = _url(section, ("vector_store", "url"), INDEXES, mistakes)
    if name == named(log, INDEXES) and section.values.get("url") is None:
        url = None  # the engine of the log has it
    if kind == "IVF_FLAT" and named(url or log, INDEXES) == "redis" and not section.refused("vector_store", "url"):
        mistakes.refuse(section.entries["index_type"], "one of FLAT, HNSW with vector_store redis")
    values = {"url": url, "algorithm": kind.lower() if kind else None, **_fields(section, {"nlist": "nlist"})}
    return section.model(IndexConfig, values, mistakes)


def _archive(section: Section, mistakes: Mistakes) -> ArchiveConfig | None:
    url = _url(section, ("backup", "backup_url"), ARCHIVES, mistakes)
    if url is None and "ttl_days" in section.values and not section.refused("backup", "backup_url"):
        mistakes.add(
            section.entries["ttl_days"],
            f"{section.entries['ttl_days'].shown} needs a backup, or older events would be lost: set backup to one of "
            f"{', '.join(ARCHIVES)}; or set {TOP}.retention, which only leaves old memories out of recall",
        )
    return section.model(ArchiveConfig, {"url": url, **_fields(section, {"ttl_days": "after"})}, mistakes)


def _compaction(section: Section, mistakes: Mistakes) -> CompactionConfig | None:
    values = dict(section.values)
    threshold = values.pop("compression_threshold", None)
    if threshold is not None and not section.refused("max_tokens"):
        entry = section.entries["compression_threshold"]
        limit = values.get("max_tokens", CompactionConfig().max_tokens)
        if "flush" in section.entries:
            mistakes.add(entry, "the same as flush, in tokens: leave out one of the two")
        elif threshold > limit:
            mistakes.refuse(entry, f"a whole number of tokens from 1 to max_tokens, {limit}")
        else:
            values["flush"] = threshold / limit
    return section.model(CompactionConfig, values, mistakes)


def _recall(section: Section, mistakes: Mistakes) -> RecallConfig | None:
    values = {"weights": _weights(section, mistakes), **_fields(section, RECALL)}
    return section.model(RecallConfig, values, mistakes)


def _weights(section: Section, mistakes: Mistakes) -> Weights:
    strategy = section.values.get("default_strategy", "hybrid")
    given = section.sections["weights"]
    if not given.entries:
        return STRATEGIES[strategy]
    if strategy != "hybrid":
        mistakes.add(given.entry, f"default_strategy {strategy} has weights of its own: leave out one of the two")
    routed = [name for name in ROUTED if name in given.entries]
    values = dict.fromkeys(WEIGHTS, 0.0) if routed else {}
    values |= {ROUTED.get(name, name): value for name, value in given.values.items()}
    for name in routed:
        if ROUTED[name] in given.entries:
            mistakes.add(given.entries[name], f"the same as {ROUTED[name]}: leave out one of the two")
    try:
        return Weights(**values)
    except InvalidInputError:
        if given.clean:
            mistakes.add(given.entry, "all weights are 0: use one above 0 at least")
        return Weights()


def _orchestration(section: Section, mistakes: Mistakes) -> OrchestrationConfig | None:
    cache = section.sections["cache"]
    values = _fields(section, ORCHESTRATION) | _fields(cache, CACHE)
    if not cache.values.get("enabled", True):
        values["cache"] = 0
    return section.model(OrchestrationConfig, values, mistakes)
