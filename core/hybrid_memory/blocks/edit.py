"""Blocks of working context: reading, compare-and-set changes, undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hybrid_memory.blocks.block import (
    MOST_CHARS,
    Block,
    BlocksProjection,
    Edit,
    KeptBlocks,
    Revision,
    checked_label,
    checked_length,
    payload,
)
from hybrid_memory.errors import IdConflictError, InvalidInputError, StoreUnavailableError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.origin import Origin, lowest
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import decide as sharing
from hybrid_memory.sharing.grant import Asked, Member, Right
from hybrid_memory.store.projection import append_revision, head, revision_id
from hybrid_memory.store.remember import forgotten, stored_text
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import checked_count, checked_text, shown

MOST_DESCRIBED = 2000
"""The longest description."""

RACES = 100
"""How many changes by others may interfere before the call fails."""

Change = Callable[[KeptBlocks], Revision | None]
"""Given the current block: the new one, not numbered yet; None to change nothing."""


@dataclass(frozen=True, slots=True)
class Owned:
    """The owner of the blocks, and the user and agent who call; ``attached`` is the space, as they see it."""

    services: Services
    scope: Scope
    principal: Scope
    attached: str | None = None

    def seen(self, block: Block) -> Block:
        """The block as seen from where it is attached."""
        return block if self.attached is None else replace(block, space=self.attached)


async def blocks(run: Runner, owned: Owned) -> dict[str, Block]:
    """The existing blocks; attached ones with the current text of their space, if it is readable."""
    shown_here = {}
    for label, block in (await kept_blocks(run, owned.services, owned.scope)).standing.items():
        if block.space is None:
            shown_here[label] = block
            continue
        space = sharing.named(owned.principal, block.space)
        held = (await sharing.standing(run, owned.services, space)).right(owned.principal)
        # Left out without a denial in the audit: nobody asked for it, the prompt did.
        shared = None if held is None else (await kept_blocks(run, owned.services, space)).get(label)
        if shared is not None and shared.space is None:
            shown_here[label] = replace(shared, space=block.space)
    return shown_here


async def home(run: Runner, owned: Owned, label: str, verb: str, needed: Right = Right.WRITE) -> Owned:
    """The owner of the block: its own, or the space that it is attached from."""
    block = (await kept_blocks(run, owned.services, owned.scope)).get(checked_label(label))
    if block is None or block.space is None:
        return owned
    member = Member(owned.principal, sharing.named(owned.principal, block.space))
    asked = Asked(verb, needed, trusted=needed is not Right.READ)
    known = await sharing.admitted(run, owned.services, member, asked)
    return Owned(sharing.entered(owned.services, member, known), member.space, owned.principal, block.space)


async def kept_blocks(run: Runner, services: Services, scope: Scope) -> KeptBlocks:
    """The owner's blocks as this view shows them."""
    return await services.state(BlocksProjection).seen(run, await in_view(run, services, scope))


async def _all_blocks(run: Runner, services: Services, scope: Scope) -> KeptBlocks:
    """The owner's blocks, including what a rollback hides."""
    return await services.state(BlocksProjection).read(run, services, scope)


async def put(run: Runner, services: Services, scope: Scope, block: Block) -> Block:
    """Set a block, even if it is read-only; raises `InvalidInputError`."""
    wanted = _put(services, block, services.speaks)

    def change(kept: KeptBlocks) -> Revision:
        _refuse_attached(kept.get(block.label))
        return Revision(wanted)

    return await _changed(run, services, scope, block.label, change)


