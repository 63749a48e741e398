"""Methods that fit a long conversation into a model's prompt: our own, and those that packages register.

Two strategies of compaction exist only to be compared with those of the library.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from hybrid_memory import Context, Line, Message, Role, ScopedMemory, open_memory
from hybrid_memory.analysis import (
    RECALLED_TURNS,
    STRATEGIES,
    Anchored,
    Recursive,
    Strategy,
    SummaryJob,
    candidates,
    chosen,
    statements,
)
from hybrid_memory.config import CompactionConfig, LearningConfig, MemoryConfig
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.sockets import registered
from hybrid_memory.text.tokens import TokenCounter, message_tokens
from hybrid_memory.tools.reading import FETCH
from hybrid_memory_evaluation.methods.method import Fetched, Method, Prompt, Replay, Setting, StockReplay


class Regenerate(Anchored):
    """Rewrites the whole structured summary from the last one and the span, to the length of its share of a prompt."""

    name = "regenerate"

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """The most important of the existing lines and the span's sentences."""
        fresh = candidates(job.span, job.room.cleaning)
        return chosen([*job.standing, *fresh], max_tokens=job.room.shown, count=job.room.count)

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The last summary and the span, both to be rewritten."""
        rules, turns = super().prompt(replace(job, standing=()))
        before = "\n".join(f"[{line.last}] {line.section}: {line.text}" for line in job.standing)
        both = f"Notes so far:\n{before}\n\nNew turns:\n{turns.text}" if before else turns.text
        task = f"{rules.text}\n\nRewrite the notes so far together with the new turns."
        return [Message(role=Role.SYSTEM, content=task), Message(role=Role.USER, content=both)]

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """The model's lines and nothing else."""
        return chosen(statements(answer, job.span, job.standing), max_tokens=job.room.shown, count=job.room.count)


class Dense(Recursive):
    """The highest compression: one dense text of a third of the budget."""

    name = "compact"
    share = 0.35
    task = (
        "Write the densest possible note of a conversation: names, numbers, dates, paths, codes, decisions and open "
        "points, separated by semicolons, no sentences, at most {words} words. Keep what the note so far says."
    )


COMPARED: dict[str, str | Strategy] = {
    **{name: name for name in STRATEGIES},
    "regenerate": Regenerate(),
    "compact": Dense(),
}
"""By name, what `CompactionConfig` takes: those of the library, and these."""

ALONE = "-alone"
"""Marks a method without recall, which has only the summary and the newest turns."""

FETCHED = (10, 30)
"""How many turns a model requests when it searches again, and a third time."""

_HANDLES = re.compile(r"#\d+(?:-\d+)?\b")


class Compacting:
    """This library with one of the strategies, as `HybridMemory` works in a chain or an agent.

    Args:
        strategy: its name in `COMPARED`.
        alone: recall nothing and fetch nothing, so that only the summary represents compacted turns.
    """

    def __init__(self, strategy: str, *, alone: bool = False) -> None:
        self.name = f"{strategy}{ALONE}" if alone else strategy
        self._strategy = strategy
        self._alone = alone

    @contextmanager
    def replay(self, setting: Setting) -> Iterator[Replay]:
        """An empty memory in its own folder."""
        with tempfile.TemporaryDirectory() as folder:
            given = "none" if self._alone else setting.embedder
            named = given if isinstance(given, str) else getattr(given, "name", "auto" if given is None else "given")
            config = MemoryConfig(
                url=f"sqlite:///{Path(folder) / 'chat.db'}",
                power_safe=False,
                embedder=named,
                compaction=CompactionConfig(strategy=COMPARED[self._strategy], max_tokens=setting.max_tokens),
                learning=LearningConfig(model=False, background=False),
            )
            with open_memory(
                config,
                embedder=None if isinstance(given, str) else given,
                language_model=setting.model,
                token_counter=setting.count,
            ) as memory:
                yield _MemoryReplay(memory.scoped(user="user", session="chat"), setting, alone=self._alone)


