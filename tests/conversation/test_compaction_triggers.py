"""When assemble folds, why, and how much stays."""

from datetime import timedelta
from typing import Any, get_args

import pytest

from hybrid_memory import CompactionConfig, EventKind, Line, Message, Role, ScopedMemory
from hybrid_memory.context.compact import critical_items
from hybrid_memory.context.strategies import SummaryJob, WindowOnly
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.testing import FaultyModel, ScriptedModel
from hybrid_memory.testing.models import Fault
from tests.conversation.conftest import OpenWith, SessionWith
from tests.doubles import line_to
from tests.faces import Face
from tests.world import assistant, column


def say(face: Face, handle: ScopedMemory, text: str, answer: str = "Fine.") -> Any:
    """One round, and the prompt for it."""
    face(handle).remember(text)
    context = face(handle).assemble(k=0)
    face(handle).remember(Message(role=Role.ASSISTANT, content=answer))
    return context


def rounds_of(context: Any) -> int:
    return sum(message.role is Role.USER for message in context.messages)


def test_rounds_fire_at_their_limit_and_the_newest_stay(face: Face, session_with: SessionWith) -> None:
    alice = session_with(preset=CompactionConfig.preset("chat"))
    shown = [say(face, alice, f"Chair {number} is here.") for number in range(16)]
    fired = [row for row, context in enumerate(shown) if context.compacted]
    assert fired == [5, 8, 11, 14]
    assert shown[5].compacted == "rounds: 6 of 6"
    assert [rounds_of(context) for context in shown[:10]] == [1, 2, 3, 4, 5, 3, 4, 5, 3, 4]


def test_of_small_talk_fewer_rounds_stay(face: Face, session_with: SessionWith) -> None:
    kept = []
    for text in ("Haha, ok.", "哈哈，好的", "The chair stands beside the window.", "椅子在这里，窗边还有一张桌子。"):
        alice = session_with(rounds=12, keep_rounds=10, keep_least=2, max_tokens=8000)
        shown = [say(face, alice, text) for _ in range(12)]
        assert shown[-1].compacted == "rounds: 12 of 12"
        kept.append(rounds_of(shown[-1]))
    assert kept == [2, 2, 10, 10]


@pytest.mark.parametrize("max_tokens", [4000, 100_000])
def test_density_fires_for_what_matters_and_then_waits(face: Face, session_with: SessionWith, max_tokens: int) -> None:
    fired = []
    for text in ("Haha, ok", "Remember that my phone number is 555-0143 and that gate"):
        alice = session_with(rounds=None, density=0.5, keep_rounds=5, keep_least=2, max_tokens=max_tokens)
        reasons = [say(face, alice, f"{text} {number}.", f"{text}!").compacted for number in range(24)]
        assert all(reason.startswith("density: ") for reason in reasons if reason)
        fired.append([row for row, reason in enumerate(reasons, start=1) if reason])
    assert fired == [[], [10, 15, 20]]


GARDEN = column("conversation/compaction_triggers.tsv", "garden")
FLIGHT = column("conversation/compaction_triggers.tsv", "flight")


@pytest.mark.parametrize("reply", ["{}", "OK.", "Thank you for telling me, I will remember this."])
def test_drift_folds_at_the_change_of_topic(face: Face, session_with: SessionWith, reply: str) -> None:
    alice = session_with(embedder="hashing", rounds=None, drift=0.59, keep_rounds=8, keep_least=3, max_tokens=8000)
    shown = [say(face, alice, text, reply.format(text)) for text in [*GARDEN, *FLIGHT]]
    fired = [context for context in shown if context.compacted]
    assert fired
    assert fired[0].compacted.startswith("drift: ")
    (stretch, *_) = face(alice).summary().handles
    said = [message.text for message in face(alice).expand(stretch) if message.role is Role.USER]
    assert abs(len(said) - len(GARDEN)) <= 1
    assert said == [*GARDEN, *FLIGHT][: len(said)]
    quiet = session_with(embedder="hashing", rounds=None, drift=0.99, keep_rounds=8, keep_least=3, max_tokens=8000)
    assert not any(say(face, quiet, text, text).compacted for text in [*GARDEN, *FLIGHT])
    without = session_with(rounds=None, drift=0.59, keep_rounds=8, keep_least=3, max_tokens=8000)
    assert not any(say(face, without, text, text).compacted for text in [*GARDEN, *FLIGHT])


