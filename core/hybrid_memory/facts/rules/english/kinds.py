"""English values of one kind: names, places, professions, languages; words that are none of the kind are no value."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.english.lexicon import (
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
from hybrid_memory.facts.rules.english.values import BETWEEN, FIRST, NOTHING, phrase, tidy

_MOST_WORDS = 5
_WORDS_OF_SUBJECT = 4
_WORDS_OF_NAME = 2
_WORDS_BEFORE_AILMENT = 7

_NAME = r"(?:(?!I\b)[A-Z][\w'-]*[\w]|[A-Z]\.?)"
_NAMES = re.compile(rf"{_NAME}(?: (?:(?:de|van|von|der|den|da|di|del|della|bin|al|la|le|el|ten|y) )*{_NAME}){{0,3}}")
_NO_NAME = frozenset(
    """i i'm i've i'll a an the and but or so my your his her our their it he she we they you this that these those
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december god jesus christ ok okay yes no hey hi hello oh well mr mrs ms miss dr sir
    madam mom mum dad grandma grandpa christmas easter thanksgiving halloween english german french spanish italian
    chinese japanese not what why how when where who thanks please sorry wait just like really because if then there
    here now still also is was are were has had have do does did will would can could should let's lol wow covid ai
    internet tv usa uk dc am pm umm um uh ah er hmm yeah yep nope maybe absolutely definitely exactly great nice
    cool good sure right look see guess""".split()
)
_SMALL_PLACE = re.compile(r"\b(?:in|near|outside|around|of)\s+(?=(?:the )?[A-Z])")
_PLACE = re.compile(
    r"(?:(?:the|downtown|central|north(?:ern)?|south(?:ern)?|east(?:ern)?|west(?:ern)?|upstate|inner|greater|old|new|"
    rf"rural|suburban|mainland) )*{_NAME}(?:(?:,? (?:(?:of|de|la|le|del|am|an|der|upon|on|and|the|do|di) "
    rf")*){_NAME}){{0,4}}",
)
_ORG = re.compile(
    r"(?:a|an|the|our|my)? ?(?:[\w'&.-]+ ){0,5}?(?:bank|hospital|clinic|school|university|college|company|startup|"
    r"start-up|firm|agency|studio|restaurant|cafe|café|bakery|library|museum|factory|lab|laboratory|institute|shop|"
    r"store|supermarket|office|hotel|practice|ngo|nonprofit|non-profit|charity|newspaper|magazine|airport|airline|"
    r"police|government|council|ministry|department|church|farm|gym|bookstore|bookshop|pharmacy|kindergarten|daycare|"
    r"nursery|zoo|bar|pub|post office|city hall|courthouse|consultancy|business|publisher|corporation|coffee ?(?:shop|"
    r"house)|law firm|call center|warehouse|salon|garage|shelter)\b(?: (?:in|called|named|of) (?:the )?[A-Z][\w' -]*)?",
    re.IGNORECASE,
)
_SMALL = re.compile(
    r"(?!(?:a|an|the|my|our|with|near|on|at|your|small|big|fear|peace|in|by|down|next|alone|together|home|town|downtown|"
    r"abroad|poverty|hell|sin|one|two|way|different|another|new place|work)\b)[a-z]+(?: [a-z]+){0,2}"
)
_ORG_NAME = re.compile(
    rf"(?:the |a |an )?(?:[\w-]+ ){{0,2}}?{_NAME}(?:(?:,? (?:(?:of|for|and|&|de|in|the) )*){_NAME}){{0,5}}"
)
_PET = re.compile(
    r"(?P<kind>golden retriever|[\w-]+)(?:'s name is| is called| is named| named| called|,)? "
    rf"(?P<name>{_NAMES.pattern})"
)
_AFTER_ROLE = re.compile(
    r"\s+(?:at|for|with|in|from|who|that|on|by|here|there|and|or|working|specializing|based|now|to)\s+|,|"
    r"\s+(?:here|there|now)$|\s+of\s+(?=my|our)"
)
_AFTER_SUBJECT = re.compile(r"\s+(?:at|from|for|with|on|abroad|right now|under)\b")
_AFTER_THING = re.compile(r"\s+(?:that|which|from|for|with|in|and|to|on|at)\s")
_CITIZEN = re.compile(r"\s+(?:citizen|national|by birth|myself|guy|girl|man|woman|person)$", re.IGNORECASE)


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
    if not words.islower() or len(words.split()) > _WORDS_OF_NAME or NOTHING.match(words):
        return ()
    return (words,) if words.replace(" ", "").isalpha() and words.split()[0] not in _NO_NAME else ()


def names(words: str) -> tuple[str, ...]:
    """The names of a list."""
    return tuple(value for part in BETWEEN.split(words) for value in name(part))


def pet(words: str) -> tuple[str, ...]:
    """An animal and its name: "dog Rex"."""
    found = _PET.search(words)
    if found is None or found["kind"].lower() not in KIN or not (called := name(found["name"])):
        return ()
    return (f"{found['kind'].lower()} {called[0]}",)


def pets(words: str) -> tuple[str, ...]:
    """Animals of a kind with their names: "cats Milo and Luna"."""
    kind, _, called = words.partition(" ")
    kind = kind.lower().rstrip("s,:")
    return tuple(f"{kind} {value}" for value in names(re.sub(r"^(?:called|named|are)\s+", "", called)))


def place(words: str) -> tuple[str, ...]:
    """A place with a name; where the words are all in small letters also without capitals."""
    words = words.strip(" ,'\"")
    inside = None if _PLACE.match(words) else _SMALL_PLACE.search(words)
    found = _PLACE.match(words, inside.end() if inside else 0)
    if found is not None:
        where = found[0].removesuffix("'s").strip(" ,.")
        first = where.split()[0].lower()
        return () if first in _NO_NAME - {"the", "uk", "usa", "dc"} else (where.removeprefix("the "),)
    words = tidy(words)
    return (words,) if words.islower() and not NOTHING.match(words) and _SMALL.fullmatch(words) else ()


def organisation(words: str) -> tuple[str, ...]:
    """Whom somebody works for or where they study: a name, or "a bank"."""
    words = words.strip(" ,'\"")
    named = _ORG_NAME.match(words)
    if named is not None and named[0].split()[0].lower() not in _NO_NAME - {"a", "an", "the"}:
        return phrase(named[0])
    generic = _ORG.match(words)
    return phrase(generic[0]) if generic else ()


def profession(words: str) -> tuple[str, ...]:
    """What somebody is by profession, if it is one."""
    words = _AFTER_ROLE.split(tidy(words))[0]
    found = phrase(words)
    return found if found and occupation(found[0].split(" of ")[0]) else ()


def role(words: str) -> tuple[str, ...]:
    """What somebody works as: any noun phrase of a few words."""
    words = _AFTER_ROLE.split(tidy(words))[0]
    found = phrase(words)
    return found if found and len(found[0].split()) <= _MOST_WORDS else ()


def study(words: str) -> tuple[str, ...]:
    """Subjects that are studied."""
    words = re.sub(r"^(?:in|of)\s+", "", _AFTER_SUBJECT.split(tidy(words))[0])
    parts = [FIRST.sub("", part).strip() for part in re.split(r",? and |, | with a minor in ", words)]
    return tuple(part for part in parts if len(part.split()) <= _WORDS_OF_SUBJECT and STUDIES.search(part))


def technologies(words: str) -> tuple[str, ...]:
    """The techniques that are named."""
    return tuple(dict.fromkeys(found[0].strip() for found in TECHNOLOGY.finditer(words)))


def languages(words: str) -> tuple[str, ...]:
    """The languages that are named."""
    found = [word for word in re.findall(r"sign language|[A-Za-z]+", tidy(words)) if word.lower() in LANGUAGES]
    return tuple(dict.fromkeys(word[0].upper() + word[1:] for word in found))


def nationality(words: str) -> tuple[str, ...]:
    """A nationality that the words are."""
    word = FIRST.sub("", _CITIZEN.sub("", tidy(words)))
    return (word[0].upper() + word[1:],) if word.lower() in NATIONALITIES else ()


def religion(words: str) -> tuple[str, ...]:
    """A religion, or none, that the words name."""
    found = RELIGIONS.fullmatch(tidy(words))
    return (found["value"],) if found else ()


def ailment(words: str) -> tuple[str, ...]:
    """What troubles somebody's health, where the words are about that."""
    found = AILMENTS.search(" ".join(tidy(words).split()[:_WORDS_BEFORE_AILMENT]))
    return phrase(words) if found and not re.search(r"\w(?:ed|ard|one)\b|\bto\b", words[: found.start()]) else ()


def belonging(words: str) -> tuple[str, ...]:
    """What somebody owns, if it is something of lasting use."""
    found = phrase(_AFTER_THING.split(words)[0])
    parts = found[0].lower().split() if found else [""]
    return found if parts[-1] in BELONGINGS or not BRANDS.isdisjoint(parts) else ()


def quantity(words: str) -> tuple[str, ...]:
    """A number."""
    found = re.search(r"\d{1,3}|[a-z]+(?:[- ][a-z]+)?", words, re.IGNORECASE)
    return (found[0],) if found else ()
