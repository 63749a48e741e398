"""Names the speaker of a text, as shown with it."""

from __future__ import annotations

from hybrid_memory.log.event import Event
from hybrid_memory.log.origin import MARKED, Origin
from hybrid_memory.text.marks import visible
from hybrid_memory.text.tokenize import cjk_share

MOST_CHARS = 64
"""The longest speaker name."""

CHINESE_SHARE = 0.25
"""A text with at least this share of Chinese characters is Chinese: names and code in it are often Latin."""

_CHINESE = {Origin.PERSON: "他人", Origin.TOOL: "工具", Origin.WEB: "网页", Origin.IMPORTED: "导入"}

_ROLES = frozenset("user assistant system tool operator developer human ai memory 用户 助手 系统 操作员".split())


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese rather than English."""
    return cjk_share(text) >= CHINESE_SHARE


def origin_name(origin: Origin, words: str) -> str:
    """The name of the origin, in the language of these words."""
    return _CHINESE[origin] if origin in _CHINESE and is_chinese(words) else origin.value


def speaker(origin: Origin, name: str, words: str) -> str:
    """The speaker of these words, on one line: by name; tools, pages and imports by what they are.

    Nobody can be shown under another role, whatever they call themselves.
    """
    name = " ".join(visible(name).split())[:MOST_CHARS]
    taken = name.casefold() in _ROLES
    if origin in MARKED:
        return origin_name(origin, words) + ("" if taken else f" ({name})")
    return origin_name(origin, words) if taken and origin in (Origin.PERSON, Origin.ASSISTANT) else name


def speaker_of(event: Event) -> str:
    """The speaker of a message."""
    return speaker(event.origin, event.message.speaker, event.message.text)
