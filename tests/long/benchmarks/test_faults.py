import argparse
import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from benchmarks.faults import kills
from benchmarks.faults._killed import wrong
from benchmarks.faults.crowd import Crowd, figures, word_of
from benchmarks.faults.fuzz import campaign
from benchmarks.faults.races import store_of_races
from benchmarks.peers.texts import Clustered, Corpus
from hybrid_memory import MemoryConfig, open_memory


def test_a_few_kills_of_writers_and_a_server_leave_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    kills.add_arguments(parser)
    assert kills.run(parser.parse_args(["--engines", "sqlite", "postgres", "redis", "--count", "4"])) == 0
    said = capsys.readouterr().out
    assert "sqlite: 1 writers" in said
    assert "postgres: 1 writers" in said
    assert "redis: 1 writers" in said


def test_what_is_lost_is_told(tmp_path: Path) -> None:
    """A campaign that finds nothing shows little if it cannot find anything."""
    config = MemoryConfig(url=f"sqlite:///{tmp_path / 'store.db'}", embedder="hashing")
    with open_memory(config) as memory:
        memory.scoped(user="alice").remember("The cat number c1 sat on the mat.", id="c1")
    assert wrong(config, ["c1"], 1) == []
    assert [line[:15] for line in wrong(config, ["c1", "c2"], 1)] == ["lost c2", "not recalled c2"]
    assert wrong(config, ["c1", "?c1", "-c1"], 1) == ["forgotten c1 is back"]


def test_users_talk_at_once_and_a_strangers_word_is_a_leak() -> None:
    corpus = Corpus()
    with open_memory("memory://", embedder=Clustered()) as memory:
        crowd = Crowd(memory, users=3, pause=0.01)
        crowd.fill(corpus, 5)
        asyncio.run(crowd.run(corpus, minutes=0.01))
        assert crowd.checked() == {"lost": 0, "twice": 0, "strange": 0}
        assert (crowd.leaks, crowd.errors) == ([], {})
        told = figures(crowd, 0.01)["verbs"]
        assert min(told[verb]["a second"] for verb in ("remember", "recall")) > 0
        crowd.scoped(1).remember(f"{word_of(2)} was here")
        crowd.acknowledged[0].append("never")
        assert crowd.checked() == {"lost": 1, "twice": 0, "strange": 1}
        assert crowd.leaks == [f"{word_of(1)} saw '{word_of(2)} was here'"]


def test_nothing_that_is_forgotten_comes_back(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    raced = store_of_races(f"sqlite:///{tmp_path / 'memory.db'}", tmp_path, Random(22), 8, found)  # noqa: S311
    assert raced.total() == 8
    assert not found


@pytest.mark.parametrize(
    ("surface", "count"), [("verbs", 100), ("opening", 10), ("mcp", 20), ("cli", 4), ("adapters", 40)]
)
def test_nonsense_gets_only_errors_of_the_library(surface: str, count: int) -> None:
    done, _ = campaign(count, seed=7, faces=[surface], per_store=count // 2)
    assert done.calls == count
    assert not done.examples
