"""Lists of every setting: from the models of the settings and their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields
from datetime import timedelta
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from hybrid_memory import Signals, Weights
from hybrid_memory.config import (
    ArchiveConfig,
    CompactionConfig,
    IndexConfig,
    LearningConfig,
    MemoryConfig,
    OrchestrationConfig,
    PagingConfig,
    PromptConfig,
    RecallConfig,
    RedactionConfig,
    RetentionConfig,
)

LISTED = re.compile(r"^(?P<names>\w+(?:, \w+)*): (?P<told>.*)$")
INDENT = 4

GROUPS: dict[str, type[BaseModel]] = {
    "memory": MemoryConfig,
    "index": IndexConfig,
    "archive": ArchiveConfig,
    "compaction": CompactionConfig,
    "recall": RecallConfig,
    "orchestration": OrchestrationConfig,
    "prompt": PromptConfig,
    "learning": LearningConfig,
    "retention": RetentionConfig,
    "redaction": RedactionConfig,
    "paging": PagingConfig,
}
"""By section of a file, except for `MemoryConfig`, which is the whole file, and `PagingConfig`, which is in none."""

PLAIN = {bool, int, float, str, timedelta}
"""Types that a default shows."""

BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


NOTES = {
    "memory": "The whole file.",
    "compaction": "The four shares together must not exceed 1.",
    "paging": "For `PagedAgent`, `assemble(paging=)` or an adapter; not in a file.",
}


def sections() -> str:
    """Every group of settings: each with its default, what is allowed and what it means."""
    return "\n\n".join(_section(name, model) for name, model in GROUPS.items())


def _section(name: str, model: type[BaseModel]) -> str:
    told = meanings(model)
    lines = [
        f"- `{setting}` ({allowed(info)}): {told[setting]}"
        for setting, info in model.model_fields.items()
        if not _is_section(info.annotation)
    ]
    head = f"## {name.capitalize()}\n\n`{model.__name__}`. {NOTES.get(name, '')}".rstrip()
    return "\n\n".join([head, "\n".join(lines)])


def weights() -> str:
    """The weight and the meaning of each signal."""
    told = meanings(Signals)
    return "\n".join(f"- `{part.name}` ({part.default:g}): {told[part.name]}" for part in fields(Weights))


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


def allowed(info: FieldInfo) -> str:
    """The default of a field, its type where the default does not say it, and its range."""
    default = info.get_default(call_default_factory=True)
    plain = type(default) in PLAIN and get_origin(info.annotation) is not Literal
    more = " ".join(part for part in ("" if plain else _type(info.annotation), _range(info.metadata)) if part)
    return f"{_default(default)}; {more}" if more else _default(default)


def _type(annotation: Any) -> str:
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{name}`" for name in parts)
    if NoneType in parts:
        (inner,) = (part for part in parts if part is not NoneType)
        return _type(inner)
    if get_origin(annotation) is tuple:
        return f"list of: {_type(parts[0])}"
    if get_origin(annotation) is dict:
        return f"by {_type(parts[0])}: {_type(parts[1])}"
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return " or ".join(map(_type, parts[:1] if get_origin(annotation) is Annotated else parts))
    names = {int: "whole number", float: "number", str: "text", bool: "true or false", timedelta: "duration"}
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _range(metadata: Iterable[Any]) -> str:
    """The bounds, such as ``≥ 0, < 1``."""
    return ", ".join(
        f"{sign} {_default(bound)}"
        for mark in metadata
        for name, sign in BOUNDS.items()
        if (bound := getattr(mark, name, None)) is not None
    )


def _default(value: Any) -> str:
    if isinstance(value, timedelta):
        return _length(value)
    if isinstance(value, bool | str):
        return f"`{str(value).lower() if isinstance(value, bool) else value}`".replace("\n", "\\n")
    if value in ((), {}) or value is PydanticUndefined:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value)
    return "null" if value is None else f"{value:,}"


def _length(value: timedelta) -> str:
    days, rest = divmod(value, timedelta(days=1))
    if days and not rest:
        return f"{days} days"
    if timedelta(0) < value < timedelta(seconds=1):
        return f"{value / timedelta(milliseconds=1):g} ms"
    return f"{value.total_seconds():,g} s" if value else "0"


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and (issubclass(annotation, BaseModel) or annotation is Weights)
