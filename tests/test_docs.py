"""The code and the configuration in docs/engines.md, docs/paging.md and docs/evaluation.md are what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hybrid_memory import MemoryConfig, Weights
from hybrid_memory.models.embedders import HashingEmbedder

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "engines.md"
PRINTS = re.compile(r"```python\n(.*?)```\n+```text\n(.*?)```", re.DOTALL)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_configuration_is_read(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    (tmp_path / "memory.yaml").write_text(text, encoding="utf-8")
    config = MemoryConfig.from_yaml(tmp_path / "memory.yaml")
    assert (config.url, config.index.url) == ("redis://localhost:6379/0", "milvus://localhost:19530")
    assert config.archive.url == "clickhouse://localhost:8123/default"
    assert (config.index.algorithm, config.index.nlist) == ("ivf_flat", 1024)
    assert config.recall.weights == Weights.routed()
    bare = re.sub(r" (?:backup_)?url: \"[^\"]*\",?", "", text).replace(",}", "}")
    (tmp_path / "memory.yaml").write_text(bare, encoding="utf-8")
    assert MemoryConfig.from_yaml(tmp_path / "memory.yaml") == config, "the URLs are the defaults"


def test_the_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hybrid_memory.build._embedder", lambda _: HashingEmbedder())
    for code in blocks("python"):
        exec(compile(code, "engines.md", "exec"), {"__name__": "guide"})  # noqa: S102 - our own code
    assert capsys.readouterr().out == "1 I moved to Porto in May.\n"


PAGING = PRINTS.findall((DOCS / "paging.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("code", "printed"), PAGING, ids=range(len(PAGING)))
def test_the_code_of_paging_prints_what_it_says(
    code: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(PAGING) == 2
    monkeypatch.setattr("hybrid_memory.build._embedder", lambda _: HashingEmbedder())
    exec(compile(code, "paging.md", "exec"), {"__name__": "guide"})  # noqa: S102 - our own code
    assert capsys.readouterr().out == printed


def test_the_code_of_evaluation_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    ((code, printed),) = PRINTS.findall((DOCS / "evaluation.md").read_text(encoding="utf-8"))
    exec(compile(code, "evaluation.md", "exec"), {"__name__": "guide"})  # noqa: S102 - our own code
    assert capsys.readouterr().out == printed
