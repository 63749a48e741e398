"""What an English sentence asserts, cut into clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PRONOUN = (
    r"(?:i|i'm|i've|i'd|i'll|im|ive|my|we|we're|we've|we'll|our|he|he's|she|she's|they|they're|it|it's|you|your)\b"
)

_OWN = re.compile(r"(?:i|we)\b", re.IGNORECASE)
_OWN_VERB = re.compile(
    r"(?:(?:strongly|much|really|also|usually|generally|always|currently|now|recently|try to|actively) )*(?:prefer|"
    r"avoid|dislike|hate|love|like|enjoy|refuse|do not|don't|only|exclusively|will not|won't|cannot|can't|never|live|"
    r"work|have|am|need to|want to|play|study|own|speak|drive|use|moved|started|decided|follow)\b",
    re.IGNORECASE,
)

_CUT = re.compile(
    r"\s*(?:;|\s[-–]\s|\s?--+\s?|—|\.{2,}|…|\(|\)|!|:\s)\s*"
    r"|,?\s+(?:but|because|'cause|cuz|although|though|even though|while|whereas|which is why|yet)\s+"
    rf"|,?\s+(?:since|so|as|and so|and then|and now|and also|and|or|plus|until|when|if|unless)\s+(?={_PRONOUN})"
    rf"|,?\s+and\s+(?={_OWN_VERB.pattern})"
    rf"|,\s+(?:(?:and|so|then|now|actually|also|plus|well|honestly)\s+)?(?={_PRONOUN})",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\b(?:i|i'm|my|we|me)\b[^\"]*\"", re.IGNORECASE)
_WHOLE = re.compile(r"^\s*\"([^\"]*)\"\s*[.!]?\s*$")

_SUPPOSED = re.compile(
    r"(?:(?:so|and|but|or|well|even|only|as|yeah|yes|no|oh|okay|ok|hey|now|what|also),? )*"
    r"(?:if|unless|whenever|suppos(?:e|ing)|imagine|pretend|assum(?:e|ing)|in case|let's say|what if|as if|as though|"
    r"wish|i wish|role-?play|act as|act like|say that|maybe|perhaps|dear|once upon)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:(?:so|and|but|well|hey|hi|oh|okay|ok|now|then|no|yes|yeah|also|please|sorry|wait|actually|anyway),? "
    r")*(?:\w+, )?(?:what|when|where|who|whom|whose|which|why|how|did|does|do|have|has|had|is|are|was|were|am|can|"
    r"could|would|will|shall|should|may|might|don't|doesn't|didn't|isn't|aren't|wasn't|won't|wouldn't|can't|couldn't|"
    r"haven't|hasn't)\b",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"\b(?:said|says|saying|told (?:me|us|him|her|them)|asked|claims?|heard|dream(?:ed|t)|read that|joked|kidding)"
    r" *,? *(?:that|if|whether)?$",
    re.IGNORECASE,
)

_HEARSAY_CHARS = 30

_LEAD = re.compile(
    r"(?:[\s,.\-*•'\"“]+|\d{1,2}[.)]\s+|(?:well|oh|ah|ooh|wow|yeah|yep|yes|yup|no|nope|nah|hey|hi|hello|hiya|so|and|"
    r"but|or|also|plus|actually|honestly|frankly|personally|basically|anyway|btw|fyi|by the way|to be honest|tbh|ok|"
    r"okay|look|listen|see|sure|right|well then|anyhow|i mean|you know|you see|as you know|i guess|i think|i believe|"
    r"i'd say|i would say|i must say|i have to say|i have to admit|i admit|i must admit|i'm afraid(?! of)|i suppose|"
    r"you know what|oh my god|god|man|dude|um|umm|uh|uhm|hmm|er|haha|lol|thanks|thank you|sorry|please note(?: that)?|"
    r"note that|just so you know|for the record|for context|as i said|like i said|as i mentioned|remember(?: that)?|"
    r"these days|nowadays|currently|right now|at the moment|at present|now|lately|recently|today|in general|generally|"
    r"usually|as usual|in fact|overall|of course|apparently|naturally|obviously|unfortunately|luckily|fortunately|"
    r"sadly|finally|in (?:my|our) (?:free|spare) time|when i have time|outside of work|for fun|(?:on|at|during) "
    r"(?:the )?weekends?|after work|then|again|too|first|firstly|second|secondly|third|lastly|moreover|additionally|"
    r"besides|furthermore|correction|nice to meet you|good morning|good evening|good afternoon|update|great|perfect|"
    r"cool|good|excellent|from now on|going forward|moving forward|in (?:the )?future|as of (?:now|today|this \w+|"
    r"last \w+)|this time|for (?:the (?:last|past) )?(?:\d+|a|an|one|two|three|four|five|six|seven|ten|several|many|a "
    r"few|a couple of) (?:years?|months?|weeks?|decades?))(?=[\s,.!]|$)[,!]?)+",
    re.IGNORECASE,
)
_VOCATIVE = re.compile(r"(?:hey |hi |hello |oh |well |okay |thanks |sorry )?[A-Z][a-z]+,\s+(?=[IiMmWw])")


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that its speaker asserts, without what leads to them ("well,", "to be honest").

    What is asked, supposed, dreamt, or quoted from somebody else is left out.
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
