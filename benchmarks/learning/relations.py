"""DialogRE: the relations of its annotation that our attributes cover, and how a fact is compared with a triple."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.learning.sets import Tally, matches
from hybrid_memory import Fact
from hybrid_memory_evaluation.probing.probe import plain

REVERSED = True
"""Of a relation or an attribute that says the same from the other side: the child of x has x as a parent."""


@dataclass(frozen=True, slots=True)
class Group:
    """Relations and attributes that mean the same.

    Attributes:
        relations, attributes: by name, whether they are to be read from the other side.
        symmetric: x is to y what y is to x.
        kin: what the second one may be called by the first, as in "user's sister".
    """

    name: str
    relations: Mapping[str, bool]
    attributes: Mapping[str, bool]
    symmetric: bool = False
    kin: tuple[str, ...] = ()


def _plainly(*names: str) -> dict[str, bool]:
    return dict.fromkeys(names, not REVERSED)


GROUPS = (
    Group("name", _plainly("per:alternate_names"), _plainly("name", "nickname")),
    Group("title", _plainly("per:title"), _plainly("profession")),
    Group("age", _plainly("per:age"), _plainly("age")),
    Group("date of birth", _plainly("per:date_of_birth"), _plainly("birthday")),
    Group("origin", _plainly("per:origin", "per:place_of_birth"), _plainly("nationality", "hometown")),
    Group("residence", _plainly("per:place_of_residence"), _plainly("home")),
    Group("work", _plainly("per:place_of_work", "per:employee_or_member_of"), _plainly("employer")),
    Group("study", _plainly("per:schools_attended", "per:major"), _plainly("school", "field_of_study")),
    Group("pet", _plainly("per:pet"), _plainly("pet")),
    Group("sibling", _plainly("per:siblings"), _plainly("sibling"), symmetric=True,
          kin=("brother", "sister", "sibling", "twin brother", "twin sister")),
    Group("partner", _plainly("per:spouse", "per:girl/boyfriend", "per:dates"), _plainly("partner"), symmetric=True,
          kin=("wife", "husband", "partner", "girlfriend", "boyfriend", "fiancé", "fiancée")),
    Group("parent", {"per:parents": not REVERSED, "per:children": REVERSED},
          {**_plainly("mother", "father", "parent"), "child": REVERSED},
          kin=("mother", "father", "parent", "mom", "dad")),
    Group("other family", _plainly("per:other_family"), _plainly("relative"), symmetric=True,
          kin=("cousin", "aunt", "uncle", "grandmother", "grandfather", "niece", "nephew")),
    Group("friend", _plainly("per:friends"), _plainly("friend"), symmetric=True, kin=("friend", "best friend")),
    Group("roommate", _plainly("per:roommate"), _plainly("roommate"), symmetric=True, kin=("roommate",)),
    Group("neighbour", _plainly("per:neighbor"), _plainly("neighbour"), symmetric=True, kin=("neighbour",)),
    Group("boss", {"per:boss": not REVERSED, "per:subordinate": REVERSED}, _plainly("boss"), kin=("boss",)),
)  # fmt: skip

CHILDREN = ("son", "daughter", "child", "baby")
"""What the first one of "x has y as a parent" may be called by the second."""


class Annotation:
    """The triples of one dialogue, each once, whichever side they are told from."""

    def __init__(self, triples: Iterable[Mapping[str, Any]]) -> None:
        self._called: dict[str, set[str]] = {}
        self.triples: dict[str, set[tuple[str, str]]] = {group.name: set() for group in GROUPS}
        told = [(group, *_sides(triple, group)) for triple in triples for group in GROUPS if _about(triple, group)]
        for group, one, other in told:
            self._called.setdefault(one, {plain(one)})
            if group.name == "name":
                self._called[one].add(plain(other))
            turned = group.symmetric and other < one
            self.triples[group.name].add((other, one) if turned else (one, other))
        self._add_kin(told)

    def _add_kin(self, told: Iterable[tuple[Group, str, str]]) -> None:
        names = {entity: frozenset(called) for entity, called in self._called.items()}
        for group, one, other in told:
            sides = [(one, other, group.kin)]
            if group.symmetric:
                sides.append((other, one, group.kin))
            if group.name == "parent":
                sides.append((other, one, CHILDREN))
            for owner, called, nouns in sides:
                kin = {plain(f"{name}'s {noun}") for name in names.get(owner, {plain(owner)}) for noun in nouns}
                self._called.setdefault(called, {plain(called)}).update(kin)

    def knows(self, subject: str, group: Group | None = None) -> bool:
        """Whether something, or something of a group, is annotated of whom this names."""
        about = self._called if group is None else {entity for sides in self.triples[group.name] for entity in sides}
        return any(plain(subject) in self._called.get(entity, {plain(entity)}) for entity in about)

    def says(self, fact: Fact, group: Group) -> set[tuple[str, str]]:
        """The triples that a fact states."""
        from_behind = group.attributes[fact.attribute]
        return {
            (one, other)
            for one, other in self.triples[group.name]
            for subject, value in (((other, one),) if from_behind else ((one, other),))
            if self._states(fact, subject, value) or (group.symmetric and self._states(fact, value, subject))
        }

    def _states(self, fact: Fact, subject: str, value: str) -> bool:
        names = self._called.get(value, {plain(value)})
        return plain(fact.subject) in self._called.get(subject, {plain(subject)}) and any(
            matches(fact.value, name) for name in names
        )


def _about(triple: Mapping[str, Any], group: Group) -> bool:
    return triple["relation"] in group.relations


def _sides(triple: Mapping[str, Any], group: Group) -> tuple[str, str]:
    one, other = triple["x"], triple["y"]
    return (other, one) if group.relations[triple["relation"]] else (one, other)


def compare(facts: list[Fact], triples: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Tally]]:
    """What the facts of one dialogue know of its triples, group by group."""
    annotation = Annotation(triples)
    judged = Tally()
    for group in GROUPS:
        tally = Tally()
        stated: set[tuple[str, str]] = set()
        for fact in facts:
            if fact.attribute in group.attributes and annotation.knows(fact.subject):
                found = annotation.says(fact, group)
                stated |= found
                tally.claim(bool(found), str(fact))
                if annotation.knows(fact.subject, group):
                    judged.claim(bool(found), str(fact))
        for triple in sorted(annotation.triples[group.name]):
            tally.know(triple in stated, triple)
        yield group.name, tally
    yield "(subject has such a triple)", judged
