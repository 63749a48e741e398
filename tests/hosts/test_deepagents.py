"""The files of a deep agent, with a scripted model behind the real one."""

from collections.abc import Callable
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory import HybridMemoryBackend, HybridMemoryMiddleware
from tests.faces import Face
from tests.hosts.conftest import Broken
from tests.langchain.conftest import ScriptedChat, blocking, numbered, talk

TRIP = "# Trip\n\nAlice flies to Oslo on Friday.\n\n- passport\n- 护照\n"


@pytest.fixture
def backend(memory: HybridMemory) -> HybridMemoryBackend:
    return HybridMemoryBackend(memory, user="alice")


@pytest.fixture
def files(backend: HybridMemoryBackend, face: Face) -> Any:
    """The backend, by either face."""
    return face(backend)


def uses(tool: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": "c1"}])


def run(user: str, thread: str = "t1") -> Any:
    return {"configurable": {"user_id": user, "thread_id": thread}}


class TestABackend:
    def test_files_are_written_and_read_as_they_are(self, files: Any) -> None:
        assert files.ls("/").entries == []
        assert files.write("/notes/trip.md", TRIP).path == "/notes/trip.md"
        found = files.read("/notes/trip.md")
        assert (found.file_data["content"], found.total_lines, found.next_offset) == (TRIP, 6, None)
        part = files.read("/notes/trip.md", 2, 1)
        assert part.file_data["content"] == "Alice flies to Oslo on Friday.\n"
        assert (part.start_line, part.end_line, part.next_offset) == (3, 3, 3)
        assert files.read("/notes/trip.md", -1, 0).no_lines_requested
        assert "exceeds file length" in files.read("/notes/trip.md", 9).error
        assert files.write("/notes/trip.md", "Short.").error is None
        assert files.read("/notes/trip.md").file_data["content"] == "Short."

    def test_folders_show_what_lies_in_them(self, files: Any) -> None:
        files.write("/notes/a/trip.md", TRIP)
        files.write("/AGENTS.md", "Be brief.")
        top = files.ls("/").entries
        assert [(one["path"], one["is_dir"]) for one in top] == [("/AGENTS.md", False), ("/notes/", True)]
        assert [one["path"] for one in files.ls("/notes/").entries] == ["/notes/a/"]
        assert files.ls("/nowhere").entries == []
        assert "is a file" in files.ls("/AGENTS.md").error

    def test_lines_and_paths_are_found(self, files: Any) -> None:
        files.write("/notes/trip.md", TRIP)
        files.write("/top.md", "Alice.\nAlice [here].\n")
        matches = files.grep("Alice").matches
        assert [(at["path"], at["line"]) for at in matches] == [("/notes/trip.md", 3), ("/top.md", 1), ("/top.md", 2)]
        assert [one["text"] for one in files.grep("[here]", "/", "*.md").matches] == ["Alice [here]."]
        assert files.grep("护照", "/notes").matches[0]["line"] == 6
        assert files.grep("Alice", max_count=2).truncated
        assert not files.grep("Alice", max_count=3).truncated
        assert files.grep("Alice", glob="*.txt").matches == []
        assert files.grep("").error
        assert [one["path"] for one in files.glob("*.md").matches] == ["/notes/trip.md", "/top.md"]
        assert [one["path"] for one in files.glob("/*.md").matches] == ["/top.md"]
        assert [one["path"] for one in files.glob("trip.*", "/notes").matches] == ["/notes/trip.md"]
        assert [one["path"] for one in files.glob("notes/**/*.{md,txt}").matches] == ["/notes/trip.md"]
        assert [one["path"] for one in files.grep("Alice", "/top.md").matches] == ["/top.md", "/top.md"]
        assert files.glob("*", "/nowhere").matches == []

    @pytest.mark.parametrize("path", ["notes.md", "/../notes.md", "/a\\b.md", "/a%2e.md", "/notes/"])
    def test_a_path_that_no_file_has_is_an_answer(self, files: Any, path: str) -> None:
        assert files.write(path, "x").error.startswith("Error: ")
        assert files.read(path).error.startswith("Error: ")

    def test_a_store_that_fails_is_an_answer(self, backend: HybridMemoryBackend, broken: Broken) -> None:
        backend.write("/a.md", "x")
        with broken():
            answers = [
                backend.write("/b.md", "x").error,
                backend.edit("/a.md", "x", "y").error,
                backend.upload_files([("/b.md", b"x")])[0].error,
            ]
        assert all("cannot be reached now" in str(answer) for answer in answers)


class TestAnAgent:
    @pytest.fixture
    def agent(self, memory: HybridMemory) -> Callable[..., Any]:
        """A deep agent whose /memories are those of the run's user."""

        def made(model: ScriptedChat) -> Any:
            memories = HybridMemoryBackend(memory)
            backend = CompositeBackend(default=StateBackend(), routes={"/memories/": memories})
            return create_deep_agent(model, backend=backend, memory=["/memories/AGENTS.md"])

        return made

    def test_remembers_over_threads_and_tells_users_apart(
        self, agent: Callable[..., Any], memory: HybridMemory
    ) -> None:
        HybridMemoryBackend(memory, user="alice").upload_files([("/AGENTS.md", b"Answer in French.\n")])
        note = uses("write_file", file_path="/memories/likes.md", content="Alice likes green tea.\n")
        look = uses("read_file", file_path="/memories/likes.md")
        model = ScriptedChat(answers=[note, "Noted.", look, "Green tea.", look, "I do not know."])
        deep = agent(model)
        said = {"messages": [("user", "What do I like?")]}
        deep.invoke(said, run("alice", "t1"))
        tea = deep.invoke(said, run("alice", "t2"))
        nothing = deep.invoke(said, run("bob", "t3"))
        assert ["Answer in French." in prompt[0].text for prompt in model.prompts] == [*(4 * [True]), *(2 * [False])]
        results = [one.text for state in (tea, nothing) for one in state["messages"] if isinstance(one, ToolMessage)]
        assert "Alice likes green tea." in results[0]
        assert "no file" in results[1]
        (hit,) = [
            hit for hit in memory.scoped(user="alice").recall("What does Alice like?") if "tea" in hit.record.text
        ]
        assert hit.record.text == "Alice likes green tea."

    async def test_goes_on_where_the_store_fails(self, agent: Callable[..., Any], broken: Broken) -> None:
        note = uses("write_file", file_path="/memories/likes.md", content="Tea.\n")
        model = ScriptedChat(answers=["Hello.", note, "I cannot keep it."])
        deep = agent(model)
        await deep.ainvoke({"messages": [("user", "Hello.")]}, run("alice"))
        with broken():
            state = await deep.ainvoke({"messages": [("user", "Keep it.")]}, run("alice"))
        (result,) = [one for one in state["messages"] if isinstance(one, ToolMessage)]
        assert "cannot be reached now" in result.text
        assert state["messages"][-1].text == "I cannot keep it."

    def test_a_run_without_a_user_ends(self, agent: Callable[..., Any]) -> None:
        deep = agent(ScriptedChat(answers=["Hello."]))
        with pytest.raises(InvalidScopeError, match=r"no (?:user|owner) given"):
            deep.invoke({"messages": [("user", "Hello.")]})

    @pytest.mark.parametrize("given", [HumanMessage, lambda text: ("user", text)], ids=["message", "pair"])
    def test_every_turn_reaches_the_model_and_the_log_has_it_once(self, memory: HybridMemory, given: Any) -> None:
        model = numbered()
        layer = HybridMemoryMiddleware(memory, k=0)
        deep = create_deep_agent(model, middleware=[layer], checkpointer=InMemorySaver())
        talk(deep, model, memory, blocking, given, whole=True)
