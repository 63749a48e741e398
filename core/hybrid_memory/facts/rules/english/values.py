"""English values: normalises the words that a rule matched, and rejects those of the wrong kind."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.english.lexicon import AILMENTS, KIN, OCCUPATION, TECHNOLOGY
from hybrid_memory.text.patterns import lazy

MAX_CHARS = 120
_SHORTEST = 2
_LIST_WORDS = 4
_ROLE_WORDS = 5
_WORDS_OF_NAME = 2
_WORDS_BEFORE_AILMENT = 7

_END = lazy(
    r"\s*(?:[;!?\[]|\.(?=\s|$)|\s[-–—]\s|…).*$|,?\s+(?:because|cause|cuz|since|so that|so|but|although|though|while|"
    r"whereas|if|unless|whenever|when|as (?:i|it|they|he|she|we|my|much|well|long|soon)|due to|thanks to|which|even "
    r"(?:if|though)|in case|for (?:years|ages|a (?:while|long time)|(?:about |over |almost )?(?:the (?:past|last) )?"
    r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|several|many|a few|a couple(?: of)?) (?:years|months|weeks|"
    r"decades)))\b.*$|,\s+(?:and (?:the|this|that|there|it|he|she|they|a|an|my|our|so|then)|so|right|you know|i|my|it|"
    r"they|we|he|she|you|thanks|please|too|though|actually|that|just|especially|including|how|what|where|even|maybe|of "
    r"course|like|haha|lol|now|then)\b.*$|\s+or (?:sometimes |maybe |just )*(?:i|we|just|maybe)\b.*$|\s+(?:it's|it is|"
    r"that's|they're|there's|this is|i'm|i've|i am|we're)\b.*$|\s+and (?:need|want|would|was|were|am|i'm|met|trying|"
    r"have|had|could|can|will)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_LAST = lazy(
    r"(?:\s+like (?:that|this|these|those)|\s*[\s,.;:!?*()\[\]~…–—-]+|[\s,]+(?:now|too|as well|also|right now|at the "
    r"moment|these days|nowadays|though|anyway|lol|haha|actually|currently|again|a lot|a bit|so much|very much|the "
    r"most|more than anything|lately|recently|already|at all|any ?more|any longer|instead|either|please|really|"
    r"honestly|the best|best|most|well|for now|today|in general|of course|you know|and (?:all|stuff|so on|more)|etc|"
    r"on|at|by|since|in|from|until|to|of|for|with|and|or|the|a|an|my|our|your|is|are|was|that|who|as|than))+$",
    re.IGNORECASE,
)
_FIRST = lazy(
    r"^(?:[\s,.:;*()\[\]~-]+|(?:an? (?:good|nice|great|bit of|little)|own|(?:kind|type|sort|form)s? of|a|an|the|some|"
    r"any|my|our|all|both|to|actually|definitely|probably|just|really|called)\s+|(?:The|My|Our|A|An|Some)\s+(?=[a-z])"
    r")+",
)
_NOTHING = lazy(
    r"(?:it|its|it's|this|that|that's|these|those|them|they|they're|him|her|his|he|she|you|your|yours|you're|u|me|i|"
    r"i'm|we|us|myself|yourself|one|ones|each other|every(?:one|body)|some(?:one|body)|(?:some|any|every)thing"
    r"(?! (?:with|involving|that|containing|made|else that))|any(?:one|body)|nothing|nobody|none|things|stuff|thing|"
    r"such|so|how|what|whatever|when|where|who|which|whether|if|because|not|no|yes|here|there|both|all|way|idea|fact|"
    r"(?:sound|looks?) of (?:that|it)|same|other|another|more|most|too|very|really|just|also|only|much|many|lot|bit|"
    r"part|kind of|sort of|day|time|rest|thought|their|'em|ours|mine|got|gonna|being able|able|ever|last|first|next|"
    r"new|person|people|place|joke|question|answer)\b",
    re.IGNORECASE,
)
_CONTEXT = lazy(
    r"(?:my|our|your|his|her|their)\b|the (?!(?:outdoors?|beach|sea|ocean|mountains?|countryside|theat(?:er|re)|opera|"
    r"gym|cold|heat|rain|snow|winter|summer|autumn|fall|spring|piano|guitar|violin|cello|drums?|arts?|(?:smell|taste|"
    r"sounds?) of (?!the\b|that|this)|(?-i:[A-Z])))|.*\blike (?:that|this|these|those)[\s.,!]*$",
    re.IGNORECASE,
)
_BETWEEN = lazy(r"\s*,\s*(?:and |as well as |& )?|\s+(?:and|&|as well as|plus)\s+", re.IGNORECASE)
_UNLISTED = lazy(
    r"^(?:on|in|at|by|with|for|from|about|under|over|into|out|up)\b|\b(?:that|which|who|with|to|is|are|was|were|by|"
    r"have|has|of|than|where|or|including|like)\b|\b(?:in|out|up|on|off|over|down|around|away)$",
    re.IGNORECASE,
)
_NAME = r"(?:(?!I\b)[A-Z][\w'-]*[\w]|[A-Z]\.?)"
_NAMES = lazy(rf"{_NAME}(?: (?:(?:de|van|von|der|den|da|di|del|della|bin|al|la|le|el|ten|y) )*{_NAME}){{0,3}}")
_NO_NAME = frozenset(
    """i i'm i've i'll a an the and but or so my your his her our their it he she we they you this that these those
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december god ok okay yes no hey hi hello oh well mr mrs ms miss dr sir mom mum dad
    christmas easter english german french spanish italian chinese japanese american british canadian not what why how
    when where who thanks please sorry wait just like really because if then there here now still also is was are were
    has have had do does did will would can could should let's lol wow ai tv usa uk am pm um uh hmm yeah yep nope maybe
    absolutely definitely exactly great nice cool good sure right look see guess vegan""".split()
)
_PLACE = lazy(
    rf"^(?:(?!(?:[Tt]he )?[A-Z]).*?\b(?:in|near|outside|of) )?(?:[Tt]he )?(?P<name>{_NAME}(?:(?:,? (?:(?:of|de|la|le|"
    rf"del|am|an|upon|on|and|the|do) )*){_NAME}){{0,4}})"
)
_SMALL_PLACE = lazy(
    r"(?!(?:a|an|the|my|our|with|near|on|at|your|small|big|fear|peace|in|by|down|next|alone|together|home|town|abroad|"
    r"poverty|hell|sin|one|two|way|different|another|new place|work)\b)[a-z]+(?: [a-z]+){0,2}"
)
_ORGANISATION = lazy(
    r"(?:a|an|the|our|my)? ?(?:[\w'&.-]+ ){0,4}?(?:bank|hospital|clinic|school|university|college|company|"
    r"start-?up|firm|agency|studio|restaurant|cafe|café|bakery|library|museum|factory|lab|institute|shop|store|"
    r"supermarket|office|hotel|charity|newspaper|airport|airline|police|government|council|church|farm|gym|pharmacy|"
    r"nursery|bar|pub|publisher|business|garage)\b",
    re.IGNORECASE,
)
_ORGANISATION_NAME = lazy(
    rf"(?:the |a |an )?(?:[\w-]+ ){{0,2}}?{_NAME}(?:(?:,? (?:(?:of|for|and|&|de|in|the) )*){_NAME}){{0,5}}"
)
_AFTER_ROLE = lazy(
    r"\s+(?:at|for|with|in|from|who|that|on|by|here|there|and|or|working|specializing|based|now|to)\s+|,|"
    r"\s+(?:here|there|now)$|\s+of\s+(?=my|our)"
)


def tidy(words: str) -> str:
    """The words without surrounding punctuation and trailing words, at most 120 characters."""
    words = _END.sub("", " ".join(words.split()))
    if len(words) > MAX_CHARS:
        words = words[: MAX_CHARS + 1].rpartition(" ")[0]
    words = _LAST.sub("", words).strip(" \t,.;:!?*~()[]-–—")
    for mark in "\"'":
        if words.count(mark) == 1 and (words.startswith(mark) or words.endswith(mark)):
            words = words.strip(mark)
        if len(words) > 1 and words[0] == words[-1] == mark and mark not in words[1:-1]:
            words = words[1:-1]
    return words.strip(" ,.;:!?")


def phrase(words: str) -> tuple[str, ...]:
    """A noun or verb phrase without an article."""
    if _NOTHING.match(words.strip(" ,'\"")):
        return ()
    words = _FIRST.sub("", tidy(words))
    return () if len(words) < _SHORTEST or _NOTHING.fullmatch(words) else (words,)


def whole(words: str) -> tuple[str, ...]:
    """The words unchanged, including how they begin."""
    words = tidy(words)
    return (words,) if len(words) >= _SHORTEST else ()


def things(words: str) -> tuple[str, ...]:
    """Phrases; a list of short ones is split. References known only in this conversation ("the dress") are rejected."""
    words = words.strip(" ,")
    if _NOTHING.match(words) or _CONTEXT.match(words):
        return ()
    words = tidy(words)
    parts = [part for part in _BETWEEN.split(words) if part]
    if re.search(r" (?:and|&|plus) ", words) and all(
        len(part.split()) <= _LIST_WORDS and not _UNLISTED.search(part) for part in parts
    ):
        return tuple(value for part in parts for value in phrase(part))
    return phrase(words)


def name(words: str) -> tuple[str, ...]:
    """A person's name at the beginning of the words, capitalised."""
    found = _NAMES.match(words.strip(" ,'\"*"))
    parts = found[0].removesuffix("'s").split() if found else []
    while parts and parts[-1].lower() in _NO_NAME:
        del parts[-1]
    return (" ".join(parts),) if parts and parts[0].lower() not in _NO_NAME else ()


