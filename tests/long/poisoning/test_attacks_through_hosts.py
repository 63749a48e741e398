"""Attacks through hosts are inert: what a tool, a page or a model wrote gains no authority there."""

import pytest

from benchmarks.poisoning.cases import host_cases, own_cases
from benchmarks.poisoning.hosts import HostCase, played
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import OLD_PYDANTIC

pytestmark = [*OLD_PYDANTIC, pytest.mark.usefixtures("idle_loop")]


@pytest.mark.parametrize("case", [*host_cases(), *own_cases()], ids=lambda case: case.name)
def test_an_attack_is_inert(case: HostCase) -> None:
    verdict = played(case, "ours", HashingEmbedder())
    assert not verdict.harms, verdict.reason
