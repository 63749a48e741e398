"""`PagedAgent`: a language model that manages its own memory, driven by events (MemGPT, arXiv 2310.08560)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from hybrid_memory import Block, Event, EventKind, HybridMemory, Message, Role, ScopedMemory, ToolCall, as_messages
from hybrid_memory.adapters import Content
from hybrid_memory.analysis import PRESSURE, STOPPED, as_event
from hybrid_memory.config import PagingConfig
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, MemoryClosedError
from hybrid_memory.text.structured import encodable
from hybrid_memory.text.tokens import PRIMING, message_tokens
from hybrid_memory.tools.tool import Answer
from hybrid_memory.validation import checked_text, positive_seconds, shown, whole
from hybrid_memory_paging.functions import (
    FETCH,
    HEARTBEAT,
    INTERRUPTED,
    THOUGHTS,
    CustomFunction,
    failure,
    functions_named,
    unread,
)
from hybrid_memory_paging.instructions import Function, answer_tokens, instructions, prepared, rendered
from hybrid_memory_paging.reading import read

MAX_CALLS = 4
"""The most calls in one answer; each result may fill its share of the window, and they leave it together."""

MOST_INSTRUCTIONS = 0.45
"""Share of a prompt that identity and instructions may take."""

GROWTH = 1.04
"""How many times longer a prompt is in the model's form, with calls as JSON; replaced by the measured value."""

TRIES = 6
"""How often a prompt is made again, each time with a smaller budget, until it fits in the model's form."""

NEWEST, MOST_READ = 64, 10_000
"""How many of the newest messages are read to find the last answer, at first and at most."""

ANSWER = "paging"
"""The field in ``extra`` of an answer's last message: what the model had seen, and whether it goes on."""

FAILED = "failed"
"""The field in ``extra`` of a result that marks a failed call."""

