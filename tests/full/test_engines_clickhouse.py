"""A memory whose old messages stand in ClickHouse; its embedded engine can have one folder in a process."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clickhouse_connect
import pytest

from hybrid_memory import HybridMemory, MemoryConfig, Message, open_memory
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.testing.servers import MilvusServer, RedisServer

if TYPE_CHECKING:
    from tests.faces import Face

MONDAY = datetime(2024, 5, 6, 9, tzinfo=UTC)
DAYS = 60
ALICE: dict[str, Any] = {"tenant": "a'b\\c", "user": "爱丽丝 {1}"}
TOWNS = ["Lisbon", "Porto", "Braga", "Faro", "Évora"]
WORDS = "tram harbour lamp violin pepper bridge window garden bicycle ferry cloud mountain river 苹果 火车 月亮".split()
OpenMemory = Callable[..., HybridMemory]
numbers = itertools.count(1)


class Clock:
    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clickhouse") / "archive"


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Any]:
    """A client that looks into the tables."""
    client = clickhouse_connect.get_client(interface="chdb", path=str(folder))
    yield client
    client.close()


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def table() -> str:
    return f"engines_{next(numbers)}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty log."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'memory.db'}"
    server: RedisServer = request.getfixturevalue("redis_server")
    return f"{server.url}?prefix=archive{next(numbers)}"


@pytest.fixture
def open_archived(url: str, engine: Any, folder: Path, table: str, clock: Clock) -> Iterator[OpenMemory]:
    """Opens memories on this test's log and archive."""
    archive = {"url": f"chdb:///{folder}?table={table}", "after": timedelta(days=30)}
    memories: list[HybridMemory] = []

    def open_one() -> HybridMemory:
        config = MemoryConfig.of({"url": url, "archive": archive, "embedder": "hashing", "power_safe": False})
        memories.append(open_memory(config, clock=clock))
        return memories[-1]

    yield open_one
    for memory in memories:
        memory.close()
    engine.command(f"DROP TABLE IF EXISTS {table} SYNC")


@pytest.fixture
def in_table(engine: Any, table: str) -> Callable[[str], int]:
    """In how many rows of the archive, of any version, these words stand."""

    def count(words: str) -> int:
        sql = f"SELECT count() FROM {table} WHERE position(payload, {{words:String}}) > 0"  # noqa: S608 - our own name
        ((rows,),) = engine.query(sql, parameters={"words": words}).result_rows
        return int(rows)

    return count


@pytest.fixture
def oracle(clock: Clock) -> Iterator[HybridMemory]:
    """A memory that keeps everything."""
    with open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=clock) as memory:
        yield memory


