"""Building blocks for adapters of agent frameworks; applications do not need them.

An adapter writes each method once, as a coroutine over a `Runner` that makes its calls with ``await run.call(...)``;
`faces` turns it into the blocking method and its async twin.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from hybrid_memory.arguments import checked
from hybrid_memory.config import PromptConfig
from hybrid_memory.context.layout import (
    LEAST_TOKENS,
    RECALLED_TURNS,
    Parts,
    Voice,
    as_shown,
    memory_mark,
    prompt_language,
)
from hybrid_memory.context.memories import (
    Asking,
    Memories,
    asking_turn,
    fitting,
    memories,
    memory_note,
    rules_of,
    shared_note,
    window,
)
from hybrid_memory.context.shortening import How, faded, with_handles
from hybrid_memory.context.summary import Line, written
from hybrid_memory.context.view import budget_of
from hybrid_memory.documents.document import MAX_CHARS, File, checked_label, checked_length
from hybrid_memory.documents.items import FindItems, GetItem, Item, ItemOperation, ListNamespaces, PutItem
from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.sheet import sheet, spoken_words, standing_text
from hybrid_memory.index.record import Scalar
from hybrid_memory.log.event import TimeOrderedIds, handle
from hybrid_memory.log.message import PRESSURE, STOPPED, Message, Origin, Role
from hybrid_memory.memory import HybridMemory, ScopedMemory
from hybrid_memory.memory.faces import Part, verb
from hybrid_memory.memory.files import MemoryFiles
from hybrid_memory.memory.store import close_all, held, memory_at, url_of
from hybrid_memory.recall.cache import count_uses
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import TWINS, Runner, two_faces
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.runtime.tracing import Span, listening
from hybrid_memory.scope import check_name
from hybrid_memory.sharing import Right, reached
from hybrid_memory.store.keepout import kept_out
from hybrid_memory.store.remember import Content
from hybrid_memory.store.view import in_view
from hybrid_memory.text.structured import encodable, encodable_json
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.urls import shown_url
from hybrid_memory.validation import checked_text, instant, shown

__all__ = [
    "LEAST_TOKENS", "ORIGIN", "REST", "TWINS", "Content", "File", "FindItems", "GetItem",
    "How", "Item", "ItemOperation", "ListNamespaces", "LruCache", "MemoryFiles", "Portion", "PutItem", "Runner",
    "Scalar", "Span", "as_shown", "budget_of", "checked", "checked_blocks", "checked_text", "close_all", "encodable",
    "encodable_json", "estimate_tokens", "faces", "handle", "held", "hide", "instant", "listening",
    "lowered", "media_block", "media_lines", "memory_at", "new_id", "reach", "recollect", "shown",
    "shown_url", "spoken_words", "storable_name", "url_of", "window", "without_notices",
]  # fmt: skip

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

ORIGIN = "hybrid_memory_origin"
"""The key for a message's origin in a framework's message, if it is lower than its role implies."""

REST = "rest"  # the key for what restores a framework's media block
new_id = TimeOrderedIds()  # a new id, which sorts after all earlier ones


def faces(
    flow: Callable[Concatenate[S, Runner, P], Coroutine[Any, Any, T]],
) -> tuple[Callable[Concatenate[S, P], T], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]]:
    """The blocking method and its async twin: ``get`` and ``aget`` from ``_get(self, run, /, ...)``.

    Arguments are checked against the signature; an invalid one raises `InvalidInputError`.
    """
    return two_faces(checked(flow), lambda _: TWINS)


@dataclass(frozen=True, slots=True)
class Portion:
    """The memory's part of a framework's prompt, as `ScopedMemory.assemble` shows it.

    Attributes:
        query: the user's words.
        profile: the text about the user; by default name, safety and standing instructions.
        standing: the statements of that text; none if the caller gave it.
        lines: summary lines, oldest first.
        memories: the statements nearest to the query, and recalled turns.
        marks: the mark of memories.
        rules: the standing instructions of shared spaces.
    """

    query: str = ""
    profile: str = ""
    standing: Sequence[Fact] = ()
    lines: Sequence[Line] = ()
    memories: Memories = field(default_factory=Memories)
    marks: PromptConfig = field(default_factory=PromptConfig)
    rules: Sequence[Voice] = ()

    @property
    def text(self) -> str:
        """Profile, summary and memories, each in its own marked place; what changes least comes first."""
        chinese = prompt_language("".join(line.text for line in self.lines)) == "zh"
        summary = written(self.lines, chinese=chinese, handles=False)
        parts = Parts(profile=self.profile, summary=summary, others=self.rules)
        chosen = self.memories
        own = memory_note(chosen, self.query)
        note = "\n".join(part for part in (own, shared_note(chosen.shared, self.query)) if part)
        return "\n\n".join(part for part in (parts.standing, memory_mark(note, self.marks)) if part)

    def within(self, max_tokens: int) -> Portion:
        """The portion that fits, in whole lines: first the memories go, the best last, then old summary lines."""
        left = self
        while left.text and estimate_tokens(left.text) > max_tokens:
            if left.memories:
                left = replace(left, memories=left.memories.less())
            elif left.lines:
                left = replace(left, lines=left.lines[1:])
            elif left.rules and not left.profile:
                left = replace(left, rules=left.rules[:-1])
            else:
                left = replace(left, profile="\n".join(left.profile.splitlines()[:-1]))
        return left


class _Portions(Part):
    """What `recollect` and `reach` do, with the right to read."""

    @verb(Right.READ, called="recall")
    async def portion(
        self,
        run: Runner,
        query: str,
        *,
        k: int = RECALLED_TURNS,
        shown: Collection[str] = (),
        max_tokens: int | None = None,
        profile: str | None = None,
        lines: Sequence[Line] = (),
        scope: Literal["user", "session"] = "user",
        spaces: Collection[str] | Literal["all"] = (),
    ) -> Portion:
        where = self._memory.scope
        words = (await kept_out(run, self._services, where)).masked(query.strip())
        principal = self._memory._principal  # noqa: SLF001 - a part of it
        shared = await reached(run, self._services, principal, spaces, "recall")
        services = await in_view(run, self._services, where)
        rules = await rules_of(run, services, shared)
        marks, count = services.config.prompt, services.count
        most = marks.memory_tokens if max_tokens is None else min(max_tokens, marks.memory_tokens)
        await run.call(count, "")  # a counter may have tables to load, off the event loop
        with at_priority(INTERACTIVE):
            rows = await sheet(run, services, where) if most else None
            ids = frozenset(text.strip() for text in shown)
            notes = "\n".join(" ".join(text.split()) for text in ids)
            kept: list[Fact] = []
            if rows is not None and profile is None:
                earlier = [fact for fact in rows.always if ids.isdisjoint(fact.sources) and fact.text not in notes]
                profile, kept = await run.call(standing_text, earlier, [*ids, words], most, count)
            asked = Asking(
                scope=where,
                words=words,
                k=k,
                marks=marks.model_copy(update={"memory_tokens": most}),
                turn=await asking_turn(run, services, where, words) if words else None,
                visible=ids,
                present=ids,
                texts=ids,
                notes="\n".join([notes, *(rule.text for rule in rules)]),
                spaces=tuple(shared),
                sheet=rows,
                standing=frozenset(fact.id for fact in kept),
                within=scope,
            )
            chosen = await memories(run, services, asked)
        chosen = fitting(chosen, words, most - count(profile or ""), count)
        count_uses(services, where.owner, chosen.hits)
        return Portion(words, profile or "", kept, lines, chosen, marks, rules)

    @verb(Right.READ, called="assemble")
    async def reach(self, run: Runner, spaces: Collection[str] | Literal["all"]) -> None:
        principal = self._memory._principal  # noqa: SLF001 - a part of it
        await reached(run, self._services, principal, spaces, "assemble")

    aportion = portion.twin
    areach = reach.twin


async def reach(run: Runner, memory: ScopedMemory, spaces: Collection[str] | Literal["all"], /) -> None:
    """Check that this memory's user and agent may read these spaces, before an adapter writes anything."""
    if spaces:
        await run.call(_Portions(memory).reach, spaces)


