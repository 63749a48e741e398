"""Memory of an agent: middleware for ``create_agent``."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.runtime import Runtime

from hybrid_memory.compute.caches import LruCache
from hybrid_memory.errors import InvalidMessageError, InvalidScopeError, ModelError, StoreError
from hybrid_memory.memory import HybridMemory, ScopedMemory
from hybrid_memory.types import Context, Message, Role
from langchain_hybrid_memory.agents.following import Follower, Seen
from langchain_hybrid_memory.conversions import Conversions
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

    In the list of middleware it belongs behind those that change what is kept (``PIIMiddleware``) or mark the agent's
    own system prompt (``AnthropicPromptCachingMiddleware``), and before those that change the prompt of one call
    (``ContextEditingMiddleware``).

    Args:
        memory: an open memory; several agents may share it.
        user, session, agent, tenant: whose memory and which conversation; what is left out is looked for in each run,
            see `langchain_hybrid_memory.scopes.Binding`. Without a user, or a session, a run ends with an error.
        max_tokens: of the whole prompt, with the tools; the memory's own setting by default.
        k: the most turns to recall for one of the user's; they stay with it in the prompt. 0 recalls nothing.
        blocks: labelled texts that always stand in the prompt.
        profile: about the user; by default what was learned. An empty text shows none.
        name: told apart from others of the same agent by it.

    Raises:
        InvalidScopeError: while an agent runs: no user or no session is named.
        InvalidInputError: while an agent runs: its system prompt and tools alone need more than ``max_tokens``.
    """

    state_schema = HybridMemoryState
    tools = ()

    def __init__(
        self,
        memory: HybridMemory,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        max_tokens: int | None = None,
        k: int = 10,
        blocks: Mapping[str, str] | None = None,
        profile: str | None = None,
        name: str = "HybridMemoryMiddleware",
    ) -> None:
        super().__init__()
        self._binding = Binding(memory, user=user, session=session, agent=agent, tenant=tenant)
        self._layout = {"max_tokens": max_tokens, "k": k, "blocks": dict(blocks or {}), "profile": profile}
        self._name = name
        self._schemas: LruCache[int, tuple[Any, dict[str, Any]]] = LruCache(256)
        self._converted = Conversions()

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
    ) -> ModelResponse[ResponseT] | AIMessage:
        """Call the model with the prompt that the memory lays out."""
        asked, context = self._asked(request), None
        try:
            context = self._scoped(request.runtime).assemble(**asked) if asked else None
        except FAILURES as error:
            _told(error)
        return handler(request if context is None else self._with(request, context))

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | AIMessage:
        """Async twin of `wrap_model_call`."""
        asked, context = self._asked(request), None
        try:
            context = await self._scoped(request.runtime).aassemble(**asked) if asked else None
        except FAILURES as error:
            _told(error)
        return await handler(request if context is None else self._with(request, context))

    def _scoped(self, runtime: Any) -> ScopedMemory:
        scoped = self._binding.scoped(runtime)
        if scoped.scope.session is None:
            raise InvalidScopeError(
                "which conversation? give session=, or name it in the run: config={'configurable': {'thread_id': ...}}"
            )
        return scoped

    def _asked(self, request: ModelRequest[ContextT]) -> dict[str, Any]:
        """What to assemble for; nothing if the user said nothing, or said it and it could not be written."""
        follower = Follower(request.state, self._name)
        if not follower.answerable:
            return {}
        return {
            **self._layout,
            "identity": "" if request.system_message is None else str(request.system_message.text),
            "tools": [self._schema(tool) for tool in request.tools],
            "among": follower.ids,
            "wait": False,
        }

    def _schema(self, tool: Any) -> dict[str, Any]:
        """What a provider is told of the tool; kept, since to make it takes as long as the rest of a prompt."""
        found = self._schemas.get(id(tool))
        if found is None or found[0] is not tool:
            found = tool, tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
            self._schemas.put(id(tool), found)
        return found[1]

    def _with(self, request: ModelRequest[ContextT], context: Context) -> ModelRequest[ContextT]:
        """The request with this prompt, and at its end what others put there for this call."""
        laid = list(context.messages)
        head = laid.pop(0).text if laid and laid[0].role is Role.SYSTEM else ""
        written = Follower(request.state, self._name).written
        own = {said.id: said for said in written[-len(laid) :]}
        asked, last = request.messages, written[-1].id
        passing = next((row for row in range(len(asked), 0, -1) if asked[row - 1].id == last), len(asked))
        messages: list[Any] = [self._shown(message, own.get(message.id)) for message in laid]
        return request.override(
            system_message=_system(request.system_message, head), messages=[*messages, *asked[passing:]]
        )

    def _shown(self, message: Message, own: Any) -> BaseMessage:
        """The message for the model; the state's own object where it says the same."""
        if own is None or own.content != message.content:
            return self._converted(message)
        calls = [call.arguments for call in message.tool_calls]
        return own if not calls or calls == [call["args"] for call in own.tool_calls] else self._converted(message)


def _system(own: SystemMessage | None, head: str) -> SystemMessage | None:
    """The agent's own system prompt with the memory behind it, as a block of its own where the prompt has blocks."""
    if own is None or not own.content:
        return SystemMessage(content=head) if head else own
    if isinstance(own.content, str):
        return own.model_copy(update={"content": head})
    added = head.removeprefix(own.text).lstrip()
    return own.model_copy(update={"content": [*own.content, {"type": "text", "text": added}]}) if added else own


def _told(error: Exception) -> None:
    _log.warning("the agent goes on without memory: %s", error)
