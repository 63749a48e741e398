from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.models import llmlingua
from hybrid_memory.models.llmlingua import TOLERANCE, LlmLinguaCompressor
from hybrid_memory.text.sentences import pieces_of


def words(text: str) -> int:
    return len(text.split())


def protected(text: str) -> list[str]:
    return [piece for piece, keep in pieces_of(text, words, 1000) if keep]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run\n```sh\nmake all\n\nmake test\n```\nand wait", ["```sh\nmake all\n\nmake test\n```"]),
        ("never closed\n```\nx = 1", ["```\nx = 1"]), ("call `sync --dry-run` first", ["`sync --dry-run`"]),
        ("see https://ci.example/a?b=1#c, then", ["https://ci.example/a?b=1#c,"]),
        ("看 https://ci.example/日志，然后", ["https://ci.example/日志"]),
        ("write to rui@tavares-homes.pt soon", ["rui@tavares-homes.pt"]),
        ("it lives in /srv/app/sync.py there", ["/srv/app/sync.py"]),
        ("it lives in src/app/sync.py and in README.md there", ["src/app/sync.py", "README.md"]),
        (r"open C:\Users\mei\plan.docx now", [r"C:\Users\mei\plan.docx"]),
        ("打开 ~/笔记/计划.md，然后", ["~/笔记/计划.md"]), ("failed with E4127 at 03:15 today", ["E4127", "03:15"]),
        ("id 3fa85f64-5717-4562-b3fc-2c963f66afa6 is taken", ["3fa85f64-5717-4562-b3fc-2c963f66afa6"]),
        ("commit 9f8e7d6 fixes ABC-123", ["9f8e7d6", "ABC-123"]),
        ("set MAX_RETRIES in load_config please", ["MAX_RETRIES", "load_config"]),
        ("it costs $1,250.50 or 30 EUR each", ["$1,250.50", "30 EUR"]),
        ("takes 15 ms for 3.5 GB and 10% more", ["15 ms", "3.5 GB", "10%"]), ("wait 3 days or so", ["3 days"]),
        ("due March 14, 2025, or 3rd May", ["March 14, 2025", "3rd May"]),
        ("on 2025-03-14 or 14.03.2025 then", ["2025-03-14", "14.03.2025"]),
        ("我们在2025年3月14日下午见，租金每个月1250元", ["2025年3月14日", "1250元"]),
        ("三月十四日见，一共五公里", ["三月十四日", "五公里"]),
        ('answer with "user_id": and a number', ['"user_id":']),
        ('she said "the two loggers disagree" again', ['"the two loggers disagree"']),
        ("她说“两个日志不一致”，在《时间简史》里", ["“两个日志不一致”", "《时间简史》"]),
        ("the key 'max tokens' isn't there, and that's it", ["'max tokens'"]),
        ("nothing in here is special at all", []), ("这里没有什么特别的", []),
    ],
)  # fmt: skip
def test_what_must_not_change_is_protected(text: str, expected: list[str]) -> None:
    assert protected(text) == expected


class Library:
    """In the place of LLMLingua: keeps the first words of each text, in one try after the other of the given shares."""

    def __init__(self, shares: list[float], *, max_position_embeddings: int = 100) -> None:
        self.max_position_embeddings = max_position_embeddings
        self.oai_tokenizer = SimpleNamespace(encode=str.split)
        self.targets: list[tuple[int, int]] = []
        self.inside = threading.Lock()
        self._shares = shares
        self._seen: dict[str, int] = {}

    def compress_prompt(self, context: list[str], *, target_token: int, **options: Any) -> dict[str, str]:
        assert self.inside.acquire(blocking=False), "two threads at once"
        (text,) = context
        self.targets.append((words(text), target_token))
        turn = self._seen[text] = self._seen.get(text, -1) + 1
        kept = round(target_token * self._shares[min(turn, len(self._shares) - 1)])
        time.sleep(0.001)
        self.inside.release()
        return {"compressed_prompt": " ".join(text.split()[:kept])}


Compressor = Callable[..., tuple[LlmLinguaCompressor, Library]]


@pytest.fixture
def compressor(monkeypatch: pytest.MonkeyPatch) -> Compressor:
    def make(*shares: float, **settings: Any) -> tuple[LlmLinguaCompressor, Library]:
        library = Library(list(shares), **settings)
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


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("这是一个很长的句子。", "这一\ufffd个綑长的子", "这一个长的子"),
        ("我们在一起，走了 10 里路，累。", "我 们 走 了 10 路 累 。", "我们走了 10 路累。"),
        ("It's a long, long way (so far).", "It ' s long way ( far ) .", "It's long way ( far)."),
        ("We nearly chose workflow 2.9 there.", "Wely choseflow.", "We chose workflow 2.9."),
        (
            "They moved to Ghent with userName, MAX_AGE and I agreed.",
            "They agreed.",
            "They Ghent userName MAX_AGE agreed.",
        ),
        ("用Postgres和Redis存，版本3", "用存版", "用Postgres Redis存版3"),
        ("one,\ntwo three", "one three", "one\nthree"),
        ("one two three", "one three", "one three"),
        ("one two three", "", ""),
    ],
)
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
