"""Splits the assertions of an English sentence into clauses, and resolves whom they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybrid_memory.facts.rules.english.lexicon import FEMALE, KIN, MALE, either
from hybrid_memory.facts.rules.english.values import name
from hybrid_memory.facts.rules.rule import OWNER
from hybrid_memory.text.patterns import lazy

_PRONOUN = (
    r"(?:i|i'm|i've|i'd|i'll|im|ive|my|we|we're|we've|we'll|our|he|he's|she|she's|they|they're|it|it's|you|your)\b"
)

_OWN = lazy(r"(?:i|we)\b", re.IGNORECASE)
_OWN_VERB = lazy(
    r"(?:(?:strongly|much|really|also|usually|generally|always|currently|now|recently|try to|actively) )*(?:prefer|"
    r"avoid|dislike|hate|love|like|enjoy|refuse|do not|don't|only|exclusively|will not|won't|cannot|can't|never|live|"
    r"work|have|am|need to|want to|play|study|own|speak|drive|use|moved|started|decided|follow)\b",
    re.IGNORECASE,
)

_CUT = lazy(
    r"\s*(?:;|\s[-–]\s|\s?--+\s?|—|\.{2,}|…|\(|\)|!|:\s)\s*"
    r"|,?\s+(?:but|because|'cause|cuz|although|though|even though|while|whereas|which is why|yet)\s+"
    rf"|,?\s+(?:since|so|as|and so|and then|and now|and also|and|or|plus|until|when|if|unless)\s+(?={_PRONOUN})"
    rf"|,?\s+and\s+(?={_OWN_VERB.pattern})"
    rf"|,\s+(?:(?:and|so|then|now|actually|also|plus|well|honestly)\s+)?(?={_PRONOUN})",
    re.IGNORECASE,
)
_QUOTED = lazy(r"\"[^\"]*\b(?:i|i'm|my|we|me)\b[^\"]*\"", re.IGNORECASE)
_WHOLE = lazy(r"^\s*\"([^\"]*)\"\s*[.!]?\s*$")

_SUPPOSED = lazy(
    r"(?:(?:so|and|but|or|well|even|only|as|yeah|yes|no|oh|okay|ok|hey|now|what|also),? )*"
    r"(?:if|unless|whenever|suppos(?:e|ing)|imagine|pretend|assum(?:e|ing)|in case|let's say|what if|as if|as though|"
    r"wish|i wish|role-?play|act as|act like|say that|maybe|perhaps|dear|once upon)\b",
    re.IGNORECASE,
)
_ASKING = lazy(
    r"(?:(?:so|and|but|well|hey|hi|oh|okay|ok|now|then|no|yes|yeah|also|please|sorry|wait|actually|anyway),? "
    r")*(?:\w+, )?(?:what|when|where|who|whom|whose|which|why|how|did|does|do|have|has|had|is|are|was|were|am|can|"
    r"could|would|will|shall|should|may|might|don't|doesn't|didn't|isn't|aren't|wasn't|won't|wouldn't|can't|couldn't|"
    r"haven't|hasn't)\b",
    re.IGNORECASE,
)
_HEARSAY = lazy(
    r"\b(?:said|says|saying|told (?:me|us|him|her|them)|asked|claims?|heard|dream(?:ed|t)|read that|joked|kidding)"
    r" *,? *(?:that|if|whether)?$",
    re.IGNORECASE,
)

_HEARSAY_CHARS = 30

_LEAD = lazy(
    r"(?:[\s,.\-*•'\"“]+|\d{1,2}[.)]\s+|(?:well|oh|ah|wow|yeah|yep|yes|yup|no|nope|nah|hey|hi|hello|so|and|but|or|"
    r"also|plus|actually|honestly|frankly|personally|basically|anyway|btw|fyi|by the way|to be honest|tbh|ok|okay|"
    r"look|listen|see|sure|right|i mean|you know|you see|i guess|i think|i believe|i'd say|i must say|i have to "
    r"(?:say|admit)|i admit|i suppose|man|dude|um|uh|hmm|er|haha|lol|thanks|thank you|sorry|(?:please )?note(?: "
    r"that)?|just so you know|for the record|as i said|these days|(?:please )?remember(?: that)?|nowadays|"
    r"currently|right now|at the moment|now|lately|recently|today|in general|generally|usually|in fact|overall|of "
    r"course|(?:it )?turns out(?: that)?|(?:my|the) (?:doctor|dentist|allergist|test|vet)s? (?:says?|said|confirmed|"
    r"showed)(?: that)?|apparently|obviously|unfortunately|luckily|fortunately|sadly|finally|"
    r"in (?:my|our) (?:free|spare) time|(?:on|at) (?:the )?weekends?|then|again|too|first|second|"
    r"lastly|besides|correction|nice to meet you|good (?:morning|evening|afternoon)|update|great|perfect|cool|good|"
    r"from now on|going forward|as of (?:now|today))(?=[\s,.!]|$)[,!]?)+",
    re.IGNORECASE,
)
_VOCATIVE = lazy(r"(?:hey |hi |hello |oh |well |okay |thanks |sorry )?[A-Z][a-z]+,\s+(?=[IiMmWw])")


def clauses(sentence: str) -> list[str]:
    """The clauses that a sentence's speaker asserts, without introductory words ("well,", "to be honest").

    Questions, assumptions, dreams and quotations of others are left out.
    """
    whole = _WHOLE.match(sentence)
    text = whole[1] if whole else _QUOTED.sub("…", sentence)
    asks = text.rstrip(" \"')").endswith("?")
    if _SUPPOSED.match(text) or (asks and _ASKING.match(_bare(text))):
        return []
    parts = list(_parts(text))
    if asks:
        del parts[-1:]
    return [part for part in parts if part]


def _parts(text: str) -> Iterator[str]:
    start = 0
    hearsay = supposed = joined = False
    subject = ""
    for cut in [*_CUT.finditer(text), None]:
        part = text[start : cut.start() if cut else len(text)]
        bare = _bare(part)
        if joined and _OWN_VERB.match(bare) and (own := _OWN.match(subject)):
            bare = f"{own[0]} {bare}"
        subject, joined = bare, cut is not None and re.search(r"\b(?:and|but)\b", cut[0]) is not None
        yield "" if hearsay or supposed or _SUPPOSED.match(bare) else bare
        hearsay = _HEARSAY.search(part[-_HEARSAY_CHARS:]) is not None
        if cut:
            start = cut.end()
            supposed = re.search(r"\b(?:if|unless|when|until)\b", cut[0], re.IGNORECASE) is not None


def _bare(part: str) -> str:
    lead = _LEAD.match(part)
    part = part[lead.end() :] if lead else part
    vocative = _VOCATIVE.match(part)
    part = part[vocative.end() :] if vocative else part
    lead = _LEAD.match(part)
    return (part[lead.end() :] if lead else part).strip(" .,\t")


NOUN = f"(?:{either(KIN)})"
AGED = r"(?:(?:older|younger|elder|eldest|oldest|youngest|little|big|twin|best|dear|close|good|old|new|other) )?"
_WORD = r"[A-Z][A-Za-zÀ-ž]{1,20}(?:['-][A-Za-zÀ-ž]{1,20}){0,2}"
NAMED = rf"(?-i:{_WORD}(?: {_WORD}){{0,2}})"
KINSMAN = rf"(?:my|our) {AGED}{NOUN}\b"
WHO = rf"(?P<who>{KINSMAN}(?:,? {NAMED},?)?|he|she|{NAMED})"

_KINSMAN = lazy(rf"(?:my|our) (?P<aged>{AGED})(?P<noun>{NOUN})(?:,? (?P<name>{NAMED}))?", re.IGNORECASE)
_AGES = {"little": "younger", "big": "older", "elder": "older", "eldest": "oldest"}
_KEPT = frozenset("older younger oldest youngest twin best".split())
_NOBODY = frozenset(
    """this that it there here what who someone somebody everyone everybody nobody one life work love time god which
    today tomorrow yesterday tonight everything nothing something mine yours dinner breakfast lunch music also plus
    maybe perhaps yes no oh well so and but then now sure okay thanks sorry great wow hopefully sounds glad
    guess""".split()
)


def person(words: str, told: str) -> str:
    """The person that the words refer to, given what the turn said before."""
    words = words.strip(" ,")
    if words.lower() in {"he", "she"}:
        return _spoken_of(told, MALE if words.lower() == "she" else FEMALE)
    kinsman = _KINSMAN.fullmatch(words)
    if kinsman is not None:
        return _of_owner(kinsman)
    found = name(words)
    return found[0] if found and found[0].lower() not in _NOBODY else ""


def _of_owner(found: re.Match[str]) -> str:
    if found["name"] and (called := name(found["name"])):
        return called[0]
    aged = found["aged"].strip().lower()
    aged = _AGES.get(aged, aged)
    noun = KIN[found["noun"].lower()][1]
    return f"{OWNER}'s {aged} {noun}" if aged in _KEPT else f"{OWNER}'s {noun}"


def _spoken_of(told: str, others: frozenset[str]) -> str:
    """The last person mentioned, unless one of the other nouns refers to them."""
    mentions = list(_KINSMAN.finditer(told))
    if not mentions or KIN[mentions[-1]["noun"].lower()][1] in others:
        return ""
    return _of_owner(mentions[-1])
