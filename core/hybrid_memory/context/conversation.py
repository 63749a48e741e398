"""A conversation in the log: reading it, restarting it, or updating it to a host's copy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from hybrid_memory.context import queue as queues
from hybrid_memory.context.compact import RACES
from hybrid_memory.context.layout import Host
from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import REPLACES, Message, Role
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import MAX_NAME_CHARS, Scope
from hybrid_memory.store.keepout import kept_out
from hybrid_memory.store.remember import remember, stored
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, at_positions, in_view, newest_messages, placed, present
from hybrid_memory.validation import check_span, whole

LOOKED_AT = 50
"""How many more messages of the log to compare, since a copy may lack the steps between question and answer."""


async def history(
    run: Runner,
    services: Services,
    scope: Scope,
    limit: int | None,
    *,
    current: bool,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Message]:
    """The messages, oldest first, an edited one in the place of the original; with a limit, the newest.

    The ``current`` ones are those since the session's last reset, compacted or not, with what that kept.
    """
    most = None if limit is None else whole("limit", limit, 0)
    check_span(since, until)
    services = await in_view(run, services, scope)
    reset = await queues.last_state(run, services.log, scope, (EventKind.RESET,)) if current else None
    after, kept = (0, []) if reset is None else (reset.position, reset.payload["kept"])
    events = await newest_messages(run, services, scope, most, after=after, since=since, until=until)
    if kept and (most is None or len(events) < most):
        events = [*await at_positions(run, services, scope, sorted(kept)), *events]
    events = placed(events, after, kept)
    return [event.message for event in (events if most is None else events[max(0, len(events) - most) :])]


async def reset(run: Runner, services: Services, scope: Scope, keep: Sequence[str]) -> None:
    """Restart the conversation with these messages; see `ScopedMemory.reset`."""
    services = await in_view(run, present(services), scope)
    events = await run.call(services.log.get, scope, list(keep))
    there = {event.id: event.position for event in events if event.kind is EventKind.MESSAGE}
    if missing := [item for item in keep if item not in there]:
        raise InvalidInputError(f"no message of {scope} has the id {missing[0]!r}: keep ids from history()")
    for _ in range(RACES):
        services = await in_view(run, services, scope)
        session = await queues.load(run, services, scope)
        if await queues.write_state(run, services, session, EventKind.RESET, {"kept": list(there.values())}):
            return
    raise StoreUnavailableError(f"other processes kept writing the state of {scope} at the same time: try again")


async def mirror(
    run: Runner, services: Services, scope: Scope, messages: Sequence[Message], host: Host | None = None
) -> list[str | None]:
    """Write what the log does not have yet; returns the id of each message's event, or None if the log has none.

    Messages are recognized by id. If none of the ids is known, the copy may have been sent without its original ids.
    Then the log is searched for the copy's beginning: the longest run of messages that the log ends with counts as
    known; for a copy that also shows the model's answers, a run anywhere in the log counts, and what follows it in the
    log was regenerated and is superseded. If only the messages after the newest known id have none, the log after that
    one is searched in the first way. What comes before the newest known message is not written: the log had it,
    and may have been told to forget it.

    A known id with other words is an edit, for example by a person who approves calls. The new words are written under
    an id derived from both, take the place of the old ones, and supersede them. Words that the message had before are
    restored.

    What the host no longer has is superseded, and what it has again restored: of the messages after ``host.began``, and
    only if a host of the same kind wrote them.
    """
    services = await in_view(run, present(services), scope)
    keeping = await kept_out(run, services, scope)
    given = [keeping.stored(stored(services, message)) for message in messages]
    there = await _events(run, services, scope, [message.id for message in given if message.id])
    named = [message.id if message.id in there else None for message in given]
    gone: dict[int, str] = {}
    if given and not there:
        said = await history(run, services, scope, len(given) * 4 + LOOKED_AT, current=True)
        named, lost = said_anew(said, given) or (said_before(said, given), [])
        gone = _places((await _events(run, services, scope, [message.id for message in lost if message.id])).values())
    edits, former, written, restored = await _edits(run, services, scope, given, there)
    named = [edits.get(row, name) for row, name in enumerate(named)]
    gone |= former
    start = _start(named)
    if there and given[start:] and not any(message.id for message in given[start:]):
        said = await history(run, services, scope, len(given) - start + LOOKED_AT, current=True)
        later = list(takewhile(lambda message: message.id != named[start - 1], reversed(said)))
        named[start:] = said_before(later[::-1], given[start:])
        start = _start(named)
    if host is not None:
        held, kinds = {*(host.among or ()), *named}, {key for one in given for key in one.extra}
        gone |= await _left(run, services, scope, host, held=held, kinds=kinds)
        restored += [place for place, name in services.superseded.items() if name in held and place not in restored]
    if written or gone or restored or given[start:]:
        messages = [*written, *given[start:]]
        receipt = await remember(run, services, scope, messages, superseded=gone, restored=restored)
        ids = receipt.ids[len(written) : len(written) + len(given) - start]
        named[start:] = [None if name in receipt.forgotten else name for name in ids]
    return named


def _start(named: Sequence[str | None]) -> int:
    """The first row after the newest message that the log has."""
    return max((row for row, name in enumerate(named) if name), default=-1) + 1


async def _edits(
    run: Runner, services: View, scope: Scope, given: Sequence[Message], there: Mapping[str, Event]
) -> tuple[dict[int, str], dict[int, str], list[Message], list[int]]:
    """Of the messages whose words differ from those under their id, or were restored, the ids of the events, by row.

    With them what they supersede, those that the log does not have, and the positions of those to restore.
    """
    ids, gone, written, restored = dict[int, str](), dict[int, str](), list[Message](), list[int]()
    rows = {
        row: old
        for row, now in enumerate(given)
        if (old := there.get(now.id or ""))
        and (_content(old.message) != _content(now) or old.position in services.superseded)
    }
    if not rows:
        return ids, gone, written, restored
    names: dict[int, list[str]] = {old.position: [edited_id(given[row])] for row, old in rows.items()}
    for change in await run.call(services.truth.read, scope, kinds=(EventKind.SUPERSEDED,)):
        for place, name in change.payload["by"].items():
            names.get(int(place), []).append(name)
    kept = await _events(run, services, scope, [name for several in names.values() for name in several])
    for row, old in rows.items():
        versions = [old, *(kept[name] for name in dict.fromkeys(names[old.position]) if name in kept)]
        current = _places(event for event in versions if event.position not in services.superseded)
        now = given[row]
        same = next((event for event in versions if _content(event.message) == _content(now)), None)
        gone |= {} if same is not None and same.position in current else current
        if same is not None:
            ids[row] = same.id
            restored += [same.position] if same.position in services.superseded else []
            continue
        ids[row], first = edited_id(now), min(versions, key=lambda event: event.position)
        extra = {**now.extra, REPLACES: first.position, "made_of": list(dict.fromkeys(event.id for event in versions))}
        written.append(now.model_copy(update={"id": ids[row], "extra": extra, "at": now.at or first.at}))
    return ids, gone, written, restored


async def _left(
    run: Runner, services: View, scope: Scope, host: Host, *, held: Collection[str | None], kinds: Collection[str]
) -> dict[int, str]:
    """The messages since it began that the host left: those it does not hold, written by a host of the same kind."""
    first = await run.call(services.truth.get, scope, [host.began]) if host.began else []
    after = min((event.message.replaces or event.position for event in first), default=None)
    if after is None:
        return {}
    later = await run.call(services.log.read, scope, kinds=(EventKind.MESSAGE,), after=after - 1)
    theirs = (event for event in later if event.scope == scope and event.id not in held)
    return _places(event for event in theirs if not event.message.extra.keys().isdisjoint(kinds))


def _places(events: Iterable[Event]) -> dict[int, str]:
    """The ids of the events, by position."""
    return {event.position: event.id for event in events}


async def _events(run: Runner, services: Services, scope: Scope, ids: Sequence[str]) -> dict[str, Event]:
    """The session's messages with one of these ids, even if a rollback hides them."""
    events = await run.call(services.truth.get, scope, ids) if ids else []
    return {event.id: event for event in events if event.kind is EventKind.MESSAGE and event.scope == scope}


