"""``remember``: turns the caller's input into durable events, in the log or in the outbox while that is unreachable."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hybrid_memory.errors import IdConflictError, InvalidMessageError, OutdatedError, StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.media import is_media
from hybrid_memory.log.message import OWN_EXTRA, Message, Role, lowest
from hybrid_memory.log.port import Appended, Draft, EventLog, Receipt, receipt_of
from hybrid_memory.log.views import DelegatingLog, visible
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import MAX_NAME_CHARS, Scope
from hybrid_memory.store.erasure import is_encoded
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.text.redaction import redact
from hybrid_memory.validation import bounded, shown, stated_time

Content = str | Message | Mapping[str, Any] | Sequence[str | Message | Mapping[str, Any]]
"""What can be remembered: text, a message, a dict in the OpenAI form, or a list of these."""


BATCH = 256

_log = logging.getLogger(__name__)


def _writes(span: Span, given: Given) -> None:
    span.attributes["count"] = len(given["messages"])
    span.content |= {"messages": given["messages"], "scope": given["scope"]}


@traced(
    "remember",
    _writes,
    lambda span, receipt: span.attributes.update(duplicates=len(receipt.duplicates), waiting=len(receipt.waiting)),
)
async def remember(
    run: Runner,
    services: Services,
    scope: Scope,
    messages: Sequence[Message],
    *,
    superseded: Mapping[int, str] | None = None,
    restored: Sequence[int] = (),
) -> Receipt:
    """Append the messages to the log, all or none; durable on return.

    If the log is unreachable and there is an outbox, they are durable there. In the same write, other messages are
    superseded (ids by position) and some positions restored. A message that was forgotten is left out if it comes again
    under its id.
    """
    drafts = [draft_of(services, scope, message) for message in messages]
    ids = tuple(draft.id for draft in drafts)
    if superseded or restored:
        gone = superseded or {}
        payload = {
            "positions": list(gone),
            "ids": list(gone.values()),
            "restored": list(restored),
            "by": {str(message.replaces): message.id for message in messages if message.replaces},
        }
        drafts.append(services.draft(EventKind.SUPERSEDED, payload, session=scope.session, author=services.author))
    try:
        await drain(run, present(services))
        appended = await _append(run, services, scope, drafts, messages) if drafts else []
    except StoreUnavailableError as error:
        if services.outbox is None:
            raise
        _log.warning("%s; the messages are in the outbox", error)
        waiting = tuple(event.id for event in await run.call(services.outbox.append, scope.owner, drafts))
        return Receipt(ids=waiting, waiting=waiting)
    there = {one.id for one in appended}
    left_out = tuple(name for name in ids if name not in there)
    return replace(receipt_of(appended[: len(ids) - len(left_out)]), ids=ids, forgotten=left_out)


async def _append(
    run: Runner, services: Services, scope: Scope, drafts: Sequence[Draft], messages: Sequence[Message]
) -> list[Appended]:
    """Append the drafts of the messages.

    Refused are ids of messages that a rollback hides, which would count as written but stay hidden; and notes on a
    message that was forgotten, perhaps at this moment.
    """
    owner = scope.owner
    if named := [draft.id for draft in drafts if draft.fixed_id]:
        view = await in_view(run, services, scope)
        for event in await run.call(view.truth.get, scope, named) if view.hidden else ():
            if event.scope == scope and not visible(event.position, view.hidden):
                raise IdConflictError(
                    f"id {event.id!r} belongs to a message hidden by a rollback or an edit: give another id"
                )
    names = {name for message in messages if not message.replaces for name in message.made_of}
    while names:
        seen = await run.call(services.truth.head, owner)
        if lost := await forgotten(run, services, owner, names):
            raise InvalidMessageError(f"it was made from {shown(lost)}, which was forgotten: nothing was kept")
        with suppress(OutdatedError):
            return await run.call(services.log.append, owner, drafts, seen=seen)
    return await run.call(services.log.append, owner, drafts)


async def forgotten(run: Runner, services: Services, owner: Scope, names: Collection[str]) -> str | None:
    """One of these ids that no event has, if events of the owner were erased; otherwise None."""
    there = {event.id for event in await run.call(services.truth.get, owner, sorted(names))} if names else set()
    missing = min(set(names) - there, default=None)
    if missing is None:
        return None
    erased = await run.call(services.truth.read, owner, kinds=(EventKind.ERASED,), limit=1)
    return missing if erased else None


def as_messages(
    content: Content,
    *,
    role: Role | str = Role.USER,
    at: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    message_id: str | None = None,
) -> list[Message]:
    """The messages in the caller's input, each validated.

    ``role`` applies to plain texts; ``at`` and ``metadata`` to every message that does not set them itself.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidMessageError(f"metadata must be values by name, got {shown(metadata)}")
    # What cannot be remembered counts as one item, so that it is refused as it would be inside a list.
    single = isinstance(content, str | bytes | Message | Mapping) or not isinstance(content, Iterable)
    items: list[Any] = [content] if single else list(content)
    if message_id is not None and len(items) != 1:
        raise InvalidMessageError(
            f"id={message_id!r} is for one message, got {len(items)}: put the ids into the messages"
        )
    return [_message(item, role, at, metadata or {}, message_id) for item in items]


