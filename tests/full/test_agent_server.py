from __future__ import annotations

from pathlib import Path

from benchmarks.agent import CONTEXT_TOKENS, FACTS, LIVE, MAX_TOKENS, agent_with, opened, served, show, talk
from tests.langchain.conftest import orphans

TEMPLATE_TOKENS = 8
"""What the server may read again where an answer begins: it was sampled, and comes back through the chat template."""

SAID = (*LIVE[:6], LIVE[-1])
"""Enough for the older turns to be folded."""


def test_a_served_model_is_sent_a_bounded_prompt_and_reads_the_same_beginning_once(
    smollm2_file: Path,
) -> None:
    with opened() as memory, served(smollm2_file) as model:
        agent, recorder = agent_with(memory, model, forced=True)
        talk(memory, agent, recorder, live=SAID)
    calls = recorder.calls
    show(calls)  # to be read with pytest -s
    assert {call.turn for call in calls} == set(range(1, len(SAID) + 1))
    assert sum(call.called for call in calls) == sum(item is not None for _, item in SAID)
    assert all(0 < call.tokens <= MAX_TOKENS for call in calls)
    assert not any(orphans(call.prompt) for call in calls)
    folded = 0
    for call, last in zip(calls[1:], calls, strict=False):
        folded += not call.kept
        # Counted when the prompt is made: what ended in between shows in the next one.
        assert folded <= call.compactions
        assert last.read
        assert call.read
        assert call.reused
        assert call.read < CONTEXT_TOKENS
        # What stands before the summary is never read again; without folding nothing of the prompt before is.
        assert call.reused >= (last.read - TEMPLATE_TOKENS if call.kept else 1)
    assert 1 <= folded <= 5
    assert FACTS[5][0] in calls[-1].prompt[-1].text
    assert calls[-1].prompt[-1].text.endswith(SAID[-1][0])
