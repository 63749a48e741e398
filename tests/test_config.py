"""The YAML form of `MemoryConfig`: what a file says, and what is said about a wrong one."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, LearningConfig, MemoryConfig, RecallConfig, Weights, open_memory
from hybrid_memory.config import ArchiveConfig, IndexConfig, OrchestrationConfig, RedactionConfig, RetentionConfig, yaml
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.urls import shown_url
from tests.world import cases, rows

FILE: Final = """\
url: redis://localhost:6379/0
embedder: text-embedding-v4
index: {url: "milvus://localhost:19530", algorithm: ivf_flat, nlist: 1024}
archive: {url: "clickhouse://localhost:8123/default", after: 30 days}
compaction: {max_tokens: 128000, flush: 0.78125, keep_ratio: 0.3}
recall:
  weights:
    {exact: 0.15, vector: 0.5, temporal: 0.2, text: 0.15, coverage: 0, neighbours: 0, segment: 0,
     statement: 0, speaker: 0, kind: 0, importance: 0}
  cache_ttl: 5 minutes
orchestration: {concurrency: 10, batch: 32, cache: 10000, cache_ttl: PT1H, window: 50 ms}
"""


SETTINGS: Final = MemoryConfig(
    url="redis://localhost:6379/0",
    index=IndexConfig(url="milvus://localhost:19530", algorithm="ivf_flat", nlist=1024),
    archive=ArchiveConfig(url="clickhouse://localhost:8123/default", after=timedelta(days=30)),
    embedder="text-embedding-v4",
    compaction=CompactionConfig(max_tokens=128_000, flush=100 / 128, keep_ratio=0.3),
    recall=RecallConfig(weights=Weights.routed(), cache_ttl=timedelta(minutes=5)),
    orchestration=OrchestrationConfig(concurrency=10, batch=32, cache=10_000, cache_ttl=timedelta(hours=1)),
)


def loaded(text: str) -> MemoryConfig:
    return yaml.loaded(MemoryConfig, text.encode(), "memory.yaml")


def refused(text: str) -> list[str]:
    """What is said about a wrong file, a line for each mistake."""
    with pytest.raises(InvalidConfigError) as caught:
        loaded(text)
    return [line.removeprefix("memory.yaml").removeprefix(": ").strip() for line in str(caught.value).split("\n")]


def test_a_file_says_what_it_seems_to_say() -> None:
    assert loaded(FILE) == SETTINGS


@pytest.mark.parametrize(
    ("written", "length"),
    [
        ("3", timedelta(seconds=3)), ("0.05", timedelta(milliseconds=50)), ("1e-3", timedelta(milliseconds=1)),
        ("50 ms", timedelta(milliseconds=50)), ("2.5 min", timedelta(seconds=150)), ("1 hour", timedelta(hours=1)),
        ("365 days", timedelta(days=365)), ("P365D", timedelta(days=365)), ("00:00:07", timedelta(seconds=7)),
    ],
)  # fmt: skip
def test_a_duration_is_seconds_text_or_iso(written: str, length: timedelta) -> None:
    assert loaded(f"learning: {{delay: {written}}}").learning.delay == length
    assert LearningConfig(delay=written if " " in written else length).delay == length  # type: ignore[arg-type]


ONE_MISTAKE: Final = [
    *rows("config.tsv"),
    ("url: 'a", "line 1, column 8: not YAML: found unexpected end of stream"),
    ("a: " + "[" * 1000, "not YAML: maximum recursion depth exceeded"),
]


@pytest.mark.parametrize(("text", "message"), ONE_MISTAKE, ids=[text[:40] for text, _ in ONE_MISTAKE])
def test_a_mistake_is_reported_with_its_name_or_place_and_what_is_allowed(text: str, message: str) -> None:
    assert refused(text) == [message]


def test_all_mistakes_of_a_file_are_reported_at_once() -> None:
    reported = refused("""\
# 我的设置
cache_megabytes: -1
recall:
  candidates: 0    # 没有
  diversty: 1

index:
  # 注释
  algorithm:
    IVF
