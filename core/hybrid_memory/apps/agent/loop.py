"""The loop of an agent: it does what the log says is next, and writes it, until the agent yields."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

from hybrid_memory import Block, EventKind, Message, Role, ScopedMemory, ToolCall
from hybrid_memory.analysis import STOPPED, as_event
from hybrid_memory.apps.agent.executor import Executor
from hybrid_memory.apps.agent.instructions import rendered
from hybrid_memory.apps.agent.reading import read
from hybrid_memory.config import PagingConfig
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.ports import LanguageModel
from hybrid_memory.steps import FAILED, Chain, Does, Next, Step
from hybrid_memory.text.structured import encodable
from hybrid_memory.text.tokens import PRIMING, TokenCounter, message_tokens
from hybrid_memory.validation import shown

MAX_CALLS = 4
"""The most calls in one answer; each result may fill its share of the window, and they leave it together."""

WRITING = 1.04
"""How many times longer a prompt is in the model's form, with calls as JSON; replaced by the measured value."""

TRIES = 6
"""How often a prompt is made again, each time with a smaller budget, until it fits in the model's form."""

LOOKED_AT = 64
"""How many of the newest messages to read first to find those of a run."""

YIELDED = "yielded"
AGAIN = "You asked to be called again."
NOT_CALLED = "Error: not called, because the run was stopped."


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run is stopped although the model would continue; counted since the agent last yielded.

    Attributes:
        steps: the most answers of the model.
        tokens: the most tokens of its prompts and answers together; None sets no limit.
    """

    steps: int
    tokens: int | None

    def reached(self, chain: Chain) -> str:
        """The limit that was reached, in words; empty if none."""
        if chain.steps >= self.steps:
            return f"after {chain.steps} answers"
        if self.tokens is not None and chain.tokens >= self.tokens:
            return f"after {chain.tokens} tokens"
        return ""


@dataclass(frozen=True, slots=True)
class Frame:
    """The fixed parts of each prompt, around the conversation.

    Attributes:
        identity, instructions: the texts of the system message.
        max_tokens: the budget of a prompt.
        k: how many turns to recall for each user turn; MemGPT itself recalls none.
        paging: how the window is used.
        reader: the name of the function that reads the text behind a handle; None if the model has none.
    """

    identity: str
    instructions: str
    max_tokens: int
    k: int
    paging: PagingConfig
    reader: str | None


@dataclass
class Loop:
    """The work of one agent in one session; the caller of `run` holds its lock.

    Attributes:
        memory: the memory of the session.
        count: counts tokens.
        model: the language model.
        executor: executes its calls.
        writing: how many times longer the last prompt was in the model's form than counted.
    """

    memory: ScopedMemory
    count: TokenCounter
    model: LanguageModel
    executor: Executor
    frame: Frame
    limits: Limits
    writing: float = WRITING

    def run(self, cancelled: threading.Event, loop: asyncio.AbstractEventLoop | None = None) -> str:
        """Do all pending work and return why the agent yields. An earlier process may have started the first call.

        Args:
            cancelled: ends the run before the next step.
            loop: the event loop for functions that are coroutines; without it, they get their own loop.

        Raises:
            ModelError: the model failed; pending work stays pending.
            StoreError: a step could not be written; the next run repeats it.
        """
        again, asked, why = True, False, ""
        while True:
            chain = self.memory.steps().left()
            todo = chain.next
            if todo is Next.WAIT:
                return why or "nothing to do"
            stopped = "because it was cancelled" if cancelled.is_set() else ""
            stopped = stopped or (self.limits.reached(chain) if todo is Next.ASK else "")
            if stopped:
                step = self._stop(chain, stopped)
            elif todo is Next.CALL:
                # What a rollback hides may have been called too.
                step = self._called(chain, again=again or (chain.rewound and not asked), loop=loop)
            elif todo is Next.ASK:
                step = self._asked(chain)
            else:
                step = Step(Does.YIELDED, upto=chain.head, why=YIELDED)
            # Where another process was faster, the log says what is to be done now, and a call may be that one's.
            done = self.memory.steps().advance(chain, step)
            again, asked = not done, asked or (done and todo is Next.ASK)
            why = step.why if done else why
            if stopped and done:
                return why

    def _asked(self, chain: Chain) -> Step:
        """The model's answer to everything so far."""
        existing = self.memory.blocks()
        prompt, tokens = self._prompt(existing)
        text = encodable(self.model.complete(prompt))
        answer = read(text, self.executor.functions)
        messages = [Message(role=Role.ASSISTANT, content=reply) for reply in answer.replies if reply]
        if answer.calls:
            calls = [
                ToolCall(name=call.name, arguments=call.arguments, id=f"call-{chain.number + 1}-{row}")
                for row, call in enumerate(answer.calls)
            ]
            messages.append(Message(role=Role.ASSISTANT, tool_calls=calls))
        if not messages:
            return Step(Does.YIELDED, upto=chain.head, why=YIELDED)
        return Step(
            Does.ANSWERED,
            tuple(messages),
            opened=(*chain.opened, *(event.id for event in chain.waiting)),
            upto=chain.head,
            blocks={label: block.revision for label, block in existing.items()},
            goes_on=answer.goes_on,
            tokens=tokens + self.count(text),
        )

    def _prompt(self, blocks: dict[str, Block]) -> tuple[list[Message], int]:
        """The prompt in the model's form, and its size, which never exceeds the budget."""
        frame = self.frame
        for _ in range(TRIES):
            budget = int(frame.max_tokens / self.writing)
            context = self.memory.assemble(
                max_tokens=budget, identity=frame.identity, instructions=frame.instructions, blocks=blocks, profile="",
                k=frame.k, layout="queue", paging=frame.paging, reader=frame.reader,
            )  # fmt: skip
            prompt = rendered(context.messages)
            if prompt[-1].role is Role.ASSISTANT:  # what providers take for the beginning of the next answer
                prompt.append(Message(content=as_event(AGAIN).content))
            tokens = PRIMING + sum(message_tokens(message, self.count) for message in prompt)
            self.writing = max(tokens / context.tokens, 1.0)
            if tokens <= frame.max_tokens:
                return prompt, tokens
            self.writing *= WRITING
        raise InvalidInputError(f"max_tokens={frame.max_tokens} is too small for instructions and blocks")

    def _called(self, chain: Chain, *, again: bool, loop: asyncio.AbstractEventLoop | None) -> Step:
        """The result of the next call."""
        call = chain.missing[0]
        asked = () if chain.answer is None else chain.answer.message.tool_calls
        if call in asked[MAX_CALLS:]:
            text, failed = f"Error: not called; at most {MAX_CALLS} calls in one answer.", True
        else:
            answer = self.executor.run(call, chain, again=again, loop=loop)
            text, failed = answer.text, answer.failed
        return Step(Does.CALLED, (_result(call, text, failed=failed),))

    @staticmethod
    def _stop(chain: Chain, why: str) -> Step:
        """Make the agent yield; messages that it has not seen yet wait for the next event."""
        results = [_result(call, NOT_CALLED, failed=True) for call in chain.missing]
        text = f"Your last run was stopped {why}."
        note = Message(role=Role.SYSTEM, content=text, extra={"event": STOPPED})
        unseen = min((event.position for event in chain.waiting), default=chain.head + 1)
        return Step(Does.YIELDED, (*results, note), upto=min(chain.head, unseen - 1), why=f"stopped {why}")

    def last_position(self) -> int:
        """The log position of the last message; 0 without any."""
        events = self.memory.events(kinds=(EventKind.MESSAGE,), limit=1)
        return events[-1].position if events else 0

    def messages_since(self, position: int) -> list[Message]:
        """The messages after this log position."""
        limit = LOOKED_AT
        while True:
            events = self.memory.events(kinds=(EventKind.MESSAGE,), limit=limit)
            if len(events) < limit or events[0].position <= position:
                return [event.message for event in events if event.position > position]
            limit *= 4


def _result(call: ToolCall, text: str, *, failed: bool) -> Message:
    extra = {FAILED: True} if failed else {}
    return Message(role=Role.TOOL, content=text, name=call.name, tool_call_id=call.id, extra=extra)


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an agent did in response to an event.

    Attributes:
        replies: the agent's messages to the user.
        messages: all messages since the event: calls, results, replies, warnings.
        why: why it yielded: ``yielded`` by itself, or ``stopped ...``.
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
