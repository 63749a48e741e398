"""Free files: their pieces are messages, so that their text is searchable, learned from and forgotten."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hybrid_memory.blocks.edit import Owned
from hybrid_memory.errors import FileError, InvalidInputError
from hybrid_memory.files.file import File, FileRevision, KeptFiles, Part, Revision, checked_file, joined, kept_files
from hybrid_memory.files.owned import (
    RACES,
    Change,
    Place,
    Writing,
    appended,
    kept_changed,
    missing,
    parted,
    raced,
    seen_files,
)
from hybrid_memory.files.units import units
from hybrid_memory.log.event import Event
from hybrid_memory.log.origin import lowest
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.projection import head
from hybrid_memory.store.remember import forgotten, stored_text
from hybrid_memory.store.view import in_view, present
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import shown

AT_ONCE = 500
"""Messages read at once."""

KEPT = 0.5
"""The share of the shorter piece's words from which a later piece counts as derived from an earlier one."""

MAX_CHAIN = 100
"""The most renames followed in a file's history."""


class FreeFiles(Place):
    """Files under any path that is not reserved for another kind."""

    made = False

    def holds(self, path: str) -> bool:
        return True

    async def files(self, run: Runner, owned: Owned) -> list[File]:
        kept = await seen_files(run, owned)
        return [_file(owned, made) for made in kept.standing if not made.path.startswith(OTHERS)]

    async def text(self, run: Runner, owned: Owned, path: str) -> str | None:
        made = (await seen_files(run, owned)).get(path)
        return None if made is None else joined(made.parts, words_of(await said(run, owned, made.ids)))

    async def change(self, run: Runner, owned: Owned, path: str, change: Change, writing: Writing) -> File:
        services = present(owned.services)
        for _ in range(RACES):
            seen = await head(run, services, owned.scope)
            numbers = await kept_files(run, services, owned.scope)  # first: what others write from here on takes the id
            kept = await seen_files(run, owned)
            kept.check_free(path)
            before = kept.get(path)
            if writing.call and any(made.call == writing.call for made in kept.histories.get(path, ())):
                return _file(owned, before) if before is not None else File(path)
            events = await said(run, owned, before.ids) if before is not None else []
            old = None if before is None else joined(before.parts, words_of(events))
            new = stored_text(services, checked_file(change(old)))
            if before is not None and new == old:
                return _file(owned, before)
            if lost := await forgotten(run, services, owned.scope.owner, writing.sources):
                raise InvalidInputError(f"it follows from {shown(lost)}, which was forgotten: nothing was changed")
            parts, drafts = _parts(owned, new, path, writing, events)
            made = _next(numbers, owned, path, writing.change, parts)
            made = replace(made, origin=writing.origin, call=writing.call)
            there = frozenset(made.ids)
            gone = [event for event in events if event.id not in there]
            if await appended(run, owned, [made], [*drafts, *kept_changed(services, gone)], seen=seen):
                return _file(owned, made)
        raise raced(path)

    async def delete(self, run: Runner, owned: Owned, path: str) -> None:
        """Remove a file, or all files in a folder."""
        services = present(owned.services)
        for _ in range(RACES):
            seen = await head(run, services, owned.scope)
            numbers = await kept_files(run, services, owned.scope)  # first: what others write from here on takes the id
            found = _named(await seen_files(run, owned), path)
            gone = await said(run, owned, _ids(found))
            made = [replace(_next(numbers, owned, one.path, "delete", ()), removed=True) for one in found]
            if await appended(run, owned, made, kept_changed(services, gone), seen=seen):
                return
        raise raced(path)

    async def rename(self, run: Runner, owned: Owned, old: str, new: str, change: str = "rename") -> None:
        """Move a file, or all files in a folder, to another path."""
        services = present(owned.services)
        for _ in range(RACES):
            seen = await head(run, services, owned.scope)
            numbers = await kept_files(run, services, owned.scope)  # first: what others write from here on takes the id
            kept = await seen_files(run, owned)
            found = _named(kept, old)
            made: list[Revision] = []
            for one in found:
                path = new + one.path[len(old) :]
                if kept.get(path) is not None or kept.under(path):
                    raise FileError("exists", f"there is a file {shown(path)} already: give another path")
                kept.check_free(path)
                left = _next(numbers, owned, one.path, change, ())
                moved = _next(numbers, owned, path, change, one.parts)
                if change == "undo":
                    moved = replace(moved, base=next(was.base for was in kept.histories[path][::-1] if not was.removed))
                made += [replace(left, moved=path, removed=True), replace(moved, moved=one.path, origin=one.origin)]
            if await appended(run, owned, made, [], seen=seen):
                return
        raise raced(old)

    async def history(self, run: Runner, owned: Owned, path: str) -> list[FileRevision]:
        kept = await seen_files(run, owned)
        if path not in kept.histories:
            raise missing(path)
        revisions = list(kept.histories[path])
        for _ in range(MAX_CHAIN):
            first = revisions[0]
            if first.removed or not first.moved:
                break
            earlier = [one for one in kept.histories.get(first.moved, ()) if one.position < first.position]
            before = [one for one in earlier if not (one.removed and one.moved)]
            if not before:
                break
            revisions = [*before, *revisions]
        words = words_of(await said(run, owned, _ids(revisions)))
        return [
            FileRevision(
                one.path, one.number, joined(one.parts, words), one.change, one.at, one.author, one.origin, one.removed
            )
            for one in revisions
        ]

    async def undo(self, run: Runner, owned: Owned, path: str) -> File | None:
        services = present(owned.services)
        for _ in range(RACES):
            seen = await head(run, services, owned.scope)
            numbers = await kept_files(run, services, owned.scope)  # first: what others write from here on takes the id
            kept = await seen_files(run, owned)
            found = kept.counted(path)
            if found is None:
                raise FileError("missing", f"there is no change of {shown(path)} to undo")
            current, before = found
            if current.moved and not current.removed and (before is None or before.removed):
                await self.rename(run, owned, path, current.moved, "undo")
                return None
            now = kept.get(path)
            if before is not None and not before.removed and now is None:
                kept.check_free(path)
            parts = () if before is None else before.parts
            base = 0 if before is None else before.number
            made = replace(
                _next(numbers, owned, path, "undo", parts), base=base, removed=before is None or before.removed
            )
            there, then = {} if now is None else dict.fromkeys(now.ids), dict.fromkeys(made.ids)
            gone = await said(run, owned, [one for one in there if one not in then])
            again = await said(run, owned, [one for one in then if one not in there])
            if await appended(run, owned, [made], kept_changed(services, gone, again), seen=seen):
                return None if made.removed else _file(owned, made)
        raise raced(path)


