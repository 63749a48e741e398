"""MemGPT paging inside of ``create_agent``."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import Event, EventKind, HybridMemory, ScopedMemory
from hybrid_memory.text.tokens import message_tokens, schema_tokens
from hybrid_memory_paging import MEMORY
from langchain_hybrid_memory import HybridMemoryMiddleware, from_langchain
from tests.doubles import orphans
from tests.faces import Open
from tests.langchain.conftest import Invoke, ScriptedChat, calls, results, said

THREAD: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "ada"}}
NEEDLE = "The spare key lies under the blue flowerpot."
MAX_TOKENS = 3200


def call(name: str, **arguments: Any) -> AIMessage:
    return calls((name, arguments))


def warned(message: BaseMessage) -> bool:
    return message.text.startswith("<system>\nMemory pressure")


def of(memory: HybridMemory, user: str = "ada", session: str = "t1") -> ScopedMemory:
    return memory.scoped(user=user, session=session)


def logged(memory: HybridMemory, *kinds: EventKind) -> Sequence[Event]:
    return memory._runtime.services.log.read(of(memory).scope, kinds=kinds)


def chatty(prompt: list[BaseMessage]) -> AIMessage:
    """Reads its prompt alone: saves something when it is warned, and searches for what it is asked."""
    asked = max(row for row, message in enumerate(prompt) if message.type == "human" and "<system>" not in message.text)
    done = {made["name"] for message in prompt[asked:] if isinstance(message, AIMessage) for made in message.tool_calls}
    if any(map(warned, prompt[asked:])) and "core_memory_append" not in done:
        return call("core_memory_append", label="human", content=f"seen: {len(prompt)} messages")
    if "my spare key" in prompt[asked].text and "conversation_search" not in done:
        return call("conversation_search", query="Where does the spare key lie?")
    return AIMessage("Fine. " + "The garden is green and the gate is shut. " * 6)


def tokens(memory: HybridMemory, layer: HybridMemoryMiddleware[Any, Any], prompt: Sequence[BaseMessage]) -> int:
    count = memory._runtime.services.count
    tools = schema_tokens([convert_to_openai_tool(one) for one in layer.tools], count)
    return tools + sum(message_tokens(from_langchain(message), count) for message in prompt)


@pytest.mark.parametrize(
    ("invoke", "url", "checkpointed"),
    [("blocking", "memory://", True), ("async", "", False)],
    indirect=["invoke"], ids=["checkpointer-blocking", "sqlite-async"],
)  # fmt: skip
def test_a_long_conversation_pages(opened: Open, invoke: Invoke, url: str, *, checkpointed: bool) -> None:
    memory = opened(**({"url": url} if url else {}))
    model = ScriptedChat(answer=chatty)
    layer = HybridMemoryMiddleware(memory, max_tokens=MAX_TOKENS, paging=True)
    agent = create_agent(
        model, system_prompt="Be kind.", middleware=[layer], checkpointer=InMemorySaver() if checkpointed else None
    )
    turns = [NEEDLE, *(f"Turn {row}: how is plan {row % 7} for the garden? " + "Tell me. " * 12 for row in range(30))]
    states = [invoke(agent, said(turn), THREAD) for turn in turns]
    folds = [event.position for event in logged(memory, EventKind.COMPACTION)]
    warnings = [event.position for event in logged(memory, EventKind.MESSAGE) if event.message.event == "pressure"]
    assert len(folds) >= 2
    # Once in each episode, and never after it is over.
    episodes = [sum(start < place < end for place in warnings) for start, end in zip([0, *folds], folds, strict=False)]
    assert episodes == [1] * len(folds)
    assert sum(warned(prompt[-1]) for prompt in model.prompts) == len(warnings)

    for prompt in model.prompts:
        assert not orphans(map(from_langchain, prompt))
        assert tokens(memory, layer, prompt) <= MAX_TOKENS
    last = model.prompts[-1]
    assert last[0].text.startswith(f"Be kind.\n\n{MEMORY}")
    assert "seen: " not in last[0].text
    assert "seen: " in last[1].text
    assert last[1].text.startswith("<summary>\nSummary of earlier turns in this conversation")
    assert NEEDLE not in [message.text for message in last]

    state = invoke(agent, said("Where does my spare key lie?"), THREAD)
    found = next(message for message in reversed(results(state)) if message.name == "conversation_search")
    assert NEEDLE in found.text
    assert found.text in [message.text for message in model.prompts[-1]]
    everything = [message for message in of(memory).history() if not message.event]
    if checkpointed:
        assert [message.text for message in state["messages"]] == [
            message.text if not message.tool_calls else "" for message in everything
        ]
    else:
        assert [message.type for message in states[1]["messages"]] == ["human", "ai"]
    assert {message.text for message in everything} >= set(turns)


class Again(AgentMiddleware[Any, Any, Any]):
    """Makes each call twice, as one does that retries what was done."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        handler(request)
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        await handler(request)
        return await handler(request)


def test_a_call_that_is_made_again_has_one_effect(memory: HybridMemory, invoke: Invoke) -> None:
    edit = call("core_memory_append", label="human", content="Likes tea")
    note = call("archival_memory_insert", content="The boiler was serviced.")
    model = ScriptedChat(answers=[edit, note, "Done.", edit.model_copy(), "Again."])
    agent = create_agent(
        model, middleware=[HybridMemoryMiddleware(memory, paging=True), Again()], checkpointer=InMemorySaver()
    )
    state = invoke(agent, said("hi"), THREAD)
    assert {message.status for message in results(state)} == {"success"}
    assert of(memory).blocks()["human"].value == "Likes tea"
    notes = [message.text for message in memory.scoped(user="ada").history() if message.text.startswith("The boiler")]
    assert notes == ["The boiler was serviced."]
    invoke(agent, said("once more"), THREAD)  # another answer, though its call has the same id
    assert of(memory).blocks()["human"].value == "Likes tea\nLikes tea"
