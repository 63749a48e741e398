"""L3 on Redis: append-only events with positions, scope and idempotent ids."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection, Sequence
from math import inf
from typing import Any, Unpack
from zlib import crc32

from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as NoAnswerError

from hybrid_memory.engines.redis.connection import RedisConnection, Script, Value, digest_or_none, owner_tag
from hybrid_memory.engines.redis.log_scripts import DROP, GET, READ, RESTORE, STATE, WRITE
from hybrid_memory.engines.stored import conflict, digest, draft_row, event_in, owner_json, owner_key, to_json
from hybrid_memory.errors import OutcomeUnknownError, OutdatedError, StoreError, StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, LogState, Payloads, Reading, Selection
from hybrid_memory.scope import Scope

PAGE = 5_000  # events per answer of the server, which serves nobody else in the meantime, for about 10 ms
ATTEMPTS = 1_000  # how often to retry an append if others for the same owner are faster

_LOCKS = 64

_log = logging.getLogger(__name__)


class RedisLog(EventLog):
    """The event log on a server; it closes the connection.

    Durability depends on the server: with ``appendfsync always`` acknowledged events survive a power failure, with
    ``everysec`` the last second may be lost.

    A position is reserved from a counter for all owners. The events are appended only if it is greater than the owner's
    last position; otherwise a new one is reserved. So a reader that follows an owner's log misses nothing.
    """

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._prefix = connection.prefix
        # Threads of one process queue here, and do not overtake each other between reserving and appending.
        self._turns = [threading.Lock() for _ in range(_LOCKS)]
        if not connection.info("persistence").get("aof_enabled"):
            _log.warning("%s has no append-only file: a crash loses events", connection.place)
        connection.warn_of_eviction("events")

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        self._connection.check_open()
        if not drafts:
            return []
        return self._written(owner, drafts, seen, ["append", "", 0])

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        self._connection.check_open()
        selection, session = Selection(**which), "" if scope.session is None else digest_or_none(scope.session)
        if selection.ids is not None:
            found = self._run(GET, scope, [session, *dict.fromkeys(selection.ids)])
            named = self._events(scope, found[::2], found[1::2])
            return selection.of(sorted(named, key=lambda event: event.position))
        if selection.limit is not None and selection.limit <= 0:
            return []
        # Of those between two instants, which are picked here, not all of a page may be.
        timed, matches = selection.since is not None or selection.until is not None, selection.test()
        most = PAGE if selection.limit is None or timed else min(PAGE, selection.limit)
        low, high = f"({selection.after}", "+inf" if selection.upto is None else str(selection.upto)
        rest = [most, int(selection.newest), session, *(kind.value for kind in dict.fromkeys(selection.kinds))]
        events: list[Event] = []
        erasures = set()
        while True:
            erased, *found = self._run(READ, scope, [low, high, *rest])
            page = self._events(scope, found[::2], found[1::2])
            events += filter(matches, page)
            erasures.add(erased)
            if len(erasures) > 1:  # something was erased between two pages
                return self.read(scope, **which)
            if len(page) < most or len(events) >= (selection.limit or inf):
                events = events[: selection.limit]
                return events[::-1] if selection.newest else events
            if selection.newest:
                high = str(page[-1].position - 1)
            else:
                low = f"({page[-1].position}"

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        values: list[Value] = ["erase", " ".join(map(str, positions)), len(rewritten)]
        for position, payload in rewritten.items():
            text = to_json(payload)
            values += [position, digest(text).hex(), text]
        return self._written(owner, [note], seen, values)[0]

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        self._run(DROP, owner, list(positions))

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        self._connection.check_open()
        if not events:
            return
        # First, so that nobody is given a position that is about to be taken.
        self._reserved(owner, 0, max(event.position for event in events))
        self._run(RESTORE, owner, [value for event in events for value in to_values(Draft.of(event), event.position)])

    def scrub(self) -> None:
        self._connection.rewrite()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        owners = [scope.owner] if scope is not None else self._owners()
        last = self._connection.calls([("GET", f"{self._root(owner)}:last") for owner in owners])
        return {owner: int(position) for owner, position in zip(owners, last, strict=True) if position is not None}

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        self._connection.check_open()
        answer = self._run(STATE, owner, [kind.value for kind in kinds if kind is not EventKind.MESSAGE])
        if not answer:
            return LogState()
        head, *others = self._events(owner, answer[::2], answer[1::2])
        last = {event.kind: (event.position, event.mark) for event in others}
        return LogState(head.position, head.mark, last)

    def count(self, owner: Scope, *, after: int = 0) -> int:
        root = self._root(owner)
        return sum(
            self._connection.calls([("ZCOUNT", f"{root}:kind:{kind}", f"({after}", "+inf") for kind in EventKind])
        )

    def size(self) -> LogSize:
        roots = [self._root(owner) for owner in self._owners()]
        answer = self._connection.calls(
            [("HLEN", f"{root}:{part}") for root in roots for part in ("ids", "sessions", "events", "dropped")]
        )
        server = self._connection.info("all")
        return LogSize(
            owners=sum(ids > 0 for ids in answer[::4]),
            sessions=sum(answer[1::4]),
            events=sum(answer[2::4]),
            bytes=int(server.get("aof_current_size", 0) or server["used_memory"]),
            archived=sum(answer[3::4]),
        )

    def close(self) -> None:
        self._connection.close()

    def _written(
        self, owner: Scope, drafts: Sequence[Draft], seen: int | None, change: Sequence[Value]
    ) -> list[Appended]:
        values = [-1 if seen is None else seen, *change, *(value for draft in drafts for value in to_values(draft))]
        beyond = 0
        with self._turns[crc32(owner_tag(owner).encode()) % _LOCKS]:
            for _ in range(ATTEMPTS):
                base = self._reserved(owner, len(drafts), beyond)
                outcome, *answer = self._settled(owner, drafts, base, values)
                if outcome == b"done":
                    pairs = zip(drafts, answer[::2], answer[1::2], strict=True)
                    return [Appended(draft.id, int(position), fresh=bool(fresh)) for draft, position, fresh in pairs]
                if outcome == b"taken":
                    raise conflict(drafts[answer[0] - 1], f"(position {int(answer[1])})")
                if outcome == b"outdated":
                    raise OutdatedError(f"the log of {owner} went on to {int(answer[0])}, beyond {seen}")
                beyond = int(answer[0])
        raise StoreUnavailableError(f"{ATTEMPTS} writes for {owner} collided with others: write less at once")

    def _settled(self, owner: Scope, drafts: Sequence[Draft], base: int, values: Sequence[Value]) -> Any:
        """The result of the writing script; if its answer is lost, it is determined from the stored events.

        The result is unknown if the server may still execute the call.
        """
        try:
            return self._run(WRITE, owner, [base, *values])
        except StoreUnavailableError as error:
            names = [draft.id for draft in drafts]
            unknown = OutcomeUnknownError(names, error)
            try:
                found = {event.id: event.position for event in self.read(owner.owner, ids=names)}
            except StoreUnavailableError:
                found = {}
                if not isinstance(error.__cause__, ResponseError):
                    raise unknown from error
            if all(base < found.get(name, 0) <= base + len(names) for name in names):
                return [b"done", *(part for name in names for part in (found[name], 1))]
            if isinstance(error.__cause__, NoAnswerError):
                raise unknown from error
            raise

    def _reserved(self, owner: Scope, size: int, beyond: int) -> int:
        """A position that starts a reserved range of this size, not before the given one."""
        known = ("HSETNX", f"{self._prefix}:owners", owner_tag(owner), owner_json(owner))
        _, last = self._connection.calls([known, ("INCRBY", f"{self._prefix}:position", size)])
        if last - size < beyond:  # the counter was restored from a backup
            last = self._connection.call("INCRBY", f"{self._prefix}:position", beyond - (last - size))
        return int(last) - size

    def _events(self, scope: Scope, positions: Sequence[Any], stored: Sequence[bytes | None]) -> list[Event]:
        if gone := [int(position) for position, value in zip(positions, stored, strict=True) if value is None]:
            raise StoreError(
                f"{self._connection.place} has lost #{gone[0]} of {scope.owner} and {len(gone) - 1} more, "
                "as where it evicts keys: set maxmemory-policy noeviction, and restore a backup"
            )
        events = []
        for position, value in zip(positions, filter(None, stored), strict=True):
            line, meta, payload = value.split(b"\n", 2)
            kind, _, at = line.split(b" ")
            event_id, session, sources, author = json.loads(meta)
            row = (int(position), event_id, session, kind.decode(), int(at), payload, sources, author)
            events.append(event_in(row, *owner_key(scope)))
        return events

    def _owners(self) -> list[Scope]:
        names = map(json.loads, self._connection.call("HVALS", f"{self._prefix}:owners"))
        return [Scope(tenant, user, agent, space=space) for tenant, user, agent, space in names]

    def _root(self, owner: Scope) -> str:
        return f"{self._prefix}:log:{{{owner_tag(owner)}}}"

    def _run(self, script: Script, owner: Scope, values: Sequence[Value]) -> Any:
        return self._connection.script(script, self._root(owner), values)


def to_values(draft: Draft, position: int | None = None) -> list[Value]:
    """Arguments for the scripts: fixed or position, session, id, kind, time, digest, a line of JSON, payload."""
    event_id, session, kind, at, payload, sources, author = draft_row(draft)
    line = to_json([event_id, session, sources, author])
    first = int(draft.fixed_id) if position is None else position
    return [first, digest_or_none(draft.session), event_id, kind, at, digest(payload).hex(), line, payload]
