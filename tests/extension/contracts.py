"""What the package offers passes the suites that the library ships; run where the package is installed."""

from pathlib import Path

import pytest
from hybrid_memory_example.engine import JsonlLog
from hybrid_memory_example.extractor import German
from hybrid_memory_example.strategy import Headlines

from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.offered import ExtractorContract, StrategyContract


class TestJsonlLog(EventLogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> JsonlLog:
        return JsonlLog(tmp_path / "log.jsonl")


class TestGerman(ExtractorContract):
    claiming = "Ich heiße Jana, und ich wohne in Bremen."

    @pytest.fixture
    def extractor(self) -> German:
        return German()


class TestHeadlines(StrategyContract):
    @pytest.fixture
    def strategy(self) -> Headlines:
        return Headlines()
