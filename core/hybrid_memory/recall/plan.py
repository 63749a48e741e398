"""What a recall is asked: the validated call and its plan (intent, names, times), by rules over the query's words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any, Self, TypeVar

from hybrid_memory.config import Weights
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Category
from hybrid_memory.index.record import RecordKind, Scalar, Where
from hybrid_memory.log.message import Origin
from hybrid_memory.scope import Scope
from hybrid_memory.text import lazy
from hybrid_memory.text.asking import about_what_was, asking_share, asks, ends
from hybrid_memory.text.dates import find_times
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import COMPOUND_SURNAMES, SURNAMES
from hybrid_memory.text.tokenize import CHINESE_STOP_WORDS, ENGLISH_STOP_WORDS, LETTER, terms
from hybrid_memory.validation import check_span, shown, storable, whole

E = TypeVar("E", bound=StrEnum)

MAX_QUERY_CHARS = 10_000


class Intent(StrEnum):
    """The kind of answer a query wants.

    ``fact`` wants a value: who, what, when, where. ``contextual`` refers to something discussed earlier. ``reasoning``
    weighs several things: why, how, compare. ``auto`` decides by the words of the query.
    """

    AUTO = "auto"
    FACT = "fact"
    REASONING = "reasoning"
    CONTEXTUAL = "contextual"


@dataclass(frozen=True, slots=True)
class Request:
    """A validated call of recall; ``session`` is the caller's."""

    query: str
    k: int
    where: Where
    weights: Weights | None
    intent: Intent = Intent.AUTO
    spaces: Collection[str] = ()
    min_confidence: float | None = None
    session: str | None = None

    @classmethod
    def of(
        cls,
        scope: Scope,
        query: str,
        *,
        k: int,
        within: str,
        kinds: Collection[RecordKind | str],
        categories: Collection[str],
        since: datetime | None,
        until: datetime | None,
        metadata: Mapping[str, Scalar] | None,
        weights: Weights | None,
        intent: Intent | str = Intent.AUTO,
        spaces: Collection[str] = (),
        origins: Collection[Origin | str] = (),
        min_confidence: float | None = None,
    ) -> Self:
        """The request; raises `InvalidInputError` if an argument is invalid."""
        query = checked_query(query)
        number = whole("k", k, 1)
        if within == "session" and scope.session is None:
            raise InvalidInputError("scope='session' needs a scope with a session: scoped(..., session=...)")
        if within == "session" and spaces:
            raise InvalidInputError("scope='session' searches this session only: leave out spaces")
        check_span(since, until)
        if min_confidence is not None and not 0 <= min_confidence <= 1:
            raise InvalidInputError(f"min_confidence must lie in 0 to 1, got {shown(min_confidence)}")
        where = Where(
            scope=scope if within == "session" else scope.owner,
            kinds=_members("kinds", RecordKind, kinds),
            categories=_members("categories", Category, categories),
            since=since,
            until=until,
            metadata={} if metadata is None else _scalars(metadata),
            origins=_members("origins", Origin, origins),
        )
        try:
            intent = Intent(intent)
        except ValueError:
            raise InvalidInputError(f"intent must be one of {', '.join(Intent)}; got {shown(intent)}") from None
        return cls(query, number, where, weights, intent, spaces, min_confidence, scope.session)

    def keeps(self, confidence: float | None, usual: float) -> bool:
        """Whether a hit's confidence is high enough, by the requested or the usual threshold, or unknown."""
        return confidence is None or confidence >= (usual if self.min_confidence is None else self.min_confidence)


def checked_query(query: str) -> str:
    """The query, or both ends of one over `MAX_QUERY_CHARS`; raises `InvalidInputError` if it is empty."""
    if not query.strip():
        raise InvalidInputError("the query is empty: ask for something")
    return ends(query, MAX_QUERY_CHARS)


def _members(name: str, kind: type[E], given: Collection[E | str]) -> frozenset[E]:
    try:
        return frozenset(map(kind, given))
    except ValueError:
        allowed = ", ".join(kind)
        raise InvalidInputError(f"{name} must be a collection of these: {allowed}; got {shown(given)}") from None


