"""Sentences, list items and code blocks of English and Chinese text, excerpts of them, and what shortening protects."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise

from hybrid_memory.text import lazy
from hybrid_memory.text.tokenize import terms

_NEVER_LAST = frozenset(
    "mr mrs ms dr prof st vs e.g i.e cf al approx gen col sgt capt rev hon gov sen rep mt messrs viz drs fr mme mlle"
    " sra pres supt".split()
)
_LAST_BEFORE_CAPITAL = frozenset(
    "etc inc ltd co corp jr sr a.m p.m ph.d dept est min max avg incl esp opp"
    " ave blvd mon tue tues wed thu thur thurs fri".split()
)
_NOT_BEFORE_NUMBER = frozenset(
    "no nos vol p pp ch sec fig figs eq art jan feb mar apr jun jul aug sep sept oct nov dec ca apt ext tel".split()
)

_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_CLOSERS = "”’」』）】》\"')\\]*_"
_STOP = re.compile(
    # Spans that are passed over as a whole, then what may end a sentence, with what closes behind it.
    r"(?P<span>`[^`]*`|\"[^\"]{0,300}\"|“[^“”]{0,300}”|「[^「」]{0,300}」|『[^『』]{0,300}』)"
    rf"|(?P<full>[。！？；…｡][。！？；…｡!?]*)[{_CLOSERS}]*"
    rf"|(?P<half>[.!?]+)(?P<close>[{_CLOSERS}]*)(?=(?P<gap>\s*)(?P<next>.?))",
    re.DOTALL,
)
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_LAST_WORD = re.compile(r"[^\s(\[“\"'‘「,，:：;/*_]{1,20}$")
_ORDINAL = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})$")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")
_DAY = re.compile(r"\d{1,2}")
_MONTH = re.compile(  # behind the number of a day in German, also of the first of two
    r"\.\s?(?:(?:und|bis|oder) \d{1,2}\.|(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|"
    r"november|dezember)\b)",
    re.IGNORECASE,
)

_NOT_BLANK = re.compile(r"\S")
GAP = " … "
_ENDS_INSIDE = re.compile(r"[.!?。！？…][”」』\"]$")


def sentences(text: str) -> list[str]:
    """The sentences, lines and fenced code blocks of the text, in order, unchanged except for surrounding blanks.

    A line break always ends a piece. A quotation on one line is never split.
    """
    pieces: list[str] = []
    for fenced, block in blocks(text):
        if fenced:
            pieces.append(block.strip())
        else:
            for line in block.split("\n"):
                start = _begin(line, 0)
                for stop in _STOP.finditer(line, start):
                    if _ends(line, start, stop):
                        pieces.append(line[start : stop.end()])
                        start = _begin(line, stop.end())
                pieces.append(line[start:].rstrip())
    return list(filter(None, pieces))


def blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Parts of whole lines that add up to the text, and whether each is a code block; an open fence never ends."""
    if "```" not in text and "~~~" not in text:
        yield False, text
        return
    lines: list[str] = []
    fence = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        mark = _FENCE.match(line.rstrip())
        if not fence and mark:
            if lines:
                yield False, "".join(lines)
            fence, lines = mark[1], [line]
        elif fence and mark and mark[1].startswith(fence) and mark.end() == len(line.rstrip()):
            yield True, "".join([*lines, line])
            fence, lines = "", []
        else:
            lines.append(line)
    if lines:
        yield bool(fence), "".join(lines)


def _begin(line: str, end: int) -> int:
    found = _NOT_BLANK.search(line, end)
    return found.start() if found else len(line)


def _ends(line: str, start: int, stop: re.Match[str]) -> bool:
    if stop["span"]:
        # A quotation: with an end mark inside, and a new sentence or a colon's clause around.
        if not _ENDS_INSIDE.search(line, stop.start(), stop.end()):
            return False
        begin = _begin(line, stop.end())
        follower = line[begin : begin + 1]
        starts = not follower.islower() if begin > stop.end() else line[max(stop.start() - 1, 0)] in "：:"
        return not follower or (follower.isalnum() and starts)
    if stop["full"]:
        # "Well… maybe": the dots are a pause where a word in lower case follows.
        return not (stop["full"][-1] == "…" and line[stop.end() : stop.end() + 2].strip()[:1].islower())
    follower = stop["next"]
    if not follower:
        return True
    if not stop["gap"]:
        before = line[stop.start() - 1 : stop.start()]
        return _is_han(follower) and (stop["half"] != "." or _is_han(before))
    goes_on = follower.islower() and (
        stop["half"].startswith("..") or any(mark in "”’」』\"'" for mark in stop["close"])
    )
    return not goes_on and (stop["half"] != "." or not _abbreviates(line, start, stop))


