"""The memory tool of the Anthropic SDK (``memory_20250818``) on a memory's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_memory import ScopedMemory
from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.tools import FILE, Answer

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import BetaCacheControlEphemeralParam
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "anthropic":
        raise
    raise MissingDependencyError("anthropic", "anthropic") from error

MAX_TOKENS = 200_000
"""The longest answer; a model reads long files with ``view_range``."""


class HybridMemoryTool(BetaAbstractMemoryTool):
    """A memory's files as Claude's memory tool: give it to ``client.beta.messages.run_tools(tools=[...])``.

    Text that Claude writes has the origin ``assistant``: recall finds it in every host, and you can forget, undo and
    roll it back like everything else. Errors have the wording of the SDK's own tool.

    Args:
        memory: the memory of one owner, such as ``memory.scoped(user="ann", session="s1")``, or a shared space.
        cache_control: as in the SDK's own tool.
    """

    def __init__(self, memory: ScopedMemory, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._memory = memory

    def call(self, input: object) -> str:  # noqa: A002 - the SDK's name
        """The answer to a command; raises `ToolError` for one that is wrong."""
        return _text_or_error(FILE.run(self._memory, _arguments(input), max_tokens=MAX_TOKENS))

    def execute(self, command: Any) -> str:
        return self.call(command)

    view = create = str_replace = insert = delete = rename = execute


class HybridAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """`HybridMemoryTool` for ``AsyncAnthropic``; it does not block the event loop."""

    def __init__(self, memory: ScopedMemory, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._memory = memory

    async def call(self, input: object) -> str:  # noqa: A002 - the SDK's name
        """The answer to a command; raises `ToolError` for one that is wrong."""
        return _text_or_error(await FILE.arun(self._memory, _arguments(input), max_tokens=MAX_TOKENS))

    async def execute(self, command: Any) -> str:
        return await self.call(command)

    view = create = str_replace = insert = delete = rename = execute


def _arguments(command: Any) -> Mapping[str, Any]:
    """The arguments of a command, as the model wrote it or as the SDK parsed it."""
    given = command if isinstance(command, Mapping) else getattr(command, "model_dump", dict)()
    return {name: value for name, value in given.items() if value is not None}


def _text_or_error(answer: Answer) -> str:
    if answer.failed:
        raise ToolError(answer.text.removeprefix("Error: "))
    return answer.text
