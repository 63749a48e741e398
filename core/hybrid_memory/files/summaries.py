"""Summaries of sessions as files: you can remove, reword and restore lines, but not add any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hybrid_memory.blocks.edit import Owned
from hybrid_memory.context import queue as sessions
from hybrid_memory.context.queue import QueueState
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.errors import FileError
from hybrid_memory.files.file import File, FileRevision, checked_file
from hybrid_memory.files.owned import RACES, Change, Place, Writing, missing, raced
from hybrid_memory.files.path import MAX_NAME_BYTES
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.origin import lowest
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import number_of, revision_id
from hybrid_memory.store.remember import stored_text
from hybrid_memory.store.view import View, in_view, present
from hybrid_memory.text.marks import within_line
from hybrid_memory.validation import shown

FOLDER = "/summary"

SESSIONS = 1_000
"""The most sessions of an owner that are listed, those that began compacting last."""

STATES = 32
"""How many of the newest states of a summary make up its history."""


class SummaryFiles(Place):
    """``/summary/<session>.md``: the summary of each session's older turns."""

    def holds(self, path: str) -> bool:
        return path == FOLDER or path.startswith(f"{FOLDER}/")

    async def files(self, run: Runner, owned: Owned) -> list[File]:
        view = await in_view(run, owned.services, owned.scope)
        first = await run.call(
            view.log.read, owned.scope.owner, ids=[revision_id("queue", 1)], limit=SESSIONS, newest=True
        )
        found = []
        for scope in sorted({event.scope for event in first if _nameable(event.scope.session)}, key=str):
            events = await _states(run, view, scope, 1)
            state = await sessions.state_of(run, view, scope)
            if state.lines:
                found.append(_file(owned, f"{FOLDER}/{scope.session}.md", state.lines, events))
        return found

    async def text(self, run: Runner, owned: Owned, path: str) -> str | None:
        view = await in_view(run, owned.services, owned.scope)
        return _written((await sessions.state_of(run, view, _session(owned, path))).lines) or None

    async def change(self, run: Runner, owned: Owned, path: str, change: Change, writing: Writing) -> File:
        services, scope = present(owned.services), _session(owned, path)
        for _ in range(RACES):
            session = await sessions.load(run, services, scope)
            old = session.state
            if not old.lines:
                raise missing(path)
            view = await in_view(run, services, scope)
            events = await _states(run, view, scope, STATES)
            text = stored_text(services, checked_file(change(_written(old.lines))))
            before = [line for event in events for line in QueueState.of(event).lines]
            lines = _edited(text, old.lines, before, writing)
            if lines == list(old.lines):
                return _file(owned, path, lines, events[-1:])
            state = replace(old, number=old.number + 1, lines=tuple(lines))
            payload = {**state.as_payload(), "change": writing.change}
            if await sessions.write_state(run, view, session, state, kind=EventKind.COMPACTION, payload=payload):
                view = await in_view(run, services, scope)
                return _file(owned, path, lines, await _states(run, view, scope, 1))
        raise raced(path)

    async def history(self, run: Runner, owned: Owned, path: str) -> list[FileRevision]:
        scope = _session(owned, path)
        events = await _states(run, await in_view(run, owned.services, scope), scope, STATES)
        if not events:
            raise missing(path)
        return [
            FileRevision(
                path, number_of(event), _written(QueueState.of(event).lines),
                event.payload.get("change", "compaction"), event.at, event.author,
            )
            for event in events
        ]  # fmt: skip

    async def undo(self, run: Runner, owned: Owned, path: str) -> File | None:
        scope = _session(owned, path)
        events = await _states(run, await in_view(run, owned.services, scope), scope, STATES)
        counted: list[int] = []
        for row, event in enumerate(events):
            change = event.payload.get("change", "")
            if not change or change == "undo":
                counted = counted[:-1] if change else []
            elif row:
                counted.append(row)
        if not counted:
            raise FileError("missing", f"there is no change of {shown(path)} to undo: compaction cannot be undone")
        text = _written(QueueState.of(events[counted[-1] - 1]).lines)
        origin = owned.services.speaks
        return await self.change(run, owned, path, lambda _: text, Writing("undo", origin))


async def _states(run: Runner, view: View, scope: Scope, most: int) -> list[Event]:
    """The latest states of a session's summary, oldest first, since the last reset."""
    events = await run.call(view.log.read, scope, kinds=sessions.STATES, limit=most, newest=True)
    last = max((row for row, event in enumerate(events) if event.kind is EventKind.RESET), default=-1)
    return [event for event in events[last + 1 :] if event.scope.session == scope.session]


def _nameable(session: str | None) -> bool:
    """Whether a session's name can be a file name."""
    return bool(session) and "/" not in str(session) and len(str(session).encode()) + 3 <= MAX_NAME_BYTES


def _session(owned: Owned, path: str) -> Scope:
    name = path.removeprefix(f"{FOLDER}/")
    if path == FOLDER or not name.endswith(".md") or not _nameable(name.removesuffix(".md")):
        raise FileError("path", f"a summary is a file such as {FOLDER}/<session>.md, got {shown(path)}")
    return replace(owned.scope, session=name.removesuffix(".md"))


def _shown(line: Line) -> str:
    return f"- {within_line(line.text)} [{line.handle}]"


def _written(lines: Sequence[Line]) -> str:
    by_section = {section: [_shown(line) for line in lines if line.section is section] for section in Section}
    parts = [[f"## {section.replace('_', ' ')}", *own] for section, own in by_section.items() if own]
    return "\n".join("\n".join(part) + "\n" for part in parts)


def _file(owned: Owned, path: str, lines: Sequence[Line], events: Sequence[Event]) -> File:
    services = owned.services
    fixed = services.read_only or services.horizon is not None
    at = events[-1].at if events else None
    return File(path, len(_written(lines).encode()), at, read_only=fixed)


def _edited(text: str, now: Sequence[Line], before: Iterable[Line], writing: Writing) -> list[Line]:
    """The lines in a text: current ones, earlier ones, or rewordings of lines for the same turns."""
    known = {_shown(line): line for line in (*before, *now)}
    by_handle: dict[str, Line] = {line.handle: line for line in now}
    found: list[Line] = []
    for wanted in (" ".join(line.split()) for line in text.splitlines()):
        if not wanted or wanted.startswith("#"):
            continue
        line = known.get(wanted) or _reworded(wanted, by_handle, writing)
        if line is None:
            raise FileError(
                "text",
                f"{shown(wanted)} stands for no turn: lines of a summary can be removed and reworded, with their [#…] "
                "kept; write what is new to a file below /notes/",
            )
        found.append(line)
    return found


def _reworded(wanted: str, by_handle: dict[str, Line], writing: Writing) -> Line | None:
    words, _, rest = wanted.removeprefix("- ").rpartition(" [")
    line = by_handle.get(rest.removesuffix("]"))
    if line is None or not words or not rest.endswith("]"):
        return None
    origin = writing.origin if line.origin is None else lowest((line.origin, writing.origin))
    return replace(line, text=words, origin=origin)
