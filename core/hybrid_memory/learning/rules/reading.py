"""The reading of turns by the rule tables of the languages that they are in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hybrid_memory.learning.attributes import attribute
from hybrid_memory.learning.rules.rule import OWNER, Language, Rule, When
from hybrid_memory.text.dates import TimeSpan, find_times
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.speakers import voice
from hybrid_memory.types import USER, Claim, Event, EventKind, Role, Stance

MAX_TURN_CHARS = 4_000
MAX_SENTENCE_CHARS = 600
MAX_VALUE_CHARS = 120
LOOKBACK = 8
"""How many turns before a turn may matter for what it claims."""

_ASKED_CHARS = 200
_LEADS_TO_TIME = re.compile(r"(?:[\s,]+(?:on|at|by|in|for|from|until|before|since|around|this|coming))*[\s,]*$", re.IGNORECASE)
_GRAM = 3
_ASKS = re.compile(r"[?？吗呢]")
_QUOTES = str.maketrans("’‘“”", "''\"\"")


@dataclass(frozen=True, slots=True)
class Turn:
    """Somebody's words.

    Attributes:
        owner: the subject of what they say about themselves; empty if they cannot say anything about themselves.
        speaker: tells speakers apart.
        words: without the name in front, with plain quotation marks.
    """

    owner: str
    speaker: str
    words: str
    position: int
    at: datetime


@dataclass(slots=True)
class _Clause:
    """Where the reader is: a clause, what was said before it in the turn, and which of its words are values already."""

    text: str
    sentence: str
    told: str
    read: tuple[Claim, ...] = ()
    taken: list[tuple[int, int]] = field(default_factory=list)

    def free(self, start: int, end: int) -> bool:
        """Whether no value was read there, in the clause or in its sentence."""
        words = self.text[start:end]
        return all(end <= first or last <= start for first, last in self.taken) and not any(
            words in claim.value or claim.value in words for claim in self.read
        )


class _Index:
    """Rules by their cues."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._cues: dict[str, dict[str, list[int]]] = {}
        for index, rule in enumerate(rules):
            for cue in rule.cues or ("",):
                beginning = cue[:_GRAM] if len(cue) >= _GRAM else ""
                self._cues.setdefault(beginning, {}).setdefault(cue, []).append(index)

    def candidates(self, words: str) -> list[Rule]:
        """The rules that may be found in the words, in the order of the table."""
        lowered = words.lower()
        grams = {lowered[at : at + _GRAM] for at in range(len(lowered) - _GRAM + 1)} | {""}
        chosen = {
            index
            for gram in self._cues.keys() & grams
            for cue, indexes in self._cues[gram].items()
            if cue in lowered
            for index in indexes
        }
        return [self._rules[index] for index in sorted(chosen)]


