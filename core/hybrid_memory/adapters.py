"""Building blocks for adapters of agent frameworks; applications do not need them.

An adapter writes each method once, as a coroutine over a `Runner` that makes its calls with ``await run.call(...)``;
`faces` turns it into the blocking method and its async twin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from hybrid_memory.arguments import Arguments, checked
from hybrid_memory.blocks.block import MAX_CHARS, checked_label, checked_length
from hybrid_memory.config import PromptConfig
from hybrid_memory.context.condense import How
from hybrid_memory.context.layout import Parts, as_shown, language_of, memory_mark
from hybrid_memory.context.memories import is_worth_a_line, memory_note, window, without_questions
from hybrid_memory.context.request import LEAST_TOKENS
from hybrid_memory.context.summary import Line, written
from hybrid_memory.context.view import budget_of
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.index.record import RecordKind, Scalar
from hybrid_memory.items.items import FindItems, GetItem, Item, ItemOperation, ListNamespaces, PutItem
from hybrid_memory.log.event import TimeOrderedIds, handle
from hybrid_memory.log.exchanges import exchanges
from hybrid_memory.log.message import PRESSURE, STOPPED, Message, Role
from hybrid_memory.log.origin import Origin
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.memory.held import IN_MEMORY, close_all, found, held, opened, url_of
from hybrid_memory.memory.texts import SWEEP_EVERY
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.spans import asks, finds
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import InlineRunner, Runner, two_faces
from hybrid_memory.runtime.tracing import Given, Span, listening, traced
from hybrid_memory.scope import check_name
from hybrid_memory.store.services import Services
from hybrid_memory.text.asking import asks_nothing
from hybrid_memory.text.structured import encodable, encodable_json
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.urls import shown_url
from hybrid_memory.validation import checked_text, instant, shown

__all__ = [
    "IN_MEMORY",
    "LEAST_TOKENS",
    "ORIGIN",
    "SWEEP_EVERY",
    "TWINS",
    "FindItems",
    "GetItem",
    "How",
    "Item",
    "ItemOperation",
    "ListNamespaces",
    "LruCache",
    "Portion",
    "PutItem",
    "Runner",
    "Scalar",
    "Span",
    "as_shown",
    "budget_of",
    "checked",
    "checked_blocks",
    "checked_text",
    "close_all",
    "encodable",
    "encodable_json",
    "estimate_tokens",
    "exchanges",
    "faces",
    "found",
    "handle",
    "held",
    "instant",
    "listening",
    "lowered",
    "new_id",
    "opened",
    "recollect",
    "shown",
    "shown_url",
    "storable_name",
    "url_of",
    "window",
    "without_notices",
]  # fmt: skip

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

SPARE = 3
"""How many times more hits are recalled, to make up for those that are not memories."""

ORIGIN = "hybrid_memory_origin"
"""The key for a message's origin in a framework's message, if it is lower than its role implies."""

new_id = TimeOrderedIds()
"""A new id, which sorts after all earlier ones."""


class TwinRunner(InlineRunner):
    """Awaits each function's async twin, ``arecall`` for ``recall``, so that the core decides where it runs."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the twin, which is in the same object or module as the function."""
        name, owner = function.__name__, getattr(function, "__self__", None)
        private = "_" * name.startswith("_")
        beside = sys.modules[function.__module__] if owner is None else owner
        twin: Callable[P, Coroutine[Any, Any, T]] = getattr(beside, f"{private}a{name.removeprefix('_')}")
        return await twin(*args, **kwargs)


TWINS = TwinRunner()


