"""Extracts the value of a claim from its sentence, if the form shows where it is; otherwise the whole sentence."""

from __future__ import annotations

import re

MAX_CHARS = 240
"""The longest sentence used as a value."""

_SHAPES = {
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "phone": re.compile(r"\+?\d[\d\s()./-]{5,18}\d"),
    "age": re.compile(r"(?<![\d.,:])\d{1,3}(?![\d.,:]\d|\d|%)"),
}
"""Patterns of attributes whose values look like nothing else in a sentence."""

_LEADING = (
    r"well|oh|ah|yeah|yes|yep|no|nope|hey|hi|hello|so|and|but|also|btw|by the way|actually|honestly|to be honest|tbh"
    r"|okay|ok|fyi|anyway|sure|haha|lol|thanks|thank you|sorry|look|listen|please note(?: that)?|remember(?: that)?"
    r"|note that"
)
_CHINESE = "嗯|啊|哦|噢|对了|其实|那个|说实话|哈哈|好的|你好|您好|谢谢"
_LEAD = re.compile(rf"^(?:[\s,.\-–—•*]+|(?:{_LEADING})\b[\s,.!:]*|(?:{_CHINESE})[，,。！!：:\s]+)+", re.IGNORECASE)


def cut(sentence: str, attribute: str) -> tuple[str, bool]:
    """The value, and whether it is the whole sentence, without introductory words."""
    shape = _SHAPES.get(attribute)
    found = shape.search(sentence) if shape is not None else None
    if found is not None:
        return found[0].strip(), False
    lead = _LEAD.match(sentence)
    bare = sentence[lead.end() :] if lead and lead.end() < len(sentence) else sentence
    bare = " ".join(bare.split()).rstrip(".。")
    return (bare if len(bare) <= MAX_CHARS else f"{bare[: MAX_CHARS - 1].rstrip()}…"), True
