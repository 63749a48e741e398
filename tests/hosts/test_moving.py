"""One memory, many hosts: an agent writes in one, is asked in another, goes on in a third, and is read as Markdown."""

from typing import Any

from agents import Agent, RunConfig, Runner
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from llama_index.core.agent.workflow import FunctionAgent
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.function import FunctionModel

from hybrid_memory import HybridMemory
from hybrid_memory_hosts.openai_agents import HybridSession, MemoryInput
from hybrid_memory_hosts.pydantic_ai import HybridMemoryCapability, HybridMessageHistory
from langchain_hybrid_memory import HybridMemoryBackend, HybridMemoryMiddleware
from llamaindex_hybrid_memory import HybridChatMemory
from tests.doubles import OLD_PYDANTIC
from tests.hosts.test_deepagents import run, uses
from tests.hosts.test_openai_agents import Scripted
from tests.hosts.test_pydantic_ai import Scripted as PydanticScripted
from tests.langchain.conftest import ScriptedChat
from tests.llamaindex.conftest import ScriptedLLM, assistant

pytestmark = OLD_PYDANTIC


async def test_an_agent_moves_between_hosts(memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")

    # It writes in deepagents: a note into a file, and what the user says.
    note = uses("write_file", file_path="/memories/trip.md", content="# Trip\n\nAlice flies to Oslo on Friday.\n")
    deep = create_deep_agent(
        ScriptedChat(answers=[note, "Noted."]),
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": HybridMemoryBackend(memory)}),
        middleware=[HybridMemoryMiddleware(memory)],
    )
    said: Any = {"messages": [("user", "I live in Berlin. I fly to Oslo on Friday.")]}
    await deep.ainvoke(said, run("alice", "deep"))
    assert alice.files().read("/trip.md") == "# Trip\n\nAlice flies to Oslo on Friday.\n"

    # It is asked in LlamaIndex, in another session.
    chat = HybridChatMemory.from_defaults(memory=memory, user="alice", session="llama")
    llm = ScriptedLLM(replies=[assistant("On Friday.")])
    await FunctionAgent(llm=llm, tools=[]).run("When do I fly to Oslo?", memory=chat)
    prompt = "\n".join(str(message.content) for message in llm.seen[-1])
    assert "Alice flies to Oslo on Friday." in prompt
    assert "I live in Berlin." in prompt

    # The same session goes on in the OpenAI Agents SDK.
    model = Scripted("With a warm coat.")
    session = HybridSession(memory.scoped(user="alice", session="llama"))
    shown = RunConfig(call_model_input_filter=MemoryInput(alice))
    await Runner.run(Agent(name="helper", model=model), "What do I pack for Oslo?", session=session, run_config=shown)
    sent = [item.get("content") for item in model.inputs[0]]
    assert sent[:2] == ["When do I fly to Oslo?", "On Friday."]
    assert "Alice flies to Oslo on Friday." in sent[2]

    # And in Pydantic AI.
    held = HybridMessageHistory(memory.scoped(user="alice", session="llama"))
    pydantic = PydanticScripted("Have a good flight.")
    agent = PydanticAgent(FunctionModel(pydantic), capabilities=[HybridMemoryCapability(held.memory)])
    await agent.run("Thank you.", message_history=await held.amessages())
    turns = [turn.text for turn in held.memory.history()]
    assert turns == [
        *("When do I fly to Oslo?", "On Friday.", "What do I pack for Oslo?", "With a warm coat."),
        *("Thank you.", "Have a good flight."),
    ]
    assert len(pydantic.sent[0]) == 5

    # Its memory is looked at as Markdown, where a person strikes a line out, and no host knows it any more.
    files = alice.files()
    assert [file.path for file in files.list("/", deep=True)] == ["/facts/knowledge.md", "/profile.md", "/trip.md"]
    assert "Berlin" in files.read("/profile.md")
    files.edit("/trip.md", "Alice flies to Oslo on Friday.\n", "")
    assert "Alice flies to Oslo on Friday." not in [
        hit.record.text for hit in alice.recall("When does Alice fly to Oslo?")
    ]
