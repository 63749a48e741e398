"""The YAML form of `MemoryConfig`: what a file says, and what is said about a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import (
    ArchiveConfig,
    CompactionConfig,
    IndexConfig,
    LearningConfig,
    MemoryConfig,
    OrchestrationConfig,
    RecallConfig,
    RedactionConfig,
    RetentionConfig,
    Weights,
    open_memory,
)
from hybrid_memory.config.file import settings as read
from hybrid_memory.config.file.form import FLAT, SECTIONS
from hybrid_memory.config.file.keys import Keys
from hybrid_memory.config.file.kinds import Kind
from hybrid_memory.errors import InvalidConfigError

EXAMPLE: Final = """\
memory_system:
  tiers:
    l1_context: {max_tokens: 128000, compression_threshold: 100000, keep_ratio: 0.3}
    l2_semantic: {vector_store: milvus, embedding_model: text-embedding-v4, index_type: IVF_FLAT, nlist: 1024}
    l3_episodic: {kv_store: redis, ttl_days: 30, backup: clickhouse}
  orchestration:
    max_concurrent_tasks: 10
    embedding_batch_size: 32
    cache: {enabled: true, max_size: 10000, ttl_seconds: 3600}
  retrieval:
    default_strategy: hybrid
    weights: {exact_match: 0.3, semantic: 0.5, temporal: 0.2}
    cache_ttl_seconds: 300
"""

FLAT_0_5_0: Final = """\
url: sqlite:///old.db
embedder: hashing
power_safe: false
exact_limit: 77
cleaning: 'off'
recall:
  weights:
    vector: 0.6
    text: 0.4
    neighbours: 0.3
    segment: 0.4
    recency: 0.0
    importance: 0.3
    use: 0.0
    current: 1.0
  candidates: 12
  half_life: P3DT0.000001S
  diversity: 0.5
  query_cache: 55
compaction:
  strategy: window
  max_tokens: 900
  rounds: null
  flush: 0.8
  model_timeout: PT10S
learning:
  conflicts: ask
  delay: PT2S
retention:
  ttl:
    turn: P365D
  half_life: null
redaction:
  kinds:
  - api key
  keep_original: true
