"""Gives a package without modules the version of hybrid-agent-memory, and that same version as what it needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parents[1]


class OfSameVersion(MetadataHookInterface):
    """Reads the version where hybrid-agent-memory has it; ``extra`` says which of its extras the package stands for."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what the pyproject.toml calls dynamic."""
        source = (ROOT / "core/hybrid_memory/__init__.py").read_text(encoding="utf-8")
        (version,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
        metadata["version"] = version
        metadata["dependencies"] = [f"hybrid-agent-memory[{self.config['extra']}]=={version}"]
