"""A local page on a memory: what it holds, why something came back, and what a prompt was made of.

Its names are imported on first use: the command line, which shows its options, needs none of its packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_memory.sockets import on_first_use

if TYPE_CHECKING:
    from hybrid_memory_inspector.app import application, serve

__all__ = ["application", "serve"]

__getattr__ = on_first_use(
    __name__,
    {"hybrid_memory_inspector.app": "application serve"},
    needs={name: name for name in ("jinja2", "markupsafe", "starlette", "uvicorn")},
    extra="inspector",
)
