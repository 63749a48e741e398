"""A memory as a server of the Model Context Protocol: tools over stdio or streamable HTTP.

Needs the extra ``mcp``.
"""

from __future__ import annotations

from hybrid_memory.errors import MissingDependencyError

try:
    from hybrid_memory.apps.mcp.server import application, serve_http, server
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in {"mcp", "uvicorn"}:
        raise
    raise MissingDependencyError("mcp", extra="mcp") from error

__all__ = ["application", "serve_http", "server"]
