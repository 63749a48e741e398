"""Reads results: success and exit code, errors, how test runs ended, ids and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybrid_memory.artifacts.shell import Effect
from hybrid_memory.text.patterns import lazy

MAX_MESSAGE_CHARS = 120
"""How much of an error's message is kept."""

MAX_COMPLAINTS = 100
"""The most complaints of programs that are read."""

MAX_FAILING = 60
"""How many failing tests of a run are named."""

_OBSERVED = lazy(
    r"\s*(?:<returncode>|<output|<warning>|<exit_?code|observation\b|execution result|\[file:|\[the command"
    r"|\[command finished|diff --git |the last command|exit code|command output|std(?:out|err)\b|```output|output:)",
    re.IGNORECASE,
)
_EXIT = lazy(
    r"<returncode>\s*(-?\d+)|<exit_?code>\s*(-?\d+)|\bexit(?:ed with)?[ _](?:code|status)\"?[:= ]+(-?\d+)",
    re.IGNORECASE,
)
_COMPLAINT = lazy(
    r"^(?:(?:/[\w/.-]*/)?-?(?:bash|sh|zsh|dash)|sed|rm|mv|cp|cat|touch|tee|ln|perl|patch|error|fatal|/?[\w/.-]*python[\d.]*)"
    r": .*",
    re.MULTILINE,
)
_REFUSED = lazy(
    r"\A\W{0,4}(?:error|failed|failure|invalid|exception|traceback|no replacement was performed|no such file|could not"
    r"|cannot|unable to|permission denied|file not found|string to replace not found|错误|失败|文件不存在)"
    r"|\"(?:success|ok)\"\s*:\s*false|\"is_?error\"\s*:\s*true"
    r"|no replacement was performed|did not appear verbatim|old_str(?:ing)? not found",
    re.IGNORECASE,
)
_ERROR_LINE = lazy(
    r"^(?:E\s+|!+\s*)?((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Interrupt|Exit|Panic))\b"
    r"(?::[ \t]*(\S.*))?\r?$",
    re.MULTILINE,
)
# Each with a word that a text must contain: a plain search is faster by far.
_CODES = (
    ("error[E", lazy(r"error\[(E\d{4})\]")),
    ("TS", lazy(r"\b(TS\d{4,5})\b", re.ASCII)),
    ("HTTP", lazy(r"HTTP(?:/[\d.]+)?(?: [Ee]rror)?[ :]+[45]\d\d\b")),
    ("status", lazy(r"status(?:[ _]code)?\"?\s?[:= ]\s?([45]\d\d)\b", re.ASCII)),
    ("错误", lazy(r"错误(?:码|代码)\s?[:：=]?\s?[A-Za-z]*-?\d[A-Za-z0-9_-]*")),
    ("E", lazy(r"E(?<![\w.-].)(?:CONN[A-Z]+|NOENT|ACCES|PERM|EXIST|ADDRINUSE|TIMEDOUT|PIPE|NOTFOUND|NOSPC)\b")),
    (
        ": ",
        lazy(r"^.{0,80}?: (?:command not found|No such file or directory)\r?$|^(?:fatal|error): .{3,}$", re.MULTILINE),
    ),
)
_BROKEN = lazy(
    r"^(ERROR (?:\S+::.*|\S+\.py\b.*))$|^(ERROR: \w+ \([\w.]+\))|^_+ (ERROR (?:collecting|at \w+ of) \S+) _+$"
    r"|^(thread '[^']+'(?: \(\d+\))? panicked at .+?):?$|^(panic: .+?)(?: \[recovered\].*)?$|^(\S+\.go:\d+:\d+: .+)$",
    re.MULTILINE,
)
"""Errors that kept a test from running or broke it, in addition to failures."""
_FAILING = lazy(
    r"^(?:FAILED|ERROR) (\S+::.*?|\S+\.py)(?: - .*)?$|^(?:FAIL|ERROR): (\w+ \([\w.]+\)|\w[\w.]*\b(?= \())"
    r"|^[ \t]*--- FAIL: (\S+)|^test (\S+) \.\.\. FAILED|^[ \t]*● (.+ › .+)$",
    re.MULTILINE,
)
_RUNNERS = (
    (
        " in ",
        lazy(r"^=*\s?(\d+ (?:passed|failed|errors?|skipped|deselected)\b[^=\n]*?) in [\d.]+ ?s", re.MULTILINE),
        "{}",
    ),
    ("Ran ", lazy(r"^Ran (\d+) tests? in [^\n]*\n\s*(OK[^\n]*|FAILED[^\n]*)", re.MULTILINE), "{} tests, {}"),
    ("Tests:", lazy(r"^Tests:\s+(.*\d+ total)", re.MULTILINE), "{}"),
    ("test result:", lazy(r"^test result: (.*?)(?:;\s*finished.*)?$", re.MULTILINE), "{}"),
    ("\t", lazy(r"^(ok|FAIL)\s+(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\])", re.MULTILINE), "{} {}"),
)
_TOKEN = lazy(r"[A-Za-z0-9](?<![\w.-].)[A-Za-z0-9_-]{3,80}(?![\w-]|\.\w)", re.ASCII)
_ID = lazy(
    r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,12}|[A-Z][A-Z0-9]{1,9}-\d{1,8}|[a-z]+(?:_[a-z]+)*_\d{3,12}"
    r"|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_NO_ID = lazy(
    r"(?:(?:SHA|UTF|MD|U?INT|FLOAT|BASE|ISO|PY|HTTP|CP|RFC|ASCII|UCS|AES|RSA|GPT|PEP|WIN|LATIN|COMPLEX|BYTES|X|ARM|CRC"
    r"|TEST|USER)-?\d.*|\d+(?:[KMGT]B?|PX|MS|AM|PM|ST|ND|RD|TH|X)\d*|E\d{3,4}|[WCRFD]\d{4}|\d+E\d+|0X\w+)\Z"
)
_KEYED = lazy(
    r"\"(?:\w{0,40}[_ ])?(?:ids?|uuid|code|ref|reference|number|ticket|token|sku|key)\":"
    r"\s?\"?([A-Za-z0-9][\w.:-]{2,63})\"?",
    re.ASCII,
)
_LISTED = lazy(r"\[\s?(\"[A-Z0-9]{5,12}\"(?:,\s?\"[A-Z0-9]{5,12}\")*)\s?\]")
_LABELLED = lazy(
    r"\b(?:order|ticket|reservation|booking|confirmation|tracking|invoice|case|issue|request|customer|user|account|commit)"
    r"(?: (?:id|number|no\.?|code|ref))?\s?[:#]?\s?#?([A-Za-z0-9][\w-]{3,40})\b",
    re.ASCII | re.IGNORECASE,
)
_CHINESE_LABEL = lazy(
    r"(?:单|编|账|流水|快递|会员|合同|票|预订|学|工|卡)号\s?码?\s?(?:是|为|[:：=])?\s?([A-Za-z0-9][A-Za-z0-9_-]{2,40})"
)
_URL = lazy(r"\b(?:https?|ftp|wss?|s3|redis|postgres(?:ql)?|mysql|mongodb|milvus)://[^\s<>\"'`\\)\]}，。；、）】》]+")


