"""The rules for English, and how to apply them."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.english.clauses import clauses, person
from hybrid_memory.facts.rules.english.rules import RULES
from hybrid_memory.facts.rules.rule import Language
from hybrid_memory.text.patterns import lazy

ENGLISH = Language(
    name="en",
    script=lazy(r"[A-Za-z]{2}|\b[Ii]\b"),
    rules=RULES,
    clauses=clauses,
    person=person,
    correction=lazy(
        r"^(?:(?:no|not|sorry|oops|wait|i mean|i meant|correction|actually|it's|it is|that's|that should be|make that|"
        r"should be|rather),? )*(?!(?:i|we|he|she|they|you|it|this|that|my)\b)"
        r"(?P<value>[\w'-]+(?: [\w'-]+){0,4}),? (?:and )?not (?P<wrong>[\w' -]{1,60})$",
        re.IGNORECASE,
    ),
    contrast=lazy(r"^(?P<value>.{1,80}?)(?:,| and|, and) not (?P<wrong>[\w' -]{1,60})$", re.IGNORECASE),
    handover=lazy(
        r"^(?:please |can you |could you |hey,? )*(?:translate|proofread|rewrite|paraphrase|rephrase|summari[sz]e|edit|"
        r"correct|revise|polish|shorten|improve|fix|analy[sz]e|continue|complete)\b.{0,80}"
        r"(?::|\b(?:following|below|this (?:text|email|letter|essay|paragraph|passage|story|article|sentence))\b)",
        re.IGNORECASE,
    ),
)
