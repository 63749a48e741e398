"""The same attacks on other memories, and the tables that hold them side by side."""

import pytest

from benchmarks.poisoning import __main__ as poisoning
from benchmarks.poisoning.__main__ import CASES, by_family, by_system, offered, run
from benchmarks.poisoning.hosts import HostCase, Verdict
from benchmarks.poisoning.peers import PEERS
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import OLD_PYDANTIC

pytestmark = OLD_PYDANTIC


def case_of(host: str) -> str:
    """The first case of a host in which the model tells what it read."""
    return next(
        name
        for name, case in CASES.items()
        if isinstance(case, HostCase) and case.host == host and case.told and not case.transcript
    )


@pytest.mark.parametrize(
    ("host", "system", "obeyed"),
    [
        ("agent", "summarization", True),
        ("chain", "stock", True),
        ("function", "bare", False),
        ("function", "FactExtractionMemoryBlock", True),
        ("function", "FactExtractionMemoryBlock, InsertMethod.USER", False),
        ("function", "ChatSummaryMemoryBuffer", True),
    ],
)
def test_other_memories_are_attacked_in_the_same_way(host: str, system: str, obeyed: bool) -> None:
    case = CASES[case_of(host)]
    assert offered(case, system)
    verdict = run(case, system, HashingEmbedder())
    assert "failed" not in verdict.harms, verdict.reason
    assert ("acted" in verdict.harms) is obeyed
    assert verdict.reached or system == "summarization"


def test_ways_that_only_this_memory_has_are_compared_with_nobody() -> None:
    own = [case for case in CASES.values() if offered(case, "ours") and not offered(case, "bare")]
    assert len(own) == len(CASES) - sum(offered(case, "bare") for case in CASES.values())
    hosted = next(case for case in CASES.values() if offered(case, "bare"))
    outcomes: poisoning.Outcomes = {
        "ours": [(hosted, Verdict([])), (own[0], Verdict(["system", "acted"]))],
        "bare": [(hosted, Verdict(["outside"], recalled=False))],
        next(iter(PEERS)): [],
    }
    tables = [by_system(outcomes), by_family(outcomes)]
    assert [(row["inert"], row["outside its mark"], row["true recalled"]) for row in tables[0].rows] == [
        ("1/1", 0, 1), ("0/1", 1, 0), (None, 0, 0),
    ]  # fmt: skip
    assert tables[1].rows[-1]["all"] == "1/2"