def _scalars(metadata: Mapping[Any, Any]) -> dict[str, Scalar]:
    """The metadata to match, if every engine can compare its values for equality."""
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be values by name, got {shown(metadata)}")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, Scalar):
            raise InvalidInputError(
                f"metadata can be text, numbers, booleans or None by name, got {shown(key)}: {shown(value)}"
            )
        try:
            storable({key: value})
        except ValueError as error:
            raise InvalidInputError(f"metadata cannot have {shown(key)}: {shown(value)}; {error}") from None
    return dict(metadata)


class Timing(StrEnum):
    """How much a query depends on time.

    Vague times, and clear ones without any records, favour what is near them; so do those of a person the query names,
    whose days are often reported later. Clear times decide: records within them come first, then those from shortly
    after. Oldest and newest order by time what fits the query nearly as well as the best; last talk prefers the session
    before this one.
    """

    NONE = ""
    VAGUE = "vague"
    CLEAR = "clear"
    OLDEST = "oldest"
    NEWEST = "newest"
    LAST_TALK = "last talk"


DECIDING = frozenset({Timing.CLEAR, Timing.OLDEST, Timing.NEWEST, Timing.LAST_TALK})
"""Timings whose signal outweighs all others."""


class EntityKind(StrEnum):
    """The kind of an entity in a query."""

    QUOTED = "quoted"
    PATH = "path"
    ID = "id"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Entity:
    """Words of a query that name one thing, as written there."""

    text: str
    kind: EntityKind

    @property
    def verbatim(self) -> bool:
        """Whether to search for it literally: all but names, which occur in half of a chat's turns."""
        return self.kind is not EntityKind.NAME


@dataclass(frozen=True, slots=True)
class Plan:
    """How a recall reads its query; `Hit.why` shows it.

    Attributes:
        intent: never ``auto``; cue: the word that shows it, empty if none did.
        asked: the sentences of the query that ask or refer to earlier talk; without one the query.
        entities: what the query names; times: the time ranges it names that have begun.
        timing: how much the query depends on time; also vague if no record is from the times it names.
        vector, text, exact, temporal: the most candidates from each path; 0 if it does not run.
        corrected: words that the memory never used, and the words searched for in addition.
        synonyms: words of the query, and the synonyms searched for with them.
    """

    intent: Intent
    cue: str = ""
    asked: str = ""
    entities: tuple[Entity, ...] = ()
    times: tuple[TimeSpan, ...] = ()
    vector: int = 0
    text: int = 0
    exact: int = 0
    temporal: int = 0
    timing: Timing = Timing.NONE
    corrected: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        cue = f" ({self.cue!r})" if self.cue else ""
        names = " or ".join(repr(entity.text) for entity in self.entities if entity.verbatim)
        spans = []
        for span in self.times:  # by its days, both ends included
            first, last = span.since.date(), (span.until - timedelta(microseconds=1)).date()
            spans.append(f"{f'on {first}' if first == last else f'from {first} to {last}'} ({span.text!r})")
        paths = {
            "by meaning": self.vector,
            "by words": self.text,
            f"with {names} word for word": self.exact,
            f"{' or '.join(spans) or 'by time'}{_FIRST.get(self.timing, '')}": self.temporal,
        }
        compared = [f"{most} {path}" for path, most in paths.items() if most]
        if compared:
            number, _, path = compared[0].partition(" ")
            compared[0] = f"up to {number} turns {path}"
        parts = [f"read as a question {_ASKS[self.intent]}{cue}"]
        parts += [f"compared: {', '.join(compared)}"] if compared else []
        parts += [f"{wrong!r} read as {right!r}" for wrong, right in self.corrected.items()]
        parts += [f"{word!r} also as {', '.join(map(repr, others))}" for word, others in self.synonyms.items()]
        return "; ".join(parts)


_ASKS = {
    Intent.AUTO: "of any kind",
    Intent.FACT: "for a fact",
    Intent.REASONING: "for reasons",
    Intent.CONTEXTUAL: "about earlier talk",
}

_FIRST = {
    Timing.CLEAR: ", these first",
    Timing.OLDEST: ", oldest first",
    Timing.NEWEST: ", newest first",
    Timing.LAST_TALK: ", last session first",
}


EXACT = 24
TEMPORAL = 20  # the most records from the exact and the temporal path
MAX_TIMES = 8  # the most stretches of time searched for one query


