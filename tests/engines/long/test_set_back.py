"""A log that lost its end, or was restored from a backup, behind an index that has seen more."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, check_store, open_memory
from tests.engines.conftest import Config
from tests.servers import RedisServer

SETTINGS: dict[str, Any] = {"orchestration": {"background": False}, "recall": {"count_uses": False}}
QUERIES = ["zebra giraffe", "cat called", "斑马 长颈鹿", "where do I live"]


def say(memory: HybridMemory, user: str, *texts: str, session: str = "s") -> None:
    for text in texts:
        memory.scoped(user=user, session=session).remember(text)
    assert memory.scoped(user=user).recall(texts[-1], k=3)


def before(memory: HybridMemory) -> None:
    say(memory, "alice", "My cat is called Pixel.", "I live in Lisbon.", "The tram is late.")
    say(memory, "bob", "I live in Rome.")
    memory.flush()


def lost(memory: HybridMemory) -> None:
    """What only the index knows in the end."""
    say(memory, "alice", "I saw a zebra in the garden.", "Now I live in Porto.", "斑马很漂亮。")
    say(memory, "carol", "A zebra is called Zoe.", "I live in Vienna.")
    memory.flush()


def after(memory: HybridMemory) -> None:
    """At the positions of what was lost, partly of others."""
    say(memory, "dave", "I live in Oslo.", "A giraffe is called Gina.")
    say(memory, "alice", "I saw a giraffe in the garden.", "长颈鹿很高。")


def assert_only_what_is_in_the_log_is_found(memory: HybridMemory) -> None:
    """As by an index that was never astray, of which the copy has one."""
    users = ("alice", "bob", "carol", "dave")
    for user in users:  # what is left of carol is found out when she is asked for
        assert {hit.record.scope.user for hit in memory.scoped(user=user).recall(QUERIES[0], k=20)} <= {user}
    memory.flush()
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as copy:
        memory.migrate(copy)
        assert copy.stats().records == memory.stats().records
        for user in users:
            for query in QUERIES:
                mine, theirs = (one.scoped(user=user).recall(query, k=20) for one in (memory, copy))
                assert {hit.note for hit in mine} <= {""}
                scores = {hit.record.text: pytest.approx(hit.score, abs=1e-3) for hit in theirs}
                assert {hit.record.text: hit.score for hit in mine} == scores, (user, query)


@contextmanager
def warned(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "hybrid_memory"):
        yield
    assert any("the restored log no longer has" in record.message for record in caplog.records)


def file_of(config: MemoryConfig) -> str:
    return config.url.removeprefix("sqlite:///")


def set_back(config: MemoryConfig) -> None:
    """Restore the log from a backup that lacks what was said last."""
    with open_memory(config) as memory:
        before(memory)
    shutil.copy(file_of(config), f"{file_of(config)}.backup")
    with open_memory(config) as memory:
        lost(memory)
    shutil.copy(f"{file_of(config)}.backup", file_of(config))


@pytest.mark.parametrize("index", ["sqlite", "postgres", "redis", "milvus"])
@pytest.mark.parametrize("then", [after, lambda _: None], ids=["longer", "shorter"])
def test_an_index_notices_that_its_log_was_restored_from_a_backup(
    index: str, then: Callable[[HybridMemory], None], new_config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    config = new_config(f"sqlite+{index}", **SETTINGS)
    set_back(config)
    assert any("the log was restored" in finding.detail for finding in check_store(config))
    with warned(caplog), open_memory(config) as memory:
        then(memory)
        assert_only_what_is_in_the_log_is_found(memory)
        assert memory.work.kinds["realigning"].done >= 1
    assert {finding.state for finding in check_store(config)} == {"ok"}


@pytest.mark.parametrize("index", ["redis", "sqlite", "postgres", "milvus"])
def test_a_log_that_another_history_replaced_is_followed_anew(index: str, new_config: Config) -> None:
    """One that goes further than the index has seen, so that positions alone tell nothing."""
    config = new_config(f"sqlite+{index}", **SETTINGS)
    file = file_of(config)
    with open_memory(config) as memory:
        before(memory)
        lost(memory)
    with open_memory(MemoryConfig(url=f"sqlite:///{file}.other", embedder="hashing")) as other:
        for _ in range(3):
            after(other)
        other.scoped(user="carol").remember("I live in Oslo.")
    shutil.copy(f"{file}.other", file)
    with open_memory(config) as memory:
        assert_only_what_is_in_the_log_is_found(memory)


def test_memories_that_are_open_notice_that_a_server_lost_its_last_second(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also their caches: answers, blocks, facts, and those of a process whose index another one set right."""
    folder = tmp_path / "redis"
    with RedisServer(folder) as server:
        index = {"url": f"sqlite:///{tmp_path / 'index.db'}"}
        config = MemoryConfig.of({"url": server.url, "index": index, "embedder": "hashing", **SETTINGS})
        with open_memory(config) as one, open_memory(config) as two:
            before(one)
            server.stop()
            shutil.copytree(folder, tmp_path / "backup")
            server.start()
            lost(one)
            for memory in (one, two):
                alice = memory.scoped(user="alice")
                assert "Porto" in alice.profile().model_dump_json()
                assert any("zebra" in hit.record.text for hit in alice.recall("zebra"))
                if memory is one:
                    alice.block("notes").put("zebra")
                assert alice.blocks()["notes"].value == "zebra"
            server.kill()
            shutil.rmtree(folder)
            shutil.copytree(tmp_path / "backup", folder)
            server.start()
            with warned(caplog):
                after(one)
            for memory in (one, two):
                assert_only_what_is_in_the_log_is_found(memory)
                alice = memory.scoped(user="alice")
                assert "Porto" not in alice.profile().model_dump_json()
                assert [hit for hit in alice.recall("zebra") if "zebra" in hit.record.text] == []
                assert "notes" not in alice.blocks()


def test_who_may_only_look_gets_answers_from_the_log_alone(new_config: Config) -> None:
    """Until somebody who may write has set the index right."""
    config = new_config("sqlite+sqlite", **SETTINGS)
    set_back(config)
    with open_memory(config, read_only=True) as memory:
        hits = memory.scoped(user="alice").recall("zebra in the garden", k=9)
        assert all("restored to before its index" in hit.note for hit in hits)
        assert {hit.record.text for hit in hits} == {
            "My cat is called Pixel.",
            "I live in Lisbon.",
            "The tram is late.",
        }