"""


def loaded(text: str) -> MemoryConfig:
    return MemoryConfig.of(read(text.encode(), "memory.yaml"))


def sections(text: str) -> MemoryConfig:
    """The settings of a file with this under `memory_system`."""
    return loaded(f"memory_system:\n{_indented(text)}\n")


def refused(text: str) -> list[str]:
    """What is said about a wrong file, a line for each mistake."""
    with pytest.raises(InvalidConfigError) as caught:
        loaded(text)
    return str(caught.value).split("\n")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


# What a file says.


def test_the_example_says_what_it_seems_to_say() -> None:
    assert loaded(EXAMPLE) == MemoryConfig(
        url="redis://localhost:6379/0",
        index=IndexConfig(url="milvus://localhost:19530", algorithm="ivf_flat", nlist=1024),
        archive=ArchiveConfig(url="clickhouse://localhost:8123/default", after=timedelta(days=30)),
        embedder="text-embedding-v4",
        compaction=CompactionConfig(max_tokens=128_000, flush=100 / 128, keep_ratio=0.3),
        recall=RecallConfig(weights=Weights.routed(), cache_ttl=timedelta(minutes=5)),
        orchestration=OrchestrationConfig(concurrency=10, batch=32, cache=10_000, cache_ttl=timedelta(hours=1)),
    )


@pytest.mark.parametrize("text", ["", "memory_system:", "memory_system: {tiers: , retrieval: {weights: {}}}", "# 空"])
def test_what_a_file_leaves_out_is_as_it_is_without_a_file(text: str) -> None:
    assert loaded(text) == MemoryConfig()


LOCAL: Final = "sqlite:///memory.db"
REDIS: Final = "redis://localhost:6379/0"
MILVUS: Final = "milvus://localhost:19530"


@pytest.mark.parametrize(
    ("semantic", "episodic", "log", "index"),
    [
        ("", "", LOCAL, None),
        ("vector_store: faiss", "", LOCAL, None),
        ("vector_store: faiss", "url: 'sqlite:///记忆.db'", "sqlite:///记忆.db", None),
        ("vector_store: faiss", "kv_store: redis", REDIS, "sqlite:///memory.index.db"),
        ("vector_store: faiss, url: sqlite:///x.db", "", LOCAL, "sqlite:///x.db"),
        ("vector_store: memory", "kv_store: memory", "memory://", None),
        ("vector_store: memory", "", LOCAL, "memory://"),
        ("vector_store: redis", "", LOCAL, REDIS),
        ("vector_store: redis", "kv_store: redis", REDIS, None),
        ("vector_store: redis", "url: redis://far:1/0", "redis://far:1/0", None),
        ("vector_store: redis, url: redis://near:1/0", "kv_store: redis", REDIS, "redis://near:1/0"),
        ("vector_store: milvus", "kv_store: redis, url: rediss+cluster://a:b@far", "rediss+cluster://a:b@far", MILVUS),
        ("vector_store: milvus, url: milvus:///lite.db", "", LOCAL, "milvus:///lite.db"),
        ("url: milvus+tls://far", "kv_store: sqlite", LOCAL, "milvus+tls://far"),
        ("vector_store: null, url: null", "kv_store: redis, url:", REDIS, None),
    ],
)
def test_a_store_is_where_its_url_says_or_in_its_usual_place(
    semantic: str, episodic: str, log: str, index: str | None
) -> None:
    config = sections(f"tiers: {{l2_semantic: {{{semantic}}}, l3_episodic: {{{episodic}}}}}")
    assert (config.url, config.index.url) == (log, index)


@pytest.mark.parametrize(
    ("episodic", "archive"),
    [
        ("backup: null", ArchiveConfig()),
        ("backup: clickhouse", ArchiveConfig(url="clickhouse://localhost:8123/default")),
        ("backup: chdb, ttl_days: 0.5", ArchiveConfig(url="chdb:///memory.archive", after=timedelta(hours=12))),
        ("backup: chdb, backup_url: 'chdb:////档案'", ArchiveConfig(url="chdb:////档案")),
        (
            "backup_url: clickhouse+tls://h/d, ttl_days: P1D",
            ArchiveConfig(url="clickhouse+tls://h/d", after=timedelta(days=1)),
        ),
    ],
)
def test_a_backup_is_where_its_url_says_or_in_its_usual_place(episodic: str, archive: ArchiveConfig) -> None:
    assert sections(f"tiers: {{l3_episodic: {{{episodic}}}}}").archive == archive


NOTHING: Final = Weights.plain()


@pytest.mark.parametrize(
    ("retrieval", "weights"),
    [
        ("default_strategy: hybrid", Weights()),
        ("default_strategy: vector", Weights(vector=1, text=0)),
        ("default_strategy: text", Weights(vector=0, text=1)),
        ("weights: {exact_match: 0.3, semantic: 0.5, temporal: 0.2}", Weights.routed()),
        ("weights: {semantic: 1}", Weights(**dict.fromkeys(Weights.__slots__, 0.0) | {"vector": 1.0})),
        ("weights: {exact_match: 1, text: 2, recency: 3}", Weights(0, 2, 0, 0, 3, 0, 0, 0, 1, 0)),
        ("weights: {vector: 1}", Weights(vector=1)),
        ("weights: {temporal: 0.9, use: 1e-3}", Weights(temporal=0.9, use=0.001)),
    ],
)
def test_weights_are_of_a_strategy_or_by_either_of_their_names(retrieval: str, weights: Weights) -> None:
    assert sections(f"retrieval: {{{retrieval}}}").recall.weights == weights


def test_a_cache_that_is_switched_off_keeps_nothing() -> None:
    assert sections("orchestration: {cache: {enabled: false, max_size: 5}}").orchestration.cache == 0
    assert sections("orchestration: {cache: {enabled: true, max_size: 5}}").orchestration.cache == 5


def test_times_are_numbers_of_the_unit_in_their_name_or_iso_durations() -> None:
    config = sections("""\
orchestration: {embedding_window_ms: 2.5, cache: {ttl_seconds: PT1H}}
retrieval: {half_life_days: 1.5, cache_ttl_seconds: 0}
learning: {delay: 3}
retention: {ttl: {turn: P365D, fact: 60}, half_life: null}
""")
    assert config.orchestration.window == timedelta(microseconds=2500)
    assert config.orchestration.cache_ttl == timedelta(hours=1)
    assert (config.recall.half_life, config.recall.cache_ttl) == (timedelta(days=1.5), timedelta(0))
    assert config.learning.delay == timedelta(seconds=3)
    assert config.retention == RetentionConfig(ttl={"turn": timedelta(days=365), "fact": timedelta(minutes=1)})


def test_values_and_comments_may_be_chinese() -> None:
    config = sections("""\
