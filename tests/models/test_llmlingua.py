import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.models import llmlingua
from hybrid_memory.models.llmlingua import TOLERANCE, LlmLinguaCompressor
from hybrid_memory.text.sentences import pieces_of
from tests.world import rows, words


@pytest.mark.parametrize("row", rows("models/protected.tsv"), ids="|".join)
def test_what_must_not_change_is_protected(row: tuple[str, ...]) -> None:
    text, *expected = row
    assert [piece for piece, keep in pieces_of(text, words, 1000) if keep] == expected


class Library:
    """In the place of LLMLingua: keeps the first words of each text, in one try after the other of the given shares."""

    def __init__(self, shares: list[float]) -> None:
        self.max_position_embeddings = 100
        self.oai_tokenizer = SimpleNamespace(encode=str.split)
        self.targets: list[tuple[int, int]] = []
        self._shares = shares
        self._seen: dict[str, int] = {}

    def compress_prompt(self, context: list[str], *, target_token: int, **options: Any) -> dict[str, str]:
        (text,) = context
        self.targets.append((words(text), target_token))
        turn = self._seen[text] = self._seen.get(text, -1) + 1
        kept = round(target_token * self._shares[min(turn, len(self._shares) - 1)])
        return {"compressed_prompt": " ".join(text.split()[:kept])}


Compressor = Callable[..., tuple[LlmLinguaCompressor, Library]]


@pytest.fixture
def compressor(monkeypatch: pytest.MonkeyPatch) -> Compressor:
    def make(*shares: float) -> tuple[LlmLinguaCompressor, Library]:
        library = Library(list(shares))
        monkeypatch.setattr(llmlingua, "_loaded", lambda *args, **kwargs: library)
        return LlmLinguaCompressor("a model"), library

    return make


TEXT = f"{'plain words here ' * 20}see `the exact code` and {'more of these words ' * 10}until 03:15."


def test_a_text_is_brought_to_the_limit_with_the_protected_parts_in_place(compressor: Compressor) -> None:
    model, library = compressor(1.0)
    result = model.compress(TEXT, max_tokens=60)
    assert abs(words(result) - 60) <= 2
    assert result.startswith("plain words here")
    assert "`the exact code`" in result
    assert result.endswith("03:15.")
    assert sum(target for _, target in library.targets) == pytest.approx(60 - 5, abs=2)


def test_a_result_that_is_too_long_is_compressed_harder_once(compressor: Compressor) -> None:
    model, library = compressor(1.3)
    result = model.compress(TEXT, max_tokens=60)
    assert words(result) <= 60 * (1 + TOLERANCE)
    first, second = library.targets[: len(library.targets) // 2], library.targets[len(library.targets) // 2 :]
    assert [length for length, _ in first] == [length for length, _ in second]
    assert all(after < before for (_, before), (_, after) in zip(first, second, strict=True))


@pytest.mark.parametrize(("text", "answer", "expected"), rows("models/llmlingua.tsv", "left"))
def test_only_characters_of_the_text_are_left(
    compressor: Compressor, monkeypatch: pytest.MonkeyPatch, text: str, answer: str, expected: str
) -> None:
    model, library = compressor(1.0)
    library.oai_tokenizer.encode = list
    monkeypatch.setattr(library, "compress_prompt", lambda *args, **kwargs: {"compressed_prompt": answer})
    assert model._shortened(text, 5) == expected


def test_the_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llmlingua", None)
    with pytest.raises(MissingDependencyError) as caught:
        LlmLinguaCompressor("a model")
    assert (caught.value.package, caught.value.extra) == ("llmlingua", "llmlingua")
