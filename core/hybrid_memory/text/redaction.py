"""Removes secrets and personal data from a text, in English and Chinese.

========= ==================================================== ======================================================
kind      what is found                                        what stays
========= ==================================================== ======================================================
api key   documented prefixes (sk-, ghp_, AKIA, xoxb-, gsk_,   words that only begin like one, commit hashes
          xai-, SG., ...), Telegram bots, Azure's AccountKey,
          JWT, PEM private keys; values labelled API key,
          access token, bearer, 密钥, "my token is"
password  what follows "password is", "pwd=", "PIN:", 密码是;  "the password is required": a plain word counts only in
          in a URL, "Authorization: Basic", "curl -u user:"    quotes, or at the end of "my password is ..."
email     addresses                                            @names, git@host
id number Chinese resident ids with the checksum of GB 11643,  other digits
          15 digits after 身份证; US social security numbers
card      13 to 19 digits of a card scheme, with the Luhn      numbers labelled order, ticket, tracking, ...
          checksum
iban      with the checksum of ISO 13616                       other codes
phone     with a country code; Chinese mobile and area codes;  dates, versions, amounts, time stamps, UUIDs, numbers
          groups as in 555-123-4567 or 020 7946 0958; others   labelled order, ticket, tracking, ...
          after "phone", "call me at", 电话
ip        IPv4 and IPv6 addresses                              versions, times, loopback, netmasks
========= ==================================================== ======================================================

Names and street addresses need a model, and stay. The rules are the library's own because presidio requires spaCy with
a model for each language (51 packages), scrubadub brings scikit-learn and NLTK for British and American numbers alone,
and detect-secrets only finds keys, of fewer kinds than these rules, in lines of files.

A rule is a pattern and a check of its match. Every repetition is bounded, except for the body of a private key, in
which no other match begins; so none takes more than linear time.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text import lazy

Match = re.Match[str]
Check = Callable[[str, Match], bool]

_NEAR = 48  # how many characters before a match are searched for words that show what it is


class Rule(NamedTuple):
    """A potential finding: the pattern's group ``it``, or the whole match, if a check accepts it.

    Attributes:
        shrinks: drop the last space-separated group as long as the check fails.
        hints: a text without any of these has no finding; without hints any text may.
    """

    kind: str
    pattern: re.Pattern[str]
    check: Check | None
    shrinks: bool
    hints: tuple[str, ...]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the findings are, in order."""
        if self.hints and not any(hint in text for hint in self.hints):
            return
        group = "it" if "it" in self.pattern.groupindex else 0
        at = 0
        while (match := self.pattern.search(text, at)) is not None:
            start, at = match.span(group)
            found = match[group]
            while found and self.check is not None and not self.check(found, match):
                found = found.rpartition(" ")[0] if self.shrinks else ""
            if found:
                at = start + len(found)
                yield start, at


def _rule(kind: str, pattern: str, check: Check | None = None, *, shrinks: bool = False, hints: str = "") -> Rule:
    return Rule(kind, lazy(pattern, re.ASCII | re.VERBOSE), check, shrinks, tuple(hints.split()))


def _before(match: Match) -> str:
    return match.string[max(0, match.start() - _NEAR) : match.start()]


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _random(token: str, _match: Match) -> bool:
    return any(map(str.isdigit, token)) and any(map(str.isalpha, token))


_NO_PASSWORD = frozenset(
    """required wrong incorrect correct invalid valid missing empty expired weak strong safe secure secret set unset
    protected encrypted hashed stored changed unknown optional mandatory needed compromised string str text none null
    true false undefined hidden case-sensitive the same too not very password""".split()
)
_OWN = lazy(r"\b(?:my|our)(?: [\w'-]{1,20}){0,2} $", re.ASCII | re.IGNORECASE)
_LENGTH = lazy(r"\d{1,2}-\d{1,2}", re.ASCII)


def _password(word: str, match: Match) -> bool:
    if word[0] in "[<{$%" or not any(map(str.isalnum, word)) or word.lower() in _NO_PASSWORD:
        return False
    if any(map(str.isdigit, word)) or re.search(r"[!@#$%^&*+=~-]|[a-z][A-Z]", word):
        return "(" not in word
    own = word.isalpha() and _OWN.search(_before(match)) is not None
    return match["quote"] != "" or (own and _ends(match))


def _ends(match: Match) -> bool:
    """Whether the clause ends after the match, or continues in Chinese."""
    after = match.string[match.end() : match.end() + 2].lstrip(" ")[:1]
    return not after.isascii() or after in {*".,;!?\n", ""}


