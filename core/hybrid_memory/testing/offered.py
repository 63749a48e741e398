"""Suites for what packages offer by name: extractors, compaction strategies, rankers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from hybrid_memory.config.weights import Weights
from hybrid_memory.context.summaries.strategy import Strategy, SummaryJob, SummaryRoom, resolve_strategy
from hybrid_memory.facts.fact import FactExtractor
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.models.port import Ranker
from hybrid_memory.recall.hit import Signals
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokens import estimate_tokens

SAID = (
    "I moved to Berlin in May. The flat is by the canal.",
    "Our import fails with E4127, and nobody knows why.",
    "我对腰果过敏，别的坚果都没事。",
    "We decided to use Postgres for the billing service!",
)


def turns(*texts: str, first: int = 1) -> list[Event]:
    """Turns of a user, an hour apart."""
    return [
        Event(
            position=number,
            id=f"turn-{number}",
            scope=Scope(user="alice", session="s1"),
            kind=EventKind.MESSAGE,
            at=datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=number),
            payload={"role": "user", "content": text},
        )
        for number, text in enumerate(texts, start=first)
    ]


class ExtractorContract:
    """Subclass it, give a fixture ``extractor`` and a text that claims something.

    Attributes:
        claiming: a turn from which the extractor reads at least one claim.
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
    """Subclass it, and give a fixture ``strategy``."""

    @pytest.fixture
    def strategy(self) -> Strategy:
        raise NotImplementedError("give a fixture named 'strategy'")

    @staticmethod
    def job(*, standing: int = 400) -> SummaryJob:
        """Four turns, and room for so many tokens of lines."""
        return SummaryJob((), turns(*SAID), SummaryRoom(standing, standing // 2, standing // 2, estimate_tokens))

    def test_it_can_be_chosen(self, strategy: Strategy) -> None:
        assert resolve_strategy(strategy) is strategy
        assert strategy.name

    def test_lines_lead_back_to_their_turns(self, strategy: Strategy) -> None:
        job = self.job()
        lines = strategy.extract(job)
        ids = {event.id for event in job.span}
        for line in lines:
            assert line.text.strip()
            assert "\n" not in line.text
            assert set(line.sources) <= ids
            assert line.sources
            assert 1 <= line.first <= line.last <= len(SAID)

    def test_the_same_turns_give_the_same_lines(self, strategy: Strategy) -> None:
        assert strategy.extract(self.job()) == strategy.extract(self.job())

    def test_lines_keep_to_their_room(self, strategy: Strategy) -> None:
        lines = strategy.extract(self.job(standing=40))
        assert sum(estimate_tokens(line.text) for line in lines) <= 40  # noqa: PLR2004 - the room


class RankerContract:
    """Subclass it, and give a fixture ``ranker``."""

    @pytest.fixture
    def ranker(self) -> Ranker:
        raise NotImplementedError("give a fixture named 'ranker'")

    @pytest.mark.parametrize("rows", [0, 1, 50])
    def test_each_candidate_has_a_score_from_0_to_1(self, ranker: Ranker, rows: int) -> None:
        chance = np.random.default_rng(rows)
        signals = {name: chance.random(rows) for name in Signals.__dataclass_fields__}
        asked: list[int] = []

        def texts(wanted: Sequence[int]) -> list[str]:
            asked.extend(wanted)
            return [SAID[row % len(SAID)] for row in wanted]

        scores = ranker.score("Where is the flat?", signals, Weights(), texts)
        assert scores.shape == (rows,)
        assert np.isfinite(scores).all()
        assert ((scores >= 0) & (scores <= 1)).all()
        assert set(asked) <= set(range(rows))
        again = ranker.score("Where is the flat?", signals, Weights(), texts)
        np.testing.assert_array_equal(scores, again)
