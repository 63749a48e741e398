"""The intent of a query, by cue words of both languages."""

from __future__ import annotations

import re

from hybrid_memory.recall.query import Intent

CUES: dict[Intent, str] = {
    Intent.CONTEXTUAL: (
        r"\b(?:remember|recall|remind me|earlier|previously|before|last time|back then|the other day|"
        r"(?:did|have|had) (?:i|we|you) (?:\w+ )?(?:say|said|tell|told|talk(?:ed)?|mention(?:ed)?|discuss(?:ed)?)|"
        r"(?:we|i|you) (?:were )?(?:talk(?:ed|ing)|discuss(?:ed|ing)|mention(?:ed|ing)|said|told))\b"
        r"|之前|以前|记得|上次|刚才|刚刚|先前|早些时候|提到过|提过|说过|聊过|谈过|讨论过|那次|那天|当时"
    ),
    Intent.REASONING: (
        r"\b(?:why|how come|explain|compare|comparison|difference|differ|versus|vs|pros and cons|trade-?offs?|"
        r"should (?:i|we)|what if|would it|analy[sz]e|evaluate|recommend|suggest|advise|advice|plan|"
        r"reasons?|because|implications?|how (?:does|do|can|could|should|would|might))\b"
        r"|为什么|为何|怎么会|原因|比较|对比|区别|差别|优缺点|利弊|分析|评估|建议|推荐|该不该|应不应该|如果|怎么办|"
        r"如何|怎样才能|意味着|总结"
    ),
    Intent.FACT: (
        r"\b(?:who|whom|whose|what|when|where|which|how (?:many|much|old|long|often|far|tall|big)|name of)\b"
        r"|是谁|是什么|谁|什么|哪里|哪儿|哪个|哪些|哪年|哪天|哪位|何时|何地|几点|几个|几岁|几月|几号|多少|多大|多久|多远|"
        r"叫什么|什么时候|哪"
    ),
}
"""In the order in which they are tried: "what did I say before?" goes back, and "what if" weighs."""

_PATTERNS = {intent: re.compile(pattern, re.IGNORECASE) for intent, pattern in CUES.items()}

DEFAULT = Intent.FACT
"""A query without a cue is mostly the bare name of what is looked for."""


def intent(query: str) -> tuple[Intent, str]:
    """The intent, and the word that told it; empty where none did and the intent is the default."""
    for kind, pattern in _PATTERNS.items():
        if found := pattern.search(query):
            return kind, found[0]
    return DEFAULT, ""
