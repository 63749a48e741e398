"""Text that must not change when a text is shortened word by word, and the chunks in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.sentences import sentences

_UNITS = (
    r"%|‰|°[CF]?|[kKMGT]i?[Bb](?:ps|it/s)?|[kMGT]?Hz|[kcmµn]?m²?|[kmµ]?g|m?[lL]|m?s|k?Wh?|h|min|EUR|USD|CNY|RMB"
    r"|(?i:seconds?|minutes?|hours?|days?|weeks?|months?|years?|miles?|euros?|dollars?|yuan|tokens?|bytes?|[ap]\.?m\.?)"
)
_HAN_UNITS = "(?:年|月|日|号|点|时|分|秒|天|周|岁|元|块|角|米|克|斤|吨|升|度|公里|公斤|小时|分钟|星期)"
_HAN_NUMERALS = "[一二三四五六七八九十两百千万亿零〇]"
_MONTHS = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*"

_PROTECTED = lazy(
    "|".join(
        [
            r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)",
            r"`[^`\n]+`",
            r"(?<![a-zA-Z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]*://[^\s<>\"'`，。；、）】」]+",
            r"(?a:(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
            r"\"[^\"\n]{1,200}\"(?:\s*:)?|“[^”\n]{1,200}”|「[^」\n]{1,200}」|《[^》\n]{1,200}》",
            r"(?<!\w)'[^'\n]{1,200}'(?!\w)",
            r"(?:(?<!\w)[A-Za-z]:\\|(?<![\w/])~?/|(?<![\w.])\.{1,2}/)[^\s\"'`<>|，。；、）】」]+",
            r"(?a:(?<![\w.-])[\w-]+(?:/[\w.-]+)+|(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,4}\b)",
            rf"(?a:\b{_MONTHS}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?)",
            rf"(?a:\b\d{{1,2}}(?:st|nd|rd|th)?\.? {_MONTHS}(?:,? \d{{4}})?)",
            # Not "a bit", "a piece", "once": words that hold a one.
            rf"(?:\d+(?:\.\d+)?\s?[百千万亿]{{0,2}}{_HAN_UNITS})+|(?:(?!一[点块度角时分]){_HAN_NUMERALS}{{1,12}}{_HAN_UNITS})+",
            rf"(?a:[$€£¥￥]\s?)?(?a:[-+]?\b\d+(?:[.,:/×–-]\d+)*)(?:\s?(?:{_UNITS})(?![A-Za-z0-9]))?(?![A-Za-z0-9_])",
            r"(?a:(?<![\w-])(?=[\w-]*[\d_])[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*)",
        ]
    ),
    re.DOTALL | re.MULTILINE,
)


def pieces_of(text: str, count: Callable[[str], int], window: int) -> Iterator[tuple[str, bool]]:
    """Pieces that add up to the text, each with whether it is protected; others are sentences within the window."""
    at = 0
    for found in _PROTECTED.finditer(text):
        yield from ((chunk, False) for chunk in chunks(text[at : found.start()], count, window))
        yield found[0], True
        at = found.end()
    yield from ((chunk, False) for chunk in chunks(text[at:], count, window))


def chunks(text: str, count: Callable[[str], int], window: int) -> Iterator[str]:
    """Chunks of whole sentences that add up to the text, each within ``window`` tokens; longer sentences are cut."""
    chunk, size = "", 0
    for sentence in _with_blanks(text):
        for part in _fitting(sentence, count, window):
            more = count(part)
            if chunk and size + more > window:
                yield chunk
                chunk, size = "", 0
            chunk, size = chunk + part, size + more
    if chunk:
        yield chunk


def _with_blanks(text: str) -> Iterator[str]:
    """The sentences, each with the blanks after it; leading blanks belong to the first."""
    start = end = 0
    for sentence in sentences(text):
        begin = text.index(sentence, end)
        if end:
            yield text[start:begin]
            start = begin
        end = begin + len(sentence)
    yield text[start:]


def _fitting(sentence: str, count: Callable[[str], int], window: int) -> Iterator[str]:
    if len(sentence) < 2 or count(sentence) <= window:  # noqa: PLR2004 - one character cannot be cut
        yield sentence
        return
    middle = len(sentence) // 2
    middle = sentence.rfind(" ", 1, middle) + 1 or middle
    yield from _fitting(sentence[:middle], count, window)
    yield from _fitting(sentence[middle:], count, window)
