"""Rules of English about conventions of code: how things are named, and what belongs into them."""

from __future__ import annotations

import re

from hybrid_memory.facts.attributes import RULE
from hybrid_memory.facts.rules.english.values import stated
from hybrid_memory.facts.rules.english.wording import rule

_NOUNS = (
    r"(?:(?:function|method) (?:arguments?|parameters?)|arguments?|parameters?|methods?|functions?|variables?|"
    r"class(?:es)?|attributes?|constants?|modules?|files?|branch(?:es)?|tables?|columns?|fields?|tests?|interfaces?|"
    r"enums?|packages?|components?|endpoints?|properties|property)"
)
_THING = rf"(?P<object>{_NOUNS})\b"
_NAMES = (
    r"(?:(?:all|any|every|each|the|your|our|my|new|of) )*(?:names? (?:of|for) (?:(?:all|the|your|our|any) "
    rf")*)?{_THING}(?:'s?)?(?: names?| naming)?"
)
_LITERAL = (
    r"(?P<token>'(?!@)[^']{1,24}'|\"(?!@)[^\"]{1,24}\"|`(?!@)[^`]{1,24}`|\b[a-z]{1,8}_(?!\w)|(?<!\w)_[a-z]{1,8}\b)"
)
_DECORATOR = r"(?P<token>['\"`]?@\w+['\"`]?) decorators?"
_MODULE = r"(?P<token>'\w+'|\"\w+\"|`\w+`)"
_AFFIX = r"(?:start|end|begin|finish|prefix|suffix|precede|append|prepend)"
_WITH = r"(?:with|by|using|in|adding)"
_SOME = r"(?:(?:an?|the|letters?|characters?|string|lower-?case|upper-?case|prefix|suffix|of) )*"
_PART = (
    r"(?:(?:an? |one )?(?:single[- ])?(?:digit|number)\b|(?:the )?(?:string|substring|text|word|sequence|characters?) "
    r"(?P<token>'[^']{1,24}'|\"[^\"]{1,24}\"|`[^`]{1,24}`)|snake[_ -]?case|camel[_ -]?case|pascal[_ -]?case|kebab[_ "
    r"-]?case|(?:all[- ])?(?:upper|lower)[- ]?case(?: letters)?)"
)
_CONTENT = (
    r"(?P<what>docstrings?|(?:type |function |method )?annotations?|type hints?|try(?:[- /](?:except|catch))?(?: "
    r"statements?| blocks?)|assert(?:ion)?s?(?: statements?)?|unit tests?|comments?|error handling|logging)"
)
_HAS = (
    r"(?:use|include|add|write|have|has|incorporate|put|provide|contain|insert|using|including|adding|incorporating|"
    r"writing|use of|avoid|skip|leave out|omit|comment|document)"
)

_NO = r"(?:(?:never|don't|do not|avoid|stop|no longer|not) )?"

_ORDER = re.compile(
    r"\b(?:always|never|make sure|ensure|(?:want|need|like|expect|ask|require) (?:you|us|everyone|the team)|please|"
    r"remember to|must|should|important|crucial|essential|from now on|going forward|moving forward|practice|convention|"
    r"standard|rule|guideline|let's|we (?:start|use|follow|always|now|end)|has to|have to|need to|don't forget|"
    r"emphasi[sz]e|required)\b"
    r"|^(?:(?:also|and|firstly|secondly|additionally|finally|next|then|instead|first|second|so),? )*"
    r"(?:use|include|add|write|avoid|don't|do not|start|end|begin|name|prefix|suffix|for|when|import|in)\b",
    re.IGNORECASE,
)
_ECHO = re.compile(
    r"\b(?:i'll|i will|i shall|i'm going to|i am going to|i understand|understood|i see|i've been|i used to|got it|"
    r"noted|i can|i'd be|let me|i should|should i|do i|i always|i started|i just|i added|i'm using|i have been)\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"\b(?:start|begin|prefix|preced|prepend)\w*", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:end|finish|suffix|append)\w*", re.IGNORECASE)


def _instructs(found: re.Match[str]) -> bool:
    """Whether the sentence tells somebody to do so, and is no promise and no tale."""
    return _ORDER.search(found.string) is not None and _ECHO.search(found.string[: found.end()]) is None


def singular(words: str) -> str:
    """The noun without the ending of the plural."""
    words = words.lower()
    if words.endswith("ies"):
        return f"{words[:-3]}y"
    return re.sub(r"(?<=ss|ch|sh)es$|(?<![sui])s$", "", words)


def _object(found: re.Match[str]) -> str:
    noun = singular(found["object"]).replace("parameter", "argument")
    return "function argument" if noun.endswith("argument") else noun


def _plain(found: re.Match[str]) -> str:
    return found["token"].strip("'\"`")


def _affix(found: re.Match[str]) -> str:
    """Whether names begin or end with something: the last such word before it says so."""
    before = found.string[: found.start("token")]
    begins, ends = (max((verb.start() for verb in verbs.finditer(before)), default=-1) for verbs in (_BEGINS, _ENDS))
    part = "prefix" if begins > ends else "suffix"
    return f"{RULE}{_object(found)} name {part}" if begins != ends else ""


def _part(found: re.Match[str]) -> str:
    """What of a name the rule is about: a digit in it, its case, or some text."""
    words = found["part"].lower()
    kind = "case" if "case" in words else "digit" if re.search(r"digit|number", words) else "part"
    return f"{RULE}{_object(found)} name {kind}"


