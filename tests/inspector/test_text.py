from __future__ import annotations

import math
import re
import sys
import unicodedata
from dataclasses import fields
from importlib.resources import files
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment

from hybrid_memory import Signals
from hybrid_memory.recall.hit import HUES
from hybrid_memory_inspector.guard import finished, visible
from hybrid_memory_inspector.words import SIGNALS

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


def test_every_signal_has_words_and_one_colour_that_no_other_is_like() -> None:
    sheet = files("hybrid_memory_inspector").joinpath("static/inspector.css").read_text("utf-8")
    colours = {name: tuple(map(int, hue.split(","))) for name, hue in HUES.items()}
    assert colours.keys() == SIGNALS.keys() == {part.name for part in fields(Signals)}
    for name, colour in colours.items():
        (shown,) = re.findall(rf"\.{name} {{ --fill: #(\w{{6}}); }}", sheet)
        assert tuple(bytes.fromhex(shown)) == colour
    for one, other in combinations(colours.values(), 2):
        assert math.dist(perceived(one), perceived(other)) > 0.13, (one, other)


def perceived(colour: tuple[int, ...]) -> tuple[float, ...]:
    """The colour in OKLab, where distances are as large as they look; https://bottosson.github.io/posts/oklab/."""
    red, green, blue = (part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )
