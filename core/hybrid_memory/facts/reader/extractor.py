"""Extracts claims with a language model, in addition to other extractors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from hybrid_memory.errors import ModelError
from hybrid_memory.facts.attributes import ATTRIBUTES, RULE, attribute
from hybrid_memory.facts.fact import Category, Claim, Stance
from hybrid_memory.facts.reader.asking import STANCES, Field, Question, Shown, prompt, question, schema, spans, uncut
from hybrid_memory.facts.reader.grounding import MARKS, MAX_NAME_CHARS, NOTHING, Ground, asserted
from hybrid_memory.facts.reader.kin import KIN
from hybrid_memory.facts.values import normalised, overlap
from hybrid_memory.log.event import Event
from hybrid_memory.models.port import LanguageModel


class ModelExtractor:
    """A `FactExtractor` that asks a language model what others missed, and which of their findings are wrong.

    One call for as many turns as fit into a question. A model may interpret a turn differently among other turns, so
    its claims, unlike those of others, depend on how turns are batched. ``fields`` are those of the profile.
    """

    def __init__(self, model: LanguageModel, fields: Sequence[Field] = ()) -> None:
        self.name = f"model {model.name}"
        self._model = model
        self._fields = tuple(fields)

    def extract(self, turns: Sequence[Event], before: Sequence[Event], known: Sequence[Claim] = ()) -> list[Claim]:
        """The model's claims that the turns' words support; no call if nobody speaks.

        ``known`` are the findings of others for these turns.
        """
        claims: list[Claim] = []
        earlier = list(before)
        for span in spans(turns):
            claims.extend(self._claims(span, earlier, known))
            earlier += span
        return claims

    def _claims(self, span: Sequence[Event], earlier: Sequence[Event], known: Sequence[Claim]) -> list[Claim]:
        places = {turn.position for turn in span}
        asked = question(span, earlier, [claim for claim in known if claim.source in places], self._fields)
        if not asked.numbered:
            return []
        try:
            return read(self._model.structured(prompt(asked), schema(asked)), asked, self.name)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"no facts by {self.name}: {type(error).__name__}: {error}") from error


CONFIDENCE = 0.6
MISCOUNTED = 2
"""By how many turns a model's turn number may be off."""

MAX_PER_TURN = 8
MAX_ITEMS = 200
MAX_DEPTH = 8

_SPOKEN = {
    spoken: known.name
    for known in reversed(ATTRIBUTES.values())
    for spoken in (*known.aliases, known.english, known.english.replace(" ", "_"), known.chinese)
} | {
    "like": "likes", "love": "likes", "loves": "likes", "enjoys": "likes", "favorite": "likes", "favourite": "likes",
    "preference": "prefers", "preferences": "prefers", "rule": "communication_style",
    "dislike": "dislikes", "hates": "dislikes", "avoid": "avoids", "speaks": "language",
    "task": "todo", "to_do": "todo", "reminder": "todo", "meeting": "appointment", "event": "appointment",
    "works_as": "profession", "skill": "technology", "爱好": "interest", "工作": "profession", "公司": "employer",
    "居住地": "home", "过敏原": "allergy", "任务": "todo", "提醒": "todo", "预约": "appointment",
    **{word: known for word, (known, _) in KIN.items()}, **{name: name for name in ATTRIBUTES},
}  # fmt: skip
"""Names that models use for the attributes."""


def read(answer: Any, asked: Question, by: str) -> list[Claim]:
    """The claims in a model's answer, by position; those that the turn's words do not support are dropped.

    A finding marked as wrong gives a claim that says so. A fact that only repeats a finding gives none, unless it names
    the value of an `uncut` one. Raises ValueError if nothing in the answer looks like facts.
    """
    facts = list(islice(_facts(answer), MAX_ITEMS))
    wrong = _wrong(answer, len(asked.findings))
    if not facts and not wrong and not _says_none(answer):
        raise ValueError("the answer has no facts")
    grounds = _grounds(asked)
    lists = {name: kind.startswith("list") for name, kind, _ in asked.fields}
    found: dict[tuple[int, str, str, str], Claim] = {}
    for fact in facts:
        for claim in _claims(fact, grounds, lists, by):
            key = (claim.source, normalised(claim.subject), claim.attribute, normalised(claim.value))
            found.setdefault(key, claim)
    # What is no longer so cannot be denied: that it was never so is another thing.
    denied = [old for number, old in enumerate(asked.findings, 1) if number in wrong and old.stance is Stance.HOLDS]
    denied = [old for old in denied if not any(_says(new, old) for new in found.values())]
    claims = [replace(old, stance=Stance.WRONG, since=None, until=None, due=None, by=by) for old in denied]
    standing = [old for old in asked.findings if old not in denied]
    count: dict[int, int] = {}
    for new in found.values():
        if not any((_says(new, old) and not uncut(old)) or _renames(new, old) for old in standing):
            count[new.source] = count.get(new.source, 0) + 1
            if count[new.source] <= MAX_PER_TURN:
                claims.append(new)
    return sorted(claims, key=lambda claim: claim.source)


def _says(new: Claim, old: Claim) -> bool:
    """Whether a claim says the same as a finding of its turn, or a part of it, or more."""
    return _alike(new, old) and new.attribute == old.attribute and overlap(new.value, old.value) == 1


def _renames(new: Claim, old: Claim) -> bool:
    """Whether a claim has a finding's value under another attribute: the finding's attribute is more reliable."""
    return _alike(new, old) and normalised(new.value) == normalised(old.value)


