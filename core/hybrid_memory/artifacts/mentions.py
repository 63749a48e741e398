"""Literal strings that later turns may ask for: ids, addresses, paths in prose, statements about files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hybrid_memory.artifacts.files import Effect
from hybrid_memory.text.patterns import lazy

# Every pattern begins with a plain character or class, and looks behind only after it: the engine then skips to it.
_CODE = lazy(r"[A-Z0-9](?<![\w.-].)(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{4,11}(?![\w-]|\.\w)", re.ASCII)
_ISSUE = lazy(r"[A-Z](?<![\w.-].)[A-Z0-9]{1,9}-\d{1,8}(?![\w-]|\.\w)", re.ASCII)
_NUMBERED = lazy(r"_\d{3,12}(?![\w-]|\.\w)", re.ASCII)
_NUMBERED_START = lazy(r"(?<![\w.-])[a-z]+(?:_[a-z]+)*\Z", re.ASCII)
_UUID = lazy(r"-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![\w-])", re.ASCII)
_HASH = lazy(r"\d[0-9a-f]{15,63}(?![\w-])", re.ASCII)
_HEX_START = lazy(r"(?<![\w-])[0-9a-f]{0,40}\Z", re.ASCII)
_JOINS = frozenset("_-.")

MAX_PATH = 300
"""The longest path that is looked for in prose."""

MAX_ID_CHARS = 60
"""Longer names followed by a number are not ids."""

_NO_ID = lazy(
    r"(?:(?:SHA|UTF|MD|U?INT|FLOAT|BASE|ISO|PY|HTTP|CP|RFC|ASCII|UCS|AES|RSA|GPT|PEP|WIN|LATIN|COMPLEX|BYTES|X|ARM|CRC"
    r"|TEST|USER)-?\d.*|\d+(?:[KMGT]B?|PX|MS|AM|PM|ST|ND|RD|TH|X)\d*|E\d{3,4}|[WCRFD]\d{4}|\d+E\d+|0X\w+)\Z"
)
_KEYED = lazy(
    r"\"(?:\w*[_ ])?(?:id|ids|uuid|code|ref|reference|number|ticket|token|sku|key)\"\s*:"
    r"\s*\"?([A-Za-z0-9][\w.:-]{2,63})\"?",
    re.ASCII,
)
_LABELS = (
    "order ticket reservation booking confirmation tracking invoice case issue request customer user account commit"
).split()
_LABELLED = lazy(r"(?: (?:id|number|no\.?|code|ref))?\s?[:#]?\s?#?([A-Za-z0-9][\w-]{3,40})\b", re.ASCII | re.IGNORECASE)
_CHINESE_LABEL = lazy(
    r"(?:单|编|账|流水|快递|会员|合同|票|预订|学|工|卡)号\s*码?\s*(?:是|为|[:：=])?\s*([A-Za-z0-9][A-Za-z0-9_-]{2,40})"
)
_LISTED = lazy(r"\[\s*(\"[A-Z0-9]{5,12}\"(?:\s*,\s*\"[A-Z0-9]{5,12}\")*)\s*\]")
_URL = lazy(r"://[^\s<>\"'`\\)\]}，。；、）】》]+")
_SCHEME = lazy(r"(?:https?|ftp|wss?|s3|redis|postgres(?:ql)?|mysql|mongodb|milvus)\Z")
_EXTENSION = lazy(r"\.([A-Za-z][A-Za-z0-9]{0,9})(?![A-Za-z0-9_/]|\.[A-Za-z0-9]|\()")
_FILE_TYPES = frozenset(
    """py pyi ipynb js jsx ts tsx mjs cjs vue java kt go rs c h cc cpp hpp cs rb php swift scala sh bash zsh ps1 bat sql
    r jl lua pl html htm css scss less xml json jsonl yaml yml toml ini cfg conf env lock md rst txt log csv tsv parquet
    pdf doc docx xls xlsx ppt pptx png jpg jpeg gif svg webp mp3 mp4 wav zip gz tar tgz db sqlite pkl npy npz pt bin
    patch diff proto tf dockerfile gradle mod sum""".split()
)
_CLAIM = lazy(
    r"(?: successfully)?(?: (?:the|a|an|new|test|existing))*(?: (?:file|script))?(?: successfully)?"
    r"(?: (?:at|to|as|in))?(?:了|好)?(?:文件)?\s*[:：]?\s*[`'\"“「《]?"
    r"([\w./~-]+?\.[A-Za-z][A-Za-z0-9]{0,9})(?![A-Za-z0-9_/]|\.[A-Za-z0-9])"
)
_CLAIMED = {
    **dict.fromkeys("created wrote saved 已创建 已新建 已写入 已保存 已生成 已经创建 成功创建".split(), "write"),
    **dict.fromkeys("deleted removed 已删除 已移除 已经删除 成功删除".split(), "delete"),
    **dict.fromkeys("modified updated edited 已修改 已更新 已编辑 已经修改 成功修改".split(), "edit"),
}


def occurs(name: str, text: str) -> bool:
    """Whether a path or file name occurs in a text, not as a part of a longer one."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        before, after = text[at - 1 : at], text[end : end + 2]
        longer = (before.isalnum() or before in _JOINS) or (after[:1].isalnum() or after[:1] in _JOINS - {"."})
        if not longer and not (after[:1] == "." and after[1:].isalnum()):
            return True
        at = text.find(name, end)
    return False


