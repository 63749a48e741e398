"""Rules of English about what somebody does with their time, and what they own."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.kinds import belonging
from hybrid_memory.facts.rules.english.lexicon import BRANDS, either
from hybrid_memory.facts.rules.english.values import deeds, phrase, things, whole
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, ENDING, HAVE, NOT, OFTEN, SELF, WEEKDAYS, rule

_GAMES = (
    r"(?:tennis|table tennis|ping[- ]pong|soccer|football|basketball|volleyball|baseball|softball|rugby|cricket|hockey|"
    r"ice hockey|field hockey|golf|badminton|squash|lacrosse|handball|water polo|polo|pool|billiards|snooker|darts|"
    r"bowling|chess|go|poker|bridge|checkers|backgammon|scrabble|board games|card games|video games|computer games|"
    r"dungeons (?:and|&) dragons|d&d|minecraft|ultimate frisbee|frisbee|paintball|padel|pickleball|mahjong|sudoku|"
    r"(?:the |some |a little |a bit of )?(?:\w+ )?(?:guitar|piano|violin|cello|drums?|bass|flute|saxophone|sax|trumpet|"
    r"clarinet|ukulele|harp|harmonica|banjo|keyboards?|organ|accordion|oboe|trombone|mandolin|viola|recorder|bagpipes))"
)
_PURSUITS = (
    r"(?:hiking|running|jogging|swimming|cycling|biking|skiing|snowboarding|surfing|climbing|rock climbing|bouldering|"
    r"camping|fishing|hunting|sailing|rowing|kayaking|canoeing|skating|ice skating|skateboarding|dancing|bowling|"
    r"birdwatching|birding|scuba diving|snorkeling|horse(?:back)? riding|painting|drawing|sketching|photography|"
    r"knitting|crocheting|sewing|gardening|baking|cooking|woodworking|pottery|calligraphy|blogging|vlogging|writing "
    r"(?:poetry|poems|fiction|stories|songs)|yoga|pilates|karate|judo|taekwondo|boxing|kickboxing|tai chi|crossfit|"
    r"martial arts|gymnastics|weightlifting|origami|meditation|stand-up comedy|improv|archery|fencing|geocaching|"
    r"astronomy|stargazing|beekeeping|volunteering|singing)"
)
_NO_HABIT = (
    r"(?:am|have to|need|want|think|feel|see|hear|know|say|tell|talk to you|\w+ed|got|went|had|was|were|did|saw|said|"
    r"told|could|would|should|will|can|must|wish|hope|love|hate|like|just|never|don't|do not|try to be)"
)


def _marked(found: re.Match[str]) -> bool:
    """Whether a make or a model is named."""
    return re.search(r"[A-Z\d]", found["value"]) is not None


def _regular(words: str) -> tuple[str, ...]:
    """What is done, and when: "Every Sunday: call my mother"."""
    return whole(re.sub(r",? (?:i|we) ", ": ", words, count=1, flags=re.IGNORECASE))


def _collected(words: str) -> tuple[str, ...]:
    return tuple(f"collecting {value}" for value in things(words))


GONE = (
    rule("no longer plays", "interest", rf"^(?:{SELF} no longer (?:play|do|go|practi[cs]e|collect)|{SELF} {NOT} "
         rf"(?:play|do|go|practi[cs]e|collect)(?=.* {ENDING}$)|(?:{SELF}|i've|i have) {ADVERB}(?:stopped|quit|given up|"
         rf"gave up) (?:playing|doing|going|practi[cs]ing|collecting)?) ?(?P<value>(?:{_GAMES}|{_PURSUITS}|stamps|"
         r"coins|vinyl)\b)", phrase, "longer", "more", "stopped", "quit", "gave up", "given up", stance=Stance.ENDED,
         confidence=0.85),
    rule("quit a habit", "habit", rf"^(?:{SELF}|i've|i have) {ADVERB}(?:stopped|quit|gave up|given up) "
         r"(?P<value>(?:smoking|drinking|vaping|gambling|biting|snacking|eating|watching|using|going to|skipping|"
         r"shopping|driving|taking|coffee|alcohol|sugar|meat|cigarettes|caffeine|dairy|social media|facebook|instagram|"
         r"twitter)\b.*)", phrase, "stopped", "quit", "gave up", "given up", stance=Stance.ENDED, confidence=0.75),
)  # fmt: skip

DOING = (
    rule("hobby is", "interest", r"^(?:(?:one of )?my (?:main |favou?rite |biggest |other |new |only )*(?:hobby|"
         r"hobbies|pastimes?|passions?|interests?)|what i do for fun)(?: is| are| include|:| has always been)(?: to| "
         r"probably| currently| now)* (?P<value>.+)", things, "hobb", "pastime", "passion", "interest", "for fun",
         confidence=0.85),
    rule("plays", "interest", rf"^(?:{SELF} {ADVERB}(?:play|practi[cs]e)|{AM} {ADVERB}(?:learning to play|learning|"
         r"practi[cs]ing|playing)|(?:i've|i have) (?:been )?(?:playing|played|started playing|learning)|i (?:just |"
         rf"recently )?started (?:playing|learning)) (?P<value>{_GAMES}(?:,? (?:and|&) {_GAMES})?)\b", things, "play",
         "practi", "learning", confidence=0.8),
    rule("does yoga", "interest", rf"^(?:{SELF} {ADVERB}(?:do|practi[cs]e|go|took up|take|teach|have taken up|started|"
         rf"love|got into|take (?:lessons|classes) in)|{AM} {ADVERB}(?:doing|taking up|going|getting into|"
         rf"practi[cs]ing)|(?:i've|i have) {ADVERB}(?:taken up|started|been doing|been practi[cs]ing|been|gotten into|"
         rf"got into)) (?:some |a bit of |a lot of )?(?P<value>{_PURSUITS}(?: and {_PURSUITS})?)\b", things, "do ",
         "practi", "go ", "took up", "take", "taken", "start", "doing", "going", "been", "got", "teach", "getting",
         confidence=0.75),
    rule("collects", "interest",
         rf"^(?:{SELF} {ADVERB}collect|{AM} {ADVERB}collecting|i've been collecting) (?P<value>.+)", _collected,
         "collect", confidence=0.8),
    rule("takes a class", "interest", rf"^(?:{AM} {ADVERB}|(?:i've|i have|we've) (?:just |recently )?(?:been |started "
         rf")?|{SELF} {ADVERB}(?:started |signed up for |joined |enrolled in |take |took up ))(?:taking |doing |"
         r"attending |going to |taken |joined )?(?P<value>(?:an? |my )?(?:weekly |local |new |beginners? |beginner's "
         r")?(?!online\b|taking\b|doing\b|attending\b|going\b|working\b|first\b|last\b|next\b|this\b|that\b|the\b|"
         r"some\b|any\b|my\b|a\b|gym\b)[\w-]+(?: [\w-]+)? (?:class(?:es)?|lessons|course|club|choir|league|workshop))"
         r"(?=$|[,.]| (?:and|at|on|in|for|every|last|this|twice|once|with|to|recently|lately|because)\b)", phrase,
         "class", "lessons", "course", "club", "choir", "league", "workshop", confidence=0.65),
    rule("volunteers", "interest", rf"^(?:{SELF} {ADVERB}|{AM} {ADVERB}|(?:i've|i have) (?:been |started )?|i started )"
         r"(?P<value>volunteer(?:ing)? (?:at|with|for|in) (?!the moment\b).+)", phrase, "volunteer", confidence=0.75),
    rule("owns", "possession", rf"^(?:{SELF} {ADVERB}(?:own|drive|ride)|{HAVE} {ADVERB}(?:bought |purchased )?|{SELF} "
         r"(?:just |recently )*(?:bought|purchased|got)) (?P<value>(?:an?|my|our|one|two|three|\d) .+)", belonging,
         "own", "drive", "ride", "have", "'ve", "bought", "purchased", "got", confidence=0.75),
    rule("my Toyota", "possession", rf"\bmy (?:new |old |trusty |beloved )?(?P<value>(?:{either(BRANDS)})\b(?: "
         rf"(?-i:[A-Z0-9])[\w-]*){{0,3}})(?! (?:[\w ]+ )?(?:model|ad|stock|poster))", belonging, "my ", confidence=0.7),
    rule("runs a business", "possession", rf"^(?:{SELF} {ADVERB}(?:own|run|opened|started)|{HAVE} {ADVERB}(?:opened|"
         rf"started)|{AM} {ADVERB}(?:running|the owner of|opening)) (?P<value>(?:an?|my own|our own|my) (?:[\w-]+ "
         rf"){{0,3}}?(?:business|store|shop|studio|restaurant|cafe|café|bakery|company|farm|blog|podcast|channel|"
         r"bookstore|gym|agency|startup))\b", phrase, "business", "store", "shop", "studio", "restaurant", "caf",
         "bakery", "company", "farm", "blog", "podcast", "channel", "gym", "agency", "startup", confidence=0.75),
    rule("my car is a", "possession",
         r"^(?:my|our) (?:car|bike|motorcycle|laptop|phone|camera|guitar|piano|motorbike) is an? (?P<value>.+)", phrase,
         "car", "bike", "motor", "laptop", "phone", "camera", "guitar", "piano", confidence=0.75, guard=_marked),
    rule("often", "habit", rf"^{SELF} {ADVERB}(?P<value>(?!{_NO_HABIT}\b)[a-z]+ .{{0,70}}?\b(?:{OFTEN}|on "
         rf"{WEEKDAYS}(?:,? (?:and )?{WEEKDAYS})*|every (?:day|morning|evening|night|week|weekend|month|year|summer|"
         r"winter)|daily|weekly))(?=$|[,.]| (?:and|before|after|with|at|to|in|because|since)\b)", whole, "every",
         "each", "times", "once", "twice", "days", "daily", "weekly", confidence=0.7),
    rule("usually", "habit", rf"^{SELF} (?:usually|typically|normally|generally|tend to) (?P<value>(?!{_NO_HABIT}\b|"
         r"prefer\b|enjoy\b|find\b|avoid\b|try\b|agree\b|get (?!up|home|to work)|have a hard|have trouble)[a-z]+ .+)",
         deeds, "usually", "typically", "normally", "generally", "tend to", confidence=0.7),
    rule("every morning", "habit", r"^(?P<value>(?:every (?:single )?(?:day|morning|evening|night|week|weekend|monday|"
         r"tuesday|wednesday|thursday|friday|saturday|sunday)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days),? (?:i|"
         r"we) (?!am\b|'|was\b|were\b|had\b|will\b|would\b|can\b|see\b|think\b|feel\b|hear\b|have to\b|need\b)"
         r"[a-z]+(?<!ed) .+)", _regular, "every", "days", confidence=0.65),
)  # fmt: skip

RULES = GONE + DOING
