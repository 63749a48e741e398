"""English phrases as values: what is kept of the words that a rule found, and what is no value."""

from __future__ import annotations

import re

MAX_CHARS = 120
_SHORTEST = 2
_LIST_WORDS = 4

_END = re.compile(
    r"\s*(?:[;!?\[]|\.(?=\s|$)|\s[-–—]\s|…).*$|,?\s+(?:because|cause|cuz|since|so that|so|but|although|though|while|"
    r"whereas|if|unless|whenever|when|as (?:i|it|they|he|she|we|my|much|well|long|soon)|due to|thanks to|which|even "
    r"(?:if|though)|in case|for (?:years|ages|a (?:while|long time)|(?:about |over |almost |nearly )?(?:the (?:past|"
    r"last) )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|several|many|some|a few|a couple(?: of)?) (?:years|"
    r"months|weeks|decades)))\b.*$|,\s+(?:and (?:the|this|that|there|it|he|she|they|a|an|my|our|so|then)|so|right|you "
    r"know|i|my|it|they|we|he|she|you|thanks|please|too|though|actually|that|just|especially|including|how|what|where|"
    r"something|even|maybe|of course|like|haha|lol|now|then)\b.*$|\s+or (?:sometimes |maybe |just )*(?:i|we|just|"
    r"maybe)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_RUN_ON = re.compile(
    r"\s+(?:it's|it is|that's|they're|there's|this is|i'm|i've|i am|we're|for (?:its|their|his|her|the way))\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_ANOTHER = re.compile(
    r"\s+and (?:need|needed|want|wanted|would|was|were|am|i'm|considering|wondering|looking|met|trying|have|had|could|"
    r"can|will)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_LAST = re.compile(
    r"(?:\s+like (?:that|this|these|those)|\s*[\s,.;:!?*()\[\]~…–—-]+|[\s,]+(?:now|too|as well|also|right now|at the "
    r"moment|these days|nowadays|though|anyway|lol|haha|actually|currently|again|a lot|a bit|so much|very much|the "
    r"most|more than anything|lately|recently|already|at all|any ?more|any longer|instead|either|please|really|"
    r"honestly|the best|best|most|well|myself|for now|today|in general|of course|you know|and all|and stuff|and so on|"
    r"and more|etc|or so|or something|on|at|by|since|in|from|until|to|of|for|with|and|or|the|a|an|my|our|your|is|are|"
    r"was|that|who|as|than|before|after))+$",
    re.IGNORECASE,
)
FIRST = re.compile(
    r"^(?:[\s,.:;*()\[\]~-]+|(?:an? (?:good|nice|great|bit of|little)|own|(?:kind|type|sort|form)s? of|a|an|the|some|"
    r"any|my|our|all|both|to|actually|definitely|probably|just|really|called)\s+|(?:The|My|Our|A|An|Some)\s+(?=[a-z])"
    r")+",
)
_MARKS = " \t\r\n,.;:!?*~()[]"

