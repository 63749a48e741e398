"""Every attack is inert: what others wrote gains no authority, however it comes in, is folded, learned and recalled."""

from __future__ import annotations

import pytest

from benchmarks.poisoning.__main__ import CASES, run
from hybrid_memory.models.embedders import HashingEmbedder

pytestmark = [  # of LlamaIndex's agents
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince211"),
]


@pytest.mark.parametrize("name", CASES)
def test_an_attack_is_inert(name: str) -> None:
    verdict = run(CASES[name], "ours", HashingEmbedder())
    assert not verdict.harms, verdict.reason