def _alike(new: Claim, old: Claim) -> bool:
    return (new.source, new.stance) == (old.source, old.stance) and normalised(new.subject) == normalised(old.subject)


def _facts(answer: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Everything in the answer with an attribute and a value, however deeply nested."""
    if depth > MAX_DEPTH:
        return
    if isinstance(answer, Mapping):
        if isinstance(answer.get("attribute"), str) and _texts(answer.get("value")):
            yield answer
        else:
            for inner in answer.values():
                yield from _facts(inner, depth + 1)
    elif isinstance(answer, list):
        for inner in answer:
            yield from _facts(inner, depth + 1)


def _parts(answer: Any, name: str) -> Iterator[Any]:
    """The value under this name in the answer, or one level down: some models repeat the schema around it."""
    for holder in (answer, *answer.values()) if isinstance(answer, Mapping) else ():
        if isinstance(holder, Mapping) and name in holder:
            yield holder[name]


def _wrong(answer: Any, count: int) -> frozenset[int]:
    """The numbers of findings marked as wrong; none if one does not exist, as the model then counted turns."""
    given = [item for part in _parts(answer, "wrong") for item in (part if isinstance(part, list) else [part])]
    numbers = frozenset(number for item in given if (number := _whole(item)) is not None)
    return numbers if max(numbers, default=0) <= count else frozenset()


def _says_none(answer: Any) -> bool:
    return any(part is None or part in ([], {}) for part in _parts(answer, "facts"))


def _whole(value: Any) -> int | None:
    """The number, in any notation: 2, 2.0, "2", "[2]", "turn 2"."""
    if isinstance(value, str) and (found := re.fullmatch(r"\D{0,8}(\d{1,9})\D{0,3}", value)):
        return int(found[1])
    number = type(value) in {int, float} and 0 < value < 10**9 and value == int(value)
    return int(value) if number else None


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value if not isinstance(item, list) for text in _texts(item)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return [str(value)]
    if isinstance(value, float):
        return [f"{value:g}"]
    return [value] if isinstance(value, str) else []


def _grounds(asked: Question) -> dict[int, Ground]:
    context = "\n".join(_line(turn) for turn in asked.before)
    grounds: dict[int, Ground] = {}
    for turn in asked.turns:
        context = f"{context}\n{_line(turn)}"
        if turn.subject is not None:
            event = turn.event
            grounds[len(grounds) + 1] = Ground(event.position, event.at, turn.subject, asserted(turn.words), context)
    return grounds


def _line(turn: Shown) -> str:
    return unicodedata.normalize("NFKC", f"{turn.subject or ''}: {turn.words}").casefold()


def _claims(fact: Mapping[str, Any], grounds: Mapping[int, Ground], lists: Mapping[str, bool], by: str) -> list[Claim]:
    """The claims of one fact in the answer; none if any part of it is unusable."""
    number = 1 if len(grounds) == 1 and fact.get("turn") is None else _whole(fact.get("turn"))
    about = _attribute(fact["attribute"], lists)
    stance = next((stance for stance in STANCES if stance.value == fact.get("stance", Stance.HOLDS.value)), None)
    if number is None or number not in grounds or not about or stance is None:
        return []
    known = attribute(about, single=not lists.get(about, True))
    task = known.category is Category.TASK
    if stance is not Stance.HOLDS and not task:
        stance = Stance.ENDED
    elif stance is Stance.ENDED:
        stance = Stance.DROPPED
    claims = []
    for text in _texts(fact["value"]):
        for ground in _near(number, grounds, fact.get("subject")):
            subject, value = ground.subject(fact.get("subject")), ground.value(text, about)
            if subject and value and ground.speaks_of(about):
                since = ground.instant(fact.get("since")) if stance is Stance.HOLDS else None
                due = ground.instant(fact.get("due")) if task else None
                due = due if due is None or due.date() >= ground.at.date() else None
                claims.append(
                    Claim(
                        subject, about, value, known.category, ground.position, stance, known.single, CONFIDENCE,
                        known.importance, since=since, due=due, by=by,
                    )
                )  # fmt: skip
                break
    return claims


def _near(number: int, grounds: Mapping[int, Ground], subject: Any) -> list[Ground]:
    """The turn with this number, then nearby turns of the same speaker: small models miscount turns."""
    cited = grounds[number]
    named = [ground for ground in grounds.values() if isinstance(subject, str) and subject == ground.speaker]
    speaker = named[0].speaker if named else cited.speaker
    around = [number + off for step in range(1, MISCOUNTED + 1) for off in (step, -step)]
    others = [grounds[near] for near in around if near in grounds and grounds[near].speaker == speaker]
    return [cited, *others]


def _attribute(given: str, lists: Mapping[str, bool]) -> str:
    """The name in the table or of a field, otherwise the given name in snake case; empty if it is not a name."""
    text = " ".join(unicodedata.normalize("NFKC", given).split())
    if text in lists:
        return text
    text = text.lower().strip(MARKS)
    if text.startswith(RULE):
        about = text.removeprefix(RULE)[:MAX_NAME_CHARS].strip(MARKS)
        return f"{RULE}{about}" if about else ""
    name = re.sub(r"^(?:user|is|has|the|my)_(?=.)", "", re.sub(r"\W+", "_", text).strip("_"))
    found = next((_SPOKEN[spoken] for spoken in (text, name, name.removesuffix("s")) if spoken in _SPOKEN), name)
    return found if 0 < len(found) <= MAX_NAME_CHARS and not found.isdecimal() and found not in NOTHING else ""