NOTHING = re.compile(
    r"(?:it|its|it's|this|that|that's|these|those|them|they|they're|him|her|his|he|she|you|your|yours|you're|u|ya|me|"
    r"i|i'm|we|us|myself|himself|herself|themselves|yourself|one|ones|each other|everyone|everybody|someone|somebody|"
    r"(?:some|any|every)thing(?! (?:with|involving|that|containing|related|about|made|by|else that))|anyone|anybody|"
    r"nothing|nobody|none|things|stuff|thing|such|so|how|what|whatever|when|where|who|whom|why|which|whether|if|"
    r"because|not|no|yes|here|there|both|all|way|idea|fact|sound of that|look of|looks of|same|other|another|more|"
    r"most|too|very|really|just|also|only|much|many|lot|bit|part|kind of|sort of|such a|day|time|rest|thought|their|"
    r"'em|em|ours|mine|theirs|got|gonna|being able|able|ever|last|first|next|new|person|people|guy|guys|man|girl|"
    r"woman|place|joke|question|answer)\b",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"(?:my|our|your|his|her|their)\b|the (?!(?:outdoors?|beach|beaches|sea|ocean|mountains?|(?:smell|taste|sounds?|"
    r"scent|colou?rs?|feel(?:ing)?) of (?!the\b|that|this|it\b|them|those|your)|countryside|theat(?:er|re)|opera|gym|"
    r"cold|heat|rain|snow|winter|summer|autumn|fall|spring|piano|guitar|violin|drums?|flute|cello|harp|saxophone|"
    r"trumpet|ukulele|bass|clarinet|banjo|arts?|(?-i:[A-Z])))",
    re.IGNORECASE,
)
_LIKE_THAT = re.compile(r"\blike (?:that|this|these|those)[\s.,!]*$", re.IGNORECASE)
_PARTICLE = re.compile(r"\b(?:in|out|up|on|off|over|down|around|away|by)$", re.IGNORECASE)
_ANYTHING = frozenset(
    """places place spots spot stories story cup project projects theme moments moment ones idea ideas look video videos
    picture pictures photo photos post posts part parts details question questions view views vibe energy""".split()
)
_QUALITY = re.compile(
    r"\b(?:\w+(?:ous|ful|ive|able|ible|less|ic|ical|al|ish|ly|ent|ant|ary|ern|ed|er|est)|[\w-]+-(?:free|based|owned|"
    r"cost|friendly|made)|large|big|small|hot|cold|warm|modern|clean|clear|simple|quiet|loud|spicy|sweet|dark|light|"
    r"old|new|vegan|strong|bold|cozy|healthy|fresh|crowded|high|low|fast|slow|unique|long|short|soft|rich|smooth|busy|"
    r"noisy|cheap|good|bad|great|detective|historic|funny|scary|sad|happy|creamy|fruity|salty|sour|bitter|crispy|"
    r"crunchy|easy|hard|heavy)$",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(rf"(?:{_QUALITY.pattern.removesuffix('$')}) \w", re.IGNORECASE)
_NEXT = re.compile(
    r"the\b|(?:\w+ing (?:out|more|some|the|these|those|a)|trying|hearing|finding|seeing|knowing|understanding|"
    r"learning (?:more|about|how)|getting|going|checking)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"(?:\w+ ){1,2}(?:it|this|them|these|those|you|him|her|that$)\b")
_CITY_AND_STATE = re.compile(r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*, [A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_PAIRS = re.compile(
    r"\b(rock|mac|fish|arts|salt|black|bed|peanut butter|rhythm|drum|pros|science|bread|gin|country|sweet|guns?)"
    r" (?:and|&|n'?) (roll|cheese|chips|crafts|pepper|white|breakfast|jelly|blues|bass|cons|technology|butter|tonic|"
    r"western|sour|roses)\b",
    re.IGNORECASE,
)
BETWEEN = re.compile(r"\s*,\s*(?:and |as well as |& )?|\s+(?:and|&|as well as|plus)\s+", re.IGNORECASE)
_PREPOSITION = re.compile(r"^(?:on|in|at|by|with|for|from|about|under|over|into|out|up)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\b(?:that|which|who|whose|with|to|is|are|was|were|by|have|has|of|than|where|or|containing|involving|including|"
    r"like)\b",
    re.IGNORECASE,
)


def tidy(words: str) -> str:
    """The words without marks around them and without what hangs on behind, at most 120 characters."""
    words = _ANOTHER.sub("", _RUN_ON.sub("", _END.sub("", " ".join(words.split()))))
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
    if NOTHING.match(words.strip(" ,'\"")):
        return ()
    words = FIRST.sub("", tidy(words))
    if len(words) < _SHORTEST or NOTHING.fullmatch(words) or words.lower() in _ANYTHING:
        return ()
    return (words,)


def whole(words: str) -> tuple[str, ...]:
    """A phrase that keeps its article and its beginning."""
    words = tidy(words)
    return (words,) if len(words) >= _SHORTEST and not NOTHING.match(words) else ()


def stated(words: str) -> tuple[str, ...]:
    """The words as they are, with what they begin with."""
    words = tidy(words)
    return (words,) if len(words) >= _SHORTEST else ()


def deeds(words: str) -> tuple[str, ...]:
    """What somebody does: a verb phrase that does not point at what was spoken of."""
    return () if _POINTING.match(words) else whole(words)


def things(words: str) -> tuple[str, ...]:
    """Phrases; a list of short ones is taken apart. What only this conversation knows ("the dress") is none."""
    words = words.strip(" ,")
    if NOTHING.match(words) or _CONTEXT.match(words) or _LIKE_THAT.search(words):
        return ()
    words = tidy(words)
    if _CITY_AND_STATE.fullmatch(words):
        return phrase(words)
    parts = [part.replace("\0", " ") for part in BETWEEN.split(_PAIRS.sub(_joined, words)) if part]
    if len(parts) > 1 and all(_listed(part) for part in parts) and not _qualify(parts):
        return tuple(value for part in parts for value in phrase(part))
    return phrase(words)


def _listed(part: str) -> bool:
    """Whether it may stand in a list of its own."""
    return len(part.split()) <= _LIST_WORDS and not any(
        unlisted.search(part) for unlisted in (_CLAUSE, _PREPOSITION, _PARTICLE)
    )


def aversions(words: str) -> tuple[str, ...]:
    """Like `things`, but a quality of the first holds for all: "animated films and shows" stays whole."""
    parts = BETWEEN.split(tidy(words))
    return phrase(words) if any(_QUALIFIED.search(part) for part in parts) and things(words) else things(words)


def _qualify(parts: list[str]) -> bool:
    """Whether the first ones only qualify the last: "large, sprawling resorts"."""
    return " " in parts[-1] and any(_QUALITY.search(part) for part in parts[:-1])


def interests(words: str) -> tuple[str, ...]:
    """Fields of interest, and not what is to be tried or heard of next."""
    return () if _NEXT.match(words) else things(words)


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\0")
