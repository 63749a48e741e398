"""Use the library and what each extra is for, in the environment that runs this; print the outcomes as JSON.

A probe that works gives "works", one whose package is missing the name of the extra that the error names.
"""

# ruff: noqa: PLC0415 - each probe imports what it is about

import asyncio
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import entry_points, version
from pathlib import Path

from hybrid_memory import HybridMemory, MemoryConfig, Message, __version__, open_memory
from hybrid_memory.errors import MissingDependencyError, StoreUnavailableError, TextOnlyWarning

NOWHERE = "127.0.0.1:1"
"""Where nothing listens: a client that is installed says so."""


def small(**settings: object) -> HybridMemory:
    """A memory that needs nothing."""
    return open_memory(MemoryConfig.model_validate({"url": "memory://", "embedder": "hashing", **settings}))


def bare() -> None:
    """Remember, recall, learn, assemble, and come back after closing; the command and its data are there."""
    assert __version__ == version("hybrid-agent-memory")
    url = "sqlite:///bare.db"
    with open_memory(MemoryConfig(url=url, embedder="hashing")) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember(["I live in Rome.", "我的名字是小雨。", "I work as a nurse."])
        assert alice.recall("Where do I live?")[0].record.text == "I live in Rome."
        assert alice.profile().profession == "nurse"
        assert "Rome" in alice.assemble("Where do I live?").text
    with open_memory(MemoryConfig(url=url, embedder="hashing")) as memory:
        assert len(memory.scoped(user="alice").history()) == 3
    (command,) = entry_points(group="console_scripts", name="hybrid-memory")
    command.load()


