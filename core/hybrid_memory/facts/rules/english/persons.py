"""Persons in English sentences: my wife, Anna, her."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.english.kinds import name
from hybrid_memory.facts.rules.english.lexicon import FEMALE, KIN, MALE, either
from hybrid_memory.facts.rules.rule import OWNER

NOUN = f"(?:{either(KIN)})"
AGED = r"(?:(?:older|younger|elder|eldest|oldest|youngest|little|big|twin|best|dear|close|good|old|new|other) )?"
_WORD = r"[A-Z][A-Za-zÀ-ž]{1,20}(?:['-][A-Za-zÀ-ž]{1,20}){0,2}"
NAMED = rf"(?-i:{_WORD}(?: {_WORD}){{0,2}})"
KINSMAN = rf"(?:my|our) {AGED}{NOUN}\b"
WHO = rf"(?P<who>{KINSMAN}(?:,? {NAMED},?)?|he|she|{NAMED})"
WHOSE = rf"(?P<who>{KINSMAN}(?: {NAMED})?|{NAMED})'s"

_KINSMAN = re.compile(rf"(?:my|our) (?P<aged>{AGED})(?P<noun>{NOUN})(?:,? (?P<name>{NAMED}))?", re.IGNORECASE)
_AGES = {"little": "younger", "big": "older", "elder": "older", "eldest": "oldest"}
_KEPT = frozenset("older younger oldest youngest twin best".split())
_NOBODY = frozenset(
    """this that it there here what who someone somebody everyone everybody nobody one life work love time god which
    today tomorrow yesterday tonight everything nothing something mine yours dinner breakfast lunch music also plus
    maybe perhaps yes no oh well so and but then now sure okay thanks sorry great wow hopefully sounds glad
    guess""".split()
)


def person(words: str, told: str) -> str:
    """Whom the words mean, given what the turn said before."""
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
    """The last person that was spoken of, unless one of the other nouns named them."""
    mentions = list(_KINSMAN.finditer(told))
    if not mentions or KIN[mentions[-1]["noun"].lower()][1] in others:
        return ""
    return _of_owner(mentions[-1])
