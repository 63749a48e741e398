"""A long conversation behind the agents of both frameworks: each prompt is bounded, whole and begins as the last."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks import agent as langchain
from benchmarks import agent_llamaindex as llamaindex
from benchmarks.agent import FACTS, LIVE, MAX_TOKENS, SESSION, USER, Scripted, opened
from hybrid_memory import HybridMemory
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import message_tokens
from llamaindex_hybrid_memory import from_chat_message
from tests.langchain.conftest import orphans

pytestmark = [
    # LlamaIndex's agents look at every attribute of theirs, the deprecated ones of pydantic too.
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince211"),
]

TURNS = 120
LOOKED_UP = sum(item is not None for _, item in LIVE)


def on_the_loop(agent: Any, given: Any, config: Any = None) -> Any:
    with blockbuster_ctx():
        return asyncio.run(agent.ainvoke(given, config))


def with_langchain(memory: HybridMemory, *, durable: bool) -> list[langchain.Call]:
    made, recorder = langchain.agent_with(memory, Scripted(), checkpointer=InMemorySaver() if durable else None)
    langchain.talk(memory, made, recorder, on_the_loop if durable else langchain.blocking)
    return recorder.calls


def with_llamaindex(memory: HybridMemory, max_tokens: int) -> list[langchain.Call]:
    made, recorder = llamaindex.agent_with(memory, Scripted())
    chat = llamaindex.chat_memory(memory, max_tokens=max_tokens)
    with blockbuster_ctx():
        asyncio.run(llamaindex.talk(memory, made, recorder, chat))
    shown = sum(message_tokens(from_chat_message(message), token_counter()) for message in chat.get())
    assert chat.token_limit is not None
    assert shown <= chat.token_limit < max_tokens - llamaindex.ROUND_TOKENS
    # What the memory returns and what the agent always adds; while tools are called, their round as well.
    asking = [call for call in recorder.calls if call.prompt[-1].type == "human"]
    assert all(call.tokens <= max_tokens - llamaindex.ROUND_TOKENS for call in asking)
    return recorder.calls


@pytest.mark.parametrize(
    ("host", "max_tokens"),
    [("langchain", MAX_TOKENS), ("checkpointed", MAX_TOKENS), ("llamaindex", MAX_TOKENS), ("llamaindex", 600)],
)
def test_an_agent_goes_on_with_a_long_conversation(
    host: str, max_tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.agent.TURNS", TURNS)
    with opened(f"sqlite:///{tmp_path / 'memory.db'}") as memory:
        scoped = memory.scoped(user=USER, session=SESSION)
        before = len(scoped.history())
        assert sum(message.role == "user" for message in scoped.history()) == TURNS
        if host == "llamaindex":
            calls = with_llamaindex(memory, max_tokens)
        else:
            calls = with_langchain(memory, durable=host == "checkpointed")
        lasting = scoped.history()
    assert len(calls) == len(LIVE) + LOOKED_UP
    assert len(lasting) == before + 2 * len(calls)
    assert all(0 < call.tokens <= max_tokens for call in calls)
    assert not any(orphans(call.prompt) for call in calls)
    # A prompt begins with the one before, unless turns were folded in between, or old notes left for a new one; the
    # first folds what was said before.
    folded = {call.turn for last, call in pairwise(calls) if call.compactions > last.compactions}
    changed = {call.turn for call in calls if not call.kept}
    assert folded <= changed
    assert calls[0].compactions > 0
    # In so small a budget the notes press; of 4,000 tokens three prompts begin anew.
    assert len(changed - folded) <= 7
    assert 1 <= len(changed) <= (10 if host != "llamaindex" else 12)
    for call, fact in ((calls[-1], FACTS[5]), (calls[-2], FACTS[6])):
        assert fact[0] in call.prompt[-1].text
        assert call.prompt[-1].text.endswith(LIVE[call.turn - 1][0])
