"""Removes from a summary what later words change, report as done, or answer.

By cues of both languages and the topic that two statements share, without a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.origin import MARKED
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.tokenize import terms

NEAR = 12
"""A change that does not name what it changes refers to one of this many positions before it."""

SAME = 0.5
"""Two statements share a topic if they share this much of the shorter one's content words."""

SURE = 2.0
"""This many common words make a topic; with fewer, only the newest statement is meant. A Chinese character is half."""

OPEN = 0.8
"""The least importance of a question that was put off."""

_PLANS = (Section.DECISIONS, Section.NEXT_STEPS, Section.INTENT)

_CHANGED = lazy(
    r"\binstead\b|\brather than\b|\b(?:i'd|i would|we'd|let's) rather\b|\b(?:chang\w+|made up) (?:my|our|his|her) mind"
    r"|\bon second thoughts?\b|\bscrap (?:that|the)\b|\bforget (?:about )?(?:that|the|it)\b|\bscratch that\b"
    r"|\b(?:switch|swap|chang|mov|postpon|push|reschedul|brought|bring|extend|delay|put)\w* .{0,60}?\b(?:to|until|till"
    r"|forward|back|off|out)\b|\b(?:postponed|rescheduled|delayed|extended|moved)\b|\bcancel\w*|\bcalled? off\b"
    r"|\b(?:is|are|was) now\b|\bnow (?:due|on|at)\b|\bactually,? (?:let's|make|we|i'll)"
    r"|\bno,? (?:let's|wait|make|we'll|i'll)\b"
    r"|改(?:成|为|到|用|在|期|主意|天|乘|坐|去|买|订|吃|喝|选)|换(?:成|为|到|个|一)|推迟|延(?:期|后|长)|提前(?:到|至)|取消"
    r"|不用了|不要了|不去了|不买了|不订了|算了|作废|还是.{1,14}吧|而不是|重新(?:选|定|安排)|别.{1,8}了|不.{1,8}了(?=[，。！,.!]|$)"
)
_ENDED = lazy(
    r"\bno longer\b|(?:\b(?:not|never)\b|n['’]t\b).{0,60}\bany ?more\b"
    r"|\b(?:stopped|quit|gave up|given up|went off|gone off)\b"
    r"|\bused to\b|\b(?:now prefer|prefer .{1,40} now)\b|不再|戒了|(?:不|没).{1,8}了(?=[，。！,.!]|$)|以前.{1,10}现在"
)
_CORRECTS = lazy(
    r"\binstead\b(?! of)|\bi'd rather\b|\b(?:chang\w+|made up) (?:my|our) mind|\bon second thoughts?\b"
    r"|\b(?:scratch|forget) (?:about )?(?:that|it)\b|\b(?:no|actually),? (?:let's|wait|make it|we'll|i'll)\b"
    r"|改(?:成|为|到|用|期|主意|天|乘|坐|买|订|吃|喝|选)|换(?:成|为|到|个|一)|算了|不用了|不要了|还是.{1,14}吧"
)
"""Those that correct what was said just before, even without naming it."""

_PAST = lazy(
    r"\b(\w{2,}ed|paid|sent|bought|made|done|written|wrote|met|got|told|given|gave|taken|took|found|built|left|sold"
    r"|brought|spoken|spoke|seen|saw|chosen|chose|set|put|read|cut|rung|rang|held|hung|kept|won|sorted)\b"
)
_BASES = {
    "paid": "pay", "sent": "send", "bought": "buy", "made": "make", "written": "write", "wrote": "write",
    "met": "meet", "got": "get", "told": "tell", "given": "give", "gave": "give", "taken": "take", "took": "take",
    "found": "find", "built": "build", "left": "leave", "sold": "sell", "brought": "bring", "spoken": "speak",
    "spoke": "speak", "seen": "see", "saw": "see", "chosen": "choose", "chose": "choose", "rung": "ring",
    "rang": "ring", "held": "hold", "hung": "hang", "kept": "keep", "won": "win",
}  # fmt: skip
_ENDS = frozenset("done finished completed sorted settled solved fixed handled".split())
"""Words that mark any task as done."""

