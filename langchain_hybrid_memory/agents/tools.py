"""The memory as tools of a LangChain agent."""

# No postponed annotations here: older langchain-core does not resolve them, and would not find `InjectedToolArg`.
from collections.abc import Iterable
from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException

from hybrid_memory.memory import HybridMemory
from hybrid_memory.tools import Answer, MemoryTool, tools_named
from langchain_hybrid_memory.scopes import Binding


def memory_tools(
    memory: HybridMemory,
    *,
    user: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    tenant: str | None = None,
    names: Iterable[str] | None = None,
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

    Raises:
        InvalidInputError: a name is no tool's. When a tool is called: `InvalidScopeError` for a run without a user.
    """
    binding = Binding(memory, user=user, session=session, agent=agent, tenant=tenant)
    return [_as_langchain(tool, binding) for tool in tools_named(names)]


def _as_langchain(tool: MemoryTool, binding: Binding) -> BaseTool:
    first = next(iter(tool.arguments.model_fields))

    # LangGraph knows the parameter by its name. Its own ToolRuntime as the annotation would do the same, but is not
    # there where only langchain-core is installed.
    def run(*given: str, runtime: Annotated[Any, InjectedToolArg] = None, **arguments: Any) -> str:
        return _told(tool.run(binding.scoped(runtime), arguments if not given else {first: given[0]}))

    async def arun(*given: str, runtime: Annotated[Any, InjectedToolArg] = None, **arguments: Any) -> str:
        return _told(await tool.arun(binding.scoped(runtime), arguments if not given else {first: given[0]}))

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.arguments,
        func=run,
        coroutine=arun,
        handle_tool_error=True,
        handle_validation_error=_problems,
    )


def _told(answer: Answer) -> str:
    if answer.failed:
        raise ToolException(answer.text)
    return answer.text


def _problems(error: Any) -> str:
    """What is wrong, of a pydantic error."""
    problems = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
    return f"Error: {'; '.join(problems[:3])}"