def test_the_conversation_preset_folds_140_rounds_to_20(face: Face, session_with: SessionWith) -> None:
    alice = session_with(preset=CompactionConfig.preset("conversation"))
    for number in range(139):
        face(alice).remember([f"Chair {number} is here.", {"role": "assistant", "content": "Fine."}])
    assert not face(alice).assemble("Why?", k=0).compacted
    context = say(face, alice, "Chair 139 is broken.")
    assert context.compacted == "rounds: 140 of 140"
    assert rounds_of(context) == 20


def test_the_agent_preset_keeps_30_percent_of_its_tokens(face: Face, session_with: SessionWith) -> None:
    assert CompactionConfig.preset("agent").max_tokens == 100_000
    alice = session_with(preset=CompactionConfig.preset("agent", max_tokens=20_000))
    page = " ".join(f"The chair {number} stands near the wall." for number in range(18))
    said = [[Message(content=f"Round {number}. {page}"), assistant("Fine.")] for number in range(150)]
    face(alice).remember([turn for turns in said[:110] for turn in turns])
    before = face(alice).assemble("Why?", k=0)
    assert not before.compacted
    assert before.tokens > 15_000
    face(alice).remember([turn for turns in said[110:] for turn in turns])
    compacted = face(alice).assemble("Why?", k=0).compacted
    assert compacted.startswith("tokens: ")
    assert compacted.endswith(" of 20000")
    context = face(alice).assemble("Why?", k=0)
    assert 4_000 < context.section_tokens["turns"] <= 6_200


def test_the_memgpt_preset_warns_at_70_percent_and_compacts_half(face: Face, session_with: SessionWith) -> None:
    alice = session_with(preset=CompactionConfig.preset("memgpt", max_tokens=1000))
    warned = []
    for number in range(80):
        context = say(face, alice, f"Remember that chair {number} stands beside the table in room {number + 3}.")
        assert context.under_pressure == (context.pressure >= 0.7)
        assert context.pressure == pytest.approx(context.tokens / 1000)
        if context.compacted:
            break
        warned.append(context.under_pressure)
    assert context.compacted.endswith(" of 1000")
    assert warned == sorted(warned)
    assert warned[-1]
    assert not warned[0]
    assert 0.3 < context.section_tokens["turns"] / 1000 < 0.6
    assert not context.under_pressure
    summary = face(alice).summary()
    assert (summary.strategy, len(summary.lines)) == ("recursive", 1)


SAID = [
    Message(content="My name is Nora Winter, and my flight on 2024-07-01 costs 430 EUR."),
    assistant("We decided to book seat B12345 with booking.py."),
    Message(content="记住，我的邮箱是 nora@example.org，会议在3月14日。"),
    assistant("好的，记下了。"),
]
IMPATIENT = timedelta(milliseconds=40)
LATEST = [Message(content="What now?"), assistant("We wait."), Message(content="Until when?")]


def assert_nothing_is_lost(handle: ScopedMemory) -> None:
    summary = handle.summary()
    assert handle.expand(summary) == handle.history(current=True)[: len(handle.expand(summary))]
    audit = summary.audit
    assert audit.items == audit.in_summary + audit.in_ledger + audit.in_log
    reachable = summary.text + " ".join(message.text for message in handle.expand(summary))
    said = handle._runtime.services.log.read(handle.scope, kinds=(EventKind.MESSAGE,), limit=len(SAID))
    assert all(item in reachable for event in said for item in critical_items(event))


@pytest.mark.parametrize("strategy", ["anchored", "recursive"])
@pytest.mark.parametrize("fault", get_args(Fault))
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


def test_what_a_model_drops_is_put_back(face: Face, session_with: SessionWith) -> None:
    model = ScriptedModel([{"facts": [{"text": "Nora travels.", "turns": [1]}]}])
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
    summary = alice.summary()
    folded = [message.id for name in summary.handles for message in alice.expand(name)]
    assert len(folded) == len(set(folded)) == len(alice.expand(summary)) == 9
    assert folded == [message.id for message in alice.history(current=True)][:9]
    ends = [end for stretch in summary.stretches for end in stretch]
    assert ends == sorted(ends)
    assert summary.audit.compactions == len(summary.stretches)
