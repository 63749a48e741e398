"""Questions before facts, acknowledgements behind them, and answers that have no word of their question."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.ranking import answers
from hybrid_memory import Record, Scope, open_memory
from hybrid_memory.index.record import Where
from hybrid_memory.recall.choose import asked_before
from hybrid_memory.recall.gather import Asked, Home, gather
from hybrid_memory.recall.measure import answering
from hybrid_memory.recall.plan import plan
from hybrid_memory.runtime.runners import InlineRunner
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.text.asking import Speech


def test_an_answer_has_part_in_the_relevance_of_its_question() -> None:
    said = Speech(empty=np.array([0.0, 0, 1, 0, 0]), asks=np.array([1.0, 0, 0, 1, 1]))
    segments, ordinals = np.array([1, 1, 1, 7, 7]), np.array([0, 1, 2, 0, 2])
    shares = answering(np.array([0.8, 0.1, 0.3, 0.9, 0.2]), said, segments, ordinals)
    assert shares.tolist() == [0, 0.8, 0, 0, 0]
    assert len(answering(np.zeros(0), Speech(np.zeros(0), np.zeros(0)), np.zeros(0, int), np.zeros(0, int))) == 0


def test_a_hit_that_answers_knows_its_question() -> None:
    said, _ = answers.exchanges()
    with open_memory("memory://", embedder="hashing") as memory:
        ann = memory.scoped(user="ann", session="before")
        ann.remember([{"role": role, "content": text} for role, text in [*said, ("assistant", "Alright.")]])
        ann.flush(progress=False)
        services = memory._runtime.services
        records = services.index.get(range(1, len(said) + 2))
        found = asyncio.run(_asked_before(services, ann.scope, records))
    assert {number: record.text for number, record in found.items()} == {
        row: said[row - 2][1] for row in range(2, len(said) + 1, 2)
    }


async def _asked_before(services: Services, scope: Scope, records: Sequence[Record]) -> dict[int, Record]:
    run, query = InlineRunner(), "anything"
    home = Home(await in_view(run, services, scope), Where(scope.owner), services.index.status())
    found = await gather(run, home, Asked(query, None, plan(query, now=services.clock(), candidates=2)))
    return await asked_before(run, [home], {hash(query)}, found, records)


@pytest.mark.parametrize(
    ("case", "missed"), [("English pairs", 0), ("Chinese pairs", 1), ("Chinese meetings", 0), ("exchanges", 1)]
)
def test_a_fact_stands_before_what_follows_or_asks_for_it(case: str, missed: int) -> None:
    assert len(answers.first_hits(answers.CASES[case])) <= missed
