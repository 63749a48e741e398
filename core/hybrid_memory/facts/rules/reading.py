"""The reading of turns by the rule tables of the languages that they are in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hybrid_memory.facts.fact import Claim, Stance
from hybrid_memory.facts.rules.chinese import CHINESE
from hybrid_memory.facts.rules.english import ENGLISH
from hybrid_memory.facts.rules.matching import Passage, claims_of
from hybrid_memory.facts.rules.rule import Language, Rule
from hybrid_memory.facts.rules.turns import Turn, turn_of
from hybrid_memory.log.event import Event
from hybrid_memory.text.sentences import sentences

LOOKBACK = 8
"""How many turns before a turn may matter for what it claims."""

MAX_SENTENCE_CHARS = 600

_GRAM = 3
_NOT_SAID = ("```", "~~~", ">")
"""Code and quoted lines."""


class _Table:
    """The rules of a language, found by their cues."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.answers = [rule for rule in language.rules if rule.after is not None]
        self._rules = [rule for rule in language.rules if rule.after is None]
        self._by_cue: dict[str, list[int]] = {}
        self._by_beginning: dict[str, list[str]] = {}
        for index, rule in enumerate(self._rules):
            for cue in rule.cues or ("",):
                if cue not in self._by_cue:
                    self._by_beginning.setdefault(cue[:_GRAM] if len(cue) >= _GRAM else "", []).append(cue)
                self._by_cue.setdefault(cue, []).append(index)

    def cues(self, words: str) -> list[str]:
        """The cues that stand in the words, which are in lower case."""
        grams = {words[at : at + _GRAM] for at in range(len(words) - _GRAM + 1)} | {""}
        found = self._by_beginning.keys() & grams
        return [cue for beginning in found for cue in self._by_beginning[beginning] if cue in words]

    def candidates(self, cues: Iterable[str], *, sentence: bool) -> list[Rule]:
        """The rules for sentences, or for clauses, that may be found where these cues stand, in table order."""
        chosen = {index for cue in cues for index in self._by_cue[cue]}
        return [rule for index in sorted(chosen) if (rule := self._rules[index]).sentence is sentence]


class RuleExtractor:
    """Reads claims by rules: no model, and the same claims every time; a `FactExtractor`.

    Args:
        languages: whose rules; a sentence is read by every language whose script it has.
    """

    name = "rules"

    def __init__(self, languages: Sequence[Language] = (ENGLISH, CHINESE)) -> None:
        self._tables = [_Table(language) for language in languages]

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What these turns claim; of ``before`` the last `LOOKBACK` turns of each session matter."""
        said: dict[str | None, list[Turn]] = {}
        for event in before:
            if (turn := turn_of(event)) is not None:
                said.setdefault(event.scope.session, []).append(turn)
        claims: list[Claim] = []
        for event in turns:
            if (turn := turn_of(event)) is None:
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
        asked = earlier[-1].question if earlier and earlier[-1].speaker != turn.speaker else ""
        told = ""
        for number, whole in enumerate(sentences(turn.words)):
            sentence = whole[:MAX_SENTENCE_CHARS]
            if sentence.startswith(_NOT_SAID):
                continue
            tables = [table for table in self._tables if table.language.script.search(sentence)]
            if any(table.language.handover and table.language.handover.search(sentence) for table in tables):
                return
            for table in self._tables if number == 0 and asked else ():
                yield from _answers(table, turn, sentence, asked)
            for table in tables:
                yield from self._of_sentence(table, turn, earlier, Passage(sentence, sentence, told), correct=correct)
            told += f"{sentence} "

    def _of_sentence(
        self, table: _Table, turn: Turn, earlier: Sequence[Turn], whole: Passage, *, correct: bool
    ) -> Iterator[Claim]:
        language, lowered = table.language, whole.text.lower()
        parts = language.clauses(whole.text)
        cues = table.cues(lowered) if parts else []
        read = list(_by_rules(table.candidates(cues, sentence=True), language, turn, whole))
        yield from read
        for part in parts:
            passage = Passage(part, whole.text, whole.told, read)
            if correct and language.correction is not None:
                yield from self._corrected(language.correction, turn, earlier, passage)
            words = part.lower()
            here = [cue for cue in cues if cue in words] if words in lowered else table.cues(words)
            yield from _by_rules(table.candidates(here, sentence=False), language, turn, passage)

    def _corrected(
        self, pattern: re.Pattern[str], turn: Turn, earlier: Sequence[Turn], passage: Passage
    ) -> Iterator[Claim]:
        """What was said shortly before with a wrong value, taken back and said with the right one."""
        found = pattern.search(passage.text)
        if found is None:
            return
        wrong, right = (found[group].strip(" .,;!。，；！\"'") for group in ("wrong", "value"))
        for index in range(len(earlier) - 1, -1, -1):
            if earlier[index].speaker != turn.speaker:
                continue
            for claim in self._read(earlier[index], earlier[:index], correct=False):
                if claim.stance is Stance.HOLDS and wrong and wrong.casefold() in claim.value.casefold():
                    new = re.sub(re.escape(wrong), lambda _old: right, claim.value, count=1, flags=re.IGNORECASE)
                    passage.taken.append(found.span())
                    yield replace(claim, source=turn.position, stance=Stance.WRONG, by="correction")
                    yield replace(claim, source=turn.position, value=new, by="correction")
                    return


def _by_rules(rules: Sequence[Rule], language: Language, turn: Turn, passage: Passage) -> Iterator[Claim]:
    for rule in rules:
        for found in rule.pattern.finditer(passage.text):
            yield from claims_of(language, rule, found, turn, passage)


def _answers(table: _Table, turn: Turn, sentence: str, asked: str) -> Iterator[Claim]:
    """What a short answer to the question before says."""
    passage = Passage(sentence, sentence, "")
    for rule in table.answers:
        question = rule.after.search(asked) if rule.after is not None else None
        found = rule.pattern.match(sentence) if question is not None else None
        if question is None or found is None:
            continue
        about = rule.attribute if isinstance(rule.attribute, str) else rule.attribute(question)
        claims = list(claims_of(table.language, replace(rule, attribute=about), found, turn, passage))
        if claims:
            yield from claims
            return