def say(memory: HybridMemory, clock: Clock) -> None:
    """A turn a day, in two sessions, and one of another user."""
    for day in range(DAYS):
        clock.now = MONDAY + timedelta(days=day)
        town = TOWNS[day // 12]
        # No two texts are equally near to a question.
        seen = " ".join(random.Random(day).choices(WORDS, k=4 + day % 13))  # noqa: S311 - for tests
        text = f"I live in {town} and fed the cat{day} of the {seen}. 第{day}天喂了猫。"
        said = Message.of({"role": "user", "content": text, "id": f"m{day}", "metadata": {"town": town}})
        memory.scoped(**ALICE, session=f"s{day % 2}").remember(said)
    memory.scoped(user="bob", session="s0").remember("Bob lives in Rome.", at=MONDAY)


def answers(memory: HybridMemory, face: Face) -> dict[str, Any]:
    """What the verbs that read say; without positions, which may have other gaps."""
    alice = memory.scoped(**ALICE)
    one = memory.scoped(**ALICE, session="s1")
    middle = MONDAY + timedelta(days=25)

    def found(owner: Any, query: str, **options: Any) -> list[tuple[str, float]]:
        hits = face(owner).recall(query, **options)
        assert {hit.note for hit in hits} <= {""}
        return [(hit.record.text, round(hit.score, 3)) for hit in hits]

    def expanded(what: Any) -> list[str]:
        return texts(face(one).expand(what))

    (hit,) = face(alice).recall("cat3 of the violin", k=1)
    return {
        "history": texts(face(alice).history()),
        "history of a session": texts(face(one).history()),
        "the newest": texts(face(alice).history(limit=45)),
        "history between": texts(face(alice).history(since=middle, until=middle + timedelta(days=20))),
        "conversation": texts(face(one).history(current=True, limit=40)),
        "found": found(alice, "cat3 of the violin", k=20),
        "found in Chinese": found(one, "月亮 cat5", k=20, scope="session"),
        "found by metadata": found(alice, "the cat and the lamp", k=99, metadata={"town": "Porto"}),
        "history then": texts(face(alice.as_of(middle)).history()),
        "found then": found(alice.as_of(middle), "cat40 garden", k=50),
        "facts": [(fact.attribute, fact.value) for fact in face(alice).facts(history=True)],
        "facts then": [(fact.attribute, fact.value) for fact in face(alice.as_of(middle)).facts()],
        "profile": face(alice).profile().model_dump(exclude={"sources", "history", "facts"}),
        "expanded hit": texts(face(alice).expand(hit)),
        "expanded id": expanded("m3"),
        "expanded line": [expanded(line) for line in face(one).summary().lines[:2]],
        "summary": [line.text for line in face(one).summary().lines],
        "prompt": re.sub(r"#\d+(-\d+)?", "#", face(one).assemble("Which cats did I feed?", max_tokens=1500).text),
        "bob": texts(face(memory.scoped(user="bob")).history()),
    }


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def test_what_is_archived_is_read_as_if_it_were_not(
    open_archived: OpenMemory, oracle: HybridMemory, clock: Clock, face: Face
) -> None:
    memory = open_archived()
    for one in (memory, oracle):
        say(one, clock)
        one.scoped(**ALICE, session="s1").compact(keep=2)
    clock.now = MONDAY + timedelta(days=DAYS)
    expected = answers(oracle, face)
    assert all(expected.values())
    assert answers(memory, face) == expected
    hot: Any = memory._runtime.services.truth
    (alice,) = (owner for owner in hot.heads() if owner.user != "bob")
    before = hot._log.count(alice)
    # What was said 30 days ago to the minute stays; Bob's only message is the last of his log.
    assert face(memory).archive().archived == DAYS - 30
    assert hot._log.count(alice) == before - 30
    assert face(memory).archive().archived == 0
    assert face(oracle).archive().archived == 0
    assert answers(memory, face) == answers(oracle, face)
    alone = memory.scoped(**ALICE, session="s1")
    (said,) = alone.expand("m3")
    assert alone.remember(said).duplicates == ("m3",)
    memory.close()
    reopened = open_archived()
    assert answers(reopened, face) == answers(oracle, face)
    for one in (reopened, oracle):
        one.rebuild()
    assert answers(reopened, face) == answers(oracle, face)
    counted = [
        (stats.owners, stats.sessions, stats.records, stats.unindexed) for stats in (reopened.stats(), oracle.stats())
    ]
    assert counted[0] == counted[1]


def test_forgetting_reaches_the_archive(
    open_archived: OpenMemory, oracle: HybridMemory, clock: Clock, in_table: Callable[[str], int], face: Face
) -> None:
    memory = open_archived()
    for one in (memory, oracle):
        say(one, clock)
    memory.archive()
    assert in_table("cat3 ") == 1
    assert in_table("Porto") > 5
    for one in (memory, oracle):
        alice = one.scoped(**ALICE)
        face(alice).forget(ids=["m3", "m50"])
        face(alice).forget(query="Porto")
        face(alice).forget(before=MONDAY + timedelta(days=2))
        one.rebuild()
    assert [in_table(words) for words in ("cat3 ", "Porto", "cat1 ", "cat0 ")] == [0, 0, 0, 0]
    assert answers_without_ids(memory, face) == answers_without_ids(oracle, face)
    memory.close()
    memory = open_archived()
    assert answers_without_ids(memory, face) == answers_without_ids(oracle, face)
    face(memory).forget(user=ALICE["user"], tenant=ALICE["tenant"])
    assert in_table("cat") == 0
    assert memory.scoped(**ALICE).history() == []
    assert texts(memory.scoped(user="bob").history()) == ["Bob lives in Rome."]


def answers_without_ids(memory: HybridMemory, face: Face) -> tuple[Any, ...]:
    alice = memory.scoped(**ALICE)
    hits = face(alice).recall("cat3 Porto harbour", k=99)
    facts = [(fact.attribute, fact.value) for fact in face(alice).facts(history=True)]
    return texts(face(alice).history()), [(hit.record.text, round(hit.score, 3)) for hit in hits], facts


def test_what_is_imported_into_the_past_can_be_rolled_back_from(
    open_archived: OpenMemory, oracle: HybridMemory, clock: Clock
) -> None:
    memory = open_archived()
    for one in (memory, oracle):
        say(one, clock)
        one.archive()
        alice = one.scoped(**ALICE, session="s1")
        alice.remember("Long ago I lived in Beja.", at=MONDAY - timedelta(days=400))
        one.archive()
        alice.rollback(MONDAY + timedelta(days=10))
    mine, theirs = (one.scoped(**ALICE) for one in (memory, oracle))
    assert texts(mine.history()) == texts(theirs.history())
    assert [hit.record.text for hit in mine.recall("Beja river cat", k=50)] == [
        hit.record.text for hit in theirs.recall("Beja river cat", k=50)
    ]


EXAMPLE = """\
url: "{log}"
index: {{url: "{index}", algorithm: ivf_flat, nlist: 1024}}
archive: {{url: "{archive}", after: 30 days}}
embedder: text-embedding-v4
compaction: {{max_tokens: 128000, flush: 0.78125, keep_ratio: 0.3}}
recall:
  weights: {{exact: 0.15, vector: 0.5, temporal: 0.2, text: 0.15}}
  cache_ttl: 5 minutes
orchestration: {{concurrency: 10, batch: 32, cache: 10000, cache_ttl: PT1H, window: 50 ms}}
"""


@pytest.mark.usefixtures("engine")
def test_the_example_file_starts_a_memory_on_all_three_engines(
    redis_server: RedisServer, folder: Path, table: str, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "memory.yaml"
    with MilvusServer(tmp_path / "milvus") as server:
        log = f"{redis_server.url}?prefix=yaml{next(numbers)}"
        file.write_text(EXAMPLE.format(index=server.url, log=log, archive=f"chdb:///{folder}?table={table}"), "utf-8")
        with open_memory(file, embedder=HashingEmbedder().embed_documents, clock=clock) as memory:
            say(memory, clock)
            assert memory.archive().archived == DAYS - 31
            alice = memory.scoped(**ALICE, session="s0")
            assert len(memory.scoped(**ALICE).history()) == DAYS
            assert alice.recall("第3天喂了猫 cat3", k=1)[0].record.sources == ("m3",)
            assert alice.recall("Braga", k=3)[0].note == ""
            assert "cat58 " in alice.assemble("Where do I live?").text
            assert memory.stats().embedder == "text-embedding-v4"