def plan(
    query: str, *, now: datetime, candidates: int, route: Intent = Intent.AUTO, synonyms: Sequence[Sequence[str]] = ()
) -> Plan:
    """Which paths run, and with which limits.

    Vector and text run for every intent: on labelled sets neither did better with fewer candidates. Reasoning questions
    get half as many candidates again by meaning. Literal names activate the exact path; times, and questions that refer
    back, the temporal one. Times are relative to ``now``; those that have not begun are left out.
    """
    query = ends(query)
    kind, cue = intent(query) if route is Intent.AUTO else (route, "")
    named = entities(query)
    kinds = set(map(attrgetter("kind"), named))
    # Where a text asks or refers to earlier talk, its other sentences tell what happened, at times nobody asks for.
    asking = [part for part in sentences(query) if asks(part) or _PATTERNS[Intent.CONTEXTUAL].search(part)]
    asked = "\n".join(asking) or (query if len(query) <= MAX_ORDERED_CHARS else "")
    begun = {(span.since, span.until): span for span in reversed(find_times(asked, now)) if span.since <= now}
    times = tuple(sorted(begun.values(), key=lambda span: span.start))[:MAX_TIMES]
    by_time = timing(asked, times, now=now, named=EntityKind.NAME in kinds)
    # The query's words that are in synonym groups, each with the others of its group.
    folded_query, others = folded(query), dict[str, tuple[str, ...]]()
    for group in synonyms:
        word = next((word for word in group if _has(folded_query, folded(word))), None)
        if word is not None:
            more = (other for other in group if not _has(folded_query, folded(other)))
            others[word] = tuple(dict.fromkeys((*others.get(word, ()), *more)))
    return Plan(
        intent=kind,
        cue=cue,
        asked=asked or query,
        entities=named,
        times=times,
        vector=candidates * 3 // 2 if kind is Intent.REASONING else candidates,
        text=candidates,
        exact=EXACT if kinds - {EntityKind.NAME} else 0,
        temporal=TEMPORAL if by_time or kind is Intent.CONTEXTUAL else 0,
        timing=by_time,
        synonyms={word: more for word, more in others.items() if more},
    )


def _has(text: str, word: str) -> bool:
    """Whether the text contains the word; as a whole word, if its script separates words by spaces."""
    before = rf"(?<!{LETTER})" if re.match(LETTER, word) else ""
    after = rf"(?!{LETTER})" if re.match(LETTER, word[-1:]) else ""
    return re.search(f"{before}{re.escape(word)}{after}", text) is not None


CUES: dict[Intent, str] = {
    Intent.CONTEXTUAL: (
        r"\b(?:remember|recall|remind me|earlier|previously|before|last time|back then|the other day|"
        r"(?:did|have|had) (?:i|we|you) (?:\w+ )?(?:say|said|tell|told|talk(?:ed)?|mention(?:ed)?|discuss(?:ed)?)|"
        r"(?:we|i|you) (?:were )?(?:talk(?:ed|ing)|discuss(?:ed|ing)|mention(?:ed|ing)|said|told))\b"
        r"|之前|以前|记得|上次|刚才|刚刚|先前|早些时候|提到过|提过|说过|聊过|谈过|讨论过|那次|那天|当时"
    ),
    Intent.REASONING: (
        r"\b(?:why|how come|explain|compare|comparison|difference|differ|versus|vs|pros and cons|trade-?offs?|"
        r"should (?:i|we)|what if|would it|analy[sz]e|evaluate|recommend|suggest|advise|advice|plan|"
        r"reasons?|because|implications?|how (?:does|do|can|could|should|would|might))\b"
        r"|为什么|为何|怎么会|原因|比较|对比|区别|差别|优缺点|利弊|分析|评估|建议|推荐|该不该|应不应该|如果|怎么办|"
        r"如何|怎样才能|意味着|总结"
    ),
    Intent.FACT: (
        r"\b(?:who|whom|whose|what|when|where|which|how (?:many|much|old|long|often|far|tall|big)|name of)\b"
        r"|是谁|是什么|谁|什么|哪里|哪儿|哪个|哪些|哪年|哪天|哪位|何时|何地|几点|几个|几岁|几月|几号|多少|多大|多久|多远|"
        r"叫什么|什么时候|哪"
    ),
}
"""In the order in which they are tried: "what did I say before?" is contextual, "what if" is reasoning."""

