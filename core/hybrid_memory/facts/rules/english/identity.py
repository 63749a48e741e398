"""Rules of English about who somebody is and where they live."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.kinds import languages, name, nationality, place, quantity, religion, stated_name
from hybrid_memory.facts.rules.english.lexicon import RELIGIONS
from hybrid_memory.facts.rules.english.persons import NAMED, WHO, WHOSE
from hybrid_memory.facts.rules.english.values import whole
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, AM_NOT, ENDING, HAVE, NOT, SELF, having, lacking, rule
from hybrid_memory.facts.rules.rule import When, always

NUMBER = (
    r"(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|"
    r"eight|nine))?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen)"
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
DAY = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?|"
    r"\d{1,4}[./-]\d{1,2}(?:[./-]\d{2,4})?)(?:,? \d{4})?"
)
_MARITAL = r"(?:married|single|divorced|widowed|engaged|separated)"
_YOUNGEST, _OLDEST = 10, 110
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_FIRST_NAME = r"(?-i:[A-Z][a-zà-ž'-]+(?: [A-Z][a-zà-ž'.-]*){0,3})"


def _grown(found: re.Match[str]) -> bool:
    """A bare number is an age only where it can be one: nobody who writes is five."""
    words = found["value"]
    return _YOUNGEST <= int(words) <= _OLDEST if words.isdecimal() else words.lower().startswith(_TENS)


def _sex(words: str) -> tuple[str, ...]:
    return (words.lower(),)


def _no_faith(found: re.Match[str]) -> bool:
    return not found["value"].endswith("'s") and not RELIGIONS.fullmatch(found["value"])


NAME = (
    rule("my name is", "name", r"^(?:my (?:full |first |real )?name(?: is|'s)|the name's) (?!not\b)(?P<value>.+)",
         stated_name, "name", confidence=0.95),
    rule("my name is not", "name", r"^my name (?:is not|isn't) (?P<value>[\w' -]+)", stated_name, "name",
         stance=Stance.WRONG, confidence=0.9),
    rule("my name is not X but Y", "name",
         r"^my name (?:is not|isn't) [\w' -]+?[,;]? (?:it's|it is|but|rather) (?P<value>.+)", stated_name, "name",
         confidence=0.95, sentence=True),
    rule("I'm Anna", "name", rf"^(?:i am|i'm|im|it's me,) (?:(?:called|named) )?(?P<value>{_FIRST_NAME})(?:$|[.,]|,? "
         r"(?:from|your|by the way)\b)", name, "i am ", "i'm ", "im ", "it's me", confidence=0.7, guard=_no_faith),
    rule("call me", "nickname", r"^(?:(?:you can|you may|please|just|feel free to|(?:my )?(?:friends|people|everyone|"
         r"everybody|most people|they)) (?:usually |all |just |mostly |often )?)?calls? me (?P<value>" + NAMED + ")",
         name, "call me", "calls me", confidence=0.85),
    rule("go by", "nickname", rf"^{SELF} {ADVERB}go by (?:the name )?(?P<value>(?-i:[A-Z]).+)", name, "go by"),
)  # fmt: skip

AGE = (
    rule("years old", "age",
         rf"^(?:{AM}|as) {ADVERB}(?:an? )?(?P<value>{NUMBER})[- ](?:years?|yrs?)(?:[- ]olds?| of age)\b", quantity,
         "year", "yr", confidence=0.9),
    rule("I'm 34", "age", rf"^(?:i am|i'm|im) {ADVERB}(?P<value>{NUMBER})(?= now$|$|[,.]| and\b)", quantity, "i am ",
         "i'm ", "im ", confidence=0.75, guard=_grown),
    rule("turned 34", "age", rf"^(?:i|i've) {ADVERB}turned (?P<value>{NUMBER})\b(?!%)", quantity, "turned",
         guard=_grown),
    rule("my age is", "age", rf"^my age is (?P<value>{NUMBER})\b", quantity, "my age", confidence=0.9),
    rule("being 39", "age", r"\b(?:at|being) (?P<value>[2-9]\d)(?= (?:and|now|years)\b|,|$)(?! years? (?!old))",
         quantity, "at ", "being ", confidence=0.6, guard=having(r"\b(?:i|i'm|i've|my|me)\b")),
    rule("gender", "gender", rf"^(?:{AM} {ADVERB}|as |speaking as )(?:an? )?(?:\d+[- ]years?[- ]old |young |"
         r"trans(?:gender)? |proud |single |married )*(?P<value>woman|man|male|female|lady|guy|girl|non-?binary)(?=$|"
         r"[,.]| (?:who|and|with|from|in|living|of|myself|working|i)\b)", _sex, "woman", "man", "male", "lady", "guy",
         "girl", "binary", confidence=0.75),
    rule("weighs", "weight", rf"^(?:i {ADVERB}weigh|my weight is) (?:about |around |only |now "
         rf")*(?P<value>\d{{2,3}}(?:\.\d)? ?(?:kg|kilos?|kilograms?|lbs?|pounds))\b", whole, "weigh", confidence=0.85),
    rule("they are years old", "age",
         rf"^{WHO}(?:'s| is| just| has just) {ADVERB}(?:turned |turning )?(?P<value>{NUMBER}) years? (?:old|of age)\b",
         quantity, "year", confidence=0.85),
    rule("they turned 5", "age", rf"^{WHO} (?:has |just )*turned (?P<value>{NUMBER})\b", quantity, "turned"),
    rule("my birthday is", "birthday",
         rf"^my (?:birthday(?: is|'s)|date of birth is|birth ?date is) (?:on )?(?P<value>{DAY})", whole, "birth",
         confidence=0.95),
    rule("born on", "birthday", rf"^i was born (?:in [\w ,]{{2,40}} )?(?:on |in )?(?P<value>{DAY})", whole, "born",
         confidence=0.9),
    rule("their birthday is", "birthday", rf"^{WHOSE} birthday is (?:on )?(?P<value>{DAY})", whole, "birthday",
         confidence=0.85),
    rule("born in year", "birth_year", r"^i was born (?:in [\w ,]{2,40} )?in (?P<value>(?:19|20)\d\d)\b", whole, "born",
         single=True),
)  # fmt: skip

HOME = (
    rule("no longer lives in", "home",
         rf"^{SELF} (?:no longer live|{NOT} live) {ADVERB}(?:in|at) (?P<value>.+?)(?: {ENDING})$", place, "live",
         stance=Stance.ENDED, when=When.UNTIL),
    rule("no longer lives", "home", rf"^(?:{SELF} no longer live|{AM} no longer living) (?:in|at) (?P<value>.+)", place,
         "longer", stance=Stance.ENDED),
    rule("used to live in", "home", rf"^{SELF} {ADVERB}used to (?:live|be based|stay) (?:in|at) (?P<value>.+)", place,
         "used to", stance=Stance.ENDED),
    rule("moved from to", "home", rf"^(?:{SELF}|i've|we've|i have|we have) {ADVERB}(?:moved|relocated) (?:here "
         r")?(?:back )?(?:away )?from (?P<old>.+?) (?:to|into) (?P<value>.+)", place, "moved", "relocated",
         when=When.SINCE, confidence=0.9),
    rule("moved to from", "home", rf"^(?:{SELF}|i've|we've|i have|we have) {ADVERB}(?:moved|relocated) (?:back "
         r")?(?:over )?(?:to|into) (?P<value>.+?) from (?P<old>.+)", place, "moved", "relocated", when=When.SINCE,
         confidence=0.9),
    rule("moved away", "home",
         rf"^(?:{SELF}|i've|we've|i have|we have) {ADVERB}moved (?:away|out|back) ?(?:from|of) (?P<value>.+)", place,
         "moved", stance=Stance.ENDED, when=When.UNTIL),
    rule("moved to", "home", rf"^(?:{SELF}|i've|we've|i have|we have) {ADVERB}(?:moved|relocated) (?:back )?(?:over "
         r")?(?:here )?(?:to|into) (?P<value>.+)", place, "moved", "relocated", when=When.SINCE, confidence=0.85),
    rule("lives in", "home", rf"^(?:{SELF} {ADVERB}(?:live|reside)|{AM} {ADVERB}(?:living|residing|based|settled)|"
         rf"(?:i've|i have|we've|we have) {ADVERB}(?:lived|been living)) {ADVERB}(?:(?:alone|together|here|over here|"
         r"downtown|abroad|right) )*(?:in|at|near|outside|just outside) (?P<value>.+)", place, "live", "living",
         "lived", "resid", "based", "settled", when=When.SINCE, confidence=0.9),
    rule("my home is in", "home", r"^(?:my|our) (?:home|house|apartment|flat|place|home town now) is in (?P<value>.+)",
         place, "home", "house", "apartment", "flat", "place"),
    rule("they live in", "home", rf"^{WHO}(?: and [\w ]+)?(?: (?:just |still |now |currently |all )*(?:lives?|resides?|"
         r"moved)|(?: is|'s| are) (?:now |currently )?(?:living|based)) (?:in|to) (?P<value>.+)", place, "live",
         "living", "resid", "moved", "based", confidence=0.75),
    rule("comes from", "hometown", rf"^(?:{AM} {ADVERB}from|{SELF} {ADVERB}(?:come|hail) {ADVERB}from) (?P<value>.+)",
         place, "from", confidence=0.85, guard=lacking(r" from .* to ")),
    rule("grew up in", "hometown", rf"^{SELF} (?:was born (?:and (?:raised|grew up) )?|{ADVERB}grew up (?:mostly |"
         r"right )?|was raised )(?:in|near|outside) (?P<value>.+)", place, "born", "grew up", "raised",
         confidence=0.85),
    rule("growing up in", "hometown", r"^growing up in (?P<value>[A-Z].+)", place, "growing up", confidence=0.75,
         guard=having(r"\b(?:i|i've|my|we|me)\b")),
    rule("moved from", "home",
         rf"^(?:{SELF}|i've|we've|i have) {ADVERB}(?:moved|relocated) (?:here )?(?:away )?from (?P<value>(?!.* to ).+)",
         place, "moved", "relocated", stance=Stance.ENDED, when=When.UNTIL),
    rule("my hometown is", "hometown", r"^(?:my|our) (?:home ?town|birthplace|home country)(?:'s| is|,) (?P<value>.+)",
         place, "hometown", "home town", "birthplace", "home country", confidence=0.9),
    rule("they come from", "hometown",
         rf"^{WHO}(?:(?: is|'s) (?:originally )?from| comes from| grew up in| was born in) (?P<value>.+)", place,
         "from", "grew up", "born", confidence=0.7),
)  # fmt: skip

ORIGIN = (
    rule("nationality", "nationality", rf"^(?:{AM} {ADVERB}|my nationality is |i was born )(?:an? "
         r")?(?P<value>[\w-]+(?: (?:citizen|national|myself|girl|guy|man|woman))?)(?=$|[,.]| (?:by birth|myself|and|so|"
         r"but|living|who|citizen)\b)", nationality, "i am", "i'm", "im ", "we're", "nationality", confidence=0.85),
    rule("they are of nationality", "nationality", rf"^{WHO}(?: is|'s) (?:an? )?(?P<value>[\w-]+)$", nationality,
         " is ", "'s ", confidence=0.75),
    rule("religion", "religion", rf"^(?:{AM} {ADVERB}|i was raised )(?P<value>(?:an? )?(?:\w+ )?[\w-]+)(?=$|[,.])",
         religion, "i am", "i'm", "im ", "raised", confidence=0.75),
    rule("speaks", "language", rf"^{SELF} (?:can |{ADVERB})(?:speak|understand|know) (?:both |some |a little |a bit of "
         r"|a few words of |basic |good |decent |fluent |broken )?(?P<value>[\w ,&-]+)", languages, "speak",
         "understand", "know", confidence=0.85),
    rule("fluent in", "language",
         rf"^{AM} {ADVERB}(?:fluent|proficient|bilingual|trilingual|conversational) in (?P<value>.+)", languages,
         "fluent", "proficient", "lingual", "conversational", confidence=0.9),
    rule("native language", "language",
         r"^my (?:native|first|second|mother|third) (?:language|tongue)(?: is|'s) (?P<value>.+)", languages, "language",
         "tongue", confidence=0.9),
    rule("they speak", "language", rf"^{WHO} speaks (?:fluent |some )?(?P<value>.+)", languages, "speaks",
         confidence=0.8),
)  # fmt: skip

MARRIAGE = (
    rule("no longer married", "marital_status", rf"^{AM} no longer (?P<value>{_MARITAL})\b", whole, "longer",
         stance=Stance.ENDED),
    rule("not married any more", "marital_status", rf"^{AM_NOT} (?P<value>{_MARITAL}) {ENDING}", whole, "more",
         "longer", stance=Stance.ENDED),
    rule("married", "marital_status", rf"^(?:{AM} {ADVERB}|(?:i|we) {ADVERB}(?:got|are) |{HAVE} {ADVERB}(?:been|gotten)"
         rf" )(?:happily |recently |newly )?(?P<value>{_MARITAL})(?=$|[,.]| (?:and|to|now|with|for|last|in|since|again)"
         r"\b)", whole, "married", "single", "divorced", "widowed", "engaged", "separated", when=When.SINCE,
         guard=lacking(r"engaged (?:in|with)\b")),
    rule("my wife", "marital_status",
         r"\bmy (?:dear |lovely |beautiful |wonderful )?(?:wife|husband)(?=$|[,.]|'s\b| (?!to\b|would\b|material\b))",
         always("married"), "my ", confidence=0.6,
         guard=lacking(r"\b(?:if|when i|find|future|was|were|became?|would)\b")),
    rule("they are married", "marital_status",
         rf"^{WHO}(?: is|'s| got| just got| has been) (?:now |happily |recently )?(?P<value>{_MARITAL})(?=$|[,.])",
         whole, "married", "single", "divorced", "widowed", "engaged", confidence=0.7),
)  # fmt: skip

RULES = NAME + AGE + HOME + ORIGIN + MARRIAGE
