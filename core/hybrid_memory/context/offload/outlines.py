"""Recognizes what kind of text a payload is, and makes the rows of its overview."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from hybrid_memory.context.offload.failures import failures
from hybrid_memory.log.media import base64_kind
from hybrid_memory.text.patterns import lazy

SAMPLE_LINES = 300
MAX_FAILURES = 12
MAX_NAMED = 24
MAX_HEADINGS = 12
END_LINES = 4
MAX_END_LINES = 1000
MAX_CODE_LINES = 10_000

_BASE64 = lazy(r"(?:data:[\w.+/;=-]{0,200},)?[A-Za-z0-9+/]{40}[A-Za-z0-9+/\r\n]*={0,2}\s*")
_DIFF_FILE = lazy(r"^(?:diff --git a/.* b/(.*)|\+\+\+ (?:b/)?([^\t\n]*).*)$", re.MULTILINE)
_MARKUP = lazy(r"(?:<\?xml[^>]*>\s*|<!--[^>]*>\s*|<!DOCTYPE[^>]*>\s*){0,5}<([a-zA-Z][\w:.-]*)[^<>]*>", re.IGNORECASE)
_TITLE = lazy(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_TAG = lazy(r"<([a-zA-Z][\w:.-]*)")
_NUMBERED = r"(?:[ ]*\d+[:|\t][ ]?)?"
_DEFINITION = lazy(
    rf"{_NUMBERED}([ \t]*)((?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub|"
    r"pub\(crate\)|unsafe|inline|virtual|override)[ ]+)*(?:def|class|function\*?|func|fn|interface|struct|enum|trait|"
    r"impl|namespace)\b[ <(].*|(?:export )?(?:const|let|var)[ ]\w+[ ]*=[ ]*(?:async[ ]*)?(?:\([^()]*\)|\w+)[ ]*=>.*|"
    r"[A-Za-z_][\w*&:<>, ]*[ ][*&]*[\w:~]+\([^;]*\)[ ]*(?:const[ ]*)?\{)[ \t\r]*$"
)
_CODE = lazy(
    rf"{_NUMBERED}\s*(?:.*[{{}}(\[;]\s*$|import\b|from \S+ import|return\b|#include|using\b|package\b|"
    r"(?:let|const|var) |(?:if|for|while|def|class|else|elif|try|except|with|fn|func)\b.*[:{]\s*$|self\.|@\w|//|/?\*|"
    r"[\w.\[\]]+ ?[-+:]?= ?\S|\w[\w.]*\(.*\)\s*$)"
)
_RUN = lazy(r"^(?:Traceback \(most recent|=+ .* =+$|\$ |E   )", re.MULTILINE)
_STAMP = lazy(r"\W{0,2}(?:\d{4}[-/.年]\d|\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)")
_LISTED = lazy(r"((?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)+/?)(?::\d+)?(?:[:-].*)?$")
_HEADING = lazy(rf"^{_NUMBERED}(#{{1,4}} .+|第[一二三四五六七八九十\d]+[章节条].*)$", re.MULTILINE)
_BARE = lazy(r"[\s=*_#-]*(?:</?[\w:.-]+>)?\s*")
_RULE = lazy(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*")

ROW_CHARS = 160


@dataclass(frozen=True, slots=True)
class Outline:
    """Kind and rows of a payload's digest; ``place`` is a good one to continue reading, if there is one."""

    kind: str
    rows: Sequence[Row]
    place: str | None = None


def outline(text: str) -> Outline:
    """The kind and overview of a text that is not JSON; deterministic."""
    lines = text.split("\n")
    for read in (_encoded, _diff, _markup, _table, _paths, _code):
        if found := read(text, lines):
            return found
    return _prose(text, lines)


def _encoded(text: str, lines: list[str]) -> Outline | None:
    if len(text) < 100 or not _BASE64.fullmatch(text):  # noqa: PLR2004
        return None
    if any(len(line) < 40 for line in lines[:-2]):  # noqa: PLR2004
        return None
    kind, size = base64_kind(text.strip())
    return Outline("base64", [Row(f"{kind or 'unknown kind'}, {size:,} bytes")])


def _diff(text: str, lines: list[str]) -> Outline | None:
    if "\n@@ " not in text and "\ndiff --git " not in f"\n{text[:1000]}":
        return None
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    name, files = "", dict[str, None]()
    for line in lines:
        mark = line[:1]
        if mark in "+d" and line.startswith(("diff --git ", "+++ ")) and (match := _DIFF_FILE.match(line)):
            named = match[1] or match[2]
            name = name if named == "/dev/null" else named.strip()
            files[name] = None
        elif mark == "+":
            added[name] += 1
        elif mark == "-" and not line.startswith("--- "):
            removed[name] += 1
    if not files:
        return None
    total = f"{len(files):,} file{'s' * (len(files) > 1)}, +{added.total():,} -{removed.total():,}"
    return Outline("diff", [Row(total), *(Row(f"{cut(name)} +{added[name]} -{removed[name]}") for name in files)])


def _markup(text: str, _lines: list[str]) -> Outline | None:
    root = _MARKUP.match(text[:4000].lstrip())
    if root is None or not text.rstrip()[-200:].lower().endswith(f"</{root[1].lower()}>"):
        return None
    kind = "html" if root[1].lower() == "html" or "<body" in text[:5000].lower() else "xml"
    tags = Counter(_TAG.findall(text)).most_common(MAX_NAMED)
    rows = [Row("tags: " + ", ".join(f"{tag} ×{number}" for tag, number in tags))]
    if title := _TITLE.search(text):
        rows.insert(0, Row(f"title: {cut(title[1])}"))
    return Outline(kind, rows)


