"""Memory of an agent: middleware for ``create_agent``."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from hybrid_memory.config import PagingConfig
from hybrid_memory.errors import InvalidMessageError, InvalidScopeError, ModelError, StoreError
from hybrid_memory.memory import HybridMemory, ScopedMemory
from langchain_hybrid_memory.agents.calls import Calls
from langchain_hybrid_memory.agents.following import Follower, Seen
from langchain_hybrid_memory.agents.paging import Paging, noting, paging_tools, written
from langchain_hybrid_memory.agents.prompts import Prompts
from langchain_hybrid_memory.scopes import Binding

FAILURES = (StoreError, ModelError, InvalidMessageError)
"""What must not end a run: the agent goes on with the messages that it has, and the next step writes again."""

_log = logging.getLogger(__name__)


class HybridMemoryState(AgentState[Any]):
    """The agent's state with what the middleware notes in it, by the middleware's name."""

    hybrid_memory: NotRequired[Annotated[dict[str, Seen], PrivateStateAttr]]


class HybridMemoryMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Gives an agent a memory: what is said is kept, and each model call gets a prompt of bounded size.

    Before each model call, and at the end of a run, what is new among the agent's messages goes into the log. The model
    is shown what `ScopedMemory.assemble` lays out: the agent's own system prompt, blocks, profile and summary; the
    recent turns; and what was recalled for a turn of the user in front of it, once per turn. The agent's state keeps
    all its messages as they are. With a checkpointer the state tells which branch of a conversation is meant; without
    one the log does, and an agent that is given only the new message goes on where it was.

    Turns are folded into the summary in the pause after an answer, not while somebody waits for it. If the store or a
    model fails, that is logged, the agent goes on without memory, and the next step writes what is missing.

    With ``paging`` the model manages its memory itself, as in MemGPT: it is told how, gets the functions of
    `hybrid_memory.paging` as tools, edits the blocks that stand in its prompt, is warned before turns leave the window,
    and searches for those that did. The user reads its answers, so there is no ``send_message``.

    In the list of middleware it belongs behind those that change what is kept (``PIIMiddleware``) or mark the agent's
    own system prompt (``AnthropicPromptCachingMiddleware``), and before those that change the prompt of one call
    (``ContextEditingMiddleware``).

    Args:
        memory: an open memory; several agents may share it.
        user, session, agent, tenant: whose memory and which conversation; what is left out is looked for in each run,
            see `langchain_hybrid_memory.scopes.Binding`. Without a user, or a session, a run ends with an error.
        max_tokens: of the whole prompt, with the tools; the memory's own setting by default.
        k: the most turns to recall for one of the user's; they stay with it in the prompt. 0 recalls nothing. By
            default 10, and 0 with paging, where the model searches.
        blocks: labelled texts that always stand in the prompt, instead of the memory's blocks. With paging these stand
            there, and an owner who never had one begins with ``persona``, ``human`` and the texts given here.
        profile: about the user; by default what was learned, and none with paging. An empty text shows none.
        paging: whether, or how, the model pages its memory.
        name: told apart from others of the same agent by it.

    Raises:
        InvalidInputError: with paging, a label or text of ``blocks`` can be none of a block.
        InvalidScopeError: while an agent runs: no user or no session is named.
        InvalidInputError: while an agent runs: its system prompt and tools alone need more than ``max_tokens``.
    """

    state_schema = HybridMemoryState
    tools: Sequence[BaseTool] = ()

    def __init__(
        self,
        memory: HybridMemory,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        max_tokens: int | None = None,
        k: int | None = None,
        blocks: Mapping[str, str] | None = None,
        profile: str | None = None,
        paging: bool | PagingConfig = False,
        name: str = "HybridMemoryMiddleware",
    ) -> None:
        super().__init__()
        self._binding = Binding(memory, user=user, session=session, agent=agent, tenant=tenant)
        self._name = name
        self._prompts = Prompts()
        self._paging = Paging.of(paging, blocks)
        self._layout: dict[str, Any] = {"max_tokens": max_tokens, "k": 10 if k is None else k, "profile": profile}
        if self._paging is None:
            self._layout["blocks"] = None if blocks is None else dict(blocks)
        else:
            self.tools = paging_tools(Calls(self._binding, name, max_tokens))
            self._layout |= {"k": k or 0, "profile": profile or "", **self._paging.layout}

    @property
    def name(self) -> str:
        """Of the middleware's nodes in the graph."""
        return self._name

    def before_model(self, state: AgentState[Any], runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Write what is new: the user's turn, an answer, or the results of tools."""
        scoped, follower = self._scoped(runtime), Follower(state, self._name)
        try:
            return follower.noted(scoped.follow(follower.fresh()))
        except FAILURES as error:
            _told(error)
            return None

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Async twin of `before_model`."""
        scoped, follower = self._scoped(runtime), Follower(state, self._name)
        try:
            return follower.noted(await scoped.afollow(follower.fresh()))
        except FAILURES as error:
            _told(error)
            return None

    # Not after_model: the models' words might still be redacted or edited by those that stand before it in the list.
    after_agent = before_model
    aafter_agent = abefore_model

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Call the model with the prompt that the memory lays out."""
        asked, blocks = self._asked(request), None
        try:
            if asked:
                scoped = self._scoped(request.runtime)
                blocks = None if self._paging is None else self._paging.blocks(scoped)
                context = scoped.assemble(**asked, **written(blocks))
                request = self._prompts.laid(request, context, self._follower(request).written)
        except FAILURES as error:
            _told(error)
            blocks = None
        return noting(self._follower(request), handler(request), blocks)

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Async twin of `wrap_model_call`."""
        asked, blocks = self._asked(request), None
        try:
            if asked:
                scoped = self._scoped(request.runtime)
                blocks = None if self._paging is None else await self._paging.ablocks(scoped)
                context = await scoped.aassemble(**asked, **written(blocks))
                request = self._prompts.laid(request, context, self._follower(request).written)
        except FAILURES as error:
            _told(error)
            blocks = None
        return noting(self._follower(request), await handler(request), blocks)

    def _scoped(self, runtime: Any) -> ScopedMemory:
        scoped = self._binding.scoped(runtime)
        if scoped.scope.session is None:
            raise InvalidScopeError(
                "which conversation? give session=, or name it in the run: config={'configurable': {'thread_id': ...}}"
            )
        return scoped

    def _follower(self, request: ModelRequest[ContextT]) -> Follower:
        return Follower(request.state, self._name)

    def _asked(self, request: ModelRequest[ContextT]) -> dict[str, Any]:
        """What to assemble for; nothing if the user said nothing, or said it and it could not be written."""
        follower = self._follower(request)
        if not follower.answerable:
            return {}
        return {
            **self._layout,
            "identity": "" if request.system_message is None else str(request.system_message.text),
            "tools": self._prompts.schemas(request.tools),
            "among": follower.ids,
            "wait": False,
        }


def _told(error: Exception) -> None:
    _log.warning("the agent goes on without memory: %s", error)
