"""``expand``, ``fetch``, ``grep``, ``offload``: from a handle in a prompt back to the original text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hybrid_memory.context.context import Dropped
from hybrid_memory.context.offload.digest import digest
from hybrid_memory.context.offload.payloads import Matches, Page, grep, page, payload_of
from hybrid_memory.context.summary import Line, Summary
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.record import Record
from hybrid_memory.log.event import Event, EventKind, handle
from hybrid_memory.log.message import Message
from hybrid_memory.log.origin import Origin
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Given, Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import origin
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_count, shown, storable

_HANDLE = re.compile(r"\[?#(\d{1,18})(?:-#?(\d{1,18}))?\]?")


async def expand(run: Runner, services: Services, scope: Scope, what: Any) -> list[Message]:
    """The original messages of a line, a hit, a handle or an event id, oldest first.

    Raises:
        InvalidInputError: it is none of these, or this owner has nothing there.
    """
    if isinstance(what, Summary):
        found = [message for stretch in what.handles for message in await expand(run, services, scope, stretch)]
        return list({message.id: message for message in found}.values())
    events = await behind(run, services, scope, what)
    messages = [event.message for event in events if event.kind is EventKind.MESSAGE]
    if not messages:
        raise InvalidInputError(f"{shown(what)} is not a message: read offloaded texts with fetch()")
    return messages


async def behind(run: Runner, services: Services, scope: Scope, what: Any) -> list[Event]:
    """The events of a line, a hit, a record, a handle or an id.

    Raises:
        InvalidInputError: it is none of these, or this owner has nothing there.
    """
    wanted = what.handle if isinstance(what, Line | Dropped) else what
    wanted = wanted.record if isinstance(wanted, Hit) else wanted
    if isinstance(wanted, Record):
        home = await origin(run, services, scope, wanted.scope, "expand")
        return await run.call((await in_view(run, services, home)).log.get, home, [*wanted.sources])
    services = await in_view(run, services, scope)
    if not isinstance(wanted, str):
        raise InvalidInputError(f"give a handle such as '#12', a line, a hit or an event id, got {shown(what)}")
    place = _HANDLE.fullmatch(wanted.strip())
    if place is None:
        # An id is unique in a session: this one's comes before that of another session of the owner.
        events = await run.call(services.log.get, scope, [wanted]) or await run.call(
            services.log.get, scope.owner, [wanted]
        )
    else:
        first, last = int(place[1]), int(place[2] or place[1])
        # One turn may come from another session of the owner, as recall does; a stretch is this session's.
        reach = scope.owner if first == last else scope
        events = await run.call(services.log.read, reach, after=first - 1, upto=last)
    if not events:
        raise InvalidInputError(f"{scope} has no event with the handle or id {wanted!r}")
    return events


async def payload(run: Runner, services: Services, scope: Scope, result_id: str) -> str:
    """The whole text with a ``result_id``: a message's, or one stored by `offload`."""
    event = (await behind(run, services, scope, result_id))[0]
    if event.kind is EventKind.PAYLOAD:
        text: str = event.payload["text"]
        return text
    if event.kind is not EventKind.MESSAGE:
        raise InvalidInputError(f"{result_id!r} is neither a message nor a payload")
    return payload_of(event.message)


async def fetch(
    run: Runner,
    services: Services,
    scope: Scope,
    result_id: str,
    *,
    where: str | tuple[int, int] | None,
    max_chars: int,
) -> Page:
    """A page of the text; see `hybrid_memory.context.offload.payloads.page`."""
    checked_count("max_chars", max_chars, least=1)
    return page(await payload(run, services, scope, result_id), where, max_chars=max_chars)


async def search(
    run: Runner, services: Services, scope: Scope, result_id: str, pattern: str, *, context: int, max_chars: int
) -> Matches:
    """The matching lines of the text; see `hybrid_memory.context.offload.payloads.grep`."""
    checked_count("max_chars", max_chars, least=1)
    checked_count("context", context, least=0)
    return grep(await payload(run, services, scope, result_id), pattern, context=context, max_chars=max_chars)


def _offloads(span: Span, given: Given) -> None:
    span.content["scope"] = given["scope"]


def _offloaded(span: Span, payload: Payload) -> None:
    span.attributes["handle"] = payload.result_id


@traced("offload", _offloads, _offloaded)
async def offload(run: Runner, services: Services, scope: Scope, text: Any, max_tokens: int) -> Payload:
    """Store a text durably outside the prompt; returns what the prompt shows instead."""
    present(services)
    tokens = checked_count("max_tokens", max_tokens, least=1)
    if not isinstance(text, str) or not text:
        raise InvalidInputError(f"only a non-empty text can be offloaded, got {shown(text)}")
    try:
        storable(text)
    except ValueError as error:
        raise InvalidInputError(f"cannot offload {shown(text)}: {error}") from error
    payload = {"text": text, "origin": Origin.ASSISTANT}  # the model's, or put aside for it: nobody's instruction
    draft = services.draft(EventKind.PAYLOAD, payload, session=scope.session, author=services.author)
    await run.call(services.count, "")
    (appended,) = await run.call(services.log.append, scope.owner, [draft])
    name = handle(appended.position, appended.position)
    return Payload(name, digest(text, result_id=name, max_tokens=tokens, count=services.count))


@dataclass(frozen=True, slots=True)
class Payload:
    """An offloaded text.

    Attributes:
        result_id: pass it to `fetch` and `grep`.
        digest: the text that a prompt shows instead.
    """

    result_id: str
    digest: str
