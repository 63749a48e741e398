"""Probes about people and their open tasks, from the facts that rules learn."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybrid_memory import Category, Fact
from hybrid_memory.analysis import RULE, USER, attribute
from hybrid_memory.text.tokenize import cjk_share, terms
from hybrid_memory_evaluation.probing.history import History, listed
from hybrid_memory_evaluation.probing.probe import Probe, ProbeKind

MAX_VALUES = 6
"""How many of the newest values of an attribute a probe asks for."""

MAX_VALUE_CHARS = 60


_PARTS = re.compile(r"[\s()（）]+")
MAX_PARTS = 3
"""Attributes whose values rules combine from separate words, such as ``cat Mia``."""


class _Asked(NamedTuple):
    english: str
    chinese: str


_ASKED = {
    "home": _Asked("Where does {who} live?", "{who}住在哪里？"),
    "hometown": _Asked("Where does {who} come from?", "{who}来自哪里？"),
    "employer": _Asked("Where does {who} work?", "{who}在哪里工作？"),
    "profession": _Asked("What does {who} do for a living?", "{who}的职业是什么？"),
    "language": _Asked("Which languages does {who} speak?", "{who}会说什么语言？"),
    "possession": _Asked("What was said that {who} has?", "提到{who}拥有什么？"),
    "condition": _Asked("Which health problems does {who} have?", "{who}有什么健康问题？"),
    "allergy": _Asked("What is {who} allergic to?", "{who}对什么过敏？"),
    "diet": _Asked("Which diet does {who} follow?", "{who}的饮食习惯是什么？"),
    "likes": _Asked("What did {who} say they like?", "{who}说过喜欢什么？"),
    "prefers": _Asked("What does {who} prefer?", "{who}的偏好是什么？"),
    "dislikes": _Asked("What does {who} dislike?", "{who}不喜欢什么？"),
    "avoids": _Asked("What does {who} avoid?", "{who}避免什么？"),
    "interest": _Asked("What is {who} interested in?", "{who}对什么感兴趣？"),
    "technology": _Asked("Which technologies does {who} work with?", "{who}使用什么技术？"),
    "communication_style": _Asked("How does {who} want to be spoken to?", "{who}希望别人怎样与其沟通？"),
    "project": _Asked("What does {who} work on?", "{who}正在做什么项目？"),
    "habit": _Asked("Which habits does {who} have?", "{who}有什么习惯？"),
    "pet": _Asked("Which pets does {who} have?", "{who}养了什么宠物？"),
    "todo": _Asked("What does {who} still have to do?", "{who}还有什么事要做？"),
    "appointment": _Asked("Which appointments does {who} have ahead?", "{who}接下来有什么约定？"),
    "goal": _Asked("Which goals does {who} have?", "{who}的目标是什么？"),
}
_OTHER = _Asked("What is {who}'s {what}?", "{who}的{what}是什么？")
_KIN = _Asked("Who is {who}'s {what}?", "{who}的{what}是谁？")
_RULE = _Asked("Which rule did {who} set for {what}?", "{who}对{what}定下了什么规则？")
_DECIDED = "decision"


def fact_probes(history: History) -> Iterator[Probe]:
    """A probe for each attribute of each person whose values are still true at the end."""
    facts = [fact for fact in history.facts if fact.category is not Category.TASK]
    yield from _by_attribute(history, facts, ProbeKind.RECALL)


def task_probes(history: History) -> Iterator[Probe]:
    """Probes about what is open at the end: tasks, future appointments, goals."""
    end = history.events[-1].at if history.events else None
    facts = [
        fact
        for fact in history.facts
        if fact.category is Category.TASK
        and fact.attribute != _DECIDED
        and (fact.due is None or end is None or fact.due >= end)
    ]
    yield from _by_attribute(history, facts, ProbeKind.CONTINUATION)


def _by_attribute(history: History, facts: Sequence[Fact], kind: ProbeKind) -> Iterator[Probe]:
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if len(fact.value) <= MAX_VALUE_CHARS and terms(fact.value):
            groups[fact.subject, fact.attribute].append(fact)
    for (subject, name), group in groups.items():
        # What is said only where it can still be seen is asked of nobody.
        old = [fact for fact in group if history.rows[fact.sources[0]] < history.truncated]
        asked = [(fact, keys) for fact in old if (keys := _keys(history, fact))][-MAX_VALUES:]
        chinese = cjk_share(" ".join(fact.value for fact in group)) > 0 or history.in_chinese
        question = _question(subject, name, chinese=chinese)
        wanted = tuple(dict.fromkeys(key for _, keys in asked for key in keys))
        sources = tuple(source for fact, _ in asked for source in fact.sources)
        gold = listed(tuple(dict.fromkeys(fact.value for fact in group)), chinese=chinese)
        yield Probe("", kind, question, gold, wanted, sources, by="facts")


def _keys(history: History, fact: Fact) -> list[str]:
    """The value, or its few words, if the turns contain them; otherwise empty."""
    words = [part for part in _PARTS.split(fact.value) if part]
    for parts in ([fact.value], words if len(words) <= MAX_PARTS else []):
        if parts and all(any(history.says(source, part) for source in fact.sources) for part in parts):
            return parts
    return []


def _question(subject: str, name: str, *, chinese: bool) -> str:
    about = attribute(name)
    other = _RULE if name.startswith(RULE) else _KIN if about.category is Category.RELATION else _OTHER
    asked = _ASKED.get(name, other)
    what = (about.chinese if chinese else about.english).removesuffix("的规则").removeprefix("rule for ")
    return asked[chinese].format(who=_who(subject, chinese=chinese), what=what)


def _who(subject: str, *, chinese: bool) -> str:
    """The person in words; ``user's wife`` is the user's wife, 用户的妻子."""
    if subject != USER and not subject.startswith(f"{USER}'s "):
        return subject
    if not chinese:
        return f"the {subject}"
    whose, _, relation = subject.partition("'s ")
    return "用户" + (f"的{attribute(relation).chinese}" if whose and relation else "")
