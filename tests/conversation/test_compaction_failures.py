"""Whatever fails while turns are folded, no word is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

import pytest

from hybrid_memory import EventKind, Line, Message, ScopedMemory
from hybrid_memory.context.compact import critical_items
from hybrid_memory.context.strategies import SummaryJob, WindowOnly
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.testing import FaultyModel, ScriptedModel
from hybrid_memory.testing.models import Fault
from tests.conversation.conftest import OpenWith, SessionWith, assistant
from tests.doubles import line_to
from tests.faces import Face

FAULTS: tuple[Fault, ...] = get_args(Fault)


SAID = [
    Message(content="My name is Nora Winter, and my flight on 2024-07-01 costs 430 EUR."),
    assistant("We decided to book seat B12345 with booking.py."),
    Message(content="记住，我的邮箱是 nora@example.org，会议在3月14日。"),
    assistant("好的，记下了。"),
]
IMPATIENT = timedelta(milliseconds=40)
LATEST = [Message(content="What now?"), assistant("We wait."), Message(content="Until when?")]


def items_of(handle: ScopedMemory) -> set[str]:
    log = handle._runtime.services.log
    events = log.read(handle.scope, kinds=(EventKind.MESSAGE,), limit=len(SAID))
    return {item for event in events for item in critical_items(event)}


def assert_nothing_is_lost(handle: ScopedMemory) -> None:
    summary = handle.summary()
    assert handle.expand(summary) == handle.history(current=True)[: len(handle.expand(summary))]
    audit = summary.audit
    assert audit.items == audit.in_summary + audit.in_ledger + audit.in_log
    reachable = summary.text + " ".join(message.text for message in handle.expand(summary))
    assert all(item in reachable for item in items_of(handle))


@pytest.mark.parametrize("strategy", ["anchored", "recursive"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_costs_nothing(face: Face, session_with: SessionWith, fault: Fault, strategy: str) -> None:
    model = FaultyModel(fault)
    try:
        alice = session_with(model, strategy=strategy, model_timeout=IMPATIENT)
        face(alice).remember([*SAID, *LATEST])
        assert face(alice).compact(keep=2).compacted == len(SAID)
        assert model.calls >= 1
        assert_nothing_is_lost(alice)
        kept = " ".join(line.text for line in face(alice).summary())
        assert "2024-07-01" in kept
        assert "nora@example.org" in kept
        if fault in {"raises", "hangs", "empty"}:
            assert face(alice).summary().audit.fallbacks == 1
            assert all(line.coverage == 1 for line in face(alice).summary())
        assert face(alice).assemble(k=0).messages[-1].text == "Until when?"
    finally:
        model.release()


def facts(text: str, *turns: int) -> dict[str, Any]:
    return {"facts": [{"text": text, "turns": list(turns)}]}


def test_what_a_model_drops_is_put_back(face: Face, session_with: SessionWith) -> None:
    model = ScriptedModel([facts("Nora travels.", 1)])
    alice = session_with(model)
    face(alice).remember([*SAID, *LATEST])
    face(alice).compact(keep=2)
    summary = face(alice).summary()
    assert summary.audit.filled == len(summary.lines) - 1 >= 2
    assert summary.audit.fallbacks == 0
    assert any("430 EUR" in line.text for line in summary)
    assert_nothing_is_lost(alice)


TOLD = frozenset(EventKind) - {EventKind.CLAIM, EventKind.LEARNED}
"""What was learned is no part of the queue."""


@pytest.mark.parametrize("url", ["sqlite", "memory://"])
def test_a_full_disk_leaves_queue_and_log_as_they_were(face: Face, open_with: OpenWith, url: str) -> None:
    memory = open_with(url=url, rounds=3, keep_rounds=2, keep_least=2)
    alice = memory.scoped(user="a", session="s")
    face(alice).remember([*SAID, *LATEST])
    face(alice).compact(keep=2)
    face(alice).remember([assistant("Until noon."), *SAID])
    services = alice._runtime.services
    before, history = face(alice).summary(), services.log.read(alice.scope, kinds=TOLD)
    disk = line_to(memory, "log")
    disk.hits = lambda name, args: name == "append" and any(draft.kind is EventKind.COMPACTION for draft in args[1])
    disk.error = StoreUnavailableError("the disk is full")
    with pytest.raises(StoreUnavailableError, match="full"):
        face(alice).compact(keep=1)
    assert face(alice).assemble("And then?", k=0).unwritten == "the disk is full"
    disk.error = None
    assert services.log.read(alice.scope, kinds=TOLD) == history
    assert face(alice).summary() == before
    assert face(alice).compact(keep=1).compacted > 0
    assert_nothing_is_lost(alice)


def assert_folded_once(handle: ScopedMemory) -> None:
    summary = handle.summary()
    folded = [message.id for name in summary.handles for message in handle.expand(name)]
    assert len(folded) == len(set(folded))
    assert folded == [message.id for message in handle.history(current=True)][: len(folded)]
    ends = [end for stretch in summary.stretches for end in stretch]
    assert ends == sorted(ends)
    assert summary.audit.compactions == len(summary.stretches)


def test_a_loser_of_a_race_asks_again_and_folds_nothing_twice(open_with: OpenWith) -> None:
    alice = open_with().scoped(user="a", session="s")
    alice.remember([*SAID, *LATEST, *SAID])

    class Slow(WindowOnly):
        interfered = False

        def extract(self, job: SummaryJob, /) -> list[Line]:
            if not self.interfered:
                self.interfered = True
                assert alice.compact(keep=2).compacted > 0
            return super().extract(job)

    alice.compact(keep=1, strategy=Slow())
    assert_folded_once(alice)
    assert len(alice.expand(alice.summary())) == 9
