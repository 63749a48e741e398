"""Probes about decisions and their reasons, from the sentences that state them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hybrid_memory import Line
from hybrid_memory.analysis import MAX_LINE_CHARS, actions
from hybrid_memory.text.tokenize import cjk_share, terms
from hybrid_memory_evaluation.probing.probe import History, Probe, ProbeKind, shortened, trimmed
from hybrid_memory_evaluation.probing.statements import GAP

MAX_TOPIC_WORDS = 6
MIN_TERMS = 3
"""The minimum length of the words around a gap, and of a question that a decision answers."""

RESUMED = 0.5
"""A later decision with more than this share of the topic's terms replaces it."""

_I = r"\b(?:I|[Ww]e)(?:'ve| have|'d)?(?: both| now| also| finally)*"
_WILL = r"(?:\b[Ll]et's|\b(?:I|[Ww]e)(?:'ll| will|'m going to|'re going to| am going to| are going to))"
_CHOSEN = re.compile(
    rf"{_I} (?:decided|agreed|chose|chosen|settled|opted)(?: to go with| to use| to| on| upon| for| that)? (?P<past>.+)"
    rf"|{_WILL}(?: just| now| then)? (?:go with|use|stick with|stick to|switch to|choose|pick|opt for) (?P<step>.+)"
    r"|\b(?:[Tt]he )?(?:final )?decision (?:is|was)(?: to use| to)? (?P<noun>.+)"
    r"|\b(?:I'm|[Ww]e're|I am|[Ww]e are) going with (?P<going>.+)"
    r"|(?<![没再可以不否的])(?:决定|确定|商定|敲定|定下|选定)(?!之前|以后|之后|性|因素)(?:了|好|要|用|选|采用|使用|把|去|订|买)*"
    r"(?P<zh>[^，。；！？]+)"
    r"|(?:就|改)(?:用|选|订|定|买|住)(?P<just>[^，。；！？吧了]+)|(?:我们|就|将)采用(?P<taken>[^，。；！？]+)"
)
_WHY = re.compile(
    r",?;? \b(?:because(?: of)?|since|due to|so that|given that)\b (?P<why>[^.;!?]+)"
    r"|[，,；]?(?:因为|由于|理由是)(?P<zh>[^，。；！？]+)"
)
_INSTEAD = re.compile(
    r" (?:instead of|rather than) (?P<other>[^.,;]+)|[，,]?(?:而不是|而不用|代替|替代)(?P<zh>[^，。；]+)"
)
_ABOUT = re.compile(r" (?:for|as|when) (?P<topic>[^.,;:()]+)|(?:作为|用于|用来|来做|当作)(?P<zh>[^，。；]+)")
_CLAUSE = re.compile(r"[,;，；。]|\.(?=\s|\Z)")
_VAGUE = re.compile(
    r"(?:it|that|this|them|these|those|one|both|either|the (?:same|first|second|latter|former))\b|看|做"
)


class _Decision(NamedTuple):
    """A decision in a sentence.

    Attributes:
        question: the question in English and Chinese, without its end; topic: what it is about.
        what, why: the answer; why may be empty.
        said: the sentence.
    """

    question: tuple[str, str]
    topic: str
    what: str
    why: str
    sentence: str


def decision_probes(history: History) -> Iterator[Probe]:
    """A probe for each topic with a decision, as of the end of the conversation."""
    read = [(line, decision) for line in history.lines if (decision := _decision(history, line)) is not None]
    for at, (line, decision) in enumerate(read):
        topic, later = set(terms(decision.topic)), (other for _, other in read[at + 1 :])
        again = (len(topic & set(terms(f"{other.topic} {other.what}"))) > RESUMED * len(topic) for other in later)
        if line.first <= history.truncated and not any(again):
            chinese = history.chinese(line.sources)
            ends = ("？为什么？" if decision.why else "？") if chinese else (", and why?" if decision.why else "?")
            keys = tuple(filter(None, (shortened(decision.what), shortened(decision.why))))
            question = f"{decision.question[chinese]}{ends}"
            yield Probe("", ProbeKind.DECISION, question, decision.sentence, keys, line.sources, by="decisions")


def _decision(history: History, line: Line) -> _Decision | None:
    """The decision in a sentence and its topic; None if either is unclear.

    A choice instead of something, for something, as the answer to a question, or as a gap in its sentence.
    """
    said = history.spoken(line)
    asks = said.endswith(("?", "？", "吗", "呢", "呢。"))
    unclear = asks or len(line.text) >= MAX_LINE_CHARS or history.advises(line)
    result = None if unclear else _CHOSEN.search(said)
    if result is None:
        return None
    what = said[result.start(result.lastindex or 0) :]
    reason = _WHY.search(what)
    why = trimmed(reason["why"] or reason["zh"]) if reason else ""
    what = _CLAUSE.split(_WHY.split(what, maxsplit=1)[0], maxsplit=1)[0]
    other, about = _INSTEAD.search(what), _ABOUT.search(what)
    head = trimmed(what[: (other or about).start()] if other or about else what)  # type: ignore[union-attr]
    if not terms(head) or _VAGUE.match(head):
        return None
    if other:
        topic = _noun(other["other"] or other["zh"])
        return _Decision((f"What was chosen instead of “{topic}”", f"决定用什么代替“{topic}”"), topic, head, why, said)
    if actions(history.messages[line.first - 1]) and not why:
        return None  # the next step of an agent
    topic = _noun(about["topic"] or about["zh"]) if about else ""
    if terms(topic) and not _VAGUE.match(topic):
        return _Decision((f"What was decided for “{topic}”", f"对于“{topic}”决定了什么"), topic, head, why, said)
    return _gap(said, shortened(what), why)


def _gap(sentence: str, head: str, why: str) -> _Decision | None:
    """A choice as a gap, if its sentence has enough other words."""
    if not head or head not in sentence:
        return None
    for asks_why in (True, False) if why else (False,):
        rest = trimmed((sentence.replace(why, "…") if asks_why else sentence).replace(head, GAP))
        if len(set(terms(rest))) >= MIN_TERMS * (3 if cjk_share(rest) else 1):
            form = (f"What was decided, to fill the gap in “{rest}”", f"“{rest}”，空白处决定了什么")
            return _Decision(form, rest, head, why if asks_why else "", sentence)
    return None


def _noun(text: str) -> str:
    """The first words after a preposition, up to the next preposition or a verb's particle."""
    text = re.split(r"\b(?:and|but|so|then|which|that|to|by|if|when|because)\b", text, maxsplit=1)[0]
    return trimmed(text if cjk_share(text) > 0 else " ".join(text.split()[:MAX_TOPIC_WORDS]))