async def recollect(run: Runner, memory: ScopedMemory, query: str, /, **options: Any) -> Portion:
    """What a framework's prompt shows beside the user's words; nothing but the standing text for small talk.

    The log counts as it was before these words were said, if they are its newest turn. ``shown`` are texts, or ids of
    messages, that are in the prompt already, ``profile`` is the text about the user, by default name, safety and
    standing instructions, and ``lines`` are summary lines to show, oldest first. With the scope ``session`` this
    session alone is recalled; ``max_tokens`` counts if it is less than the memory's own setting.
    ``k`` and ``spaces`` are those of `ScopedMemory.assemble`.
    """
    return await run.call(_Portions(memory).portion, query, **options)


def media_lines(memory: ScopedMemory | HybridMemory, parts: Sequence[Sequence[Message]]) -> dict[int, list[Message]]:
    """The parts of a request that change, by index: a line for each medium that the model need not see again."""
    messages = [(row, message) for row, part in enumerate(parts) for message in part]
    turns = memory._services.config.prompt.media_turns  # noqa: SLF001 - its setting
    lines = faded([message for _, message in messages], turns, asking=False)
    changed: dict[int, list[Message]] = {messages[number][0]: [] for number in lines}
    for number, (row, message) in enumerate(messages):
        if row in changed:
            changed[row].append(with_handles(message, lines.get(number, ()), "", ""))
    return changed


