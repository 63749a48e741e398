"""Which of the waiting jobs is next."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any

from hybrid_memory.runtime.tasks import Job

AnyJob = Job[Any]
TIDY = 16
"""Cancelled jobs are swept out of a line when they are this many, and the half of it."""
MANY = 4096
"""Entries that are out of date are swept out when there are this many more than could be needed."""

Ready = tuple[float, float, int, int, int, "Line"]
"""The head of a line, in the order in which heads are taken: level (negative), deadline, last turn, arrival."""


class Line:
    """The jobs of one kind, priority and scope, with or without deadline: by deadline, then by arrival.

    Attributes:
        level: the priority, and one more for each time that the line waited so long for its turn.
        version: that of its entry among the heads; other entries are out of date.
    """

    def __init__(self, kind: str, job: AnyJob) -> None:
        self.kind = kind
        self.interactive = job.task.interactive
        self.turns: Hashable = (job.task.priority, job.expires < float("inf"), job.task.scope)
        self.priority = self.level = job.task.priority
        self.version = 0
        self.wait = 0
        self.jobs: list[tuple[float, int, AnyJob]] = []
        self.gone = 0


class Waiting:
    """Jobs in the order in which they are to begin. Its owner locks it.

    Higher level first; then the earlier deadline, jobs without one last; then the scope whose turn is longest ago; then
    order of arrival. The level is the priority, and rises by one for each ``aging`` seconds that the head of a line has
    waited. Only the heads of lines age: were the whole line to, a scope with much to do would after a while come before
    every scope that comes later.

    Args:
        aging: seconds.
    """

    def __init__(self, aging: float) -> None:
        self._aging = aging
        self._lines: dict[Hashable, Line] = {}
        self._heads: dict[tuple[str, bool], list[Ready]] = {}
        self._waiting: dict[AnyJob, tuple[Hashable, int]] = {}
        self._turns: dict[Hashable, int] = {}
        self._by_turns: dict[Hashable, dict[Line, None]] = {}
        self._ages: deque[tuple[float, int, Line]] = deque()
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, job: AnyJob) -> bool:
        return job in self._waiting

    def put(self, job: AnyJob, now: float) -> None:
        """Let the job wait."""
        self._age(now)
        task = job.task
        key = (task.kind, task.priority, task.scope, job.expires < float("inf"))
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(task.kind, job)
            self._by_turns.setdefault(line.turns, {})[line] = None
            self._begin_wait(line, now)
        number = next(self._numbers)
        self._waiting[job] = (key, number)
        heapq.heappush(line.jobs, (job.expires, number, job))
        if line.jobs[0][1] == number:
            self._offer(line)

    def take(self, now: float, allowed: Callable[[str, bool], bool]) -> AnyJob | None:
        """The job that is next, which then no longer waits.

        Args:
            now: on the clock of the jobs.
            allowed: whether a job of this kind, interactive or not, may begin.
        """
        self._age(now)
        line = self._best(allowed)
        if line is None:
            return None
        job = heapq.heappop(line.jobs)[2]
        key, _ = self._waiting.pop(job)
        self._turns[line.turns] = next(self._numbers)
        self._settle(key, line)
        if key in self._lines:
            self._begin_wait(line, now)
        for other in self._by_turns.get(line.turns, ()):
            self._offer(other)
        if len(self._turns) > MANY + 2 * len(self._by_turns):
            self._turns = {turns: turn for turns, turn in self._turns.items() if turns in self._by_turns}
        return job

    def any(self, allowed: Callable[[str, bool], bool]) -> bool:
        """Whether `take` would find one."""
        return self._best(allowed) is not None

    def remove(self, job: AnyJob) -> bool:
        """Whether it was waiting; now it is not."""
        place = self._waiting.pop(job, None)
        if place is None:
            return False
        key, number = place
        line = self._lines[key]
        line.gone += 1
        if line.jobs[0][1] == number:
            self._settle(key, line)
            if key in self._lines:
                self._offer(line)
        elif line.gone > max(TIDY, len(line.jobs) // 2):
            line.jobs = [entry for entry in line.jobs if entry[2] in self._waiting]
            heapq.heapify(line.jobs)
            line.gone = 0
        return True

    def jobs(self) -> list[AnyJob]:
        """All that wait."""
        return list(self._waiting)

    def _best(self, allowed: Callable[[str, bool], bool]) -> Line | None:
        best: Ready | None = None
        for place, heads in list(self._heads.items()):
            while heads and heads[0][5].version != heads[0][4]:
                heapq.heappop(heads)
            if not heads:
                del self._heads[place]
            elif allowed(*place) and (best is None or heads[0][:5] < best[:5]):
                best = heads[0]
        return best[5] if best is not None else None

    def _offer(self, line: Line) -> None:
        """Give the head of the line its place among the heads."""
        line.version = next(self._numbers)
        expires, number, _ = line.jobs[0]
        ready = (-float(line.level), expires, self._turns.get(line.turns, 0), number, line.version, line)
        heads = self._heads.setdefault((line.kind, line.interactive), [])
        heapq.heappush(heads, ready)
        if len(heads) > MANY + 2 * len(self._lines):
            heads[:] = [entry for entry in heads if entry[5].version == entry[4]]
            heapq.heapify(heads)

    def _settle(self, key: Hashable, line: Line) -> None:
        """Skip what was removed; a line without jobs is dropped."""
        while line.jobs and line.jobs[0][2] not in self._waiting:
            heapq.heappop(line.jobs)
            line.gone -= 1
        if not line.jobs:
            line.version = line.wait = 0
            del self._lines[key]
            lines = self._by_turns[line.turns]
            del lines[line]
            if not lines:
                del self._by_turns[line.turns]

    def _begin_wait(self, line: Line, now: float) -> None:
        line.level, line.wait = line.priority, next(self._numbers)
        self._ages.append((now + self._aging, line.wait, line))
        if len(self._ages) > MANY + 2 * len(self._lines):
            self._ages = deque(entry for entry in self._ages if entry[1] == entry[2].wait)

    def _age(self, now: float) -> None:
        """Raise the lines that waited long enough; the oldest stand first, since all wait equally long."""
        while self._ages and (self._ages[0][0] <= now or self._ages[0][1] != self._ages[0][2].wait):
            due, wait, line = self._ages.popleft()
            if wait == line.wait:
                line.level += 1
                self._offer(line)
                self._ages.append((due + self._aging, wait, line))
