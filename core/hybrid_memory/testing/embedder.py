"""What every embedder must do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hybrid_memory.arrays import Floats
from hybrid_memory.models.port import Embedder

TOLERANCE = 1e-3
"""Between one text embedded alone and in a batch: models pad, and sum in another order."""

TEXTS = [
    "I moved to Berlin in May.",
    "The cat sleeps on the warm windowsill all afternoon.",
    "我上个月开始学习弹钢琴。",
    "Our deployment failed because the certificate had expired.",
    "我们周末去爬山，看到了日出。",
]
ODD_TEXTS = ["", " ", "\n\t", "?!", "a", "\x00", "one\x00two", "🙂", "e\u0301", "ﷺ", "word " * 300, "长" * 300]


class EmbedderContract:
    """Subclass it and give a fixture ``embedder``."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("give a fixture named 'embedder'")

    def test_name_is_a_stable_string(self, embedder: Embedder) -> None:
        """The store remembers it, to tell whose vectors it holds."""
        assert isinstance(embedder.name, str)
        assert embedder.name.strip()
        assert embedder.name == embedder.name

    def test_documents_are_float32_unit_rows_of_the_stated_width(self, embedder: Embedder) -> None:
        rows = embedder.embed_documents(TEXTS)
        assert rows.shape == (len(TEXTS), embedder.dim)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)

    def test_query_is_a_float32_unit_vector_of_the_stated_width(self, embedder: Embedder) -> None:
        vector = embedder.embed_query(TEXTS[0])
        assert vector.shape == (embedder.dim,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed_documents([]).shape == (0, embedder.dim)

    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        """Else a cached vector would differ from a new one."""
        np.testing.assert_array_equal(embedder.embed_query(TEXTS[1]), embedder.embed_query(TEXTS[1]))
        np.testing.assert_array_equal(embedder.embed_documents(TEXTS), embedder.embed_documents(TEXTS))

    def test_rows_do_not_depend_on_the_rest_of_the_batch(self, embedder: Embedder) -> None:
        together = embedder.embed_documents(TEXTS)
        alone = np.concatenate([embedder.embed_documents([text]) for text in TEXTS])
        backwards = embedder.embed_documents(TEXTS[::-1])[::-1]
        np.testing.assert_allclose(alone, together, atol=TOLERANCE)
        np.testing.assert_allclose(backwards, together, atol=TOLERANCE)

    def test_a_text_is_nearest_to_a_query_of_its_own_words(self, embedder: Embedder) -> None:
        rows = embedder.embed_documents(TEXTS)
        nearest = [int((rows @ embedder.embed_query(text)).argmax()) for text in TEXTS]
        assert nearest == list(range(len(TEXTS)))

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: repr(text[:8]))
    def test_odd_text_gives_a_finite_vector(self, embedder: Embedder, text: str) -> None:
        """Of length one, or of zeros where there is nothing to embed."""
        for vector in (embedder.embed_documents([text])[0], embedder.embed_query(text)):
            assert np.isfinite(vector).all()
            length = float(np.linalg.norm(vector))
            assert length == pytest.approx(1, abs=1e-4) or length == 0

    def test_threads_get_the_same_vectors(self, embedder: Embedder) -> None:
        expected = embedder.embed_documents(TEXTS)

        def embed(turn: int) -> tuple[int, Floats]:
            row = turn % len(TEXTS)
            return row, embedder.embed_documents([TEXTS[row]])[0]

        with ThreadPoolExecutor(max_workers=8) as pool:
            for row, vector in pool.map(embed, range(24)):
                np.testing.assert_allclose(vector, expected[row], atol=TOLERANCE)
