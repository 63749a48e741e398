"""The command ``hybrid-memory``. Each of its verbs has a module of its own, which `app` puts together."""

from __future__ import annotations

from hybrid_memory.apps.cli.app import main

__all__ = ["main"]
