"""Whether a turn asks for something that memory may know; cue words of both languages."""

from __future__ import annotations

import re

_ASKS = re.compile(
    r"[?？]|\b(?:what|when|where|who|whom|whose|which|why|how|remember|recall|remind|earlier|previously|last time"
    r"|did (?:i|we|you|he|she|they)|have (?:i|we)|tell me|list|find|show me|recommend|suggest)\b"
    r"|什么|哪|谁|几|多少|怎么|如何|为什么|吗|呢|是否|记得|记不记得|之前|以前|上次|曾经|提到|告诉我|推荐|建议",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Whether the text is a question or speaks of something earlier."""
    return _ASKS.search(text) is not None
