"""`HybridMemoryToolSpec`: the memory as tools of LlamaIndex agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from llama_index.core.base.llms.types import TextBlock
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.adapters import Runner, checked, faces
from hybrid_memory.errors import StoreError
from hybrid_memory.tools import Answer, MemoryTool, tools_named
from hybrid_memory_paging import PAGING_FUNCTIONS, SEND, answer_tokens, functions_named, prepared
from llamaindex_hybrid_memory.bound import SessionBound
from llamaindex_hybrid_memory.messages import from_dict
from llamaindex_hybrid_memory.paging import shown_to

BY_DEFAULT = tuple(function.name for function in PAGING_FUNCTIONS if function is not SEND)
"""The paging functions by default; in an agent the user reads the model's own answer."""


class HybridMemoryToolSpec(BaseToolSpec):
    """Tools with which a model can remember, recall, update, forget and read more, or page its memory.

    Invalid arguments and handles are answered with a text that says how to correct the call, as a `ToolOutput` with
    ``is_error``. Notes belong to the user, not to a session: every session can recall them, and they never come between
    a tool call and its result.

    The owner is fixed when you create the object; a model cannot change it by any argument. The store at a URL is
    opened on the first call.

    Args:
        user, tenant, agent: the owner; at least one of them.
        session: the conversation, for handles of its stretches.
        url: the URL of the store, or the path of a YAML file; objects with the same URL in one process share the store.
        memory: an open memory instead of ``url``; you close it.
        paging: provide the MemGPT functions instead: edit the blocks of working context, which are created if there are
            none, keep and search notes, and search the conversation. In the session of a
            ``HybridChatMemory(paging=True)`` the model can rewrite a block only if it saw the current version.
        token_limit: the budget of the prompt, with ``paging``: an answer takes at most an eighth of it. By default as
            configured for the memory.
        names: the tools to provide, such as ``memory_recall``; by default all except ``send_message``, which ends a
            run.

    Raises:
        InvalidScopeError: no owner is named.
        InvalidConfigError: ``url`` and ``memory`` are both given.
        InvalidInputError: there is no tool of that name.
    """

    @checked
    def __init__(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        url: str | None = None,
        memory: HybridMemory | None = None,
        paging: bool = False,
        token_limit: int | None = None,
        names: str | Iterable[str] | None = None,
    ) -> None:
        whose = {"tenant": tenant, "user": user, "agent": agent, "session": session}
        self._owner = ToolOwner.from_defaults(
            memory=memory, url=url, paging=paging, sized=paging, token_limit=token_limit, **whose
        )
        self._named = functions_named if paging else tools_named
        self.spec_functions = [tool.name for tool in self._named(BY_DEFAULT if paging and names is None else names)]

    def __repr__(self) -> str:
        return f"<HybridMemoryToolSpec {', '.join(map(str, self.spec_functions))} of {self._owner!r}>"

    @checked
    def to_tool_list(
        self,
        spec_functions: Sequence[str | tuple[str, str]] | None = None,
        func_to_metadata_mapping: Mapping[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """The tools, each callable blocking and async.

        Args:
            spec_functions: names, or pairs that begin with a name; by default all tools of this object.
            func_to_metadata_mapping: other descriptions for the model, by tool name.

        Raises:
            InvalidInputError: there is no tool of that name.
        """
        names = [one if isinstance(one, str) else one[0] for one in spec_functions or self.spec_functions]
        descriptions = func_to_metadata_mapping or {}
        return [function_tool(tool, self._owner, descriptions.get(tool.name)) for tool in self._named(names)]


class ToolOwner(SessionBound):
    """The owner and store that tools work on."""

    paging: bool = False
    sized: bool = False  # their answers keep within the share of a prompt that is shown whole

    async def _run(self, run: Runner, /, tool: MemoryTool, given: Mapping[str, Any]) -> Answer:
        """The tool's answer."""
        store = await run.call(self._store)
        memory = self._scoped(store, self.session)
        if self.paging:
            with suppress(StoreError):  # the call itself will find that out, and say so
                await run.call(prepared, memory)
        return await run.call(tool.run, memory, given, **self._known(store, memory))

    run, arun = faces(_run)

    def _known(self, store: HybridMemory, memory: ScopedMemory) -> dict[str, Any]:
        if not self.sized:
            return {}
        most = answer_tokens(self._max_tokens(store))
        return {"max_tokens": most, **(shown_to(self.url, memory.scope) if self.paging else {})}


def function_tool(tool: MemoryTool, owner: ToolOwner, described: ToolMetadata | None = None) -> FunctionTool:
    """The tool for LlamaIndex, callable blocking and async; ``described`` replaces our description."""
    metadata = described or ToolMetadata(
        name=tool.name, description=tool.description, fn_schema=tool.arguments, return_direct=tool is SEND
    )

    def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        # Agents of older versions hand over a single argument without its name.
        return {**dict(zip(tool.arguments.model_fields, args, strict=False)), **kwargs}

    def output(answer: Answer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolOutput:
        return ToolOutput(
            tool_name=metadata.get_name(),
            blocks=[TextBlock(text=answer.text), *map(from_dict, answer.media)],
            raw_input={"args": args, "kwargs": kwargs},
            raw_output=answer.text,
            is_error=answer.failed,
        )

    def run(*args: Any, **kwargs: Any) -> ToolOutput:
        return output(owner.run(tool, given(args, kwargs)), args, kwargs)

    async def arun(*args: Any, **kwargs: Any) -> ToolOutput:
        return output(await owner.arun(tool, given(args, kwargs)), args, kwargs)

    # Without the callbacks the host makes an output of its own, which cannot say that the call was wrong.
    return FunctionTool(fn=run, async_fn=arun, metadata=metadata, callback=_unchanged, async_callback=_aunchanged)


def _unchanged(output: ToolOutput) -> ToolOutput:
    return output


async def _aunchanged(output: ToolOutput) -> ToolOutput:
    return output
