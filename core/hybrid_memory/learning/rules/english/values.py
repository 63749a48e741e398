"""English values: what is kept of the words that a rule found, and what is no value."""

from __future__ import annotations

import re

from hybrid_memory.learning.rules.english.lexicon import (
    AILMENTS,
    BELONGINGS,
    BRANDS,
    KIN,
    LANGUAGES,
    NATIONALITIES,
    RELIGIONS,
    STUDIES,
    TECHNOLOGY,
    occupation,
)

MAX_CHARS = 120
_LIST_WORDS = 4

_END = re.compile(
    r"\s*(?:[;!?\[]|\.(?=\s|$)|\s[-–—]\s|…).*$"
    r"|,?\s+(?:because|cause|cuz|since|so that|so|but|although|though|while|whereas|if|unless|whenever|when|"
    r"as (?:i|it|they|he|she|we|my|much|well|long|soon)|due to|thanks to|which|even (?:if|though)|in case|"
    r"for (?:years|ages|a (?:while|long time)|(?:about |over |almost |nearly )?(?:the (?:past|last) )?(?:\d+|two|three|four|"
    r"five|six|seven|eight|nine|ten|several|many|some|a few|a couple(?: of)?) (?:years|months|weeks|decades)))\b.*$"
    r"|,\s+(?:and|so|right|you know|i|my|it|they|we|he|she|you|thanks|please|too|though|actually|that|just|especially|"
    r"how|what|where|even|maybe|of course|like|haha|lol|now|then)\b.*$"
    r"|\s+or (?:sometimes |maybe |just )*(?:i|we|just|maybe)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_RUN_ON = re.compile(r"\s+(?:it's|it is|that's|they're|there's|this is|i'm|i've|i am|we're|for (?:its|their|his|her|the way))\b.*$", re.IGNORECASE | re.DOTALL)
_LAST = re.compile(
    r"(?:\s+like (?:that|this|these|those)|\s*[\s,.;:!?*()\[\]~…–—-]+|[\s,]+(?:now|too|as well|also|right now|at the moment|these days|nowadays|though|"
    r"anyway|lol|haha|actually|currently|again|a lot|a bit|so much|very much|the most|more than anything|lately|recently|"
    r"already|at all|any ?more|any longer|instead|either|please|really|honestly|the best|best|most|well|myself|for now|"
    r"today|in general|of course|you know|and all|and stuff|and so on|and more|etc|or so|or something|on|at|by|since|in|"
    r"from|until|to|of|for|with|and|or|the|a|an|my|our|your|is|are|was|that|who|as|than))+$",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^(?:[\s,.:;*()\[\]~-]+|(?:an? good|an? nice|an? great|a|an|the|some|any|my|our|all|both|to|actually|definitely|probably|just|really|called)\s+)+")
_MARKS = " \t\r\n,.;:!?*~()[]"

_NOTHING = re.compile(
    r"(?:it|its|it's|this|that|that's|these|those|them|they|they're|him|her|his|he|she|you|your|yours|you're|u|ya|me|i|"
    r"i'm|we|us|myself|himself|herself|themselves|yourself|one|ones|each other|everyone|everybody|"
    r"someone|somebody|(?:some|any|every)thing(?! (?:with|involving|that|containing|related|about|made|by|else that))|anyone|anybody|nothing|nobody|none|things|stuff|thing|such|so|how|what|"
    r"whatever|when|where|who|whom|why|which|whether|if|because|not|no|yes|here|there|both|all|way|idea|fact|sound of that|"
    r"look of|looks of|same|other|another|more|most|too|very|really|just|also|only|much|many|lot|bit|part|kind of|"
    r"sort of|such a|day|time|rest|thought|their|'em|em|ours|mine|theirs|got|gonna|being able|able|ever|"
    r"last|first|next|new|person|people|guy|guys|man|girl|woman|place|joke|question|answer)\b",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"(?:my|our|your|his|her|their)\b|the (?!(?:outdoors?|beach|beaches|sea|ocean|mountains?|(?:smell|taste|sounds?|scent|colou?rs?|feel(?:ing)?) of (?!the\b|that|this|it\b|them|those|your)|"
    r"countryside|theat(?:er|re)|opera|gym|cold|heat|rain|snow|winter|summer|autumn|fall|spring|piano|guitar|violin|"
    r"drums?|flute|cello|harp|saxophone|trumpet|ukulele|bass|clarinet|banjo|arts?|(?-i:[A-Z])))",
    re.IGNORECASE,
)
_PAIRS = re.compile(
    r"\b(rock|mac|fish|arts|salt|black|bed|peanut butter|rhythm|drum|pros|science|bread|gin|country|sweet|guns?)"
    r" (?:and|&|n'?) (roll|cheese|chips|crafts|pepper|white|breakfast|jelly|blues|bass|cons|technology|butter|tonic|"
    r"western|sour|roses)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*,\s*(?:and |or |as well as |& )?|\s+(?:and|or|&|as well as|plus)\s+", re.IGNORECASE)
_PREPOSITION = re.compile(r"(?:on|in|at|by|with|for|from|about|under|over|into|out|up)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(?:that|which|who|whose|with|to|is|are|was|were|by|have|has|of|than|where)\b", re.IGNORECASE)

_NAME = r"(?:(?!I\b)[A-Z][\w'-]*[\w]|[A-Z]\.?)"
_NAMES = re.compile(rf"{_NAME}(?: (?:(?:de|van|von|der|den|da|di|del|della|bin|al|la|le|el|ten|y) )*{_NAME}){{0,3}}")
_NO_NAME = frozenset(
    """i i'm i've i'll a an the and but or so my your his her our their it he she we they you this that these those
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december god jesus christ ok okay yes no hey hi hello oh well mr mrs ms miss dr sir
    madam mom mum dad grandma grandpa christmas easter thanksgiving halloween english german french spanish italian
    chinese japanese not what why how when where who thanks please sorry wait just like really because if then there
    here now still also is was are were has had have do does did will would can could should let's lol wow covid ai
    internet tv usa uk dc am pm umm um uh ah er hmm yeah yep nope maybe absolutely definitely exactly great nice cool good sure right look see guess hello""".split()
)
_SMALL_PLACE = re.compile(r"\b(?:in|near|outside|around|of)\s+(?=(?:the )?[A-Z])")
_PLACE = re.compile(
    r"(?:(?:the|downtown|central|north(?:ern)?|south(?:ern)?|east(?:ern)?|west(?:ern)?|upstate|inner|greater|old|new|rural|"
    rf"suburban|mainland) )*{_NAME}(?:(?:,? (?:(?:of|de|la|le|del|am|an|der|upon|on|and|the|do|di) )*){_NAME}){{0,4}}"
)
_ORG = re.compile(
    r"(?:a|an|the|our|my)? ?(?:[\w'&.-]+ ){0,5}?(?:bank|hospital|clinic|school|university|college|company|startup|"
    r"start-up|firm|agency|studio|restaurant|cafe|café|bakery|library|museum|factory|lab|laboratory|institute|shop|store|"
    r"supermarket|office|hotel|practice|ngo|nonprofit|non-profit|charity|newspaper|magazine|airport|airline|police|"
    r"government|council|ministry|department|church|farm|gym|bookstore|bookshop|pharmacy|kindergarten|daycare|nursery|"
    r"zoo|bar|pub|post office|city hall|courthouse|consultancy|business|publisher|corporation|coffee ?(?:shop|house)|"
    r"law firm|call center|warehouse|salon|garage|shelter)\b(?: (?:in|called|named|of) (?:the )?[A-Z][\w' -]*)?",
    re.IGNORECASE,
)


def tidy(words: str) -> str:
    """The words without marks around them and without what hangs on behind, at most 120 characters."""
    words = _RUN_ON.sub("", _END.sub("", " ".join(words.split())))
    if len(words) > MAX_CHARS:
        words = words[: MAX_CHARS + 1].rpartition(" ")[0]
    return _quoted(_LAST.sub("", words))


def _quoted(words: str) -> str:
    words = words.strip(_MARKS + "-–—")
    for mark in "\"'":
        if words.count(mark) == 1 and (words.startswith(mark) or words.endswith(mark)):
            words = words.strip(mark)
        if len(words) > 1 and words[0] == words[-1] == mark and mark not in words[1:-1]:
            words = words[1:-1]
    return words.strip(_MARKS)


def phrase(words: str) -> tuple[str, ...]:
    """A noun or a verb phrase, without an article."""
    if _NOTHING.match(words.strip(" ,'\"")):
        return ()
    words = _FIRST.sub("", tidy(words))
    return (words,) if len(words) > 1 and not _NOTHING.fullmatch(words) else ()


def whole(words: str) -> tuple[str, ...]:
    """A phrase that keeps its article and its beginning."""
    words = tidy(words)
    return (words,) if len(words) > 1 and not _NOTHING.match(words) else ()


def stated(words: str) -> tuple[str, ...]:
    """The words as they are, with what they begin with."""
    words = tidy(words)
    return (words,) if len(words) > 1 else ()


def deeds(words: str) -> tuple[str, ...]:
    """What somebody does: a verb phrase that does not point at what was spoken of."""
    return () if re.search(r"^(?:\w+ ){1,2}(?:it|this|that|them|these|those|you|him|her)\b", words) else whole(words)


def things(words: str) -> tuple[str, ...]:
    """Phrases; a list of short ones is taken apart. What only this conversation knows ("the dress") is none."""
    words = words.strip(" ,")
    if _NOTHING.match(words) or _CONTEXT.match(words):
        return ()
    words = tidy(words)
    if len(words) < 2:
        return ()
    parts = [part.replace("\0", " ") for part in _BETWEEN.split(_PAIRS.sub(_joined, words)) if part]
    if len(parts) == 2 and all(part.istitle() for part in parts) and re.search(r"\w, \w", words):
        return phrase(words)  # San Diego, California
    if len(parts) > 1 and all(_listed(part) for part in parts):
        return tuple(value for part in parts for value in phrase(part))
    return phrase(words)


def _listed(part: str) -> bool:
    """Whether it may stand in a list of its own."""
    return len(part.split()) <= _LIST_WORDS and not _CLAUSE.search(part) and not _PREPOSITION.match(part)


def interests(words: str) -> tuple[str, ...]:
    """Fields of interest, and not what is to be tried or heard of next."""
    if re.match(r"the\b|(?:\w+ing (?:out|more|some|the|these|those|a)|trying|hearing|finding|seeing|knowing|getting|going|checking)\b", words, re.IGNORECASE):
        return ()
    return things(words)


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\0")


def name(words: str) -> tuple[str, ...]:
    """Somebody's name at the beginning of the words, in capitals."""
    found = _NAMES.match(words.strip(" ,'\"*"))
    if found is None:
        return ()
    parts = found[0].removesuffix("'s").split()
    while parts and parts[-1].lower() in _NO_NAME:
        del parts[-1]
    if not parts or parts[0].lower() in _NO_NAME or parts[0].lower() in NATIONALITIES:
        return ()
    return (" ".join(parts),)


def stated_name(words: str) -> tuple[str, ...]:
    """A name where one must stand: also in small letters."""
    if found := name(words):
        return found
    words = tidy(words)
    if not words.islower() or len(words.split()) > 2 or _NOTHING.match(words):
        return ()
    return (words,) if words.replace(" ", "").isalpha() and words.split()[0] not in _NO_NAME else ()


def names(words: str) -> tuple[str, ...]:
    """The names of a list."""
    return tuple(value for part in _BETWEEN.split(words) for value in name(part))


def pet(words: str) -> tuple[str, ...]:
    """An animal and its name: "dog Rex"."""
    found = re.search(rf"(?P<kind>golden retriever|[\w-]+)(?:'s name is| is called| is named| named| called|,)? (?P<name>{_NAMES.pattern})", words)
    if found is None or found["kind"].lower() not in KIN or not (called := name(found["name"])):
        return ()
    return (f"{found['kind'].lower()} {called[0]}",)


def pets(words: str) -> tuple[str, ...]:
    """Animals of a kind with their names: "cats Milo and Luna"."""
    kind, _, called = words.partition(" ")
    return tuple(f"{kind.lower().rstrip('s,:')} {value}" for value in names(re.sub(r"^(?:called|named|are)\s+", "", called)))


def place(words: str) -> tuple[str, ...]:
    """A place with a name; where the words are all in small letters also without capitals."""
    words = words.strip(" ,'\"")
    inside = _SMALL_PLACE.search(words) if not _PLACE.match(words) else None
    found = _PLACE.match(words, inside.end()) if inside else _PLACE.match(words)
    if found is not None:
        place = found[0].removesuffix("'s").strip(" ,.")
        first = place.split()[0].lower()
        return () if first in _NO_NAME and first not in {"the", "uk", "usa", "dc"} else (place.removeprefix("the "),)
    words = tidy(words)
    if not words.islower() or len(words.split()) > 3 or _NOTHING.match(words):
        return ()
    small = re.fullmatch(r"(?!(?:a|an|the|my|our|with|near|on|at|your|small|big|fear|peace|in|by|down|next|alone|together|"
                         r"home|town|downtown|abroad|poverty|hell|sin|one|two|way|different|another|new place|work)\b)"
                         r"[a-z]+(?: [a-z]+){0,2}", words)
    return (words,) if small else ()


def organisation(words: str) -> tuple[str, ...]:
    """Whom somebody works for or where they study: a name, or "a bank"."""
    words = words.strip(" ,'\"")
    named = re.match(rf"(?:the |a |an )?(?:[\w-]+ ){{0,2}}?{_NAME}(?:(?:,? (?:(?:of|for|and|&|de|in|the) )*){_NAME}){{0,5}}", words)
    if named is not None and named[0].split()[0].lower() not in _NO_NAME - {"a", "an", "the"}:
        return phrase(named[0])
    generic = _ORG.match(words)
    return phrase(generic[0]) if generic else ()


def profession(words: str) -> tuple[str, ...]:
    """What somebody is by profession, if it is one."""
    words = re.split(r"\s+(?:at|for|with|in|from|who|that|on|by|here|there|and|or|working|specializing|based|now|to)\s+|,|\s+(?:of)\s+(?=my|our)", tidy(words))[0]
    found = phrase(words)
    return found if found and occupation(found[0].split(" of ")[0]) else ()


def role(words: str) -> tuple[str, ...]:
    """What somebody works as: any noun phrase of a few words."""
    words = re.split(r"\s+(?:at|for|with|in|from|who|that|on|here|there)\s+|,", tidy(words))[0]
    found = phrase(words)
    return found if found and len(found[0].split()) <= 5 else ()


def study(words: str) -> tuple[str, ...]:
    """Subjects that are studied."""
    words = re.split(r"\s+(?:at|from|for|with|on|abroad|right now|under)\b", tidy(words))[0]
    words = re.sub(r"^(?:in|of)\s+", "", words)
    values = []
    for part in re.split(r",? and |, | with a minor in ", words):
        part = _FIRST.sub("", part).strip()
        if len(part.split()) <= 4 and STUDIES.search(part):
            values.append(part)
    return tuple(values)


def technologies(words: str) -> tuple[str, ...]:
    """The techniques that are named."""
    return tuple(dict.fromkeys(found[0].strip() for found in TECHNOLOGY.finditer(words)))


def languages(words: str) -> tuple[str, ...]:
    """The languages that are named."""
    found = [word for word in re.findall(r"[A-Za-z]+", tidy(words)) if word.lower() in LANGUAGES]
    return tuple(dict.fromkeys(word[0].upper() + word[1:] for word in found)) + (("sign language",) if "sign language" in words.lower() else ())


def nationality(words: str) -> tuple[str, ...]:
    """A nationality that the words are."""
    words = re.sub(r"\s+(?:citizen|national|by birth|myself|guy|girl|man|woman|person)$", "", tidy(words), flags=re.IGNORECASE)
    word = _FIRST.sub("", words)
    return (word[0].upper() + word[1:],) if word.lower() in NATIONALITIES else ()


def religion(words: str) -> tuple[str, ...]:
    """A religion, or none, that the words name."""
    found = RELIGIONS.fullmatch(tidy(words))
    return (found["value"],) if found else ()


def ailment(words: str) -> tuple[str, ...]:
    """What troubles somebody's health, where the words are about that."""
    found = AILMENTS.search(" ".join(tidy(words).split()[:7]))
    return phrase(words) if found and not re.search(r"\w(?:ed|ard|one)\b|\bto\b", words[: found.start()]) else ()


def belonging(words: str) -> tuple[str, ...]:
    """What somebody owns, if it is something of lasting use."""
    found = phrase(re.split(r"\s+(?:that|which|from|for|with|in|and|to|on|at)\s", words)[0])
    parts = found[0].lower().split() if found else [""]
    return found if parts[-1] in BELONGINGS or not BRANDS.isdisjoint(parts) else ()


def quantity(words: str) -> tuple[str, ...]:
    """A number."""
    found = re.search(r"\d{1,3}|[a-z]+(?:[- ][a-z]+)?", words, re.IGNORECASE)
    return (found[0],) if found else ()
