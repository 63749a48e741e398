"""Summary lines: taken from turns, selected within a budget, merged with the existing ones."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from hybrid_memory.artifacts.reading import is_observation
from hybrid_memory.config import CleaningLevel
from hybrid_memory.context.layout import payload_of
from hybrid_memory.context.summary import Line, Section
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text import lazy
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import speaker
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter

THRESHOLD = 0.3  # a lower score means small talk, which gives no summary line
CRITICAL = 0.9  # a score of at least this is kept verbatim

MAX_SPECIFICS = 4
DECIDING = 0.85  # cues of at least this weight, such as rules and decisions, make a line critical
CJK_WORDS = 0.4  # words per term of the text index that is one or two Chinese characters

MAX_LINE_CHARS = 240
MIN_TERMS = 3  # a statement of fewer terms, its speaker included, means nothing by itself, like "I love it"
MAX_TURN_CHARS = 4_000  # of a longer turn only head and tail are read; its digest and handle cover the rest
OF_ASSISTANT = 0.9  # the factor for sentences by the assistant, compared with the same words by anyone else
OF_THE_TURN = 0.5  # the weight of a message's own importance in a line's, if it has one
OPEN = 0.8  # the least importance of a question that was put off
DUPLICATE = 0.75  # lines that share this much of their terms are duplicates
SERIES = 3  # this many lines that differ in one number alone are a series, and take one line
STRETCHES = 5  # the number of equal stretches of the conversation that share the budget
STEEP = 3  # the exponent of importance in a stretch's share: idle talk waits until another stretch has eight good lines
FIRST = 0.5  # the share of the budget that the newest decision, next step and question may take first
_MOVING = (Section.DECISIONS, Section.NEXT_STEPS, Section.QUESTIONS)  # sections whose newest line comes first

NEGATED = "¬"

_NEGATION = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b|不|没|别|无法|未", re.IGNORECASE)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKS = re.compile(r"\A(?:[#>*+-]+|\d{1,2}[.)])\s+|(?<![\w*])\*\*([^*\n]+)\*\*(?![\w*])")
"""Markup of lists, headings and bold type; the group is the text."""

_TAGS = re.compile(r"</?[a-zA-Z_][^<>\n]{0,80}>")
_DEFERS = lazy(
    r"\b(?:don'?t know|not sure|no idea|let me (?:check|ask|find out|come back|get back)"
    r"|(?:i|we)(?:'ll| will| need to| have to| must) (?:check|ask|find out|get back|come back|think about it)"
    r"|still open|undecided|(?:decide|tell you|discuss|see) (?:that |this )?later|to be (?:decided|confirmed)|tbd)\b"
    r"|不知道|不清楚|不确定|没想好|我(?:去|先)?(?:查|问|看|想)(?:一下|查|问|看|想|清楚)|稍后|回头|再说|再看|待定|还没定|以后再"
)
"""An answer that puts the question off."""


class Cue(NamedTuple):
    """Words that show what a sentence is about.

    Attributes:
        section: the section of a summary.
        weight: the score it gives by itself, in [0, 1].
        english, chinese: regular expressions for lower-case text.
    """

    name: str
    section: Section
    weight: float
    english: str
    chinese: str


CUES: tuple[Cue, ...] = (
    Cue("remember", Section.FACTS, 0.95,
        r"\b(?:remember (?:that|this|my|to)|(?:don'?t|do not|(?<!ll )(?<!will )never) forget|keep in mind"
        r"|note that|for the record|(?:(?<!so )(?<!how )important(?:ly)?|crucial|critical)"
        r"(?! (?:to|for|in|part|thing)\b))\b",
        r"记住|记得(?!吗)|记一下|别忘|不要忘|重要|关键是|注意"),
    Cue("identity", Section.FACTS, 0.95,
        r"\b(?:my (?:full |first |last |user ?)?name(?: is|'s)|call me|i(?:'m| am) called|i(?:'m| am) (?:a|an|from)\b"
        r"|i (?:work|live|moved|was born|grew up|studied)|my (?:job|birthday|age|address|phone|number|e-?mail|wife"
        r"|husband|partner|son|daughter|mother|father|mom|dad|sister|brother|dog|cat)\b|i(?:'m| am) \d+ years)",
        r"我叫|名字|姓名|我是(?!说|不是|想|觉得)|我今年|我住|住在|地址|(?<!打)(?<!个)电话|手机号|邮箱|微信|生日|我在.{1,12}工作"
        r"|我的(?:妻子|丈夫|老婆|老公|儿子|女儿|妈妈|爸爸|母亲|父亲|姐姐|妹妹|哥哥|弟弟|狗|猫)"),
    Cue("contact", Section.FACTS, 0.9,
        r"\b(?:address|phone(?: number)?|e-?mail|zip code|passport|account number)\b|\w@[\w-]+\."
        r"|(?<![\w.])\+?\d{3}[- ]?\d{3,4}[- ]?\d{4}(?![\w.])|\bpassword\b|\b(?:code|pin)\b[^.?!]{0,30}? is [\w-]*\d",
        r"地址|(?<!打)(?<!个)电话|手机|邮箱|邮编|身份证|账号|密码|(?<!\d)1\d{10}(?!\d)"),
    Cue("preference", Section.FACTS, 0.9,
        r"\bi (?:really |absolutely |also |just )?(?:like|love|enjoy|prefer|hate|dislike|adore|avoid"
        r"|can'?t stand|don'?t (?:like|eat|drink|want))\b|\bmy fav(?:ou?rite)\b|\ballerg(?:y|ic)\b"
        r"|\bvegetarian\b|\bvegan\b",
        r"偏好|喜欢|喜爱|最爱|爱吃|爱喝|讨厌|厌恶|不喜欢|不吃|不喝|过敏|忌口|吃素|更愿意|宁愿"),
    Cue("rule", Section.FACTS, 0.9,
        r"(?:^|[:;,] )(?:please )?(?:always|never|do not|don'?t)\b(?! (?:mind|worry|know|think|you))"
        r"|\bmust (?:not|never|always)\b"
        r"|(?<!you )(?<!it )(?<!that )\bmust\b|\bmustn'?t\b"
        r"|\b(?:you|we|nobody|everybody) (?:should|may) (?:always|never|only)\b"
        r"|\b(?:nobody|no one) (?:may|should)\b|\b(?:may|should) only\b"
        r"|\b(?:we|you) only (?:accept|buy|deploy|order|pay|sell|ship|take|use|work)\b|\bnot allowed\b|\bforbidden\b",
        r"必须|务必|禁止|不得(?!不)|不准|绝不|绝对不|一律|千万(?:别|不)|(?:^|[：，请])(?:永远|始终|总是|只能|别(?!忘))"
        r"|(?:^|[：，里中上前后请])(?:都)?不要(?!紧)|只(?:能|准|许)|们只(?:从|用|在|收|买|卖|接)"),
    Cue("appointment", Section.NEXT_STEPS, 0.9,
        r"\b(?:next (?:time|week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|tomorrow"
        r"|tonight|appointment|deadline|due (?:on|by)|meeting (?:on|at|with)|scheduled"
        r"|remind me(?= (?:to|about|that|when|on|at|in|tomorrow|next)\b))\b",
        r"下次|下周|下个?月|明天|后天|今晚|约定|约好|预约|截止|期限|开会|提醒我|安排在"),
    Cue("decision", Section.DECISIONS, 0.85,
        r"\b(?:(?:i|we)(?:'ve| have)? (?:decided|agreed|chose|settled)|let'?s (?:go with|use|do|stick|keep|switch|take)"
        r"|(?:i|we)(?:'ll| will) (?:go with|use|take|stick|choose|pick)"
        r"|(?<!big )(?<!hard )(?<!tough )decision|instead of|final answer|approved"
        r"|confirmed|going with|the fix (?:is|was)|root cause|the (?:issue|problem|bug) (?:is|was))\b",
        r"决定|确定(?:了|用|选|是)|就(?:用|选|订|定|这样|这么)|说好|定下|同意|改用|采用|选择了|敲定|批准|原因是|问题(?:是|在于)"),
    Cue("plan", Section.NEXT_STEPS, 0.7,
        r"\b(?:to-?do|next steps?|next,|then (?:i|we)(?:'ll| will)|(?:i|we)(?:'m| am|'re| are) (?:going to|planning)"
        r"|(?:i|we) (?:still |also )?(?:need|have|plan|hope|intend) to|(?:i|we)(?:'ll| will)\b|remaining"
        r"|still (?:missing|open)|follow[- ]up)",
        r"待办|下一步|接下来|打算|(?<![和的个])计划(?![吗吧和，。、])|准备(?:去|做|要|在)|还要|还需要|需要(?:做|完成|处理)|将要|以后|稍后"),
    Cue("request", Section.INTENT, 0.7,
        r"\b(?:i (?:want|would like|'d like|need) (?:you |to |a |an |the )|can you|could you|please|help me|implement"
        r"|fix(?: the)?\b|how (?:do|can|should) i|looking for|your task|the task|the goal|goal is)\b",
        r"我想(?:要|找|订|买|去|问|知道|吃)?|帮我|请(?!问一下)|麻烦|需要你|能不能|可以(?:帮|给)|目标是|任务是|推荐"),
)  # fmt: skip

_ENGLISH = tuple((cue, lazy(cue.english)) for cue in CUES)
_BOTH = tuple((cue, lazy(f"{cue.english}|{cue.chinese}")) for cue in CUES)


def _cues(text: str) -> list[Cue]:
    """The cues in a text; ASCII texts are not searched for Chinese, which halves the time."""
    lower = text.lower()
    return [cue for cue, pattern in (_ENGLISH if text.isascii() else _BOTH) if pattern.search(lower)]


MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"

_NAMED = lazy(
    r"\+?\d[\d ()/-]{5,}\d|\d{1,2}月\d{1,2}[日号]|\d[./]\d{1,2}[./]\d{2,4}"  # telephones and dates
    rf"|\b(?:{MONTHS}) \d{{1,2}}\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTHS})\b"
    r"|\bnamed [A-Z]|\bname(?:'s| is) [A-Z]|\bis called [A-Z]|\bis (?:Mr|Mrs|Ms|Dr)\b\.? [A-Z]"
    r"|名叫|叫做|姓名|(?<![大喊])叫(?![做了车外我你他她它人大])[\u4e00-\u9fff]{2,3}(?=[，。；]|$)|是[\u4e00-\u9fff]{1,2}(?:先生|女士|医生|老师)"
)  # fmt: skip
_SPECIFIC = lazy(
    r"\d+(?:[.,:/-]\d+)*\s?(?:%|[a-zA-Z°$€£¥]{1,3}\b|元|块|岁|年|月|日|号|点|分|小时|天|周|公里|米|个|次|人)?"
    r"|[$€£¥]\s?\d"
    r"|(?<=[a-z,;] )[A-Z][\w'’-]+"  # a name: a capital inside a sentence
    r"|[“\"「『《][^”\"」』》\n]{1,60}[”\"」』》]"
    r"|\w@[\w-]+\.\w|\w/\w|\w\.(?:py|js|ts|md|json|ya?ml|toml|txt|csv|go|rs|java)\b|Error\b|Exception\b"
)  # fmt: skip
_SPEAKER = lazy(r"\A[^:：]{1,40}[:：]\s*")
_QUESTION = lazy(r"[?？]|[吗呢][。!！]?$")  # matched at the end of a sentence


class Judged(NamedTuple):
    """The importance of a sentence, in [0, 1], and its section in a summary."""

    score: float
    section: Section


@lru_cache(maxsize=8192)
def judged(sentence: str) -> Judged:
    """The importance and section of a sentence: the strongest cue decides, content words add to it.

    ``max(cue, 0.7 * content) + 0.05 * specifics``, at most 1, where content is ``min(words / 8, 1)`` and specifics
    counts at most 4 numbers, names, quotations, paths or codes. A question without a cue scores half. Nine Chinese
    characters give fifteen terms and count as six words.
    """
    specifics = len(list(islice(_SPECIFIC.finditer(sentence), MAX_SPECIFICS)))
    words = sum(CJK_WORDS if term[0] >= "\u2e80" else 1.0 for term in terms(sentence))
    content = 0.7 * min(words / 8, 1)
    asks = _QUESTION.search(sentence.rstrip()[-2:]) is not None
    strongest = max(_cues(sentence), key=lambda cue: cue.weight, default=None)
    if asks and (strongest is None or strongest.section is Section.INTENT):
        return Judged(min(0.5 * content + 0.05 * specifics, 1.0), Section.QUESTIONS)
    weight = 0.0 if strongest is None else strongest.weight * (0.8 if asks else 1.0)
    section = Section.FACTS if strongest is None else strongest.section
    return Judged(min(max(weight, content) + 0.05 * specifics, 1.0), section)


def importance(text: str) -> float:
    """The importance of a whole message, in [0, 1]: that of its most important part of 400 characters."""
    return max((judged(text[start : start + 400]).score for start in range(0, min(len(text), 4000), 400)), default=0.0)


@lru_cache(maxsize=8192)
def is_critical(text: str) -> bool:
    """Whether a line states a rule, a telephone, a name, a date or a decision: it precedes everything else."""
    said = _SPEAKER.sub("", text)
    if _QUESTION.search(said.rstrip()[-2:]):
        return False
    return any(cue.weight >= DECIDING for cue in _cues(said)) or _NAMED.search(said) is not None


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """The budget of a summary.

    Attributes:
        standing: tokens of all lines together, kept from compaction to compaction.
        shown: tokens that a prompt has for them.
        fresh: tokens of the lines for one new span.
    """

    standing: int
    shown: int
    fresh: int
    count: TokenCounter
    cleaning: CleaningLevel = "light"


def candidates(span: Sequence[Event], cleaning: CleaningLevel) -> list[Line]:
    """The sentences of user and assistant in this span that are worth a line.

    Tool results belong to the ledger, code to the log. Questions of the assistant, and those that the next turn
    answers, are none.
    """
    lines = []
    for row, event in enumerate(span):
        answer = next((later for later in span[row + 1 :] if later.message.speaker != event.message.speaker), None)
        deferred = answer is not None and _DEFERS.search(answer.message.text[:MAX_LINE_CHARS].lower()) is not None
        weight = OF_ASSISTANT if event.message.role is Role.ASSISTANT else 1.0
        rules = event.message.role is Role.SYSTEM and not event.message.event
        for text, verdict in _statements(prose(event.message), cleaning):
            own = max(weight * verdict.score, min(verdict.score, THRESHOLD))
            if event.message.importance is not None:  # halfway to the message's own
                own += OF_THE_TURN * (event.message.importance - own)
            own = max(own, CRITICAL) if rules else own
            if verdict.section is Section.QUESTIONS:
                if event.message.role is Role.ASSISTANT or not (answer is None or deferred):
                    continue
                own = max(own, OPEN) if deferred else own
            words, at = cut_line(f"{speaker(event.origin, event.message.speaker, text)}: {text}"), event.position
            if own >= THRESHOLD and len(_key(words)) >= MIN_TERMS:
                lines.append(Line(verdict.section, words, (event.id,), at, at, own, origin=event.origin))
    return lines


@lru_cache(maxsize=4096)
def _statements(text: str, cleaning: CleaningLevel) -> tuple[tuple[str, Judged], ...]:
    """The cleaned sentences of a text with their importance; cached, as every compaction needs them twice."""
    cleaned = [" ".join(clean(_MARKS.sub(r"\1", sentence), cleaning).split()) for sentence in sentences(text)]
    return tuple((sentence, judged(sentence[:MAX_LINE_CHARS])) for sentence in cleaned)


def prose(message: Message) -> str:
    """The words of a message without code blocks, tags and calls; of a long one, its head and its tail.

    Nothing of a tool's output, even if an agent passes it on in the user's role: that belongs to the ledger.
    """
    text = payload_of(message)
    if message.role is Role.TOOL or is_observation(text):
        return ""
    if len(text) > MAX_TURN_CHARS:
        half = MAX_TURN_CHARS // 2
        # Without the sentences that the cuts went through.
        text = "\n".join([*sentences(text[:half])[:-1], *sentences(text[-half:])[1:]])
    return _TAGS.sub(" ", _FENCED.sub(" ", text))


def cut_line(text: str) -> str:
    """The text, cut to `MAX_LINE_CHARS`."""
    return text if len(text) <= MAX_LINE_CHARS else f"{text[: MAX_LINE_CHARS - 1]}…"


def selected(lines: Sequence[Line], room: SummaryRoom, besides: Collection[Line] = ()) -> list[Line]:
    """The lines that a span adds: all critical ones that a summary can keep, and others within the span's share."""
    critical = [line for line in lines if is_critical(line.text)]
    first = chosen(critical, max_tokens=room.standing, count=room.count, besides=besides)
    left = room.fresh - sum(cost(line, room.count) for line in first)
    others = [line for line in lines if not is_critical(line.text)]
    kept = {*first, *chosen(others, max_tokens=left, count=room.count, besides=[*besides, *first])}
    return [line for line in lines if line in kept]


