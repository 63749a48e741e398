"""Probes about how the work goes on: what the user wants, what is still to do, what still fails."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybrid_memory.apps.evaluation.probing.facts import task_probes
from hybrid_memory.apps.evaluation.probing.history import History, is_result, shortened, trimmed
from hybrid_memory.apps.evaluation.probing.probe import Probe, ProbeKind
from hybrid_memory.artifacts.calls import actions
from hybrid_memory.context.summaries.lines import prose
from hybrid_memory.context.summary import Line
from hybrid_memory.log.message import Role
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms

MAX_FAILING = 8
MIN_GOAL_TERMS = 4
MAX_GOAL_CHARS = 240
OPENING = 3
"""Sentences among which the user's wish is looked for."""

LABELLED = re.compile(r"[A-Z]{3,}:")
"""A part of a template, such as what an agent is shown to write."""

_OPEN = re.compile(
    r"\b(?:TODO:?|to-do:?|(?:still|also) (?:need|have) to|(?:remaining|left|next step)s?(?: is| are)?(?: to)?"
    r"|follow[- ]up|remind me to|later (?:I|we)(?:'ll| will))\b (?P<what>.+)"
    r"|(?:待办|下一步|接下来|还需要?|还要|还得|提醒我|以后再|稍后再?|回头)[:：，]?(?P<zh>[^，。；！？]+)"
)
_WANTS = re.compile(
    r"\b(?:I(?:'d| would)? (?:want|like|need)(?: you)? to|(?:and|I) need(?: to)?|I want|please|can you|could you"
    r"|help me|your task is to|the (?:task|goal) is to|I'm (?:trying|looking|planning|thinking)(?: of| to| for)?)"
    r"\b (?P<what>.+)"
    r"|(?:我想要?|我需要|我要|(?:请[您你]?)?帮我们?|请(?!问)|麻烦[您你]?|希望|任务是|目标是)(?P<zh>[^，。；！？]+)",
    re.IGNORECASE,
)


def continuation_probes(history: History) -> Iterator[Probe]:
    """What the user came for, open tasks, announced steps that nobody took up, tests that failed last."""
    yield from _goal(history)
    yield from task_probes(history)
    yield from _steps(history)
    yield from _failing(history)


def _goal(history: History) -> Iterator[Probe]:
    first = next((row for row, said in enumerate(history.past) if said.role is Role.USER and not is_result(said)), None)
    if first is None:
        return
    message = history.messages[first]
    said = [" ".join(sentence.split()) for sentence in sentences(prose(message))]
    said = [
        sentence
        for sentence in said
        if len(set(terms(sentence))) >= MIN_GOAL_TERMS
        and len(sentence) <= MAX_GOAL_CHARS
        and not sentence.endswith((":", "："))
        and not LABELLED.match(sentence)
    ]
    # Further down stand rules and examples of a template.
    wanted = next((sentence for sentence in said[:OPENING] if _WANTS.search(sentence)), said[0] if said else "")
    found = _WANTS.search(wanted)
    if found is None and not history.ledger.commands:
        return  # small talk; an agent is given a task, however that is worded
    key = shortened((found["what"] or found["zh"]) if found else wanted)
    chinese = history.chinese((message.id or "",))
    question = "用户一开始想要什么？" if chinese else "What did the user ask for at the beginning?"
    if len(set(terms(key))) > 1:
        yield Probe("", ProbeKind.CONTINUATION, question, wanted, (key,), (message.id or "",), by="next steps")


def _steps(history: History) -> Iterator[Probe]:
    """What was announced and never spoken of again."""
    for line in history.lines:
        message = history.events[line.first - 1].message
        found = _OPEN.search(history.spoken(line))
        if line.first > history.truncated or found is None or actions(message) or history.advises(line):
            continue
        what = trimmed(found["what"] or found["zh"])
        key = shortened(what)
        if len(set(terms(key))) > 1 and not _taken_up(history, line, what):
            yield _step(history, line, what, key)


def _step(history: History, line: Line, what: str, key: str) -> Probe:
    said = history.spoken(line)
    rest = trimmed(said.replace(what, "…"))
    if history.chinese(line.sources):
        question = f"说到“{rest}”，具体还有什么事要做？"
    else:
        question = f"What was left to be done where it was said: “{rest}”?"
    return Probe("", ProbeKind.CONTINUATION, question, said, (key,), line.sources, by="next steps")


def _taken_up(history: History, line: Line, what: str) -> bool:
    """Whether a later message has half of its words."""
    words = set(terms(what))
    later = history.messages[line.first :]
    return any(2 * len(words & set(terms(message.text[:20_000]))) >= len(words) for message in later)


def _failing(history: History) -> Iterator[Probe]:
    """The tests that failed in the last run, if some did."""
    runs = history.ledger.tests
    if runs and 0 < len(runs[-1].failing) <= MAX_FAILING:
        last = runs[-1]
        question = (
            "最后一次运行测试时哪些测试失败了？" if history.in_chinese else "Which tests failed in the last test run?"
        )
        yield Probe(
            "", ProbeKind.CONTINUATION, question, ", ".join(last.failing), last.failing, last.sources, by="ledger"
        )
