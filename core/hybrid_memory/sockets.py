"""Implementations by name: the library's own, and those that installed packages register as entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybrid_memory.errors import InvalidConfigError, MissingDependencyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = {
    "engine": "hybrid_memory.engines",
    "embedder": "hybrid_memory.embedders",
    "model provider": "hybrid_memory.model_providers",
    "extractor": "hybrid_memory.extractors",
    "strategy": "hybrid_memory.strategies",
    "ranker": "hybrid_memory.rankers",
    "token counter": "hybrid_memory.token_counters",
    "evaluation method": "hybrid_memory.evaluation_methods",
    "command": "hybrid_memory.commands",
}
"""Entry point groups by kind. The library's own are not registered there, as listing installed packages takes 10 ms."""


def registered(what: str) -> dict[str, EntryPoint]:
    """The entry points that installed packages register under a key of `GROUPS`, by name; nothing is imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms that an import of the package need not pay

    return {entry.name: entry for entry in entry_points(group=GROUPS[what])}


def load(what: str, name: str, own: Mapping[str, str], extras: Collection[str] = ()) -> Any:
    """The implementation with this name, imported on demand; the library's own take precedence.

    ``own`` are these as ``module:attribute``, ``extras`` the last names of modules that import what the extra of that
    name installs. Raises `InvalidConfigError` if there is no such name, `MissingDependencyError` if a package that it
    imports is not installed.
    """
    if name in own:
        module, _, attribute = own[name].partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ImportError as error:
            if (extra := module.rpartition(".")[2]) not in extras:
                raise
            raise MissingDependencyError(error.name or name, extra=extra) from error
    others = registered(what)
    if name not in others:
        known = ", ".join(sorted({*own, *others}))
        raise InvalidConfigError(
            f"unknown {what} {name!r}: {known and f'choose one of {known}, or '}install a package that offers it under "
            f"{GROUPS[what]}"
        )
    try:
        return others[name].load()
    except ImportError as error:
        raise InvalidConfigError(f"the {what} {name!r} of {others[name].value} cannot be imported: {error}") from error


def on_first_use(
    package: str, modules: Mapping[str, str], *, needs: Mapping[str, str] | None = None, extra: str = ""
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names are imported on first use.

    ``modules`` are the names in each module, ``needs`` the distributions that the extra installs, by what they import.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            missing = (needs or {}).get((error.name or "").partition(".")[0])
            if missing is None:
                raise
            raise MissingDependencyError(missing, extra=extra) from error
        setattr(sys.modules[package], name, value)
        return value

    return imported
