"""Probes about exact values: gaps in statements, and fields of records that tools returned."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from hybrid_memory import Line, Role
from hybrid_memory.analysis import MAX_LINE_CHARS, critical_items
from hybrid_memory.text.tokenize import cjk_share, terms
from hybrid_memory_evaluation.probing.probe import History, Probe, ProbeKind, is_result, plain

GAP = "____"
MIN_TERMS = 4
"""How much must remain of a statement for the question to be clear."""

MAX_CHARS = 180
_EXACT = re.compile(r"[\d@《/]")

_QUOTED = re.compile(r"(?<=[\"“])[^\"“”\n]{2,60}(?=[\"”])")
_RANGE_BEFORE = re.compile(r"\w[ ]?[-–~—][ ]?\Z|[\d点日月号年时天分元][ ]?(?:[至到]|to)[ ]?\Z|\d [a-z]+ to \Z")
_RANGE_AFTER = re.compile(r"[ ]?(?:[-–~—至到]|to)[ ]?\d")

SAME = 0.7
"""A later statement with this share of the same terms counts as a repetition."""


def statement_probes(history: History) -> Iterator[Probe]:
    """A probe for each truncated message, about its most important exact statement that the visible messages lack.

    Of the assistant's statements only those with figures, dates, titles or addresses, and none if it works by commands.
    """
    speakers = {Role.USER} if history.ledger.commands else {Role.USER, Role.ASSISTANT}
    for position, lines in groupby(history.lines, key=lambda line: line.first):
        event = history.events[position - 1]
        if position > history.truncated or event.message.role not in speakers:
            continue
        items = [item for item in critical_items(event) if len(plain(item)) > 1]
        if event.message.role is Role.ASSISTANT:
            items = [item for item in items if _EXACT.search(item)]
        gaps = (_gap(history, line, items) for line in sorted(lines, key=lambda line: -line.importance))
        if (probe := next(filter(None, gaps), None)) is not None:
            yield probe


def _gap(history: History, line: Line, items: list[str]) -> Probe | None:
    statement = history.spoken(line)
    if len(statement) > MAX_CHARS or len(line.text) >= MAX_LINE_CHARS or "\n" in statement:
        return None
    candidates = [item for item in items if _alone(item, statement)]
    if not candidates:
        return None
    item = min(candidates, key=lambda item: (frequency(history, item), -len(item), item))
    item = next((title for title in _QUOTED.findall(statement) if item in title), item)
    rest = re.sub(re.escape(item), GAP, statement, flags=re.IGNORECASE)
    words = frozenset(terms(rest))
    if len(words) < MIN_TERMS * (3 if cjk_share(rest) > 0 else 1) or _repeated(history, words, line):
        return None
    chinese = history.chinese(line.sources)
    who = history.messages[line.first - 1].speaker
    if chinese:
        who = {"user": "用户", "assistant": "助手"}.get(who, who)
        question = f"{who}说过：“{rest}”。空白处原来是什么？"
    else:
        who = f"the {who}" if who in {"user", "assistant"} else who
        question = f"What stands in the gap of what {who} said: “{rest}”?"
    probe = Probe("", ProbeKind.RECALL, question, item, (item,), line.sources, by="statements")
    return probe if history.hides(probe) else None


def _alone(item: str, statement: str) -> bool:
    """Whether the statement contains the item, not as one end of a range."""
    at = statement.find(item)
    return at >= 0 and not _RANGE_BEFORE.search(statement[:at]) and not _RANGE_AFTER.match(statement[at + len(item) :])


def _repeated(history: History, words: frozenset[str], line: Line) -> bool:
    """Whether a later line says nearly the same."""
    enough = SAME * len(words)
    return any(
        other.first > line.first and len(words & said) >= enough
        for other, said in zip(history.lines, history.line_terms, strict=True)
    )


def frequency(history: History, value: str) -> int:
    """In how many messages its rarest term occurs; common terms are found by accident."""
    return min((history.frequency[term] for term in terms(value)), default=0)


MAX_PER_RECORD = 2
MAX_DEPTH = 3
MAX_MESSAGES = 3
MIN_VALUE_CHARS = 3
MAX_VALUE_CHARS = 60

_ID_FIELD = re.compile(r"(?:\A|_)(?:id|number|code|ref|reference)\Z")
_ID = re.compile(r"(?=.*\d|[A-Z]+\Z)[A-Za-z0-9][\w-]{3,40}", re.ASCII)
_WHEN = re.compile(r"(?:created|updated|modified)?_?at\Z|timestamp")
"""Fields with the time of writing, which nobody asks about."""

_EXACT_VALUE = re.compile(r"\d|@|[A-Z].*[a-z]|[A-Z]{3}|[\u4e00-\u9fff]")


class _Field(NamedTuple):
    """A field of a record: the id's name and value, the field's name and value, and the message."""

    label: str
    id: str
    name: str
    value: str
    source: str


def record_probes(history: History) -> Iterator[Probe]:
    """Probes about at most two fields of each record, with their latest values: those with the rarest values."""
    newest: dict[tuple[str, str], dict[str, _Field]] = defaultdict(dict)
    for field in _fields(history):
        newest[field.label, field.id][field.name] = field
    for fields in newest.values():
        rare = [field for field in fields.values() if frequency(history, field.value) <= MAX_MESSAGES]
        rare.sort(key=lambda field: (frequency(history, field.value), -len(field.value), field.name))
        for field in rare[:MAX_PER_RECORD]:
            name = field.name.replace("_", " ")
            question = (
                f"{field.label} 为 {field.id} 的记录中，{name} 是什么？"
                if history.in_chinese
                else f"What is the {name} in the record with the {field.label} {field.id}?"
            )
            yield Probe("", ProbeKind.RECALL, question, field.value, (field.value,), (field.source,), by="ledger")


def _fields(history: History) -> Iterator[_Field]:
    """The fields of all results that are one JSON object with an id, or were requested by one; in order."""
    for row, message in enumerate(history.messages):
        if not is_result(message) or not (shown := _object(message.text)):
            continue
        label, id_ = _id_of(shown) or _asked(history, row, message.tool_call_id) or ("", "")
        for name, value in _scalars(shown) if id_ else ():
            fits = MIN_VALUE_CHARS <= len(value) <= MAX_VALUE_CHARS and _EXACT_VALUE.search(value)
            if name != label and value != id_ and fits and not _WHEN.search(name):
                yield _Field(label.replace("_", " "), id_, name, value, message.id or "")


def _object(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) else None


def _id_of(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and the value of the record's first id."""
    for name, value in record.items():
        if isinstance(value, str) and _ID_FIELD.search(name) and _ID.fullmatch(value):
            return name, value
    return None


def _asked(history: History, row: int, call_id: str | None) -> tuple[str, str] | None:
    """The id in the call that a result answers, if the call contained nothing else."""
    while row > 0 and is_result(history.messages[row]):
        row -= 1
    calls = [call for call in history.messages[row].tool_calls if call_id is None or call.id in {None, call_id}]
    arguments = calls[0].arguments if len(calls) == 1 else None
    return _id_of(arguments) if isinstance(arguments, dict) and len(arguments) == 1 else None


def _scalars(record: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Texts and numbers in a record by name; lists are skipped, since their items share names."""
    for name, value in record.items():
        if isinstance(value, dict) and depth < MAX_DEPTH and not any(map(str.isdigit, name)):
            yield from (
                (inner if inner.startswith(name) else f"{name} {inner}", leaf)
                for inner, leaf in _scalars(value, depth + 1)
            )
        elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield name, str(value).strip()
