"""Many users, agents and shared spaces in random order: nobody is shown what plain dictionaries say is not theirs."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pytest

from hybrid_memory import Hit, HybridMemory, ScopedMemory, SpaceMemory
from hybrid_memory.errors import AccessDeniedError, InvalidInputError
from tests.faces import Open

OPERATIONS = 1_500
USERS, AGENTS, TENANTS = 50, 10, ("north", "south")
NAMES = ("plans", "kitchen", "研究", "alice", "user-1")
TOPICS = "garden budget 火车 医院".split()

Level: TypeAlias = Literal["read", "write", "admin"]
RANKS: tuple[Level, ...] = ("read", "write", "admin")

Person: TypeAlias = tuple[str, str | None, str | None]
"""Tenant, user and agent."""

Space: TypeAlias = tuple[str, str]
"""Tenant and name."""


@dataclass
class Shared:
    """What a space holds and who may do what in it, as it should be."""

    grants: dict[tuple[str | None, str | None], Level] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    refused: int = 0

    def may(self, person: Person, right: Level) -> bool:
        """Whether somebody has this right."""
        _, user, agent = person
        return any(
            RANKS.index(level) >= RANKS.index(right)
            for named, level in self.grants.items()
            if named in ((user, None), (None, agent), (user, agent))
        )


class Town:
    """People who write, search and share at random, each step checked against what should be so.

    Args:
        memories: handles of one store, each as if it were a process of its own.
        seed: of the randomness.
    """

    def __init__(self, memories: Sequence[HybridMemory], seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a test
        self.memories = memories
        self.own: dict[Person, list[str]] = defaultdict(list)
        self.spaces: dict[Space, Shared] = {}
        self.handles: dict[tuple[int, Person], ScopedMemory] = {}
        self.kept: list[tuple[Person, SpaceMemory, Space]] = []
        self.shown: list[tuple[Person, Hit]] = []
        self.done: Counter[str] = Counter()
        self.crossed: list[str] = []
        self.people = self._people()
        self.names = [(tenant, name) for tenant in TENANTS for name in NAMES]

    def _people(self) -> list[Person]:
        people: list[Person] = []
        for number in range(USERS):
            tenant = TENANTS[number % len(TENANTS)]
            people.append((tenant, f"user-{number}", None))
            people.append((tenant, f"user-{number}", f"agent-{self.chance.randrange(AGENTS)}"))
        people += [(tenant, None, f"agent-{number}") for tenant in TENANTS for number in range(AGENTS)]
        return people

    def run(self, operations: int) -> None:
        """Do so many things at random, and look at all audits in the end."""
        steps = {
            self.write: 22, self.write_shared: 24, self.search: 14, self.search_shared: 14, self.search_together: 6,
            self.search_all: 5, self.read_shared: 5, self.give: 10, self.take: 5, self.look_again: 3,
            self.found: 1,
        }  # fmt: skip
        chosen = self.chance.choices(list(steps), weights=list(steps.values()), k=operations)
        for number, step in enumerate(chosen):
            self.done[step.__name__] += 1
            step(self.chance.choice(self.people), f"mark{number}x")
        for space, shared in self.spaces.items():
            named = next(named for named, level in shared.grants.items() if level == "admin")
            admin = self.enter((space[0], *named), space)
            assert len(admin.audit()) == shared.refused, space
            assert sorted(grant.right for grant in admin.grants()) == sorted(shared.grants.values())

    def handle(self, person: Person) -> ScopedMemory:
        """Their memory, in one process or the other."""
        process = self.chance.randrange(len(self.memories))
        key = process, person
        if key not in self.handles:
            tenant, user, agent = person
            self.handles[key] = self.memories[process].scoped(tenant=tenant, user=user, agent=agent)
        return self.handles[key]

    def enter(self, person: Person, space: Space) -> SpaceMemory:
        """The space as they see it, often by a handle that they have had for long."""
        if self.chance.random() < 0.5:
            for who, kept, name in self.chance.sample(self.kept, min(5, len(self.kept))):
                if (who, name) == (person, space):
                    return kept
        there = self.handle(person).space(space[1])
        self.kept.append((person, there, space))
        return there

    def somewhere(self, person: Person) -> Space:
        """A space of their tenant, whether it is there or not."""
        return person[0], self.chance.choice(NAMES)

    def asks(self, person: Person, space: Space, right: Level, call: Any) -> Any:
        """What the call gives; None where it is refused, as it must be without the right."""
        shared = self.spaces.get(space, Shared())
        if shared.may(person, right):
            return call()
        with pytest.raises(AccessDeniedError):
            call()
        shared.refused += 1
        self.done["refused"] += 1
        return None

    def check(self, hits: Sequence[Hit], *allowed: Sequence[str]) -> None:
        """Every hit must be one of these."""
        own = {mark for marks in allowed for mark in marks}
        self.done["hits"] += len(hits)
        self.crossed += [hit.record.text for hit in hits if hit.record.text.split()[0] not in own]

    def query(self, marks: Sequence[str]) -> str:
        """Words that many have used, or the mark of something: of these, or of anybody's."""
        coin = self.chance.random()
        if coin < 0.4 and marks:
            return self.chance.choice(marks[-200:])
        if coin < 0.6:
            return f"mark{self.chance.randrange(self.done.total() + 1)}x"
        return self.chance.choice(TOPICS)

    def write(self, person: Person, mark: str) -> None:
        self.handle(person).remember(f"{mark} {self.chance.choice(TOPICS)}")
        self.own[person].append(mark)

    def write_shared(self, person: Person, mark: str) -> None:
        space = self.somewhere(person)
        there, text = self.enter(person, space), f"{mark} {self.chance.choice(TOPICS)}"
        receipt = self.asks(person, space, "write", lambda: there.remember(text))
        if receipt is None:
            return
        self.spaces[space].said.append(mark)

    def search(self, person: Person, _: str) -> None:
        marks = self.own[person]
        query = self.query(marks)
        hits = self.handle(person).recall(query)
        self.check(hits, marks)
        assert (query not in marks) or hits[0].record.text.startswith(f"{query} ")
        self.shown += [(person, hit) for hit in hits[:1]]

    def search_shared(self, person: Person, _: str) -> None:
        space = self.somewhere(person)
        marks = self.spaces[space].said if space in self.spaces else []
        query = self.query(marks)
        hits = self.asks(person, space, "read", lambda: self.enter(person, space).recall(query))
        if hits is None:
            return
        self.check(hits, marks)
        assert (query not in marks) or hits[0].record.text.startswith(f"{query} ")
        self.shown += [(person, hit) for hit in hits[:1]]

    def search_together(self, person: Person, _: str) -> None:
        space = self.somewhere(person)
        marks = self.spaces[space].said if space in self.spaces else []
        query = self.query([*self.own[person][-50:], *marks[-50:]])
        there = self.handle(person)
        hits = self.asks(person, space, "read", lambda: there.recall(query, spaces=[space[1]]))
        if hits is None:
            return
        self.check(hits, self.own[person], marks)
        for hit in hits:
            origin = marks if hit.record.scope.space else self.own[person]
            assert hit.record.text.split()[0] in origin
        assert (query not in marks) or hits[0].record.scope.space == space[1]

    def search_all(self, person: Person, _: str) -> None:
        mine = {space for space in self.names if space[0] == person[0] and space in self.spaces}
        mine = {space for space in mine if self.spaces[space].may(person, "read")}
        assert self.handle(person).spaces() == sorted(name for _, name in mine)
        query = self.query([mark for space in sorted(mine) for mark in self.spaces[space].said[-20:]])
        hits = self.handle(person).recall(query, spaces="all", k=20)
        self.check(hits, self.own[person], *(self.spaces[space].said for space in mine))

    def read_shared(self, person: Person, _: str) -> None:
        space = self.somewhere(person)
        there = self.enter(person, space)
        said = self.asks(person, space, "read", lambda: there.history(limit=20))
        if said is not None:
            assert [message.text.split()[0] for message in said] == self.spaces[space].said[-20:]

    def look_again(self, person: Person, _: str) -> None:
        """At a hit that they or somebody else were shown before."""
        if not self.shown:
            return
        first, hit = self.chance.choice(self.shown[-100:])
        person = self.chance.choice([first, person])
        there, scope = self.handle(person), hit.record.scope
        if scope.space is not None and scope.tenant == person[0]:
            self.asks(person, (person[0], scope.space), "read", lambda: there.expand(hit))
        elif (scope.tenant, scope.user, scope.agent) == person:
            assert there.expand(hit)[0].text == hit.record.text
        else:
            with pytest.raises(InvalidInputError):
                there.expand(hit)

    def found(self, person: Person, _: str) -> None:
        """Make a space."""
        space = self.somewhere(person)
        if space in self.spaces:
            with pytest.raises(InvalidInputError):
                self.handle(person).space(space[1]).create()
            return
        self.handle(person).space(space[1]).create()
        self.spaces[space] = Shared({person[1:]: "admin"})

    def leader(self, person: Person) -> tuple[Person, Space] | None:
        """An admin of a space of the tenant, seldom somebody who is none."""
        spaces = [space for space in self.spaces if space[0] == person[0]]
        if not spaces:
            return None
        space = self.chance.choice(spaces)
        if self.chance.random() < 0.2:
            return person, space
        admins = [named for named, level in self.spaces[space].grants.items() if level == "admin"]
        return (space[0], *self.chance.choice(admins)), space

    def give(self, person: Person, _: str) -> None:
        chosen = self.leader(person)
        if chosen is None:
            return
        admin, space = chosen
        named = person[1:]
        right = self.chance.choices(RANKS, weights=[5, 5, 1])[0]
        there = self.enter(admin, space)
        self._change(admin, space, named, lambda: there.grant(user=named[0], agent=named[1], right=right), right)

    def take(self, person: Person, _: str) -> None:
        chosen = self.leader(person)
        if chosen is None:
            return
        admin, space = chosen
        named = self.chance.choice(list(self.spaces[space].grants))
        there = self.enter(admin, space)
        self._change(admin, space, named, lambda: there.revoke(user=named[0], agent=named[1]), None)

    def _change(
        self, admin: Person, space: Space, named: tuple[str | None, str | None], call: Any, grant: Level | None
    ) -> None:
        shared = self.spaces[space]
        admins = [who for who, level in shared.grants.items() if level == "admin"]
        if shared.may(admin, "admin") and admins == [named] and grant != "admin":
            with pytest.raises(InvalidInputError, match="last admin"):
                call()
            return
        if self.asks(admin, space, "admin", call) is None:
            return
        shared.grants.pop(named, None)
        if grant is not None:
            shared.grants[named] = grant


@pytest.mark.parametrize("processes", [0, 2], ids=["memory", "sqlite"])
def test_nobody_is_shown_what_is_not_theirs(opened: Open, processes: int) -> None:
    settings: dict[str, Any] = {"embedder": "none", "power_safe": False} | ({} if processes else {"url": "memory://"})
    town = Town([opened(**settings) for _ in range(processes or 1)], seed=7)
    town.run(OPERATIONS)
    assert town.crossed == []
    assert town.done["hits"] > OPERATIONS / 8
    assert town.done["refused"] > OPERATIONS / 20