class _MemoryReplay:
    """A conversation in a memory."""

    def __init__(self, chat: ScopedMemory, setting: Setting, *, alone: bool) -> None:
        self._chat = chat
        self._setting = setting
        self._alone = alone
        self._behind: dict[str, frozenset[str]] = {}

    def say(self, message: Message) -> None:
        self._chat.remember(message)

    def prompt(self, question: str | None = None) -> Prompt:
        context: Context = self._chat.assemble(
            question, max_tokens=self._setting.max_tokens, k=0 if self._alone else RECALLED_TURNS, reader=FETCH.name
        )
        return Prompt(context.as_dicts(), context.tokens)

    def reaches(self, prompt: Prompt, source: str) -> bool:
        return any(source in self._expanded(handle) for handle in dict.fromkeys(_HANDLES.findall(prompt.text)))

    def _expanded(self, handle: str) -> frozenset[str]:
        """The ids of the messages behind a handle; empty for a number that only looks like a handle."""
        if handle not in self._behind:
            try:
                result = self._chat.expand(handle)
            except InvalidInputError:
                result = []
            self._behind[handle] = frozenset(message.id for message in result if message.id)
        return self._behind[handle]

    def fetch(self, question: str, prompt: Prompt) -> Iterator[Fetched]:
        del prompt
        seen: set[int] = set()
        for k in () if self._alone else FETCHED:
            fresh = [hit for hit in self._chat.recall(question, k=k) if hit.record.id not in seen]
            seen.update(hit.record.id for hit in fresh)
            sources = frozenset(source for hit in fresh for source in hit.record.sources)
            yield Fetched("\n".join(hit.record.text for hit in fresh), sources)


@dataclass(slots=True)
class Verbatim:
    """The messages themselves: the whole conversation, whatever its size, or the newest messages that fit.

    These follow the initial system messages and start with a user turn. If a single turn with its tool calls does not
    fit, all of it is shown.
    """

    name: str
    whole: bool

    def replay(self, setting: Setting) -> AbstractContextManager[Replay]:
        """An empty list."""
        return nullcontext(_ListReplay(setting, whole=self.whole))


class _ListReplay(StockReplay):
    def __init__(self, setting: Setting, *, whole: bool) -> None:
        super().__init__(setting)
        self._whole = whole
        self._messages: list[Message] = []

    def _add(self, message: Message) -> None:
        self._messages.append(message)

    def _shown(self, question: Message | None) -> Sequence[Message]:
        said = [*self._front, *self._messages, *([] if question is None else [question])]
        return said if self._whole else _newest(said, self._setting)


def _newest(messages: Sequence[Message], setting: Setting) -> list[Message]:
    rules = list(takewhile(lambda message: message.role is Role.SYSTEM, messages))
    asked = [row for row, message in enumerate(messages) if message.role is Role.USER]
    first = truncated(messages, setting.max_tokens, setting.count)
    begins = next((row for row in asked if row >= first), asked[-1] if asked else first)
    return [*rules, *messages[max(begins, len(rules)) :]]


def truncated(messages: Sequence[Message], max_tokens: int, count: TokenCounter) -> int:
    """How many of the first messages a window of this many tokens does not show, apart from initial system messages."""
    rules = takewhile(lambda message: message.role is Role.SYSTEM, messages)
    left = max_tokens - sum(message_tokens(message, count) for message in rules)
    for row in range(len(messages), 0, -1):
        left -= message_tokens(messages[row - 1], count)
        if left < 0:
            return row
    return 0


_OWN: tuple[Method, ...] = (
    *(Compacting(name, alone=alone) for name in COMPARED for alone in (False, True)),
    Verbatim("sliding-window", whole=False),
    Verbatim("none", whole=True),
)
OWN = {method.name: method for method in _OWN}
"""The methods of this library by name."""


def found_methods() -> dict[str, Method]:
    """All available methods by name; those of frameworks that are not installed are missing.

    A package registers a function that returns its methods, see `hybrid_memory.sockets.GROUPS`.
    """
    methods = dict(OWN)
    for entry in registered("evaluation method").values():
        try:
            made = entry.load()()
        except ImportError:
            continue
        methods |= {method.name: method for method in made}
    return methods


def chosen_methods(names: Sequence[str | Method]) -> list[Method]:
    """The methods with these names, without duplicates; objects are returned unchanged.

    Raises:
        InvalidInputError: a name is unknown, or no method is named.
    """
    existing = found_methods() if any(isinstance(name, str) for name in names) else {}
    unknown = [name for name in names if isinstance(name, str) and name not in existing]
    if unknown or not names:
        what = f"no method {', '.join(map(repr, unknown))}" if unknown else "no method is named"
        raise InvalidInputError(f"{what}: choose from {', '.join(existing or found_methods())}")
    chosen = [existing[name] if isinstance(name, str) else name for name in names]
    return list({method.name: method for method in chosen}.values())
