"""Extracts claims by the meaning of sentences: judged by vectors, with values extracted by rules if possible."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hybrid_memory.arrays import Floats
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.fact import Category, Claim, Stance
from hybrid_memory.facts.rules.bilingual import BilingualRules
from hybrid_memory.facts.rules.turns import Turn, turn_of
from hybrid_memory.facts.sentences.cutting import cut
from hybrid_memory.facts.sentences.examples import KINDS, LEARNED, MARKS
from hybrid_memory.facts.sentences.judge import Judge, Judged, asked
from hybrid_memory.log.event import Event
from hybrid_memory.text.dates import find_times
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speech import says_nothing

SURE = 0.65
"""The least probability of a claim."""

SURE_OF_SAFETY = 0.5
"""The same for something harmful if unknown."""

DOUBTFUL = 0.3
"""The same for a claim that changes a known fact."""

VETO = 0.25
"""Findings of rules are dropped if their sentence is less likely a claim than this."""

MARKED = 0.5
"""The least probability of an attribute or a stance, given a claim."""

HOLDING = 0.3
"""The same for the stance that something holds, in addition to another."""

REPLACING = 0.3
"""The same for an attribute with a single value, which would replace another."""

ATTRIBUTES_PER_SENTENCE = 2

SAFETY = frozenset(("allergy", "medicine", "condition", "accessibility", "avoids"))

MAX_SENTENCES = 60
"""Of a turn; a longer one is a document rather than its speaker's words."""

MAX_SENTENCE_CHARS = 500

GIVEN = 0.5
"""The least probability that a sentence introduces a text to work on, or a story, so that the rest of its turn says
nothing about the speaker.
"""

_TO_DO = (
    "translate|proofread|rewrite|paraphrase|rephrase|summari[sz]e|correct|edit|polish|shorten|fix the|improve|continue"
    "|turn this"
)
_ZH_TO_DO = "翻译|翻成|校对|润色|改写|缩写|续写|改成|概括"
JUDGED = "sentences "
"""The prefix of ``by`` in judged claims."""

_WORK = re.compile(
    rf"^(?:(?:please|can you|could you|hey),? )*(?:{_TO_DO})\b.{{0,60}}[:,]"
    rf"|^(?:请|帮我|麻烦)*(?:把.{{0,20}})?(?:{_ZH_TO_DO}).{{0,20}}[:：，,]",
    re.IGNORECASE,
)
"""The beginning of a sentence that contains the text to work on."""

_BARE = re.compile(
    r"(?:(?:no|nope|nah|none|nothing|yes|yep|yeah|sure|u+m+|u+h+|h+m+|oh|well|okay|ok|right|really|what|huh|wow|so|and|but|thanks"
    r"|much|better|worse|fine|great|not bad|没有?|有的?|是的?|不是?|嗯+|呃|额|哦|啊|对|好的?|好多了|还行|不错|什么)"
    r"[\s.,!?…。，！？]*)+$",
    re.IGNORECASE,
)
"""Answers without a value."""

_LETTERS = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")


