"""The rules for English."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hybrid_memory.facts.attributes import RULE
from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.clauses import AGED, NAMED, WHO
from hybrid_memory.facts.rules.english.lexicon import KIN, TECHNOLOGY, either
from hybrid_memory.facts.rules.english.values import (
    ailment,
    languages,
    name,
    names,
    organisation,
    pets,
    phrase,
    place,
    profession,
    role,
    stated_name,
    technologies,
    things,
    tidy,
    whole,
)
from hybrid_memory.facts.rules.rule import Pattern, Rule, Values, When, always

ADVERB = (
    r"(?:(?:really|also|just|still|currently|actually|absolutely|truly|definitely|particularly|especially|mostly|"
    r"mainly|personally|generally|usually|totally|strongly|much|simply|kinda|kind of|sort of|now|originally|basically|"
    r"always|both|all|so|very|quite|pretty|proudly|happily|strictly|typically|often|normally|honestly|recently|finally|"
    r"already|only|do|did|rather|highly|deeply|completely|extremely|soon|long) )*"
)
AM = r"(?:i am|i'm|im|we are|we're)"
HAVE = r"(?:(?:i|we) have(?: got)?|i've(?: got)?|we've(?: got)?|i got)"
NOT = r"(?:do not|don't|dont|did not|didn't)"
AM_NOT = r"(?:i am not|i'm not|im not|we're not|we are not)"
ENDING = r"(?:any ?more|any longer)"
DONE = r"(?:(?:i|we)(?:'ve| have)? (?:just |recently |finally |already )*)"
TIME = (
    r"(?:(?:tomorrow|today|tonight|(?:on |this |next )(?:\w+day|week|month|weekend)|this (?:morning|afternoon|evening)|"
    r"at \d[\d:]* ?(?:am|pm|o'clock)?|in the (?:morning|afternoon|evening))[ ,]+)*"
)
NUMBER = (
    r"(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|"
    r"eight|nine))?|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
DAY = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?|"
    r"\d{1,4}[./-]\d{1,2}(?:[./-]\d{2,4})?)(?:,? \d{4})?"
)
INTRODUCED = rf"(?:{AM}|my name(?: is|'s)) (?:{NAMED}|{NUMBER})(?:, {NUMBER})?(?:,? and|,)"
"""As in "I'm Anna, 34, a nurse"."""

MARITAL = r"(?:married|single|divorced|widowed|engaged|separated)"
DIET = (
    r"(?:vegan|vegetarian|pescatarian|pescetarian|keto|paleo|plant[- ]based|gluten[- ]free|dairy[- ]free|sugar[- ]free|"
    r"low[- ]carb|halal|kosher)"
)
LIKE = r"(?:like|love|enjoy|adore)"
HATE = r"(?:dislike|hate|detest|despise|loathe|can't (?:stand|bear)|cannot (?:stand|bear))"
EVENT = (
    r"(?:appointment|meeting|interview|exam|test|call|flight|reservation|class|lesson|check-?up|session|date|"
    r"presentation|surgery|operation|conference|workshop|wedding|party|concert|dinner|lunch|game|match|race|marathon|"
    r"rehearsal|shift|trip|visit|viewing|haircut|demo|review|training|lecture|hearing|show|train|booking|delivery)"
)
ACTS = {
    "booked": "book", "bought": "buy", "called": "call", "emailed": "email", "sent": "send", "submitted": "submit",
    "paid": "pay", "renewed": "renew", "scheduled": "schedule", "returned": "return", "fixed": "fix",
    "repaired": "repair", "cleaned": "clean", "filed": "file", "prepared": "prepare", "written": "write",
    "wrote": "write", "ordered": "order", "registered": "register", "signed": "sign", "printed": "print",
    "delivered": "deliver", "deployed": "deploy", "merged": "merge", "replaced": "replace", "packed": "pack",
    "washed": "wash", "watered": "water", "updated": "update", "installed": "install", "set up": "set up",
    "cancelled": "cancel", "picked up": "pick up", "dropped off": "drop off", "finished": "finish",
    "completed": "complete", "reviewed": "review", "arranged": "arrange",
}  # fmt: skip
"""Verbs in the past, with the infinitives used for tasks."""

_ACT = (
    rf"(?:{either(set(ACTS.values()))}|phone|email|take|bring|get|make|go to|meet|find|look for|reply|contact|check|"
    r"change|cook|mow|feed|walk|plan|apply|sign up|hand in|turn in|back up|study for|learn|visit|collect|transfer)"
)
_FORMS = either(ACTS)
_VAGUE = re.compile(r"(?:it|that|this|them|him|her|you|(?:\w+ )?ones?|some|up|out|back|there|here)\.?$", re.IGNORECASE)
_PETS = either(noun for noun, (attribute, _) in KIN.items() if attribute == "pet")
_PEOPLE = either(noun for noun, (attribute, _) in KIN.items() if attribute != "pet")
_PLURAL = {
    **{f"{noun}s": attribute for noun, (attribute, _) in KIN.items() if attribute != "pet" and noun[-1] not in "sy"},
    "children": "child", "boys": "child", "girls": "child", "twins": "child",
}  # fmt: skip
_DIED = r"(?:has |just |sadly |suddenly )*(?:died|passed away|ran away|was put (?:down|to sleep))\b"
_CALLED = r"(?:'s name is|'s called| is called| is named| called| named|,? whose name is)"
_LIST = rf"{NAMED}(?:, {NAMED})*,? (?:and|&) {NAMED}"
_TECH = rf"(?:[\w ,/&+#.'-]{{0,40}}?\b)?(?:{TECHNOLOGY.pattern}).*"
_REPLIES = r"(?:answers?|replies|reply|responses?|explanations?|messages?|feedback|summaries|tone|style)"
_STYLE = (
    r"(?:(?:very|really|more|as|always|short and|clear and) )*(?:short|brief|concise|simple|to the point|detailed|"
    r"formal|informal|casual|friendly|polite|direct|blunt|honest|technical|non-technical|clear|plain|funny)"
)
_STANDING = r"(?:from now on|going forward|in (?:the )?future|from today on|by default)"
_THING = (
    r"(?P<object>(?:function )?arguments?|methods?|functions?|variables?|class(?:es)?|attributes?|constants?|modules?|"
    r"files?|branch(?:es)?|tables?|columns?|fields?|tests?|interfaces?|packages?|endpoints?)"
)
_SIGNS = (
    r"(?:(?:an?|the|letters?|prefix|suffix|of|string) )*(?P<token>'[^']{1,24}'|\"[^\"]{1,24}\"|`[^`]{1,24}`|"
    r"\b[a-z]{1,8}_(?!\w)|(?<!\w)_[a-z]{1,8}\b)"
)
_AFFIX = r"(?P<affix>start|begin|prefix|end|finish|suffix)(?:s|ing|es|ed)?"


def rule(name: str, attribute: str | Callable[[re.Match[str]], str], pattern: str, values: Values, **more: Any) -> Rule:
    """A rule for English, with a case-insensitive pattern."""
    return Rule(f"en: {name}", attribute, Pattern(pattern, re.IGNORECASE), values, **more)


def task(words: str) -> tuple[str, ...]:
    """The task: a verb with its object."""
    value = tidy(re.sub(r"^(?:(?:to|remember to|also|still|really|just)\s+)+", "", words.strip(), flags=re.IGNORECASE))
    return (value,) if " " in value and not _VAGUE.fullmatch(value.partition(" ")[2]) else ()


def _done(words: str) -> tuple[str, ...]:
    """What was done, worded as the task: "booked the dentist" is "book the dentist"."""
    form = next(form for form in sorted(ACTS, key=len, reverse=True) if words.lower().startswith(f"{form} "))
    verb = ACTS[form]
    what = tidy(words[len(form) + 1 :])
    if len(what) <= 1 or _VAGUE.fullmatch(what):
        return ()
    return (what if verb in {"finish", "complete"} else f"{verb} {what}",)


def _event(words: str) -> tuple[str, ...]:
    """An event without the words around it."""
    return phrase(re.sub(r"^(?:(?:an?|the|my|our|this|another|upcoming|big|next) )+", "", words, flags=re.IGNORECASE))


def _relation(found: re.Match[str]) -> str:
    """The attribute of a person whose relative is named."""
    noun = found["kin"].lower()
    return _PLURAL[noun] if noun in _PLURAL else KIN[noun][0]


def singular(words: str) -> str:
    """The noun without its plural ending."""
    words = words.lower()
    return f"{words[:-3]}y" if words.endswith("ies") else re.sub(r"(?<=ss|ch|sh)es$|(?<![sui])s$", "", words)


def favourite(kind: str) -> str:
    """The attribute for a favourite of a kind, in the singular; without a kind, a like."""
    words = re.split(r"\b(?:of|to|for|in|from|at)\b", kind.lower())[0].replace("colour", "color").split()
    if not words or words[-1] in {"thing", "things", "part", "person", "one", "ones"}:
        return "likes"
    return "_".join(("favorite", *words[:-1], words[-1] if words[-1] == "series" else singular(words[-1])))


def _names(found: re.Match[str]) -> str:
    """Which part of which names the rule is about: "rule: method name prefix"."""
    part = "suffix" if found["affix"].lower() in {"end", "finish", "suffix"} else "prefix"
    return f"{RULE}{singular(found['object'])} name {part}"


def _about(found: re.Match[str]) -> str:
    """The object of an instruction in the singular."""
    words = re.sub(
        r"^(?:(?:any|all|the|your|our|my|an?|every|each|more|only|in|with|to|for|me|us) )+", "", found["rest"]
    )
    words = re.split(r"\b(?:with|in|for|to|when|at|as|from|on|by|of|unless|if|and|or|instead|without)\b|[,.;:]", words)[
        0
    ]
    vague = re.search(r"\b(?:it|that|this|these|those|them|him|her|you|me|one|so|there|here|how|why|mind)\b", words)
    return "" if vague or not words.strip() else RULE + singular(" ".join(words.lower().split()[-2:]))


def _own(found: re.Match[str]) -> str:
    """The noun phrase of "my X is Y" in snake case; empty if Y is a remark."""
    value, words = (
        tidy(found["value"]),
        (found["about"] or found["the"]).lower().replace("'s", "").replace("-", " ").split(),
    )
    exact = re.match(r"\S+@\S|[+#$€£]?\d|[\w#.]*\d|[A-Z][\w'-]+|[\"'`]", value) and len(value.split()) <= _EXACT_WORDS
    while words and words[0] in {"new", "current", "own", "actual", "exact", "latest"}:
        del words[0]
    known = {"email_address": "email", "phone_number": "phone", "mobile_number": "phone", "e_mail": "email"}
    key = "_".join(words)
    return known.get(key, key) if exact and words and KIN.keys().isdisjoint(words) else ""


def _to_a_place(found: re.Match[str]) -> bool:
    """Whether people moved, and not what they build."""
    return TECHNOLOGY.match(found["value"]) is None


def _by_job(found: re.Match[str]) -> bool:
    """Whether the words before the value are a profession."""
    return bool(profession(found["job"]))


def _grown(found: re.Match[str]) -> bool:
    """Whether a number can be the age of a person who writes."""
    age = found["value"] or found["other"]
    return not age.isdecimal() or _YOUNGEST <= int(age) <= _OLDEST


_YOUNGEST, _OLDEST = 10, 110
_EXACT_WORDS = 6
_NO_NAME = re.compile(
    r"(?:ese|ish|ican|alian|ussian|erman|ndian|orean|rench|utch|reek|wiss|zech|adian|ilian|wegian|atholic|uslim|indu|"
    r"uddhist|theist|hristian)$"
)
"""Endings of nationalities and religions."""
_HEADS = (
    r"(?:password|passcode|pin|code|number|budget|deadline|salary|rent|size|username|handle|email|e-mail|address|phone|"
    r"zip code|postcode|licen[cs]e plate|blood type|time zone|iban|id|seat|gate|flight|room|version|branch|port|url|"
    r"website|maiden name|last name|surname|best|record|pace)"
)

IDENTITY = (
    rule("my name is", "name", r"^(?:my (?:full |first |real )?name(?: is|'s)|the name's) (?!not\b)(?P<value>.+)",
         stated_name, confidence=0.95),
    rule("my name is not", "name", r"^my name (?:is not|isn't) (?P<wrong>[\w' -]+?)[,;]? (?:it's|it is|but|rather) "
         r"(?P<value>.+)", stated_name, confidence=0.95, sentence=True),
    rule("I'm Anna", "name", r"^(?:i am|i'm|im|it's me,) (?:(?:called|named) )?(?P<value>(?-i:[A-Z][a-zà-ž'-]+(?: "
         r"[A-Z][a-zà-ž'.-]*){0,3}))(?:$|[.,]|,? (?:from|your|by the way)\b)", name, confidence=0.7, guard=lambda found:
         _NO_NAME.search(found["value"]) is None),
    rule("call me", "nickname", r"^(?:(?:you can|please|just|(?:my )?(?:friends|people|everyone|everybody)) (?:all |"
         rf"just )?)?(?:calls? me|i go by) (?P<value>{NAMED})", name, confidence=0.85),
    rule("years old", "age", rf"^(?:(?:{AM}|as) {ADVERB}(?:an? )?(?P<value>{NUMBER})[- ](?:years?|yrs?)[- ]old|"
         rf"(?:{AM}|{DONE}turned|my age is|{INTRODUCED}) {ADVERB}(?P<other>{NUMBER})(?=$|[,.]| (?:now|and|last|this|"
         r"today)\b))", whole, confidence=0.85, guard=_grown),
    rule("they are years old", "age", rf"^{WHO}(?:'s| is| just| has just) {ADVERB}(?:turned )?(?P<value>{NUMBER}|one|"
         r"two|three|four|five|six|seven|eight|nine|ten)(?: years? old| months old|$)", whole, confidence=0.85),
    rule("birthday", "birthday", r"^(?:(?:my|(?P<who>my [\w-]+)'s) (?:birthday(?: is|'s)|date of birth is)|i was "
         rf"born)(?: in [\w ,]{{2,40}})? (?:on )?(?P<value>{DAY})", whole, confidence=0.95),
    rule("speaks", "language", r"^(?:(?:i|we) (?:can )?(?:also )?speak|i'm fluent in|my (?:native|first|mother) "
         r"(?:language|tongue) is) (?:fluent |some |a (?:little|bit of) )?(?P<value>.+)", languages, confidence=0.85),
    rule("married", "marital_status", rf"^(?:{AM} {ADVERB}|{DONE}(?:got |been ))(?:happily |newly "
         rf")?(?P<value>{MARITAL})(?=$|[,.]| (?:and|to|now|for|last|in|since|again)\b)(?!.* (?:in|with) a)", whole,
         when=When.SINCE),
)  # fmt: skip

HOME = (
    rule("no longer lives", "home", rf"^(?:(?:i|we) (?:no longer live|used to live|{NOT} live(?=.* {ENDING}))|"
         rf"{DONE}moved (?:away|out|from(?!.* to ))) ?(?:in|at|from|of)? (?P<value>.+?)(?: {ENDING})?$", place,
         stance=Stance.ENDED, when=When.UNTIL),
    rule("moved from to", "home", rf"^{DONE}moved (?:here )?(?:back )?from (?P<old>.+?) to (?P<value>.+)", place,
         when=When.SINCE, confidence=0.9, guard=_to_a_place),
    rule("moved to", "home", rf"^{DONE}(?:moved|relocated) (?:back |over |here )*(?:to|into) (?P<value>.+?)(?: from "
         r"(?P<old>.+))?$", place, when=When.SINCE, confidence=0.85, guard=_to_a_place),
    rule("lives in", "home", rf"^(?:(?:i|we) {ADVERB}live|{AM} {ADVERB}(?:living|based)|{HAVE} {ADVERB}(?:lived|been "
         rf"living)|my (?:home|house|flat|apartment) is) {ADVERB}(?:alone |together |here |downtown )*(?:in|at|near|"
         r"outside) (?P<value>.+)", place, when=When.SINCE, confidence=0.9),
    rule("new flat in", "home", r"^(?:(?:my|our|the) )?new (?:home|house|flat|apartment|place)(?: is| was)? in "
         r"(?P<value>.+)", place, when=When.SINCE, confidence=0.75),
    rule("they live in", "home", rf"^{WHO}(?: (?:just |still |now |all )*(?:lives?|moved)|(?: is|'s| are) (?:now "
         r")?(?:living|based)) (?:in|to) (?P<value>.+)", place, when=When.SINCE, confidence=0.75),
    rule("a nurse from", "hometown", rf"^{INTRODUCED} {ADVERB}(?:an? )?(?P<job>(?:[\w-]+ ){{1,4}}?)from (?P<value>.+)",
         place, confidence=0.65, guard=_by_job),
    rule("comes from", "hometown", rf"^(?:{AM} {ADVERB}from|(?:i|we) {ADVERB}come {ADVERB}from|i (?:grew up|was "
         r"(?:born|raised)(?: and raised)?) (?:in|near)|my home ?town is) (?P<value>(?!.* to ).+)", place,
         confidence=0.85),
)  # fmt: skip

WORK = (
    rule("no longer is", "profession", rf"^(?:(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}))(?: working as)?|i (?:used to "
         rf"(?:be|work as)|quit being|stopped being)) (?:an? )?(?P<value>.+?)(?: {ENDING})?$", profession,
         stance=Stance.ENDED),
    rule("is a", "profession", rf"^(?:(?:{AM} {ADVERB}|as |{DONE}became )(?:an? |the )|{INTRODUCED} {ADVERB}(?:an? )?)"
         r"(?P<value>.+)", profession, confidence=0.85, when=When.SINCE),
    rule("works as", "profession", rf"^(?:(?:i {ADVERB}work|{AM} {ADVERB}working|{HAVE} been working|i (?:just "
         r")?started(?: working| work)?) (?:here )?as|i (?:was|got) (?:promoted to|hired as)|my (?:job|profession|"
         r"occupation) is) (?:an? |the )?(?P<value>.+)", role, confidence=0.85, when=When.SINCE),
    rule("they are", "profession", rf"^{WHO}(?: is|'s| works as| became) (?:now )?(?:an? |the )(?P<value>.+)",
         profession, confidence=0.75),
    rule("no longer works at", "employer", rf"^(?:(?:i|we) (?:no longer work|{NOT} work(?=.* {ENDING})|used to work) "
         rf"(?:at|for)|{DONE}(?:quit|resigned from|got (?:fired|laid off) (?:from|by)|left (?=my|the|.* job)) "
         rf"?(?:(?:my|the) job (?:at|with))?) (?P<value>.+?)(?: {ENDING})?$", organisation, stance=Stance.ENDED,
         when=When.UNTIL),
    rule("quit the job", "employer", rf"^{DONE}(?:quit|lost|left) my (?:old )?job(?=$|[,.]| (?:last|yesterday|today|"
         r"this|in|and)\b)", always(""), stance=Stance.ENDED, when=When.UNTIL),
    rule("works at", "employer", rf"^(?:i {ADVERB}work|{AM} {ADVERB}(?:working|employed)|{HAVE} (?:been working|"
         rf"worked)|{DONE}started(?: working| a (?:new )?job)) (?:{ADVERB}|(?:full|part)[- ]time |as [\w -]+? )(?:at|"
         rf"for) (?P<value>(?!(?:{TECHNOLOGY.pattern})).+)", organisation, when=When.SINCE, confidence=0.85),
    rule("is a nurse at", "employer", rf"^(?:{AM} {ADVERB}(?:an? |the )|{INTRODUCED} {ADVERB}(?:an? )?)"
         r"(?P<job>(?:[\w-]+ ){1,4}?)(?:at|for) (?:an? [\w -]{2,30}? (?:called|named) )?(?P<value>(?-i:[A-Z]).+)",
         organisation, confidence=0.65, guard=_by_job),
    rule("they work at", "employer", rf"^{WHO}(?: works| is working|'s working) (?:at|for) (?P<value>.+)", organisation,
         confidence=0.7),
    rule("studied at", "school", rf"^(?:{AM} {ADVERB}|i (?:study|studied [\w ]*?|went|go|graduated) ?)(?:at|to|from) "
         r"(?P<value>(?:the )?(?=.*(?-i:University|College|School|Institute|Harvard|Oxford|Stanford))(?-i:[A-Z]).+)",
         organisation),
    rule("no longer uses", "technology", rf"^(?:(?:i|we) (?:no longer use|{NOT} use(?=.* {ENDING}))|{DONE}(?:stopped "
         r"using|dropped|ditched)) (?P<value>.+)", technologies, stance=Stance.ENDED),
    rule("switched", "technology", rf"^{DONE}(?:moved|migrated|switched) (?:[\w' -]{{0,30}}? )??(?:from (?P<old>.+?) "
         r"(?:over )?to|(?:over )?to) (?P<value>.+)", technologies, when=When.SINCE),
    rule("uses", "technology", rf"^(?:(?:i|we) {ADVERB}(?:use|work with|work in|write|know|run|rely on|deploy (?:to|"
         rf"on)|code {ADVERB}in|program {ADVERB}in)|{AM} {ADVERB}(?:using|learning)|(?:my|our|the) (?:[\w-]+ "
         r")?(?:stack|back ?-?end|front ?-?end|database|app|project|service|codebase|editor|ide) (?:is|runs|uses)(?: "
         rf"(?:written|built|in|on|with|using|now))*) (?P<value>{_TECH})", technologies, guard=lambda found: len(found[
         "value"].split()) <= 14), # noqa: PLR2004,
)  # fmt: skip

PEOPLE = (
    rule("my ex", _relation, rf"\bmy ex[- ](?P<kin>{_PEOPLE}),? (?P<value>{NAMED})", name, stance=Stance.ENDED),
    rule("my wife Anna", _relation, rf"\b(?:my|our) {AGED}(?P<kin>{_PEOPLE})(?:{_CALLED}|,| is(?= {NAMED}$))? "
         rf"(?:(?:mr|mrs|ms|dr)\.? )?(?P<value>{NAMED})(?=$|[.,!]| (?!(?:and|or) (?-i:[A-Z])))", name, confidence=0.9,
         guard=lambda found: "," not in found[0] or found.string[found.end() : found.end() + 1] in {"", ",", "."}),
    rule("Anna is my wife", _relation, rf"^(?P<value>{NAMED})(?: is|,|'s) (?:my|our) {AGED}(?P<kin>{_PEOPLE})\b(?!'s| "
         rf"of | {NAMED})", name, confidence=0.85),
    rule("my kids Ann and Tom", _relation, rf"\b(?:my|our|{HAVE})(?: (?:two|three|four|\d|best|older|younger))* "
         rf"(?P<kin>{either(_PLURAL)}),?(?: are| named| called)?:? (?P<value>{_LIST})", names, confidence=0.85),
    rule("two kids", _relation, rf"^{HAVE} (?P<value>(?:an?|one|two|three|four|five|\d) (?:(?:older|younger|little|"
         r"twin|adult|small|young|grown) )*(?P<kin>sons?|daughters?|child|children|kids?|twins|brothers?|sisters?|"
         r"siblings))(?=$|[,.]| (?:and|at|now|that|who|as|from|in|together|with)\b)", phrase, confidence=0.75),
    rule("married to", "partner", rf"^(?:{AM} {ADVERB}(?:married to|engaged to|dating)|{DONE}(?:got )?married) "
         rf"(?P<value>{NAMED})", name, confidence=0.85),
    rule("my dog has died", "pet", rf"^(?:my|our) (?:[\w-]+ )??(?P<value>(?:{_PETS})(?:,? {NAMED})?),? {_DIED}", phrase,
         stance=Stance.ENDED, confidence=0.85),
    rule("my dog Rex", "pet", rf"\b(?:my|our|an?|one|two|three|new) (?:[\w-]+ ){{0,2}}?(?P<value>(?:{_PETS})s?(?:"
         rf"{_CALLED}|,| are)?:? (?:{_LIST}|{NAMED}))", pets, confidence=0.85, guard=lambda found: re.search(
         r"\b(?:i|we|i've|we've|my|our)\b", found.string, re.IGNORECASE) is not None),
    # Nobody else's death: what is dropped ends a pet of this name, and is nothing if there is none.
    rule("Rex has died", "pet", rf"^(?:(?P<value>{NAMED}) {_DIED}|(?:i|we) had to put (?P<other>{NAMED}) (?:down|to "
         r"sleep))", name, stance=Stance.DROPPED, confidence=0.85),
    rule("has a dog", "pet", rf"^(?:{HAVE}|i own|{DONE}(?:adopted|got)) (?P<value>(?:an?|one|two|three|four|\d) "
         rf"(?:(?!of\b)[\w-]+ ){{0,2}}?(?:{_PETS})s?)(?=$|[,.]| (?:and|at|now|that|who|as|from|last|in)\b)", phrase),
)  # fmt: skip

HEALTH = (
    rule("not allergic", "allergy", rf"^{AM_NOT} (?:actually |really )?allergic to (?!.*{ENDING}$|any)(?P<value>.+?)(?"
         r": after all| at all)?$", things, stance=Stance.WRONG, confidence=0.85),
    rule("no longer allergic", "allergy", rf"^(?:{AM} no longer|{AM_NOT}) allergic to (?P<value>.+)", things,
         stance=Stance.ENDED, confidence=0.85),
    rule("allergic to", "allergy", rf"^(?:{AM} {ADVERB}(?:\w+ly )?allergic to|{HAVE} an? (?:\w+ )?allergy to|{WHO}(?: "
         r"is|'s) (?:\w+ly |also )?allergic to) (?P<value>.+)", things, confidence=0.9),
    rule("has an X allergy", "allergy", rf"^{HAVE} (?:an? )?(?:(?:severe|mild|bad|serious|terrible) )*(?P<value>(?!sev"
         r"ere|mild|bad|serious|no\b|an?\b)[\w-]+(?: [\w-]+)?) allerg(?:y|ies)\b", things, confidence=0.85),
    rule("ailment", "condition", rf"^(?:{HAVE} {ADVERB}|i've (?:always )?had |i {ADVERB}suffer from |(?:i was|i've "
         r"been) (?:just |recently )?diagnosed with )(?P<value>.+)", ailment, confidence=0.85),
    rule("is diabetic", "condition", rf"^{AM} {ADVERB}(?P<value>diabetic|asthmatic|pregnant|colou?r[- ]?blind|deaf|"
         r"blind|dyslexic|autistic|epileptic|(?:lactose|gluten)[- ]intolerant|co?eliac|hard of hearing)\b", phrase,
         confidence=0.85),
    rule("takes medicine", "medicine", rf"^(?:i {ADVERB}(?:have to |need to )?(?:take|inject)|{AM} {ADVERB}(?:on|"
         r"taking)) (?:my |some )?(?P<value>(?:[\w-]+ ){0,2}?(?:\w+(?:formin|statin|pril|olol|sartan|prazole|"
         r"cillin|oxetine|thyroxine|azepam|xaban)|insulin|antidepressants|antihistamines|beta[- ]blockers|blood "
         r"thinners))\b", phrase, confidence=0.85),
    rule("no longer on a diet", "diet", rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}\b)|{DONE}(?:used to be|stopped "
         rf"being)) (?:an? |on an? )?(?P<value>{DIET})\b", phrase, stance=Stance.ENDED, confidence=0.85),
    rule("is vegan", "diet", rf"^(?:(?:{AM}|{WHO}(?: is|'s)) {ADVERB}(?:an? |on an? )?(?:strict )?|{DONE}(?:went|gone|"
         rf"turned|became|become|been) (?:an? )?|i {ADVERB}(?:eat|follow an?) )(?P<value>{DIET})(?=$|[,.;]| (?:and|"
         r"now|diet|since|for|in|who|these|last)\b)", phrase, confidence=0.9, when=When.SINCE),
    rule("does not eat", "avoids", rf"^(?:i|we|{WHO}) {ADVERB}(?:(?:{NOT}|doesn't|never|can't|cannot|won't) (?:ever "
         rf")?{ADVERB}(?:eat|drink)|avoids?|refuse to) (?:any )?(?P<value>(?!breakfast\b|lunch\b|dinner\b|enough\b|"
         r"yet\b|today\b).+)", things),
)  # fmt: skip

TASTES = (
    rule("no longer likes", "likes", rf"^(?:(?:i|we) (?:no longer (?:really )?{LIKE}|{NOT} (?:really )?{LIKE}(?=.* "
         rf"{ENDING}$)|used to {LIKE})|{DONE}lost interest in) (?P<value>.+)", things, stance=Stance.ENDED,
         confidence=0.85),
    rule("favourite is", lambda found: favourite(found["kind"]), r"^(?:my|our) (?:all[- ]time )?(?:favou?rite|fave) "
         r"(?P<kind>[\w-]+(?: [\w-]+){0,2}?) (?:is|has to be|would be|has always been)(?: definitely| still| now|"
         r":)* (?P<value>.+)", things, single=True, confidence=0.85),
    rule("is my favourite", lambda found: favourite(found["kind"]), r"^(?P<value>[\w' &-]{2,60}?)(?: is| are) "
         r"(?:still |definitely )?(?:one of )?my (?:all[- ]time )?favou?rite (?P<kind>[\w-]+)(?=$|[,.]| (?:of|and)\b)",
         things),
    rule("dislikes", "dislikes", rf"^(?:(?:i|we) {ADVERB}(?:{HATE}|{NOT} {ADVERB}(?:like|enjoy|love|care for))|"
         rf"{AM_NOT} {ADVERB}(?:an? )?(?:big |huge )?(?:into|fan of|fond of|keen on|interested in)|{HAVE} (?:no "
         rf"interest in|an? (?:\w+ )?aversion to)|{WHO} (?:really )?(?:hates|dislikes|can't stand|doesn't like)) "
         r"(?:to |it when )?(?P<value>.+)", things),
    rule("prefers", "prefers", rf"^(?:(?:i|we) (?:would |'d )?{ADVERB}prefer|i'd prefer|i'd (?:much )?rather(?=.* "
         r"than )) (?!not to (?:say|talk|answer)|it if\b|if\b)(?P<value>.+)", whole),
    rule("hobby", "interest", r"^my (?:hobby|hobbies|interests?) (?:is|are|include) (?P<value>.+)", things),
    rule("fan of", "likes", rf"^{AM} {ADVERB}(?:an? (?:(?:big|huge|massive|lifelong) )?fan of|into|fond of) "
         r"(?P<value>.+)", things),
    rule("likes", "likes", rf"^(?:(?:i|we) {ADVERB}{LIKE}|i've always (?:liked|loved|enjoyed)|{WHO} (?:really "
         r")?(?:likes|loves|enjoys)) (?!to (?:be|know|see|hear|think|say|have|believe|thank|ask|add|tell)\b)(?:to "
         r")?(?P<value>.+)", things),
)  # fmt: skip

TASKS = (
    rule("cancelled an event", "appointment", rf"^(?:{DONE}(?:had to )?cancel(?:l?ed)? (?P<value>(?:the|my|our|an?) "
         rf"[\w' -]*?\b{EVENT}\b.*)|(?P<other>(?:the|my|our) [\w' -]*?\b{EVENT}(?: with [\w' -]+?)?)(?: is| was| got| "
         r"has been|'s)(?: now)? (?:cancel(?:l?ed)|called off|off$))", _event, stance=Stance.DROPPED, confidence=0.85),
    rule("no longer needs to", "todo", rf"^(?:i|we) (?:no longer (?:need|have) to|{NOT} (?:need|have) to(?=.* "
         rf"{ENDING}$)) (?P<value>.+)", task, stance=Stance.DROPPED),
    rule("cancelled", "todo", rf"^{DONE}(?:cancel(?:l?ed)|dropped|gave up on|given up on) (?P<value>(?:the|my "
         r"(?!goal)) ?.+)", phrase, stance=Stance.DROPPED, confidence=0.75),
    rule("has done", "todo", rf"^(?:(?:{DONE}(?:have )?|(?:just|finally|already) )(?P<value>(?:{_FORMS}) (?!an?\b|"
         r"this\b|that\b|one\b|some\b|up\b|\w+ing\b).+))", _done, stance=Stance.DONE),
    rule("is done", "todo", r"^(?:(?P<value>(?:the|my|our) [\w' -]{2,50}?)(?: is|'s| are| has been) (?:all |now |"
         rf"finally |already )*(?:done|finished|sorted|submitted|paid|booked|sent)(?=$|[,.]| now| today)|{AM} (?:all "
         r")?(?:done|finished) with (?P<other>(?:the|my|our) .+))", phrase, stance=Stance.DONE, confidence=0.75),
    rule("remind me to", "todo", r"^(?:(?:can you|could you|please|pls) )*(?:remind me|don't let me forget)(?: (?:on|"
         r"at|in|tomorrow|next|tonight|this)\b[^,]{0,30}?)? to (?P<value>.+)", task, when=When.DUE, confidence=0.9),
    rule("add to the list", "todo", r"^(?:please )?(?:(?:add|put) (?P<value>.+?) (?:to|on) (?:my|the|our) (?:to-?do|"
         r"to do|task|shopping|grocery)? ?list\b|to-?do:? (?P<other>.+))", phrase, when=When.DUE, confidence=0.85),
    rule("needs to", "todo", rf"^{TIME}(?:(?:i|we) {ADVERB}(?:need to|have to|must|gotta|got to|can't forget to)|i've "
         rf"(?:still )?got to) (?:still |also |really |remember to )*(?P<value>{_ACT}\b.*)", task, when=When.DUE,
         confidence=0.75),
    rule("event moved", "appointment", rf"^(?:(?P<value>(?:the|my|our) [\w' -]*?\b{EVENT}(?: with [\w' -]+?)?)(?: is| "
         r"was| got| has been|'s been) (?:now )?(?:moved|rescheduled|postponed|pushed(?: back)?)\b(?P<time>.+))",
         _event, when=When.APPOINTED, confidence=0.85),
    rule("has an event", "appointment", rf"^{TIME}(?:{HAVE}|{DONE}(?:booked|scheduled|made)|there's|there is) "
         rf"{ADVERB}(?P<value>(?:an?|my|our|the|another) (?:[\w'-]+ ){{0,4}}?{EVENT}\b.*)", _event, when=When.APPOINTED,
         confidence=0.85),
    rule("event is on", "appointment", rf"^(?P<value>(?:the|my|our) (?:[\w'-]+ ){{0,4}}?{EVENT}(?: with [\w' "
         r".-]+?)?)(?: is|'s| starts| leaves| takes place| will be)(?: now)? (?:on|at|for|in|next|this|tomorrow|"
         r"tonight|today)\b(?P<time>.*)", _event, when=When.APPOINTED),
    rule("decided", "decision", rf"^(?:{HAVE} {ADVERB}|the team |(?:i|we) (?:just |finally |both )?)(?:decided|agreed|"
         r"settled|opted|chose)(?: to (?:go with|use)| on| for|:)? (?!it\b|that\b|whether|not\b|with (?:you|him|"
         r"her))(?P<value>.+)", lambda words: whole(words.removeprefix("to ")), confidence=0.75),
    rule("no longer wants to", "goal", rf"^(?:(?:i|we) no longer (?:want|plan) to(?= \w+ )|{AM} no longer (?:planning|"
         rf"training|saving) (?:to|for)|{DONE}(?:gave up|given up|stopped) (?:on )?(?:training for|saving for|my "
         r"(?:goal|dream|plan) (?:of|to))) (?P<value>.+)", phrase, stance=Stance.DROPPED),
    rule("goal is", "goal", r"^(?:my|our) (?:main |big |next |new |current )*(?:goal|dream|ambition|resolution)(?: "
         r"for [\w ]{2,20}?| this \w+)?(?: is| has always been|:) (?:to )?(?P<value>.+)", phrase, confidence=0.85,
         when=When.DUE),
    rule("wants to become", "goal", rf"^(?:(?:i|we) {ADVERB}(?:want|hope|plan|aim|dream)|{AM} {ADVERB}(?:hoping|"
         r"planning|aiming)) (?:to|of) (?:one day |eventually )?(?P<value>(?:becom|learn(?! more$)|run(?:ning)? a|"
         r"start(?:ing)? (?:a|my)|open(?:ing)? (?:a|my)|writ(?:e|ing) a|los(?:e|ing) \w+|quit|get (?:better|in shape|"
         r"fit)|travel|sav(?:e|ing)|buy(?:ing)? (?:a|my)|build (?:a|my)|retire|be an? )\w*.*)", task, confidence=0.7,
         when=When.DUE),
)  # fmt: skip

INSTRUCTIONS = (
    rule("start names with", _names, rf"(?P<value>\b{_AFFIX} (?:(?:all|any|every|each|the|your|names? (?:of|for)) "
         rf")*{_THING}(?:'s?)?(?: names?| naming)? (?:with|by|in) {_SIGNS})", whole, confidence=0.85, sentence=True),
    rule("names start with", _names, rf"(?P<value>{_THING}(?: names?)?,? (?:(?:should|must|need to|have to|always|to|"
         rf"will|them|their names?) )*{_AFFIX} (?:(?:it|them) )?(?:with|in) {_SIGNS})", whole, confidence=0.85,
         sentence=True),
    rule("keep answers short", "communication_style", r"^(?:(?:please|can you|i'd like you to|i want you to|from now "
         rf"on,?|always) )*(?P<value>(?:keep|make) (?:all )?(?:your |the |all )?{_REPLIES} {_STYLE}(?: (?:and|but) "
         rf"{_STYLE})?|(?:be|stay) {_STYLE}(?=$|[,.]| (?:with me|in your))|(?:answer|reply|respond|write|talk to me|"
         r"speak)(?: to me| me| only| always)* (?:in (?:(?-i:[A-Z])\w+|bullet points|short sentences|plain \w+|"
         rf"detail|an? {_STYLE} \w+)|briefly|concisely|formally|informally|step by step))", whole, confidence=0.85),
    rule("use X, not Y", "instruction", r"^(?:please |always |we )*(?P<value>use [\w.+#' -]{1,30}?,? (?:not|instead of|"
         r"rather than|over|never) [\w.+#' -]{1,30})", whole),
    rule("always do", _about, rf"^(?:.*\b{_STANDING},? )?(?:please |we )*(?P<value>(?:(?:never|don't|do not|always|"
         r"only) )?(?:use|add|include|write|start|begin|end|put|name|ask|format|run|check|cite|sort|return|round|"
         rf"document|avoid|call|explain) (?P<rest>.+?)(?:,? {_STANDING}[.!]?)?)$", whole, confidence=0.75,
         sentence=True, guard=lambda found: re.search(rf"\b(?:{_STANDING}|always|never)\b", found[0], re.IGNORECASE) is
         not None),
    rule("my X is", _own, rf"^(?:(?:my|our) (?P<about>(?:[\w'-]+ ){{0,3}}?{_HEADS}) (?:is|are|'s)(?: now)?|the (?:new "
         r")?(?P<the>deadline|budget|password|code|version) is now) (?:at |on |about |set to )?(?P<value>.+)", whole,
         single=True, confidence=0.65),
)  # fmt: skip


_LEAD = r"^(?:(?:well|oh|um|uh|ah|yes|yeah|sure|hmm|hi|hey|haha|okay|so|actually|currently|mostly)[,.!]* )*"
_TOLD = (
    r"(?!(?:thanks|thank|hey|hi|oh|i'd|there|that|this|good|great|nice|no|not|none|nope|nothing|never|sorry|why|what|"
    r"how|maybe|who|well|as|if|it depends)\b)"
)


def _answer(
    name: str, attribute: str | Callable[[re.Match[str]], str], question: str, answer: str, values: Values, **more: Any
) -> Rule:
    """A rule for a short answer, whose meaning depends on the question before it."""
    asked = Pattern(rf"\b(?:{question})[^?.!]{{0,30}}\?\W*$", re.IGNORECASE)
    return rule(f"answer, {name}", attribute, f"{_LEAD}{_TOLD}{answer}", values, after=asked, **more)


_REST = r"(?P<value>[^.!?]+)"
ANSWERS = (
    _answer("name", "name", r"what(?:'s| is) your (?:full |first )?name|what should i call you",
            r"(?:it's |i'm |my name is |call me )?(?P<value>(?-i:[A-Z])[^.,!]*)", name),
    _answer("profession", "profession", r"what do you do(?: for (?:a living|work))?|what(?:'s| is) your (?:job|"
            r"profession|occupation|line of work)", rf"(?:i'm |i am |i work as )?(?:an? |the )?{_REST}", role),
    _answer("home", "home", r"where do you live|where are you (?:living|based|located)|which (?:city|town|country) "
            r"do you live in", rf"(?:i live |we live |i'm )?(?:in |near |at )?{_REST}", place),
    _answer("hometown", "hometown", r"where are you (?:originally )?from|where did you grow up|where do you come "
            r"from|where were you born", rf"(?:i'm |i come |i grew up )?(?:originally )?(?:from |in |near )?{_REST}",
            place),
    _answer("age", "age", r"how old are you|what(?:'s| is) your age", rf"(?:i'm |just turned )?(?P<value>{NUMBER})\b(?"
            r"! (?:minutes|hours|days))", whole),
    _answer("birthday", "birthday", r"when(?:'s| is) your birthday|when were you born|what(?:'s| is) your (?:date of "
            r"birth|birth ?date)", rf"(?:it's |on )*(?P<value>{DAY})", whole),
    _answer("hobbies", "interest", r"what are your hobbies|do you have any hobbies|what do you (?:like to |enjoy "
            r")?do(?:ing)? (?:for fun|in your (?:free|spare) time)", r"(?:i (?:like|love|enjoy)(?: to)? "
            r")?(?P<value>\w+ing\b[^.!?]*|(?:chess|music|tennis|football|soccer|photography|yoga|art|video "
            r"games)\b[^.!?]*)", things),
    _answer("favourite", lambda asked: favourite(asked["kind"]), r"what(?:'s| is| are) your favou?rite "
            r"(?P<kind>[\w-]+(?: [\w-]+)?)", r"(?:it's |definitely |probably |i (?:love|like) )*(?P<value>[^.,!?]{2,"
            r"50})[.!]?$", things, single=True),
    _answer("allergies", "allergy", r"(?:any|what are your) (?:food )?allerg(?:y|ies)|are you allergic to anything|"
            r"what are you allergic to", rf"(?:i'm allergic to |to )*{_REST}", things),
)  # fmt: skip

RULES = (
    *ANSWERS, *INSTRUCTIONS, *TASKS, *PEOPLE, *IDENTITY, *HOME, *WORK, *HEALTH, *TASTES,
)  # fmt: skip
