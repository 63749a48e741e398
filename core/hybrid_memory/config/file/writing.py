"""From settings to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from fractions import Fraction
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter

from hybrid_memory.config.compaction import CompactionConfig
from hybrid_memory.config.file.engines import ARCHIVES, INDEXES, LOGS, named
from hybrid_memory.config.file.form import CACHE, MEMORY_L2, MEMORY_L3, ORCHESTRATION, RECALL, STRATEGIES, TOP
from hybrid_memory.config.memory import MemoryConfig
from hybrid_memory.config.orchestration import OrchestrationConfig
from hybrid_memory.config.recall import RecallConfig

_UNITS = {"_days": "days", "_seconds": "seconds", "_ms": "milliseconds"}
"""Of a time, by the ending of its name."""

_ISO = TypeAdapter(timedelta)


def written(config: MemoryConfig) -> str:
    """The settings as YAML, by sections."""
    sections = {
        "tiers": {
            "l1_context": _context(config.compaction),
            "l2_semantic": _semantic(config),
            "l3_episodic": _episodic(config),
        },
        "orchestration": _orchestration(config.orchestration),
        "retrieval": _retrieval(config.recall),
        "prompt": config.prompt.model_dump(mode="json"),
        "learning": config.learning.model_dump(mode="json"),
        "retention": config.retention.model_dump(mode="json"),
        "redaction": config.redaction.model_dump(mode="json"),
    }
    text: str = yaml.dump({TOP: sections}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """As PyYAML's, which reads some breaks of a line back as others, where they are not escaped."""

    def text(self, value: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.text)


def _context(compaction: CompactionConfig) -> dict[str, Any]:
    own = compaction.model_dump(mode="json")
    threshold = round(Fraction(compaction.flush) * compaction.max_tokens)
    if threshold and threshold / compaction.max_tokens == compaction.flush:
        del own["flush"]
        return {"max_tokens": own.pop("max_tokens"), "compression_threshold": threshold, **own}
    return own


def _semantic(config: MemoryConfig) -> dict[str, Any]:
    index = config.index
    return {
        "vector_store": named(index.url or config.url, INDEXES),
        "url": index.url,
        "index_type": index.algorithm.upper() if index.algorithm else None,
        "nlist": index.nlist,
        **_values(config, MEMORY_L2),
    }


def _episodic(config: MemoryConfig) -> dict[str, Any]:
    store, archive = named(config.url, LOGS), config.archive
    return {
        **({"kv_store": store} if store else {}),
        "url": config.url,
        **({"ttl_days": _time(archive.after, "days")} if archive.url is not None else {}),
        "backup": named(archive.url, ARCHIVES),
        "backup_url": archive.url,
        **_values(config, MEMORY_L3),
    }


def _orchestration(orchestration: OrchestrationConfig) -> dict[str, Any]:
    cache = {"enabled": orchestration.cache > 0, **_values(orchestration, CACHE)}
    return {**_values(orchestration, ORCHESTRATION), "cache": cache}


def _retrieval(recall: RecallConfig) -> dict[str, Any]:
    strategy = next((name for name in ("vector", "text") if STRATEGIES[name] == recall.weights), "hybrid")
    weights = {"weights": asdict(recall.weights)} if strategy == "hybrid" else {}
    return {"default_strategy": strategy, **weights, **_values(recall, RECALL)}


def _values(model: BaseModel, names: Mapping[str, str]) -> dict[str, Any]:
    plain = model.model_dump(mode="json", include=set(names.values()))
    values = {name: plain[field] for name, field in names.items()}
    for name, field in names.items():
        unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), None)
        if unit:
            values[name] = _time(getattr(model, field), unit)
    return values


def _time(value: timedelta, unit: str) -> float | str:
    """A number of the unit, or, where none is exact, an ISO 8601 duration."""
    number = value / timedelta(**{unit: 1})
    try:
        exact = timedelta(**{unit: number}) == value
    except OverflowError:
        exact = False
    if not exact:
        return str(_ISO.dump_python(value, mode="json"))
    return int(number) if number.is_integer() else number