_SECRETS = (
    _rule("api key", r"""-----BEGIN\ [A-Z ]{0,30}PRIVATE\ KEY-----
        (?:[^-]|-(?!----))*(?:-----END\ [A-Z ]{0,40}-----)?""", hints="-----BEGIN"),
    _rule("api key", r"(?<![\w-])eyJ[\w-]{8,4096}\.eyJ[\w-]{8,8192}\.[\w-]{8,4096}", hints="eyJ"),
    _rule(
        "api key",
        r"""(?<![\w-])(?P<it>(?:sk|rk)-(?:[a-z]{2,12}-|[a-z]{2,8}\d\d-){0,2}(?=[\w-]{0,64}[A-Za-z0-9]{16})[\w-]{20,256}
        |[srp]k_(?:live|test)_[A-Za-z0-9]{16,256}|whsec_[A-Za-z0-9]{24,128}
        |gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}|glpat-[\w-]{20,128}
        |hf_[A-Za-z0-9]{30,64}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,512}
        |(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)|AIza[\w-]{35}
        |gsk_[A-Za-z0-9]{20,128}|xai-[A-Za-z0-9]{20,256}|r8_[A-Za-z0-9]{20,128}|pplx-[A-Za-z0-9]{20,128}
        |SG\.[\w-]{16,64}\.[\w-]{16,128}|dop_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{40}
        |ya29\.[\w-]{20,512}|AC[a-f0-9]{32}(?!\w)
        |xox[abeoprs]-[A-Za-z0-9-]{10,256}|xapp-[A-Za-z0-9-]{20,256})""",
        _random,
    ),
    _rule(
        "api key",
        r"""(?i:(?:api|access|secret|auth)[ _-]?(?:key|token)|client[ _-]secret|bearer|密钥|秘钥|令牌)["']?
        (?:\ ?(?::|=|是|为)|\ is|\ was)?\ ?["']?(?P<it>[A-Za-z0-9_/+=-]{16,4096})""",
        _random,
    ),
    _rule("api key", r"(?<![\w:])\d{8,10}:[A-Za-z0-9_-]{35}(?![\w-])", _random, hints=":"),  # of a Telegram bot
    _rule("api key", r"(?i:(?:Account|SharedAccess)Key|SharedAccessSignature)=(?P<it>[A-Za-z0-9+/%]{20,256}={0,2})"),
    _rule(
        "api key",
        r"""(?i:\b(?:my|our|the)(?:\ [\w'-]{1,20}){0,2}\ (?:token|api\ key|secret))
        (?:\ (?:here\ )?(?i:is|was):?|:)\ ["'`]?
        (?P<it>[\w/+.=-]{7,512}[\w/+=])""",
        _random,
    ),
    _rule("password", r"""(?i:authorization)["']?\s?[:=]\s?["']?(?i:basic)\ (?P<it>[A-Za-z0-9+/]{6,512}={0,2})"""),
    _rule(
        "password",
        r"""\bcurl\b[^\n]{0,400}?
        \ (?:-[A-Za-z]{0,4}u|--user)[\ =]?["']?[^\s:"']{1,64}:(?P<it>[^\s"'\[][^\s"']{0,127})""",
        hints="curl",
    ),
    _rule("password", r"://[^\s/@:]{1,64}:(?!\[)(?P<it>[^\s/@]{1,128})(?=@)", hints="://"),
    _rule(
        "password",
        r"""(?<![A-Za-z])(?i:pass(?:word|wd|phrase|code)|pwd|pin(?:\ ?code)?)(?![\w-])["']?
        (?:\ (?i:here|there|now|today))?
        (?:\ ?[:=]\ ?|\ (?i:is|was|will\ be|(?:is\ )?(?:now|set\ to|changed\ to)):?\ )
        (?P<quote>["'“‘]?)(?P<it>(?:(?!["'])[!-~]){2,63}(?!["'.,;:?)\]}])[!-~])""",
        _password,
    ),
    _rule(
        "password",
        r"""(?:密码|口令)(?P<link>(?:现在|改|换|设|设置|已)?(?:成了?|为|是|就是|[:=])|)\ ?["'“「]?
        (?P<it>[!-~]{3,63}[A-Za-z0-9!@\#$%^&*+=~_-])""",
        lambda word, match: word[0] not in "[<{$"
        and _LENGTH.fullmatch(word) is None
        and (any(map(str.isdigit, word)) or (match["link"] != "" and (not word.isalpha() or _ends(match)))),
        hints="密码 口令",
    ),
)  # fmt: skip

