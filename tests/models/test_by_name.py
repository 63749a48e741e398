"""Models by name: the real clients of providers, against a server that speaks their protocols."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import (
    EmbedderMismatchError,
    InvalidConfigError,
    InvalidInputError,
    MissingDependencyError,
    ModelError,
)
from hybrid_memory.models.named import wants_prefixes
from tests.cli.conftest import Command
from tests.faces import Face, Open
from tests.models.providers import Provider, serving

EMBEDDERS = {
    "openai:text-embedding-3-small": "OpenAIEmbeddings/text-embedding-3-small",
    "ollama:nomic-embed-text:v1.5": "OllamaEmbeddings/nomic-embed-text:v1.5",
    "bedrock:amazon.titan-embed-text-v2:0": "BedrockEmbeddings/amazon.titan-embed-text-v2:0",
}
MODELS = ["openai:gpt-5-mini", "ollama:qwen3:8b"]
PACKAGES = {"openai": "langchain_openai", "ollama": "langchain_ollama", "bedrock": "langchain_aws"}
OPENAI = "openai:text-embedding-3-small"

LEARNING: dict[str, Any] = {"background": False}
QUICK: dict[str, Any] = {"orchestration": {"cache": 0, "background": False}, "learning": LEARNING}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """With the environment in which the clients find it."""
    with serving() as provider:
        settings = {
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OLLAMA_HOST": provider.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": provider.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        yield provider


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def installed(name: str) -> None:
    pytest.importorskip(PACKAGES[name.partition(":")[0]])


def object_of(name: str) -> Any:
    """The same model, made by hand."""
    embeddings = pytest.importorskip("langchain.embeddings")
    # Else OpenAI's cuts texts itself, and downloads its tokenizer for that.
    return embeddings.init_embeddings(name, **({"check_embedding_ctx_length": False} if "openai" in name else {}))


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_by_name_embeds_and_finds(face: Face, opened: Open, provider: Provider, name: str) -> None:
    installed(name)
    memory = opened(embedder=name, **QUICK)
    alice = memory.scoped(user="alice")
    face(alice).remember(["my cat sleeps", "it rains in Berlin"])
    assert face(memory).flush().embedded == 2
    assert face(memory).stats().embedder == EMBEDDERS[name]
    (hit,) = face(alice).recall("cat", k=1)
    assert (hit.record.text, hit.note) == ("my cat sleeps", "")
    assert hit.signals.vector > 0
    assert [text for batch in provider.batches for text in batch if "cat sleeps" in text]


@pytest.mark.parametrize("name", EMBEDDERS)
def test_by_name_and_as_an_object_it_is_the_same_embedder(opened: Open, provider: Provider, name: str) -> None:
    installed(name)

    def embedded(memory: HybridMemory, text: str) -> int:
        memory.scoped(user="alice").remember(text)
        done = memory.flush().embedded
        memory.close()
        return done

    assert embedded(opened(embedder=name, **QUICK), "one") == 1
    assert embedded(opened(embedder=object_of(name), **QUICK), "two") == 1
    assert embedded(opened(embedder=name, **QUICK), "three") == 1
    with pytest.raises(EmbedderMismatchError, match=name.partition(":")[2].replace(".", r"\.")):
        opened(embedder="hashing")


def test_a_store_that_was_named_by_the_configuration_opens_by_name_alone(
    store: str, tmp_path: Path, provider: Provider
) -> None:
    installed(OPENAI)
    named = MemoryConfig(url=store, embedder=OPENAI, **QUICK)
    for config, embedder in [(named, object_of(OPENAI)), (named, None), (named, object_of(OPENAI))]:
        with open_memory(config, embedder=embedder) as memory:
            memory.scoped(user="alice").remember(f"turn of {embedder}")
            memory.flush()
            assert memory.stats().embedder == OPENAI
    other = f"sqlite:///{tmp_path / 'other.db'}"
    began = MemoryConfig(url=other, embedder=OPENAI, **QUICK)
    for embedder in (None, object_of(OPENAI), None):
        with open_memory(began, embedder=embedder) as memory:
            memory.scoped(user="alice").remember(f"turn of {embedder}")
            memory.flush()
            assert memory.stats().embedder == EMBEDDERS[OPENAI]


def test_voyage_which_the_framework_does_not_know_by_name(
    store: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_voyageai")
    monkeypatch.delenv("VOYAGE_API_KEY", raising=False)
    with pytest.raises(InvalidConfigError, match="VOYAGE_API_KEY"):
        open_memory(store, embedder="voyage:voyage-3.5")
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-test")
    with open_memory(store, embedder="voyage:voyage-3.5") as memory:  # to embed, it downloads a tokenizer first
        assert memory.stats().embedder == "VoyageAIEmbeddings/voyage-3.5"


def test_many_texts_go_in_batches(opened: Open, provider: Provider) -> None:
    installed(OPENAI)
    memory = opened(embedder=OPENAI, orchestration={"batch": 16, "background": False}, learning=LEARNING)
    memory.scoped(user="alice").remember([f"Is turn number {number} a question?" for number in range(50)])
    assert memory.flush().embedded == 50
    assert max(map(len, provider.batches)) == 16
    assert sum(map(len, provider.batches)) == 50


@pytest.mark.parametrize("name", ["openai:text-embedding-3-small", "ollama:nomic-embed-text:v1.5"])
@pytest.mark.parametrize("status", [429, 500])
def test_while_the_server_fails_recall_goes_by_words(
    face: Face, opened: Open, provider: Provider, name: str, status: int
) -> None:
    installed(name)
    memory = opened(embedder=name, **QUICK)
    alice = memory.scoped(user="alice")
    provider.status = status
    face(alice).remember(["my cat sleeps", "it rains in Berlin"])
    (hit,) = face(alice).recall("the cat", k=1)
    assert (hit.record.text, hit.signals.vector) == ("my cat sleeps", 0)
    assert "overloaded" in hit.note
    with pytest.raises(ModelError, match="overloaded"):
        face(memory).flush()
    provider.status = 200
    assert face(memory).flush().embedded == 2
    assert face(alice).recall("the cat", k=1)[0].signals.vector > 0


def test_a_server_that_hangs_is_not_waited_for(face: Face, opened: Open, provider: Provider) -> None:
    installed(OPENAI)
    slow = {"orchestration": {"cache": 0, "background": False, "model_timeout": 0.3}, "learning": LEARNING}
    memory = opened(embedder=OPENAI, **slow)
    alice = memory.scoped(user="alice")
    face(alice).remember("my cat sleeps")
    provider.delay = 2.5
    started = time.monotonic()
    (hit,) = face(alice).recall("the cat", k=1)
    assert time.monotonic() - started < 2
    assert (hit.record.text, hit.signals.vector) == ("my cat sleeps", 0)
    assert "0.3 s" in hit.note


@pytest.mark.parametrize("given", [{"embedder": OPENAI}, {"language_model": "openai:gpt-5-mini"}])
def test_a_missing_key_is_known_when_the_memory_is_opened(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    installed("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidConfigError, match=r"openai:.*OPENAI_API_KEY"):
        open_memory(store, **given)
    with pytest.raises(InvalidConfigError, match=r"openai:.*OPENAI_API_KEY"):
        open_memory(MemoryConfig(url=store, **given))
    assert list(tmp_path.iterdir()) == []  # nothing was made


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"embedder": "nobody:any"}, InvalidConfigError, "nobody"),
        ({"language_model": "nobody:any"}, InvalidConfigError, "nobody"),
        ({"language_model": "qwen3"}, InvalidConfigError, "provider:model"),
        ({"embedder": "openai:"}, InvalidConfigError, "provider:model"),
        ({"embedder": "cohere:embed-v4.0"}, MissingDependencyError, "pip install langchain-cohere"),
        ({"language_model": "groq:any"}, MissingDependencyError, "pip install langchain-groq"),
        ({"embedder": "sentence-transformers:any"}, MissingDependencyError, "pip install sentence-transformers"),
    ],
)
def test_a_name_that_cannot_be_used_says_what_to_do(given: dict[str, Any], error: type[Exception], said: str) -> None:
    pytest.importorskip("langchain")
    with pytest.raises(error, match=said):
        open_memory("memory://", **given)


@pytest.mark.parametrize("name", MODELS)
def test_a_language_model_by_name_reads_facts_and_writes_summaries(
    face: Face, store: str, provider: Provider, tmp_path: Path, name: str
) -> None:
    installed(name)
    provider.structured = {
        "facts": [{"value": "Bergen", "attribute": "home", "subject": "user", "turn": 1, "stance": "holds"}]
    }
    file = tmp_path / "memory.yaml"
    file.write_text(f"url: {store}\nembedder: none\nlanguage_model: {name}\n", encoding="utf-8")
    with open_memory(file) as memory:
        alice = memory.scoped(user="alice", session="s1")
        face(alice).remember("Since the wedding it has been a terrace in Bergen.")
        face(memory).flush()
        facts = face(alice).facts()
        assert [(fact.attribute, fact.value) for fact in facts if not fact.verbatim] == [("home", "Bergen")]
        for number in range(12):
            face(alice).remember(f"Turn {number}: the boat needs paint, and the harbour asks for its fee.")
        provider.structured = {}
        before = len(provider.asked)
        face(alice).compact()
        assert len(provider.asked) > before
    assert all(body["model"] == name.partition(":")[2] for _, body in provider.asked)


def test_rebuild_takes_a_name(face: Face, opened: Open, provider: Provider) -> None:
    installed(OPENAI)
    memory = opened(**QUICK)
    face(memory.scoped(user="alice")).remember("my cat sleeps")
    assert face(memory).rebuild(embedder=OPENAI).embedded == 1
    assert face(memory).stats().embedder == EMBEDDERS[OPENAI]
    with pytest.raises(InvalidInputError):
        face(memory).rebuild(embedder="none")
    with pytest.raises(InvalidInputError, match="nobody"):
        face(memory).rebuild(embedder="nobody:any")


def test_models_of_the_e5_family_get_their_prefixes(opened: Open, provider: Provider) -> None:
    installed(OPENAI)
    name = "openai:intfloat/multilingual-e5-large"
    memory = opened(embedder=name, **QUICK)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    memory.flush()
    alice.recall("the cat")
    starts = {text.partition(": ")[0] for batch in provider.batches for text in batch}
    assert starts == {"passage", "query"}
    memory.close()
    with pytest.raises(EmbedderMismatchError, match=r"\+prefixes"):  # the same model, but other vectors
        opened(embedder=object_of(name))


def test_the_command_takes_names_and_does_without_what_cannot_be_made(
    command: Command, store: str, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(OPENAI)
    file, settings = store.removeprefix("sqlite:///"), tmp_path / "memory.yaml"
    with open_memory(MemoryConfig(url=store, embedder="none", **QUICK)) as memory:
        memory.scoped(user="alice").remember("my cat sleeps")
    assert command.json("rebuild", file, "--embedder", OPENAI)["embedded"] == 1
    assert command("rebuild", file, "--embedder", "nobody") == 2
    assert "provider:model" in command.err
    settings.write_text(f"url: {store}\nembedder: {OPENAI}\nlanguage_model: openai:gpt-5-mini\n", encoding="utf-8")
    assert command.json("stats", settings)["embedder"] == EMBEDDERS[OPENAI]
    monkeypatch.delenv("OPENAI_API_KEY")
    assert command("search", settings, "cat") == 0
    assert "my cat sleeps" in command.out
    assert "recall works with words alone" in command.err


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("intfloat/multilingual-e5-small", True),
        ("/models/e5-base-v2", True),
        ("jeffh/intfloat-multilingual-e5-large:f16", True),
        ("intfloat/multilingual-e5-large-instruct", False),
        ("text-embedding-3-small", False),
        ("some5-e5x", False),
    ],
)
def test_which_models_want_prefixes(model: str, wanted: bool) -> None:
    assert wants_prefixes(model) is wanted
