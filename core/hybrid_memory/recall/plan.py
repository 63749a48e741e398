"""What a recall sets out to do, made from the words of the query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hybrid_memory.recall.entities import Entity, entities, folded
from hybrid_memory.text.dates import find_times
from hybrid_memory.text.dates.rules import TimeSpan
from hybrid_memory.text.tokenize import LETTER


class Intent(StrEnum):
    """What kind of answer is wanted.

    A fact is a value: who, what, when, where. Contextual goes back to something that was said or happened before.
    Reasoning weighs several things: why, how, compare. Auto is decided from the words.
    """

    AUTO = "auto"
    FACT = "fact"
    REASONING = "reasoning"
    CONTEXTUAL = "contextual"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a recall sets out to do; `Hit.why` shows it.

    Attributes:
        intent: never ``auto``; cue: the word that told it, empty where none did.
        entities: what the query names; times: the stretches of time it names that have begun.
        vector, text, exact, temporal: how many candidates each path brings in at most; 0 where it does not run.
        corrected: words that nobody used here, and what was looked for beside them.
        synonyms: words of the query, and the others that were looked for with them.
    """

    intent: Intent
    cue: str = ""
    entities: tuple[Entity, ...] = ()
    times: tuple[TimeSpan, ...] = ()
    vector: int = 0
    text: int = 0
    exact: int = 0
    temporal: int = 0
    corrected: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        cue = f" ({self.cue!r})" if self.cue else ""
        names = ", ".join(repr(entity.text) for entity in self.entities if entity.verbatim)
        times = ", ".join(f"{span.text!r} is {span.since:%Y-%m-%d} to {span.until:%Y-%m-%d}" for span in self.times)
        paths = {
            f"vector {self.vector}": self.vector,
            f"text {self.text}": self.text,
            f"exact {self.exact}: {names}": self.exact,
            f"temporal {self.temporal}{f': {times}' if times else ''}": self.temporal,
        }
        parts = [f"{self.intent}{cue}", *(path for path, runs in paths.items() if runs)]
        parts += [f"{wrong!r} read as {right!r}" for wrong, right in self.corrected.items()]
        parts += [f"{word!r} also {', '.join(map(repr, others))}" for word, others in self.synonyms.items()]
        return "; ".join(parts)


EXACT = 24
TEMPORAL = 20
"""How many records the exact and the temporal path bring in at most."""


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
"""In the order in which they are tried: "what did I say before?" goes back, and "what if" weighs."""

_PATTERNS = {intent: re.compile(pattern, re.IGNORECASE) for intent, pattern in CUES.items()}

DEFAULT = Intent.FACT
"""A query without a cue is mostly the bare name of what is looked for."""


def plan(
    query: str,
    *,
    now: datetime,
    candidates: int,
    wanted: Intent = Intent.AUTO,
    synonyms: Sequence[Sequence[str]] = (),
) -> Plan:
    """Which paths run, and with which limits.

    Vector and text run for every intent: on labelled sets neither did better with fewer candidates. A question that
    weighs things takes half as many again by meaning. What is named verbatim brings in the exact path; a time, or a
    question that goes back to what was before, the temporal one.

    Args:
        query: as it was asked.
        now: aware; times of the query count from it, in its time zone. What has not begun then is left out.
        candidates: of the vector and the text path.
        wanted: the caller's intent; ``auto`` reads it from the words.
        synonyms: groups of words that mean the same.
    """
    kind, cue = intent(query) if wanted is Intent.AUTO else (wanted, "")
    named = entities(query)
    times = tuple(span for span in find_times(query, now) if span.since <= now)
    return Plan(
        intent=kind,
        cue=cue,
        entities=named,
        times=times,
        vector=candidates * 3 // 2 if kind is Intent.REASONING else candidates,
        text=candidates,
        exact=EXACT if any(entity.verbatim for entity in named) else 0,
        temporal=TEMPORAL if times or kind is Intent.CONTEXTUAL else 0,
        synonyms=_synonyms(query, synonyms),
    )


def _synonyms(query: str, groups: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The members of groups that the query has, each with the others of its group."""
    said = folded(query)
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        word = next((word for word in group if _has(said, folded(word))), None)
        if word is not None:
            others = (other for other in group if not _has(said, folded(other)))
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), *others)))
    return {word: others for word, others in found.items() if others}


def _has(said: str, word: str) -> bool:
    """Whether the word is said; as a whole word, where its script has spaces between words."""
    before = rf"(?<!{LETTER})" if re.match(LETTER, word) else ""
    after = rf"(?!{LETTER})" if re.match(LETTER, word[-1:]) else ""
    return re.search(f"{before}{re.escape(word)}{after}", said) is not None


def intent(query: str) -> tuple[Intent, str]:
    """The intent, and the word that told it; empty where none did and the intent is the default."""
    for kind, pattern in _PATTERNS.items():
        if found := pattern.search(query):
            return kind, found[0]
    return DEFAULT, ""