def stated_name(words: str) -> tuple[str, ...]:
    """A name in a position where one must be, also in lower case."""
    if found := name(words):
        return found
    words = tidy(words)
    if not words.islower() or len(words.split()) > _WORDS_OF_NAME or _NOTHING.match(words):
        return ()
    return (words,) if words.replace(" ", "").isalpha() and words.split()[0] not in _NO_NAME else ()


def names(words: str) -> tuple[str, ...]:
    """The names in a list."""
    return tuple(value for part in _BETWEEN.split(words) for value in name(part))


def languages(words: str) -> tuple[str, ...]:
    """The languages in a list, capitalised."""
    return tuple(found[0] for found in re.finditer(r"\b(?!I\b)[A-Z][a-z]+\b", tidy(words)))


def pets(words: str) -> tuple[str, ...]:
    """Animals with their names: "dog Rex", "cat Milo"."""
    found = re.search(rf"\b(?P<kind>{'|'.join(KIN)})s?\b", words, re.IGNORECASE)
    called = (
        re.sub(r"^(?:'s name is|,| whose name is| called| named| is| are|:| )+", "", words[found.end() :])
        if found
        else ""
    )
    return tuple(f"{found['kind'].lower()} {value}" for value in names(called)) if found else ()


def place(words: str) -> tuple[str, ...]:
    """A named place; if all the words are in lower case, also without capitals."""
    words = words.strip(" ,'\"")
    found = _PLACE.search(words)
    if found is not None:
        return () if found["name"].split()[0].lower() in _NO_NAME else (found["name"].removesuffix("'s").strip(" ,."),)
    words = tidy(words)
    return (words,) if words.islower() and not _NOTHING.match(words) and _SMALL_PLACE.fullmatch(words) else ()


