"""A local page on a memory: what it holds, why something came back, and what a prompt was made of.

Raises:
    MissingDependencyError: jinja2, starlette or uvicorn is not installed.
"""

from __future__ import annotations

from hybrid_memory.errors import MissingDependencyError

try:
    from hybrid_memory.apps.inspector.app import application, serve
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in {"jinja2", "markupsafe", "starlette", "uvicorn"}:
        raise
    raise MissingDependencyError(package, extra="inspector") from error

__all__ = ["application", "serve"]