class SentenceReader(BilingualRules):
    """Extracts claims by the meaning of sentences, or by rules alone if there are no vectors to judge."""

    name = "sentences"


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a turn, and what another speaker said before, if it may be an answer."""

    turn: Turn
    text: str
    before: str

    @property
    def asked(self) -> str:
        """The text to embed."""
        return asked(self.text, self.before)


def said_in(turns: Sequence[Event], before: Sequence[Event]) -> list[Said]:
    """The sentences of speakers who can make claims about themselves; the turns are of one session, in order."""
    said: list[Said] = []
    earlier = next((turn for event in reversed(before) if (turn := turn_of(event)) is not None), None)
    for event in turns:
        turn = turn_of(event)
        if turn is None:
            continue
        question = earlier.words if earlier is not None and earlier.speaker != turn.speaker else ""
        if turn.owner:
            said += _sentences(turn, " ".join(question.split()))
        earlier = turn
    return said


def _sentences(turn: Turn, before: str) -> Iterator[Said]:
    parts = sentences(turn.words)
    for number, text in enumerate(parts[:MAX_SENTENCES]):
        answer = before if number == 0 else ""
        telling = _LETTERS.search(text) or (answer and any(map(str.isdigit, text)))
        if len(text) > MAX_SENTENCE_CHARS or not telling or text.startswith("```") or _BARE.match(text):
            continue
        if answer or not says_nothing(text):
            yield Said(turn, text, answer)


def claims_in(
    said: Sequence[Said], vectors: Floats, judge: Judge, read: Sequence[tuple[Claim, str]]
) -> list[tuple[Claim, int]]:
    """The claims of the sentences, each with the row of its sentence.

    Args:
        said: the sentences.
        vectors: of their `asked` texts, of shape (n, dim).
        judge: the judge for these vectors.
        read: claims found by rules, with their sentences.
    """
    judged = judge([one.text for one in said], [one.before for one in said], vectors)
    found: dict[tuple[int, str], list[Claim]] = {}
    for claim, sentence in read:
        found.setdefault((claim.source, sentence), []).append(claim)
    claims: list[tuple[Claim, int]] = []
    given: set[int] = set()
    for row, one in enumerate(said):
        mine = found.pop((one.turn.position, one.text), [])
        if one.turn.position in given or _WORK.search(one.text):
            continue
        claims += [(claim, row) for claim in _of_sentence(one, row, judged, mine, judge.embedder)]
        if judged.kinds[row, _GIVING].sum() > GIVEN and one.text.rstrip().endswith((":", "：")):
            given.add(one.turn.position)
    return claims


_GIVING = [KINDS.index("translate"), KINDS.index("fiction")]
_UNREAL = [KINDS.index(kind) for kind in ("question", "quote", "fiction", "hypothetical", "sarcasm", "translate")]

_NEGATED = KINDS.index("negated")


def _of_sentence(one: Said, row: int, judged: Judged, read: Sequence[Claim], by: str) -> Iterator[Claim]:
    sure = float(judged.claims[row])
    stated = 1 - float(judged.kinds[row, _UNREAL].sum())
    denied = min(sure + float(judged.kinds[row, _NEGATED]), 1.0)
    covered: set[str] = set()
    for claim in read:
        likely = sure if claim.subject == one.turn.owner else max(sure, min(stated, claim.confidence))
        if claim.stance is not Stance.HOLDS:  # a sentence that denies something claims nothing, but ends what it denies
            likely = max(likely, denied)
        if likely >= VETO:
            covered.add(claim.attribute)
            yield replace(claim, confidence=max(likely, claim.confidence) if likely >= SURE else likely)
    marks = dict(zip(MARKS, judged.marks[row].tolist(), strict=True))
    for name in _attributes(marks):
        if sure >= DOUBTFUL and not covered:
            yield from _judged(one, name, marks, sure, by)


def sure_enough(claim: Claim) -> bool:
    """Whether a claim counts by itself; others count if they change a known fact."""
    least = SURE_OF_SAFETY if claim.attribute in SAFETY else SURE
    return not claim.by.startswith(JUDGED) or claim.confidence >= least


def _attributes(marks: dict[str, float]) -> list[str]:
    ranked = sorted(LEARNED, key=lambda name: -marks[name])
    least = {
        name: MARKED if name in SAFETY else REPLACING for name in ranked if name in SAFETY or attribute(name).single
    }
    ranked = [name for name in ranked if marks[name] >= least.get(name, 0.0)]
    return ranked[:1] + [name for name in ranked[1:ATTRIBUTES_PER_SENTENCE] if marks[name] >= MARKED]


def _judged(one: Said, name: str, marks: dict[str, float], sure: float, by: str) -> Iterator[Claim]:
    """The claims about one attribute: that something has ended, that something holds, or both."""
    known = attribute(name)
    value, verbatim = cut(one.text, name)
    least = {Stance.HOLDS: HOLDING}
    stances = [stance for stance in Stance if marks[stance] >= least.get(stance, MARKED)] or [Stance.HOLDS]
    if verbatim and Stance.DONE in stances:
        stances = [Stance.DONE]  # a sentence that says that something is done is not itself what is to be done
    for stance in sorted(stances, key=lambda stance: stance is Stance.HOLDS):
        yield Claim(
            one.turn.owner,
            name,
            value,
            known.category,
            one.turn.position,
            stance=stance,
            single=known.single,
            confidence=sure,
            importance=known.importance,
            due=_due(one) if stance is Stance.HOLDS and known.category is Category.TASK else None,
            by=f"{JUDGED}{by}",
            verbatim=verbatim,
        )


def _due(one: Said) -> datetime | None:
    """The first future time that a sentence names."""
    times = (span.since for span in find_times(one.text, one.turn.at))
    return next((at for at in times if at > one.turn.at), None)