OTHERS = ("/profile.md", "/facts/", "/summary/", "/blocks/")
"""Prefixes of paths reserved for other kinds of files."""


def _file(owned: Owned, made: Revision) -> File:
    services = owned.services
    return File(made.path, made.size, made.at, read_only=services.read_only or services.horizon is not None)


def _named(kept: KeptFiles, path: str) -> list[Revision]:
    """The file at this path, or those in the folder."""
    made = kept.get(path)
    found = kept.under(path) if made is None else [made]
    if not found:
        raise missing(path)
    return found


def _ids(revisions: Iterable[Revision]) -> list[str]:
    return list(dict.fromkeys(name for one in revisions for name in one.ids))


def _next(numbers: KeptFiles, owned: Owned, path: str, change: str, parts: Sequence[Part]) -> Revision:
    """The next revision of a path; revisions hidden by a rollback keep their numbers."""
    number = 1 + numbers.number(path)
    return Revision(
        path, number, change, owned.services.clock(), tuple(parts), author=owned.services.author, base=number
    )


def _parts(
    owned: Owned, text: str, path: str, writing: Writing, events: Sequence[Event]
) -> tuple[list[Part], list[Draft]]:
    """The parts of a text: messages that the file already has, and new ones."""
    known = {event.message.text: Part(event.id, "", len(event.message.text.encode())) for event in events}
    found = units(text)
    there = {unit.words for unit in found}
    gone = _Gone([event for event in events if event.message.text not in there])
    parts, drafts = list[Part](), list[Draft]()
    for words, tail in found:
        if words and words not in known:
            how = gone.followed(writing, words)
            known[words], draft = parted(owned.services, owned, how.message(owned.services, words, path))
            drafts.append(draft)
        parts.append(known[words]._replace(tail=tail) if words else Part("", tail))
    return parts, drafts


class _Gone:
    """The pieces that leave a file, found by their words."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._sizes: list[int] = []
        self._by_term: dict[str, list[int]] = defaultdict(list)
        for row, event in enumerate(events):
            own = set(terms(event.message.text))
            self._sizes.append(len(own))
            for term in own:
                self._by_term[term].append(row)

    def followed(self, writing: Writing, words: str) -> Writing:
        """How to write a piece that reuses removed words: derived from those, with their lowest origin."""
        own = set(terms(words)) if self._events else set()
        shared = Counter(row for term in own for row in self._by_term.get(term, ()))
        before = [
            self._events[row]
            for row, count in sorted(shared.items())
            if count >= KEPT * min(len(own), self._sizes[row])
        ]
        origin = lowest((writing.origin, *(event.origin for event in before)))
        return replace(writing, origin=origin, earlier=tuple(event.id for event in before))


async def said(run: Runner, owned: Owned, ids: Sequence[str]) -> list[Event]:
    """The messages with these ids that were not destroyed."""
    found: list[Event] = []
    view = await in_view(run, owned.services, owned.scope)
    for start in range(0, len(ids), AT_ONCE):
        found += await run.call(view.truth.get, owned.scope.owner, ids[start : start + AT_ONCE])
    return found


def words_of(events: Iterable[Event]) -> Mapping[str, str]:
    """The text of messages, by id."""
    return {event.id: event.message.text for event in events}