async def edit(
    run: Runner,
    services: Services,
    scope: Scope,
    label: str,
    wanted: Edit,
    *,
    seen: int | None,
    call: str,
    sources: tuple[str, ...],
    origin: Origin = Origin.OPERATOR,
) -> Block:
    """Change the text of a block, in words of this origin.

    Concurrent edits are merged: appends always, replacements if their place still exists. A new value must be based on
    the revision that was ``seen``.
    """
    wanted = _checked(services, wanted)
    _check_known(seen, call, sources)

    def change(kept: KeptBlocks) -> Revision | None:
        block = _existing(kept, label)
        _refuse_attached(block)
        if call and any(made.call == call for made in kept.histories[label]):
            return None
        if wanted.value is not None and seen is not None and seen != block.revision:
            raise InvalidInputError(
                f"the block {label!r} was changed in the meantime: merge both versions; it now says:\n{block.value}"
            )
        text, editor = wanted.applied(block), lowest((origin, services.speaks))
        written = wanted.origin(block, editor)
        return Revision(replace(block, value=text, change=wanted.change, sources=sources, origin=written), call)

    return await _changed(run, services, scope, label, change)


async def editor(
    run: Runner, owned: Owned, origin: Origin | str | None, sources: Sequence[str], *, followed: bool
) -> Origin:
    """The origin of an edit: what the caller states, but no higher than the messages it is based on."""
    if origin is None:
        origin = Origin.ASSISTANT if followed or sources else Origin.OPERATOR
    elif origin not in tuple(Origin):
        raise InvalidInputError(f"unknown origin {shown(origin)}: choose one of {', '.join(Origin)}")
    _check_known(None, "", tuple(sources))
    events = await run.call(owned.services.truth.get, owned.scope.owner, list(sources)) if sources else []
    return lowest((Origin(origin), *(event.origin for event in events if event.kind is EventKind.MESSAGE)))


async def undo(run: Runner, services: Services, scope: Scope, label: str) -> Block:
    """Undo the last effective change; raises `InvalidInputError` if there is none."""

    def change(kept: KeptBlocks) -> Revision:
        before = kept.before(checked_label(label))
        if before is None:
            raise InvalidInputError(f"the block {shown(label)} has no change to undo")
        return Revision(replace(before.block, change="undo", sources=()), base=before.block.revision)

    return await _changed(run, services, scope, label, change)


async def attach(run: Runner, owned: Owned, label: str, space: str) -> Block:
    """Attach the space's block with this label, and return it."""
    (home,) = await sharing.reached(run, owned.services, owned.principal, [space], "attach_block")
    block = _existing(await kept_blocks(run, owned.services, home), label)
    _refuse_attached(block)

    def change(kept: KeptBlocks) -> Revision:
        before = kept.get(label)
        if before is not None and before.space != space:
            raise InvalidInputError(f"there is a block {label!r} already: remove it first")
        return Revision(Block(label, change="attach", space=space))

    await _changed(run, owned.services, owned.scope, label, change)
    return replace(block, space=space)


async def remove(run: Runner, services: Services, scope: Scope, label: str) -> Block:
    """Remove a block from the prompt; its history remains."""

    def change(kept: KeptBlocks) -> Revision:
        return Revision(replace(_existing(kept, label), change="remove", removed=True, sources=()))

    return await _changed(run, services, scope, label, change)


def history(kept: KeptBlocks, label: str) -> list[Block]:
    """The block after each of its changes, oldest first; raises `InvalidInputError` if it never existed."""
    if checked_label(label) not in kept.histories:
        raise InvalidInputError(_missing(kept, label))
    return [made.block for made in kept.histories[label]]


async def _changed(run: Runner, services: Services, scope: Scope, label: str, change: Change) -> Block:
    present(services)
    checked_label(label)
    for _ in range(RACES):
        seen = await head(run, services, scope)
        # What a rollback hides keeps its number. Read first: what others write from here on then takes the id.
        number = 1 + (await _all_blocks(run, services, scope)).number(label)
        kept = await kept_blocks(run, services, scope)
        made = change(kept)
        if made is None:
            return _existing(kept, label)
        sources = made.block.sources if scope.space is None else ()  # of a shared block these may lie in an own log
        if lost := await forgotten(run, services, scope.owner, sources):
            raise InvalidInputError(f"it follows from {shown(lost)}, which was forgotten: nothing was changed")
        block = replace(made.block, revision=number, at=services.clock(), author=services.author)
        revision = Revision(block, made.call, made.base or number)
        if await append_revision(run, services, scope.owner, _draft(services, revision), seen=seen) is not None:
            return block
    raise StoreUnavailableError(f"other processes kept changing the block {label!r} at the same time: try again")


