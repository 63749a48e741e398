"""Settings in a YAML file: the fields of the models as keys, and what is wrong with them, a line for each mistake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import timedelta
from difflib import get_close_matches
from types import NoneType
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.urls import without_passwords
from hybrid_memory.validation import Settings, shown

S = TypeVar("S", bound=Settings)

_UNKNOWN = {"extra_forbidden", "unexpected_keyword_argument"}
_DURATION = "Input should be a duration: seconds, or text such as '30 days' or '50 ms'"
_SECTION = "Input should be a section, with its settings as keys below it"
_REASONS = {
    **dict.fromkeys(("time_delta_type", "time_delta_parsing"), _DURATION),
    **dict.fromkeys(("model_type", "dataclass_type"), _SECTION),
}
"""For pydantic's errors whose message speaks of Python."""


class _Loader(yaml.SafeLoader):
    """PyYAML's, except that `off` and `2026-01-01` are text and `1e-3` is a number, as they are in YAML 1.2."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML declares it
        first: [(tag, pattern) for tag, pattern in known if tag.rpartition(":")[2] not in {"bool", "timestamp"}]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As PyYAML's, which takes the last of two settings with one name."""
        for row, (key, _) in enumerate(node.value):
            if key.value in [other.value for other, _ in node.value[:row]]:
                raise yaml.MarkedYAMLError(problem=f"{key.value} is given twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF")


class _Dumper(yaml.SafeDumper):
    """PyYAML's, which reads some line breaks back as others unless they are escaped."""

    def text(self, value: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.text)
for each in (_Loader, _Dumper):  # so that text which looks like such a number is quoted
    each.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+[eE][-+]?\d+$"), [*"-+0123456789"])


def loaded(model: type[S], content: bytes, file: str) -> S:
    """The settings in a file, given its content in UTF-8 and its name; names all mistakes at once."""
    try:
        values = yaml.load(content, _Loader)  # noqa: S506 - a safe one
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark  # PyYAML would quote the line, and that may hold a password
        place = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidConfigError(f"{file}{place}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:
        raise InvalidConfigError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    kinds = {name: field.annotation for name, field in model.model_fields.items()}
    sections = {name for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Settings)}
    if isinstance(values, dict):  # a section without anything below it says nothing
        values = {name: value for name, value in values.items() if value is not None or name not in sections}
    try:
        return model.model_validate({} if values is None else values)
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_url=False):
            value, kind, where = problem["input"], problem["type"], problem["loc"]
            if kind in _UNKNOWN:
                reason = _unknown(model, where)
            else:
                reason = _REASONS.get(kind, problem["msg"].removeprefix("Value error, "))
                if isinstance(value, str):
                    reason += f" (got {shown(value)})"
                elif value is None or isinstance(value, bool | int | float | timedelta):
                    reason += f" (got {'null' if value is None else value})"
            steps, inner = [], values  # as the file has them, without pydantic's names of what a value might have been
            with suppress(LookupError, TypeError):
                for step in where:
                    inner = inner[step]
                    steps.append(str(step))
            lines.append(f"{file}: {'.'.join(steps)}{': ' if steps else ''}{reason}")
        raise InvalidConfigError("\n".join(dict.fromkeys(lines))) from None


def _unknown(model: Any, where: Sequence[str | int]) -> str:
    *above, name = where
    owner = model
    for step in above:
        field = owner.model_fields[step].annotation
        owner = next((part for part in get_args(field) if part is not NoneType), field)
    names = [field.name for field in fields(owner)] if is_dataclass(owner) else list(owner.model_fields)
    close = get_close_matches(str(name), names, n=1)
    return f"there is no such setting{f' (did you mean {close[0]!r}?)' if close else ''}"


def dumped(settings: Settings, *, passwords: bool = False) -> str:
    """The settings as YAML; raises `InvalidConfigError` for an object that no file can hold."""
    try:
        values = settings.model_dump(mode="json")
    except PydanticSerializationError as error:
        raise InvalidConfigError(f"an object cannot be written to a file, give its name: {error}") from error
    values = values if passwords else without_passwords(values)
    text: str = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
