"""Rules of English about who is what to whom."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.kinds import name, names, pet, pets
from hybrid_memory.facts.rules.english.lexicon import KIN, either
from hybrid_memory.facts.rules.english.persons import AGED, NAMED
from hybrid_memory.facts.rules.english.values import phrase, stated
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, HAVE, rule

_PETS = either(noun for noun, (attribute, _) in KIN.items() if attribute == "pet")
_PEOPLE = either(noun for noun, (attribute, _) in KIN.items() if attribute != "pet")
_PLURALS = {
    **{f"{noun}s": attribute for noun, (attribute, _) in KIN.items() if attribute != "pet" and noun[-1] not in "sy"},
    "children": "child", "boys": "child", "girls": "child", "twins": "child", "best friends": "friend",
}  # fmt: skip
_SOME = {
    "son": "child", "sons": "child", "daughter": "child", "daughters": "child", "child": "child", "children": "child",
    "kid": "child", "kids": "child", "twins": "child", "brother": "sibling", "brothers": "sibling",
    "sister": "sibling", "sisters": "sibling", "siblings": "sibling", "grandson": "relative",
    "granddaughter": "relative", "grandchildren": "relative", "girlfriend": "partner", "boyfriend": "partner",
    "wife": "partner", "husband": "partner", "roommate": "roommate", "roommates": "roommate", "flatmate": "roommate",
    "flatmates": "roommate",
}  # fmt: skip
_BOND = {
    "married": "partner", "engaged": "partner", "dating": "partner", "a couple": "partner", "together": "partner",
    "friends": "friend", "colleagues": "colleague", "coworkers": "colleague", "roommates": "roommate",
    "flatmates": "roommate", "neighbours": "neighbour", "neighbors": "neighbour", "siblings": "sibling",
    "cousins": "relative",
}  # fmt: skip
_CALLED = r"(?:'s name is|'s called|'s named| is called| is named| called| named|,? whose name is)"
_ADJECTIVE = r"(?:(?!ex\b|late\b|former\b|future\b|fake\b|so\b|dead\b|imaginary\b|first\b|next\b|last\b|own\b)[a-z-]+)"
_TITLE = r"(?:(?:mr|mrs|ms|miss|dr|prof)\.? )?"
_CUES = ("my ", "our ")


def relation(found: re.Match[str]) -> str:
    """The attribute of somebody whose relative is named."""
    return KIN[found["kin"].lower()][0]


def _relations(found: re.Match[str]) -> str:
    return _PLURALS[found["kin"].lower()]


def _some(found: re.Match[str]) -> str:
    return _SOME[found["kin"].lower()]


def _bond(found: re.Match[str]) -> str:
    return _BOND[found["bond"].lower()]


def _named_animal(words: str) -> tuple[str, ...]:
    """The animal of "Rex is my dog"."""
    return tuple(f"{words.rpartition(' ')[2].lower()} {called}" for called in name(words))


def _own(found: re.Match[str]) -> bool:
    """Whether the speaker says something about themselves."""
    return re.search(r"\b(?:i|we|i've|we've|my)\b", found.string, re.IGNORECASE) is not None


def _ends(found: re.Match[str]) -> bool:
    """Whether a name between commas is not the beginning of a list or an address."""
    return "," not in found[0] or found.string[found.end() : found.end() + 1] in {"", ",", "."}


PETS = (
    rule("my dog Rex", "pet", rf"\b(?:my|our) (?:\w+ ){{0,2}}?(?P<value>(?:{_PETS})(?:{_CALLED}|,)? {NAMED})", pet,
         *_CUES, confidence=0.85, guard=_ends),
    rule("a dog named Rex", "pet", r"\b(?:an?|one|the|this|new|little|old|rescue|adopted) (?:[\w-]+ "
         rf"){{0,2}}?(?P<value>(?:{_PETS})(?: called| named|,? whose name is) {NAMED})", pet, "called", "named",
         "name is", confidence=0.75, guard=_own),
    rule("Rex is my dog", "pet", rf"^(?P<value>{NAMED} is my (?:\w+ )?(?:{_PETS}))\b", _named_animal, "is my",
         confidence=0.8),
    rule("my cats Milo and Luna", "pet", rf"\b(?:my|our|two|three|four|\d) (?P<value>(?:{_PETS})s,?(?: called| named| "
         rf"are)?:? {NAMED}(?:, {NAMED})*,? (?:and|&) {NAMED})", pets, "my ", "our ", "two", "three", "four", " cats",
         " dogs", confidence=0.8),
    rule("has a dog", "pet", rf"^(?:{HAVE}|i own|we own|(?:{HAVE} )?(?:(?:just|recently) )?(?:adopted|got)) "
         rf"(?P<value>(?:an?|one|two|three|four|five|\d|another) (?:(?!of\b)[\w-]+ ){{0,3}}?(?:{_PETS})s?)(?=$|[,.]| "
         r"(?:and|at|now|named|called|that|who|as|from|last|yesterday|in)\b)", phrase, "have", "got", "own", "adopted",
         "'ve", confidence=0.8),
)  # fmt: skip

RELATIVES = (
    rule("my ex", relation, rf"\bmy ex[- ](?P<kin>{_PEOPLE}),? (?P<value>{NAMED})", name, "my ex", stance=Stance.ENDED),
    rule("my wife's name is Anna", relation, rf"\b(?:my|our) {AGED}(?P<kin>{_PEOPLE}){_CALLED} (?P<value>{NAMED})",
         name, *_CUES, confidence=0.95),
    rule("my wife Anna", relation,
         rf"\b(?:my|our) (?:{AGED}|{_ADJECTIVE} )(?P<kin>{_PEOPLE}),? {_TITLE}(?P<value>{NAMED})", name, *_CUES,
         confidence=0.9, guard=_ends),
    rule("my wife is Anna", relation, rf"^(?:my|our) {AGED}(?P<kin>{_PEOPLE})(?:'s| is) (?P<value>{NAMED})(?=$|[,.])",
         name, *_CUES, confidence=0.75),
    rule("Anna is my wife", relation, rf"^(?:(?:this is|that's|that is|it's) )?(?P<value>{NAMED})(?:'s|,| is|, who is) "
         rf"(?:also )?(?:my|our) {AGED}(?P<kin>{_PEOPLE})\b(?!'s| of | {NAMED})", name, *_CUES, confidence=0.85),
    rule("this is my friend", relation, rf"\bthis is (?:my|our) {AGED}(?P<kin>{_PEOPLE}),? (?P<value>{NAMED})", name,
         "this is", confidence=0.9),
    rule("a son named Tom", relation,
         rf"\b(?:{HAVE}|i've got) an? (?:[\w-]+ ){{0,2}}?(?P<kin>{_PEOPLE})(?: called| named|,) (?P<value>{NAMED})",
         name, "have", "got", "'ve", confidence=0.85),
    rule("my kids Ann and Tom", _relations, r"\b(?:my|our)(?: (?:two|three|four|best|old|older|younger|little))* "
         rf"(?P<kin>{either(_PLURALS)}),?(?: are| named| called)?:? (?P<value>{NAMED}(?:, {NAMED})*,? (?:and|&) "
         rf"{NAMED})", names, *_CUES, confidence=0.85),
    rule("two kids named", _relations, rf"\b{HAVE} (?:two|three|four|five|\d) (?:[\w-]+ "
         rf"){{0,2}}?(?P<kin>{either(_PLURALS)})(?: called| named|,|:) (?P<value>{NAMED}(?:, {NAMED})*,? (?:and|&) "
         rf"{NAMED})", names, "have", "got", "'ve", confidence=0.85),
    rule("two kids", _some, rf"^{HAVE} (?P<value>(?:an?|one|two|three|four|five|six|\d) (?:(?:older|younger|little|big|"
         rf"twin|adult|small|young|beautiful|wonderful|grown|lovely) )*(?P<kin>{either(_SOME)}))(?=$|[,.]| (?:and|at|"
         r"now|that|who|as|from|in|together|with)\b)", phrase, "have", "got", "'ve", confidence=0.75),
    rule("married to", "partner", rf"^(?:{AM} {ADVERB}(?:married to|engaged to|dating|in a relationship with)|(?:i|"
         rf"i've|i have) (?:just )?(?:got |been )?(?:married|engaged to)(?: to)?|i've been dating) (?P<value>{NAMED})",
         name, "married", "engaged", "dating", "relationship", confidence=0.85),
    rule("lives with", "roommate", rf"^(?:i {ADVERB}(?:live|share (?:a|an|my) (?:flat|apartment|house|room))|i'm "
         rf"(?:living|sharing (?:a|an|my) (?:flat|apartment|house|room))) with (?P<value>{NAMED})(?=$|[,.]| (?:and|in|"
         r"so)\b)", name, "with ", confidence=0.6),
    rule("mother of two", "child", rf"^(?:{AM} {ADVERB}|as )(?:an? |the )?(?:\w+ )?(?:mother|father|mom|mum|dad|parent)"
         rf" (?:of|to) (?P<value>(?:two|three|four|five|six|\d|an?|twin)\b(?: [\w-]+){{0,3}})(?=$|[,.]| (?:and|who|i)"
         r"\b)", stated, "of ", "to ", confidence=0.75),
    rule("Anna and I are married", _bond, rf"^(?P<value>{NAMED}) and (?:i|me) (?:are|got|have been) (?:now |just |good "
         r"|best |old |close )*(?P<bond>married|engaged|dating|a couple|together|friends|colleagues|coworkers|"
         r"roommates|flatmates|neighbou?rs|siblings|cousins)\b", name, "married", "engaged", "dating", "couple",
         "together", "friends", "colleagues", "coworkers", "mates", "neighb", "siblings", "cousins", confidence=0.8,
         sentence=True),
    rule("me and Anna are married", _bond, rf"^me and (?P<value>{NAMED}) (?:are|got|have been) (?:now |just |good |"
         r"best |old |close )*(?P<bond>married|engaged|dating|a couple|together|friends|colleagues|coworkers|roommates|"
         r"flatmates|neighbou?rs|siblings|cousins)\b", name, "me and ", confidence=0.8, sentence=True),
    rule("Anna's husband is Tom", relation, rf"\b(?P<who>{NAMED})'s {AGED}(?P<kin>{_PEOPLE}),? (?:is (?:called |named "
         rf")?)?(?P<value>{NAMED})(?=$|[,.]| (?:is|and|was|who|has)\b)", name, "'s ", confidence=0.75),
    rule("her husband Tom", relation,
         rf"\b(?P<who>he|she)(?: has|'s got) an? {AGED}(?P<kin>{_PEOPLE}) (?:named|called) (?P<value>{NAMED})", name,
         "he ", "she ", confidence=0.7),
)  # fmt: skip

RULES = PETS + RELATIVES