class _Table:
    """The rules of a language: for answers, for whole sentences, for clauses."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.answers = [rule for rule in language.rules if rule.after is not None]
        self.sentences = _Index([rule for rule in language.rules if rule.sentence])
        self.clauses = _Index([rule for rule in language.rules if rule.after is None and not rule.sentence])


class RuleExtractor:
    """Reads claims by rules: no model, the same claims every time; a `FactExtractor`."""

    name = "rules"

    def __init__(self, languages: Sequence[Language] = ()) -> None:
        self._tables = [_Table(language) for language in languages]

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What these turns claim; of ``before`` the last `LOOKBACK` messages of the session matter."""
        said: dict[str | None, list[Turn]] = {}
        for event in before:
            if (turn := _turn(event)) is not None:
                said.setdefault(event.scope.session, []).append(turn)
        claims: list[Claim] = []
        for event in turns:
            if (turn := _turn(event)) is None:
                continue
            earlier = said.setdefault(event.scope.session, [])
            del earlier[:-LOOKBACK]
            claims.extend(self._read(turn, earlier))
            earlier.append(turn)
        return claims

    def _read(self, turn: Turn, earlier: Sequence[Turn], *, correct: bool = True) -> list[Claim]:
        """The claims of one turn, each once: the one that is surer, where two rules agree."""
        if not turn.owner:
            return []
        best: dict[tuple[str, str, str, Stance], Claim] = {}
        for claim in self._claims(turn, earlier, correct=correct):
            key = (claim.subject, claim.attribute, claim.value.casefold(), claim.stance)
            if key not in best or best[key].confidence < claim.confidence:
                best[key] = claim
        return list(best.values())

    def _claims(self, turn: Turn, earlier: Sequence[Turn], *, correct: bool) -> Iterator[Claim]:
        asked = _question(earlier[-1].words) if earlier and earlier[-1].speaker != turn.speaker else ""
        told = ""
        for number, whole in enumerate(sentences(turn.words)):
            sentence = whole[:MAX_SENTENCE_CHARS]
            if sentence.startswith(("```", "~~~", ">")):
                continue
            tables = [table for table in self._tables if table.language.script.search(sentence)]
            if any(table.language.handover and table.language.handover.search(sentence) for table in tables):
                return
            for table in tables:
                language = table.language
                if number == 0 and asked:
                    yield from self._answers(table, turn, sentence, asked)
                parts = language.clauses(sentence)
                read = list(_by_rules(language, table.sentences, turn, _Clause(sentence, sentence, told))) if parts else []
                yield from read
                for text in parts:
                    clause = _Clause(text, sentence, told, tuple(read))
                    if correct and language.correction is not None:
                        yield from self._corrected(language.correction, turn, earlier, clause)
                    yield from _by_rules(language, table.clauses, turn, clause)
            told += f"{sentence} "

    def _answers(self, table: _Table, turn: Turn, sentence: str, asked: str) -> Iterator[Claim]:
        """What a short answer to the question before says."""
        clause = _Clause(sentence, sentence, "")
        for rule in table.answers:
            question = rule.after.search(asked) if rule.after is not None else None
            found = rule.pattern.match(sentence) if question is not None else None
            if found is not None and (claims := list(_of_match(table.language, rule, found, turn, clause, question))):
                yield from claims
                return

    def _corrected(
        self, pattern: re.Pattern[str], turn: Turn, earlier: Sequence[Turn], clause: _Clause
    ) -> Iterator[Claim]:
        """What was said shortly before with a wrong value, taken back and said with the right one."""
        found = pattern.search(clause.text)
        if found is None:
            return
        wrong, right = (found[group].strip(" .,;!。，；！\"'") for group in ("wrong", "value"))
        for index in range(len(earlier) - 1, -1, -1):
            if earlier[index].speaker != turn.speaker:
                continue
            for claim in self._read(earlier[index], earlier[:index], correct=False):
                if claim.stance is Stance.HOLDS and wrong and wrong.casefold() in claim.value.casefold():
                    new = re.sub(re.escape(wrong), lambda _old: right, claim.value, count=1, flags=re.IGNORECASE)
                    clause.taken.append(found.span())
                    yield replace(claim, source=turn.position, stance=Stance.WRONG, by="correction")
                    yield replace(claim, source=turn.position, value=new, by="correction")
                    return


def _question(words: str) -> str:
    """The end of a turn, if something may be asked there."""
    end = words[-_ASKED_CHARS:]
    return end if _ASKS.search(end) else ""


def _turn(event: Event) -> Turn | None:
    """The words of an event and whose they are; nothing for what nobody says."""
    if event.kind is not EventKind.MESSAGE:
        return None
    message = event.message
    if message.role not in {Role.USER, Role.ASSISTANT}:
        return None
    name, words = voice(message.text[:MAX_TURN_CHARS].strip())
    person = message.name or name
    owner = person or (USER if message.role is Role.USER else "")
    return Turn(owner, person or message.role.value, words.translate(_QUOTES), event.position, event.at)


def _by_rules(language: Language, index: _Index, turn: Turn, clause: _Clause) -> Iterator[Claim]:
    for rule in index.candidates(clause.text):
        for found in rule.pattern.finditer(clause.text):
            yield from _of_match(language, rule, found, turn, clause)


