"""What stands beside the code says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import hybrid_memory
import hybrid_memory_evaluation as evaluation
from hybrid_memory import testing
from hybrid_memory.testing import archive, event_log, offered, semantic_index

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_is_complete_and_of_this_version() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys(), "what the format asks for"
    assert str(citation["cff-version"]) == "1.2.0"
    assert citation["type"] == "software"
    assert citation["version"] == hybrid_memory.__version__
    assert citation["license"] == "MIT"
    assert citation["authors"] == [{"name": "The hybrid-agent-memory developers"}]


def test_this_version_is_supported() -> None:
    minor = hybrid_memory.__version__.rpartition(".")[0]
    assert re.findall(r"^\| ([\d.]+) \| yes \|$", text("SECURITY.md"), re.MULTILINE) == [minor]


@pytest.mark.parametrize("paper", ["CONTRIBUTING.md", "SECURITY.md"])
def test_what_is_referred_to_is_there(paper: str) -> None:
    written = text(paper)
    targets = set(re.findall(r"^([\w-]+):", text("Makefile"), re.MULTILINE))
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", written, re.MULTILINE):
        assert target in targets, target
    links = re.findall(r"\]\((?!https)([^)#]+)", written)
    paths = re.findall(r"`((?:core|docs|tests|benchmarks)/[\w./-]*)`", written)
    for path in {*links, *paths}:
        assert (ROOT / path).exists(), path


def test_the_suites_and_ports_that_contributors_are_told_of_are_there() -> None:
    written = text("CONTRIBUTING.md")
    for name in re.findall(r"`(\w+Contract)`", written):
        assert any(hasattr(module, name) for module in (testing, archive, event_log, offered, semantic_index)), name
    assert hasattr(evaluation, "Method")
    assert "hybrid_memory.evaluation_methods" in text("pyproject.toml")