class Outcome(NamedTuple):
    """The result of an action: its text, and the exit code if known."""

    text: str
    exit_code: int | None

    def complaints(self) -> list[str]:
        """The lines in which a shell or its tools report what they could not do."""
        return _COMPLAINT.findall(self.text)[:MAX_COMPLAINTS]


def is_observation(text: str) -> bool:
    """Whether a user's message has a form in which agents pass on the output of a command."""
    return _OBSERVED.match(text) is not None


def outcome(text: str) -> Outcome:
    """What the result says about success."""
    match = _EXIT.search(text, 0, 400) or _EXIT.search(text, max(0, len(text) - 400))
    return Outcome(text, int(next(filter(None, match.groups()))) if match else None)


def refused(result: Outcome) -> bool:
    """Whether the result of a tool other than a shell says that nothing was done."""
    return _REFUSED.search(result.text[:500]) is not None


def possible(effects: Sequence[Effect], result: Outcome) -> list[Effect]:
    """The effects of a shell command that its result does not rule out."""
    complaints = result.complaints()
    kept = []
    for effect in effects:
        name = re.escape(effect.path.rpartition("/")[2])
        named = re.compile(rf"(?<![\w.-]){name}(?![\w-]|\.\w)")  # not as a part of a longer name
        if not any(map(named.search, complaints)):
            kept.append(effect)
    return kept


def errors(result: Outcome) -> list[str]:
    """Exceptions with the head of their message, error codes and errors of tests, complaints of programs, exit code."""
    text = result.text
    lines = [": ".join(filter(None, groups)) for groups in _ERROR_LINE.findall(text)]
    for hint, pattern in _CODES:
        if hint in text:
            lines += pattern.findall(text)
    lines += [next(filter(None, groups)).strip() for groups in _BROKEN.findall(text)]
    if result.exit_code not in {None, 0}:
        lines.append(f"exit {result.exit_code}")
    return list(dict.fromkeys(short(line, MAX_MESSAGE_CHARS) for line in lines))


def short(text: str, limit: int) -> str:
    """The text on one line, cut to this many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def verdicts(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The outcome of the test runs in an output with the names of the tests that failed; empty if there were none."""
    outcomes: list[str] = []
    for hint, pattern, form in _RUNNERS:
        if hint in text:
            rows = ((row,) if isinstance(row, str) else row for row in pattern.findall(text))
            outcomes += [form.format(*row).strip(" ,") for row in rows]
    names = (next(filter(None, groups)) for groups in _FAILING.findall(text))
    failing = tuple(dict.fromkeys(names))[:MAX_FAILING]
    if not outcomes and failing:
        outcomes = [f"{len(failing)} failed"]
    return [(", ".join(outcomes), failing)] if outcomes else []


def ids(text: str) -> Iterator[str]:
    """Ids by their form: uuid, commit, ``ABC-12``, ``name_4821``, ``2FBBAH``, and JSON values with an id's key."""
    for token in _TOKEN.findall(text):
        if _ID.fullmatch(token) and not _NO_ID.match(token):
            yield token
    for value in _KEYED.findall(text):
        if value.isupper() or any(map(str.isdigit, value)):
            yield value.rstrip(".:-")
    for listed in _LISTED.findall(text):
        yield from re.findall(r"[A-Z0-9]+", listed)


def labelled_ids(text: str) -> Iterator[str]:
    """Ids that prose introduces: ``order #W482``, 订单号 20391."""
    for value in _LABELLED.findall(text):
        if value.isupper() or any(map(str.isdigit, value)):
            yield value.rstrip("-_")
    if "号" in text:
        yield from _CHINESE_LABEL.findall(text)


def urls(text: str) -> Iterator[str]:
    """Addresses, without the punctuation of the sentence around them."""
    return (address.rstrip(".,;:!?*_") for address in _URL.findall(text))
