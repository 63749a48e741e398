"""Applies the rule tables to turns, by the language of their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
"""How many earlier turns may affect a turn's claims."""

MAX_SENTENCE_CHARS = 600

_NOT_SAID = ("```", "~~~", ">")
"""Code and quoted lines."""


class _Table:
    """The rules of a language: for short answers, for whole sentences and for clauses."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.answers = [rule for rule in language.rules if rule.after is not None]
        self.sentences = [rule for rule in language.rules if rule.after is None and rule.sentence]
        self.clauses = [rule for rule in language.rules if rule.after is None and not rule.sentence]


class RuleExtractor:
    """Extracts claims by rules, without a model and always the same; a `FactExtractor`.

    Args:
        languages: the rule tables; a sentence is read by every language whose script it contains.
    """

    name = "rules"

    def __init__(self, languages: Sequence[Language] = (ENGLISH, CHINESE)) -> None:
        self._tables = [_Table(language) for language in languages]

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """The claims of these turns; of ``before``, the last `LOOKBACK` turns of each session matter."""
        return [claim for claim, _ in self.placed(turns, before)]

    def placed(self, turns: Sequence[Event], before: Sequence[Event]) -> list[tuple[Claim, str]]:
        """The claims, each with its sentence."""
        said: dict[str | None, list[Turn]] = {}
        for event in before:
            if (turn := turn_of(event)) is not None:
                said.setdefault(event.scope.session, []).append(turn)
        claims: list[tuple[Claim, str]] = []
        for event in turns:
            if (turn := turn_of(event)) is None:
                continue
            earlier = said.setdefault(event.scope.session, [])
            del earlier[:-LOOKBACK]
            claims.extend(self._read(turn, earlier))
            earlier.append(turn)
        return claims

    def _read(self, turn: Turn, earlier: Sequence[Turn], *, correct: bool = True) -> list[tuple[Claim, str]]:
        """The claims of one turn, each once, with the highest confidence if several rules agree."""
        if not turn.owner:
            return []
        best: dict[tuple[str, str, str, Stance], tuple[Claim, str]] = {}
        for claim, sentence in self._claims(turn, earlier, correct=correct):
            key = (claim.subject, claim.attribute, claim.value.casefold(), claim.stance)
            if key not in best or best[key][0].confidence < claim.confidence:
                best[key] = claim, sentence
        return list(best.values())

    def _claims(self, turn: Turn, earlier: Sequence[Turn], *, correct: bool) -> Iterator[tuple[Claim, str]]:
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
                yield from ((claim, whole) for claim in _answers(table, turn, sentence, asked))
            for table in tables:
                passage = Passage(sentence, sentence, told)
                found = self._of_sentence(table, turn, earlier, passage, correct=correct)
                yield from ((claim, whole) for claim in found)
            told += f"{sentence} "

    def _of_sentence(
        self, table: _Table, turn: Turn, earlier: Sequence[Turn], whole: Passage, *, correct: bool
    ) -> Iterator[Claim]:
        language = table.language
        parts = language.clauses(whole.text)
        read = list(_by_rules(table.sentences, language, turn, whole)) if parts else []
        yield from read
        for part in parts:
            passage = Passage(part, whole.text, whole.told, read)
            if correct and language.correction is not None:
                yield from self._corrected(language.correction, turn, earlier, passage)
            yield from _by_rules(table.clauses, language, turn, passage)

    def _corrected(
        self, pattern: re.Pattern[str], turn: Turn, earlier: Sequence[Turn], passage: Passage
    ) -> Iterator[Claim]:
        """The corrections of earlier claims with a wrong value: their withdrawal, and the right value."""
        found = pattern.search(passage.text)
        if found is None:
            return
        wrong, right = (found[group].strip(" .,;!。，；！\"'") for group in ("wrong", "value"))
        for index in range(len(earlier) - 1, -1, -1):
            if earlier[index].speaker != turn.speaker:
                continue
            for claim, _ in self._read(earlier[index], earlier[:index], correct=False):
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
    """The claims of a short answer to the question before it."""
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
