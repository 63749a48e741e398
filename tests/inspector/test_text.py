from __future__ import annotations

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from hybrid_memory_inspector.guard import finished, visible

SEEN = {"\n", "\t", "\u200c", "\u200d"}
"""Line breaks, and the joiners that Persian and emoji are made of."""


FILLERS = set("\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks by name, which nobody sees."""


def test_no_control_format_or_private_character_is_left_invisible() -> None:
    unseen = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    hidden = [char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) in unseen]
    wanted = [char for char in hidden if char not in SEEN]
    assert len(wanted) > 100_000
    assert visible("".join(wanted)) == "".join(f"⟨U+{ord(char):04X}⟩" for char in wanted)
    assert visible("".join(SEEN)) == "".join(SEEN)


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_what_is_seen_stays_as_it_is(text: str) -> None:
    assert all(
        char == shown or char in FILLERS or char >= "\U000e0000"
        for char, shown in zip(text, map(visible, text), strict=True)
    )


def test_every_value_of_a_template_is_made_visible_and_escaped() -> None:
    pages = Environment(autoescape=True, finalize=finished)
    page = pages.from_string("{{ a }}|{{ a ~ b }}|{% set c %}{{ b }}{% endset %}{{ c }}|{{ n }}")
    text = page.render(a="\x1b[31m", b="<b>\u202e", n=7)
    assert text == "⟨U+001B⟩[31m|⟨U+001B⟩[31m&lt;b&gt;⟨U+202E⟩|&lt;b&gt;⟨U+202E⟩|7"
