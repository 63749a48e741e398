"""Rules of English for short answers: the question before tells what they are about."""

from __future__ import annotations

import re
from collections.abc import Callable

from hybrid_memory.facts.rules.english.identity import DAY, NUMBER
from hybrid_memory.facts.rules.english.kinds import (
    languages,
    name,
    nationality,
    organisation,
    place,
    profession,
    quantity,
    study,
    technologies,
)
from hybrid_memory.facts.rules.english.lexicon import KIN, either
from hybrid_memory.facts.rules.english.tastes import favourite
from hybrid_memory.facts.rules.english.values import things, whole
from hybrid_memory.facts.rules.rule import Pattern, Rule, Values

_TOLD = (
    r"(?!(?:thanks|thank|hey|hi|oh|i|you|there|that|this|it|good|great|nice|no|not|none|nope|nothing|never|sorry|why|"
    r"what|how|maybe|who|well|as|if)\b)"
)
_LEAD = r"^(?:(?:well|oh|um|uh|ah|yes|yeah|sure|hmm|hi|hey|haha|okay|so|actually|currently|right now)[,.!]* )*"


def _answer(
    name: str,
    attribute: str | Callable[[re.Match[str]], str],
    question: str,
    answer: str,
    values: Values,
    *,
    confidence: float = 0.8,
    single: bool = False,
) -> Rule:
    return Rule(
        f"en: answer, {name}",
        attribute,
        Pattern(_LEAD + answer, re.IGNORECASE),
        values,
        confidence=confidence,
        single=single,
        after=Pattern(rf"\b(?:{question})[^?.!]{{0,30}}\?\W*$", re.IGNORECASE),
    )


RULES = (
    _answer("name", "name", r"what(?:'s| is) your (?:full |first )?name|may i (?:have|ask|know) your name|what should "
            r"i call you|who am i (?:speaking|talking) (?:to|with)",
            r"(?:it's |it is |i'm |i am |my name is |you can call me |call me )?(?P<value>(?-i:[A-Z])[^.,!]*)", name,
            confidence=0.85),
    _answer("profession", "profession", r"what do you do(?: for (?:a living|work))?|what(?:'s| is) your (?:job|"
            r"profession|occupation|line of work)|what kind of work do you do|what are you working as",
            r"(?:i'm |i am |i work as |i'm working as |being )?(?:an? |the )?(?P<value>[^.!?]+)", profession,
            confidence=0.8),
    _answer("home", "home", r"where do you live|where are you (?:living|based|located)|(?:which|what) (?:city|town|"
            r"country) do you live in|where's home",
            r"(?:i live |i'm living |i'm based |we live )?(?:in |near |at )?(?P<value>[^.!?]+)", place, confidence=0.8),
    _answer("hometown", "hometown", r"where are you (?:originally )?from|where did you grow up|where do you come from|"
            r"where were you born|where'?s your hometown|what(?:'s| is) your hometown",
            r"(?:i'm |i am |i come |i grew up |i was born )?(?:originally )?(?:from |in |near )?(?P<value>[^.!?]+)",
            place, confidence=0.8),
    _answer("age", "age", r"how old are you|what(?:'s| is) your age",
            rf"(?:i'm |i am |i just turned |just turned )?(?P<value>{NUMBER})\b(?! (?:minutes|hours|days))", quantity,
            confidence=0.85),
    _answer("birthday", "birthday",
            r"when(?:'s| is) your birthday|when were you born|what(?:'s| is) your (?:date of birth|birth ?date)",
            rf"(?:it's |it is |my birthday is )?(?:on )?(?P<value>{DAY})", whole, confidence=0.85),
    _answer("employer", "employer",
            r"where do you work|who do you work for|(?:what|which) company do you work (?:for|at)",
            r"(?:i work )?(?:at |for |in )?(?P<value>[^.!?]+)", organisation, confidence=0.75),
    _answer("school", "school", r"where (?:do|did) you (?:study|go to (?:school|college|university|uni))|(?:which|what)"
            r" (?:university|college|school) (?:do|did) you (?:go to|attend)",
            r"(?:i (?:study|studied|go|went|graduated) )?(?:at |to |from )?(?P<value>[^.!?]+)", organisation,
            confidence=0.75),
    _answer("field of study", "field_of_study", r"what (?:do|did|are) you (?:study|studying|major in|majoring in)|"
            r"what(?:'s| is| was) your (?:major|field|degree)",
            r"(?:i (?:study|studied|majored in) |i'm studying )?(?P<value>[^.!?]+)", study, confidence=0.8),
    _answer("nationality", "nationality", r"what(?:'s| is) your nationality|what nationality are you",
            r"(?:i'm |i am )?(?P<value>[\w -]+)", nationality, confidence=0.85),
    _answer("languages", "language", r"(?:what|which|how many) languages do you speak|do you speak any other languages",
            r"(?P<value>[^.!?]+)", languages, confidence=0.8),
    _answer("technology", "technology", r"(?:what|which) (?:programming )?(?:languages?|frameworks?|databases?|stack|"
            r"tools?|editor|ide|tech stack) (?:do|are) you (?:use|using|code in|work with|working with|like)|what(?:'s|"
            r" is) your (?:tech )?stack", r"(?P<value>[^!?]+)", technologies, confidence=0.75),
    _answer("hobbies", "interest", r"what are your hobbies|what(?:'s| is) your hobby|do you have any hobbies|what do "
            r"you (?:like to |love to |enjoy )?do(?:ing)? (?:for fun|in your (?:free|spare) time|outside (?:of )?work)",
            r"(?:mostly |mainly |i (?:like|love|enjoy)(?: to)? |i'm into |yes, )?(?P<value>\w+ing\b[^.!?]*|(?:chess|"
            r"music|sports|books|tennis|football|soccer|photography|yoga|art|video games)\b[^.!?]*)", things,
            confidence=0.75),
    _answer("favourite", lambda asked: favourite(asked["kind"]),
            r"what(?:'s| is| are) your (?:all[- ]time )?(?:favou?rite|fave) (?P<kind>[\w-]+(?: [\w-]+)?)",
            r"(?:it's |it is |that'd be |definitely |probably |i (?:love|like) |my favou?rite is |it would be "
            rf")*{_TOLD}(?P<value>[^.,!?]{{2,50}})[.!]?$", things, confidence=0.75, single=True),
    _answer("allergies", "allergy", r"(?:do you have|any|what are your) (?:any |food )*allerg(?:y|ies)|are you "
            r"allergic to anything|what are you allergic to",
            rf"{_TOLD}(?:yes,? |i'm allergic to |i am allergic to |to )*(?P<value>[^.!?]+)", things, confidence=0.8),
    _answer("relative's name", lambda asked: KIN[asked["kin"].lower()][0],
            rf"what(?:'s| is) your (?P<kin>{either(noun for noun, kind in KIN.items() if kind[0] != 'pet')})(?:'s name|"
            r" called)",
            r"(?:it's |(?:her|his) name is |(?:she|he)'s (?:called |named )?)?(?P<value>(?-i:[A-Z])[^.,!?]*)", name,
            confidence=0.85),
)  # fmt: skip
