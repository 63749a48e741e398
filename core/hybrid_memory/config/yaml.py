"""Settings in a YAML file: the fields of the models as keys, and the line and column of each mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from difflib import get_close_matches
from types import NoneType
from typing import Any, TypeAlias, TypeVar, get_args

import yaml
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.urls import without_passwords
from hybrid_memory.validation import Settings, shown

S = TypeVar("S", bound=Settings)
Path: TypeAlias = tuple[str | int, ...]
"""Where a value is: the keys and rows that lead to it."""

_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}
_DURATION = "Input should be a duration: seconds, or text such as '30 days' or '50 ms'"
_SECTION = "Input should be a section, with its settings as keys below it"
_REASONS = {
    "time_delta_type": _DURATION,
    "time_delta_parsing": _DURATION,
    "model_type": _SECTION,
    "dataclass_type": _SECTION,
}
"""For pydantic's errors whose message speaks of Python."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a setting is in the file, from 0, and its name there."""

    line: int
    column: int
    name: str

    @classmethod
    def of(cls, node: yaml.Node, name: str) -> Place:
        """The place where the node begins."""
        return cls(node.start_mark.line, node.start_mark.column, name)


class Document:
    """The values of a file, with their places and what is wrong with them.

    Attributes:
        values: as they are given to the model.
        places: of each value by its path in `values`.
    """

    def __init__(self, content: bytes, file: str) -> None:
        self.file = file
        self.places: dict[Path, Place] = {(): Place(0, 0, "")}
        self._mistakes: list[tuple[Place, str]] = []
        try:
            loader = _Loader(content.decode())
            node = loader.get_single_node()
            self.values: Any = {} if node is None else self._read(loader, node, ())
        except UnicodeDecodeError as error:
            self.refuse(Place(content.count(b"\n", 0, error.start), 0, ""), "not text in UTF-8")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(mark.line, mark.column, "") if mark else Place(0, 0, "")
            self.refuse(place, f"not YAML: {error.problem or error.context}")
        except yaml.reader.ReaderError as error:
            line = content.decode().count("\n", 0, error.position)
            self.refuse(Place(line, 0, ""), f"not YAML: the character {chr(error.character)!r}")
        except RecursionError:
            self.refuse(Place(0, 0, ""), "too deeply nested")
        self.check()

    def refuse(self, place: Place, reason: str) -> None:
        """Note a mistake."""
        self._mistakes.append((place, reason))

    def check(self) -> None:
        """Raise `InvalidConfigError` for all mistakes, in the order of the file, if there are any."""
        ordered = sorted(self._mistakes, key=lambda mistake: (mistake[0].line, mistake[0].column))
        lines = [
            f"{self.file} line {place.line + 1}, column {place.column + 1}: {place.name and f'{place.name}: '}{reason}"
            for place, reason in ordered
        ]
        if lines:
            raise InvalidConfigError("\n".join(dict.fromkeys(lines)))

    def place(self, path: Path) -> Place:
        """Where the value is, or the nearest one around it."""
        while path not in self.places:
            path = path[:-1]
        return self.places[path]

    def _read(self, loader: _Loader, node: yaml.Node, path: Path) -> Any:
        self.places.setdefault(path, Place.of(node, ".".join(map(str, path))))
        if isinstance(node, yaml.MappingNode):
            loader.flatten_mapping(node)
            values = {}
            for key, value in node.value:
                inner = (*path, str(key.value))
                place = Place.of(key, ".".join(map(str, inner)))
                if not isinstance(key, yaml.ScalarNode):
                    self.refuse(Place.of(key, self.places[path].name), "the name of a setting must be text")
                elif inner in self.places:
                    self.refuse(place, f"given twice, first on line {self.places[inner].line + 1}")
                else:
                    self.places[inner] = place
                    values[key.value] = self._read(loader, value, inner)
            return values
        if isinstance(node, yaml.SequenceNode):
            return [self._read(loader, item, (*path, row)) for row, item in enumerate(node.value)]
        try:
            return loader.construct_object(node)
        except (ValueError, LookupError):  # a tag that the value does not fit, such as !!int x
            self.refuse(self.places[path], f"{shown(node.value)} is no {node.tag.rpartition(':')[2]}")


class _Loader(yaml.SafeLoader):
    """PyYAML's, except that `off` and `2026-01-01` are text and `1e-3` is a number, as they are in YAML 1.2."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML declares it
        first: [(tag, pattern) for tag, pattern in known if tag.rpartition(":")[2] not in {"bool", "timestamp"}]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF")


class _Dumper(yaml.SafeDumper):
    """PyYAML's, which reads some line breaks back as others unless they are escaped."""

    def text(self, value: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.text)
for each in (_Loader, _Dumper):  # so that text which looks like such a number is quoted
    each.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+[eE][-+]?\d+$"), [*"-+0123456789"])


def loaded(model: type[S], content: bytes, file: str) -> S:
    """The settings in a file, given its content in UTF-8 and its name; says all mistakes at once, with their places."""
    document = Document(content, file)
    values = document.values
    kinds = {name: field.annotation for name, field in model.model_fields.items()}
    sections = {name for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Settings)}
    if isinstance(values, dict):  # a section without anything below it says nothing
        values = {name: value for name, value in values.items() if value is not None or name not in sections}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            value, kind = problem["input"], problem["type"]
            if kind in _UNKNOWN:
                *above, name = problem["loc"]
                owner: Any = model
                for step in above:
                    field = owner.model_fields[step].annotation
                    owner = next((part for part in get_args(field) if part is not NoneType), field)
                names = [field.name for field in fields(owner)] if is_dataclass(owner) else list(owner.model_fields)
                close = get_close_matches(str(name), names, n=1)
                reason = f"there is no such setting{f' (did you mean {close[0]!r}?)' if close else ''}"
            else:
                reason = _REASONS.get(kind, problem["msg"].removeprefix("Value error, "))
                if isinstance(value, str):
                    reason += f" (got {shown(value)})"
                elif value is None or isinstance(value, bool | int | float | timedelta):
                    reason += f" (got {'null' if value is None else value})"
            document.refuse(document.place(problem["loc"]), reason)
        document.check()
        raise


def dumped(settings: Settings, *, passwords: bool = False) -> str:
    """The settings as YAML; raises `InvalidConfigError` for an object that no file can hold."""
    try:
        values = settings.model_dump(mode="json")
    except PydanticSerializationError as error:
        raise InvalidConfigError(f"an object cannot be written to a file, give its name: {error}") from error
    text: str = yaml.dump(
        values if passwords else without_passwords(values),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=120,
    )
    return text
