"""Whose words a text is, as it is named beside them."""

from __future__ import annotations

from hybrid_memory.log.event import Event
from hybrid_memory.log.origin import MARKED, Origin
from hybrid_memory.text.marks import visible
from hybrid_memory.text.tokenize import cjk_share

MOST_CHARS = 64
"""Of a speaker's name."""

CHINESE_SHARE = 0.25
"""Share of Chinese characters from which a text counts as Chinese: names and code in it are often Latin."""

_CHINESE = {Origin.PERSON: "他人", Origin.TOOL: "工具", Origin.WEB: "网页", Origin.IMPORTED: "导入"}

_ROLES = frozenset("user assistant system tool operator developer human ai memory 用户 助手 系统 操作员".split())


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese rather than English."""
    return cjk_share(text) >= CHINESE_SHARE


def origin_name(origin: Origin, words: str) -> str:
    """The origin in the language of these words."""
    return _CHINESE[origin] if origin in _CHINESE and is_chinese(words) else origin.value


def speaker(origin: Origin, name: str, words: str) -> str:
    """Who says these words, in one line: by name, and of tools, pages and imports what they are.

    Nobody is named by the role of somebody else, whatever they call themselves.
    """
    name = " ".join(visible(name).split())[:MOST_CHARS]
    taken = name.casefold() in _ROLES
    if origin in MARKED:
        return origin_name(origin, words) + ("" if taken else f" ({name})")
    return origin_name(origin, words) if taken and origin in (Origin.PERSON, Origin.ASSISTANT) else name


def speaker_of(event: Event) -> str:
    """Who says the words of a message."""
    return speaker(event.origin, event.message.speaker, event.message.text)
