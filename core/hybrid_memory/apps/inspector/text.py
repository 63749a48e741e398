"""Texts of a memory as a page shows them: always as text, and with nothing in them that is not seen."""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff]"
)
"""Controls, marks of direction, fillers, tags, private use; not the joiners, which Persian and emoji are made of."""


def visible(text: str) -> str:
    """The text with what nobody would see made visible, such as ``⟨U+202E⟩`` for a mark of direction."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def finished(value: Any) -> Any:
    """What a template prints in the place of a value: every text passes here, before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