_DONE_CHINESE = lazy(r"已经?.{0,14}|(?:完|好|掉|过|妥|齐|[交订买付寄发办写修打约送取领签])了|搞定|完成了")
_UNDONE = lazy(
    r"\b(?:not|no|never|will|would|should|must|need(?:s|ed)?|have to|has to|had to|going to|to be|if|when|once|until"
    r"|till|unless|before|can|could|may|might|please|let's)\b|n['’]t\b|'ll\b|[?？]"
    r"|没|未|不|(?<!重)要|(?<![觉记值])得|如果|等|之前|以后|别|请|打算|准备|计划|吗"
)
_DEFERS = lazy(
    r"\b(?:don'?t know|not sure|no idea|let me (?:check|ask|find out|come back|get back)"
    r"|(?:i|we)(?:'ll| will| need to| have to| must) (?:check|ask|find out|get back|come back|think about it)"
    r"|get back to|still open|undecided|come back to"
    r"|\b(?:decide|tell you|discuss|see) (?:that |this |it )?later\b|to be (?:decided|confirmed)|tbd)"
    r"|不知道|不清楚|不确定|没想好|我(?:去|先)?(?:查|问|看|想)(?:一下|查|问|看|想|清楚)|稍后|回头|再说|再看|待定|还没定|以后再",
)
_EMPTY = frozenset(
    terms(
        "decide decided decision agree agreed choose chose chosen settled go going gone use using used take "
        "taking taken took want wants need needs like likes love loves prefer enjoy hate let instead rather "
        "actually change changed mind switch move moved postpone reschedule cancel cancelled last next new "
        "old still already please think thought thing make made good great okay ok yes yeah sure get got one "
        "ones two first second right well really remember plan planned planning hope do done finish finished "
        "complete completed stop stopped quit anymore longer come back see know say said tell told ask asked "
        "would could maybe perhaps lot way put keep stick pick will have try start wait hey hi oh wow haha "
        "user assistant much many"
    )
)
_TIMES = frozenset(
    terms(
        "today tomorrow yesterday tonight morning evening afternoon week month year day time monday tuesday wednesday "
        "thursday friday saturday sunday january february march april may june july august september october november "
        "december am pm clock"
    )
)
_VAGUE_CHINESE = frozenset(
    "我你您他她它们的了吗呢吧啊呀在是有和与或也都就还很不没别要想去来用把给被让这那个些一二三四五六七八九十两几"
    "上下今明昨后前天周星期月日号点年早晚午时候之到已经好完成定改换取消决已再最更真可以能会得为而从对请先得地着过做说"
    "喜欢爱觉道知次什么怎样里中出起其实"
)


@lru_cache(maxsize=8192)
def topic(text: str) -> frozenset[str]:
    """The content words of a statement: stems and Chinese characters, without numbers, dates and modal words."""
    said = text.partition(": ")[2] or text
    found = {term for term in terms(said) if len(term) == 1 or term[0] < "\u2e80"}
    return frozenset(
        term
        for term in found - _EMPTY - _TIMES - _VAGUE_CHINESE
        if not any(map(str.isdigit, term)) and (len(term) > 1 or term >= "\u2e80")
    )


def says_something(text: str) -> bool:
    """Whether a statement is meaningful by itself, unlike "I love it"."""
    return any(term not in _EMPTY for term in terms(text))


def revised(
    standing: Sequence[Line], said: Sequence[Line], turns: Mapping[int, Message]
) -> tuple[list[Line], list[Line]]:
    """Existing lines and new statements without those that later ones change, report as done, or answer.

    A replacement is at least as important as what it replaces. ``said`` is everything said after the existing lines, in
    order; ``turns`` are their messages by position.
    """
    known: list[Line | None] = [*standing]
    rows = _by_turn(said)
    asked: list[int] = []
    by = ""
    for position, lines in rows.items():
        message = turns[position]
        if message.speaker != by:
            if _defers(lines):
                for row in asked:
                    known[row] = _left_open(known[row])
            else:
                _drop(known, asked)
            asked, by = [], message.speaker
        for line in lines:
            gone, kept = _gone(known, line, message.role)
            _drop(known, gone)
            asks = _asks(line, message.role)
            # The assistant's are answered by the time that they are compacted, or nobody cared to.
            known.append(None if asks and message.role is Role.ASSISTANT else kept)
            asked += [len(known) - 1] if asks else []
    count = len(standing)
    return [line for line in known[:count] if line], [line for line in known[count:] if line]


def _by_turn(said: Iterable[Line]) -> dict[int, list[Line]]:
    found: dict[int, list[Line]] = {}
    for line in said:
        found.setdefault(line.last, []).append(line)
    return found


def _drop(known: list[Line | None], rows: Iterable[int]) -> None:
    for row in rows:
        known[row] = None


def _left_open(line: Line | None) -> Line | None:
    return line and replace(line, section=Section.QUESTIONS, importance=max(line.importance, OPEN))


def _asks(line: Line, role: Role) -> bool:
    """Whether it is only a question: one by the user with a plan or a wish in it is a proposal."""
    asks = line.text.rstrip().endswith(("?", "？", "吗", "呢", "呢。", "吗。"))
    return line.section is Section.QUESTIONS or (asks and (role is Role.ASSISTANT or line.section is Section.FACTS))


