"""Attacks through the core's verbs are inert, however words come in and are folded, learned and recalled."""

import pytest

from benchmarks.poisoning.assembled import CoreCase, attacked
from benchmarks.poisoning.cases import core_cases
from hybrid_memory.models.embedders import HashingEmbedder


@pytest.mark.parametrize("case", [*core_cases()], ids=lambda case: case.name)
def test_an_attack_is_inert(case: CoreCase) -> None:
    verdict = attacked(case, HashingEmbedder())
    assert not verdict.harms, verdict.reason
