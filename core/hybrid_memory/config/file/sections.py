"""What a file says in its sections."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from yaml.nodes import MappingNode, ScalarNode

from hybrid_memory.config.file.entries import Entry, line_of
from hybrid_memory.config.file.keys import Keys
from hybrid_memory.config.file.kinds import REFUSED, Kind
from hybrid_memory.config.file.mistakes import Mistakes, near
from hybrid_memory.validation import MAX_SHOWN_CHARS, shown

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Section:
    """What a file says in one section.

    Attributes:
        entry: the section itself.
        values: by name; what was refused is not among them.
        sections: in it, also those that the file has not.
        entries: what the file has, by name.
        clean: nothing of it was refused.
    """

    entry: Entry
    values: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    clean: bool = True

    def refused(self, *names: str) -> bool:
        """One of these is in the file, and is not allowed."""
        return any(name in self.entries and name not in self.values for name in names)

    def settings(self) -> dict[str, Any]:
        """The values, with those of the sections in it."""
        return self.values | {name: section.settings() for name, section in self.sections.items() if section.entries}

    def model(self, model: type[Model], values: dict[str, Any], mistakes: Mistakes) -> Model | None:
        """The model of this section with these values; None, and mistakes, if they do not go together."""
        if not self.clean:
            return None
        try:
            return model.model_validate(values)
        except ValidationError as error:
            for problem in error.errors(include_url=False):
                name = str(problem["loc"][0]) if problem["loc"] else ""
                where = self.entries.get(name) or self.entry
                mistakes.add(where, problem["msg"].removeprefix("Value error, "))
            return None


def read(entry: Entry, keys: Keys, mistakes: Mistakes) -> Section:
    """What the file says in a section that may have these keys."""
    before = len(mistakes)
    entries = _entries(entry, keys, mistakes)
    values: dict[str, Any] = {}
    sections: dict[str, Section] = {}
    for name, kind in keys.items():
        found = entries.get(name)
        if not isinstance(kind, Kind):
            sections[name] = read(found or entry.child(name, None, entry.line), kind, mistakes)
        elif found is not None and (value := kind.read(found, mistakes)) is not REFUSED:
            values[name] = value
    return Section(entry, values, sections, entries, clean=len(mistakes) == before)


def _entries(section: Entry, keys: Keys, mistakes: Mistakes) -> dict[str, Entry]:
    if section.empty:
        return {}
    if not isinstance(section.node, MappingNode):
        mistakes.refuse(section, f"a section with {', '.join(keys)}")
        return {}
    entries: dict[str, Entry] = {}
    lines: dict[str, int] = {}
    for key, node in section.node.value:
        line = line_of(key)
        if not isinstance(key, ScalarNode):
            mistakes.add(Entry(section.key, line, key), "the name of a setting must be text")
            continue
        named = section.child(_name(key), node, line)
        if key.value not in keys:
            meant = near(key.value, keys)
            mistakes.add(named, f"there is no such setting: use one of {', '.join(keys)}{meant}")
        elif key.value in lines:
            mistakes.add(named, f"given twice, on line {lines[key.value]} and on line {line}")
        else:
            at_value = replace(named, line=line_of(node)) if isinstance(node, ScalarNode) else named
            entries[key.value], lines[key.value] = at_value, line
    return entries


def _name(key: ScalarNode) -> str:
    name: str = key.value
    return name if name.isprintable() and len(name) <= MAX_SHOWN_CHARS else shown(name)
