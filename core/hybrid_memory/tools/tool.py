"""A tool: its texts for a model, the check of its arguments, handles as a model writes them, and a bounded answer."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hybrid_memory.errors import (
    AccessDeniedError,
    InvalidConfigError,
    InvalidInputError,
    InvalidScopeError,
    ModelError,
    StoreError,
)
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import handle
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.runtime.runners import TWINS, Runner, two_faces
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.validation import CheckedModel, shown

MAX_TOKENS = 2000
"""The size limit of any answer, by `hybrid_memory.text.tokens.estimate_tokens`."""

CUT = " … (cut)"

NOTED_WITH = "noted_with"  # the metadata key of every note: the tool that wrote it
REPLACES = "replaces"  # the metadata key of a note that `update` wrote: the position of the turn that it replaces

UPDATED = "memory_update"

MAX_UPDATES = 1000  # how many updates are considered, those nearest to the question first

_HANDLE = re.compile(r"\[?#?(\d{1,18})(?:\s*-\s*#?(\d{1,18}))?\]?")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. As a function, it takes a blocking method of a memory and calls it or its async twin.

    Attributes:
        by: how methods are called.
        max_tokens: the limit of the answer.
        id: the id of the call, so that it is not executed twice; empty if unknown.
        source: the id of the message that contains the call.
        because: the ids of the turns that the model made it for.
        blocks: revisions of the blocks that the model saw, by label; None if unknown.
        strict: whether a failing store raises an error, for a caller that repeats the call, or is an answer to the
            model.
        spaces: names of shared spaces that the call may use in addition to the memory, as far as its user and agent
            may read them.
    """

    by: Callable[..., Awaitable[Any]]
    max_tokens: int = MAX_TOKENS
    id: str = ""
    source: str = ""
    because: tuple[str, ...] = ()
    blocks: Mapping[str, int] | None = None
    strict: bool = False
    spaces: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A unique key of the call; empty if unknown. The id alone is not unique, since sessions may repeat ids."""
        return f"{self.source}:{self.id}" if self.source and self.id else self.id

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of all messages that led to the call."""
        return (*((self.source,) if self.source else ()), *self.because)

    async def __call__(self, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of the method."""
        return await self.by(verb, *args, **kwargs)

    async def updates(self, memory: ScopedMemory, query: str) -> dict[int, Record]:
        """The notes that replaced turns, by the positions of those; a query that is recalled anyway costs least."""
        hits = await self(memory.recall, query, k=MAX_UPDATES, kinds=(RecordKind.TURN,), metadata={NOTED_WITH: UPDATED})
        notes = sorted((hit.record for hit in hits), key=lambda record: record.turn)
        # A note stands behind what it replaces, whatever an application writes into metadata: so no chain is a circle.
        return {old: note for note in notes if isinstance(old := note.metadata.get(REPLACES), int) and old < note.turn}

    async def homes(self, memory: ScopedMemory) -> list[ScopedMemory]:
        """The memory, followed by the call's spaces that its user and agent may read now."""
        if not self.spaces:
            return [memory]
        readable = frozenset(await self(memory.spaces))
        return [memory, *(memory.space(name) for name in self.spaces if name in readable)]

    async def home(self, memory: ScopedMemory, place: int) -> ScopedMemory:
        """The memory or space that contains the turn at this log position; the memory itself if none does."""
        if not self.spaces:
            return memory
        for each in await self.homes(memory):
            with suppress(InvalidInputError):
                await self(each.expand, named(place))
                return each
        return memory


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a model; if the call was wrong, ``failed`` is true and the text says why.

    ``media`` are content blocks with what the text describes, for hosts whose tools can answer with them.
    """

    text: str
    failed: bool = False
    media: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool with which a model uses its memory: its name, and for the model what it does and when to use it.

    ``arguments`` is the schema of the arguments, with a description of each; ``flow`` does it, blocking and async.
    """

    name: str
    description: str
    arguments: type[CheckedModel]
    flow: Callable[[Call, ScopedMemory, Any], Coroutine[Any, Any, str | Answer]]

    async def _run(self, run: Runner, /, memory: ScopedMemory, arguments: Mapping[str, Any], **known: Any) -> Answer:
        """The answer, of at most `MAX_TOKENS`, from the memory of one owner; ``known`` are fields of `Call`.

        Mistakes of the model are answers too: an invalid argument, a handle that does not exist or belongs to another
        owner, a missing right. So is a failing store or model, which is also logged.

        Raises:
            InvalidScopeError: the scope names no owner.
            MemoryClosedError: the memory was closed.
        """
        call = Call(run.call, **known)
        try:
            made = await self.flow(call, memory, self.arguments.of(arguments))
            answer = made if isinstance(made, Answer) else Answer(made)
            return replace(answer, text=bounded(answer.text, call.max_tokens))
        except (InvalidScopeError, InvalidConfigError):
            raise
        except (InvalidInputError, AccessDeniedError) as error:
            return Answer(bounded(f"Error: {error}", call.max_tokens), failed=True)
        except (ModelError, StoreError) as error:
            if call.strict and isinstance(error, StoreError):
                raise
            _log.warning("%s failed: %s", self.name, error)
            return Answer("Error: the memory cannot be reached now. Continue without it.", failed=True)

    run, arun = two_faces(_run, lambda _: TWINS)


def bounded(text: str, max_tokens: int = MAX_TOKENS) -> str:
    """The text, or as much of its beginning as fits, followed by a mark."""
    kept, chars = text, len(text)
    while (tokens := estimate_tokens(kept)) > max_tokens:
        chars = min(chars - 1, chars * max_tokens // tokens)
        kept = text[:chars] + CUT
    return kept


def stretch(text: str) -> tuple[int, int]:
    """The first and last position of a handle; raises `InvalidInputError` if it is invalid."""
    match = _HANDLE.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{shown(text)} is not a handle: give one from memory_recall, such as '#12'")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise InvalidInputError(f"{shown(text)} must be ascending")
    return first, last


def position(text: str) -> int:
    """The position of a handle of one turn; raises `InvalidInputError`."""
    first, last = stretch(text)
    if first != last:
        raise InvalidInputError(f"{shown(text)} is a range: give the handle of one turn, such as '#12'")
    return first


def newest(place: int, replaced: Mapping[int, Record]) -> Record | None:
    """The note that replaces the turn now; None if it was not replaced."""
    note = None
    while place in replaced:
        note = replaced[place]
        place = note.turn
    return note


def named(place: int) -> str:
    """The handle of one turn."""
    return handle(place, place)