_PATTERNS = {intent: re.compile(pattern, re.IGNORECASE) for intent, pattern in CUES.items()}

DEFAULT = Intent.FACT  # the intent of a query without a cue, which is mostly just the name of something


def intent(query: str) -> tuple[Intent, str]:
    """The intent, and the word that shows it; empty if none did and the intent is the default."""
    for kind, pattern in _PATTERNS.items():
        if found := pattern.search(query):
            return kind, found[0]
    return DEFAULT, ""


SEARCH_TERMS = 4  # a query with at most this many terms that is not a question is a keyword search

MAX_ORDERED_CHARS = 160
"""The longest query about a first or last time, or any time without a question; in longer ones they are incidental."""

_VAGUE = lazy(
    r"\b(?:few|several|some|couple|about|around|roughly|einige[nrm]?|paar|quelques|plusieurs|unos|unas|algun[oa]s|qualche"
    r"|alcun[ei]|alguns|algumas)\b|\d0'?s\b|(?<!十)几|数[天日周月年]|[前这]两天|大概|大约|差不多|年代",
    re.IGNORECASE,
)
_OWN = lazy(r"\b(?:i|me|my|mine|we|us|our|ours)\b|我|咱", re.IGNORECASE)
_TALKED = r"(?:talk(?:ed|ing)?|sp(?:ea|o)k(?:e|ing)?|chat(?:ted|ting)?|discuss(?:ed|ing)?)"
_MEETING = "(?:talk|chat|conversation|discussion|session)"
_LAST_TALK = lazy(
    rf"what (?:(?:did|were|had|have) (?:we|you and i|i) )?(?:we )?{_TALKED}(?: about)?,? "
    r"(?:the )?(?:last(?: time)?|most recently)\W*$"
    rf"|what did (?:we|you and i) last {_TALKED}(?: about)?\W*$"
    rf"|what did (?:we|you and i) {_TALKED}(?: about)? in (?:our|the) (?:last|previous) {_MEETING}\W*$"
    rf"|what was (?:our|the) (?:last|latest|previous) {_MEETING} about\W*$"
    rf"|^(?:please )?(?:tell me about|recap|summari[sz]e) (?:our|the) (?:last|previous) {_MEETING}\W*$"
    r"|where did we (?:leave off|stop)(?: last time)?\W*$"
    r"|(?:上次|上一次|上回|最后一次|最近一次)(?:我们|咱们)?(?:都|在|是)?(?:聊|谈|说|讨论)(?:了|过|到|的)?(?:是|些)?(?:什么|啥|哪些)\w{0,3}\W*$"
    r"|(?:聊|谈|说)到哪(?:儿|里)?了?\W*$",
    re.IGNORECASE,
)
_OLDEST = lazy(r"\bfirst time\b|\bdid (?:\w+ ){1,2}first [a-z]+|第一次|头一[次回]|首次", re.IGNORECASE)
_NEWEST = lazy(
    r"\b(?:last|latest|most recent) time\b"
    r"|\bdid (?:\w+ ){1,2}"
    r"(?:last (?!week|month|quarter|year|night|spring|summer|autumn|fall|winter)[a-z]+|most recently)"
    r"|(?:最后|最近|上)一[次回]|上[次回].*(?:什么时候|何时|哪天|多久)",
    re.IGNORECASE,
)


def timing(query: str, times: Sequence[TimeSpan], *, now: datetime, named: bool) -> Timing:
    """How much the query depends on time, regardless of the records.

    A clear time decides if the query asks, or is only a few words; one that lasts on ("today") also needs a question
    about what was: "What can I cook today?" wants no turn of today.

    Args:
        query: the query text, or its sentences that ask.
        times: the times it names that have begun.
        now: the instant at which it is asked.
        named: whether it names a person.
    """
    of_another = named and not _OWN.search(query)
    if times:
        asking = asking_share(query) or len(terms(query)) <= SEARCH_TERMS
        past = [span for span in times if not vague(span) and (span.until <= now or about_what_was(query))]
        return Timing.CLEAR if asking and past and not of_another else Timing.VAGUE
    if asks_for_last_talk(query):
        return Timing.LAST_TALK
    if of_another or len(query) > MAX_ORDERED_CHARS:
        return Timing.NONE
    if _OLDEST.search(query):
        return Timing.OLDEST
    return Timing.NEWEST if _NEWEST.search(query) else Timing.NONE


