from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.agent import FACTS, LIVE, MAX_TOKENS, SESSION, USER, Scripted, agent_with, opened, talk
from tests.langchain.conftest import orphans

if TYPE_CHECKING:
    from tests.langchain.conftest import Invoke

TURNS = 120
LOOKED_UP = sum(item is not None for _, item in LIVE)


@pytest.mark.parametrize(
    ("invoke", "checkpointer"), [("blocking", None), ("async", InMemorySaver())], indirect=["invoke"]
)
def test_an_agent_goes_on_with_a_long_conversation(
    invoke: Invoke,
    checkpointer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.agent.TURNS", TURNS)
    with opened(f"sqlite:///{tmp_path / 'memory.db'}") as memory:
        scoped = memory.scoped(user=USER, session=SESSION)
        before = len(scoped.history())
        assert sum(message.role == "user" for message in scoped.history()) == TURNS
        agent, recorder = agent_with(memory, Scripted(), checkpointer=checkpointer)
        talk(memory, agent, recorder, invoke)
        lasting = scoped.history()
    calls = recorder.calls
    assert len(calls) == len(LIVE) + LOOKED_UP
    assert len(lasting) == before + 2 * len(calls)
    assert all(0 < call.tokens <= MAX_TOKENS for call in calls)
    assert not any(orphans(call.prompt) for call in calls)
    # A prompt begins with the one before, unless turns were folded in between, or old notes left for a new one; the
    # first folds what was said before.
    folded = {call.turn for call, last in zip(calls[1:], calls, strict=False) if call.compactions > last.compactions}
    changed = {call.turn for call in calls if not call.kept}
    assert folded <= changed
    assert calls[0].compactions > 0
    assert 1 <= len(changed) <= 5
    for call, fact in ((calls[-1], FACTS[5]), (calls[-2], FACTS[6])):
        assert fact[0] in call.prompt[-1].text
        assert call.prompt[-1].text.endswith(LIVE[call.turn - 1][0])
