"""The command ``hybrid-memory``. Each verb has its own module; `app` combines them."""

from __future__ import annotations

from hybrid_memory.apps.cli.app import main

__all__ = ["main"]