def asks_for_last_talk(query: str) -> bool:
    """Whether a query only asks for the last topic of conversation."""
    return len(query) <= MAX_ORDERED_CHARS and _LAST_TALK.search(query) is not None


def vague(span: TimeSpan) -> bool:
    """Whether the time has no clear limits, or is rather a topic."""
    return _VAGUE.search(span.text) is not None


MAX_ENTITIES = 8
MAX_QUOTED_CHARS = 200

_QUOTED = re.compile(
    r"\"([^\"\n]+)\"|“([^”\n]+)”|「([^」\n]+)」|『([^』\n]+)』|《([^》\n]+)》|`([^`\n]+)`|«([^»\n]+)»"
    r"|(?<![\w'])'([^'\n]+)'(?![\w'])|‘([^’\n]+)’(?!\w)"
)
_PATH = re.compile(
    r"(?<![\w/])(?:https?://[!-;=?-~]+[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:[A-Za-z]:\\|~?/|\.{1,2}/)[\w.\-/\\]*\w"
    r"|(?:[\w.-]+/)+[\w-]*[A-Za-z][\w-]*\.[A-Za-z]\w{0,4}|(?:[0-9_.-]*[A-Za-z][\w.-]*/){2,}[\w.-]*\w"
    r"|[A-Za-z_][\w-]+\.[A-Za-z][A-Za-z0-9]{0,4})(?![\w/])",
    re.ASCII,
)
_ID = re.compile(
    r"(?<![\w-])(?=[A-Za-z0-9_.#-]*\d)(?=[A-Za-z0-9_.#-]*[A-Za-z_#-])[A-Za-z0-9#](?:[A-Za-z0-9_.#-]*[A-Za-z0-9])(?![\w-])"
    r"|(?<![\w.-])\d{5,}(?![\w.-])",
    re.ASCII,
)
_NO_ID = re.compile(
    r"\d+(?:st|nd|rd|th|s|am|pm|k|km|kg|cm|mm|m|h|min)(?:[-/.]\d+)*|\d{1,4}(?:[-/.]\d{1,4}){0,2}", re.IGNORECASE
)
"""An ordinal, a size, a time, or a date."""

_WORD = r"(?:Dr|Mr|Mrs|Ms|Prof|St)\.|[A-Z][\w’'-]*[\w]|[A-Z]"
_NAME = re.compile(rf"(?<![\w’'])(?:{_WORD})(?:[ \t]+(?:(?:of|de|van|von|the|la|del|da) )?(?:{_WORD}))*")
_SENTENCE = re.compile(r"(?:\A|[.!?。！？;；:\n]\s*)[\"'“‘(]*$")
_OPENING_CHARS = 16  # how far before a name to look for the start of its sentence