def faces(
    flow: Callable[Concatenate[S, Runner, P], Coroutine[Any, Any, T]],
) -> tuple[Callable[Concatenate[S, P], T], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]]:
    """The blocking method and its async twin: ``get`` and ``aget`` from ``_get(self, run, /, ...)``.

    Arguments are checked against the signature; an invalid one raises `InvalidInputError`.
    """
    arguments = Arguments(flow, own=2)

    async def admitted(self: S, run: Runner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given, named = arguments(args, kwargs)
        return await flow(self, run, *given, **named)

    return two_faces(admitted, lambda _: TWINS, like=flow)


async def recollect(
    run: Runner, memory: ScopedMemory, query: str, /, *, k: int, shown: Collection[str], **options: Any
) -> list[Hit]:
    """At most k turns that are relevant to a question, best first; none for small talk.

    ``shown`` are texts, or ids of messages, that are in the prompt already; ``options`` are arguments of recall.
    """
    if not k or not query or asks_nothing(query):
        return []
    services = memory._runtime.services  # noqa: SLF001 - a part of it
    return await _recollected(run, services, memory, query, k=k, shown=shown, **options)


def _asks(span: Span, given: Given) -> None:
    asks(span, given["query"], given["k"], given["memory"].scope)


@traced("recall", _asks, finds)
async def _recollected(
    run: Runner, services: Services, memory: ScopedMemory, query: str, *, k: int, shown: Collection[str], **options: Any
) -> list[Hit]:
    seen, most = set(shown), SPARE * k + len(shown)
    hits = await run.call(memory.recall, query, k=most, kinds=(RecordKind.TURN,), min_confidence=0.0, **options)
    fresh = [hit for hit in hits if seen.isdisjoint((hit.record.text.strip(), *hit.record.sources))]
    least = services.config.prompt.min_confidence
    sure = (hit for hit in fresh if hit.confidence is None or hit.confidence >= least)
    return without_questions([hit for hit in sure if is_worth_a_line(hit)][:k], seen)


@dataclass(frozen=True, slots=True)
class Portion:
    """The memory's part of a framework's prompt: hits for the query, a profile, and summary lines, oldest first."""

    query: str = ""
    profile: str = ""
    lines: Sequence[Line] = ()
    hits: Sequence[Hit] = ()

    @property
    def text(self) -> str:
        """Profile, summary and recalled turns, each in its own marked place; what changes least comes first."""
        chinese = language_of("".join(line.text for line in self.lines)) == "zh"
        parts = Parts(profile=self.profile, summary=written(self.lines, chinese=chinese, handles=False))
        recalled = memory_mark(memory_note(self.hits, self.query), PromptConfig())
        return "\n\n".join(part for part in (parts.standing, recalled) if part)

    def within(self, max_tokens: int, count: Callable[[str], int]) -> Portion:
        """The portion that fits, in whole lines: the worst hits go first, then old summary lines, then the profile."""
        left = self
        while left.text and count(left.text) > max_tokens:
            left = left._less()
        return left

    def _less(self) -> Portion:
        if self.hits:
            return replace(self, hits=self.hits[:-1])
        if self.lines:
            return replace(self, lines=self.lines[1:])
        return replace(self, profile="\n".join(self.profile.splitlines()[:-1]))


def without_notices(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that the memory itself addressed to a model."""
    return [message for message in messages if message.event not in (PRESSURE, STOPPED)]


def checked_blocks(texts: Mapping[str, str] | None) -> dict[str, str]:
    """Texts of blocks by label; raises `InvalidInputError` for a label or text that a block cannot have."""
    for label, text in (texts or {}).items():
        checked_length(checked_label(label), checked_text("a block", text), MAX_CHARS)
    return dict(texts or {})


def lowered(role: Role, origin: Any) -> dict[str, Origin]:
    """The ``origin`` field for a message, if its role may have this origin; otherwise empty."""
    try:
        return {} if origin is None else {"origin": Message(role=role, content="-", origin=origin).spoken_by}
    except InvalidMessageError:
        return {}


def storable_name(value: Any) -> str | None:
    """The name or id unchanged; None if the log cannot store it."""
    try:
        return None if value is None else check_name("a name or id", value)
    except ValueError:
        return None