AGAIN = "You asked to be called again."
NOT_CALLED = "Error: not called, because the run was stopped."
TOO_MANY = f"Error: not called; at most {MAX_CALLS} calls in one answer."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an agent did in response to an event.

    Attributes:
        replies: the agent's messages to the user.
        messages: all messages since the event: calls, results, replies, warnings.
        why: why it ended: ``yielded``, ``nothing to do``, or ``stopped ...``.
    """

    replies: tuple[str, ...]
    messages: tuple[Message, ...]
    why: str

    @property
    def text(self) -> str:
        """The replies as one text."""
        return "\n\n".join(self.replies)

    @property
    def calls(self) -> list[str]:
        """The names of the functions that it called, in order."""
        return [call.name for message in self.messages for call in message.tool_calls]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<AgentRun {self.why}: {len(self.calls)} calls, {len(self.replies)} replies: {shown(self.text)}>"


@dataclass(frozen=True, slots=True)
class Pending:
    """What is left to do, as the log says.

    Attributes:
        head: the position of the last message.
        answer: the agent's last answer, if any.
        opened: ids of the turns and events that it answers.
        blocks: the revisions of the blocks that the model saw when it gave it, by label; None if there is no answer.
        missing: its calls that have no result yet, in order.
        goes_on: whether the model must be called again, because it asked for that or a call failed.
        waiting: turns and events that no answer has taken into account.
    """

    head: int
    answer: Event | None
    opened: tuple[str, ...]
    blocks: dict[str, int] | None
    missing: tuple[ToolCall, ...]
    goes_on: bool
    waiting: tuple[Event, ...]


class PagedAgent:
    """An agent whose model manages its own memory: it edits blocks, keeps archival notes and searches the conversation.

    An event starts it: a message of the user, something that happened, or a timer. The model is called, its function
    calls are executed, and it is called again as long as it asks for that or a call failed; then the agent yields.
    Under pressure, and after a warning, messages leave the window for a recursive summary; the log keeps them all.

    Every answer and every result is in the log before the next step. After a crash, `resume` continues: a call that has
    a result is not repeated, the memory's own functions take effect once, and an interrupted function of yours is
    reported to the model instead of being repeated. Events of one agent run one after the other. Drive a session with
    one `PagedAgent` at a time: two of them may both answer the same message.

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
        max_steps: how often the model may answer in one run before it is stopped.
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
        function_timeout: timedelta = timedelta(seconds=30),
        model_timeout: timedelta = timedelta(minutes=5),
    ) -> None:
        self.memory: ScopedMemory = memory.scoped(tenant=tenant, user=user, agent=agent, session=session)
        self._store = memory
        self._count = memory.token_counter
        for name, limit in (("function_timeout", function_timeout), ("model_timeout", model_timeout)):
            positive_seconds(name, limit)
        if not isinstance(paging, PagingConfig | None):
            raise InvalidInputError(f"paging must be a PagingConfig, got {shown(paging)}")
        self._paging = paging or PagingConfig()
        self._max_tokens = whole("max_tokens", max_tokens, 1)
        self._max_steps = whole("max_steps", max_steps, 1)
        self._k = whole("k", k, 0)
        self.functions: list[Function] = [
            *functions_named(memory_functions),
            *(CustomFunction.of(function, function_timeout) for function in functions),
        ]
        self._by_name = {function.name: function for function in self.functions}
        names = [function.name for function in self.functions]
        if doubled := next((name for name in names if names.count(name) > 1), None):
            raise InvalidInputError(f"there are two functions {doubled!r}: rename one of them")
        self._identity = checked_text("identity", identity)
        self._instructions = instructions(self.functions)
        fixed = self._count(self._identity) + self._count(self._instructions)
        least = int(fixed / MOST_INSTRUCTIONS) + 1
        if max_tokens < least:
            raise InvalidInputError(
                f"max_tokens={max_tokens} is too small: identity and functions take {fixed} tokens, give at least "
                f"{least}, or fewer functions"
            )
        language_model = memory.language_model(model, timeout=model_timeout)
        if language_model is None:
            raise InvalidInputError("an agent needs a model: PagedAgent(model=...) or open_memory(language_model=...)")
        self._model = language_model
        self._growth = GROWTH
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._timers: list[threading.Event] = []

    def send(self, content: Content) -> AgentRun:
        """Send a message to the agent and wait until it yields; the message is durable before the model is called.

        Args:
            content: as `ScopedMemory.remember` takes it: text, a message, a dict or a list of these.

        Raises:
            InvalidMessageError: it cannot be stored. Nothing was written.
            ModelError: the model failed. The message is answered with the next event, or by `resume`.
            StoreUnavailableError: the store failed; as for ModelError.
        """
        return self._handle(as_messages(content))

    async def asend(self, content: Content) -> AgentRun:
        """Async twin of `send`; cancelling it cancels the run."""
        return await self._in_a_thread(as_messages(content))

    def notify(self, event: str, text: str) -> AgentRun:
        """Tell the agent that something happened and wait until it yields.

        Args:
            event: a one-word name, such as ``login`` or ``upload``.
            text: a description for the model.

        Raises:
            InvalidInputError: one of them is empty, or the event's name is reserved.
            ModelError, StoreUnavailableError: as in `send`.
        """
        return self._handle([_event_message(event, text)])

    async def anotify(self, event: str, text: str) -> AgentRun:
        """Async twin of `notify`."""
        return await self._in_a_thread([_event_message(event, text)])

    def resume(self) -> AgentRun:
        """Continue what was left unfinished by a crash or a failure; yields at once if there is nothing."""
        return self._handle([])

    async def aresume(self) -> AgentRun:
        """Async twin of `resume`."""
        return await self._in_a_thread([])

    def every(self, interval: timedelta, text: str) -> Callable[[], None]:
        """Wake the agent with this text again and again while this process runs; call the result to end that.

        A scheduler of yours wakes it as well, by `notify`.

        Raises:
            InvalidInputError: the interval is not positive, or the text is empty.
        """
        seconds = min(positive_seconds("interval", interval), threading.TIMEOUT_MAX)
        message = _event_message("timer", text)
        stopped = threading.Event()
        self._timers.append(stopped)
        name = "hybrid-memory-agent-timer"
        threading.Thread(target=self._wake, args=(stopped, seconds, message), name=name, daemon=True).start()
        return stopped.set

    def cancel(self) -> None:
        """Stop the current run before its next call or answer; the model is told with the next event."""
        self._cancelled.set()

    def close(self) -> None:
        """Stop the timers; the memory stays open, and `resume` continues unfinished work."""
        for stopped in self._timers:
            stopped.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PagedAgent {self.memory.scope} with {len(self.functions)} functions in {self._store.url}>"

    def _wake(self, stopped: threading.Event, seconds: float, message: Message) -> None:
        while not stopped.wait(seconds):
            try:
                self._handle([message])
            except MemoryClosedError:
                return
            except HybridMemoryError as error:
                _log.warning("a timer woke an agent, which failed: %s", error)

    async def _in_a_thread(self, messages: Sequence[Message]) -> AgentRun:
        cancelled = threading.Event()
        try:
            return await asyncio.to_thread(self._handle, messages, cancelled)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def _handle(self, messages: Sequence[Message], cancelled: threading.Event | None = None) -> AgentRun:
        """Write the event and work until the agent yields; waits for a run in progress."""
        with self._lock:
            self._cancelled = cancelled or threading.Event()
            newest = self.memory.events(kinds=(EventKind.MESSAGE,), limit=1)
            before = newest[-1].position if newest else 0
            receipt = self.memory.remember(messages) if messages else None
            if receipt is not None and receipt.positions:
                before = min(receipt.positions) - 1  # of a message that was sent before, too
            prepared(self.memory)
            why = self._work()
            events = self._events_back_to(lambda event: event.position <= before)
            since = [event.message for event in events if event.position > before and event.kind is EventKind.MESSAGE]
        replies = [message.text for message in since if message.role is Role.ASSISTANT and not message.tool_calls]
        return AgentRun(tuple(replies), tuple(since), why)

    def _events_back_to(self, reached: Callable[[Event], bool]) -> list[Event]:
        """The newest messages and resets, oldest first, at least to one for which this is true."""
        limit = NEWEST
        while True:
            events = self.memory.events(kinds=(EventKind.MESSAGE, EventKind.RESET), limit=limit)
            if len(events) < limit or limit > MOST_READ or any(map(reached, events)):
                return events
            limit *= 4

    def _work(self) -> str:
        """Do all that is pending, and return why the agent yields."""
        steps, why, own = 0, "nothing to do", ""
        while True:
            pending = self._pending()
            if not (pending.missing or pending.goes_on or pending.waiting):
                return why
            if self._cancelled.is_set():
                return self._stop(pending, "because it was cancelled")
            if not pending.missing and steps == self._max_steps:
                return self._stop(pending, f"after {steps} answers")
            why = "yielded"
            if pending.missing:
                # An answer of an earlier run may have been acted upon, by a process that ended before it said so.
                self._call(pending, again=pending.answer is None or pending.answer.id != own)
                continue
            steps += 1
            own = self._ask(pending)
            if not own:
                return why

    def _pending(self) -> Pending:
        """What is to be done next, after the last reset."""
        events = self._events_back_to(lambda event: event.kind is EventKind.RESET or ANSWER in event.message.extra)
        reset = max((row for row, event in enumerate(events, 1) if event.kind is EventKind.RESET), default=0)
        messages = events[reset:]
        answer = next((event for event in reversed(messages) if ANSWER in event.message.extra), None)
        head = messages[-1].position if messages else 0
        if answer is None:
            # Of a conversation from before the agent only a last turn that nobody has answered is left to do.
            seen = max((event.position for event in messages if event.message.role is Role.ASSISTANT), default=0)
            waiting = [event for event in messages if event.position > seen and event.message.opens]
            return Pending(head, None, (), None, (), goes_on=False, waiting=tuple(waiting[-1:]))
        note = answer.message.extra[ANSWER]
        later = [event.message for event in messages if event.position > answer.position]
        results = {message.tool_call_id: message for message in later if message.role is Role.TOOL}
        calls = answer.message.tool_calls
        stopped = any(message.event == STOPPED for message in later)
        failed = any(results[call.id].extra.get(FAILED) for call in calls if call.id in results)
        return Pending(
            head,
            answer,
            opened=tuple(note["opened"]),
            blocks=note["blocks"],
            missing=tuple(call for call in calls if call.id not in results),
            goes_on=not stopped and bool(note["goes_on"] or failed),
            # What came while the model was answering has a smaller position than its answer.
            waiting=tuple(event for event in messages if event.position > note["seen"] and event.message.opens),
        )

    def _ask(self, pending: Pending) -> str:
        """Write the model's answer to everything so far; its id, or nothing if it says and does nothing."""
        blocks = self.memory.blocks()
        text = encodable(self._model.complete(self._prompt(blocks)))
        answer = read(text, self._by_name)
        messages = [Message(role=Role.ASSISTANT, content=reply) for reply in answer.replies if reply]
        if answer.calls:
            calls = [
                ToolCall(name=call.name, arguments=call.arguments, id=f"call-{pending.head}-{row}")
                for row, call in enumerate(answer.calls)
            ]
            messages.append(Message(role=Role.ASSISTANT, tool_calls=calls))
        if not messages:
            return ""
        note = {
            "seen": pending.head,
            "opened": [*(pending.opened if pending.goes_on else ()), *(event.id for event in pending.waiting)],
            "blocks": {label: block.revision for label, block in blocks.items()},
            "goes_on": answer.goes_on,
        }
        messages[-1] = messages[-1].model_copy(update={"extra": {ANSWER: note}})
        return self.memory.remember(messages).ids[-1]

    def _prompt(self, blocks: dict[str, Block]) -> list[Message]:
        """The prompt in the model's form, which never exceeds the budget."""
        for _ in range(TRIES):
            context = self.memory.assemble(
                max_tokens=int(self._max_tokens / self._growth), identity=self._identity,
                instructions=self._instructions, blocks=blocks, profile="", k=self._k, layout="queue",
                paging=self._paging, reader=FETCH.name if FETCH.name in self._by_name else None,
            )  # fmt: skip
            prompt = rendered(context.messages)
            if prompt[-1].role is Role.ASSISTANT:  # what providers take for the beginning of the next answer
                prompt.append(Message(content=as_event(AGAIN).content))
            tokens = PRIMING + sum(message_tokens(message, self._count) for message in prompt)
            self._growth = max(tokens / context.tokens, 1.0)
            if tokens <= self._max_tokens:
                return prompt
            self._growth *= GROWTH
        raise InvalidInputError(f"max_tokens={self._max_tokens} is too small for instructions and blocks")

    def _call(self, pending: Pending, *, again: bool) -> None:
        """Execute the next call and write its result."""
        call = pending.missing[0]
        calls = () if pending.answer is None else pending.answer.message.tool_calls
        if call in calls[MAX_CALLS:]:
            self.memory.remember([_result(refused, Answer(TOO_MANY, failed=True)) for refused in pending.missing])
        else:
            self.memory.remember(_result(call, self._execute(call, pending, again=again)))

    def _execute(self, call: ToolCall, pending: Pending, *, again: bool) -> Answer:
        """The answer to a call; an error is an answer too, except that of a store, after which the call is repeated."""
        if isinstance(call.arguments, str):
            return failure(unread(call.arguments))
        function = self._by_name.get(call.name)
        if function is None:
            return failure(f"there is no function {shown(call.name)}; there are: {', '.join(self._by_name)}")
        arguments = {name: value for name, value in call.arguments.items() if name not in (HEARTBEAT, THOUGHTS)}
        if isinstance(function, CustomFunction):
            return Answer(INTERRUPTED, failed=True) if again else function.run(arguments)
        return function.run(
            self.memory,
            arguments,
            max_tokens=answer_tokens(self._max_tokens),
            id=call.id or "",
            source="" if pending.answer is None else pending.answer.id,
            because=pending.opened,
            blocks=pending.blocks,
            strict=True,
        )

    def _stop(self, pending: Pending, why: str) -> str:
        """End the run; messages that the model has not seen yet wait for the next event."""
        results = [_result(call, Answer(NOT_CALLED, failed=True)) for call in pending.missing]
        note = Message(role=Role.SYSTEM, content=f"Your last run was stopped {why}.", extra={"event": STOPPED})
        self.memory.remember([*results, note])
        return f"stopped {why}"


def _result(call: ToolCall, answer: Answer) -> Message:
    extra = {FAILED: True} if answer.failed else {}
    return Message(role=Role.TOOL, content=answer.text, name=call.name, tool_call_id=call.id, extra=extra)


def _event_message(event: str, text: str) -> Message:
    if not checked_text("event", event).strip() or event in (PRESSURE, STOPPED):
        raise InvalidInputError(f"an event needs a name, such as 'login', got {shown(event)}")
    if not checked_text("text", text).strip():
        raise InvalidInputError("text is empty: say what happened")
    return Message(role=Role.SYSTEM, content=text, extra={"event": event})
