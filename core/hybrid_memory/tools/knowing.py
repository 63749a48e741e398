"""Tools that show what is known, and why: `memory_why` and `memory_profile`."""

from __future__ import annotations

from pydantic import Field

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Explanation, Fact
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.log.message import Message
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.text.speakers import escaped, speaker
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.tools.reading import MAX_HITS, shortened
from hybrid_memory.tools.tool import Call, MemoryTool, home, named, position
from hybrid_memory.validation import CheckedModel, shown

STEP_TOKENS = 300
"""The size of one step of an explanation."""


class Asking(CheckedModel):
    """What to explain."""

    about: str = Field(
        description="A handle such as '#12', a profile field such as 'goals', or an attribute such as 'home'"
    )
    query: str = Field(default="", description="With a handle: why memory_recall returns it for this query, or not")


async def why(call: Call, memory: ScopedMemory, request: Asking) -> str:
    """Explain how a turn ranks for a query, or what was learned from it, or which turns support a fact."""
    about = request.about.strip()
    if not about.startswith(("#", "[")) and not about.isdecimal():
        return await _why_known(call, memory, about)
    place = position(about)
    memory = await home(call, memory, place)
    if request.query.strip():
        return _written(await call(memory.why, named(place), request.query, k=MAX_HITS))
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
    """The whole profile needs no arguments."""


async def profile(call: Call, memory: ScopedMemory, _: Profiling) -> str:
    """The profile, without its least important values if it is too long."""
    known: UserProfile = await call(memory.profile)
    return known.render(call.max_tokens, estimate_tokens) or "Nothing is known about the user yet."


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
