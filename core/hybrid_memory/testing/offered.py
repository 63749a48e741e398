"""Contract suites for named implementations: embedders, extractors, compaction strategies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hybrid_memory.context.lines import SummaryRoom
from hybrid_memory.context.strategies import Strategy, SummaryJob, resolve_strategy
from hybrid_memory.facts.fact import FactExtractor
from hybrid_memory.log.event import Event
from hybrid_memory.models.port import Embedder
from hybrid_memory.scope import Scope
from hybrid_memory.testing.drafts import archived
from hybrid_memory.text.tokens import estimate_tokens

SAID = (
    "I moved to Berlin in May. The flat is by the canal.",
    "Our import fails with E4127, and nobody knows why.",
    "我对腰果过敏，别的坚果都没事。",
    "We decided to use Postgres for the billing service!",
)


def turns(*texts: str) -> list[Event]:
    """User turns, one minute apart."""
    scope = Scope(user="alice", session="s1")
    return [archived(n, scope, payload={"role": "user", "content": text}) for n, text in enumerate(texts, start=1)]


class ExtractorContract:
    """Tests that every extractor must pass. Subclass it; provide a fixture ``extractor`` and a text that makes a claim.

    Attributes:
        claiming: a turn from which the extractor extracts at least one claim.
    """

    claiming = "My name is Alice, and I live in Berlin."

    @pytest.fixture
    def extractor(self) -> FactExtractor:
        raise NotImplementedError("give a fixture named 'extractor'")

    def test_a_claim_names_its_turn(self, extractor: FactExtractor) -> None:
        spoken = turns(*SAID, self.claiming)
        claims = extractor.extract(spoken, [])
        assert spoken[-1].position in {claim.source for claim in claims}
        assert {claim.source for claim in claims} <= {turn.position for turn in spoken}
        assert all(claim.subject and claim.attribute and 0 <= claim.confidence <= 1 for claim in claims)

    def test_the_cut_into_calls_changes_nothing(self, extractor: FactExtractor) -> None:
        spoken = turns(self.claiming, *SAID, self.claiming)
        whole = extractor.extract(spoken, [])
        parts = [claim for row, turn in enumerate(spoken) for claim in extractor.extract([turn], spoken[:row])]
        assert parts == whole

    def test_nothing_is_read_from_nothing(self, extractor: FactExtractor) -> None:
        assert extractor.extract([], turns(self.claiming)) == []


class StrategyContract:
    """Tests that every compaction strategy must pass. Subclass it and provide a fixture ``strategy``."""

    @pytest.fixture
    def strategy(self) -> Strategy:
        raise NotImplementedError("give a fixture named 'strategy'")

    @staticmethod
    def job(*, standing: int = 400) -> SummaryJob:
        """Four turns to compact, with a budget of this many tokens for lines."""
        return SummaryJob((), turns(*SAID), SummaryRoom(standing, standing // 2, standing // 2, estimate_tokens))

    def test_it_can_be_chosen(self, strategy: Strategy) -> None:
        assert resolve_strategy(strategy) is strategy
        assert strategy.name

    def test_lines_lead_back_to_their_turns(self, strategy: Strategy) -> None:
        job = self.job()
        lines = strategy.extract(job)
        assert lines == strategy.extract(self.job()), "the same turns give the same lines"
        ids = {event.id for event in job.span}
        for line in lines:
            assert line.text.strip()
            assert "\n" not in line.text
            assert set() < set(line.sources) <= ids
            assert 1 <= line.first <= line.last <= len(SAID)

    def test_lines_keep_to_their_room(self, strategy: Strategy) -> None:
        lines = strategy.extract(self.job(standing=40))
        assert sum(estimate_tokens(line.text) for line in lines) <= 40  # noqa: PLR2004 - the room


TOLERANCE = 1e-3
"""Difference allowed between a text embedded alone and in a batch: models pad, and sum in another order."""

TEXTS = [
    "I moved to Berlin in May.",
    "The cat sleeps on the warm windowsill all afternoon.",
    "我上个月开始学习弹钢琴。",
    "Our deployment failed because the certificate had expired.",
    "我们周末去爬山，看到了日出。",
]
ODD_TEXTS = ["", " ", "\n\t", "?!", "a", "\x00", "one\x00two", "🙂", "e\u0301", "ﷺ", "word " * 300, "长" * 300]


class EmbedderContract:
    """Tests that every embedder must pass. Subclass it and provide a fixture ``embedder``."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("give a fixture named 'embedder'")

    def test_name_is_a_stable_string(self, embedder: Embedder) -> None:
        """The store saves it to know which embedder made its vectors."""
        assert isinstance(embedder.name, str)
        assert embedder.name.strip()
        assert embedder.name == embedder.name

    def test_vectors_are_float32_of_unit_length_and_of_one_width(self, embedder: Embedder) -> None:
        width = len(embedder.embed_query(TEXTS[0]))
        for rows in (embedder.embed_documents(TEXTS), np.stack([embedder.embed_query(text) for text in TEXTS])):
            assert rows.shape == (len(TEXTS), width)
            assert rows.dtype == np.float32
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
        assert len(embedder.embed_documents([])) == 0

    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        """Otherwise a cached vector would differ from a new one."""
        np.testing.assert_array_equal(embedder.embed_query(TEXTS[1]), embedder.embed_query(TEXTS[1]))
        np.testing.assert_array_equal(embedder.embed_documents(TEXTS), embedder.embed_documents(TEXTS))

    def test_rows_do_not_depend_on_the_rest_of_the_batch_or_on_other_threads(self, embedder: Embedder) -> None:
        together = embedder.embed_documents(TEXTS)
        np.testing.assert_allclose(embedder.embed_documents(TEXTS[::-1])[::-1], together, atol=TOLERANCE)
        with ThreadPoolExecutor(max_workers=8) as pool:
            alone = np.concatenate(list(pool.map(embedder.embed_documents, ([text] for text in 5 * TEXTS))))
        np.testing.assert_allclose(alone, np.tile(together, (5, 1)), atol=TOLERANCE)

    def test_a_text_is_nearest_to_a_query_of_its_own_words(self, embedder: Embedder) -> None:
        rows = embedder.embed_documents(TEXTS)
        nearest = [int((rows @ embedder.embed_query(text)).argmax()) for text in TEXTS]
        assert nearest == list(range(len(TEXTS)))

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: repr(text[:8]))
    def test_odd_text_gives_a_finite_vector(self, embedder: Embedder, text: str) -> None:
        """Of length 1, or all zeros if there is nothing to embed."""
        for vector in (embedder.embed_documents([text])[0], embedder.embed_query(text)):
            assert np.isfinite(vector).all()
            length = float(np.linalg.norm(vector))
            assert length == pytest.approx(1, abs=1e-4) or length == 0
