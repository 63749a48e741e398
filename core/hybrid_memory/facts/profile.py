"""What is known about a person, field by field, with the turns behind each value."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, Self

from pydantic import ConfigDict, Field, PrivateAttr

from hybrid_memory import display
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import FactState
from hybrid_memory.validation import CheckedModel, shown

MAX_REPR_CHARS = 120
NO_FACT_IMPORTANCE = 0.5  # the importance of a value without a fact
LATIN_WORDS = 3  # this many single Latin words weigh as much as a Chinese value, or one of several words

SAID_ONCE = {  # fields that may hold the same value, by what they are about; a prompt shows it once
    **dict.fromkeys(("likes", "preferences", "interests"), "tastes"),
    **dict.fromkeys(("communication_style", "instructions"), "instructions"),
}

INSTRUCTIONS = {"en": "instructions", "zh": "要求"}
"""The heading in a prompt for the user's instructions, whichever field they are in."""

_ORDERS = "instruction, communication_style, rule: *"
_BACKGROUND = "nickname, age, gender, hometown, nationality, religion, school, field_of_study"
_FAMILY = "partner, marital_status, child, mother, father, parent, sibling, relative, pet"
_PEOPLE = "friend, colleague, boss, roommate, neighbour"
_NEEDS = "allergy, diet, condition, medicine, accessibility"

HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """A present or former value of a profile field, with its evidence.

    Attributes:
        value: the value in the field.
        facts: ids of the facts that state it; sources: ids of the turns behind them, oldest first.
        state, valid_from, valid_to: as in the fact; of several, the best supported one, valid since the first.
        confidence, importance: in [0, 1], the highest of the facts.
    """

    value: Any
    facts: tuple[int, ...]
    sources: tuple[str, ...]
    state: FactState
    valid_from: datetime
    valid_to: datetime | None
    confidence: float
    importance: float

    @property
    def days(self) -> str:
        """The day from which it holds, and that until which it did."""
        return f"{self.valid_from:%Y-%m-%d}{'' if self.valid_to is None else f' to {self.valid_to:%Y-%m-%d}'}"

    def __repr__(self) -> str:
        state = f"{self.state}, {self.confidence:.2f}, from {self.days}"
        return f"<ProfileEntry {shown(self.value)} ({state}, {display.counted(len(self.sources), 'turn')})>"


Entries = Mapping[str, tuple[ProfileEntry, ...]]  # the entries of each field that has some


_Item = tuple[float, str, str]


def _text(about: str, chinese: str, *, importance: float = 0.0, title: str | None = None) -> Any:
    extra: dict[str, Any] = {"chinese": chinese, "importance": importance}
    return Field(default=None, description=about, title=title, json_schema_extra=extra)


def _list(about: str, chinese: str, attributes: str, *, importance: float = 0.0, title: str | None = None) -> Any:
    extra: dict[str, Any] = {"chinese": chinese, "attributes": attributes.split(", "), "importance": importance}
    return Field(default_factory=list, description=about, title=title, json_schema_extra=extra)


