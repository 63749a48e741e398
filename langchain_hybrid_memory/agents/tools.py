"""The memory as tools of a LangChain agent."""

# No postponed annotations here: older langchain-core does not resolve them, and would not find `InjectedToolArg`.
from collections.abc import Iterable
from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException

from hybrid_memory import HybridMemory
from hybrid_memory.apps.agent import functions_named
from hybrid_memory.apps.agent.functions import SEND
from hybrid_memory.tools import Answer, MemoryTool, tools_named
from langchain_hybrid_memory.agents.calls import Calls
from langchain_hybrid_memory.scopes import Binding

OURS = "hybrid_memory_tool"
"""The key of a tool's metadata that holds which of ours it is, whatever it is called."""


def memory_tools(
    memory: HybridMemory,
    *,
    user: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    tenant: str | None = None,
    names: Iterable[str] | None = None,
    paging: bool = False,
) -> list[BaseTool]:
    """Tools by which a model remembers, recalls, updates, forgets and reads on itself.

    They answer wrong arguments and handles with a message of status ``error``, so that the model can mend its call.
    What a tool notes belongs to the user and to no session: it is recalled everywhere, and parts no tool call from its
    result in the conversation.

    Args:
        memory: an open memory.
        user: whose it is; what is left out of these four is looked for in the run, see `Binding`.
        session: the conversation.
        agent: see ``user``.
        tenant: see ``user``.
        names: only these, such as ``memory_recall``; by default all.
        paging: the functions of `hybrid_memory.apps.agent` instead, by which a model edits its blocks, keeps notes and
            searches the conversation. ``send_message`` ends the run, and its result is what the user reads.

    Raises:
        InvalidInputError: a name is no tool's. When a tool is called: `InvalidScopeError` for a run without a user.
    """
    calls = Calls(Binding(memory, user=user, session=session, agent=agent, tenant=tenant), prepares=paging)
    return [as_langchain(tool, calls) for tool in (functions_named(names) if paging else tools_named(names))]


def as_langchain(tool: MemoryTool, calls: Calls) -> BaseTool:
    """The tool for LangChain, on the memory of the run that calls it."""
    first = next(iter(tool.arguments.model_fields))

    # LangGraph knows the parameter by its name. Its own ToolRuntime as the annotation would do the same, but is not
    # there where only langchain-core is installed.
    def run(*given: str, runtime: Annotated[Any, InjectedToolArg] = None, **arguments: Any) -> str:
        wanted = arguments if not given else {first: given[0]}
        return _told(tool.run(calls.memory(runtime), wanted, **calls.known(runtime)))

    async def arun(*given: str, runtime: Annotated[Any, InjectedToolArg] = None, **arguments: Any) -> str:
        wanted = arguments if not given else {first: given[0]}
        return _told(await tool.arun(await calls.amemory(runtime), wanted, **calls.known(runtime)))

    return StructuredTool(
        name=tool.name,
        metadata={OURS: tool.name},
        description=tool.description,
        args_schema=tool.arguments,
        func=run,
        coroutine=arun,
        handle_tool_error=True,
        handle_validation_error=_problems,
        return_direct=tool is SEND,
    )


def _told(answer: Answer) -> str:
    if answer.failed:
        raise ToolException(answer.text)
    return answer.text


def _problems(error: Any) -> str:
    """What is wrong, of a pydantic error."""
    problems = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
    return f"Error: {'; '.join(problems[:3])}"