def _draft(services: Services, made: Revision) -> Draft:
    block = made.block
    name = revision_id(f"block:{block.label}", block.revision)
    draft = services.draft(EventKind.BLOCK, payload(made), id=name, sources=block.sources, author=services.author)
    return replace(draft, at=block.at or draft.at)


async def begin(run: Runner, services: Services, scope: Scope, blocks: Sequence[Block]) -> None:
    """Give these blocks, all or none, to an owner who never had any; otherwise do nothing."""
    present(services)
    wanted = [_put(services, block, services.speaks) for block in blocks]
    if not wanted or (await _all_blocks(run, services, scope)).histories:
        return
    drafts = [_draft(services, Revision(replace(block, revision=1, at=services.clock()), base=1)) for block in wanted]
    with suppress(IdConflictError):  # somebody was faster
        await run.call(services.truth.append, scope.owner, drafts)


def _put(services: Services, block: Block, origin: Origin) -> Block:
    """The validated block that the application requests."""
    label = checked_label(block.label)
    described = stored_text(services, checked_text("description", block.description))
    if len(described) > MOST_DESCRIBED:
        raise InvalidInputError(f"a description has at most {MOST_DESCRIBED} characters, got {len(described)}")
    if isinstance(block.max_chars, bool) or checked_count("max_chars", block.max_chars, least=1) > MOST_CHARS:
        raise InvalidInputError(f"max_chars must lie in 1 to {MOST_CHARS}, got {shown(block.max_chars)}")
    if not isinstance(block.read_only, bool):
        raise InvalidInputError(f"read_only must be True or False, got {shown(block.read_only)}")
    value = checked_length(label, stored_text(services, checked_text("value", block.value)), block.max_chars)
    return replace(block, value=value, description=described, change="put", origin=origin)


def _check_known(seen: Any, call: Any, sources: tuple[Any, ...]) -> None:
    """Reject an edit that needs knowledge its caller cannot have."""
    if seen is not None and (isinstance(seen, bool) or not isinstance(seen, int)):
        raise InvalidInputError(f"revision must be a block's revision, got {shown(seen)}")
    for name, value in [("id", call), *(("source", source) for source in sources)]:
        if checked_text(name, value) and len(value) > MOST_DESCRIBED:
            raise InvalidInputError(f"{name} is too long: {shown(value)}")


def _refuse_attached(block: Block | None) -> None:
    """Refuse to attach an attached block: across two memories nobody would see an edit."""
    if block is not None and block.space is not None:
        raise InvalidInputError(
            f"the block {block.label!r} is attached there from the space {block.space!r}: attach it from that one"
        )


def _existing(kept: KeptBlocks, label: str) -> Block:
    block = kept.get(checked_label(label))
    if block is None:
        raise InvalidInputError(_missing(kept, label))
    return block


def _missing(kept: KeptBlocks, label: str) -> str:
    labels = ", ".join(map(repr, kept.standing)) or "none"
    return f"there is no block {label!r}; there are: {labels}"


def _checked(services: Services, wanted: Edit) -> Edit:
    parts = {"append": wanted.append, "old": wanted.old, "value": wanted.value}
    if sum(part is not None for part in parts.values()) != 1:
        raise InvalidInputError("give exactly one of append=, old= (with new=) and value=")
    checked_text("new", wanted.new)
    for name, part in parts.items():
        if part is not None:
            checked_text(name, part)
    if wanted.append is not None and not wanted.append.strip():
        raise InvalidInputError("append is empty: say what to add")
    if wanted.old == "":
        raise InvalidInputError("old is empty: quote the words to replace exactly")
    texts = {name: stored_text(services, part) for name, part in parts.items() if part is not None and name != "old"}
    return replace(wanted, **texts, new=stored_text(services, wanted.new))
