"""``follow``: the log keeps up with a conversation that somebody else holds, such as the state of an agent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hybrid_memory.compute.runners import Runner
from hybrid_memory.flows.compact import conversation
from hybrid_memory.flows.redact import stored
from hybrid_memory.flows.remember import remember
from hybrid_memory.flows.visible import in_view, present
from hybrid_memory.flows.world import World
from hybrid_memory.types import MAX_NAME_CHARS, EventKind, Message, Role, Scope

LOOKED_AT = 50
"""Messages of the log beyond those given, since a copy may lack the steps between question and answer."""


async def follow(run: Runner, world: World, scope: Scope, messages: Sequence[Message]) -> list[str | None]:
    """Write what the log does not have yet; the id of each message's event, or None where the log has none.

    A message is known by its id. If none of the ids is known, the copy may have been sent without its ids: then the
    longest run of messages at its beginning that the log ends with counts as said. What stands before the newest known
    message is not written: the log had it, and may have been told to forget it.

    An id that comes back with other words was edited, by a person who approves calls for example. At the end of the
    conversation that is written under an id made from both.
    """
    world = await in_view(run, present(world), scope)
    given = [stored(world, message) for message in messages]
    there = await _messages(run, world, scope, [message.id for message in given if message.id])
    named = [message.id if message.id in there else None for message in given]
    if given and not there:
        said = await conversation(run, world, scope, len(given) * 4 + LOOKED_AT)
        named = said_before(said, given)
    edited = {row: edited_id(now) for row, now in enumerate(given) if _other(there.get(now.id or ""), now)}
    kept = await _messages(run, world, scope, list(edited.values())) if edited else {}
    for row, name in edited.items():
        if name in kept:
            named[row] = name
    start = max((row for row, name in enumerate(named) if name), default=-1)
    # An edit of what stands further up would come to stand at the end.
    start += 0 if start in edited and named[start] not in kept else 1
    fresh = [message.model_copy(update={"id": edited.get(row, message.id)}) for row, message in enumerate(given)]
    if fresh[start:]:
        named[start:] = (await remember(run, world, scope, fresh[start:])).ids
    return named


async def _messages(run: Runner, world: World, scope: Scope, ids: Sequence[str]) -> dict[str, Message]:
    """Those of the session that have one of these ids, also if a rollback hides them."""
    events = await run.call(world.truth.get, scope, ids) if ids else []
    return {event.id: event.message for event in events if event.kind is EventKind.MESSAGE and event.scope == scope}


def said_before(said: Sequence[Message], given: Sequence[Message]) -> list[str | None]:
    """For each message given the id of the one that it repeats: the longest beginning that ``said`` ends with.

    What is compared are the words of user and assistant; tool calls and results may be missing in either.
    """
    ours = [row for row, message in enumerate(said) if _spoken(message)]
    theirs = [row for row, message in enumerate(given) if _spoken(message)]
    words = [_words(said[row]) for row in ours]
    copied = [_words(given[row]) for row in theirs]
    size = next((n for n in range(min(len(ours), len(theirs)), 0, -1) if copied[:n] == words[-n:]), 0)
    named: list[str | None] = [None] * len(given)
    if not size:
        return named
    place, last = ours[-size], theirs[size - 1]
    for row in range(theirs[0], len(given)):
        # Behind the last words, what comes next in both is the same step or a new one.
        stop = len(said) if row <= last else place + 1
        same = (at for at in range(place, min(stop, len(said))) if _words(said[at]) == _words(given[row]))
        found = next(same, None)
        if found is not None:
            named[row], place = said[found].id, found + 1
        elif row > last:
            break
    return named


def edited_id(message: Message) -> str:
    """The id of a message that has other words now than when it was written under its own."""
    told: list[Any] = [message.content, [call.model_dump() for call in message.tool_calls]]
    digest = hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()
    return f"{(message.id or '')[: MAX_NAME_CHARS - len(digest) - 1]}~{digest}"


def _other(before: Message | None, now: Message) -> bool:
    return before is not None and (before.content, before.tool_calls) != (now.content, now.tool_calls)


def _spoken(message: Message) -> bool:
    return message.role in {Role.USER, Role.ASSISTANT} and not message.tool_calls


def _words(message: Message) -> tuple[Role, str, str | None]:
    return message.role, message.text.strip(), message.tool_call_id
