"""Probes about the fields of records that tools have shown, told apart by their ids."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hybrid_memory.apps.evaluation.probing.history import History, is_result
from hybrid_memory.apps.evaluation.probing.probe import Probe, ProbeKind
from hybrid_memory.log.message import Role
from hybrid_memory.text.tokenize import terms

MAX_PER_RECORD = 2
MAX_DEPTH = 3
MAX_MESSAGES = 3
MIN_VALUE_CHARS = 3
MAX_VALUE_CHARS = 60

_ID_FIELD = re.compile(r"(?:\A|_)(?:id|number|code|ref|reference)\Z")
_ID = re.compile(r"(?=.*\d|[A-Z]+\Z)[A-Za-z0-9][\w-]{3,40}", re.ASCII)
_WHEN = re.compile(r"(?:created|updated|modified)?_?at\Z|timestamp")
"""When a record was written is what nobody asks."""

_EXACT = re.compile(r"\d|@|[A-Z].*[a-z]|[A-Z]{3}|[\u4e00-\u9fff]")


class _Field(NamedTuple):
    """What one record says: its id's name and value, the field's name and value, and which message says so."""

    label: str
    id: str
    name: str
    value: str
    source: str


def record_probes(history: History) -> Iterator[Probe]:
    """For each record two of its fields at most, as they were shown last: those whose values are rarest."""
    newest: dict[tuple[str, str], dict[str, _Field]] = defaultdict(dict)
    for field in _fields(history):
        newest[field.label, field.id][field.name] = field
    for fields in newest.values():
        rare = [field for field in fields.values() if _frequency(history, field.value) <= MAX_MESSAGES]
        rare.sort(key=lambda field: (_frequency(history, field.value), -len(field.value), field.name))
        for field in rare[:MAX_PER_RECORD]:
            name = field.name.replace("_", " ")
            question = (
                f"{field.label} 为 {field.id} 的记录中，{name} 是什么？"
                if history.in_chinese
                else f"What is the {name} in the record with the {field.label} {field.id}?"
            )
            yield Probe("", ProbeKind.RECALL, question, field.value, (field.value,), (field.source,), by="ledger")


def _frequency(history: History, value: str) -> int:
    """In how many messages the rarest of its terms stands; what many hold is found by accident."""
    return min((history.frequency[term] for term in terms(value)), default=0)


def _fields(history: History) -> Iterator[_Field]:
    """The fields of all results that are one JSON object with an id, or were asked for by one; in order."""
    for row, message in enumerate(history.messages):
        if not is_result(message) or not (shown := _object(message.text)):
            continue
        label, id_ = _id_of(shown) or _asked(history, row, message.tool_call_id) or ("", "")
        for name, value in _scalars(shown) if id_ else ():
            if name != label and value != id_ and _is_exact(name, value):
                yield _Field(label.replace("_", " "), id_, name, value, message.id or "")


def _is_exact(name: str, value: str) -> bool:
    return MIN_VALUE_CHARS <= len(value) <= MAX_VALUE_CHARS and not _WHEN.search(name) and bool(_EXACT.search(value))


def _object(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _id_of(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and the value of the first id that the record has."""
    for name, value in record.items():
        if isinstance(value, str) and _ID_FIELD.search(name) and _ID.fullmatch(value):
            return name, value
    return None


def _asked(history: History, row: int, call_id: str | None) -> tuple[str, str] | None:
    """The id that the call named which a result answers, if it named nothing else."""
    asker = history.asker(row)
    if asker is None or history.messages[asker].role is not Role.ASSISTANT:
        return None
    calls = [call for call in history.messages[asker].tool_calls if call_id is None or call.id in {None, call_id}]
    arguments = calls[0].arguments if len(calls) == 1 else None
    return _id_of(arguments) if isinstance(arguments, dict) and len(arguments) == 1 else None


def _scalars(record: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Texts and numbers in a record by name; nothing in lists, where many have the same name."""
    for name, value in record.items():
        if isinstance(value, dict) and depth < MAX_DEPTH and not any(map(str.isdigit, name)):
            yield from (
                (inner if inner.startswith(name) else f"{name} {inner}", leaf)
                for inner, leaf in _scalars(value, depth + 1)
            )
        elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield name, str(value).strip()