def ids(text: str) -> Iterator[str]:
    """Ids by their form: uuid, commit, ``ABC-12``, ``name_4821``, ``2FBBAH``, and JSON values with an id's key."""
    for pattern in (_CODE, _ISSUE):
        yield from (found for found in pattern.findall(text) if not _NO_ID.match(found))
    yield from _grown(text, _NUMBERED, _NUMBERED_START)
    yield from (found for found in _grown(text, _HASH, _HEX_START) if len(found) in {40, 64})
    for end in _UUID.finditer(text):
        yield text[max(0, end.start() - 8) : end.end()]
    for value in _KEYED.findall(text):
        if value.isupper() or any(map(str.isdigit, value)):
            yield value.rstrip(".:-")
    for listed in _LISTED.findall(text):
        yield from re.findall(r"[A-Z0-9]+", listed)


def _grown(text: str, ending: re.Pattern[str], beginning: re.Pattern[str]) -> Iterator[str]:
    """What an ending grows to, backwards."""
    for end in ending.finditer(text):
        if start := beginning.search(text, max(0, end.start() - MAX_ID_CHARS), end.start()):
            yield start[0] + end[0]


def labelled_ids(text: str) -> Iterator[str]:
    """Ids that prose introduces: ``order #W482``, 订单号 20391."""
    for _, end in _occurrences(_LABELS, text):
        found = _LABELLED.match(text, end)
        if found and (found[1].isupper() or any(map(str.isdigit, found[1]))):
            yield found[1].rstrip("-_")
    if "号" in text:
        yield from _CHINESE_LABEL.findall(text)


def urls(text: str) -> Iterator[str]:
    """Addresses, without the punctuation of the sentence around them."""
    for found in _URL.finditer(text):
        if scheme := _SCHEME.search(text, max(0, found.start() - 10), found.start()):
            yield (scheme[0] + found[0]).rstrip(".,;:!?*_")


def paths(text: str) -> Iterator[str]:
    """Paths of files that prose names, of a known kind of file."""
    for end in _EXTENSION.finditer(text):
        if end[1].lower() not in _FILE_TYPES:
            continue
        start = end.start()
        while (
            start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_@+~./-") and end.start() - start < MAX_PATH
        ):
            start -= 1
        path = text[start : end.end()].lstrip("-@+")
        if start != end.start() and "//" not in path and text[start - 1 : start] != ":":
            yield path


def claims(text: str) -> Iterator[Effect]:
    """Statements in a message about what was done to a file: ``Deleted a.py``, 已删除 a.py."""
    for word, end in _occurrences(_CLAIMED, text):
        found = _CLAIM.match(text, end)
        if found and found[1].rsplit(".", 1)[-1].lower() in _FILE_TYPES:
            yield Effect(_CLAIMED[word], found[1])


def _occurrences(words: Iterable[str], text: str) -> Iterator[tuple[str, int]]:
    """Where each of these words ends in a text, in any case."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow when they are lowered, and every place would be off
        lowered = text
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            yield word, at + len(word)
            at = lowered.find(word, at + len(word))
