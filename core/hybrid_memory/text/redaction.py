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
"""

from __future__ import annotations

from collections.abc import Collection

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.sensitive import RULES

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
    for kind in KINDS:
        for start, end in _spans(kind, plain) if kind in kinds else ():
            if not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append((start, end, kind))
    return sorted(found)


def _spans(kind: str, text: str) -> list[tuple[int, int]]:
    """The places of this kind; findings of several rules at one place count once."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for rule in RULES if rule.kind == kind for span in rule.spans(text)):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
