"""How much of a turn asks for something that memory may know, and of which time; by the cue words of each language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms

MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Cues:
    """The cue words of a language, as patterns in which case does not count.

    Attributes:
        asks: of a sentence that asks for something; own: of the speaker.
        past: of how things were; now: of how they are.
        present: of a question about what holds, where `own` words stand too.
        over: what was done, said on a day, or said by the assistant, and does not change any more.
    """

    asks: str
    own: str
    past: str
    now: str
    present: str
    over: str


ENGLISH = Cues(
    asks=r"\b(?:remember|recall|remind me|earlier|previously|last time|tell me|list|find|show me)\b"
    r"|\b(?:recommend|suggest)\b"
    r"|^\s*(?:please |now |and |so )?(?:name|list|give|summari[sz]e|describe|explain|state|tell)\b"
    r"|^\s*(?:what|when|where|who|whom|whose|which|why|how|did|does|do|have|has|is|are|was|were)\b",
    own=r"\b(?:i|me|my|mine|we|us|our|ours)\b",
    past=r"\b(?:used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?|at first|in the past|back then"
    r"|once|before|earlier|no longer|any ?more|old|last|history|chang(?:e|ed)|\w+ ago|first|when)\b",
    now=r"\b(?:current(?:ly)?|now(?:adays)?|these days|latest|at the moment|so far|still)\b",
    present=r"\b(?:do|does|am|is|are|have|has|can)\b",
    over=r"\b(?:did|was|were|had|you|your)\b",
)
CHINESE = Cues(
    asks=r"(?<!没)(?<!没有)什么|哪|谁|几|多少|怎么|如何|为什么|吗|呢\s*$|是否|记得|之前|以前|上次|曾经|提到过|列出|说出|说说|总结"
    r"|告诉我|推荐|建议|帮我",
    own="我|咱",
    past=r"以前|之前|从前|过去|原来|原先|曾经|当时|当初|最初|起初|一开始|那时|去年|上个月|上周|历史|变化|改变|第一次|什么时候|何时",
    now="现在|目前|如今|眼下|最新|当前|至今",
    present="我.*(?:什么|哪|谁|几|多少|吗)|(?:什么|哪|谁|几|多少).*我",
    over=r"过|了|你|您|\d+[月号日]",
)


def _pattern(*cues: str) -> re.Pattern[str]:
    return re.compile("|".join(cues), re.IGNORECASE)


LANGUAGES = (ENGLISH, CHINESE)
_ASKS = _pattern(r"[?？]\s*$", *(language.asks for language in LANGUAGES))
_OWN = _pattern(*(language.own for language in LANGUAGES))
_PAST = _pattern(*(language.past for language in LANGUAGES))
_NOW = _pattern(*(language.now for language in LANGUAGES))
_PRESENT = _pattern(*(language.present for language in LANGUAGES))
_OVER = _pattern(*(language.over for language in LANGUAGES))


def asking_share(text: str) -> float:
    """The share of a turn's characters that stand in sentences which ask for something, in [0, 1].

    A question without a word of content, such as "How are you?", asks nothing that could be looked up, unless it is
    about the speaker: "Who am I?".
    """
    parts = sentences(text[:MAX_CHARS])
    total = sum(map(len, parts))
    asked = sum(len(part) for part in parts if _ASKS.search(part) and (terms(part) or _OWN.search(part)))
    return asked / total if total else 0.0


def about_the_past(query: str) -> bool:
    """Whether a question is about how things were, so that what is out of date may be its answer."""
    return _NOW.search(query) is None and _PAST.search(query) is not None


def about_now(query: str) -> bool:
    """Whether a question is about how things are with whoever asks, so that of two answers the newer one counts."""
    if _NOW.search(query):
        return True
    own = _OWN.search(query) is not None and _PRESENT.search(query) is not None
    return own and _PAST.search(query) is None and _OVER.search(query) is None
