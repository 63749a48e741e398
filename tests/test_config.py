from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, RecallConfig, open_memory
from hybrid_memory.errors import InvalidConfigError


@pytest.mark.parametrize("as_path", [False, True], ids=["text", "path"])
def test_a_memory_opens_from_a_yaml_path(tmp_path: Path, as_path: bool) -> None:
    file = tmp_path / "memory.yml"
    file.write_text("url: memory://\nembedder: hashing\n", encoding="utf-8")
    with open_memory(file if as_path else str(file)) as memory:
        assert memory.stats().url == "memory://"
        assert memory.stats().embedder == "hashing-256"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ulr": "memory://"}, "ulr"), ({"recall": {"wieghts": {}}}, "recall.wieghts"),
        ({"recall": {"weights": {"vektor": 1}}}, "vektor"), ({"recall": {"weights": {"vector": -1}}}, "weights"),
        ({"recall": {"diversity": 1.5}}, "diversity"), ({"embedder": 4}, "embedder"),
        ({"index": {"algorithm": "ivf"}}, "index.algorithm"), ({"archive": {"after": 0}}, "archive.after"),
        ({"exact_limit": 0}, "exact_limit"), ({"recall": {"candidates": 0}}, "candidates"),
        ({"recall": {"half_life": 0}}, "half_life"), ({"recall": {"cache_ttl": -1}}, "cache_ttl"),
        ({"orchestration": {"cache": -1}}, "orchestration.cache"), ({"url": None}, "url"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_wrong_setting_is_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidConfigError, match=told):
        MemoryConfig(**settings)


def test_a_wrong_setting_is_named_without_the_config_class_too() -> None:
    with pytest.raises(InvalidConfigError, match="candidates"):
        RecallConfig(candidates=0)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError, match=r"absent\.yaml"):
        open_memory(tmp_path / "absent.yaml")


def test_yaml_cannot_make_python_objects(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text("url: !!python/object/apply:os.getcwd []\n", encoding="utf-8")
    with pytest.raises(InvalidConfigError):
        MemoryConfig.from_yaml(file)
