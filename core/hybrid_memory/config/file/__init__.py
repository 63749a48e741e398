"""A configuration file: YAML by sections, with the line of each mistake."""

from __future__ import annotations

from hybrid_memory.config.file.reading import settings
from hybrid_memory.config.file.writing import written

__all__ = ["settings", "written"]
