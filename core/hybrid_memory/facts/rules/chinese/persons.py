"""Persons in Chinese sentences: 我妻子, 小丽, 她."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.chinese.lexicon import FEMALE, KIN, MALE, either
from hybrid_memory.facts.rules.chinese.wording import NAME
from hybrid_memory.facts.rules.rule import OWNER

_NOUNS = either(KIN)
_KINSMAN = re.compile(rf"(?:我们?(?:家|的)?|咱)(?:的|那个?|这个?)?(?:一个|一位)?(?P<noun>{_NOUNS})(?P<name>{NAME})?")
_BARE = re.compile(rf"(?P<noun>{_NOUNS})(?P<name>(?!))?")


def person(words: str, told: str) -> str:
    """Whom the words mean, given what the turn said before; something that is no person is called as it is said."""
    words = words.strip()
    if words in {"他", "她"}:
        return _spoken_of(told, FEMALE if words == "她" else MALE)
    words = re.sub(r"(?<=.)[他她]们?$", "", words)
    found = _KINSMAN.fullmatch(words) or _BARE.fullmatch(words)
    return words if found is None else _of_owner(found)


def _of_owner(found: re.Match[str]) -> str:
    return found["name"] or f"{OWNER}'s {KIN[found['noun']][1]}"


def _spoken_of(told: str, nouns: frozenset[str]) -> str:
    """The last person that was spoken of, unless such a noun cannot name them."""
    mentions = list(_KINSMAN.finditer(told))
    if not mentions:
        return ""
    noun = KIN[mentions[-1]["noun"]][1]
    gendered = noun in MALE or noun in FEMALE
    return _of_owner(mentions[-1]) if noun in nouns or not gendered else ""