# 三层记忆
tiers:
  l2_semantic: {embedding_model: 通义-v4, cleaning: off}  # 不清理
  l3_episodic: {outbox: 待发箱.db, url: "sqlite:///记忆.db"}
retrieval:
  synonyms: [[电脑, 计算机, computer], ["飞机", '航班']]  # 同义词
""")
    assert (config.embedder, config.cleaning, config.outbox) == ("通义-v4", "off", "待发箱.db")
    assert config.url == "sqlite:///记忆.db"
    assert config.recall.synonyms == (("电脑", "计算机", "computer"), ("飞机", "航班"))
    assert "outbox: 待发箱.db" in config.to_yaml()


def test_an_alias_stands_for_what_it_names() -> None:
    config = sections("learning: {delay: &quiet PT9S}\nretention: {ttl: {turn: *quiet}}")
    assert config.retention.ttl == {"turn": timedelta(seconds=9)}


def test_a_file_that_was_written_until_0_5_0_is_read() -> None:
    assert loaded(FLAT_0_5_0) == MemoryConfig(
        url="sqlite:///old.db",
        embedder="hashing",
        power_safe=False,
        exact_limit=77,
        cleaning="off",
        recall=RecallConfig(
            weights=Weights(vector=0.6, text=0.4),
            candidates=12,
            half_life=timedelta(days=3, microseconds=1),
            diversity=0.5,
        ),
        compaction=CompactionConfig(
            strategy="window", max_tokens=900, rounds=None, flush=0.8, model_timeout=timedelta(seconds=10)
        ),
        learning=LearningConfig(conflicts="ask"),
        retention=RetentionConfig(ttl={"turn": timedelta(days=365)}),
        redaction=RedactionConfig(kinds=("api key",), keep_original=True),
        orchestration=OrchestrationConfig(cache=55),
    )


def test_a_memory_opens_from_a_file_with_sections(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    url = f"sqlite:///{tmp_path / '记忆.db'}"
    tiers = f"tiers: {{l2_semantic: {{embedding_model: hashing}}, l3_episodic: {{url: '{url}'}}}}"
    file.write_text(f"memory_system:\n  {tiers}\n", encoding="utf-8")
    with open_memory(file) as memory:
        assert (memory.stats().url, memory.stats().embedder) == (url, "hashing-256")


# What is said about a wrong file: one mistake each, told in full.

ONE_MISTAKE: Final = {
    "tiers:\n  l2_semantic:\n    # 索引\n    index_type: IVF_FALT": (
        "line 5: memory_system.tiers.l2_semantic.index_type: 'IVF_FALT' is not allowed: use one of FLAT, HNSW, "
        "IVF_FLAT (did you mean 'IVF_FLAT'?)"
    ),
    "tiers: {l2_semantic: {index_type: hnsw}}": (
        "line 2: memory_system.tiers.l2_semantic.index_type: 'hnsw' is not allowed: use one of FLAT, HNSW, IVF_FLAT "
        "(did you mean 'HNSW'?)"
    ),
    "tiers: {l2_semantic: {vector_store: pinecone}}": (
        "line 2: memory_system.tiers.l2_semantic.vector_store: 'pinecone' is not allowed: use one of faiss, memory, "
        "redis, milvus"
    ),
    "tiers: {l2_semantic: {vector_store: redis, index_type: IVF_FLAT}}": (
        "line 2: memory_system.tiers.l2_semantic.index_type: 'IVF_FLAT' is not allowed: use one of FLAT, HNSW with "
        "vector_store redis"
    ),
    "tiers: {l2_semantic: {vector_store: milvus, nlist: '12'}}": (
        "line 2: memory_system.tiers.l2_semantic.nlist: '12' is not allowed: use a whole number of lists from 1 "
        "to 65536"
    ),
    "tiers: {l2_semantic: {vector_store: milvus, nlist: 0}}": (
        "line 2: memory_system.tiers.l2_semantic.nlist: 0 is not allowed: use a whole number of lists from 1 to 65536"
    ),
    "tiers:\n  l2_semantic:\n    vector_store: milvus\n    url: redis://bob:geheim@far:1/0": (
        "line 5: memory_system.tiers.l2_semantic.url: 'redis://***@far:1/0' is not allowed: use a URL of vector_store "
        "milvus, which begins with milvus:// or milvus+tls://"
    ),
    "tiers: {l2_semantic: {embedding_model: 4}}": (
        "line 2: memory_system.tiers.l2_semantic.embedding_model: 4 is not allowed: use text in quotes"
    ),
    "tiers: {l2_semantic: {cleaning: 轻}}": (
        "line 2: memory_system.tiers.l2_semantic.cleaning: '轻' is not allowed: use one of off, light, strong"
    ),
    "tiers: {l3_episodic: {kv_store: sqllite}}": (
        "line 2: memory_system.tiers.l3_episodic.kv_store: 'sqllite' is not allowed: use one of sqlite, memory, redis "
        "(did you mean 'sqlite'?)"
    ),
    "tiers: {l3_episodic: {kv_store: null}}": (
        "line 2: memory_system.tiers.l3_episodic.kv_store: null is not allowed: use one of sqlite, memory, redis"
    ),
    "tiers: {l3_episodic: {url: sqlite://memory.db}}": (
        "line 2: memory_system.tiers.l3_episodic.url: 'sqlite://memory.db' is not allowed: use a URL that begins "
        "with sqlite:/// or memory:// or redis:// or rediss:// or redis+cluster:// or rediss+cluster://"
    ),
    "tiers: {l3_episodic: {ttl_days: 30}}": (
        "line 2: memory_system.tiers.l3_episodic.ttl_days: 30 needs a backup, or older events would be lost: set "
        "backup to one of clickhouse, chdb; or set memory_system.retention, which only leaves old memories out of "
        "recall"
    ),
    "tiers:\n  l3_episodic:\n    backup: chdb\n    ttl_days: 30d": (
        "line 5: memory_system.tiers.l3_episodic.ttl_days: '30d' is not allowed: use a number of days above 0, or an "
        "ISO 8601 duration such as P30D"
    ),
    "tiers: {l3_episodic: {backup: clickhouse, backup_url: chdb:///x}}": (
        "line 2: memory_system.tiers.l3_episodic.backup_url: 'chdb:///x' is not allowed: use a URL of backup "
        "clickhouse, which begins with clickhouse:// or clickhouse+tls://"
    ),
    "tiers: {l3_episodic: {outbox: [a]}}": (
        "line 2: memory_system.tiers.l3_episodic.outbox: a list is not allowed: use text in quotes, or null"
    ),
    "tiers: {l3_episodic: {power_safe: 1}}": (
        "line 2: memory_system.tiers.l3_episodic.power_safe: 1 is not allowed: use true or false"
    ),
    "tiers: {l1_context: {max_tokens: 99}}": (
        "line 2: memory_system.tiers.l1_context.max_tokens: 99 is not allowed: use a whole number of tokens, 100 or "
        "more"
    ),
    "tiers: {l1_context: {max_tokens: 128k}}": (
        "line 2: memory_system.tiers.l1_context.max_tokens: '128k' is not allowed: use a whole number of tokens, 100 "
        "or more"
    ),
    "tiers: {l1_context: {max_tokens: 1000,\n    compression_threshold: 1001}}": (
        "line 3: memory_system.tiers.l1_context.compression_threshold: 1001 is not allowed: use a whole number of "
        "tokens from 1 to max_tokens, 1000"
    ),
    "tiers: {l1_context: {compression_threshold: 1000, flush: 0.5}}": (
        "line 2: memory_system.tiers.l1_context.compression_threshold: the same as flush, in tokens: leave out one of "
        "the two"
    ),
    "tiers: {l1_context: {keep_ratio: 1}}": (
        "line 2: memory_system.tiers.l1_context.keep_ratio: 1 is not allowed: use a number above 0, below 1"
    ),
    "tiers:\n  l1_context:\n    keep_ratio: 0.9": (
        "line 3: memory_system.tiers.l1_context: keep_ratio, summary_ratio, artifact_ratio and recall_ratio together "
        "must not exceed 1"
    ),
    "tiers: {l1_context: {rounds: true}}": (
        "line 2: memory_system.tiers.l1_context.rounds: true is not allowed: use a whole number of rounds, 1 or more, "
        "or null"
    ),
    "tiers: {l1_context: {flush: .nan}}": (
        "line 2: memory_system.tiers.l1_context.flush: .nan is not allowed: use a number above 0, at most 1"
    ),
    "orchestration: {max_concurrent_tasks: 1001}": (
        "line 2: memory_system.orchestration.max_concurrent_tasks: 1001 is not allowed: use a whole number of tasks "
        "from 1 to 1000"
    ),
    "orchestration: {embedding_batch_size: 3.5}": (
        "line 2: memory_system.orchestration.embedding_batch_size: 3.5 is not allowed: use a whole number of texts "
        "from 1 to 4096"
    ),
    "orchestration: {embedding_window_ms: 10001}": (
        "line 2: memory_system.orchestration.embedding_window_ms: 10001 is not allowed: use a number of milliseconds "
        "from 0 to 10000, or an ISO 8601 duration such as PT0.05S"
    ),
    "orchestration: {cache: yes}": (
        "line 2: memory_system.orchestration.cache: yes is not allowed: use a section with enabled, max_size, "
        "ttl_seconds"
    ),
    "orchestration: {cache: {ttl: 3}}": (
        "line 2: memory_system.orchestration.cache.ttl: there is no such setting: use one of enabled, max_size, "
        "ttl_seconds"
    ),
    "retreival: {}": (
        "line 2: memory_system.retreival: there is no such setting: use one of tiers, orchestration, retrieval, "
        "prompt, learning, retention, redaction (did you mean 'retrieval'?)"
    ),
    "retrieval: {default_strategy: semantic}": (
        "line 2: memory_system.retrieval.default_strategy: 'semantic' is not allowed: use one of hybrid, vector, text"
    ),
    "retrieval:\n  default_strategy: text\n  weights: {text: 1}": (
        "line 4: memory_system.retrieval.weights: default_strategy text has weights of its own: leave out one of the "
        "two"
    ),
    "retrieval: {weights: {semantic: 0.5, vector: 0.5}}": (
        "line 2: memory_system.retrieval.weights.semantic: the same as vector: leave out one of the two"
    ),
    "retrieval:\n  weights:\n    semantic: 0": (
        "line 3: memory_system.retrieval.weights: all weights are 0: use one above 0 at least"
    ),
    "retrieval: {weights: {exact: -0.1}}": (
        "line 2: memory_system.retrieval.weights.exact: -0.1 is not allowed: use a number, 0 or more"
    ),
    "retrieval:\n  synonyms:\n  - [车, 汽车]\n  - 飞机": (
        "line 5: memory_system.retrieval.synonyms[1]: '飞机' is not allowed: use a list, each item text in quotes"
    ),
    "retrieval: {half_life_days: 0}": (
        "line 2: memory_system.retrieval.half_life_days: 0 is not allowed: use a number of days above 0, or an "
        "ISO 8601 duration such as P30D"
    ),
    "prompt: {place: system}": "line 2: memory_system.prompt.place: 'system' is not allowed: use one of turn, message",
    "prompt:\n  memories: <记忆></记忆>": (
        "line 3: memory_system.prompt.memories: memories must hold {memories} once, with a mark around it"
    ),
    "learning: {conflicts: newer}": (
        "line 2: memory_system.learning.conflicts: 'newer' is not allowed: use one of newest, trusted, ask (did you "
        "mean 'newest'?)"
    ),
    "retention:\n  ttl:\n    turn: P1D\n    facts: P2D": (
        "line 5: memory_system.retention.ttl.facts: there is no such setting: use one of turn, fact, preference, task, "
        "knowledge, relation (did you mean 'fact'?)"
    ),
    "redaction:\n  kinds: [phone,\n          mail]": (
        "line 4: memory_system.redaction.kinds[1]: 'mail' is not allowed: use one of api key, password, email, id "
        "number, card, iban, phone, ip (did you mean 'email'?)"
    ),
    "learning: {model: true}\n\n# 又一次\nlearning: {delay: 3}": (
        "line 5: memory_system.learning: given twice, on line 2 and on line 5"
    ),
    "? [a, b]\n: 3": "line 2: memory_system: the name of a setting must be text",
    "- tiers": (
        "line 1: memory_system: a list is not allowed: use a section with tiers, orchestration, retrieval, prompt, "
        "learning, retention, redaction"
    ),
}


@pytest.mark.parametrize(("text", "told"), ONE_MISTAKE.items(), ids=ONE_MISTAKE)
def test_a_mistake_is_told_with_its_line_its_value_and_what_is_allowed(text: str, told: str) -> None:
    assert refused(f"memory_system:\n{_indented(text)}\n") == [f"memory.yaml {told}"]


WRONG_AS_A_WHOLE: Final = {
    "memory_sytem: {}": (
        "line 1: memory_sytem: there is no such setting: use one of memory_system, url, index, archive, outbox, "
        "embedder, power_safe, exact_limit, cleaning, recall, compaction, prompt, learning, retention, "
        "redaction, orchestration (did you mean 'memory_system'?)"
    ),
    "# both forms\nmemory_system: {}\nurl: memory://": (
        "line 3: url: there is no such setting: use one of memory_system"
    ),
    "url: memory://\nrecall:\n  candidates: many\n": (
        "line 3: recall.candidates: 'many' is not allowed: use a whole number of records from 1 to 10000"
    ),
    "# 平\ncompaction:\n  keep_least: 30\n": "line 2: compaction: keep_least (30) must not exceed keep_rounds (20)",
    "url: a\nurl: b\n": "line 2: url: given twice, on line 1 and on line 2",
    "a: 'x\n\n": "line 3: not YAML: found unexpected end of stream",
    "memory_system:\n  tiers: {a: [}\n": "line 2: not YAML: expected the node content, but found '}'",
    "a: b\n# c\nd: e: f\n": "line 3: not YAML: mapping values are not allowed here",
    "a: *b\n": "line 1: not YAML: found undefined alias 'b'",
    "a: b\n---\nc: d\n": "line 2: not YAML: but found another document",
    "url: a\noutbox: \x07\n": "line 2: not YAML: the character '\\x07'",
    "a: " + "[" * 1000: "line 1: sections in sections, too many to read",
}


@pytest.mark.parametrize(("text", "told"), WRONG_AS_A_WHOLE.items(), ids=lambda text: text[:30])
def test_a_file_that_is_wrong_as_a_whole_is_told_so(text: str, told: str) -> None:
    assert refused(text) == [f"memory.yaml {told}"]


def test_a_file_that_is_no_utf_8_is_told_with_the_line() -> None:
    with pytest.raises(InvalidConfigError, match=r"^memory\.yaml line 2: not text in UTF-8$"):
        read("url: x\noutbox: 记忆".encode("gb18030"), "memory.yaml")


def test_all_mistakes_of_a_file_are_told_at_once_in_their_order() -> None:
    told = refused("""\