def media_block(value: Any, rest: Any = None, *, family: str = "") -> dict[str, Any]:
    """A framework's image, sound, video or file as a block that every host knows, with what restores it.

    ``value`` is the framework's own form: a mapping with the data or a link, and mostly the media type, which gives the
    family if it is not stated: ``image``, ``audio`` or ``video``.
    """
    family = family or str(value.get("media_type", value.get("mime_type"))).partition("/")[0]
    return {"type": family if family in ("image", "audio", "video") else "file", "source": dict(value), REST: rest}


def without_notices(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that the memory itself addressed to a model."""
    return [message for message in messages if message.event not in (PRESSURE, STOPPED)]


async def hide(memory: ScopedMemory, messages: Sequence[Message], /) -> None:
    """Hide these messages of a session; they stay in its log, and what others write meanwhile is shown."""
    if not messages:
        return
    hidden = {message.id for message in messages}
    before = {message.id for message in await memory.ahistory()}
    kept = [str(one.id) for one in await memory.ahistory(current=True) if one.id not in hidden]
    while True:
        await memory.areset(keep=kept)
        log = await memory.ahistory()
        shown = {message.id for message in await memory.ahistory(current=True)}
        # What others wrote before the reset and after we looked is shown again.
        late = {message.id for message in log} - before - shown
        if not late:
            return
        before |= late
        kept = [str(message.id) for message in log if message.id in shown | late]


def checked_blocks(texts: Mapping[str, str] | None) -> dict[str, str]:
    """Texts of blocks by label; raises `InvalidInputError` for a label or text that a block cannot have."""
    for label, text in (texts or {}).items():
        checked_length(checked_label(label), checked_text("a block", text), MAX_CHARS)
    return dict(texts or {})


def lowered(role: Role, origin: Any, name: Any = None) -> dict[str, Origin]:
    """The ``origin`` field for a message, if its role may have this origin; otherwise empty.

    In frameworks the name of an assistant is an agent's, who is nobody to learn about: so its origin is stated.
    """
    if origin is None and role is Role.ASSISTANT and name:
        return {"origin": Origin.ASSISTANT}
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