def merged(standing: Sequence[Line], fresh: Sequence[Line], *, max_tokens: int, count: TokenCounter) -> list[Line]:
    """Existing and new lines; of duplicates the newer is kept, and the least important lines are dropped."""
    keys = [_key(line.text) for line in fresh]
    older = [line for line in standing if not any(_alike(_key(line.text), key) for key in keys)]
    return chosen([*older, *fresh], max_tokens=max_tokens, count=count)


def chosen(
    lines: Sequence[Line], *, max_tokens: int, count: TokenCounter, besides: Collection[Line] = ()
) -> list[Line]:
    """Lines that fit, without repetitions of each other or of ``besides``; in the given order.

    First come the newest decision, next step and question, within `FIRST`; then critical lines, then others, of either
    the most important of each stretch of the conversation in turn, so that all of it is represented. Of a series whose
    lines differ in a number alone, only the newest is a candidate.
    """
    seen = [_key(line.text) for line in besides]

    def is_new(line: Line) -> bool:
        key = _key(line.text)
        if any(_alike(key, other) for other in seen):
            return False
        seen.append(key)
        return True

    series: dict[frozenset[str], list[int]] = {}
    for row, line in enumerate(lines):
        key = _key(line.text)
        words = frozenset(term for term in key if not any(map(str.isdigit, term)))
        if len(key) == len(words) + 1 and not is_critical(line.text):
            series.setdefault(words, []).append(row)
    dropped = {row for rows in series.values() if len(rows) >= SERIES for row in rows[:-1]}
    return _spread([line for row, line in enumerate(lines) if row not in dropped], max_tokens, count, is_new)


