"""Memory of an agent: middleware for ``create_agent``."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT, ToolCallRequest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from hybrid_memory import Host, HybridMemory, PagingConfig, ScopedMemory
from hybrid_memory.adapters import LEAST_TOKENS, Runner, checked, encodable, estimate_tokens, faces, reach
from hybrid_memory.errors import InvalidInputError, InvalidMessageError, InvalidScopeError, ModelError, StoreError
from hybrid_memory_paging import PAGING_FUNCTIONS, SEND
from langchain_hybrid_memory.following import Follower, Seen, Written, owner_of
from langchain_hybrid_memory.prompts import Paging, Prompts, Reading, budget_for
from langchain_hybrid_memory.scopes import MAX_NAME_CHARS, Binding
from langchain_hybrid_memory.tools import Calls, as_langchain
from langchain_hybrid_memory.tracing import shown_in_run

FAILURES = (StoreError, ModelError, InvalidMessageError)
"""Errors that must not end a run: the agent continues with the messages it has, and the next step writes again."""

_log = logging.getLogger(__name__)


def _both(before: dict[str, Seen], now: dict[str, Seen]) -> dict[str, Seen]:
    """The notes of several memories of one agent, even from the same step."""
    return {**before, **now}


class HybridMemoryState(AgentState[Any]):
    """The agent's state with the middleware's notes, by the middleware's name."""

    hybrid_memory: NotRequired[Annotated[dict[str, Seen], PrivateStateAttr, _both]]


class HybridMemoryMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """Middleware that gives an agent a memory: it stores the conversation and keeps every prompt within a budget.

    At each model call and at the end of a run, the agent's new messages are written to the log. The model sees the
    prompt that `ScopedMemory.assemble` makes: the agent's own system prompt, then the conversation from the agent's
    state, verbatim while it fits. Profile, summary and the memories recalled for a turn come in marked places before
    the user's words. The state keeps all its messages unchanged and defines the conversation: removed messages are not
    shown, edited ones appear as edited, and a branch shows its own turns. Without a checkpointer the log defines it, so
    an agent that receives only the new message continues its conversation.

    When space is short, the model gets an additional tool, `memory_fetch`, to read shortened or summarised messages.
    With ``reader=False`` it sees excerpts chosen for the question instead.

    Turns are compacted in the pause after an answer, not while the user waits. If the store or a model fails, the
    middleware logs a warning, the agent continues without memory, and the next step writes what is missing.

    An agent called inside another agent's tool works in its own thread beneath the other's, and recalls nothing from
    the conversation it works for.

    With ``paging`` the model manages its own memory, as in MemGPT: it gets instructions and the functions of
    `hybrid_memory_paging` as tools, edits the blocks in its prompt, is warned before turns leave the window, and
    searches for turns that have left it. The user reads its answers, so there is no ``send_message``.

    Its position in the list of middleware does not matter, except that middleware which edits the prompt of a single
    call (``ContextEditingMiddleware``) must come after it.

    Args:
        memory: an open memory; several agents may share it.
        user, session, agent, tenant: the owner and the conversation; omitted parts are taken from each run, see
            `langchain_hybrid_memory.scopes.Binding`. A run raises an error if neither it
            nor an earlier one of its thread names a user, or if it has no session.
        max_tokens: the budget of the whole prompt, with the tools. By default as configured for the memory; otherwise
            the window in the model's profile minus space for the answer, at most 128,000; otherwise 30,000.
        k: how many turns to recall for each user turn; they stay with it in the prompt. 0 recalls nothing. By default
            10, or 0 with paging, where the model searches.
        blocks: labelled texts that are always in the prompt, instead of the memory's blocks. With paging the memory's
            blocks are shown, and a new owner starts with ``persona``, ``human`` and the texts given here.
        profile: the text about the user; by default the learned profile. An empty text shows none.
        paging: whether, or how, the model pages its memory.
        reader: whether the model gets a tool to read more when space is short.
        name: a name that no other middleware of the agent has.
        remember: False stores and learns nothing, as does a run with ``config={"configurable": {"remember": False}}``
            or ``context={"remember": False}``. The conversation is then shown as the state has it, with memories
            recalled for the user's last turn. Not with paging, which is about storing.
        spaces: shared spaces to recall from as well, or ``all``, see `ScopedMemory.assemble`; the user and agent of
            each run need the right to read them at each model call.

    Raises:
        AccessDeniedError: in a run, of a space that its user and agent may not read. The turn was not written.
        InvalidInputError: an argument has another type or is out of range; ``memory`` is a URL, not an open memory; or,
            with paging, ``blocks`` has a label or text that a block cannot have.
        InvalidScopeError: a name is malformed; or a run names no user or no session.
    """

    state_schema = HybridMemoryState
    tools: Sequence[BaseTool] = ()

    @checked
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
        reader: bool = True,
        name: str = "HybridMemoryMiddleware",
        remember: bool = True,
        spaces: Collection[str] | Literal["all"] = (),
    ) -> None:
        super().__init__()
        if max_tokens is not None and max_tokens < LEAST_TOKENS:
            raise InvalidInputError(f"max_tokens must be {LEAST_TOKENS} or more, got {max_tokens}")
        if k is not None and k < 0:
            raise InvalidInputError(f"k must be 0 or more, got {k}")
        if not name:
            raise InvalidInputError("name is empty: give one that no other middleware of the agent has")
        if paging and not remember:
            raise InvalidInputError("paging=True stores what the model notes: give it or remember=False, not both")
        self._memory = memory
        self._binding = Binding(memory, user=user, session=session, agent=agent, tenant=tenant, remember=remember)
        self._name = name
        self._max_tokens = max_tokens
        self._prompts = Prompts()
        self._written = Written()
        self._paging = Paging.of(paging, blocks)
        self._layout: dict[str, Any] = {"k": 10 if k is None else k, "profile": profile, "spaces": spaces}
        calls = Calls(self._binding, name, self._budget)
        if self._paging is None:
            self._layout["blocks"] = None if blocks is None else dict(blocks)
            self._reading = Reading(calls) if reader else None
            self.tools = [self._reading.tool] if self._reading else []
        else:
            self._reading = None
            # The user reads the model's own answer.
            self.tools = [as_langchain(function, calls) for function in PAGING_FUNCTIONS if function is not SEND]
            self._layout |= {"k": k or 0, **self._paging.layout}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._binding.given} in {self._memory!r}>"

    @property
    def name(self) -> str:
        return self._name

    async def _after_agent(
        self, run: Runner, /, state: AgentState[Any], runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """Write what is new: the answer, or the messages of a run that never called the model."""
        scoped, follower = self._scoped(runtime, state), self._follower(state, runtime)
        if not scoped.remembers:
            return None
        try:
            return follower.after(await run.call(scoped.mirror, follower.fresh(), host=follower.host)).update
        except FAILURES as error:
            _log.warning("the agent continues without memory: %s", error)
            return None

    after_agent, aafter_agent = faces(_after_agent)

    # Written here and not in before_model, because what stands behind us in the list of middleware may still redact or
    # edit what was said.
    @checked
    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        request, follower = self._prompt(request)
        return _with_note(follower, handler(request))

    @checked
    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        request, follower = await self._aprompt(request)
        return _with_note(follower, await handler(request))

    async def _written_prompt(
        self, run: Runner, /, request: ModelRequest[ContextT]
    ) -> tuple[ModelRequest[ContextT], Follower]:
        """The request with the prompt, after writing what is new; without memory if that fails."""
        scoped, follower = self._scoped(request.runtime, request.state), self._follower(request.state, request.runtime)
        plain = self._plain(request)
        await reach(run, scoped, self._layout["spaces"])
        try:
            if not scoped.remembers:
                return await self._passing_prompt(run, scoped, plain), follower
            follower = follower.after(await run.call(scoped.mirror, follower.fresh(), host=follower.host))
            if not (asked := self._asked(request, follower)):
                return plain, follower
            blocks = None if self._paging is None else await self._paging.blocks(run, scoped)
            paged: dict[str, Any] = {} if blocks is None else {"blocks": blocks}
            with shown_in_run(run):
                context = await run.call(scoped.assemble, **asked, **paged)
            return self._prompts.laid(plain, context, follower, self._reading), follower.shown(blocks)
        except FAILURES as error:
            _log.warning("the agent continues without memory: %s", error)
            return plain, follower

    _prompt, _aprompt = faces(_written_prompt)

    async def _passing_prompt(
        self, run: Runner, scoped: ScopedMemory, request: ModelRequest[ContextT]
    ) -> ModelRequest[ContextT]:
        """The request with what is recalled for the user's last words, of a conversation that is not stored."""
        messages = request.messages
        row = next((row for row in reversed(range(len(messages))) if messages[row].type == "human"), None)
        if row is None or not (question := encodable(str(messages[row].text)).strip()):
            return request
        layout = {name: value for name, value in self._layout.items() if name in {"k", "profile", "blocks", "spaces"}}
        # The state has all of this session, so nothing of it is recalled.
        session, thread = scoped.scope.session, owner_of(request.state, self._name)
        elsewhere = self._binding.in_session(request.runtime, f"{session}/passing"[:MAX_NAME_CHARS], thread)
        with shown_in_run(run):
            context = await run.call(elsewhere.assemble, question, host=Host(beside=session), **layout)
        if not context.preface:
            return request
        return request.override(messages=[*messages[:row], HumanMessage(context.preface), *messages[row:]])

    @checked
    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        with self._working(request):
            return handler(request)

    @checked
    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        with self._working(request):
            return await handler(request)

    def _working(self, request: ToolCallRequest) -> AbstractContextManager[None]:
        scoped = self._binding.scoped(request.runtime, owner_of(request.state, self._name))
        root, session = scoped.scope.session, self._scoped(request.runtime, request.state).scope.session
        if root is None or session is None:
            return nullcontext()
        return self._binding.calling(root, session, request.tool_call)

    def _scoped(self, runtime: Any, state: Any) -> ScopedMemory:
        thread = owner_of(state, self._name)
        scoped = self._binding.scoped(runtime, thread)
        if scoped.scope.session is None:
            raise InvalidScopeError(
                "no session given: give session=, or name it in the run: config={'configurable': {'thread_id': ...}}"
            )
        caller = self._binding.caller(runtime, thread)
        return scoped if caller is None else self._binding.in_session(runtime, caller.thread, thread)

    def _follower(self, state: Any, runtime: Any) -> Follower:
        thread = owner_of(state, self._name)
        owner = self._binding.named(self._binding.scoped(runtime, thread).scope)
        nested = self._binding.caller(runtime, thread) is not None
        return Follower(state, self._name, self._written, owner=owner, nested=nested)

    def _plain(self, request: ModelRequest[ContextT]) -> ModelRequest[ContextT]:
        """The request without the reader, which is bound only if the prompt names it."""
        if self._reading is None:
            return request
        return request.override(tools=[tool for tool in request.tools if tool is not self._reading.tool])

    def _asked(self, request: ModelRequest[ContextT], follower: Follower) -> dict[str, Any]:
        """The arguments of `ScopedMemory.assemble`; empty if the user said nothing."""
        if not follower.answerable:
            return {}
        caller = self._binding.caller(request.runtime, owner_of(request.state, self._name))
        tools = self._plain(request).tools
        summarised = sum(estimate_tokens(summary.text) for summary in follower.summaries)
        reader = None if self._reading is None else self._reading.reader(tools, request.model, self._prompts)
        return {
            "reader": reader,
            **self._layout,
            "max_tokens": max(LEAST_TOKENS, self._budget(request.model) - summarised),
            "identity": "" if request.system_message is None else encodable(str(request.system_message.text)),
            "tools": self._prompts.schemas(tools),
            "host": Host(list(follower.events), follower.began, None if caller is None else caller.session),
            "wait": False,
        }

    def _budget(self, model: Any = None) -> int:
        return self._max_tokens or budget_for(model, self._memory.compaction)


def _with_note(
    follower: Follower, response: ModelResponse[ResponseT]
) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
    """The response, with a note of how much of the state is in the log and which blocks the model saw."""
    update = follower.update
    return response if update is None else ExtendedModelResponse(response, Command(update=update))
