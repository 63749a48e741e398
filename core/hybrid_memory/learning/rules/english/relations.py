"""Rules of English about who is what to whom."""

from __future__ import annotations

import re

from hybrid_memory.learning.rules.english.lexicon import KIN, either
from hybrid_memory.learning.rules.english.persons import AGED, NAMED
from hybrid_memory.learning.rules.english.values import name, names, pet, pets, phrase
from hybrid_memory.learning.rules.english.wording import ADVERB, AM, HAVE, rule
from hybrid_memory.types import Stance

_PETS = either(noun for noun, (attribute, _) in KIN.items() if attribute == "pet")
_PEOPLE = either(noun for noun, (attribute, _) in KIN.items() if attribute != "pet")
_PLURALS = {
    **{f"{noun}s": attribute for noun, (attribute, _) in KIN.items() if attribute != "pet"},
    "children": "child", "boys": "child", "girls": "child", "twins": "child", "kids": "child", "parents": "parent",
    "wives": "partner", "best friends": "friend",
}  # fmt: skip
_CALLED = r"(?:'s name is|'s called|'s named| is called| is named| called| named|,? whose name is)"
_ADJECTIVE = r"(?:(?!ex\b|late\b|former\b|future\b|fake\b|so\b|dead\b|imaginary\b|first\b|next\b|own\b)[a-z-]+)"
_CUES = ("my ", "our ")


def relation(found: re.Match[str]) -> str:
    """The attribute of somebody whose relative is named."""
    return KIN[found["kin"].lower()][0]


def _relations(found: re.Match[str]) -> str:
    return _PLURALS[found["kin"].lower()]


def _count(words: str) -> tuple[str, ...]:
    """"two sons", as it is said; one of them without an article."""
    return phrase(words)


def _ends(found: re.Match[str]) -> bool:
    """Whether a name between commas is not the beginning of a list or an address."""
    return "," not in found[0] or found.string[found.end() : found.end() + 1] in {"", ",", "."}


PETS = (
    rule("my dog Rex", "pet", rf"\b(?:my|our) (?:\w+ ){{0,2}}?(?P<value>(?:{_PETS})(?:{_CALLED}|,)? {NAMED})", pet, *_CUES, confidence=0.85,
         guard=_ends),
    rule("a dog named Rex", "pet", rf"\b(?:an?|one|the|this|new|little|old|rescue|adopted) (?:[\w-]+ ){{0,2}}?(?P<value>(?:{_PETS})"
         rf"(?: called| named|,? whose name is) {NAMED})", pet, "called", "named", "name is", confidence=0.75,
         guard=lambda found: re.search(r"\b(?:i|we|i've|we've|my)\b", found.string, re.IGNORECASE) is not None),
    rule("Rex is my dog", "pet", rf"^(?P<value>{NAMED} is my (?:\w+ )?(?:{_PETS}))\b",
         lambda words: tuple(f"{words.split()[-1].lower()} {who}" for who in name(words)), "is my", confidence=0.8),
    rule("my cats Milo and Luna", "pet", rf"\b(?:my|our|two|three|four|\d) (?P<value>(?:{_PETS})s,?(?: called| named| are)?:? {NAMED}(?:, {NAMED})*,? (?:and|&) {NAMED})", pets, "my ", "our ", "two", "three",
         "four", " cats", " dogs", confidence=0.8),
    rule("has a dog", "pet", rf"^(?:{HAVE}|i own|we own|(?:{HAVE} )?(?:(?:just|recently) )?(?:adopted|got)) (?P<value>(?:an?|one|two|three|four|five|\d|another) "
         rf"(?:(?!of\b)[\w-]+ ){{0,3}}?(?:{_PETS})s?)(?=$|[,.]| (?:and|at|now|named|called|that|who|as|from|last|yesterday|in)\b)", phrase,
         "have", "got", "own", "adopted", "'ve", confidence=0.8),
)  # fmt: skip

