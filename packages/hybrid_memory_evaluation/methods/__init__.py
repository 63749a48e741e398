"""Methods that fit a long conversation into a model's prompt: our own, and those that packages register."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.sockets import registered
from hybrid_memory_evaluation.methods.method import Method
from hybrid_memory_evaluation.methods.own import OWN


def found_methods() -> dict[str, Method]:
    """All available methods by name; those of frameworks that are not installed are missing.

    A package registers a function that returns its methods, see `hybrid_memory.sockets.GROUPS`.
    """
    methods = dict(OWN)
    for entry in registered("evaluation method").values():
        try:
            made = entry.load()()
        except ImportError:
            continue
        methods |= {method.name: method for method in made}
    return methods


def chosen_methods(names: Sequence[str | Method]) -> list[Method]:
    """The methods with these names, without duplicates; objects are returned unchanged.

    Raises:
        InvalidInputError: a name is unknown, or no method is named.
    """
    existing = found_methods() if any(isinstance(name, str) for name in names) else {}
    unknown = [name for name in names if isinstance(name, str) and name not in existing]
    if unknown or not names:
        what = f"no method {', '.join(map(repr, unknown))}" if unknown else "no method is named"
        raise InvalidInputError(f"{what}: choose from {', '.join(existing or found_methods())}")
    chosen = [existing[name] if isinstance(name, str) else name for name in names]
    return list({method.name: method for method in chosen}.values())
