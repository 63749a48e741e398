"""Features of a sentence's wording that its vector hardly shows: punctuation, and a few English and Chinese words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.text.patterns import lazy

LONG_CHARS = 100
"""A length that counts as 1; capped at three times as much."""

CUES = tuple(
    lazy(cue, re.IGNORECASE)
    for cue in (
        r"[?？]",
        r"[?？]\W*$",
        r'["“”「」『』«»]',
        r'^["“「«].*["”」»]\W*$',
        r"\b(?:if|would|could|wish|imagine|suppose|maybe|might)\b|如果|要是|假如|假设|要不|可能|也许|万一",
        r"\b(?:said|says|told|asked|wrote)\b|说[:：，,]?[“\"「]|告诉|写道",
        r"\b(?:i|i'm|i've|i'd|my|me|mine|we|our|us)\b|我|咱",
        r"\b(?:he|she|they|his|her|their|him|them)\b|他|她|它",
        r"\b(?:you|your)\b|你|您",
        r"\d",
        r"[:：]",
        r"[!！]",
        r"\b(?:translate|rewrite|proofread|summari[sz]e|correct|grammar|rephrase)\b|翻译|改写|润色|修改|病句|改成",
        r"\b(?:novel|character|story|game|role|dream\w*|movie|film|book|hero|play)\b|小说|角色|故事|游戏|梦|剧|电影|主角",
        r"[:：]\s*[\"“「]?(?:I|My)\b|[:：]\s*[\"“「]?我",
        r"\b(?:lol|haha|literally|ugh|great|sure)\b|哈哈|呵呵|真是|可真",
        r"\b(?:now|today|tonight|just|this morning)\b|现在|今天|刚|今晚",
        r"\b(?:always|never|every|usually|ever since|years)\b|一直|从来|每|总是|从小|多年|年了",
    )
)


def cues(texts: Sequence[str], answers: Sequence[bool]) -> Floats:
    """One row per text: binary features, the length in hundreds of characters, and whether it answers something."""
    rows = [
        [*(float(cue.search(text) is not None) for cue in CUES), min(len(text) / LONG_CHARS, 3.0), float(answer)]
        for text, answer in zip(texts, answers, strict=True)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(texts), len(CUES) + 2)
