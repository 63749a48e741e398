"""Rules of English about standing instructions: what is to be done from now on."""

from __future__ import annotations

import re

from hybrid_memory.facts.attributes import RULE
from hybrid_memory.facts.rules.english.code import singular
from hybrid_memory.facts.rules.english.values import stated
from hybrid_memory.facts.rules.english.wording import rule

_STANDING = (
    r"(?:from now on|going forward|moving forward|in (?:the )?future|henceforth|from here on(?: out)?|from today "
    r"on(?:wards)?|starting (?:today|now|tomorrow)|as of (?:now|today)|by default|whenever possible)"
)
_DO = (
    r"(?:use|add|include|write|start|begin|end|put|prefix|suffix|name|import|ask|answer|reply|respond|keep|explain|"
    r"give|show|format|run|check|cite|sort|return|convert|round|tag|document|annotate|append|wrap|avoid|mention|"
    r"address|speak|send|remind|book|choose|suggest|recommend|assume|follow|create|commit|push|delete|change|touch|"
    r"edit|skip|list|translate|confirm|offer|order|schedule|indent|quote|link|sign|leave|log|validate|test|call|refer "
    r"to|treat|provide|prefer|limit|stop|be|do|make)"
)
_DETERMINERS = re.compile(
    r"^(?:(?:any|all|the|your|our|my|an?|some|every|each|more|only|in|with|to|for|me|us|using|the use of) )+",
    re.IGNORECASE,
)
_AFTER_OBJECT = re.compile(
    r"\b(?:with|in|for|to|when|at|as|from|on|by|before|after|of|that|unless|if|and|or|instead|while|without|into)\b|"
    r"[,.;:]",
)
_PASSING = re.compile(r"(?:be|do|make|call|leave|stop|push|touch|change)\b", re.IGNORECASE)
_TOLD = re.compile(r"\b(?:please|you)\b", re.IGNORECASE)
_VAGUE = re.compile(
    r"\b(?:it|that|this|these|those|them|him|her|you|again|me|one|so|there|here|up|down|yourself|us|what|how|why|mind|"
    r"sure)\b",
)


def _about(found: re.Match[str]) -> str:
    """The object of a general instruction in the singular, or else its verb."""
    words = _AFTER_OBJECT.split(_DETERMINERS.sub("", found["rest"].strip()), maxsplit=1)[0].strip().lower()
    if _VAGUE.search(words):
        return ""
    return RULE + (singular(" ".join(words.split()[-2:])) if words else found["do"].lower())


def _meant(found: re.Match[str]) -> bool:
    """Whether somebody is told to do so: "never do that" is said in passing."""
    return _PASSING.match(found["do"]) is None or _TOLD.search(found.string) is not None


def _instruction(words: str) -> tuple[str, ...]:
    return tuple(value for value in stated(words) if " " in re.sub(r"^(?:always|never|don't|do not|only) ", "", value))


RULES = (
    rule("always do", _about, rf"^(?:(?:please|and|so|also|remember(?: to)?|{_STANDING},?|you should|you must|make "
         r"sure (?:to|you|that you)|i(?:'d like| want| need) you to|be sure to|we) )*(?P<value>(?:always|never|don't "
         rf"ever|do not ever) (?P<do>{_DO})\b ?(?P<rest>.+))", _instruction, "always", "never", "ever ",
         confidence=0.75, guard=_meant),
    rule("from now on", _about, rf"^(?:please,? )?{_STANDING},? (?:(?:please|you should|you must|make sure (?:to|you|"
         r"that you)|i(?:'d like| want| need) (?:you|us) to(?: start)?|be sure to|always|also) )*(?P<value>(?:never |"
         rf"don't |do not |always |only |no longer )?(?P<do>{_DO})\b ?(?P<rest>.+))", _instruction, "from", "forward",
         "future", "hence", "start", "as of", "default", "possible", confidence=0.75, sentence=True),
    rule("from now on, behind", _about, r"^(?:(?:please|and|so|also|okay|great|good|now|perfect),? "
         rf")*(?P<value>(?:never |don't |do not |always |only )?(?P<do>{_DO}) (?P<rest>[^,]{{3,80}}?)),? "
         rf"{_STANDING}[.!]?$", _instruction, "from", "forward", "future", "default", confidence=0.75, sentence=True),
)  # fmt: skip