def local() -> None:
    """The embedder that the default takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", TextOnlyWarning)
        with open_memory(MemoryConfig(url="memory://", embedder="local")) as memory:
            alice = memory.scoped(user="alice")
            alice.remember(["The cat sleeps.", "My invoice is overdue."])
            assert alice.recall("unpaid bill")[0].record.text == "My invoice is overdue."


def langchain() -> None:
    """A retriever and the middleware of an agent."""
    import langchain_hybrid_memory
    from langchain_hybrid_memory import HybridMemoryMiddleware, HybridMemoryRetriever

    assert langchain_hybrid_memory.__version__ == version("langchain-hybrid-memory") == __version__
    with small() as memory:
        memory.scoped(user="alice").remember("I live in Rome.")
        found = HybridMemoryRetriever(memory=memory, user="alice").invoke("Where do I live?")
        assert found[0].page_content == "I live in Rome."
        HybridMemoryMiddleware(memory, user="alice", session="s1")


def llamaindex() -> None:
    """A chat memory, also under the namespace of LlamaIndex."""
    from llamaindex_hybrid_memory import HybridChatMemory, to_chat_message

    with small() as memory:
        chat = HybridChatMemory.from_defaults(memory=memory, user="alice", session="s1")
        chat.put(to_chat_message(Message(content="I live in Rome.")))
        assert chat.get("Where do I live?")[-1].content
    from llama_index.memory import hybrid

    assert hybrid.HybridChatMemory is HybridChatMemory
    assert hybrid.__version__ == version("llama-index-memory-hybrid") == __version__


def tiktoken() -> None:
    """Its counter, or an estimate: nothing is downloaded."""
    from hybrid_memory.models.tokenizers import token_counter

    assert token_counter()("I live in Rome.") > 0


def encryption() -> None:
    """A file that only its key opens."""
    with open_memory(MemoryConfig(url="sqlite:///secret.db", embedder="none"), key="correct horse") as memory:
        memory.scoped(user="alice").remember("I live in Rome.")
    assert not Path("secret.db").read_bytes().startswith(b"SQLite format 3")


def postgres() -> None:
    """A log and an index on a server."""
    with suppress(StoreUnavailableError):
        small(url=f"postgresql://{NOWHERE}/memory")


def redis() -> None:
    """A log on a server."""
    with suppress(StoreUnavailableError):
        small(url=f"redis://{NOWHERE}/0")


def milvus() -> None:
    """An index in a folder."""
    with small(index={"url": "milvus:///milvus.db"}) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("I live in Rome.")
        assert alice.recall("Where do I live?")[0].record.text == "I live in Rome."


def clickhouse() -> None:
    """An archive on a server."""
    with suppress(StoreUnavailableError):
        small(archive={"url": f"clickhouse://{NOWHERE}/default"})


def telemetry() -> None:
    """Meters."""
    from hybrid_memory import observe

    with small() as memory:
        observe(memory)


def report() -> None:
    """The page of an evaluation, with its picture."""
    from hybrid_memory_evaluation import Evaluation, read_transcript
    from hybrid_memory_evaluation.reporting import html

    roles = ("user", "assistant")
    said = [
        {"role": roles[turn % 2], "content": f"Parcel {turn} of order A-{turn}77 goes to room {turn}00."}
        for turn in range(80)
    ]
    Path("parcels.json").write_text(json.dumps(said))
    methods, chats = ["anchored", "sliding-window"], read_transcript(Path("parcels.json"))
    evaluation = Evaluation(chats, methods, max_tokens=400, embedder="hashing")
    assert "<svg" in html(evaluation.run())


def inspector() -> None:
    """The page on a memory, with its templates and style."""
    from hybrid_memory_inspector import application

    with small() as memory:
        memory.scoped(user="alice").remember("I live in Rome.")
        assert application(memory, token="t" * 40).routes
    import hybrid_memory_inspector

    folder = Path(hybrid_memory_inspector.__file__).parent
    assert list(folder.rglob("*.jinja"))
    assert list(folder.rglob("*.css"))


def mcp() -> None:
    """A server and the client of the SDK."""
    from hybrid_memory.apps.mcp import server

    async def talk(memory: HybridMemory) -> None:
        from mcp import Client

        async with Client(server(memory.scoped(user="alice"))) as client:
            assert not (await client.call_tool("memory_remember", {"text": "I live in Rome."})).is_error

    with small() as memory:
        asyncio.run(talk(memory))
        assert memory.scoped(user="alice").recall("Rome")


def deepagents() -> None:
    """Files of a deep agent."""
    from langchain_hybrid_memory import HybridMemoryBackend

    with small() as memory:
        files = HybridMemoryBackend(memory, user="alice")
        assert files.write("/trip.md", "Rome.").error is None
        assert files.glob("*.md").matches


def openai_agents() -> None:
    """A session."""
    from hybrid_memory_hosts.openai_agents import HybridSession

    with small() as memory:
        session = HybridSession(memory.scoped(user="alice", session="s1"))
        asyncio.run(session.add_items([{"role": "user", "content": "I live in Rome."}]))
        assert asyncio.run(session.get_items())


def pydantic_ai() -> None:
    """A message history."""
    from hybrid_memory_hosts.pydantic_ai import HybridMessageHistory

    with small() as memory:
        assert HybridMessageHistory(memory.scoped(user="alice", session="s1")).messages() == []


def google_adk() -> None:
    """Sessions."""
    from hybrid_memory_hosts.google_adk import HybridSessionService

    with small() as memory:
        assert asyncio.run(HybridSessionService(memory).create_session(app_name="app", user_id="alice")).id


def anthropic() -> None:
    """The memory tool of the SDK."""
    from hybrid_memory_hosts.anthropic import HybridMemoryTool

    with small() as memory:
        tool = HybridMemoryTool(memory.scoped(user="alice"))
        tool.call({"command": "create", "path": "/memories/a.md", "file_text": "I live in Rome."})
        assert memory.scoped(user="alice").recall("Rome")


PROBES: tuple[Callable[[], None], ...] = (
    bare, local, langchain, llamaindex, tiktoken, encryption, postgres, redis, milvus, clickhouse, telemetry, report,
    inspector, mcp, anthropic, deepagents, openai_agents, pydantic_ai, google_adk,
)  # fmt: skip


def outcome(probe: Callable[[], None]) -> str:
    """What came of it; any other error than a missing extra is one of ours, and ends this."""
    try:
        probe()
    except MissingDependencyError as error:
        named = f"pip install 'hybrid-agent-memory[{error.extra}]'" in str(error)
        return error.extra if error.extra is not None and named else str(error)
    return "works"


if __name__ == "__main__":
    json.dump({probe.__name__.replace("_", "-"): outcome(probe) for probe in PROBES}, sys.stdout)