_CALENDAR = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december today tomorrow yesterday""".split()
)
_GIVEN = r"[\u4e00-\u9fff]"
_END = (
    r"(?=[的是在和跟与同给对把被让向从说讲问想爱喜有没去来到住做当会能要写买吃看玩过了吗呢吧这那上下最为怎哪谁几多"
    r"]|什么|[今昨明前后][天年晚]|[^\u4e00-\u9fff]|$)"
)
_CHINESE_NAME = re.compile(
    rf"(?:{'|'.join(COMPOUND_SURNAMES)}|[{SURNAMES}]){_GIVEN}{{1,2}}?{_END}|[小阿老][{SURNAMES}]{_END}"
)
_NO_NAME = frozenset(
    """高兴 方便 方法 方向 方面 方案 周末 周一 周二 周三 周四 周五 周六 周日 周年 周围 时候 时间 马上 白天 金融 金钱
    安全 安排 安装 常常 万一 水果 黄色 石头 程序 程度 任务 任何 成功 成为 成员 成绩 单位 单词 关于 关系 关注 文件 文章
    文化 文字 文档 温度 路上 路线 常见 计划 计算 许多 白色 雷雨 雪山 梅花 钱包 钱数 孔子 孟子 牛奶 牛肉 熊猫 马路 龙虾
    汤面 游戏 游泳 游客 苗条 谷歌 成都 江苏 江西 云南 温州 金华 范围 贺卡 毛衣 毛病 史上 顾客 向导 向来 施工 左边 右边
    解决
    解释 易怒 项目 祝福 祝你 包括 包子 包裹 连接 连续 童年 纪念 纪录 舒服 何时 何地 何处 左右 余下 丁点 康复 武术 戴着
    万里 严重 毕业 季节 盛大 凌晨 曲子 蓝色 应该 陆续 梁上 唐诗 宋词 汉语 杨树 叶子 田野 苏打 沈阳 钟头 章节 宁愿 尚未
    符合 华为 胡子 高中 高考 高铁 高度 高级 林业 罗列 谢谢 许可 邓小 于是 段落 车票 侯车 陶瓷 黎明 郝然 齐全 景点 朱古
    阮囊 尹始 向上 向下 向前 向后 江边 石油 金色 金额 程式 夏天 秋天 冬天 春天 贾岛 付款 付钱 姚黄 汪洋 姜汤 白酒 邱比
    陈述 陈列 张开 王国 王子 王后 李子 杜绝 彭湃 郑重 冯唐 曹操 吕布 刘海 孙子 孙女 徐徐 吴语 赵云""".split()
)


def entities(query: str) -> tuple[Entity, ...]:
    """The entities that the query names, in order, each once, at most `MAX_ENTITIES`.

    Quotations take precedence, then paths, ids and names. An English name is a run of capitalised words, except for a
    single word at the start of a sentence, a day or a month. A Chinese name is a surname with one or two characters up
    to a particle, a verb or the end.
    """
    taken: list[tuple[int, int, EntityKind]] = []
    quoted = (match.span(match.lastindex or 0) for match in _QUOTED.finditer(query))
    chinese = (match for match in _CHINESE_NAME.finditer(query) if match[0] not in CHINESE_STOP_WORDS)
    for kind, found in (
        (
            EntityKind.QUOTED,
            (span for span in quoted if query[slice(*span)].strip() and span[1] - span[0] <= MAX_QUOTED_CHARS),
        ),
        (EntityKind.PATH, (match.span() for match in _PATH.finditer(query))),
        (EntityKind.ID, (match.span() for match in _ID.finditer(query) if not _NO_ID.fullmatch(match[0]))),
        (EntityKind.NAME, _names(query)),
        (EntityKind.NAME, (match.span() for match in chinese if match[0][:2] not in _NO_NAME)),
    ):
        for start, end in found:
            if all(end <= first or start >= last for first, last, _ in taken):
                taken.append((start, end, kind))
    unique: dict[str, Entity] = {}
    for start, end, kind in sorted(taken):
        unique.setdefault(folded(query[start:end]), Entity(query[start:end], kind))
    return tuple(unique.values())[:MAX_ENTITIES]


def folded(text: str) -> str:
    """The text normalised for comparison: without differences of width, case and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def _names(query: str) -> Iterator[tuple[int, int]]:
    for match in _NAME.finditer(query):
        start, end = match.span()
        words = query[start:end].split()
        # "Did Ann", "What is Ann", "I": what opens a sentence or is said anyway belongs to no name.
        while words and _common(words[0]):
            start += len(words[0])
            start += len(query[start:end]) - len(query[start:end].lstrip())
            words = words[1:]
        while words and _common(words[-1]):
            end = start + len(query[start:end].rstrip()) - len(words[-1])
            words = words[:-1]
        text = query[start:end].rstrip()
        text = re.sub(r"[’']s?$", "", text)
        opens = _SENTENCE.search(query, max(0, start - _OPENING_CHARS), start) is not None
        possessive = query[start + len(text) : start + len(text) + 2] in {"'s", "’s"}
        if words and (not opens or len(words) > 1 or possessive):
            yield start, start + len(text)


def _common(word: str) -> bool:
    plain = word.lower().split("'")[0].split("’")[0]
    return plain in ENGLISH_STOP_WORDS or plain in _CALENDAR