def _table(_text: str, lines: list[str]) -> Outline | None:
    sample = [line[:2000] for line in lines[:21] if line.strip()]
    if len(sample) < 3:  # noqa: PLR2004
        return None
    if _RULE.fullmatch(sample[1]) and "|" in sample[0]:
        cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in (sample[0], sample[2])]
        number = sum("|" in line for line in lines) - 2
        return _as_table("markdown table", cells[0], number, cells[1])
    for kind, mark in (("tsv", "\t"), ("csv", ","), ("csv", ";")):
        try:
            rows = list(csv.reader(sample[:20], delimiter=mark))
        except csv.Error:
            continue
        width = len(rows[0])
        plain = all(cell and len(cell) < 60 for cell in rows[0])  # noqa: PLR2004
        if width >= 3 - (mark == "\t") and plain and all(len(row) == width for row in rows):
            number = sum(line.strip() != "" for line in lines) - 1
            return _as_table(kind, rows[0], number, rows[1])
    return None


def _as_table(kind: str, columns: list[str], number: int, first: list[str]) -> Outline:
    return Outline(
        kind,
        [
            Row(cut(f"{len(columns):,} columns: {', '.join(columns)}", 600)),
            Row(f"{number:,} rows"),
            Row(cut(f"first row: {', '.join(first)}", 600), 1),
        ],
    )


def _paths(text: str, lines: list[str]) -> Outline | None:
    sample = [line[:300] for line in lines[:SAMPLE_LINES] if line.strip()]
    listed = [match[1] for line in sample if (match := _LISTED.match(line))]
    if len(sample) < 8 or len(listed) < 0.7 * len(sample):  # noqa: PLR2004
        return None
    every = [match[1] for line in lines if (match := _LISTED.match(line[:300]))]
    files = Counter(every)
    searched = len(files) < 0.8 * len(every)
    groups = files if searched else Counter(path.rstrip("/").rpartition("/")[0] for path in every)
    what = "files with matches" if searched else "paths, by folder"
    rows = [Row(f"{len(every) if not searched else len(files):,} {what}:")]
    rows += [Row(f"{cut(name)} ×{number}") for name, number in groups.most_common(MAX_NAMED)]
    if len(groups) > MAX_NAMED:
        rows.append(Row(f"… {len(groups) - MAX_NAMED:,} more"))
    return Outline("search results" if searched else "paths", [*rows, *_failure_rows(text)])


def _code(text: str, lines: list[str]) -> Outline | None:
    sample = [line[:300] for line in lines[:SAMPLE_LINES] if line.strip()]
    coded = sum(_CODE.match(line) is not None for line in sample)
    if len(sample) < 3 or coded < 0.3 * len(sample) or _RUN.search(text, 0, 200_000):  # noqa: PLR2004
        return None
    rows = [
        Row(f"{at + 1}: {match[1]}{cut(match[2], 100)}", 1 + bool(match[1]))
        for at, line in enumerate(lines[:MAX_CODE_LINES])
        if (match := _DEFINITION.match(line[:200]))
    ]
    if not rows or (len(rows) == 1 and coded < 0.5 * len(sample)):
        return None
    within = "" if len(lines) <= MAX_CODE_LINES else f" in the first {MAX_CODE_LINES:,} lines"
    return Outline("source code", [Row(f"{len(rows):,} definition{'s' * (len(rows) > 1)}{within}:"), *rows])


def _prose(text: str, lines: list[str]) -> Outline:
    failed = _failure_rows(text)
    sample = [line[:300] for line in lines[:SAMPLE_LINES] if line.strip()]
    stamped = sum(_STAMP.match(line) is not None for line in sample)
    headings = []
    line, at = 1, 0
    for match in _HEADING.finditer(text, 0, 200_000):
        line, at = line + text.count("\n", at, match.start()), match.start()
        headings.append(Row(f"{line}: {cut(match[1], 100)}", 3))
        if len(headings) == MAX_HEADINGS:
            break
    named = {row.text.partition(":")[0] for row in failed}
    first, last = (
        list(
            islice((at for at in order if not _BARE.fullmatch(lines[at][:300]) and str(at + 1) not in named), END_LINES)
        )
        for order in (range(len(lines))[:MAX_END_LINES], range(len(lines))[: -MAX_END_LINES - 1 : -1])
    )
    last = [at for at in reversed(last) if at not in first]
    ends = [Row(f"{at + 1}: {cut(lines[at])}", 2) for at in first]
    ends += [Row(f"{at + 1}: {cut(lines[at])}", 1) for at in last]
    is_log = bool(failed) or stamped > 0.3 * len(sample)
    return Outline("log" if is_log else "text", [*failed, *headings, *ends])


def _failure_rows(text: str) -> list[Row]:
    found, complete = failures(text)
    if not found:
        return []
    half = MAX_FAILURES // 2
    number, more = sum(one.count for one in found), len(found) - MAX_FAILURES
    said = f"{'' if complete else 'at least '}{number:,} line{'s' * (number > 1)}"
    title = f"errors ({said}{f', {more:,} more kinds' if more > 0 else ''}):"
    picked = found if more <= 0 else [*found[:half], *found[-half:]]
    times = [f" (×{one.count:,})" if one.count > 1 else "" for one in picked]
    return [Row(title), *(Row(f"{one.line}: {cut(one.text)}{often}") for one, often in zip(picked, times, strict=True))]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a digest; if not all rows fit, those of the lowest rank are kept, earlier ones first."""

    text: str
    rank: int = 0


def cut(text: str, width: int = ROW_CHARS) -> str:
    """The text on one line, cut to this many characters."""
    text = " ".join(text[: 4 * width].split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
