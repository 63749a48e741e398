"""Rules of English about whatever "my X is Y" tells: an attribute of its own, which holds one value."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.english.lexicon import KIN
from hybrid_memory.facts.rules.english.values import tidy, whole
from hybrid_memory.facts.rules.english.wording import AM, HAVE, rule

_HEADS = (
    r"(?:password|passcode|pin|code|number|budget|deadline|salary|rent|weight|height|size|username|user name|handle|"
    r"nickname|email|e-mail|address|phone|zip code|postcode|license plate|licence plate|blood type|star sign|zodiac "
    r"sign|colou?r|record|best|time zone|timezone|time|score|rating|gpa|iban|id|account|seat|gate|flight|room|locker|"
    r"limit|target|version|branch|port|url|website|blog|channel|maiden name|middle name|last name|surname|first name|"
    r"car|bike|laptop|phone|server|host|provider|bank|gym|doctor|dentist|therapist|lawyer|landlord|tutor|coach|teacher|"
    r"professor|mentor|supervisor|team|club|project|thesis|major|hometown|currency|mileage|average|pace|bpm|heart rate|"
    r"blood pressure|diet|schedule|shift|day off|anniversary|commute|route)"
)
_NOT_ABOUT = re.compile(
    r"^(?:mind|point|question|guess|opinion|heart|problem|apolog\w+|turn|pleasure|bad|fault|idea|concern|thoughts?|"
    r"feelings?|day|life|week|goal|dream|hobby|favou?rite|understanding|name|thing|only|biggest|main|first|advice|"
    r"plan|job|answer|response|best friend|god|whole|own)\b",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"\S+@\S|[+#$€£]?\d|[\w#.]*\d|[A-Z][\w'-]+|[\"'`]")

_NEWER = re.compile(r"^(?:new|current|own|actual|exact|latest) ")
_KNOWN = {
    "email address": "email", "e mail": "email", "e mail address": "email", "phone number": "phone",
    "mobile number": "phone",
}  # fmt: skip
_MOST_WORDS = 8
_MOST_WORDS_ABOUT = 4
_SAID_NOW = r"(?:is|are|'s|is now|are now|is currently|has been|will be)"


def _noun_phrase(found: re.Match[str]) -> str:
    """The noun phrase of "my X is Y" in snake case."""
    words = found["about"].lower().replace("'s", "").replace("-", " ")
    words = _NEWER.sub("", words)
    if _NOT_ABOUT.match(words) or len(words.split()) > _MOST_WORDS_ABOUT or not KIN.keys().isdisjoint(words.split()):
        return ""
    return _KNOWN.get(words, "_".join(words.split()))


def _exact(found: re.Match[str]) -> bool:
    """Whether the value is a name, a figure or a code, so that it is no remark."""
    value = tidy(found["value"])
    return _PLAIN.match(value) is not None and len(value.split()) <= _MOST_WORDS


def _changed(found: re.Match[str]) -> bool:
    """Whether it is the thing that changed, and not its place."""
    return re.search(r"\b(?:moved|went|gone|pushed)\b", found[0]) is None or _exact(found)


def _feature(found: re.Match[str]) -> str:
    return f"{(found['about'] or 'eyes').lower().removesuffix('s')}_color"


RULES = (
    rule("changed from to", _noun_phrase, r"^(?:(?:i|we|they|i've|we've|i have|we have) (?:just |recently |finally "
         r")*(?:changed|switched|moved|raised|lowered|increased|reduced|bumped|cut|extended|updated) (?:my|our|the) "
         r"(?P<about>[\w' -]{2,40}?) from (?P<old>.+?) to (?P<value>.+))", whole, " from ", single=True, guard=_changed,
         confidence=0.8),
    rule("it changed from to", _noun_phrase, r"^(?:my|our|the) (?P<about>[\w' -]{2,40}?) (?:has |just |was |went |has "
         r"been )*(?:changed|moved|went|switched|dropped|rose|increased|improved|been changed|been moved|raised|gone)"
         r"(?: up| down)? from (?P<old>.+?) to (?P<value>.+)", whole, " from ", single=True, guard=_changed,
         confidence=0.8),
    rule("the X is now", _noun_phrase,
         r"^(?:my|our|the) (?:new )?(?P<about>[\w'-]+(?: [\w'-]+){0,3}?) (?:is|are) now (?P<value>.+)", whole, " now ",
         single=True, confidence=0.65, guard=_exact),
    rule("my X is", _noun_phrase, rf"^(?:my|our) (?P<about>(?:[\w'-]+ ){{0,3}}?{_HEADS}) {_SAID_NOW} (?:at |on |about |"
         r"around |coming up on |set to |called |named |at least )?(?P<value>.+)", whole, "my ", "our ", single=True,
         confidence=0.65, guard=_exact),
    rule("my eyes are", _feature, rf"^(?:my (?P<about>eyes|hair)(?: color| colour)? (?:is|are) |{HAVE} (?=[\w "
         rf"]{{3,20}} eyes))(?:naturally )?(?P<value>(?:light |dark |bright )?(?:blue|green|brown|hazel|grey|gray|"
         r"black|blond|blonde|red|white|auburn))\b", whole, "eyes", "hair", single=True),
    rule("is tall", "height", rf"^(?:{AM}|my height is) (?:only |about |around |almost |exactly )*(?P<value>\d'(?: "
         rf"?\d{{1,2}})?|\d ?(?:ft|feet|foot)(?: ?\d{{1,2}}(?: ?(?:in|inches))?)?|\d[.,]\d\d ?m(?:et(?:er|re)s?)?|"
         rf"\d{{3}} ?cm)(?![\w%])", whole, "i'm", "i am", "im ", "height", confidence=0.8),
)  # fmt: skip
