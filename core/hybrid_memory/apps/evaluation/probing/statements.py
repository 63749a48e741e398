"""Probes that leave a gap where a statement named something: a figure, a date, a name, an address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from hybrid_memory.apps.evaluation.probing.history import History
from hybrid_memory.apps.evaluation.probing.matching import plain
from hybrid_memory.apps.evaluation.probing.probe import Probe, ProbeKind
from hybrid_memory.context.summaries.lines import MAX_LINE_CHARS
from hybrid_memory.context.summaries.summarise import critical_items
from hybrid_memory.context.summary import Line
from hybrid_memory.log.message import Role
from hybrid_memory.text.tokenize import cjk_share, terms

GAP = "____"
MIN_TERMS = 4
"""What must be left of a statement, so that it says what is asked."""

MAX_CHARS = 180
_EXACT = re.compile(r"[\d@《/]")

_QUOTED = re.compile(r"(?<=[\"“])[^\"“”\n]{2,60}(?=[\"”])")
_RANGE_BEFORE = re.compile(r"\w[ ]?[-–~—][ ]?\Z|[\d点日月号年时天分元][ ]?(?:[至到]|to)[ ]?\Z|\d [a-z]+ to \Z")
_RANGE_AFTER = re.compile(r"[ ]?(?:[-–~—至到]|to)[ ]?\d")

SAME = 0.7
"""A later statement with this share of the same terms tells the same thing anew."""


def statement_probes(history: History) -> Iterator[Probe]:
    """For each message that is out of sight its weightiest statement with something exact that nothing in sight tells.

    Of the assistant's only those with figures, dates, titles or addresses, and nothing where it works by commands.
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
    there = [item for item in items if _alone(item, statement)]
    if not there:
        return None
    item = _whole(min(there, key=lambda item: (_frequency(history, item), -len(item), item)), statement)
    rest = re.sub(re.escape(item), GAP, statement, flags=re.IGNORECASE)
    words = frozenset(terms(rest))
    if len(words) < MIN_TERMS * (3 if cjk_share(rest) > 0 else 1) or _told_anew(history, words, line):
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
    """The item, or the title in quotation marks that it is a part of."""
    return next((title for title in _QUOTED.findall(statement) if item in title), item)


def _alone(item: str, statement: str) -> bool:
    """Whether the item stands in the statement, and not as one end of a range."""
    at = statement.find(item)
    return at >= 0 and not _RANGE_BEFORE.search(statement[:at]) and not _RANGE_AFTER.match(statement[at + len(item) :])


def _frequency(history: History, item: str) -> int:
    return min((history.frequency[term] for term in terms(item)), default=0)


def _told_anew(history: History, words: frozenset[str], line: Line) -> bool:
    """Whether a later line says nearly the same."""
    enough = SAME * len(words)
    return any(
        other.first > line.first and len(words & said) >= enough
        for other, said in zip(history.lines, history.line_terms, strict=True)
    )
