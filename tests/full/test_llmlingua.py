import random

import pytest

from hybrid_memory.models.llmlingua import TOLERANCE, LlmLinguaCompressor
from tests.world import column

ENGLISH, CHINESE = column("full/llmlingua.tsv")
MUST_STAY = {
    ENGLISH: [
        *("1,250 EUR", "rui@tavares-homes.pt", "March 14, 2025", "/srv/app/sync.py", "E4127", "03:15"),
        *('"the two loggers disagree"', "`sync --dry-run`", "https://ci.example/12"),
    ],
    CHINESE: ["1250", "2025年3月14日", "/srv/app/sync.py", "E4127"],
}


@pytest.fixture(scope="module")
def compressor(smollm2: str) -> LlmLinguaCompressor:
    return LlmLinguaCompressor(smollm2)


def is_left_of(result: str, text: str) -> bool:
    rest = iter(text)
    return all(character in rest for character in result if not character.isspace())


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("rate", [0.75, 0.5])
def test_a_text_is_shortened_and_what_matters_stays(compressor: LlmLinguaCompressor, text: str, rate: float) -> None:
    limit = int(compressor._count(text) * rate)
    result = compressor.compress(text, max_tokens=limit)
    assert limit * 0.7 < compressor._count(result) <= limit * (1 + TOLERANCE)
    assert is_left_of(result, text)
    for part in MUST_STAY[text]:
        assert part in result, part


def test_a_long_text_is_compressed_in_chunks(compressor: LlmLinguaCompressor) -> None:
    chance = random.Random(3)  # noqa: S311 - a sample
    people = ["Ana", "Rui", "my sister", "the landlord", "our neighbour"]
    story = [
        f"Then {chance.choice(people)} told {chance.choice(people)} that the whole thing with the flat was, all things "
        f"considered, rather more complicated than anybody had thought when we began to talk about it."
        for _ in range(45)
    ]
    story[30] = "The door code is K-7731."
    text = " ".join(story)
    count = compressor._count(text)
    assert count > compressor._window
    limit = count // 2
    result = compressor.compress(text, max_tokens=limit)
    # Of sentences that repeat each other the library keeps less than it is asked for.
    assert limit * 0.6 < compressor._count(result) <= limit * (1 + TOLERANCE)
    assert "K-7731" in result
    assert is_left_of(result, text)
