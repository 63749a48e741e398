"""FAISS, imported when something of it is first used: verbs that only read the log need not wait for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    value = getattr(import_module("faiss"), name)
    if not name.startswith("__"):
        globals()[name] = value
    return value