RELATIVES = (
    rule("my ex", lambda found: KIN[found["kin"].lower()][0], rf"\bmy ex[- ](?P<kin>{_PEOPLE}),? (?P<value>{NAMED})", name, "my ex",
         stance=Stance.ENDED),
    rule("my wife's name is Anna", relation, rf"\b(?:my|our) {AGED}(?P<kin>{_PEOPLE}){_CALLED} (?P<value>{NAMED})", name, *_CUES,
         confidence=0.95),
    rule("my wife Anna", relation, rf"\b(?:my|our) (?:{AGED}|{_ADJECTIVE} )(?P<kin>{_PEOPLE}),? (?P<value>{NAMED})", name, *_CUES, confidence=0.9,
         guard=_ends),
    rule("my wife is Anna", relation, rf"^(?:my|our) {AGED}(?P<kin>{_PEOPLE})(?:'s| is) (?P<value>{NAMED})(?=$|[,.])", name, *_CUES,
         confidence=0.75),
    rule("Anna is my wife", relation, rf"^(?:(?:this is|that's|that is|it's) )?(?P<value>{NAMED})(?:'s|,| is|, who is) (?:also )?(?:my|our) {AGED}(?P<kin>{_PEOPLE})\b(?!'s| of | {NAMED})",
         name, *_CUES, confidence=0.85),
    rule("this is my friend", relation, rf"\bthis is (?:my|our) {AGED}(?P<kin>{_PEOPLE}),? (?P<value>{NAMED})", name, "this is",
         confidence=0.9),
    rule("a son named Tom", relation, rf"\b(?:{HAVE}|i've got) an? (?:[\w-]+ ){{0,2}}?(?P<kin>{_PEOPLE})(?: called| named|,) (?P<value>{NAMED})", name,
         "have", "got", "'ve", confidence=0.85),
    rule("my kids Ann and Tom", _relations, rf"\b(?:my|our)(?: (?:two|three|four|best|old|older|younger|little))* (?P<kin>{either(_PLURALS)}),?(?: are| named| called)?:? "
         rf"(?P<value>{NAMED}(?:, {NAMED})*,? (?:and|&) {NAMED})", names, *_CUES, confidence=0.85),
    rule("two kids named", _relations, rf"\b{HAVE} (?:two|three|four|five|\d) (?:[\w-]+ ){{0,2}}?(?P<kin>{either(_PLURALS)})(?: called| named|,|:) "
         rf"(?P<value>{NAMED}(?:, {NAMED})*,? (?:and|&) {NAMED})", names, "have", "got", "'ve", confidence=0.85),
    rule("two kids", lambda found: _PLURALS.get(found["kin"].lower(), "") or KIN[found["kin"].lower()][0],
         rf"^{HAVE} (?P<value>(?:an?|one|two|three|four|five|six|\d) (?:(?:older|younger|little|big|twin|adult|small|young|beautiful|wonderful|grown|step|lovely) )*"
         rf"(?P<kin>{either({*_PLURALS, 'son', 'daughter', 'child', 'brother', 'sister', 'twin brother', 'twin sister', 'girlfriend', 'boyfriend', 'wife', 'husband', 'roommate', 'flatmate'} - {'twin brother', 'twin sister'})}))"
         r"(?=$|[,.]| (?:and|at|now|named|called|that|who|as|from|in|together|with)\b)", _count, "have", "got", "'ve", confidence=0.75,
         guard=lambda found: found["kin"].lower() not in {"friends", "buddies", "girls", "boys", "pals", "boss", "managers", "buddys"}),
    rule("married to", "partner", rf"^(?:{AM} {ADVERB}(?:married to|engaged to|dating|in a relationship with)|(?:i|i've|i have) (?:just )?"
         rf"(?:got |been )?(?:married|engaged to)(?: to)?|i've been dating) (?P<value>{NAMED})", name, "married", "engaged", "dating", "relationship",
         confidence=0.85),
    rule("Anna and I are married", lambda found: _BOND[found["bond"].lower()], rf"^(?:me and (?P<other>{NAMED})|(?P<value>{NAMED}) and (?:i|me)) (?:are|got|have been|were) "
         r"(?:now |just |good |best |old |close )*(?P<bond>married|engaged|dating|a couple|together|friends|colleagues|coworkers|roommates|flatmates|neighbou?rs|"
         r"siblings|cousins)\b", name, "married", "engaged", "dating", "couple", "together", "friends", "colleagues", "coworkers", "mates",
         "neighb", "siblings", "cousins", confidence=0.8, guard=lambda found: found["value"] is not None and "were" not in found[0]),
    rule("Anna's husband is Tom", relation, rf"\b(?P<who>{NAMED})'s {AGED}(?P<kin>{_PEOPLE}),? (?:is (?:called |named )?)?(?P<value>{NAMED})(?=$|[,.]| (?:is|and|was|who|has)\b)", name,
         "'s ", confidence=0.75),
    rule("her husband Tom", relation, rf"\b(?P<who>he|she)(?: has|'s got) an? {AGED}(?P<kin>{_PEOPLE}) (?:named|called) (?P<value>{NAMED})", name, "he ", "she ",
         confidence=0.7),
)  # fmt: skip

_BOND = {
    "married": "partner", "engaged": "partner", "dating": "partner", "a couple": "partner", "together": "partner", "friends": "friend",
    "colleagues": "colleague", "coworkers": "colleague", "roommates": "roommate", "flatmates": "roommate",
    "neighbours": "neighbour", "neighbors": "neighbour", "siblings": "sibling", "cousins": "relative",
}  # fmt: skip

RULES = PETS + RELATIVES