def _abbreviates(line: str, start: int, stop: re.Match[str]) -> bool:
    """Whether the dot belongs to the abbreviation or list number before it."""
    if _ORDINAL.match(line, start, stop.start()):
        return True
    found = _LAST_WORD.search(line, max(start, stop.start() - 20), stop.start())
    if found is None:
        return False
    word, lowered, follower = found[0], found[0].lower(), stop["next"]
    return bool(
        (len(word) == 1 and word.isupper() and word != "I")  # J. Smith
        or _INITIALS.fullmatch(word)  # U.S.
        or (_DAY.fullmatch(word) and _MONTH.match(line, stop.start()))
        or lowered in _NEVER_LAST
        or (lowered in _LAST_BEFORE_CAPITAL and follower.islower())
        or (lowered in _NOT_BEFORE_NUMBER and follower.isdecimal())
    )


def _is_han(character: str) -> bool:
    return re.fullmatch(f"[{_HAN}]", character) is not None


def excerpt(text: str, words: Collection[str], max_chars: int) -> str:
    """The text on one line; if longer than ``max_chars``, the sentences with most of these words, in order.

    Remaining space goes to their neighbours, nearest first.
    """
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    parts = [" ".join(part.split()) for part in sentences(text)]
    asked = frozenset(words)
    hits = [len(asked.intersection(terms(part))) for part in parts]
    best = max(range(len(parts)), key=lambda row: (hits[row], -row), default=0)
    order = sorted(range(len(parts)), key=lambda row: (-hits[row], abs(row - best), row))
    kept: list[int] = []
    room = max_chars - len(GAP)
    for row in order:
        if len(parts[row]) + len(GAP) <= room:
            kept.append(row)
            room -= len(parts[row]) + len(GAP)
    if not kept:
        return f"{parts[best][: max_chars - 1]}…"
    kept.sort()
    written = "" if kept[0] == 0 else "… "
    for row, after in zip(kept, [*kept[1:], len(parts)], strict=True):
        written += parts[row] + (" " if after == row + 1 else GAP)
    return written.strip()


_UNITS = (
    r"%|‰|°[CF]?|[kKMGT]i?[Bb](?:ps|it/s)?|[kMGT]?Hz|[kcmµn]?m²?|[kmµ]?g|m?[lL]|m?s|k?Wh?|h|min|EUR|USD|CNY|RMB"
    r"|(?i:seconds?|minutes?|hours?|days?|weeks?|months?|years?|miles?|euros?|dollars?|yuan|tokens?|bytes?|[ap]\.?m\.?)"
)
_HAN_UNITS = "(?:年|月|日|号|点|时|分|秒|天|周|岁|元|块|角|米|克|斤|吨|升|度|公里|公斤|小时|分钟|星期)"
_HAN_NUMERALS = "[一二三四五六七八九十两百千万亿零〇]"
_MONTHS = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*"

_WHOLE = (
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
)
_PROTECTED = lazy(f"({'|'.join(_WHOLE)})", re.DOTALL | re.MULTILINE)


def pieces_of(text: str, count: Callable[[str], int], window: int) -> Iterator[tuple[str, bool]]:
    """Pieces that add up to the text, each with whether it is protected; others are sentences within the window."""
    for row, part in enumerate(_PROTECTED.split(text)):  # every second one is a match
        yield from [(part, True)] if row % 2 else ((chunk, False) for chunk in chunks(part, count, window))


def chunks(text: str, count: Callable[[str], int], window: int) -> Iterator[str]:
    """Chunks of whole sentences that add up to the text, each within ``window`` tokens; longer sentences are cut."""
    starts, end = [0], 0  # of the sentences, each with the blanks after it; leading blanks belong to the first
    for sentence in sentences(text):
        begin = text.index(sentence, end)
        starts += [begin] if end else []
        end = begin + len(sentence)
    chunk, size = "", 0
    for start, stop in pairwise([*starts, len(text)]):
        for part in _fitting(text[start:stop], count, window):
            more = count(part)
            if chunk and size + more > window:
                yield chunk
                chunk, size = "", 0
            chunk, size = chunk + part, size + more
    if chunk:
        yield chunk


def _fitting(sentence: str, count: Callable[[str], int], window: int) -> Iterator[str]:
    if len(sentence) < 2 or count(sentence) <= window:  # noqa: PLR2004 - one character cannot be cut
        yield sentence
        return
    middle = len(sentence) // 2
    middle = sentence.rfind(" ", 1, middle) + 1 or middle
    yield from _fitting(sentence[:middle], count, window)
    yield from _fitting(sentence[middle:], count, window)