def _defers(lines: Sequence[Line]) -> bool:
    """Whether an answer begins by putting the question off; later parts of a long one are about something else."""
    return any(_DEFERS.search(line.text.lower()) for line in lines[:2])


def _gone(known: Sequence[Line | None], line: Line, role: Role) -> tuple[list[int], Line]:
    """The rows that this statement replaces, ends or answers, and the statement with their importance.

    What a tool, a page or an import says never changes what a participant said.
    """
    if line.origin in MARKED:
        known = [other if other is not None and other.origin in MARKED else None for other in known]
    text = line.text.partition(": ")[2].lower()
    if _asks(line, role) or role not in {Role.USER, Role.ASSISTANT}:
        return [], line
    if changed := _changed(known, line, text, role):
        most = max((row for row in changed), key=lambda row: known[row].importance)  # type: ignore[union-attr]
        return changed, _instead(line, known[most])  # type: ignore[arg-type]
    return [*_done(known, line, text), *_answered(known, line, text)], line


def _instead(line: Line, before: Line) -> Line:
    section = before.section if line.section in {Section.FACTS, Section.INTENT} else line.section
    return replace(line, section=section, importance=max(line.importance, before.importance))


def _changed(known: Sequence[Line | None], line: Line, text: str, role: Role) -> list[int]:
    """What a change is about: statements with its topic, or else the newest plan nearby; and repetitions of it."""
    ended = _ENDED.search(text) is not None
    if not ended and not _CHANGED.search(text):
        return []
    open_ = [row for row, other in enumerate(known) if other and _changeable(other, line, ended=ended)]
    rows = _about(known, open_, topic(line.text), sure=role is Role.ASSISTANT)
    if not rows and role is Role.USER and _CORRECTS.search(text):
        near = [row for row in open_ if line.last - known[row].last <= NEAR]  # type: ignore[union-attr]
        rows = [row for row in near if known[row].section in _PLANS][-1:]  # type: ignore[union-attr]
    same = [
        row
        for row in open_
        if row not in rows and any(_sure(topic(known[row].text), topic(known[first].text)) for first in rows)  # type: ignore[union-attr]
    ]
    return sorted([*rows, *same])


def _changeable(other: Line, line: Line, *, ended: bool) -> bool:
    """Anyone may change a plan; wishes and preferences only the person who has them."""
    if other.section in {Section.DECISIONS, Section.NEXT_STEPS}:
        return True
    own = other.text.partition(": ")[0] == line.text.partition(": ")[0]
    return own and (other.section is Section.INTENT or (ended and other.section is Section.FACTS))


def _done(known: Sequence[Line | None], line: Line, text: str) -> list[int]:
    """The tasks that a report says are done: it has the task's verb in the past, or a word that ends any task."""
    if _UNDONE.search(text):
        return []
    past = _PAST.findall(text)
    verbs = {term for verb in past for term in terms(_BASES.get(verb, verb))}
    ends = not _ENDS.isdisjoint(past) or _DONE_CHINESE.search(text) is not None
    if not verbs and not ends:
        return []
    tasks = [
        row
        for row, other in enumerate(known)
        if other and other.section is Section.NEXT_STEPS and (ends or not verbs.isdisjoint(terms(other.text)))
    ]
    return _about(known, tasks, topic(line.text) | verbs - _EMPTY)


def _answered(known: Sequence[Line | None], line: Line, text: str) -> list[int]:
    """Open questions that this statement is about."""
    if _DEFERS.search(text):
        return []
    asked = [row for row, other in enumerate(known) if other and other.section is Section.QUESTIONS]
    said = topic(line.text)
    return [row for row in asked if _sure(said, topic(known[row].text))]  # type: ignore[union-attr]


def _about(known: Sequence[Line | None], rows: Iterable[int], said: frozenset[str], *, sure: bool = False) -> list[int]:
    """Statements that certainly have this topic, or else the newest that may have it."""
    found = [row for row in rows if _common(said, topic(known[row].text))]  # type: ignore[union-attr]
    certain = [row for row in found if _sure(said, topic(known[row].text))]  # type: ignore[union-attr]
    return certain or ([] if sure else found[-1:])


def _sure(one: frozenset[str], other: frozenset[str]) -> bool:
    return _common(one, other) and _weight(one & other) >= SURE


def _common(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = _weight(one & other)
    return shared >= 1 and shared >= SAME * min(_weight(one), _weight(other))


def _weight(words: frozenset[str]) -> float:
    return sum(0.5 if word >= "\u2e80" else 1.0 for word in words)
