"""FAISS, imported on first use, so that calls that only read the log do not wait for the import."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    value = getattr(import_module("faiss"), name)
    if not name.startswith("__"):
        globals()[name] = value
    return value
