"""Importance in a conversation: cue words of both languages, and a score in [0, 1] made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hybrid_memory.context.summary import Section
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.tokenize import terms

THRESHOLD = 0.3
"""A lower score means small talk, which gives no summary line."""

CRITICAL = 0.9
"""A score of at least this is kept verbatim."""

MAX_SPECIFICS = 4
DECIDING = 0.85
"""Cues of at least this weight, such as rules and decisions, make a line critical."""

CJK_WORDS = 0.4
"""Words per term of the text index that is one or two Chinese characters."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that show what a sentence is about.

    Attributes:
        section: the section of a summary; None leaves it to other cues.
        weight: the score it gives by itself, in [0, 1].
        english, chinese: regular expressions for lower-case text.
    """

    name: str
    section: Section | None
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
        r"|(?<![\w.])\+?\d{3}[- ]?\d{3,4}[- ]?\d{4}(?![\w.])",
        r"地址|(?<!打)(?<!个)电话|手机|邮箱|邮编|身份证|账号|(?<!\d)1\d{10}(?!\d)"),
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
        r"|\bnot allowed\b|\bforbidden\b",
        r"必须|务必|禁止|不得(?!不)|不准|绝不|绝对不|一律|千万(?:别|不)|(?:^|[：，])(?:永远|始终|总是|不要(?!紧)|别(?!忘))"),
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


_NAMED = lazy(
    r"\+?\d[\d ()/-]{5,}\d|\d{1,2}月\d{1,2}[日号]|\d[./]\d{1,2}[./]\d{2,4}"  # telephones and dates
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:of )?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|\bnamed [A-Z]|\bname(?:'s| is) [A-Z]|\bis called [A-Z]|名叫|叫做|姓名"
)  # fmt: skip
_SPECIFIC = lazy(
    r"\d+(?:[.,:/-]\d+)*\s?(?:%|[a-zA-Z°$€£¥]{1,3}\b|元|块|岁|年|月|日|号|点|分|小时|天|周|公里|米|个|次|人)?"
    r"|[$€£¥]\s?\d"
    r"|(?<=[a-z,;] )[A-Z][\w'’-]+"  # a name: a capital inside a sentence
    r"|[“\"「『《][^”\"」』》\n]{1,60}[”\"」』》]"
    r"|\w@[\w-]+\.\w|\w/\w|\w\.(?:py|js|ts|md|json|ya?ml|toml|txt|csv|go|rs|java)\b|Error\b|Exception\b"
)  # fmt: skip
_SPEAKER = lazy(r"\A[^:：]{1,40}[:：]\s*")
_QUESTION = lazy(r"[?？]|[吗呢][。!！]?$")
"""Matched at the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Judged:
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
    found = _cues(sentence)
    specifics = 0
    for _ in _SPECIFIC.finditer(sentence):
        specifics += 1
        if specifics == MAX_SPECIFICS:
            break
    words = sum(CJK_WORDS if term[0] >= "\u2e80" else 1.0 for term in terms(sentence))
    content = 0.7 * min(words / 8, 1)
    asks = _QUESTION.search(sentence.rstrip()[-2:]) is not None
    strongest = max(found, key=lambda cue: cue.weight, default=None)
    if asks and (strongest is None or strongest.section is Section.INTENT):
        return Judged(min(0.5 * content + 0.05 * specifics, 1.0), Section.QUESTIONS)
    weight = 0.0 if strongest is None else strongest.weight * (0.8 if asks else 1.0)
    section = Section.FACTS if strongest is None or strongest.section is None else strongest.section
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
