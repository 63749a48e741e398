"""Tools that show what is known and why, and one that shares it: `memory_why`, `memory_profile`, `memory_share`."""

from __future__ import annotations

from pydantic import Field

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Explanation, Fact
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.log.message import Message
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.text.marks import escaped
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.text.voices import speaker
from hybrid_memory.tools.notes import Remembering, remember
from hybrid_memory.tools.reading import MAX_HITS, short_name, shortened
from hybrid_memory.tools.tool import NOTED_WITH, Call, MemoryTool, home, named, position, reached
from hybrid_memory.validation import CheckedModel, shown

STEP_TOKENS = 300
"""The size of one step of an explanation."""


class Asking(CheckedModel):
    """What to explain."""

    about: str = Field(
        description="A handle such as '#12', a profile field such as 'goals', or an attribute such as 'home'"
    )
    query: str = Field(default="", description="With a handle: why memory_recall returns it for this query, or not")


async def why(call: Call, memory: ScopedMemory, wanted: Asking) -> str:
    """Explain how a turn ranks for a query, or what was learned from it, or which turns support a fact."""
    about = wanted.about.strip()
    if not about.startswith(("#", "[")) and not about.isdecimal():
        return await _why_known(call, memory, about)
    place = position(about)
    memory = await home(call, memory, place)
    if wanted.query.strip():
        return _written(await call(memory.why_not, wanted.query, named(place), k=MAX_HITS))
    messages: list[Message] = await call(memory.expand, named(place))
    facts: list[Fact] = await call(memory.facts, history=True)
    read = [_written(await call(memory.why, fact)) for fact in facts if place in fact.positions]
    if not read:
        return f"{_turn(named(place), messages[0])}\nNothing was learned from it."
    return "\n".join([f"What was learned from {named(place)}:", *read])


async def _why_known(call: Call, memory: ScopedMemory, name: str) -> str:
    facts: list[Fact] = await call(memory.facts, history=True)
    behind = [fact for fact in facts if fact.attribute == name]
    if behind:
        return "\n".join([_written(await call(memory.why, fact)) for fact in behind if fact.superseded_by is None])
    profile: UserProfile = await call(memory.profile)
    if name in type(profile).model_fields:
        return _written(await call(memory.why, name))
    known = ", ".join({fact.attribute: None for fact in facts}) or "nothing yet"
    fields = ", ".join(type(profile).model_fields)
    raise InvalidInputError(f"{shown(name)} is not a handle, a profile field ({fields}) or a known attribute ({known})")


def _written(explanation: Explanation) -> str:
    """The explanation as text, with long turns shortened."""
    steps = [f"  {shortened(step, '', STEP_TOKENS)}" for step in explanation.steps]
    turns = [f"  {_turn(name, turn)}" for name, turn in explanation.turns]
    return "\n".join([shortened(explanation.about, ""), *steps, *turns])


def _turn(name: str, turn: Message) -> str:
    at = "" if turn.at is None else f"[{turn.at:%Y-%m-%d}] "
    return f"{name} {at}{speaker(turn.spoken_by, turn.speaker, turn.text)}: {escaped(shortened(turn.text, ''))}"


class Profiling(CheckedModel):
    """What to show about the user."""

    field: str = Field(default="", description="Only this field, with all its past values; empty: all current values")


async def profile(call: Call, memory: ScopedMemory, wanted: Profiling) -> str:
    """The profile, without its least important values if it is too long; or the history of one field."""
    known: UserProfile = await call(memory.profile)
    if not wanted.field.strip():
        return known.render(call.max_tokens, estimate_tokens) or "Nothing is known about the user yet."
    field = wanted.field.strip()
    lines = [
        f"{shortened(str(entry.value), '')}: {entry.state}, from {entry.valid_from:%Y-%m-%d}"
        + ("" if entry.valid_to is None else f" to {entry.valid_to:%Y-%m-%d}")
        for entry in known.history(field)
    ]
    return "\n".join(lines) or f"Nothing is known about the user's {field} yet."


WHY = MemoryTool(
    "memory_why",
    "Where something you remember comes from, or why memory_recall returns a turn for a query, or not.",
    Asking,
    why,
)
PROFILE = MemoryTool(
    "memory_profile",
    "What is known about the user: name, family, work, needs, likes, dislikes, goals. Use it before you advise them.",
    Profiling,
    profile,
)


class Sharing(CheckedModel):
    """What to share, and where."""

    space: str = Field(default="", description="The name of a shared space; empty to list them")
    text: str = Field(default="", description="One statement that others can understand: 'Alice lives in Rome'")
    handle: str = Field(default="", description="Instead of text: a turn or note to copy, such as '#12'")


async def share(call: Call, memory: ScopedMemory, wanted: Sharing) -> str:
    """Write a note into a space open to the call, unless one there says the same; or list the spaces."""
    if not wanted.space.strip():
        names = [str(existing.scope.space) for existing in (await reached(call, memory))[1:]]
        return f"Shared spaces: {', '.join(names)}." if names else "No shared space is open here."
    if wanted.space not in call.spaces:
        existing = f"choose one of {', '.join(call.spaces)}" if call.spaces else "none is"
        raise InvalidInputError(f"the space {shown(wanted.space)} is not open here: {existing}")
    if bool(wanted.text.strip()) == bool(wanted.handle.strip()):
        raise InvalidInputError("give either text or handle")
    note = Remembering(text=wanted.text)
    if wanted.handle.strip():
        place = position(wanted.handle)
        messages: list[Message] = await call((await home(call, memory, place)).expand, named(place))
        note = _copied(messages[0])
    return f"In {wanted.space}: {await remember(call, memory.space(wanted.space), note)}"


def _copied(turn: Message) -> Remembering:
    """A note with the words of a turn or note; those of a turn after its speaker."""
    who = "" if NOTED_WITH in turn.metadata else f"{short_name(turn.speaker)}: "
    text = f"{who}{turn.text}"
    note = Remembering(text=text) if turn.importance is None else Remembering(text=text, importance=turn.importance)
    return note.copied_from(turn.spoken_by)


SHARE = MemoryTool(
    "memory_share",
    "Tell others what they need to know: write a note into a shared space, or copy what memory_recall returned. "
    "Everyone who may read the space can find it. Share nothing private unless the user asks for it.",
    Sharing,
    share,
)
