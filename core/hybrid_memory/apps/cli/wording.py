"""Headings in the language of the texts under them, as in prompts."""

from __future__ import annotations

from collections.abc import Iterable

_CHINESE = {
    "field": "字段",
    "conf.": "可信度",
    "confidence": "可信度",
    "since": "起始",
    "value": "内容",
    "also": "其他",
    "session": "会话",
    "turns": "条数",
    "first": "最早",
    "last": "最近",
    "about": "对象",
    "in": "会话",
}


def headings(chinese: bool, *words: str) -> tuple[str, ...]:
    """The words in Chinese or in English."""
    return tuple(_CHINESE[word] for word in words) if chinese else words


def mostly_chinese(texts: Iterable[object]) -> bool:
    """Whether most of the texts are Chinese."""
    from hybrid_memory.text.voices import is_chinese  # noqa: PLC0415 - help need not wait for it

    told = [is_chinese(str(text)) for text in texts]
    return 2 * sum(told) > len(told)
