"""A local page on a memory: what it holds, why something came back, and what a prompt was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid_memory.errors import MissingDependencyError

if TYPE_CHECKING:
    from hybrid_memory_inspector.app import application, serve

__all__ = ["application", "serve"]


def __getattr__(name: str) -> Any:
    """Import the page when it is first used: the command line, which shows its options, needs none of its packages.

    Raises:
        MissingDependencyError: jinja2, starlette or uvicorn is not installed.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from hybrid_memory_inspector import app  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"jinja2", "markupsafe", "starlette", "uvicorn"}:
            raise
        raise MissingDependencyError(package, extra="inspector") from error
    return getattr(app, name)
