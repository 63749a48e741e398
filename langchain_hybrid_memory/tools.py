"""The memory as tools of a LangChain agent."""

# No postponed annotations here: older langchain-core does not resolve them, and would not find `InjectedToolArg`.
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.adapters import Runner, checked, faces
from hybrid_memory.errors import StoreError
from hybrid_memory.tools import MAX_TOKENS, MemoryTool, tools_named
from hybrid_memory_paging import SEND, answer_tokens, functions_named, prepared
from langchain_hybrid_memory.following import Follower
from langchain_hybrid_memory.scopes import Binding
from langchain_hybrid_memory.tracing import shown_in_run

OURS = "hybrid_memory_tool"
"""The metadata key that identifies our tools, whatever their names."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of tools over one memory; name and size of the prompts are known only with a middleware."""

    binding: Binding
    name: str | None = None
    max_tokens: Callable[[], int] | None = None
    prepares: bool = False  # an owner without blocks gets some before the first call

    async def _run(self, run: Runner, /, tool: MemoryTool, runtime: Any, arguments: Mapping[str, Any]) -> Any:
        """The tool's answer in this run; raises `InvalidScopeError`, or `ToolException` if it failed."""
        memory = self._memory(runtime)
        if self.prepares:
            with suppress(StoreError):  # the call itself will find that out, and say so
                await run.call(prepared, memory)
        with shown_in_run(run):
            answer = await run.call(tool.run, memory, arguments, **self._known(runtime))
        if answer.failed:
            raise ToolException(answer.text)
        # Of other blocks LangChain would write the data as text.
        blocks = [block for block in answer.media if block.get("type") in ("image", "image_url", "file")]
        return [{"type": "text", "text": answer.text}, *blocks] if blocks else answer.text

    run, arun = faces(_run)

    def _memory(self, runtime: Any) -> ScopedMemory:
        """The memory of the calling agent, which may itself run inside another agent's tool."""
        caller = self.binding.caller(runtime)
        return self.binding.scoped(runtime) if caller is None else self.binding.in_session(runtime, caller.session)

    def _known(self, runtime: Any) -> dict[str, Any]:
        """The fields of `hybrid_memory.tools.tool.Call` known from LangGraph's ``ToolRuntime``, if there is one."""
        most = MAX_TOKENS if self.max_tokens is None else answer_tokens(self.max_tokens())  # as a prompt shows in full
        known: dict[str, Any] = {"max_tokens": most}
        state, call = getattr(runtime, "state", None), getattr(runtime, "tool_call_id", None)
        if not isinstance(state, Mapping) or "messages" not in state:
            return known
        follower = Follower(state, self.name or "")
        if "blocks" in follower.seen:
            known["blocks"] = follower.seen["blocks"]
        names = follower.behind(call) if call else []
        if names:  # an id alone would not do: some models count their calls anew in each answer
            known |= {"id": call, "source": names[0], "because": tuple(names[1:])}
        return known


@checked
def memory_tools(
    memory: HybridMemory,
    *,
    user: str | None = None,
    session: str | None = None,
    agent: str | None = None,
    tenant: str | None = None,
    names: str | Iterable[str] | None = None,
    paging: bool = False,
) -> list[BaseTool]:
    """Tools with which a model can remember, recall, update, forget and read more.

    Invalid arguments and handles are answered by a message of status ``error``, so that the model can correct its call.
    Notes belong to the user, not to a session: every session can recall them, and they never come between a tool call
    and its result.

    Args:
        memory: an open memory.
        user, session, agent, tenant: the owner and the session; omitted parts are taken from the run, see `Binding`.
        names: the tools to return, such as ``memory_recall``; by default all.
        paging: return the functions of `hybrid_memory_paging` instead, with which a model edits its blocks, keeps
            notes and searches the conversation. ``send_message`` ends the run, and the user reads its result.

    Raises:
        InvalidInputError: there is no tool of that name. Calling a tool raises `InvalidScopeError` if the run names no
            user.
    """
    calls = Calls(Binding(memory, user=user, session=session, agent=agent, tenant=tenant), prepares=paging)
    return [as_langchain(tool, calls) for tool in (functions_named(names) if paging else tools_named(names))]


def as_langchain(tool: MemoryTool, calls: Calls) -> StructuredTool:
    """The tool for LangChain; it uses the memory of the run that calls it."""
    first = next(iter(tool.arguments.model_fields))

    # LangGraph knows the parameter by its name. Its own ToolRuntime as the annotation would do the same, but is not
    # there where only langchain-core is installed.
    def run(*given: str, runtime: Annotated[Any, InjectedToolArg] = None, **arguments: Any) -> Any:
        return calls.run(tool, runtime, arguments if not given else {first: given[0]})

    async def arun(*given: str, runtime: Annotated[Any, InjectedToolArg] = None, **arguments: Any) -> Any:
        return await calls.arun(tool, runtime, arguments if not given else {first: given[0]})

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


def _problems(error: Any) -> str:
    """The problems that a pydantic error lists."""
    problems = [
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors()
    ]
    return f"Error: {'; '.join(problems[:3])}"