# 我的设置
memory_system:
  retrieval: {candidates: 0, diversty: 1}
  tiers:
    l3_episodic:
      ttl_days: 7          # 没有备份
    l1_context: {compression_threshold: 90000}

    l2_semantic:
      vector_store: redis
      # 注释
      index_type:
        IVF_FLAT
""")
    assert [line.split(":")[:2] for line in told] == [
        ["memory.yaml line 3", " memory_system.retrieval.diversty"],
        ["memory.yaml line 3", " memory_system.retrieval.candidates"],
        ["memory.yaml line 6", " memory_system.tiers.l3_episodic.ttl_days"],
        ["memory.yaml line 7", " memory_system.tiers.l1_context.compression_threshold"],
        ["memory.yaml line 13", " memory_system.tiers.l2_semantic.index_type"],
    ]


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("l3_episodic: {backup: clikhouse, ttl_days: 30}", "l3_episodic.backup"),
        ("l3_episodic: {kv_store: rediss, url: redis://far}", "l3_episodic.kv_store"),
        ("l1_context: {max_tokens: lots, compression_threshold: 100000}", "l1_context.max_tokens"),
        ("l1_context: {keep_ratio: 0.4, recall_ratio: -1}", "l1_context.recall_ratio"),
        (
            "l2_semantic: {vector_store: milvs, index_type: IVF_FLAT}, l3_episodic: {kv_store: redis}",
            "l2_semantic.vector",
        ),
    ],
)
def test_one_mistake_is_not_taken_for_two(text: str, setting: str) -> None:
    (told,) = refused(f"memory_system: {{tiers: {{{text}}}}}")
    assert told.startswith(f"memory.yaml line 1: memory_system.tiers.{setting}")


def test_a_wrong_file_opens_nothing(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    file.write_text(f"memory_system: {{tiers: {{l3_episodic: {{url: '{url}', power_safe: 3}}}}}}", encoding="utf-8")
    with pytest.raises(InvalidConfigError, match=re.escape(f"{file} line 1: ")):
        open_memory(file)
    assert list(tmp_path.iterdir()) == [file]


def _paths(keys: Keys, *above: str) -> Iterator[tuple[str, ...]]:
    for name, kind in keys.items():
        yield (*above, name)
        if not isinstance(kind, Kind):
            yield from _paths(kind, *above, name)


EVERY_SETTING: Final = [*_paths({"memory_system": SECTIONS}), *_paths(FLAT)]


@pytest.mark.parametrize("wrong", ["{错: 1}", "!odd 1", "2026-13-45", "!!bool 7", "!!int ''"])
def test_each_setting_is_refused_with_its_own_name_and_line(wrong: str) -> None:
    texts = "embedder", "embedding_model", "outbox", "url", "backup_url"
    for path in EVERY_SETTING:
        if wrong == "2026-13-45" and path[-1] in texts:
            continue  # a text like any other
        lines = [f"{'  ' * depth}{name}:  # {name}" for depth, name in enumerate(path)]
        value = f"{'  ' * len(path)}{wrong}"
        told = refused("\n\n".join([*lines, value]))
        assert len(told) == 1, told
        line = 2 * len(path) + 1 if "{" not in wrong else 2 * len(path) - 1
        where = f"memory.yaml line {line}: {'.'.join(path)}: "
        unknown = f"memory.yaml line {2 * len(path) + 1}: {'.'.join(path)}.错: there is no such setting: "
        assert told[0].startswith((where, unknown)), told


# To a file and back.

positive = st.timedeltas(min_value=timedelta(microseconds=1))
duration = st.timedeltas(min_value=timedelta(0))
share = st.floats(0, 1, exclude_min=True)
text = st.text(max_size=12)
name = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def compactions(draw: Callable[[st.SearchStrategy[Any]], Any]) -> CompactionConfig:
    max_tokens = draw(st.integers(100, 10**15))
    least = draw(st.integers(1, 50))
    return CompactionConfig(
        strategy=draw(st.sampled_from(["anchored", "window", "llmlingua"])),
        max_tokens=max_tokens,
        rounds=draw(maybe(st.integers(1, 500))),
        flush=draw(share | st.integers(1, max_tokens).map(lambda tokens: tokens / max_tokens)),
        pressure=draw(share),
        density=draw(maybe(st.floats(0, 1))),
        drift=draw(maybe(st.floats(0, 1))),
        keep_least=least,
        keep_rounds=least + draw(st.integers(0, 50)),
        keep_ratio=draw(st.floats(0, 0.25, exclude_min=True)),
        summary_ratio=draw(st.floats(0, 0.25)),
        artifact_ratio=draw(st.floats(0, 0.25)),
        recall_ratio=draw(st.floats(0, 0.25)),
        offload_tokens=draw(st.integers(50, 10**6)),
        model_timeout=draw(positive),
    )


weight = st.just(0.0) | st.floats(0, 1e300)
weights = st.one_of(
    st.sampled_from([Weights(), Weights.plain(), Weights.routed(), Weights(1, 0), Weights(0, 1)]),
    st.tuples(*[weight] * len(Weights.__slots__)).filter(any).map(lambda values: Weights(*values)),
)
recalls = st.builds(
    RecallConfig,
    weights=weights,
    candidates=st.integers(1, 10_000),
    half_life=positive,
    diversity=st.floats(0, 1),
    synonyms=st.lists(st.lists(name, max_size=3).map(tuple), max_size=3).map(tuple),
    cache_ttl=duration,
    count_uses=st.booleans(),
)
retentions = st.builds(
    RetentionConfig,
    ttl=st.dictionaries(st.sampled_from(["turn", "fact", "task"]), duration),
    half_life=maybe(positive),
    least=st.floats(0, 1, exclude_min=True, exclude_max=True),
)
orchestrations = st.builds(
    OrchestrationConfig,
    concurrency=st.integers(1, 1000),
    background=st.booleans(),
    batch=st.integers(1, 4096),
    window=st.timedeltas(timedelta(0), timedelta(seconds=10)),
    embedding_concurrency=st.integers(1, 256),
    cache=st.integers(0, 10**9),
    cache_ttl=positive,
)


def urls(*schemes: str) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(schemes), name).map("".join)


configs = st.builds(
    MemoryConfig,
    url=st.just("memory://") | urls("sqlite:///", "redis://", "rediss+cluster://"),
    index=st.builds(
        IndexConfig,
        url=maybe(st.just("memory://") | urls("sqlite:///", "redis://", "milvus://", "milvus+tls://")),
        algorithm=st.sampled_from([None, "flat", "hnsw", "ivf_flat"]),
        nlist=st.integers(1, 65_536),
    ),
    archive=st.just(ArchiveConfig())
    | st.builds(ArchiveConfig, url=urls("chdb:///", "clickhouse://", "clickhouse+tls://"), after=positive),
    outbox=maybe(text),
    embedder=st.sampled_from(["auto", "none"]) | text,
    power_safe=st.booleans(),
    exact_limit=st.integers(1, 10**9),
    cleaning=st.sampled_from(["off", "light", "strong"]),
    recall=recalls,
    compaction=compactions(),
    learning=st.builds(
        LearningConfig,
        conflicts=st.sampled_from(["newest", "trusted", "ask"]),
        model=st.booleans(),
        background=st.booleans(),
        delay=duration,
    ),
    retention=retentions,
    redaction=st.builds(
        RedactionConfig,
        kinds=st.lists(st.sampled_from(["api key", "iban", "ip"]), max_size=3).map(tuple),
        keep_original=st.booleans(),
    ),
    orchestration=orchestrations,
)


def _possible(config: MemoryConfig) -> bool:
    return config.index.algorithm != "ivf_flat" or "redis" not in (config.index.url or config.url)


@given(config=configs.filter(_possible))
def test_what_is_written_is_read_as_the_same_settings(config: MemoryConfig) -> None:
    assert loaded(config.to_yaml()) == config


@settings(max_examples=25)
@given(config=configs)
def test_the_flat_form_is_read_as_the_same_settings(config: MemoryConfig) -> None:
    assert loaded(yaml.safe_dump(config.model_dump(mode="json"))) == config


def test_breaks_of_lines_and_blanks_in_a_text_are_kept() -> None:
    config = MemoryConfig(outbox="a\x85b\u2028c\n\n d\u3000 ", embedder="记\x85", url="sqlite:///no: # yes\t")
    assert loaded(config.to_yaml()) == config


def test_the_default_is_written_with_a_line_for_each_setting() -> None:
    written = MemoryConfig().to_yaml()
    assert written == loaded(written).to_yaml()
    names = {line.strip().split(":")[0] for line in written.splitlines()}
    left_out = {"ttl_days", "flush", "exact_match", "semantic"}  # no backup; said by other names
    assert {path[-1] for path in _paths(SECTIONS) if path[-2:-1] != ("ttl",)} - names == left_out


lines_between = st.lists(st.sampled_from(["", "# 注释", "   # note: {"]), max_size=4)


@settings(max_examples=20)
@given(
    gaps=st.lists(lines_between, min_size=13, max_size=13),
    wrong=st.sampled_from([(6, "max_concurrent_tasks"), (10, "default_strategy"), (12, "cache_ttl_seconds")]),
)
def test_comments_do_not_move_the_line_of_a_mistake(gaps: list[list[str]], wrong: tuple[int, str]) -> None:
    row, setting = wrong
    lines = EXAMPLE.splitlines()
    lines[row] = lines[row].split(":")[0] + ": ???"
    spread = [part for gap, line in zip(gaps, lines, strict=True) for part in (*gap, line)]
    (told,) = refused("\n".join(spread))
    assert told.startswith(f"memory.yaml line {spread.index(lines[row]) + 1}: ")
    assert f".{setting}: '???' is not allowed" in told


junk = st.sampled_from(
    ["", "{", "[", "- a", "'", '"', "!x", "&a", "*a", "0x_", "1e999", "-.inf", "?", "%", "~", "<<: 1"]
)


@given(row=st.integers(0, 80), value=junk | st.text(max_size=8), config=st.sampled_from([EXAMPLE, FLAT_0_5_0]))
def test_whatever_stands_in_a_line_is_read_or_told_with_a_line(row: int, value: str, config: str) -> None:
    lines = config.splitlines()
    row %= len(lines)
    lines[row] = f"{lines[row].split(':')[0]}: {value}"
    text = "\n".join(lines)
    told = ""
    try:
        read(text.encode("utf-8", "surrogatepass"), "f")
    except InvalidConfigError as error:
        told = str(error)
    numbers = [re.match(r"f line (\d+): ", line) for line in told.split("\n") if told]
    assert all(number and 1 <= int(number[1]) <= len(text.splitlines()) + 1 for number in numbers), told
