"""Import paths of version 0.9 lead to what is there now, and say so."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

import pytest

import hybrid_memory

PATHS = [
    ("cli", "main", "apps.cli"), ("evaluation", "Evaluation", "apps.evaluation"),
    ("evaluation.reporting", "html", "apps.evaluation.reporting"), ("inspector", "serve", "apps.inspector"),
    ("mcp", "Binding", "apps.mcp"), ("paging", "PagedAgent", "apps.agent"), ("types", "Message", ""),
    ("types.event", "EventKind", ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "name", "new"), PATHS)
def test_a_former_path_works_and_warns(monkeypatch: pytest.MonkeyPatch, old: str, name: str, new: str) -> None:
    parts = f"hybrid_memory.{old}".split(".")
    for end in range(2, len(parts) + 1):
        monkeypatch.delitem(sys.modules, ".".join(parts[:end]), raising=False)
    now = "hybrid_memory" + (f".{new}" if new else "")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        former = import_module(f"hybrid_memory.{old}")
    assert str(said[-1].message) == f"hybrid_memory.{old} is deprecated: import {now}"
    assert getattr(former, name) is getattr(import_module(now), name)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = former.nothing_like_it


def test_other_names_are_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("hybrid_memory.nothing_like_it")
    assert not hasattr(hybrid_memory, "nothing_like_it")
