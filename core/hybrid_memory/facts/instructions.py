"""The user's instructions: their scope, and where they apply."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hybrid_memory.facts.attributes import is_order
from hybrid_memory.facts.fact import Claim, Fact, FactScope
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import is_chinese

MAX_ASIDE_CHARS = 60
"""The longest sentence that only states the scope of the one before: "Only for this chat."."""

_HERE = r"(?:chat|conversation|session|thread|talk|discussion|answer|reply|response|question|task|round)"
_PIECE = (
    r"(?:letter|e-?mail|essay|text|post|poem|story|summary|report|document|article|translation|script|function|exercise|"
    r"draft|recipe|trip|call|meeting|presentation|interview|exam|problem|puzzle|game|paragraph|file|one|evening|week)"
)
_PROJECT = (
    r"(?:projects?|repos?|repository|codebase|code base|monorepo|company|firm|team|department|office|workspace|app|"
    r"application|package|library|module|service|website|site|shop|lab|thesis|book|course)"
)
_SESSION = lazy(
    rf"\bthis (?:time|once)\b(?! (?:zone|of|format|frame|series|stamp|slot|tracking|around the))|"
    rf"\b(?:in|during|throughout|within|for) (?:(?:the rest|the duration|the course) of )?(?:this|our|today's|the "
    rf"(?:current|present|next)) (?:\w+ )?{_HERE}\b|"
    rf"\bfor this (?:one|once|{_PIECE})\b|"
    r"\bfor (?:now(?! on\b)|today|tonight|the moment|the time being|the next (?:hour|few \w+))\b(?!')|"
    r"\b(?:just|only) (?:for )?(?:now|today|tonight|here|this (?:morning|afternoon|evening|week|chat|answer))\b|"
    r"\b(?:now|today|tonight) only\b|\buntil (?:tomorrow|tonight|we(?:'re| are) done|i say otherwise)\b|"
    r"(?:就|仅|只|但)?(?:这|这一|此|今)(?:次|回|趟|遍|篇|封|份|首|道题)(?!数|起|开始|以后|之后|元)|"
    r"本(?:次|轮|篇|条|场)(?!起|开始|数)|(?:这|这一|本|此|当前)(?:个|次|轮|场|段)?(?:对话|会话|聊天|回答|回复|任务|谈话)|"
    r"(?<!从)(?<!自)今[天晚](?:先|就|只|都|暂|内|之内)|(?:只|仅|就)(?:限)?今[天晚]|暂时|暂且|眼下|临时",
    re.IGNORECASE,
)
_IN_PROJECT = lazy(
    rf"\b(?:in|for|on|at|within|across|throughout|all over|of) (?:this|our|my|that|the same|all of this) "
    rf"(?:[\w-]+ ){{0,2}}{_PROJECT}\b|\bthis {_PROJECT}\b|"
    r"(?:这个?|该|本|此|我们|咱们?家?|我(?:们的?|的))[^，,。\s]{0,5}?"
    r"(?:项目|工程|代码库|仓库|公司|团队|小组|组里|部门|系统|应用|小程序|网站|课题|产品线|论文|店里)",
    re.IGNORECASE,
)
_BEYOND = lazy(
    r"\b(?:not (?:just|only)|more than just|as well as) (?:for |in )?(?:this|that|now|today)\b|"
    r"不(?:只|仅|光|单)是?(?:这|今|本)",
    re.IGNORECASE,
)
"""Words that extend the scope beyond the occasion or project they name."""

_ASIDE = lazy(
    r"(?:(?:but|and|that'?s|this is|it'?s|or at least)\b[ ,]*)*(?:for|in|just|only)\b|(?:但|不过|也)?(?:就|仅|只)",
    re.IGNORECASE,
)
"""The beginning of a sentence that only states the scope of the one before."""


def scope_of(sentence: str) -> FactScope:
    """The scope that an instruction states."""
    if _BEYOND.search(sentence):
        return FactScope.ALWAYS
    if _SESSION.search(sentence):
        return FactScope.SESSION
    return FactScope.PROJECT if _IN_PROJECT.search(sentence) else FactScope.ALWAYS


def scope_in(claim: Claim, text: str) -> FactScope:
    """The scope of a claim extracted from this text; claims other than instructions always apply."""
    if not is_order(claim.attribute):
        return FactScope.ALWAYS
    parts = sentences(text)
    place = next((number for number, part in enumerate(parts) if _said_in(claim.value, part)), None)
    said = [claim.value] if place is None else [parts[place], *_asides(parts[place + 1 : place + 2])]
    return scope_of(" ".join(said))


def scoped(claim: Claim, text: str) -> Claim:
    """The claim with its scope, unless that is set already."""
    return claim if claim.scope is not FactScope.ALWAYS else replace(claim, scope=scope_in(claim, text))


def _said_in(value: str, sentence: str) -> bool:
    return " ".join(value.rstrip("…").split()).casefold() in " ".join(sentence.split()).casefold()


def _asides(following: Iterable[str]) -> list[str]:
    return [part for part in following if len(part) <= MAX_ASIDE_CHARS and _ASIDE.match(part)]


def within_project(fact: Fact) -> str:
    """The value, with a note that it applies in one project, if its own words do not say so."""
    plain = fact.value.strip()
    if fact.scope is not FactScope.PROJECT or scope_of(plain) is FactScope.PROJECT:
        return plain
    return f"本项目：{plain}" if is_chinese(plain) else f"in this project: {plain}"


def applying(facts: Iterable[Fact], session: str | None) -> list[Fact]:
    """The facts without instructions for other sessions; without a session, without all such instructions."""
    return [
        fact
        for fact in facts
        if fact.scope is not FactScope.SESSION or (session is not None and fact.session == session)
    ]
