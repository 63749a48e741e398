"""`create_agent`: threads with a checkpointer's state, or a client that sends its window of messages."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.tools import tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from benchmarks.acting.media import DOCUMENT, PICTURE, encoded
from benchmarks.acting.models import ScriptedChat, Summariser, Watched
from benchmarks.acting.surroundings import USER, Surroundings
from benchmarks.acting.tasks import MAIN, Say
from langchain_hybrid_memory import HybridMemoryMiddleware

STEPS = 200
"""Nodes that a run may visit, with 30 calls of tools and middleware around each."""


class AgentConversations:
    """Of `create_agent`."""

    def __init__(self, around: Surroundings) -> None:
        task = around.task
        tools: list[BaseTool] = [StructuredTool.from_function(run) for run in around.world.tools(task.tools)]
        if task.subagent is not None and around.subagent is not None:
            tools.append(self._researcher(around, around.subagent))
        self._task = task
        self._agent = self._made(around, around.watched, tools, InMemorySaver() if task.checkpointer else None)
        self._window: list[dict[str, Any]] = []
        self._ends: list[Mapping[str, Any]] = []
        self._from: Mapping[str, Any] | None = None

    def say(self, step: Say) -> str:
        """The answer."""
        content: Any = step.text
        if step.media:
            kind, mime = ("file", DOCUMENT) if step.document else ("image", PICTURE)
            shown = {"type": kind, "base64": encoded(step.media, document=step.document), "mime_type": mime}
            content = [{"type": "text", "text": step.text}, shown]
        if not self._task.checkpointer:
            self._window.append({"role": "user", "content": content})
            return self._sent(step.thread)
        place = _thread(step.thread) if self._from is None else _checkpoint(self._from)
        self._from = None
        answer = self._answer(self._agent.invoke({"messages": [HumanMessage(content)]}, {**_STEPS, **place}))
        self._ends.append(self._agent.get_state(_thread(step.thread)).config)
        return answer

    def regenerate(self) -> str:
        """From the checkpoint behind the user's words; without one the client sends all but the last answer."""
        if not self._task.checkpointer:
            self._window.pop()
            return self._sent(MAIN)
        states = list(self._agent.get_state_history(_thread(MAIN)))
        asked = [message for message in states[0].values["messages"] if message.type == "human"][-1]
        waiting = [state for state in states if state.next and _last(state.values.get("messages", [])) == asked.id]
        return self._answer(self._agent.invoke(None, {**_STEPS, **_checkpoint(waiting[-1].config)}))

    def remove(self, words: str) -> None:
        """By `RemoveMessage`."""
        row, messages = self._found(words)
        gone = [RemoveMessage(str(message.id)) for message in messages[row : row + 2]]
        self._agent.update_state(_thread(MAIN), {"messages": gone}, as_node="model")

    def edit(self, words: str, now: str) -> None:
        """By a message with the same id."""
        row, messages = self._found(words)
        edited = HumanMessage(now, id=messages[row].id)
        self._agent.update_state(_thread(MAIN), {"messages": [edited]}, as_node="model")

    def back(self, turn: int) -> None:
        """By the checkpoint of that time."""
        self._from = self._ends[turn - 1]

    def close(self) -> None:
        """Nothing to let go of."""

    def _found(self, words: str) -> tuple[int, list[BaseMessage]]:
        messages = self._agent.get_state(_thread(MAIN)).values["messages"]
        return next(row for row, message in enumerate(messages) if words in message.text), messages

    def _sent(self, thread: str) -> str:
        state = self._agent.invoke({"messages": list(self._window)}, {**_STEPS, **_thread(thread)})
        answer = self._answer(state)
        self._window.append({"role": "assistant", "content": answer})
        return answer

    def _answer(self, state: Mapping[str, Any]) -> str:
        last = state["messages"][-1]
        return last.text if isinstance(last, AIMessage) else ""

    def _researcher(self, around: Surroundings, watched: Watched) -> BaseTool:
        subagent = around.task.subagent
        own = around.world.tools(subagent.tools if subagent else ())
        agent = self._made(around, watched, [StructuredTool.from_function(run) for run in own], None)

        @tool
        def ask_researcher(question: str) -> str:
            """Let a researcher find something out."""
            return self._answer(agent.invoke({"messages": [HumanMessage(question)]}))

        return ask_researcher

    @staticmethod
    def _made(around: Surroundings, watched: Watched, tools: list[Any], saver: InMemorySaver | None) -> Any:
        task = around.task
        profile: dict[str, Any] = {} if task.window is None else {"profile": {"max_input_tokens": task.window}}
        options: dict[str, Any] = {}
        match around.system:
            case "ours":
                budget: dict[str, Any] = {} if task.max_tokens is None else {"max_tokens": task.max_tokens}
                options["middleware"] = [HybridMemoryMiddleware(around.memory, **budget, **around.options)]
            case "summarization":
                how = around.summarising
                writer = Summariser(sentences=how.sentences)
                options["middleware"] = [
                    SummarizationMiddleware(writer, trigger=("tokens", how.tokens), keep=("messages", how.kept))
                ]
            case "langmem":
                tools = [*tools, *_langmem_tools()]
                options["store"] = around.store = around.store or _store(around)
        model = ScriptedChat(watched=watched, **profile)
        return create_agent(model, tools=tools, system_prompt=task.identity, checkpointer=saver, **options)


def _thread(name: str) -> Any:
    return {"configurable": {"user_id": USER, "thread_id": name}}


def _checkpoint(config: Mapping[str, Any]) -> Any:
    """The place of a checkpoint, with the user, whom it does not name."""
    return {"configurable": {**config["configurable"], "user_id": USER}}


_STEPS: Any = {"recursion_limit": STEPS}


def _last(messages: list[BaseMessage]) -> str | None:
    return messages[-1].id if messages else None


def _store(around: Surroundings) -> InMemoryStore:
    embedder = around.embedder

    def rows(texts: Sequence[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in embedder.embed_documents(list(texts))]

    return InMemoryStore(index={"dims": len(rows([""])[0]), "embed": rows, "fields": ["content"]})


def _langmem_tools() -> list[Any]:
    langmem = import_module("langmem")  # slow, and seldom asked for
    namespace = ("memories", "{user_id}")
    return [langmem.create_manage_memory_tool(namespace), langmem.create_search_memory_tool(namespace)]