MIN_IBAN, MAX_IBAN = 15, 34
MIN_PHONE, MAX_PHONE = 7, 15  # the lengths of the shortest and the longest phone number


def luhn(digits: str) -> bool:
    """Whether the last digit is the checksum of ISO/IEC 7812 over the others."""
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(map(int, "".join(map(str, doubled))))) % 10 == 0


def iban(code: str) -> bool:
    """Whether a code, blanks aside, has the checksum of ISO 13616 (mod 97) and a length that an IBAN may have."""
    bare = code.replace(" ", "")
    number = "".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4])
    return MIN_IBAN <= len(bare) <= MAX_IBAN and int(number) % 97 == 1


def resident_id(number: str) -> bool:
    """Whether the last of 18 characters is the checksum of GB 11643 (ISO 7064, mod 11-2) over the others."""
    weighted = sum(int(digit) * pow(2, 17 - place, 11) for place, digit in enumerate(number[:17]))
    return "10X98765432"[weighted % 11] == number[17].upper()


_NUMBERED = lazy(
    r"(?:\b(?:order|invoice|ticket|tracking|reference|ref|case|booking|confirmation|serial|model|part|isbn|sku|item)"
    r"|订单|单号|编号|运单|快递|流水|票号|型号|序列|条码|货号|学号|工号)"
    r"(?:[ :#=.]|number|num|no|nr|id|is|was|号码?|是|为)*$",
    re.IGNORECASE,
)


def _no_order(_number: str, match: Match) -> bool:
    return _NUMBERED.search(_before(match)) is None


_SCHEMES = lazy(r"4|5[1-5]|2[2-7]|3[47]|6(?:011|5|4[4-9]|2)|35|3[0689]")

_NUMBERS = (
    _rule(
        "email",
        r"(?<![\w.%+-])(?!git@)[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])",
        hints="@",
    ),
    _rule(
        "id number",
        r"(?<!\w)[1-9]\d{5}(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\w)",
        lambda number, _: resident_id(number),
    ),
    _rule("id number", r"身份证(?:号码?)?(?:是|为)?[:\ ]{0,2}(?P<it>[1-9]\d{14})(?!\w)", hints="身份证"),
    _rule("id number", r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])"),
    _rule(
        "id number",
        r"""(?i:\bssn|social\ security)(?:\ number)?(?:\ is)?[:\ \#]{0,2}
        (?P<it>(?!000|666|9)\d{3}\ ?(?!00)\d\d\ ?(?!0000)\d{4})(?!\w)""",
    ),
    _rule(
        "card",
        r"""(?<![\w.])(?<!\w-)(?:\d{13,19}|\d{4}([\ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{1,3})?|\d{4}([\ -])\d{6}\2\d{4,5}
        |\d{6}([\ -])\d{13})(?!\w|[.-]\d)""",
        lambda number, match: _SCHEMES.match(_digits(number)) is not None
        and luhn(_digits(number))
        and _no_order(number, match),
    ),
    # The last group may be a word in capitals.
    _rule(
        "iban",
        r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){2,7}(?:\ ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])",
        lambda code, _: iban(code),
        shrinks=True,
    ),
)  # fmt: skip

_DATED = lazy(r"(?:19|20)\d\d[-/. ]?(?:0\d|1[0-2])[-/. ]?[0-3]\d|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4}", re.ASCII)


def _dialled(number: str, _match: Match) -> bool:
    number = number.strip(" -/.()")
    return MIN_PHONE <= len(_digits(number)) <= MAX_PHONE and _DATED.fullmatch(number) is None


_VERSION = lazy(
    r"(?:\bv|version|release|build|firmware|driver|upgraded? to|updated? to|版本|升级到|更新到)"
    r"[ :=号是为]*(?:is |to )?$",
    re.IGNORECASE,
)


def _ip(address: str, match: Match) -> bool:
    before = _before(match)
    path = before.endswith("/") and not before.endswith("//")
    if path or address.startswith("255.") or _VERSION.search(before):
        return False
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (known.is_loopback or known.is_unspecified)


_BEGIN, _END = r"(?<![\w.+])(?<!\w-)", r"(?!\w|[.-]\d)"

