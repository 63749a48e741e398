"""The settings that there are, read from the fields of the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import timedelta
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin

from pydantic import BaseModel

from hybrid_memory.config.file.bounds import Bounds
from hybrid_memory.config.file.kinds import Choice, Duration, Kind, ListOf, Number, Switch, Text, Unit
from hybrid_memory.config.weights import Weights

Keys: TypeAlias = "Mapping[str, Kind | Keys]"
"""The settings of a section by name, and the sections in it."""

WEIGHTS: Keys = {part.name: Number(bounds=Bounds(ge=0)) for part in fields(Weights)}


def keys_of(model: type[BaseModel], **units: str) -> dict[str, Kind | Keys]:
    """The settings of a model by their own names; the units are of its whole numbers, all times are seconds."""
    return {
        name: _section(part.annotation) or kind_of(model, name, units.get(name, ""))
        for name, part in model.model_fields.items()
    }


def renamed(model: type[BaseModel], names: Mapping[str, str], **units: str) -> dict[str, Kind]:
    """Some settings of a model by other names; the units are by field."""
    return {name: kind_of(model, field, units.get(field, "")) for name, field in names.items()}


def kind_of(model: type[BaseModel], name: str, unit: str = "", *, time: Unit = "seconds") -> Kind:
    """What one field may be; `unit` is what a whole number counts, `time` what the number of a duration counts."""
    part = model.model_fields[name]
    return _kind(part.annotation, Bounds.of(part.metadata), unit, time)


def _section(annotation: Any) -> Keys | None:
    if annotation is Weights:
        return WEIGHTS
    if get_origin(annotation) is dict:
        names, values = get_args(annotation)
        return dict.fromkeys(get_args(names), _kind(values, Bounds(), "", "seconds"))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return keys_of(annotation)
    return None


def _kind(annotation: Any, bounds: Bounds, unit: str, time: Unit) -> Kind:
    arguments = get_args(annotation)
    if NoneType in arguments:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return replace(_kind(inner, bounds, unit, time), null=True)
    if get_origin(annotation) is tuple:
        return ListOf(item=_kind(arguments[0], Bounds(), unit, time))
    if arguments:
        return Choice(names=arguments)
    if annotation is timedelta:
        return Duration(unit=time, bounds=bounds)
    if annotation in (bool, str):
        return Switch() if annotation is bool else Text()
    return Number(whole=annotation is int, unit=unit, bounds=bounds)
