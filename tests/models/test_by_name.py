"""Models by name: the real clients of providers, against a server that speaks their protocols."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError, ModelError
from tests.faces import Face, Open
from tests.models.providers import Provider, serving

EMBEDDERS = {
    "openai:text-embedding-3-small": "OpenAIEmbeddings/text-embedding-3-small",
    "ollama:nomic-embed-text:v1.5": "OllamaEmbeddings/nomic-embed-text:v1.5",
    "bedrock:amazon.titan-embed-text-v2:0": "BedrockEmbeddings/amazon.titan-embed-text-v2:0",
}
PACKAGES = {"openai": "langchain_openai", "ollama": "langchain_ollama", "bedrock": "langchain_aws"}

QUICK: dict[str, Any] = {"orchestration": {"cache": 0, "background": False}, "learning": {"background": False}}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """With the environment in which the clients find it."""
    with serving() as provider:
        settings = {
            "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{provider.url}/v1", "OLLAMA_HOST": provider.url,
            "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": provider.url, "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        yield provider


def installed(name: str) -> None:
    pytest.importorskip(PACKAGES[name.partition(":")[0]])


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


@pytest.mark.parametrize("given", [{"embedder": "openai:any"}, {"language_model": "openai:gpt-5-mini"}])
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


@pytest.mark.parametrize("name", ["openai:gpt-5-mini", "ollama:qwen3:8b"])
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
