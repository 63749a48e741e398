"""The public names and their signatures stand in ``public_api.txt``: who changes one of them sees it there.

A name that goes, an argument that goes or is made to be given, is a change that breaks callers. Run this file to renew
the list: ``python tests/release/test_public_api.py``.
"""

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

PACKAGES = ("hybrid_memory", "hybrid_memory_hosts", "langchain_hybrid_memory", "llamaindex_hybrid_memory")
ROOMS = ("hybrid_memory.errors", "hybrid_memory.apps.mcp", "hybrid_memory.tools", "hybrid_memory_hosts.anthropic")
"""Modules below the packages that documents tell callers to import from."""

PINNED = Path(__file__).with_name("public_api.txt")
RENEW = "the public API has changed: if it was meant to, run python tests/release/test_public_api.py"


def public_api() -> str:
    """A line for each public name, its fields and its verbs."""
    return "\n".join(line for name in (*PACKAGES, *ROOMS) for line in _module(name)) + "\n"


def _module(name: str) -> Iterator[str]:
    module = import_module(name)
    listed = getattr(module, "__all__", None) or [
        key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == name
    ]
    for public in sorted(listed):
        yield from _named(f"{name}.{public}", getattr(module, public))


def _named(path: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"{path}({bases})" if bases else path
        yield from sorted(f"{path}.{line}" for line in _members(value))
    elif isinstance(value, FunctionType):
        yield f"{path}{_signature(value)}"
    else:
        yield path


def _members(cls: type) -> set[str]:
    """What callers see of a class; of a framework's class only what is added to it."""
    if issubclass(cls, Enum):
        return {f"{member.name} = {member.value!r}" for member in cls}
    found: dict[str, str] = {}
    for owner in reversed(cls.__mro__):
        if owner.__module__.partition(".")[0] not in PACKAGES:
            continue
        for name, annotation in inspect.get_annotations(owner).items():
            if not name.startswith("_") and not str(annotation).startswith("ClassVar"):
                found[name] = f"{name}: {_annotation(annotation)}{_default(cls, owner, name)}"
        for name, value in vars(owner).items():
            plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            generated = name == "__init__" and is_dataclass(owner)  # its fields say the same
            if generated or (name.startswith("_") and name != "__init__"):
                continue
            if isinstance(plain, FunctionType) and plain.__module__.partition(".")[0] in PACKAGES:
                found[name] = f"{name}{_signature(plain)}"
            elif isinstance(value, property):
                found[name] = f"{name} (property)"
    return set(found.values())


def _default(cls: type, owner: type, name: str) -> str:
    """Whether a field may be left out."""
    if fields := getattr(cls, "model_fields", None):
        return "" if name not in fields or fields[name].is_required() else " = ..."
    fields = getattr(owner, "__dataclass_fields__", {})
    if name not in fields:
        return ""
    field = fields[name]
    return "" if field.default is field.default_factory else " = ..."


def _signature(function: FunctionType) -> str:
    signature = inspect.signature(function)
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        kind = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
        parts.append(f"{stars}{parameter.name}{kind}{default}")
    return f"({', '.join(parts)}) -> {_annotation(signature.return_annotation)}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _value(default: Any) -> str:
    """What is meant to be read; a function has another address in every process."""
    if isinstance(default, Enum):
        return f"{type(default).__name__}.{default.name}"
    return repr(default) if isinstance(default, str | int | float | None) or default == () else "..."


def test_the_public_api_is_as_it_was() -> None:
    pinned, found = PINNED.read_text(encoding="utf-8").splitlines(), public_api().splitlines()
    gone, new = sorted(set(pinned) - set(found)), sorted(set(found) - set(pinned))
    assert (gone, new) == ([], []), RENEW
    assert found == pinned, RENEW


def test_every_verb_has_its_twin_with_the_same_arguments() -> None:
    from hybrid_memory import HybridMemory, ScopedMemory, SpaceMemory  # noqa: PLC0415

    for cls in (HybridMemory, ScopedMemory, SpaceMemory):
        for name, twin in inspect.getmembers(cls, inspect.iscoroutinefunction):
            if not name.startswith("_"):
                verb = inspect.signature(getattr(cls, name.removeprefix("a")))
                assert str(verb.parameters) == str(inspect.signature(twin).parameters), name


if __name__ == "__main__":
    PINNED.write_text(public_api(), encoding="utf-8")
