"""Tables of every setting: from the models of the settings, their docstrings, and the names in a YAML file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from hybrid_memory import (
    ArchiveConfig,
    CompactionConfig,
    IndexConfig,
    LearningConfig,
    MemoryConfig,
    OrchestrationConfig,
    PagingConfig,
    RecallConfig,
    RedactionConfig,
    RetentionConfig,
    Signals,
    Weights,
)
from hybrid_memory.config import PromptConfig
from hybrid_memory.config.file import form
from hybrid_memory.config.file.keys import Keys, keys_of
from hybrid_memory.config.file.kinds import Kind

LISTED = re.compile(r"^(?P<names>\w+(?:, \w+)*): (?P<told>.*)$")
INDENT = 4


@dataclass(frozen=True, slots=True)
class Group:
    """The settings of one model.

    Attributes:
        section: of the file, with dots; None where the settings are given in code only.
        keys: name in the file by field, where it is another than the field's.
        units: of whole numbers, where the file does not say.
    """

    model: type[BaseModel]
    section: str | None
    keys: Mapping[str, str]


def _turned(names: Mapping[str, str]) -> dict[str, str]:
    return {field: name for name, field in names.items()}


GROUPS = {
    "memory": Group(
        MemoryConfig,
        "tiers",
        {
            "url": "l3_episodic.url",
            **{field: f"l2_semantic.{name}" for name, field in form.MEMORY_L2.items()},
            **{field: f"l3_episodic.{name}" for name, field in form.MEMORY_L3.items()},
        },
    ),
    "index": Group(IndexConfig, "tiers.l2_semantic", {"algorithm": "index_type"}),
    "archive": Group(
        ArchiveConfig,
        "tiers.l3_episodic",
        {"url": "backup_url", "after": "ttl_days"},
    ),
    "compaction": Group(CompactionConfig, "tiers.l1_context", {}),
    "recall": Group(RecallConfig, "retrieval", _turned(form.RECALL)),
    "orchestration": Group(
        OrchestrationConfig,
        "orchestration",
        _turned(form.ORCHESTRATION) | {field: f"cache.{name}" for name, field in form.CACHE.items()},
    ),
    "prompt": Group(PromptConfig, "prompt", {}),
    "learning": Group(LearningConfig, "learning", {}),
    "retention": Group(RetentionConfig, "retention", {}),
    "redaction": Group(RedactionConfig, "redaction", {}),
    "paging": Group(PagingConfig, None, {}),
}


def table(which: str) -> str:
    """The settings of a group as a table in Markdown."""
    if which == "weights":
        return _weights()
    group = GROUPS[which]
    told = meanings(group.model)
    rows = []
    for name, part in group.model.model_fields.items():
        if not _is_section(part.annotation):
            key = yaml_key(group, name)
            setting = f"`{name}`" + (f"<br>`{key}`" if key else "")
            default = _default(part.get_default(call_default_factory=True))
            rows.append(f"| {setting} | {default} | {_allowed(group, name)} | {told[name]} |".replace("||", "| |"))
    head = "field<br>key in a file" if group.section else "field"
    return "\n".join([f"| {head} | default | type, unit, range | meaning |", "|---|---|---|---|", *rows])


def yaml_key(group: Group, name: str) -> str | None:
    """The setting's place in a file, below ``memory_system``."""
    return None if group.section is None else f"{group.section}.{group.keys.get(name, name)}"


def kind_at(key: str) -> Kind | None:
    """What a file may have at a place; None where there is a section of its own, or nothing."""
    found: Kind | Keys | None = form.SECTIONS
    for name in key.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found if isinstance(found, Kind) else None


def all_keys(keys: Keys = form.SECTIONS, above: str = "") -> Iterator[str]:
    """Every place in a file, with dots."""
    for name, kind in keys.items():
        if isinstance(kind, Kind):
            yield f"{above}{name}"
        else:
            yield from all_keys(kind, f"{above}{name}.")


def meanings(model: type[Any]) -> dict[str, str]:
    """What each attribute means, from the docstring of its class."""
    told: dict[str, str] = {}
    last: list[str] = []
    _, _, listed = inspect.cleandoc(model.__doc__ or "").partition("Attributes:\n")
    for line in listed.split("\n"):
        if line and not line.startswith(" "):
            break
        if line[INDENT : INDENT + 1] not in {"", " "}:
            last = []
            # A line may tell of several: "vector: nearness; text: words in common".
            for part in line.strip().split("; ") if model is Signals else [line.strip()]:
                if found := LISTED.match(part):
                    last = found["names"].split(", ")
                    told |= dict.fromkeys(last, found["told"])
        else:
            told |= {name: f"{told[name]} {line.strip()}".strip() for name in last}
    return {name: words.replace("``", "`") for name, words in told.items()}


def _allowed(group: Group, name: str) -> str:
    key = yaml_key(group, name)
    kind = kind_at(key) if key else None
    if kind is None:
        own = keys_of(group.model)[name]
        if not isinstance(own, Kind):
            each = next(iter(own.values()))
            return f"by {', '.join(f'`{inner}`' for inner in own)}: {each}"
        kind = own
    return f"{kind}{', or null' if kind.null else ''}"


def _default(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, timedelta):
        days, rest = divmod(value, timedelta(days=1))
        if days and not rest:
            return f"{days} days"
        return f"{value / timedelta(milliseconds=1):g} ms" if value < timedelta(seconds=1) else f"{value.seconds:,} s"
    if value in ((), {}) or value is PydanticUndefined:
        return "none"
    if isinstance(value, bool | str):
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"
    return f"{value:,}"


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and (issubclass(annotation, BaseModel) or annotation is Weights)


def _weights() -> str:
    told = meanings(Signals)
    rows = [
        f"| `{part.name}`<br>`retrieval.weights.{part.name}` | {part.default:g} | {told[part.name]} |"
        for part in fields(Weights)
    ]
    return "\n".join(["| field<br>key in a file | default | the signal |", "|---|---|---|", *rows])