def _of_match(
    language: Language,
    rule: Rule,
    found: re.Match[str],
    turn: Turn,
    clause: _Clause,
    question: re.Match[str] | None = None,
) -> Iterator[Claim]:
    """The claims of one match, unless its words were read already."""
    if rule.guard is not None and not rule.guard(found):
        return
    groups = found.groupdict()
    group: str | int = "value" if groups.get("value") is not None else 0
    about = rule.attribute if isinstance(rule.attribute, str) else rule.attribute(question or found)
    who = groups.get("who")
    subject = OWNER if who is None else language.person(who, clause.told + clause.text[: found.start()])
    time = _time(rule.when, clause, turn.at, found)
    if not about or not subject or (rule.when is When.APPOINTED and time is None):
        return
    known = attribute(about, single=rule.single)
    claim = Claim(
        subject.replace(OWNER, turn.owner),
        about,
        "",
        known.category,
        turn.position,
        single=known.single,
        confidence=rule.confidence,
        importance=known.importance,
        by=rule.name,
        **_instants(rule.when, time),
    )
    words = found[group]
    if time is not None:
        words = _without(words, found.start(group), time)
    taken = []
    for said, stance in _said(language, rule, words, groups, single=known.single):
        for value in rule.values(said):
            first = clause.text.find(value, found.start(group)) if value else -1
            place = found.span(group) if first < 0 else (first, first + len(value))
            if len(value) <= MAX_VALUE_CHARS and (value or stance is not Stance.HOLDS) and clause.free(*place):
                taken.append(place)
                yield _placed(claim, value, stance)
    clause.taken.extend(taken)


def _placed(claim: Claim, value: str, stance: Stance) -> Claim:
    """The claim with its value; what began then ended what was before."""
    if stance is Stance.ENDED and claim.since is not None:
        return replace(claim, value=value, stance=stance, since=None, until=claim.since)
    return replace(claim, value=value, stance=stance)


def _said(
    language: Language, rule: Rule, words: str, groups: Mapping[str, str | None], *, single: bool
) -> Iterator[tuple[str, Stance]]:
    """The words of each value, and what is said of it."""
    contrasts = language.contrast if rule.stance is Stance.HOLDS and single else None
    contrast = contrasts.search(words) if contrasts is not None else None
    if contrast is not None:
        words = contrast["value"]
        yield contrast["wrong"], Stance.WRONG
    yield words, rule.stance
    for role, stance in (("old", Stance.ENDED), ("wrong", Stance.WRONG)):
        if (other := groups.get(role)) is not None:
            yield other, stance


def _time(when: When, clause: _Clause, now: datetime, found: re.Match[str]) -> TimeSpan | None:
    """The time that counts: in the group ``time``, or else from the match on, in the clause, in the sentence."""
    if when is When.IGNORED:
        return None
    start = found.start()
    if found.groupdict().get("time"):
        # Alone, so that "it was moved to Friday" is about the coming one.
        start = found.start("time")
        spans = [_moved(span, start) for span in find_times(found["time"], now)]
    else:
        spans = find_times(clause.text, now)
    if when in {When.SINCE, When.UNTIL}:
        spans = [span for span in spans if span.since <= now]
    elif not spans:
        spans = [replace(span, start=-1, end=-1) for span in find_times(clause.sentence, now)]
    return next((span for span in spans if span.start >= start), spans[0] if spans else None)


def _moved(span: TimeSpan, by: int) -> TimeSpan:
    return replace(span, start=span.start + by, end=span.end + by)


def _instants(when: When, time: TimeSpan | None) -> dict[str, datetime]:
    if time is None:
        return {}
    name = {When.SINCE: "since", When.UNTIL: "until"}.get(when, "due")
    return {name: time.since.astimezone(UTC)}


def _without(words: str, start: int, time: TimeSpan) -> str:
    """The words, which begin at ``start`` of the clause, without the time in them and the word that leads to it."""
    first, last = time.start - start, time.end - start
    if last <= 0 or first >= len(words):
        return words
    before = _LEADS_TO_TIME.sub("", words[: max(first, 0)])
    return f"{before}{words[last:]}" if before.strip() else words[last:]
