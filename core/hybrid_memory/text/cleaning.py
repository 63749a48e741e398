"""Sensory cleaning: removes traces of speech that a reader does not need, in English and Chinese."""

from __future__ import annotations

import re
from typing import NamedTuple

from hybrid_memory.config import CleaningLevel
from hybrid_memory.text import lazy
from hybrid_memory.text.sentences import blocks

MAX_PASSES = 10  # what one removal uncovers is removed in the next pass; a text that still changes then stays as it is
MAX_LINE_CHARS = 4_000  # longer lines are not cleaned, as they are not spoken text


class _Rule(NamedTuple):
    """A pattern and its replacement; tried only if one of the hints, which are quick to find, occurs."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str = ""


def _rule(hints: str, pattern: str, replacement: str = "") -> _Rule:
    return _Rule(tuple(hints.split("|")), lazy(pattern, re.MULTILINE), replacement)


# Where a clause begins. A blank alone does not count: "der Zug um acht" is no hesitation.
_CLAUSE = r"(?:(?<![^\s])(?<![^,.;!?…—•*-] )|(?<=[，。！？；：、…]))"
_SENTENCE = r"(?:(?<=^)|(?<=[.!?…] )|(?<=[，。！？；…]))"
_WORD_END = r"(?![\w'’-])"
_PAUSE = r"(?:,|\.{2,3}|…+|\.(?= ))"
_HAN = r"[\u4e00-\u9fff]"
_HESITATION = r"(?:[Uu]mm*|[Uu]hh*m*|[Ee]rr*m*)"

_RULES = (
    _rule("um|uh|er,|er.|er…|err", rf"{_CLAUSE}{_HESITATION}{_WORD_END}{_PAUSE} *"),
    _rule(", um|, uh|, er", rf", {_HESITATION}(?=[.!]?$)"),
    _rule(
        "um |uh ",
        r"(?<![^\s,])(?<!uh )(?:(?:[Uu]mm*|[Uu]hh*m*) ){1,4}(?=(?:I|we|you|they|he|she|the|a|my|this|that|can|going"
        rf"|think|want|need|maybe|what){_WORD_END})",
    ),
    _rule("like,", rf"{_SENTENCE}[Ll]ike, "),
    _rule("like,", r"(?<=\b(?:was|are)), like, ", " "),
    _rule("like,", r"(?<=\b(?:is|so)), like, ", " "),
    _rule("you know,", rf"{_SENTENCE}[Yy]ou know, "),
    _rule("you know", r", you know(?:(?=, )|(?=\.?$))"),
    _rule("i mean,", r"^I mean, "),
    # Stutters.
    _rule(
        "i i|we we|she she|they they|the the|an an|and and|but but|of of|your your|our our|their their|if if"
        "|because because|a a ",
        r"(?<![\w'’.,-])(I|[Ww]e|[Ss]he|[Tt]hey|the|a|an|and|but|of|your|our|their|if|because) "
        rf"(?:\1 ){{0,20}}(?=\1{_WORD_END}(?!\.\w))",
    ),
    _rule("i i'|we we'|i, i|the, the", rf"{_CLAUSE}(I|[Ww]e|[Tt]he),? (?:\1,? ){{0,20}}(?=\1(?:'[a-z]+)?{_WORD_END})"),
    _rule(
        "i'm i'|i've i'|we're we'|we've we'|they're they'|he's he'|she's she'|it's it'",
        rf"(?<![\w'’-])((?:I|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|[Ii]t)'(?:m|ve|re|s)) (?:\1 ){{0,20}}(?=\1{_WORD_END})",
    ),
    _rule("th-th", r"(?<![\w'’-])(?:[Tt]h-)+(?=th(?:e|at|is|ey|ere|en|ink)\b)"),
    _rule("wh-wh|w-w", r"(?<![\w'’-])(?:[Ww]h?-)+(?=(?:what|when|where|why|who|we|was|were)\b)"),
    _rule("b-b", r"(?<![\w'’-])(?:[Bb]-)+(?=(?:but|because)\b)"),
    _rule("i-i", r"(?<![\w'’-])(?:I-)+(?=I(?:'[a-z]+)? [a-z])"),
    _rule(
        "i |we |they |she ",
        r"(?<![\w'’-])((?:I|[Ww]e|[Tt]hey|[Ss]he)(?: [a-z]{1,15}){1,3}) (?:\1 ){0,20}(?=\1(?: [a-z]|[.!]?$))",
    ),
    # Chinese.
    _rule("嗯|呃|额", rf"{_CLAUSE}(?:嗯+|呃+|额+)(?:[，、,…]|\.\.\.|。(?=.))+ *"),
    _rule("嗯|呃", rf"{_CLAUSE}(?:嗯+|呃+)(?={_HAN})(?![嗯呃了哼啊呢吧声地的一道着])"),
    _rule("嗯|呃|额", r"[，、](?:嗯+|呃+|额+)(?=[。.]?$)"),
    _rule("那个", rf"{_CLAUSE}(?:那个)+(?:…+|\.{{3}}|——)[，,]? *"),
    _rule("那个，", r"^那个，(?=嗯|呃|我想|我要|请问|就是|那个|能不能|可以)"),
    _rule("就是|怎么说呢", rf"{_CLAUSE}(?:就是说|就是那种|就是那个|怎么说呢)(?:，|…+|\.\.\.)+"),
    _rule("然后|就是|因为|所以|但是|可是|如果", r"(然后|就是|因为|所以|但是|可是|如果)(?:[，、]?\1)+", r"\1"),
    _rule(
        "我|你|他|她|这|那",
        rf"{_CLAUSE}(我们|你们|他们|她们|那个|这个|我|你|他|她|这|那)\1+(?={_HAN})(?![们个])",
        r"\1",
    ),
    _rule("我", rf"{_CLAUSE}(我们?(?:想要?|要|觉得|希望|需要|认为|记得|打算))[，、]?\1(?!的)", r"\1"),
)

_BLANKS = _rule("  | \n|\t|\u3000|\xa0", r"[ \t\u3000\xa0]{2,}", " ")
_ASCII_RULES = tuple(rule for rule in _RULES if any(hint.isascii() for hint in rule.hints))

_HIDDEN = "\ue000"
_PROTECTED = lazy(
    rf"{_HIDDEN}|`+[^`]*`+|\"[^\"]*\"|“[^“”]*”|「[^「」]*」|『[^『』]*』|《[^《》]*》"
    r"|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'(?!\w)|‘(?:[^‘’]|(?<=\w)’(?=\w))*’(?!\w)"
    # A run of ASCII with a digit, a sign of code, or a dot or colon within: URLs, paths, names of files, ids, numbers.
    r"|(?<![!-~])[!-~]*(?:[0-9_/\\@=#<>{}\[\]|~$%^&*+]|\w[.:]\w)[!-~]*"
)
_CODE_LINE = lazy(
    r" {4}|\t|[ \u3000]*(?:[{}\[\]<>|#$@/\\]|```|~~~|\"[^\"]*\" *:|.*[{};]$"
    r"|(?:def|class|import|from|return|var|let|const|function|if|for|while|public|private|SELECT|else|elif|try|except)"
    r"\b.*[:;{()=]$)"
    r"|[^|]*\|[^|]*\||.*(?:\t| {3}\S+ {3}|==|!=|\+=|=>|->|::| = )"
)


def clean(text: str, level: CleaningLevel = "light") -> str:
    """The text without fillers, stutters, repeated phrases and extra blanks.

    Keeps lines, code, JSON, tables, indented lines, quotations within a line, URLs, paths, file names, ids and numbers
    as they are. The result is empty only if the text was blank: a text of fillers alone stays. Cleaning twice changes
    nothing more.
    """
    if level == "off":
        return text
    start = current = _trimmed(text)
    rules = _ASCII_RULES if text.isascii() else _RULES
    for _ in range(MAX_PASSES):
        lowered = current.lower()
        active = [rule for rule in rules if _hinted(rule, lowered) and rule.pattern.search(current)]
        if not active and not _hinted(_BLANKS, current):
            return current or start
        active.append(_BLANKS)
        parts = [
            block if fenced else "\n".join(_cleaned_line(line, active) for line in block.split("\n"))
            for fenced, block in blocks(current)
        ]
        before, current = current, _trimmed("".join(parts))
        if current == before:
            return current or start
    return start


def _hinted(rule: _Rule, lowered: str) -> bool:
    for hint in rule.hints:  # noqa: SIM110 - this runs for every rule on every text; a generator takes twice as long
        if hint in lowered:
            return True
    return False


def _cleaned_line(line: str, rules: list[_Rule]) -> str:
    if len(line) > MAX_LINE_CHARS or _CODE_LINE.match(line):
        return line
    words = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    spans, skeleton = _PROTECTED.findall(words), _PROTECTED.sub(_HIDDEN, words)
    for rule in rules:
        skeleton = rule.pattern.sub(rule.replacement, skeleton)
    parts = zip(skeleton.split(_HIDDEN), [*spans, ""], strict=True)
    restored = "".join(part + span for part, span in parts).strip()
    return indent + restored if restored or not words else ""


def _trimmed(text: str) -> str:
    """The text without leading blank lines, trailing blanks, and an indent of the first line, if it is prose."""
    text = text.rstrip()
    words = text.lstrip()
    if len(words) == len(text):
        return text
    first = text.rfind("\n", 0, len(text) - len(words)) + 1
    return text[first:] if _CODE_LINE.match(text[first:].split("\n", 1)[0]) else words