class UserProfile(CheckedModel):
    """What is known about a person; subclass it to add your own fields.

    A field collects the facts whose attribute has its name or an alias of it; name other attributes with
    ``Field(json_schema_extra={"attributes": ["home", "favorite_*"]})``. Facts in your own field no longer appear in a
    built-in one. A field's type is text, a number, a bool, a date, an Enum or a Literal, or a list of these,
    and it needs a default, since a profile starts empty. The description tells a language model what to look
    for. The title is the field's name in a prompt, and ``{"chinese": "职业"}`` its name in a Chinese profile. With
    ``{"importance": 1.0}`` its values are the last to be cut.

    Equality compares the fields; `sources` and `history` show where values come from.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    name: str | None = _text("Their name.", "名字")
    birthday: str | None = _text("When they were born.", "生日")
    home: str | None = _text("Where they live.", "住在", title="lives in")
    languages: list[str] = _list("Languages that they speak.", "会说", "language", title="speaks")
    background: list[str] = _list("Age, origin, nationality, schooling.", "背景", _BACKGROUND)
    family: list[str] = _list("Family and pets, by name.", "家人与宠物", _FAMILY, title="family and pets")
    people: list[str] = _list("Others whom they know, by name.", "身边的人", _PEOPLE, title="people around them")
    profession: str | None = _text("What they do for a living.", "职业")
    work: list[str] = _list("Where they work, and on what.", "工作", "employer, project")
    technical_stack: list[str] = _list("Languages, frameworks and tools of their work.", "技术栈", "technology")
    needs: list[str] = _list(
        "Allergies, diets, illnesses, aids.", "过敏与需要", _NEEDS, importance=1.0, title="allergies and needs"
    )
    likes: list[str] = _list("What they like.", "喜欢", "favorite_*, 最喜欢的*")
    dislikes: list[str] = _list("What they do not want.", "不喜欢或忌口", "avoids", title="dislikes or avoids")
    preferences: list[str] = _list("What they would rather have.", "偏好", "prefers", title="prefers")
    interests: list[str] = _list("Hobbies and topics that they follow.", "兴趣", "interest")
    communication_style: str | None = _text(
        "How they want to be spoken to.", INSTRUCTIONS["zh"], importance=0.95, title=INSTRUCTIONS["en"]
    )
    instructions: list[str] = _list(
        "How to work, and to speak.", INSTRUCTIONS["zh"], _ORDERS, importance=0.95, title=INSTRUCTIONS["en"]
    )
    goals: list[str] = _list("What they want to achieve.", "目标", "goal")
    notes: list[str] = _list("What else is good to know.", "备注", "note, experience, possession")

    _standing: Entries = PrivateAttr(default_factory=dict)
    _history: Entries = PrivateAttr(default_factory=dict)

    def resting_on(self, standing: Entries, history: Entries) -> Self:
        """This profile, with the present and all entries of each field."""
        self._standing, self._history = standing, history
        return self

    @property
    def sources(self) -> dict[str, tuple[ProfileEntry, ...]]:
        """The values of each field in order, with their facts and turns; values set by hand are not included."""
        kept = {}
        for name, entries in self._standing.items():
            values = frozenset(self._values(name))
            kept[name] = tuple(entry for entry in entries if entry.value in values)
        return {name: entries for name, entries in kept.items() if entries}

    def history(self, field: str) -> tuple[ProfileEntry, ...]:
        """All values the field ever had, present ones included, oldest first, with one entry for each fact.

        Raises:
            InvalidInputError: there is no such field.
        """
        fields = type(self).model_fields
        if field not in fields:
            raise InvalidInputError(f"{type(self).__name__} has no field {field!r}: choose one of {', '.join(fields)}")
        return self._history.get(field, ())

    @property
    def text(self) -> str:
        """A line for each field with a value, in schema order, with field names in the language of the values.

        Equal values give equal text, so that the provider's prompt cache keeps working.
        """
        return _written(self._items())

    def render(self, max_tokens: int, count: Callable[[str], int]) -> str:
        """The `text` within a budget; the least important values are left out first."""
        items = self._items()
        ranked = sorted(range(len(items)), key=lambda row: -items[row][0])

        def best(number: int) -> str:
            return _written(items[row] for row in sorted(ranked[:number]))

        fitting = bisect_right(range(len(items) + 1), max_tokens, key=lambda number: count(best(number))) - 1
        return best(max(fitting, 0))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        line = self.text.replace("\n", " · ") or "nothing is known"
        return f"<{type(self).__name__} {line if len(line) <= MAX_REPR_CHARS else f'{line[: MAX_REPR_CHARS - 1]}…'}>"

    def __bool__(self) -> bool:
        return any(self._values(name) for name in type(self).model_fields)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        chinese = self._is_chinese
        told: set[tuple[str, str]] = set()
        rows = []
        for name in type(self).model_fields:  # a row for each value; the first shows earlier values of the field
            before = "<br>".join(
                display.text(f"{_shown(one.value, chinese)} ({one.state}, {one.days}; {', '.join(one.sources)})")
                for one in self.history(name)
                if not one.state.standing
            )
            label, entries = self._label(name, chinese), self.sources.get(name, ())
            values = [value for value in self._values(name) if first_said(told, name, _shown(value, chinese))]
            for value in values or ([""] if before else []):
                entry = next((entry for entry in entries if entry.value == value), None)
                since, opened = "", ""
                if entry:
                    since = f"{entry.valid_from:%Y&#8209;%m&#8209;%d}"
                    opened = display.details(f"{len(entry.sources)}", display.text(", ".join(entry.sources)))
                rows.append([display.text(label), display.text(_shown(value, chinese)), since, opened, before])
                label = before = ""
        return display.card("what is known", display.table(("field", "value", "since", "turns", "before"), rows))

    def _values(self, name: str) -> tuple[Any, ...]:
        """The values of a field."""
        value = getattr(self, name)
        if value is None or value == "":
            return ()
        return tuple(value) if isinstance(value, list) else (value,)

    def _items(self) -> list[_Item]:
        """The importance, label and text of all values in schema order, as a prompt shows them."""
        chinese = self._is_chinese
        items = []
        told: set[tuple[str, str]] = set()
        for name in type(self).model_fields:
            known = {entry.value: entry.importance for entry in self._standing.get(name, ())}
            label = self._label(name, chinese) + ("：" if chinese else ": ")
            least = self._extra(name).get("importance", 0.0)
            for value in self._values(name):
                text = _shown(value, chinese)
                if first_said(told, name, text):
                    items.append((max(least, known.get(value, NO_FACT_IMPORTANCE)), label, text))
        return items

    def _label(self, name: str, chinese: bool) -> str:
        label = self._extra(name).get("chinese") if chinese else None
        return str(label or type(self).model_fields[name].title or name.replace("_", " "))

    def _extra(self, name: str) -> dict[str, Any]:
        extra = type(self).model_fields[name].json_schema_extra
        return extra if isinstance(extra, dict) else {}

    @property
    def _is_chinese(self) -> bool:
        return is_chinese(
            value for name in type(self).model_fields for value in self._values(name) if isinstance(value, str)
        )


def first_said(earlier: set[tuple[str, str]], name: str, value: Any) -> bool:
    """Whether no field about the same things had this value so far; ``earlier`` then has it."""
    key = SAID_ONCE.get(name, name), str(value).casefold()
    first = key not in earlier
    earlier.add(key)
    return first


def is_chinese(values: Iterable[str]) -> bool:
    """Whether a profile with these values is shown in Chinese.

    A single Latin word means little: names of tools and places are Latin in a Chinese profile too.
    """
    words = [value.strip() for value in values if any(map(str.isalpha, value))]
    chinese = sum(HAN.search(value) is not None for value in words)
    phrases = sum(" " in value and HAN.search(value) is None for value in words)
    return chinese > 0 and phrases + (len(words) - chinese - phrases) / LATIN_WORDS <= chinese


def _written(items: Iterable[_Item]) -> str:
    lines: dict[str, list[str]] = {}
    for _, label, text in items:
        lines.setdefault(label, []).append(text)
    written = []
    for label, texts in lines.items():
        if len(texts) > 1 and "“" in "".join(texts):  # sentences stand on a line each
            written += [label.rstrip(), *(f"- {text}" for text in texts)]
        else:
            written.append(label + ("；" if label.endswith("：") else "; ").join(texts))
    return "\n".join(written)


def _shown(value: Any, chinese: bool) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return ("是" if value else "否") if chinese else ("yes" if value else "no")
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