def _content(found: re.Match[str]) -> str:
    what = re.sub(r"(?:[- /](?:except|catch))?(?: statements?| blocks?)$", "", found["what"].lower())
    what = {"type hint": "annotation", "assertion": "assert"}.get(singular(what), singular(what))
    what = what.removeprefix("type ").removeprefix("function ").removeprefix("method ")
    return f"{RULE}{_object(found)} {what}"


_LITERAL_CUES = (" '", ' "', " `", "_")
_PART_CUES = ("digit", "number", "string", "substring", "text", "word", "sequence", "character", "case")
_CONTENT_CUES = (
    "docstring", "annotation", "type hint", "try-", "try/", "try s", "try b", "assert", "unit test", "comment",
    "error handling", "logging",
)  # fmt: skip

RULES = (
    rule("start names with", _affix, rf"(?P<value>\b{_NO}{_AFFIX}(?:ing|s|es)? {_NAMES} {_WITH} {_SOME}{_LITERAL})",
         stated, *_LITERAL_CUES, guard=_instructs, confidence=0.85, sentence=True),
    rule("and others with", _affix, rf"(?<=\band )(?P<value>{_NAMES} {_WITH} {_SOME}{_LITERAL})", stated,
         *_LITERAL_CUES, guard=_instructs, confidence=0.8, sentence=True),
    rule("names start with", _affix, rf"(?P<value>{_NAMES}(?: (?:should|must|need to|have to|are to|will|shall|now|"
         rf"always|still|to|can))* {_AFFIX}(?:s|ed|ing)? {_WITH} {_SOME}{_LITERAL})", stated, *_LITERAL_CUES,
         guard=_instructs, confidence=0.85, sentence=True),
    rule("for names, start with", _affix, rf"{_NAMES}\b[^.;]{{0,80}}?(?P<value>\b(?:{_AFFIX}(?:ing)?(?: (?:it|them|"
         rf"each|each one|all of them|(?:the|their|its|your) [\w ]{{0,20}}(?:names?|identifiers?)))?|(?:use|using|add|"
         rf"adding|apply|append|have|with) (?:the |an? )?(?:[\w-]+ )?(?:prefix|suffix)(?: of)?) ?(?:{_WITH} "
         rf")?{_SOME}{_LITERAL})", stated, *_LITERAL_CUES, guard=_instructs, confidence=0.85, sentence=True),
    rule("a part of names", _part, rf"(?P<value>\b{_NO}{_HAS} (?P<part>{_PART})[^.;,]{{0,30}}? (?:in|for|within|to|of|"
         rf"when naming|naming) {_NAMES})", stated, *_PART_CUES, guard=_instructs, confidence=0.85, sentence=True),
    rule("names have a part", _part, rf"{_NAMES}\b[^.;]{{0,80}}?(?P<value>\b(?:{_NO}{_HAS}|be in|be)s? "
         rf"(?P<part>{_PART}))(?! (?:decorator|module|library|package))", stated, *_PART_CUES, guard=_instructs,
         confidence=0.8, sentence=True),
    rule("decorate things", lambda found: f"{RULE}{_object(found)} decorator {_plain(found)}",
         rf"(?P<value>{_DECORATOR}\b[^.;]{{0,80}}?\b(?:to|in|on|for|with|above|when \w+ing) {_NAMES})", stated,
         "decorator", guard=_instructs, confidence=0.85, sentence=True),
    rule("things are decorated", lambda found: f"{RULE}{_object(found)} decorator {_plain(found)}",
         rf"{_NAMES}\b[^.;]{{0,80}}?(?P<value>{_DECORATOR})", stated, "decorator", guard=_instructs, confidence=0.8,
         sentence=True),
    rule("import always", lambda found: f"{RULE}import {_plain(found)}", r"(?P<value>\b(?:import(?:ing)?|includ(?:e|"
         rf"ing)|import statement for) (?:the )?{_MODULE} (?:module|library|package))", stated, "import", "module",
         "library", "package", guard=_instructs, confidence=0.85, sentence=True),
    rule("use docstrings in", _content, rf"(?P<value>\b{_NO}{_HAS}(?: [\w-]+){{0,3}}? {_CONTENT}(?: [\w-]+){{0,4}}? "
         r"(?:in|for|to|within|with|into|inside|on|of) (?:(?:all|any|every|each|the|your|our|my|both|of) "
         rf")*{_THING}(?! name))", stated, *_CONTENT_CUES, guard=_instructs, confidence=0.8, sentence=True),
    rule("things have docstrings", _content,
         rf"(?P<value>{_THING}(?! name| argument)[^.;]{{0,50}}?\b{_HAS}s? (?:[\w-]+ ){{0,4}}?{_CONTENT})", stated,
         *_CONTENT_CUES, guard=_instructs, confidence=0.75, sentence=True),
    rule("write comments", lambda _found: f"{RULE}comment", rf"(?P<value>\b{_NO}(?:{_HAS}|start|no) (?:[\w-]+ "
         rf"){{0,4}}?comment(?:s|ing)?\b(?: (?:in|to|on|for|throughout|into) (?:(?:all|your|the|our) )*(?:python "
         r")?(?:code(?:base)?|scripts?|work))?)", stated, "comment", guard=_instructs, confidence=0.75, sentence=True),
)  # fmt: skip
