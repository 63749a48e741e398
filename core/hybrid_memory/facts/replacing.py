"""Which earlier instructions a newer one replaces: only those about the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hybrid_memory.facts.attributes import is_order
from hybrid_memory.facts.fact import Claim, Fact, FactScope, Stance
from hybrid_memory.facts.values import normalised
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.tokenize import terms

_LANGUAGES = (
    r"English|French|German|Spanish|Italian|Portuguese|Dutch|Polish|Swedish|Greek|Turkish|Russian|Ukrainian|Chinese|"
    r"Mandarin|Cantonese|Japanese|Korean|Arabic|Hebrew|Hindi|Irish|Welsh|Latin"
)
_MATTERS = {
    name: lazy(words, re.IGNORECASE)
    for name, words in {
        "language": rf"(?<!british )(?<!american )\b(?:{_LANGUAGES})\b(?! spelling)|[中英法德日韩俄](?:文|语)|"
        r"粤语|普通话|白话文|文言",
        "spelling": r"\b(?:british|american|uk|us) (?:english|spelling)\b|英式|美式|[简繁][体體]",
        "length": r"\b(?:short(?:er)?|brief(?:ly)?|concise(?:ly)?|terse|long(?:er)?|length|detailed|"
        r"in (?:depth|detail)|"
        r"(?:words?|sentences?|lines?|paragraphs?) (?:max|at most|or less)|under \w+ (?:hundred )?(?:words|lines)|"
        r"(?:one|two|three|few) (?:words?|sentences?|lines?|paragraphs?)|expand|elaborate)\b|"
        r"简短|简洁|精简|简明|扼要|详细|展开|[字句]以?内|一句话|越[细短长]越|长篇|长一?[点些]|短一?[点些]",
        "swearing": r"\b(?:swear(?:ing)?|mind your language)\b|脏话",
        "formality": r"\b(?:in)?formal(?:ly)?\b|\b(?:casual|polite)(?:ly)?\b|正式|随意|敬语|[“「\"][您你][”」\"]",
        "harshness": r"\b(?:blunt|strict|harsh|gentle)(?:er)?\b|\bgently\b|\bsugar-?coat|毒舌|温柔|严厉",
        "humour": r"\b(?:jok(?:es?|ing)|humou?r\w*|serious|sarcas\w+)\b|幽默|严肃|卖萌|搞笑",
        "layout": r"\b(?:bullet(?:s| points)?|lists?|tables?|markdown|plain text|prose)\b|"
        r"列表|列点|表格|纯文本|markdown|分点|要点",
        "emoji": r"\b(?:emojis?|emoticons?|smileys?)\b|表情|颜文字|emoji",
        "order": r"\b(?:answer|fix|hint|conclusion|solution|diff|result|reason)\w* first\b|"
        r"\bfirst (?:give|tell|show) me\b|先给|先说|直接(?:给|说)|最后再|再揭晓",
        "units": r"\b(?:metric|imperial|celsius|fahrenheit|feet|pounds|inches|grams|cups|kilomet\w+|miles|ounces)\b|"
        r"公制|英制|摄氏|华氏|公斤|英里|公里",
        "address": r"\b(?:call|address) me\b|\bthe titles\b|叫我(?!的)|称呼我",
        "dates": r"\bdates?\b.*\b(?:iso|format|style)\b|\biso dates?\b|\b(?:12|24).?hour|日期|(?:12|24)小时",
        "currency": r"\b(?:euros?|dollars?|sterling|yuan|currency)\b|人民币|美元|欧元|英镑|日元",
        "indent": r"\b(?:tabs|indent\w*|(?:spaces|blanks)(?: per level)?)\b|缩进|制表符",
        "quotes": r"\b(?:single|double) quotes\b|[单双]引号",
        "naming": r"camel ?case|snake_?case|pascal ?case|kebab-?case|驼峰|下划线|蛇形",
        "tests": r"(?<![a-z])(?:pytest|unittest|jest|vitest|mocha|doctest|rspec|junit|testng)(?![a-z])",
        "packages": r"(?<![a-z])(?:npm|yarn|pnpm|pip|poetry|conda|uv)(?![a-z])",
    }.items()
}
"""What instructions may be about; of two about the same thing the newer one applies."""

_OF_TEXTS = frozenset(("language", "spelling", "length", "formality", "harshness", "humour", "layout", "order"))
"""Matters that may differ from one kind of text to another."""

_TARGETS = {
    name: lazy(words, re.IGNORECASE)
    for name, words in {
        "comments": r"\bcomments?\b|\bdocstrings?\b|注释",
        "commits": r"\bcommit|提交|\bchangelog",
        "code": r"\b(?:code|functions?|variables?|methods?|class(?:es)?|python|javascript|java|sql|files?)\b|"
        r"代码|函数|变量",
        "mail": r"\be-?mails?\b|\bletters?\b|邮件|书信|封信",
        "documents": r"\b(?:docs|documentation|reports?|essays?|papers?|thesis|posts?|newsletter)\b|"
        r"文档|报告|论文|文案",
        "recipes": r"\brecipes?\b|\bbaking\b|\bcooking\b|菜谱|食谱",
        "summaries": r"\bsummar|摘要|总结",
        "answers": r"\b(?:answers?|repl(?:y|ies)|responses?|respond|talk|speak|chat)\b|回答|回复|跟我|和我|对我",
    }.items()
}
"""What an instruction may apply to; one that names no target applies to everything."""

_WHEN = lazy(
    r"\b(?:when(?:ever)?|if|while|unless|except|on \w+days?|for (?:my|our|the) \w+)\b|"
    r"的时候|[^小]时[，,候]|如果|聊到|周末|除了|给我[爸妈老奶爷]",
    re.IGNORECASE,
)
_NOT = lazy(
    r"\b(?:not|never|no(?: more)?|instead of|rather than|without|don['’]?t(?: use)?|stop(?: using)?|drop|avoid)\s+"
    r"(?:the |any |use |using )?[`'\"]?(?P<en>[\w.+#-]+)|"
    r"(?:别|不要|不用|不准|不许|禁止|禁用|弃用|而不是|不是)(?:再)?(?:用|使用|写)?\s*[`“\"]?(?P<zh>[A-Za-z][\w.+#-]*)",
    re.IGNORECASE,
)
_USED = lazy(
    r"(?:\b(?:use|using|with|in|back to|switch to)\s+(?:the )?|[用成回])\s*[`'\"“]?(?P<name>[A-Za-z][\w.+#-]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Order:
    """A current instruction.

    Attributes:
        session: the only session in which it applies, if any.
        source: position of the turn that last stated it.
    """

    subject: str
    attribute: str
    value: str
    scope: FactScope
    session: str | None
    source: int


def orders_of(facts: Iterable[Fact]) -> list[Order]:
    """The current instructions among facts."""
    return [
        Order(one.subject, one.attribute, one.value, one.scope, one.session, max(one.positions, default=0))
        for one in facts
        if one.current and is_order(one.attribute)
    ]


def order_of(claim: Claim, session: str | None) -> Order:
    """The instruction in a claim."""
    within = session if claim.scope is FactScope.SESSION else None
    return Order(claim.subject, claim.attribute, claim.value, claim.scope, within, claim.source)


def replaced(claim: Claim, earlier: Sequence[Order], session: str | None) -> list[Order]:
    """The earlier instructions that a newer one replaces; none with a wider scope."""
    return [
        one
        for one in earlier
        if one.source < claim.source
        and normalised(one.subject) == normalised(claim.subject)
        and _reaches(claim, one, session)
        and normalised(one.value) != normalised(claim.value)
        and _disagree(claim.value, one.value)
    ]


class _Told(Protocol):
    @property
    def attribute(self) -> str: ...
    @property
    def value(self) -> str: ...


def replaces_any(claim: Claim, earlier: Iterable[_Told]) -> bool:
    """Whether a claim is an instruction about the same thing as one of these."""
    return is_order(claim.attribute) and any(
        is_order(one.attribute) and _disagree(claim.value, one.value) for one in earlier
    )


def apart(claim: Claim, earlier: _Told) -> bool:
    """Whether both are instructions about different things, so that neither affects the other."""
    if not is_order(claim.attribute) or not is_order(earlier.attribute):
        return False
    told = _about(claim.value, _MATTERS) and _about(earlier.value, _MATTERS)
    return bool(told) and not _disagree(claim.value, earlier.value)


def ending(claim: Claim, order: Order) -> Claim:
    """The claim that an instruction no longer applies, because the turn of this claim gives another."""
    return replace(claim, attribute=order.attribute, value=order.value, stance=Stance.ENDED, verbatim=False)


def _reaches(claim: Claim, order: Order, session: str | None) -> bool:
    scopes = list(FactScope)
    if order.scope is FactScope.SESSION and order.session != session:
        return False
    return scopes.index(claim.scope) <= scopes.index(order.scope)


def _disagree(new: str, old: str) -> bool:
    """Whether two instructions are about the same thing, so that the new one replaces the old one."""
    if _swapped(new, old) or _swapped(old, new):
        return True
    matters = _about(new, _MATTERS) & _about(old, _MATTERS)
    if not matters or (_WHEN.search(new) and not _WHEN.search(old)):
        return False
    mine, theirs = _about(new, _TARGETS), _about(old, _TARGETS)
    if not matters <= _OF_TEXTS or mine & theirs:
        return True
    return not (theirs and mine) and not mine - {"answers"}


def _about(text: str, table: dict[str, re.Pattern[str]]) -> set[str]:
    return {name for name, words in table.items() if words.search(text)}


def _swapped(one: str, other: str) -> bool:
    """Whether one asks for what the other rejects by name: "use unittest", and "pytest, not unittest"."""
    refused = {term for found in _NOT.finditer(other) for term in terms(found["en"] or found["zh"])}
    used = {term for found in _USED.finditer(_NOT.sub(" ", one)) for term in terms(found["name"])}
    return bool(refused & used)
