"""Rules of English about tastes: what somebody likes, prefers, dislikes and avoids."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.english.code import singular
from hybrid_memory.facts.rules.english.persons import WHO
from hybrid_memory.facts.rules.english.values import aversions, deeds, interests, phrase, stated, things, whole
from hybrid_memory.facts.rules.english.wording import ADVERB, AM, AM_NOT, ENDING, HAVE, NOT, SELF, STRONG, lacking, rule

_LIKE = r"(?:like|love|enjoy|adore|fancy)"
_HATE = (
    r"(?:dislike|hate|detest|despise|loathe|can't stand|cannot stand|can't bear|cannot bear|can't tolerate|cannot "
    r"tolerate)"
)
_KIND_ENDS = re.compile(
    r"\b(?:when|to|for|in|of|at|on|so|right|and|or|about|from|you|as|with|that|if|ever|is|are|now|by)\b",
)


_NO_KIND = frozenset("thing things part parts person way one ones".split())


def favourite(kind: str) -> str:
    """The attribute for a favourite of a kind, in the singular; without a kind it is just liked."""
    words = _KIND_ENDS.split(kind.lower())[0].replace("-", " ").replace("colour", "color").split()
    if not words or not _NO_KIND.isdisjoint((words[0], words[-1])):
        return "likes"
    if words[-1] != "series":
        words[-1] = singular(words[-1])
    return "_".join(("favorite", *words))


def _favourite(found: re.Match[str]) -> str:
    return favourite(found["kind"] or "")


GONE = (
    rule("no longer likes", "likes",
         rf"^{SELF} (?:no longer (?:really )?{_LIKE}|{NOT} (?:really )?{_LIKE}(?=.* {ENDING}$)) (?P<value>.+)", things,
         "longer", "more", stance=Stance.ENDED, confidence=0.85),
    rule("no longer into", "likes", rf"^(?:{AM} no longer|{AM_NOT}(?=.* {ENDING}$)) (?:really )?(?:into|interested in|"
         r"a (?:big |huge )?fan of|fond of|keen on) (?P<value>.+)", things, "longer", "more", stance=Stance.ENDED,
         confidence=0.85),
    rule("used to like", "likes", rf"^{SELF} {ADVERB}used to (?:really )?{_LIKE} (?P<value>.+)", things, "used to",
         stance=Stance.ENDED, confidence=0.8),
    rule("went off", "likes", rf"^(?:{SELF}|i've|i have|{AM}) {ADVERB}(?:gone off|stopped liking|stopped enjoying|lost "
         r"interest in|losing interest in|fell out of love with|(?:got|grown|am) tired of|sick of|over my love (?:of|"
         r"for)) (?P<value>.+)", things, "gone off", "stopped", "lost", "losing", "tired", "sick of", "fell out",
         stance=Stance.ENDED, confidence=0.75),
    rule("no longer dislikes", "dislikes",
         rf"^{SELF} (?:no longer (?:really )?{_HATE}|{NOT} (?:hate|dislike|mind)(?=.* {ENDING}$)) (?P<value>.+)",
         things, "longer", "more", stance=Stance.ENDED, confidence=0.8),
    rule("no longer avoids", "avoids", rf"^(?:{SELF} no longer avoid|{SELF} {NOT} avoid(?=.* {ENDING}$)|(?:{SELF}|i've)"
         r" stopped avoiding) (?P<value>.+)", things, "avoid", stance=Stance.ENDED, confidence=0.8),
    rule("no longer prefers", "prefers",
         rf"^(?:{SELF} no longer prefer|{SELF} {NOT} prefer(?=.* {ENDING}$)) (?P<value>.+)", things, "prefer",
         stance=Stance.ENDED, confidence=0.8),
)  # fmt: skip

LIKING = (
    rule("favourite is", _favourite, r"^(?:my|our) (?:all[- ]time |personal |absolute |current )?(?:favou?rite|fave|"
         r"fav|go-to) (?P<kind>[\w-]+(?: [\w-]+){0,2}?) (?:is|has to be|would be|has always been|would have to be)(?: "
         r"definitely| probably| still| always| currently| now| either|:)* (?P<value>.+)", things, "fav", "go-to",
         single=True, confidence=0.85),
    rule("favourites of a kind are", _favourite, r"^(?:(?:one|some|two|a few) of )?(?:my|our) (?:all[- ]time |personal "
         r"|absolute |current )?(?:favou?rite|fave|fav|go-to) (?P<kind>[\w-]+(?: [\w-]+){0,2}?) (?:is|are|include|"
         r"would be)(?: definitely| probably| still| always| currently| now| either|:)* (?P<value>.+)", things, "fav",
         "go-to", confidence=0.85),
    rule("favourites are", "likes", r"^(?:my|some of my) (?:all[- ]time )?(?:favou?rites?|faves?)(?: (?:is|are|include|"
         r"has to be|would be))(?: definitely| probably| still| always)* (?P<value>.+)", things, "fav",
         confidence=0.75),
    rule("is my favourite", _favourite, r"^(?P<value>[\w' &-]{2,60}?)(?: is|'s| are| has always been| have always been|"
         r" will always be) (?:also |still |definitely |probably |by far |always )*(?:one of )?my (?:all[- ]time |"
         r"personal |absolute |current )?(?:favou?rite|fave|favou?rites)(?: (?P<kind>[\w-]+(?: [\w-]+)?))?(?=$|[,.]| "
         r"(?:of|and|to|for|in|because)\b)", things, "fav", confidence=0.75),
    rule("is my thing", "likes", r"^(?P<value>(?!(?:who|what|which|that|this|it|he|she|you|they)\b)[\w' &-]{3,50}?)"
         r"(?:'s| is| are| has always been| have always been) (?:still |definitely |really |just |totally |always )*my "
         r"(?:thing|things|jam|passion|happy place|guilty pleasure|comfort food|weakness|go-to(?: \w+)?|top pick|cup "
         r"of tea|absolute favou?rite|first love|true love|escape)(?=$|[,.]| (?:for|to|when|and|in)\b)", things, "my ",
         confidence=0.75),
    rule("fan of", "likes", rf"^{AM} {ADVERB}an? {STRONG}(?:(?:lifelong|avid|devoted|die-?hard|longtime|massive|total) "
         r")?(?:fan|lover|devotee|admirer) of (?P<value>.+)", things, "fan of", "lover of", "devotee", "admirer",
         confidence=0.85),
    rule("a jazz fan", "likes", rf"^{AM} {ADVERB}an? {STRONG}(?:(?:lifelong|avid|devoted|die-?hard|longtime|massive|"
         r"total) )?(?P<value>[\w-]+(?: [\w-]+)?) (?:fan|lover|enthusiast|buff|aficionado|addict|nerd|geek)(?=$|[,.]| "
         r"(?:and|myself|so|at)\b)", things, "fan", "lover", "enthusiast", "buff", "aficionado", "addict", "nerd",
         "geek", confidence=0.75),
    rule("all about", "likes", rf"^(?:{AM} {ADVERB}(?:all about|big on|a sucker for)|{SELF} (?:just )?(?:can't|can "
         rf"never|could never|cannot) (?:get enough of|resist|say no to|live without|go without)|{SELF} swear by|"
         rf"nothing beats|{SELF} {ADVERB}(?:admire|have a thing for|have a weakness for)|i live for) (?P<value>.+)",
         things, "all about", "big on", "sucker", "enough of", "resist", "say no to", "without", "swear by", "beats",
         "admire", "thing for", "weakness", "live for", confidence=0.75),
    rule("into", "likes", rf"^{AM} {ADVERB}(?:into|fond of|crazy about|mad about|obsessed with|hooked on|addicted to|a "
         r"sucker for|partial to|in love with) (?P<value>.+)", things, "into", "fond", "about", "obsessed", "hooked",
         "addicted", "sucker", "partial", "in love", confidence=0.75),
    rule("interested in", "interest", rf"^(?:{AM} {ADVERB}(?:interested in|passionate about|fascinated by|keen on)|"
         r"i've (?:always |recently )?(?:been|become|gotten) (?:really |very |always )?(?:interested in|passionate "
         rf"about|into|fascinated by|keen on)|{HAVE} a (?:\w+ )?(?:passion|love|soft spot|interest|weakness) (?:for|in|"
         r"of)) (?P<value>.+)", interests, "interest", "passion", "fascinated", "keen", "into", "love", "soft spot",
         "weakness", confidence=0.8),
    rule("likes to", "likes", rf"^{SELF} {ADVERB}{_LIKE} to (?P<value>(?!be\b|know\b|see\b|hear\b|think\b|say\b|have\b|"
         r"point\b|believe\b|thank\b|ask\b|add\b|tell\b|get\b|keep\b|make\b|imagine\b|call\b|do\b|feel\b)\w+\b.*)",
         deeds, "like", "love", "enjoy", "adore", confidence=0.75),
    rule("finds it relaxing", "likes", rf"^{SELF} {ADVERB}find (?P<value>.{{2,60}}?) (?:(?:really|very|extremely|so|"
         r"quite|pretty|incredibly|to be|super|absolutely) )*(?:relaxing|fascinating|enjoyable|soothing|calming|"
         r"therapeutic|inspiring|delicious|rewarding|captivating|intriguing)(?=$|[,.]| (?:and|to|for)\b)", things,
         "find ", confidence=0.7),
    rule("likes", "likes", rf"^{SELF} {ADVERB}{_LIKE} (?!to\b)(?P<value>.+)", things, "like", "love", "enjoy", "adore",
         confidence=0.8),
    rule("love it", "likes", r"^(?:(?:oh|yeah|yes|haha|wow|well|also|absolutely|really|just|truly),? )*(?:love|loving|"
         r"adore) (?!to\b|and\b|is\b|in\b|you|seeing (?:you|the)|hearing|having you|watching you)(?P<value>.+)", things,
         "lov", "adore", confidence=0.65, sentence=True),
    rule("has always loved", "likes",
         r"^(?:i've|i have) always (?:really )?(?:liked|loved|enjoyed|adored) (?P<value>.+)", things, "always",
         confidence=0.75),
    rule("they like", "likes",
         rf"^{WHO} (?:really |absolutely |also |just )?(?:likes|loves|enjoys|adores) (?:to )?(?P<value>.+)", things,
         "likes", "loves", "enjoys", "adores", confidence=0.7),
)  # fmt: skip

DISLIKING = (
    rule("prefers not to", "prefers", rf"^(?:{SELF} (?:would |'d )?{ADVERB}|i'd )(?:prefer|rather) (?P<value>not "
         r"(?!(?:to )?(?:say|talk|answer|tell|discuss|go there|know|think)\b)(?:to )?.+)", stated, "prefer", "rather",
         confidence=0.85),
    rule("prefers to avoid", "avoids", rf"^(?:{SELF} (?:would |'d )?{ADVERB}|i'd )(?:(?:prefer|like|try|need|have|tend)"
         rf" to |rather )?{ADVERB}(?:avoid|stay away from|steer clear of|refuse|refrain from) (?:to )?(?P<value>.+)",
         aversions, "avoid", "away from", "clear of", "refuse", "refrain", confidence=0.85),
    rule("will not", "avoids", rf"^{SELF} (?:{NOT}|never|won't|will not) (?:really |ever |usually |generally "
         r")?(?:watch|use|buy|wear|read|play|listen to|fly with|travel by|book|visit|shop at) (?:any "
         rf")?(?P<value>(?!an?\b).{{7,}})", aversions, "watch", "use", "buy", "wear", "read", "play", "listen", "fly",
         "travel", "book", "visit", "shop", confidence=0.7),
    rule("only", "prefers", rf"^{SELF} (?P<value>(?:only|exclusively) (?:ever )?(?:watch|use|eat|drink|buy|book|wear|"
         r"read|play|listen to|travel|fly|enjoy|shop|stay|support|drive|date|cook|take)\b.+)", stated, "only",
         "exclusively", confidence=0.8),
    rule("can only", "prefers", rf"^{SELF} (?P<value>can only (?:watch|use|eat|drink|wear)\b.+)", stated, "can only",
         confidence=0.75),
    rule("dislikes", "dislikes", rf"^{SELF} {ADVERB}(?:{_HATE}|{NOT} {ADVERB}(?:like|enjoy|love|care for|fancy|"
         r"appreciate)) (?:to |it when )?(?P<value>.+)", aversions, "dislike", "hate", "detest", "despise", "loathe",
         "stand", "bear", "tolerate", "like", "enjoy", "love", "care for", "fancy", "appreciate", confidence=0.8),
    rule("not a fan", "dislikes", rf"^{AM_NOT} {ADVERB}(?:an? )?{STRONG}(?:into|fan of|interested in|fond of|keen on|"
         r"comfortable with|crazy about) (?P<value>.+)", aversions, "not", confidence=0.8),
    rule("is against", "dislikes", rf"^{AM} {ADVERB}(?:uncomfortable with|against|opposed to|put off by) (?P<value>.+)",
         aversions, "uncomfortable", "against", "opposed", "put off", confidence=0.8),
    rule("has an aversion to", "dislikes", rf"^(?:{HAVE} {STRONG}(?:aversion to|dislike (?:for|of)|distaste for|hatred "
         r"of|objection to|stance against)|i have (?:absolutely |really )?(?:no|zero|little) interest in) "
         r"(?P<value>.+)", aversions, "aversion", "dislike", "distaste", "hatred", "objection", "against", "interest",
         confidence=0.85, guard=lacking(r"\bno (?:\w+ )*(?:objection|aversion)")),
    rule("has a fear of", "condition", rf"^{HAVE} (?P<value>(?:an? )?{STRONG}(?:fear|phobia) of .+)", phrase, "fear of",
         "phobia of", confidence=0.8),
    rule("not my thing", "dislikes", r"^(?P<value>[\w' -]{3,60}?) (?:isn't|is not|aren't|are not|was never|has never "
         r"been|have never been|just isn't|really isn't) (?:really |exactly |quite )?my (?:thing|cup of tea|style|"
         r"taste|jam)\b", aversions, "my thing", "cup of tea", "my style", "my taste", "my jam", confidence=0.75),
    rule("finds it boring", "dislikes", rf"^{SELF} {ADVERB}find (?P<value>.{{2,80}}?) (?:(?:too|really|very|extremely|"
         r"so|quite|rather|pretty|a bit|incredibly|to be) )*(?:distressing|boring|annoying|disgusting|overwhelming|"
         r"stressful|tedious|irritating|dull|exhausting|unappealing|gross|depressing|unpleasant|off-putting|revolting|"
         r"too \w+)(?=$|[,.]| (?:and|to|for)\b)", aversions, "find ", confidence=0.7),
    rule("they dislike", "dislikes",
         rf"^{WHO} (?:really |absolutely )?(?:hates|dislikes|can't stand|doesn't like|detests) (?:to )?(?P<value>.+)",
         aversions, "hates", "dislikes", "stand", "doesn't like", "detests", confidence=0.7),
    rule("prefers", "prefers",
         rf"^(?:{SELF} (?:would |'d )?{ADVERB}prefer|i'd prefer) (?!not\b|it if\b|if\b)(?P<value>.+)", deeds, "prefer",
         confidence=0.8),
    rule("has a preference for", "prefers", rf"^{HAVE} {STRONG}preference for (?P<value>.+)", aversions, "preference",
         confidence=0.85),
    rule("rather", "prefers", r"^(?:i'd|i would) (?:much )?rather (?!not\b|you\b|he\b|she\b|they\b|die\b|be\b|see\b|"
         r"know\b|hear\b)(?P<value>.+ than .+)", whole, "rather", confidence=0.7),
)  # fmt: skip

RULES = GONE + DISLIKING + LIKING