def organisation(words: str) -> tuple[str, ...]:
    """An employer or school: a name, or "a bank"."""
    words = words.strip(" ,'\"")
    named = _ORGANISATION_NAME.match(words)
    if named is not None and named[0].split()[0].lower() not in _NO_NAME - {"a", "an", "the"}:
        return phrase(named[0])
    generic = _ORGANISATION.match(words)
    return phrase(generic[0]) if generic else ()


def profession(words: str) -> tuple[str, ...]:
    """A profession, if it is one."""
    found = phrase(_AFTER_ROLE.split(tidy(words))[0])
    return found if found and OCCUPATION.fullmatch(found[0]) else ()


def role(words: str) -> tuple[str, ...]:
    """A job: any noun phrase of a few words."""
    found = phrase(_AFTER_ROLE.split(tidy(words))[0])
    return found if found and len(found[0].split()) <= _ROLE_WORDS else ()


def technologies(words: str) -> tuple[str, ...]:
    """The technologies named."""
    return tuple(dict.fromkeys(found[0].strip() for found in TECHNOLOGY.finditer(words)))


def ailment(words: str) -> tuple[str, ...]:
    """A health problem, if the words are about one."""
    found = AILMENTS.search(" ".join(tidy(words).split()[:_WORDS_BEFORE_AILMENT]))
    return phrase(words) if found and not re.search(r"\w(?:ed|ard|one)\b|\bto\b", words[: found.start()]) else ()
