"""Import paths of version 0.9 that are others now: they work for one version more, and warn."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "hybrid_memory"
MOVED = {
    "cli": "apps.cli",
    "evaluation": "apps.evaluation",
    "inspector": "apps.inspector",
    "mcp": "apps.mcp",
    "paging": "apps.agent",
}
"""Packages, with what is in them."""

TYPES = "types"
TYPES_HOMES = (PACKAGE, f"{PACKAGE}.analysis", f"{PACKAGE}.adapters", f"{PACKAGE}.validation")
"""Where names stand that were in `hybrid_memory.types`."""


class MovedPaths:
    """Finds a module under its former path: a module of its own that has the names of the new one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called where Python finds nothing itself."""
        del path, target
        package, _, name = fullname.partition(".")
        known = package == PACKAGE and name.partition(".")[0] in {TYPES, *MOVED}
        # Not a `Loader`: importlib.abc imports far more than this package may.
        return ModuleSpec(fullname, self, is_package=True) if known else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Python makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Give it the names, and warn whoever imports it."""
        homes: tuple[str, ...]
        first, _, rest = module.__name__.removeprefix(f"{PACKAGE}.").partition(".")
        homes = TYPES_HOMES if first == TYPES else (f"{PACKAGE}.{MOVED[first]}{rest and '.'}{rest}",)
        found = [import_module(home) for home in homes]
        warnings.warn(f"{module.__name__} is deprecated: import {homes[0]}", DeprecationWarning, stacklevel=2)

        def named(name: str) -> Any:
            for home in found:
                with suppress(AttributeError):
                    return getattr(home, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        vars(module).update(__getattr__=named, __doc__=f"Deprecated: `{homes[0]}`.")
        vars(module)["__all__"] = getattr(found[0], "__all__", [])


def install() -> None:
    """Let the former paths be imported."""
    if not any(isinstance(finder, MovedPaths) for finder in sys.meta_path):
        sys.meta_path.append(MovedPaths())
