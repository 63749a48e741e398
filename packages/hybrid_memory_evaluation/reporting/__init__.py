"""Readable reports: a self-contained page, and a table for a terminal."""

from __future__ import annotations

from hybrid_memory_evaluation.reporting.columns import printable, table
from hybrid_memory_evaluation.reporting.page import html

__all__ = ["html", "printable", "table"]
