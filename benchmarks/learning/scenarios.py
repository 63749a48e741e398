"""Short dialogues of our own in English and Chinese, and what must be known after each: all of it, exactly.

A file holds scenarios: what is ``said`` (a day apart from Monday, 6 May 2024, 10:00 UTC, by the user, or as ``speaker:
words``), and what follows. Attributes are the user's, or ``somebody / attribute``.

now: all values that stand. before: values that were so and no longer are. never: values that nobody claims now or
before. states: tasks with their state. due, since: days. profile: values of its fields.

Two values are the same if one holds the other, in lower case without punctuation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from benchmarks.compression.sets import CachedEmbedder, Table
from benchmarks.learning.sets import Options, matches, share
from hybrid_memory import Fact, MemoryConfig, Message, ScopedMemory, UserProfile, open_memory
from hybrid_memory.facts.fact import USER

MONDAY = datetime(2024, 5, 6, 10, tzinfo=UTC)
LANGUAGES = ("english", "chinese")


def run(options: Options) -> Iterator[Table]:
    """One table, and a line for each failure."""
    table = Table("Scenarios", ["language", "scenarios", "expectations", "met", "scenarios whole", "required"])
    for language in LANGUAGES:
        scenarios = yaml.safe_load(Path(__file__).with_name(f"scenarios_{language}.yaml").read_text(encoding="utf-8"))
        results = {scenario["name"]: checked(scenario, options.embedder) for scenario in scenarios}
        met = [good for checks in results.values() for _, good in checks]
        failures = {name: [what for what, good in checks if not good] for name, checks in results.items()}
        failures = {name: lost for name, lost in failures.items() if lost}
        for name, lost in failures.items():
            print(f"{language}, {name}: " + "; ".join(lost))
        table.rows.append(
            {
                "language": language,
                "scenarios": len(results),
                "expectations": len(met),
                "met": share(sum(met), len(met)),
                "scenarios whole": share(len(results) - len(failures), len(results)),
                "required": 1.0,
                "failures": failures,
            }
        )
    yield table


def checked(scenario: Mapping[str, Any], embedder: CachedEmbedder) -> list[tuple[str, bool]]:
    """Each expectation of a scenario, with what was found instead, and whether it is met."""
    with open_memory(MemoryConfig(url="memory://"), embedder=embedder) as memory:
        owner = memory.scoped(user="u", session="s")
        for day, said in enumerate(scenario["said"]):
            owner.remember(_message(said, MONDAY + timedelta(days=day)))
        return list(_checks(scenario, owner))


def _message(said: str | Mapping[str, str], at: datetime) -> Message:
    if isinstance(said, str):
        return Message(content=said, at=at)
    ((speaker, words),) = said.items()
    if speaker == "assistant":
        return Message(role="assistant", content=words, at=at)  # type: ignore[arg-type]
    return Message(name=speaker, content=words, at=at)


def _checks(scenario: Mapping[str, Any], owner: ScopedMemory) -> Iterator[tuple[str, bool]]:
    facts = owner.facts(history=True)
    for name, values in scenario.get("now", {}).items():
        there = [fact.value for fact in _about(facts, name) if fact.current]
        yield f"now {name} is {there}, not {values}", _same(there, [str(value) for value in values])
    for name, values in scenario.get("before", {}).items():
        gone = [fact.value for fact in _about(facts, name) if not fact.current]
        for value in values:
            yield f"before, {name} was {gone}, without {value}", any(matches(value, old) for old in gone)
    for name, values in scenario.get("never", {}).items():
        for value in values:
            there = [
                fact.value for fact in _about(facts, name) if fact.valid_to is None or fact.valid_to > fact.valid_from
            ]
            yield f"{name} is or was {value}", not any(matches(value, other) for other in there)
    for name, states in scenario.get("states", {}).items():
        for value, state in states.items():
            found = [f"{fact.value}: {fact.state}" for fact in _about(facts, name)]
            good = any(matches(value, fact.value) and fact.state == state for fact in _about(facts, name))
            yield f"{name} are {found}, without {value}: {state}", good
    yield from _dated(scenario, facts)
    yield from _profiled(scenario.get("profile", {}), owner.profile())


def _dated(scenario: Mapping[str, Any], facts: Sequence[Fact]) -> Iterator[tuple[str, bool]]:
    for kind in ("due", "since"):
        for name, days in scenario.get(kind, {}).items():
            for value, day in days.items():
                found = [
                    f"{at:%Y-%m-%d %H:%M}"
                    for fact in _about(facts, name)
                    if matches(value, fact.value) and (at := fact.due if kind == "due" else fact.valid_from) is not None
                ]
                yield f"{name} {value} is {kind} {found}, not {day}", any(at.startswith(str(day)) for at in found)


def _profiled(expected: Mapping[str, Any], profile: UserProfile) -> Iterator[tuple[str, bool]]:
    for field, wanted in expected.items():
        there = getattr(profile, field)
        values = there if isinstance(there, list) else [there] if there else []
        yield (
            f"profile {field} is {there}, not {wanted}",
            _same(values, wanted if isinstance(wanted, list) else [wanted]),
        )


def _about(facts: Sequence[Fact], name: str) -> list[Fact]:
    subject, _, attribute = name.rpartition(" / ")
    return [fact for fact in facts if fact.attribute == attribute and fact.subject == (subject or USER)]


def _same(there: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether each of the one is one of the other, and there are as many."""
    return len(there) == len(wanted) and all(any(matches(value, other) for other in there) for value in wanted)