def shown(lines: Sequence[Line], *, max_tokens: int, spare: int, count: TokenCounter) -> list[Line]:
    """The summary lines that fit into a prompt with this budget, as `chosen` selects them, in their order.

    Critical ones may take the spare tokens too.
    """
    fitting = []
    for line in lines:
        cut, text = line, line.text
        # A summary written as one text for a larger prompt.
        while line.section is Section.NOTES and text and cost(cut, count) + count(f"{line.section}:\n") > max_tokens:
            text = text[: int(len(text) * 0.9)].rstrip()
            cut = replace(line, text=f"{text}…")
        fitting.append(cut if text else line)
    return _spread(fitting, max_tokens, count, spare=spare)


def _spread(
    lines: Sequence[Line],
    room: int,
    count: TokenCounter,
    is_new: Callable[[Line], bool] | None = None,
    *,
    spare: int = 0,
) -> list[Line]:
    start = min((line.last for line in lines), default=0)
    size = max((line.last for line in lines), default=0) - start + 1
    places = [(line.last - start) * STRETCHES // size for line in lines]
    kept: set[int] = set()
    sections: set[Section] = set()
    taken = [0] * STRETCHES

    def take(row: int, most: int) -> None:
        nonlocal room
        line = lines[row]
        price = cost(line, count) + (0 if line.section in sections else count(f"{line.section}:\n"))
        if row not in kept and price <= most and (is_new is None or is_new(line)):
            kept.add(row)
            sections.add(line.section)
            taken[places[row]] += 1
            room -= price

    def newness(row: int) -> tuple[int, bool, int, int]:
        # Within a stretch, lines of others precede the assistant's, which announces a lot.
        return places[row], not lines[row].text.startswith(f"{Role.ASSISTANT}: "), lines[row].last, row

    least = int((1 - FIRST) * room)
    for section in _MOVING:
        if rows := [row for row, line in enumerate(lines) if line.section is section]:
            take(max(rows, key=newness), room - least)

    # Of equally important lines, later plans come first, as they supersede; but earlier facts and intentions, as recent
    # turns and recall show the later ones anyway.
    order = sorted(
        range(len(lines)), key=lambda row: (-lines[row].importance, -row if lines[row].section in _MOVING else row)
    )
    rank = {row: number for number, row in enumerate(order)}
    for pressing in (True, False):
        room += spare if pressing else -spare
        waiting: list[deque[int]] = [deque() for _ in range(STRETCHES)]
        for row in order:
            if is_critical(lines[row].text) is pressing:
                waiting[places[row]].append(row)
        # Each time the stretch whose best line is worth most for what it has already: the highest averages (D'Hondt).
        while any(waiting):
            best = [(at, queue[0]) for at, queue in enumerate(waiting) if queue]
            at, row = max(best, key=lambda it: (lines[it[1]].importance ** STEEP / (1 + taken[it[0]]), -rank[it[1]]))
            waiting[at].popleft()
            take(row, room)
    return [line for row, line in enumerate(lines) if row in kept]


def cost(line: Line, count: TokenCounter) -> int:
    """The tokens of a line in a prompt, with a dash before and its handle after it."""
    return count(f"- {line.text} [{line.handle}]\n")


@lru_cache(maxsize=8192)
def _key(text: str) -> frozenset[str]:
    """The terms, with a mark for a negation, which would be a stop word."""
    return frozenset([*terms(text), *([NEGATED] if _NEGATION.search(text) else [])])


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Jaccard similarity of at least `DUPLICATE`, with the same numbers, and both negated or neither."""
    shared = len(one & other)
    if shared < DUPLICATE * (len(one) + len(other) - shared) or not shared:
        return False
    return not any(term == NEGATED or any(map(str.isdigit, term)) for term in one ^ other)
