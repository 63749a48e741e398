"""Probes about what was said and shown: errors, test runs, arguments of calls, labelled ids, addresses."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from hybrid_memory import Message, Role
from hybrid_memory.analysis import TestRun, actions, errors, ids, labelled_ids, outcome, prose, refused, urls, verdicts
from hybrid_memory_evaluation.probing.history import History, is_result, listed, shortened
from hybrid_memory_evaluation.probing.probe import Probe, ProbeKind
from hybrid_memory_evaluation.probing.work import outcome_probe

MAX_RECALLED = 5
"""More ids than this under one name are a listing, which nobody remembers."""

MAX_COMMAND_CHARS = 120
LABEL_DISTANCE = 40

_ID_NAME = re.compile(r"(?:\A|_)(?:ids?|number|code|ref|reference|ticket|token|sku|uuid|no)\Z")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ID = re.compile(r"(?=.*\d|[A-Z]+\Z)[A-Za-z0-9][\w-]{3,40}", re.ASCII)
_LABEL = re.compile(
    r"\b((?:order|ticket|reservation|booking|confirmation|tracking|invoice|case|issue|user|customer|account|membership"
    r"|member|flight|product|item)\s*(?:id|number|no\.?|code))\b",
    re.IGNORECASE,
)
_CHINESE_LABEL = re.compile(
    r"((?:订单|单|流水|快递|会员|合同|预订|预约|学|工|卡|账|票|手机|身份证|工单|车牌|航班)号码?|编号|验证码|手机号码?)"
)


def recall_probes(history: History) -> Iterator[Probe]:
    """Probes about the first error, errors of single commands, the first test run, ids and addresses."""
    yield from _errors(history)
    yield from _first_run(history)
    yield from _called(history)
    yield from _given(history)
    yield from _addresses(history)


def _first_run(history: History) -> Iterator[Probe]:
    asked = ("What was the outcome of the first test run?", "第一次运行测试的结果是什么？")
    last = history.ledger.tests[-1].sources if history.ledger.tests else ()
    for message in history.past:
        if is_result(message) and (runs := verdicts(message.text)):
            first = TestRun(outcome=runs[0][0], failing=runs[0][1], sources=(message.id or "",))
            if first.sources != last:
                yield from outcome_probe(history, first, asked, ProbeKind.RECALL)
            return


def _errors(history: History) -> Iterator[Probe]:
    commands = Counter(_command(message) for message in history.messages)
    told: set[str] = set()
    for row, message in enumerate(history.past):
        if not is_result(message) or not (result := _failures(message)):
            continue
        if not told:
            question = "最先出现的错误是什么？" if history.in_chinese else "What was the first error that came up?"
            yield _error(result[0], question, message)
            told.add(result[0])
            continue
        asker = history.asker(row)
        command = "" if asker is None else _command(history.messages[asker])
        if command and commands[command] == 1 and result[-1] not in told:
            told.add(result[-1])
            question = (
                f"运行 `{command}` 时出现了什么错误？"
                if history.in_chinese
                else f"Which error came up when `{command}` was run?"
            )
            yield _error(result[-1], question, message)


def _failures(message: Message) -> list[str]:
    """The errors of a result that reports a failure, rather than only containing such words."""
    result = outcome(message.text)
    failed = result.exit_code not in {None, 0} or "Traceback (" in result.text or refused(result) or result.complaints()
    return [error for error in errors(result) if not error.startswith("exit ")] if failed else []


def _error(error: str, question: str, message: Message) -> Probe:
    whole = error.rsplit(" ", 1)[0] if error.endswith("…") else error
    name, _, said = whole.partition(": ")
    keys = [name, shortened(said, words=8, characters=20)] if re.fullmatch(r"(?:\w+\.)*[A-Z]\w+", name) else [whole]
    return Probe("", ProbeKind.RECALL, question, error, tuple(filter(None, keys)), (message.id or "",), by="ledger")


def _command(message: Message) -> str:
    """The command of a message that runs a single short one; otherwise empty."""
    if message.role is not Role.ASSISTANT:
        return ""
    asked = actions(message)
    command = (asked[0].command or "").strip() if len(asked) == 1 else ""
    return "" if "\n" in command or len(command) > MAX_COMMAND_CHARS else command


def _called(history: History) -> Iterator[Probe]:
    """Probes about the ids with which tools were called."""
    values: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for message in history.messages:
        for call in message.tool_calls:
            for name, value in call.arguments.items() if isinstance(call.arguments, dict) else ():
                label = _CAMEL.sub("_", name).lower()
                if isinstance(value, str) and _ID_NAME.search(label) and _ID.fullmatch(value):
                    values[call.name, label.replace("_", " ")][value].append(message.id or "")
    for (tool, label), found in values.items():
        if len(found) <= MAX_RECALLED:
            plural = "s" if len(found) > 1 and not label.endswith("s") else ""
            question = (
                f"调用工具 {tool} 时用的 {label} 是什么？"
                if history.in_chinese
                else f"With which {label}{plural} was the tool {tool} called?"
            )
            yield _listed(history, question, {value: by[0] for value, by in found.items()})


def _given(history: History) -> Iterator[Probe]:
    """Probes about ids given by the user, by the label in the user's words or in the question before."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    before = ""
    for message in history.messages:
        text = prose(message)
        if message.role is Role.USER and text:
            for value in dict.fromkeys([*ids(text), *labelled_ids(text)]):
                if label := _label(text, value, before):
                    values[label].setdefault(value, message.id or "")
        before = text if message.role is Role.ASSISTANT else ""
    for label, found in values.items():
        if len(found) <= MAX_RECALLED:
            question = (
                f"用户给出的{label}是什么？"
                if history.chinese(found.values())
                else f"What {label}{'s' if len(found) > 1 else ''} did the user give?"
            )
            yield _listed(history, question, found)


def _label(text: str, value: str, before: str) -> str:
    """The label of an id in the words before it, or in the question that it answers."""
    at = text.find(value)
    for pattern in (_LABEL, _CHINESE_LABEL):
        near = pattern.findall(text[max(0, at - LABEL_DISTANCE) : at])
        if near:
            return _named(near[-1])
        asked = {_named(label) for label in pattern.findall(before)}
        if len(asked) == 1:
            return asked.pop()
    return ""


def _named(label: str) -> str:
    return " ".join(label.lower().replace("no.", "number").split())


def _addresses(history: History) -> Iterator[Probe]:
    for role, english, chinese in (
        (Role.USER, "Which web addresses did the user name?", "用户提到了哪些网址？"),
        (Role.ASSISTANT, "Which web addresses did the assistant name?", "助手提到了哪些网址？"),
    ):
        result = {
            address: message.id or ""
            for message in reversed(history.messages)
            if message.role is role
            for address in urls(prose(message))
        }
        if 0 < len(result) <= MAX_RECALLED:
            yield _listed(history, chinese if history.in_chinese else english, dict(reversed(result.items())))


def _listed(history: History, question: str, result: dict[str, str]) -> Probe:
    gold = listed(tuple(result), chinese=history.in_chinese)
    return Probe("", ProbeKind.RECALL, question, gold, tuple(result), _unique(result.values()), by="ledger")


def _unique(sources: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sources))
