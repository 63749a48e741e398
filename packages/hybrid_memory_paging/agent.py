"""`PagedAgent`: a language model that manages its own memory, driven by events (MemGPT, arXiv 2310.08560)."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta, tzinfo
from functools import partial
from typing import Any, Self

from hybrid_memory import Content, HybridMemory, Message, Role, ScopedMemory, as_messages
from hybrid_memory.analysis import PRESSURE, STOPPED
from hybrid_memory.config import PagingConfig
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import checked_count, checked_text, positive_seconds, shown
from hybrid_memory_paging.executor import CustomFunction, Executor, Function
from hybrid_memory_paging.functions import functions_named
from hybrid_memory_paging.instructions import answer_tokens, instructions, prepared
from hybrid_memory_paging.loop import AgentRun, Frame, Limits, Loop
from hybrid_memory_paging.searching import FETCH
from hybrid_memory_paging.timers import Alarm, Rhythm, cron_rhythm, steady_rhythm

MOST_INSTRUCTIONS = 0.45
"""Share of a prompt that identity and instructions may take."""


class PagedAgent:
    """An agent whose model manages its own memory: it edits blocks, keeps archival notes and searches the conversation.

    An event starts it: a message of the user, something that happened, or a timer. The model is called, its function
    calls are executed, and it is called again as long as it asks for that or a call failed; then the agent yields.
    Under pressure, and after a warning, messages leave the window for a recursive summary; the log keeps them all.

    Every step is an event in the log. After a crash, `resume` continues: a call that has a result is not repeated, the
    memory's own functions take effect once, and an interrupted function of yours is reported to the model instead of
    being repeated. Events for one agent and session run one after the other; different agents run independently. Run a
    session in one process at a time: two processes lose nothing, but may take each other's calls for interrupted.

    Args:
        memory: an open memory; you close it.
        agent: the agent's name; with user and tenant, it is the owner of the memory.
        user: the user it serves; None if it serves no particular user.
        tenant: as in `HybridMemory.scoped`.
        session: the conversation.
        model: see `hybrid_memory.models.language.as_language_model`; by default the memory's language model.
        identity: who the agent is; comes first in the prompt.
        functions: your functions, blocking or async; the model sees their names, annotations and docstrings.
        memory_functions: names of the memory functions it may call; by default all.
        max_tokens: the budget of a prompt.
        paging: how the window is used.
        k: how many turns to recall for each user turn; 0 leaves searching to the model.
        max_steps: how often the model may answer one event before the run is stopped.
        max_run_tokens: the most tokens of prompts and answers in one run; None sets no limit.
        function_timeout: the time limit for one of your functions.
        model_timeout: the time limit for one answer of the model.

    Raises:
        InvalidScopeError: a name is malformed.
        InvalidInputError: there is no model, a model cannot call one of the functions, or ``max_tokens`` is too small.
    """

    def __init__(
        self,
        memory: HybridMemory,
        *,
        agent: str,
        user: str | None = None,
        tenant: str | None = None,
        session: str = "main",
        model: Any = None,
        identity: str = "",
        functions: Sequence[Callable[..., Any]] = (),
        memory_functions: Iterable[str] | None = None,
        max_tokens: int = 8000,
        paging: PagingConfig | None = None,
        k: int = 0,
        max_steps: int = 16,
        max_run_tokens: int | None = None,
        function_timeout: timedelta = timedelta(seconds=30),
        model_timeout: timedelta = timedelta(minutes=5),
    ) -> None:
        self.memory: ScopedMemory = memory.scoped(tenant=tenant, user=user, agent=agent, session=session)
        self._store = memory
        count = memory.token_counter
        self.functions = _functions(memory_functions, functions)
        frame = Frame(
            identity=checked_text("identity", identity),
            instructions=instructions(self.functions),
            max_tokens=checked_count("max_tokens", max_tokens, least=1),
            k=checked_count("k", k, least=0),
            paging=_paging(paging),
            reader=next((function.name for function in self.functions if function is FETCH), None),
        )
        _check_room(frame, count(frame.identity) + count(frame.instructions))
        for name, limit in (("function_timeout", function_timeout), ("model_timeout", model_timeout)):
            positive_seconds(name, limit)
        thinking = memory.language_model(model, timeout=model_timeout)
        if thinking is None:
            raise InvalidInputError("an agent needs a model: PagedAgent(model=...) or open_memory(language_model=...)")
        self._loop = Loop(
            memory=self.memory,
            count=count,
            model=thinking,
            executor=Executor(
                self.memory,
                self.functions,
                timeout=function_timeout,
                max_tokens=answer_tokens(frame.max_tokens),
            ),
            frame=frame,
            limits=Limits(
                checked_count("max_steps", max_steps, least=1),
                None if max_run_tokens is None else checked_count("max_run_tokens", max_run_tokens, least=1),
            ),
        )
        self._running: threading.Event | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._alarms: list[Alarm] = []

    def send(self, content: Content) -> AgentRun:
        """Send a message to the agent and wait until it yields; the message is durable before the model is called.

        Args:
            content: as `ScopedMemory.remember` takes it: text, a message, a dict or a list of these.

        Raises:
            InvalidMessageError: it cannot be stored. Nothing was written.
            ModelError: the model failed. The message is answered with the next event, or by `resume`.
            StoreUnavailableError: the store failed; as for ModelError.
        """
        return self._event(as_messages(content))

    async def asend(self, content: Content) -> AgentRun:
        """Async twin of `send`; cancelling it cancels the run."""
        return await self._on_a_thread(partial(self._event, as_messages(content)))

    def notify(self, event: str, text: str) -> AgentRun:
        """Tell the agent that something happened and wait until it yields.

        Args:
            event: a one-word name, such as ``login`` or ``upload``.
            text: a description for the model.

        Raises:
            InvalidInputError: one of them is empty, or the event's name is reserved.
            ModelError, StoreUnavailableError: as in `send`.
        """
        return self._event([_event_message(event, text)])

    async def anotify(self, event: str, text: str) -> AgentRun:
        """Async twin of `notify`."""
        return await self._on_a_thread(partial(self._event, [_event_message(event, text)]))

    def resume(self) -> AgentRun:
        """Continue what was left unfinished by a crash or a failure; yields at once if there is nothing."""
        return self._event([])

    async def aresume(self) -> AgentRun:
        """Async twin of `resume`."""
        return await self._on_a_thread(partial(self._event, []))

    def every(self, interval: timedelta, text: str) -> Alarm:
        """Start the agent with this text at every multiple of the interval since 1970, while this process runs.

        If several processes register the same timer, the agent starts once.

        Raises:
            InvalidInputError: the interval is not a second or more, or the text is empty.
        """
        return self._alarm(steady_rhythm(interval), text)

    def cron(self, expression: str, text: str, *, timezone: tzinfo | None = None) -> Alarm:
        """Start the agent with this text at the times of a cron expression, such as ``0 9 * * 1-5``; see `every`.

        Args:
            expression: minute, hour, day of the month, month, day of the week; as in Debian's cron.
            text: a message for the model.
            timezone: the time zone of the expression; UTC by default.

        Raises:
            InvalidInputError: the expression is invalid, or the text is empty.
        """
        return self._alarm(cron_rhythm(expression, timezone), text)

    def cancel(self) -> None:
        """Stop the current run before its next call or answer; the model is told with the next event."""
        running = self._running
        if running is not None:
            running.set()

    def close(self) -> None:
        """Stop timers and threads; the memory stays open, and `resume` continues unfinished work."""
        for alarm in self._alarms:
            alarm.cancel()
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _event(
        self,
        messages: Sequence[Message],
        *,
        cancelled: threading.Event | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> AgentRun:
        """Write the event and run the agent until it yields; waits for a run in progress."""
        receipt = self.memory.remember(messages) if messages else None
        with self.memory.steps().lock():
            prepared(self.memory)
            last = self._loop.last_position()
            after = min(receipt.positions) - 1 if receipt is not None and receipt.positions else last
            self._running = cancelled or threading.Event()
            try:
                why = self._loop.run(self._running, loop)
            finally:
                self._running = None
            said = tuple(self._loop.messages_since(after))
        replies = [message.text for message in said if message.role is Role.ASSISTANT and not message.tool_calls]
        return AgentRun(tuple(replies), said, why)

    async def _on_a_thread(self, work: Callable[..., AgentRun]) -> AgentRun:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hybrid-memory-agent")
        context, loop, cancelled = contextvars.copy_context(), asyncio.get_running_loop(), threading.Event()
        made = partial(context.run, work, cancelled=cancelled, loop=loop)
        try:
            return await loop.run_in_executor(self._threads, made)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def _alarm(self, rhythm: Rhythm, text: str) -> Alarm:
        _event_message("timer", text)
        alarm = Alarm(rhythm, text, self._store, self._wake)
        self._alarms.append(alarm)
        return alarm

    def _wake(self, name: str, text: str) -> None:
        message = _event_message("timer", text).model_copy(update={"id": name})
        if not self.memory.remember(message).duplicates:
            self._event([])

    def __repr__(self) -> str:
        return f"<PagedAgent {self.memory.scope} with {len(self.functions)} functions in {self._store.url}>"


def _paging(config: Any) -> PagingConfig:
    if not isinstance(config, PagingConfig | None):
        raise InvalidInputError(f"paging must be a PagingConfig, got {shown(config)}")
    return config or PagingConfig()


def _functions(names: Iterable[str] | None, custom: Sequence[Callable[..., Any]]) -> list[Function]:
    functions: list[Function] = [*functions_named(names), *map(CustomFunction.of, custom)]
    said = [function.name for function in functions]
    for name in said:
        if said.count(name) > 1:
            raise InvalidInputError(f"there are two functions {name!r}: rename one of them")
    return functions


def _check_room(frame: Frame, tokens: int) -> None:
    least = int(tokens / MOST_INSTRUCTIONS) + 1
    if frame.max_tokens < least:
        raise InvalidInputError(
            f"max_tokens={frame.max_tokens} is too small: identity and functions take {tokens} tokens, give at least "
            f"{least}, or fewer functions"
        )


def _event_message(event: str, text: str) -> Message:
    """The message that reports an event."""
    if not checked_text("event", event).strip() or event in (PRESSURE, STOPPED):
        raise InvalidInputError(f"an event needs a name, such as 'login', got {shown(event)}")
    if not checked_text("text", text).strip():
        raise InvalidInputError("text is empty: say what happened")
    return Message(role=Role.SYSTEM, content=text, extra={"event": event})
