"""Questions before facts, acknowledgements behind them, and answers that have no word of their question."""

import pytest

from benchmarks.ranking import answers


@pytest.mark.parametrize(
    ("case", "missed"), [("English pairs", 0), ("Chinese pairs", 1), ("Chinese meetings", 0), ("exchanges", 1)]
)
def test_a_fact_stands_before_what_follows_or_asks_for_it(case: str, missed: int) -> None:
    assert len(answers.first_hits(answers.CASES[case])) <= missed
