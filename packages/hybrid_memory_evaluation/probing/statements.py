"""Probes about exact values: gaps in statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from hybrid_memory import Line, Role
from hybrid_memory.analysis import MAX_LINE_CHARS, critical_items
from hybrid_memory.text.tokenize import cjk_share, terms
from hybrid_memory_evaluation.probing.history import History
from hybrid_memory_evaluation.probing.probe import Probe, ProbeKind, plain

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
        told = (_gap(history, line, items) for line in sorted(lines, key=lambda line: -line.importance))
        if (probe := next(filter(None, told), None)) is not None:
            yield probe


def _gap(history: History, line: Line, items: list[str]) -> Probe | None:
    statement = history.spoken(line)
    if len(statement) > MAX_CHARS or len(line.text) >= MAX_LINE_CHARS or "\n" in statement:
        return None
    candidates = [item for item in items if _alone(item, statement)]
    if not candidates:
        return None
    item = _whole(min(candidates, key=lambda item: (frequency(history, item), -len(item), item)), statement)
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


def _whole(item: str, statement: str) -> str:
    """The item, or the quoted title that it is part of."""
    return next((title for title in _QUOTED.findall(statement) if item in title), item)


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