def _message(
    item: Any, role: Role | str, at: datetime | None, metadata: Mapping[str, Any], message_id: str | None
) -> Message:
    if isinstance(item, Message):
        fields = {name: getattr(item, name) for name in item.model_fields_set}
    elif isinstance(item, Mapping):
        fields = dict(item)
    elif isinstance(item, str):
        fields = {"content": item, "role": role}
    else:
        raise InvalidMessageError(
            f"cannot remember a {type(item).__name__}: give text, a Message, a dict or a list of these"
        )
    if message_id is not None:
        fields["id"] = message_id
    if at is not None and stated_time(fields) is None:
        fields["at"] = at
    if isinstance(extra := fields.get("extra"), Mapping) and not OWN_EXTRA.isdisjoint(extra):
        # Of a message that was read here: written again, it is one of its own.
        fields["extra"] = {key: value for key, value in extra.items() if key not in OWN_EXTRA}
    own = fields.get("metadata")
    if metadata and isinstance(own, Mapping | None):
        fields["metadata"] = {**metadata, **(own or {})}
    message = Message.of(fields)
    if message.at is not None and bounded(message.at) != message.at:
        raise InvalidMessageError(f"at must be in the years 2 to 9998, got {message.at}")
    return message


def draft_of(services: Services, scope: Scope, message: Message) -> Draft:
    """The event for a message, with an id and a time, and no more authority than its author."""
    if scope.space is not None and (message.origin is not None or message.role is Role.SYSTEM):
        # In a shared space only an admin speaks as operator or states roles.
        origin = lowest((message.spoken_by, services.speaks))
        message = message if origin is message.origin else message.model_copy(update={"origin": origin})
    return Draft(
        id=message.id or services.new_id(),
        fixed_id=message.id is not None,
        session=scope.session,
        kind=EventKind.MESSAGE,
        at=message.at or services.clock().astimezone(UTC),
        payload=_payload(message),
        author=services.author,
    )


def stored(services: Services, message: Message) -> Message:
    """The message as stored in the log: redacted."""
    kinds = services.config.redaction.kinds
    return changed(message, partial(redact, kinds=kinds)) if kinds else message


def changed(message: Message, change: Callable[[str], str]) -> Message:
    """The message with this change of every text that has words."""
    return Message(**with_words(EventKind.MESSAGE, _payload(message), change), id=message.id, at=message.at)


def stored_text(services: Services, text: str) -> str:
    """Any other text as stored in the log, redacted likewise."""
    kinds = services.config.redaction.kinds
    return redact(text, kinds) if kinds else text


def _payload(message: Message) -> dict[str, Any]:
    return message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "at"})


async def drain(run: Runner, services: Services) -> int:
    """Move everything from the outbox to the log, in the original order; returns how many events.

    Events that were already moved are recognized by their id, so that a crash neither loses nor repeats any.
    """
    outbox, count = services.outbox, 0
    if outbox is None:
        return 0
    for owner in await run.call(outbox.heads):
        while True:
            seen = await run.call(services.truth.head, owner)
            if not (events := await run.call(outbox.read, owner, limit=BATCH)):
                break
            try:
                for event in events:
                    if event.kind is not EventKind.ERASED:  # our own note, of a process that was killed before it went
                        await _give(run, services, event, seen)
            except OutdatedError:  # another one took it out, and it was forgotten
                continue
            # What the log has is erased here; unlike those of dropped events, its ids may be used again.
            marker = services.draft(EventKind.ERASED, {"positions": []})
            erased = await run.call(outbox.erase, owner, [event.position for event in events], {}, marker)
            await run.call(outbox.drop, owner, [erased.position])
            count += sum(event.kind is not EventKind.ERASED for event in events)
    if count:
        await run.call(outbox.scrub)
    return count


async def _give(run: Runner, services: Services, event: Event, seen: int) -> None:
    draft = Draft.of(event)
    try:
        await run.call(services.truth.append, event.scope.owner, [draft], seen=seen)
    except IdConflictError as error:
        # Nobody is there any more to be told; the words count for more than the id. The other id follows from them, so
        # that they are stored once however often this is tried.
        digest = hashlib.blake2b(json.dumps(event.payload, sort_keys=True).encode(), digest_size=8).hexdigest()
        renamed = replace(draft, id=f"{event.id[: MAX_NAME_CHARS - 17]}:{digest}")
        _log.warning("%s; the message from the outbox with this id is stored as %s", error, renamed.id)
        await run.call(services.truth.append, event.scope.owner, [renamed], seen=seen)


_TEXTS = {
    EventKind.MESSAGE: ("content", "name", "metadata", "tool_calls", "extra"),
    EventKind.PAYLOAD: ("text",),
    EventKind.RECALLED: ("query", "text"),
    EventKind.ITEM: ("value", "text"),
    EventKind.BLOCK: ("value", "description"),
}
"""The fields with words, by kind; other kinds have names and what was derived from these."""

_NAMES = OWN_EXTRA | {"made_of", "id", "call_id", "tool_call_id"}  # fields that name events and calls


class RedactingLog(DelegatingLog):
    """A log to which nothing is appended without being redacted."""

    def __init__(self, log: EventLog, kinds: Sequence[str]) -> None:
        super().__init__(log)
        self._redact = partial(redact, kinds=kinds)

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        clean = [replace(draft, payload=with_words(draft.kind, draft.payload, self._redact)) for draft in drafts]
        return self._log.append(owner, clean, seen=seen)


def with_words(kind: EventKind, payload: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The payload of such an event, with this change of every text that has words."""
    texts = _TEXTS.get(kind, ())
    return {name: _changed(value, change) if name in texts else value for name, value in payload.items()}


def _changed(value: Any, change: Callable[[str], str], *, media: bool = False) -> Any:
    """The JSON value with every text changed; in the letters of a picture a pattern would only find chance."""
    if isinstance(value, str):
        return value if media and is_encoded(value) else change(value)
    if isinstance(value, list | tuple):
        return [_changed(item, change, media=media) for item in value]
    if isinstance(value, Mapping):
        media = media or is_media(value)
        return {key: item if key in _NAMES else _changed(item, change, media=media) for key, item in value.items()}
    return value
