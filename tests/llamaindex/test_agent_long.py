from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from benchmarks.agent import FACTS, LIVE, MAX_TOKENS, SESSION, USER, Scripted, opened
from benchmarks.agent_llamaindex import ROUND_TOKENS, agent_with, chat_memory, talk
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import message_tokens
from llamaindex_hybrid_memory import from_chat_message
from tests.langchain.conftest import orphans

TURNS = 120
LOOKED_UP = sum(item is not None for _, item in LIVE)


@pytest.mark.parametrize("max_tokens", [MAX_TOKENS, 600])
def test_an_agent_goes_on_with_a_long_conversation(
    max_tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.agent.TURNS", TURNS)
    with opened(f"sqlite:///{tmp_path / 'memory.db'}") as memory:
        scoped = memory.scoped(user=USER, session=SESSION)
        before = len(scoped.history())
        assert sum(message.role == "user" for message in scoped.history()) == TURNS
        agent, recorder = agent_with(memory, Scripted())
        chat = chat_memory(memory, max_tokens=max_tokens)
        with blockbuster_ctx():
            asyncio.run(talk(memory, agent, recorder, chat))
        lasting = scoped.history()
        count = token_counter()
        shown = sum(message_tokens(from_chat_message(message), count) for message in chat.get())
        assert chat.token_limit is not None
        assert shown <= chat.token_limit < max_tokens - ROUND_TOKENS
    calls = recorder.calls
    assert len(calls) == len(LIVE) + LOOKED_UP
    assert len(lasting) == before + 2 * len(calls)
    # What the memory returns and what the agent always adds; while tools are called, their round as well.
    assert all(call.tokens <= max_tokens - ROUND_TOKENS for call in calls if call.prompt[-1].type == "human")
    assert all(0 < call.tokens <= max_tokens for call in calls)
    assert not any(orphans(call.prompt) for call in calls)
    # A prompt begins with the one before, unless turns were folded in between, or old notes left for a new one; the
    # first folds what was said before.
    folded = {call.turn for last, call in pairwise(calls) if call.compactions > last.compactions}
    changed = {call.turn for call in calls if not call.kept}
    assert folded <= changed
    assert calls[0].compactions > 0
    assert 1 <= len(folded) <= 8
    assert len(changed - folded) <= 3
    for call, fact in ((calls[-1], FACTS[5]), (calls[-2], FACTS[6])):
        assert fact[0] in call.prompt[-1].text
        assert call.prompt[-1].text.endswith(LIVE[call.turn - 1][0])
