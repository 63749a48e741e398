from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.agent import CONTEXT_TOKENS, FACTS, MAX_TOKENS, opened, served, show
from benchmarks.agent_llamaindex import ROUND_TOKENS, agent_with, chat_memory, talk
from tests.full.test_agent_server import SAID, TEMPLATE_TOKENS
from tests.langchain.conftest import orphans

LIMIT = MAX_TOKENS + ROUND_TOKENS
"""So the memory may fill as much as in LangChain, where the round of tools is its own."""


# LlamaIndex's agents look at every attribute of theirs, the deprecated ones of pydantic too.
@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20")
@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince211")
def test_a_served_model_is_sent_a_bounded_prompt_and_reads_the_same_beginning_once(
    smollm2_file: Path,
) -> None:
    with opened() as memory, served(smollm2_file) as model:
        agent, recorder = agent_with(memory, model, forced=True)
        asyncio.run(talk(memory, agent, recorder, chat_memory(memory, max_tokens=LIMIT), live=SAID))
    calls = recorder.calls
    show(calls)  # to be read with pytest -s
    assert {call.turn for call in calls} == set(range(1, len(SAID) + 1))
    assert sum(call.called for call in calls) == sum(item is not None for _, item in SAID)
    # What the memory returns and what the agent always adds; while tools are called, their round as well.
    assert all(call.tokens <= MAX_TOKENS for call in calls if call.prompt[-1].type == "human")
    assert all(0 < call.tokens <= LIMIT for call in calls)
    assert not any(orphans(call.prompt) for call in calls)
    folded = left = 0
    for call, last in zip(calls[1:], calls, strict=False):
        left += not (call.kept or call.compactions > last.compactions)
        assert last.read
        assert call.read
        assert call.reused
        assert call.read < CONTEXT_TOKENS
        # What stands before the summary is never read again; without folding nothing of the prompt before is.
        assert call.reused >= (last.read - TEMPLATE_TOKENS if call.kept else 1)
        folded += not call.kept
    assert 1 <= folded <= len(SAID) // 2
    assert left <= 1, "old notes leave for a new one now and then"
    assert FACTS[5][0] in calls[-1].prompt[-1].text
    assert calls[-1].prompt[-1].text.endswith(SAID[-1][0])
