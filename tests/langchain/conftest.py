import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field

THREAD: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "alice"}}


class ScriptedChat(BaseChatModel):
    """Answers from a list, or by a function of the prompt; an error in the list is raised."""

    answers: list[Any] = Field(default_factory=list)
    answer: Callable[[list[BaseMessage]], AIMessage] | None = None
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.prompts.append(list(messages))
        said = self.answers.pop(0) if self.answer is None else self.answer(messages)
        if isinstance(said, Exception):
            raise said
        return AIMessage(said) if isinstance(said, str) else said

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        said = self._next(messages)
        if said.tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk(content=said.content, tool_calls=said.tool_calls))
            return
        for word in re.findall(r"\s*\S+", str(said.content)) or [""]:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


Invoke = Callable[..., Any]
"""Runs a runnable, blocking or async."""


def blocking(runnable: Any, given: Any, config: Any = None, **kwargs: Any) -> Any:
    return runnable.invoke(given, config, **kwargs)


def _async(runnable: Any, given: Any, config: Any = None, **kwargs: Any) -> Any:
    return asyncio.run(runnable.ainvoke(given, config, **kwargs))


@pytest.fixture(params=["async"])
def invoke(request: pytest.FixtureRequest) -> Iterator[Invoke]:
    """Runs on a loop, and fails if it ever blocks it; where marked ``in_pairs`` also without one."""
    if request.param == "blocking":
        yield blocking
    else:
        with blockbuster_ctx() as blockbuster:
            blockbuster.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
            yield _async


def calls(*wanted: tuple[str, dict[str, Any]], start: int = 0) -> AIMessage:
    made = [{"name": name, "args": args, "id": f"c{row}"} for row, (name, args) in enumerate(wanted, start)]
    return AIMessage("", tool_calls=made)


def agent_of(tools: list[BaseTool], *answers: AIMessage, **options: Any) -> Any:
    return create_agent(ScriptedChat(answers=[*answers, "Done."]), tools, **options)


def said(*texts: str) -> Any:
    """What an agent is given."""
    return {"messages": [HumanMessage(text) for text in texts]}


def words(prompt: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in prompt]


def results(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def numbered() -> ScriptedChat:
    """A model whose answers are numbered from 1."""
    model = ScriptedChat()
    model.answer = lambda _: AIMessage(f"answer {len(model.prompts)}")
    return model


def talk(
    agent: Any, model: ScriptedChat, memory: Any, invoke: Invoke, given: Callable[[str], Any], *, whole: bool
) -> None:
    """Seven turns: the model gets every new one, after all others if whole, and the log has each once."""
    asked = [f"question {turn}" if turn % 3 else "go on" for turn in range(7)]
    for turn, question in enumerate(asked):
        invoke(agent, {"messages": [given(question)]}, THREAD)
        prompt = [message for message in model.prompts[-1] if message.type != "system"]
        assert prompt[-1].text == question
        assert len(prompt) == 2 * turn + 1 or not whole
    said = [message.text for message in memory.scoped(user="alice", session="t1").history()]
    assert said == [text for turn, question in enumerate(asked, 1) for text in (question, f"answer {turn}")]