def said_anew(log: Sequence[Message], given: Sequence[Message]) -> tuple[list[str | None], list[Message]] | None:
    """For a window that the log continues after its last words: the id of each message, and what it supersedes.

    None if it is not such a window, because it has no answer of the model or does not end with the user's words, or if
    the log simply ends with its beginning.
    """
    if not given or given[-1].role is not Role.USER or all(message.role is Role.USER for message in given):
        return None
    (ours, words), (theirs, copied) = _speech(log), _speech(given)
    size = end = 0
    for until in range(len(words), 0, -1):
        common = _common(words[:until], copied)
        if common > size and any(role is Role.ASSISTANT for role, _, _ in copied[:common]):
            size, end = common, until
    if not size or end == len(words):
        return None
    rows = dict(zip(theirs, ours[end - size : end], strict=False))
    named = [log[rows[row]].id if row in rows else None for row in range(len(given))]
    return named, list(log[ours[end - 1] + 1 :])


def _speech(messages: Sequence[Message]) -> tuple[list[int], list[tuple[Role, str, str | None]]]:
    """What user and assistant said: the rows, and the words of each."""
    spoken = (Role.USER, Role.ASSISTANT)
    rows = [row for row, message in enumerate(messages) if message.role in spoken and not message.tool_calls]
    return rows, [_words(messages[row]) for row in rows]


def _common(words: Sequence[object], copied: Sequence[object]) -> int:
    """The longest prefix of the one that is a suffix of the other."""
    most = min(len(words), len(copied))
    return next((size for size in range(most, 0, -1) if copied[:size] == words[-size:]), 0)


def said_before(log: Sequence[Message], given: Sequence[Message]) -> list[str | None]:
    """For each message, the id of the one it repeats: the longest prefix that ``log`` ends with.

    Compares the words of user and assistant; either side may lack tool calls and results.
    """
    (ours, words), (theirs, copied) = _speech(log), _speech(given)
    size = _common(words, copied)
    named: list[str | None] = [None] * len(given)
    if not size:
        return named
    place, last = ours[-size], theirs[size - 1]
    for row in range(theirs[0], len(given)):
        # Behind the last words, what comes next in both is the same step or a new one.
        stop = len(log) if row <= last else min(place + 1, len(log))
        same = next((at for at in range(place, stop) if _words(log[at]) == _words(given[row])), None)
        if same is not None:
            named[row], place = log[same].id, same + 1
        elif row > last:
            break
    return named


def edited_id(message: Message) -> str:
    """The id for a message whose words differ from those first written under its own id."""
    told: list[Any] = [message.content, [call.model_dump() for call in message.tool_calls]]
    digest = hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()
    return f"{(message.id or '')[: MAX_NAME_CHARS - len(digest) - 1]}~{digest}"


def _content(message: Message) -> tuple[object, object]:
    return message.content, message.tool_calls


def _words(message: Message) -> tuple[Role, str, str | None]:
    return message.role, message.text.strip(), message.tool_call_id