url: 3
""")
    names = {"cache_megabytes", "recall.candidates", "recall.diversty", "index.algorithm", "url"}
    assert {line.split(":")[0] for line in reported} == names


positive = st.timedeltas(min_value=timedelta(microseconds=1))
duration = st.timedeltas(min_value=timedelta(0))
share = st.floats(0, 1, exclude_min=True)
text = st.text(max_size=12)
name = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def urls(*schemes: str) -> st.SearchStrategy[str]:
    """Without passwords, which are not written, and NUL, which is refused."""
    rest = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
    return st.tuples(st.sampled_from(schemes), rest).map("".join).filter(lambda url: shown_url(url) == url)


quarter = st.floats(0, 0.25, exclude_min=True)
compactions = st.builds(
    CompactionConfig, strategy=st.sampled_from(["anchored", "window"]), max_tokens=st.integers(100, 10**15),
    rounds=maybe(st.integers(1, 500)), flush=share, pressure=share, density=maybe(st.floats(0, 1)), drift=maybe(share),
    keep_least=st.integers(1, 9), keep_rounds=st.integers(9, 99), keep_ratio=quarter, summary_ratio=quarter,
    artifact_ratio=quarter, recall_ratio=quarter, offload_tokens=st.integers(50, 10**6), model_timeout=positive,
)  # fmt: skip
weight = st.just(0.0) | st.floats(0, 1e300)
weights = st.one_of(
    st.sampled_from([Weights(), Weights.plain(), Weights.routed(), Weights(1, 0), Weights(0, 1)]),
    st.tuples(*[weight] * len(Weights.__slots__)).filter(any).map(lambda values: Weights(*values)),
)
recalls = st.builds(
    RecallConfig, weights=weights, candidates=st.integers(1, 10_000), half_life=positive, diversity=st.floats(0, 1),
    synonyms=st.lists(st.lists(name, max_size=3).map(tuple), max_size=3).map(tuple), cache_ttl=duration,
    count_uses=st.booleans(),
)  # fmt: skip
retentions = st.builds(
    RetentionConfig, ttl=st.dictionaries(st.sampled_from(["turn", "fact", "task"]), duration),
    half_life=maybe(positive), least=st.floats(0, 1, exclude_min=True, exclude_max=True),
)  # fmt: skip
orchestrations = st.builds(
    OrchestrationConfig, concurrency=st.integers(1, 1000), background=st.booleans(), batch=st.integers(1, 4096),
    window=st.timedeltas(timedelta(0), timedelta(seconds=10)), embedding_concurrency=st.integers(1, 256),
    cache=st.integers(0, 10**9), cache_ttl=positive,
)  # fmt: skip
indexes = st.builds(
    IndexConfig, url=maybe(st.just("memory://") | urls("sqlite:///", "redis://", "milvus://", "milvus+tls://")),
    algorithm=st.sampled_from([None, "flat", "hnsw", "ivf_flat"]), nlist=st.integers(1, 65_536),
)  # fmt: skip
archives = st.builds(ArchiveConfig, url=urls("chdb:///", "clickhouse://", "clickhouse+tls://"), after=positive)
learnings = st.builds(
    LearningConfig, model=st.booleans(),
    background=st.booleans(), delay=duration,
)  # fmt: skip
kinds = st.lists(st.sampled_from(["api key", "iban", "ip"]), max_size=3).map(tuple)
configs = st.builds(
    MemoryConfig, url=st.just("memory://") | urls("sqlite:///", "redis://", "rediss://"), index=indexes,
    archive=st.just(ArchiveConfig()) | archives, outbox=maybe(text), embedder=st.sampled_from(["auto", "none"]) | text,
    power_safe=st.booleans(), cache_megabytes=st.integers(0, 10**6),
    cleaning=st.sampled_from(["off", "light"]),
    recall=recalls, compaction=compactions, learning=learnings, retention=retentions,
    redaction=st.builds(RedactionConfig, kinds=kinds), orchestration=orchestrations,
)  # fmt: skip


@given(config=configs)
@example(config=MemoryConfig(recall=RecallConfig(synonyms=(("0E0", "1e5"), ("off", "2026-01-01")))))
def test_what_is_written_is_read_as_the_same_settings(config: MemoryConfig) -> None:
    assert loaded(config.to_yaml()) == config


junk = st.sampled_from(
    ["", "{", "[", "- a", "'", '"', "!x", "&a", "*a", "0x_", "1e999", "-.inf", "?", "%", "~", "<<: 1"]
)


@given(row=st.integers(0, 80), value=junk | st.text(max_size=8))
def test_whatever_stands_in_a_line_is_read_or_told(row: int, value: str) -> None:
    lines = FILE.splitlines()
    row %= len(lines)
    lines[row] = f"{lines[row].split(':')[0]}: {value}"
    text = "\n".join(lines)
    with suppress(InvalidConfigError):
        yaml.loaded(MemoryConfig, text.encode("utf-8", "surrogatepass"), "f")


@pytest.mark.parametrize("as_path", [False, True], ids=["text", "path"])
def test_a_memory_opens_from_a_yaml_path(tmp_path: Path, as_path: bool) -> None:
    file = tmp_path / "memory.yml"
    file.write_text("url: memory://\nembedder: hashing\n", encoding="utf-8")
    with open_memory(file if as_path else str(file)) as memory:
        assert memory.stats().url == "memory://"
        assert memory.stats().embedder == "hashing-256"


def test_a_model_by_another_name_must_be_given(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text("url: memory://\nembedder: text-embedding-v4\n", encoding="utf-8")
    with open_memory(file, embedder=lambda texts: HashingEmbedder().embed_documents(texts)) as memory:
        alice = memory.scoped(user="alice")
        alice.remember(["My order is number A-4711.", "It rains."])
        (hit,) = alice.recall("the number of the order", k=1)
        assert (hit.record.text, hit.note, hit.signals.vector) == ("My order is number A-4711.", "", 1)
        assert memory.stats().embedder == "text-embedding-v4"
    with pytest.raises(InvalidConfigError, match=r"'text-embedding-v4' is none of ours.*open_memory\(embedder="):
        open_memory(file)


@pytest.mark.parametrize(("settings", "told"), cases("config.json", "settings"), ids=repr)
def test_a_wrong_setting_is_named(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidConfigError, match=told):
        MemoryConfig(**settings)


def test_yaml_cannot_make_python_objects(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text("url: !!python/object/apply:os.getcwd []\n", encoding="utf-8")
    with pytest.raises(InvalidConfigError):
        MemoryConfig.from_yaml(file)