_PLACES = (
    _rule("phone", rf"{_BEGIN}(?:(?:\+|00)?86[ -]?)?1[3-9]\d(?:\d{{8}}|([ -])\d{{4}}\1\d{{4}}){_END}", _no_order),
    _rule(
        "phone",
        rf"""{_BEGIN}(?:\+?1[ .-]?)?
        (?:\([2-9]\d\d\)\ ?\d{{3}}[ .-]|[2-9]\d\d([.-])\d{{3}}\1|[2-9]\d\d\ [2-9]\d\d\ )\d{{4}}{_END}""",
        _no_order,
    ),
    _rule("phone", rf"{_BEGIN}(?:\(0\d\d\d?\)[ -]?|0\d\d\d?[ -])\d{{7,8}}(?:-\d{{1,6}})?{_END}", _no_order),
    _rule("phone", rf"{_BEGIN}0(?:10|2\d|[3-9]\d\d)[2-9]\d{{6,7}}{_END}", _no_order),
    _rule(
        "phone",
        rf"""{_BEGIN}(?:(?:0\d{{2,4}}[ /-]|\(0\d{{1,4}}\)[ ]?)\d{{3,4}}[ -]?\d{{3,4}}
        |0[1-9](?:[ .]\d\d){{4}}){_END}""",
        _no_order,
    ),
    _rule(
        "phone",
        r"""(?<![\w+])\+[1-9]\d{0,14}(?:[ .-]?\(\d{1,5}\)[ .-]?\d{2,8})?
        (?:[ .-]\d{2,8}(?![\w:%]|[.,]\d)){0,5}(?!\w|[.,]\d)""",
        _dialled,
        shrinks=True,
        hints="+",
    ),
    _rule(
        "phone",
        r"""(?:(?i:\b(?:(?:tele|cell)?phone|mobile|cell|whatsapp|tel|fax|call|ring))\b
            (?:[ :=\#.'’-]|(?i:number|no\b|nr\b|is\b|at\b|on\b|me\b|us\b|him\b|her\b)){0,8}
        |(?:电话|手机|联系方式|致电|传真)(?:[ :=]|号码?|是|为|改成|换成|我|打){0,6})
        (?P<it>\d{7,12}|\(?\+?\d[\d ()/.-]{5,18}\d)(?!\w|[.-]\d)""",
        _dialled,
        shrinks=True,
    ),
    _rule("ip", r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)", _ip),
    # A group of three signs at least, so that a::b of a program is none.
    _rule(
        "ip",
        r"(?<![\w:.])(?=[0-9A-Fa-f:]{0,36}[0-9A-Fa-f]{3})(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])",
        _ip,
        hints=":",
    ),
)  # fmt: skip

RULES = (*_SECRETS, *_NUMBERS, *_PLACES)  # in order of precedence

KINDS = tuple(dict.fromkeys(rule.kind for rule in RULES))
"""The kinds that can be redacted; of overlapping findings, the kind that comes first here counts."""

# Full-width signs, typographic dashes and blanks, each for the one that the rules know: all places stay.
_PLAIN = (
    {
        code: code - 0xFEE0
        for code in range(0xFF01, 0xFF5F)
        if chr(code - 0xFEE0).isalnum() or chr(code) in "＠．－＋（）：＝＿"
    }
    | dict.fromkeys(range(0x2010, 0x2016), "-")
    | dict.fromkeys((0xA0, 0x2007, 0x202F, 0x3000), " ")
)


def redact(text: str, kinds: Collection[str] = KINDS) -> str:
    """The text with ``[email]``, ``[phone]`` and so on for secrets and personal data of these kinds, in linear time.

    Raises:
        InvalidInputError: there is no such kind.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise InvalidInputError(f"there is no rule for {', '.join(map(repr, unknown))}: choose from {', '.join(KINDS)}")
    parts, done = [], 0
    for start, end, kind in findings(text, kinds):
        parts += [text[done:start], f"[{kind}]"]
        done = end
    return "".join([*parts, text[done:]])


def findings(text: str, kinds: Collection[str] = KINDS) -> list[tuple[int, int, str]]:
    """The findings as ``text[start:end]`` with their kind, in order and without overlap."""
    plain = text.translate(_PLAIN)
    taken = bytearray(len(text))
    found = []
    for kind in (kind for kind in KINDS if kind in kinds):
        merged: list[tuple[int, int]] = []  # what several rules find at one place counts once
        for start, end in sorted(span for rule in RULES if rule.kind == kind for span in rule.spans(plain)):
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        for start, end in merged:
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append((start, end, kind))
    return sorted(found)
