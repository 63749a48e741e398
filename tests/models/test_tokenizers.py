from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from hybrid_memory.models import tokenizers
from hybrid_memory.models.tokenizers import SLICE_CHARS, token_counter
from hybrid_memory.ports import TokenCounter
from hybrid_memory.text.tokens import estimate_tokens

TEXT = "I moved to Berlin in May. 我五月搬到了柏林。"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def exact() -> TokenCounter:
    pytest.importorskip("tiktoken")
    counter = token_counter()
    if "tiktoken" not in repr(counter):
        pytest.skip("the encoding's table is not on this machine")
    return counter


def test_counts_are_those_of_the_encoding_and_special_tokens_are_ordinary_text(exact: TokenCounter) -> None:
    # Counts that OpenAI's own tokenizer gives.
    texts = (
        "tiktoken is great!", "お誕生日おめでとう", "antidisestablishmentarianism", "2 + 2 = 4", "", "<|endoftext|>",
    )  # fmt: skip
    assert [exact(text) for text in texts] == [6, 8, 6, 7, 0, 7]
    assert repr(exact) == "<token counter 'tiktoken o200k_base'>"


def assert_estimates() -> None:
    counter = token_counter()
    assert counter(TEXT) == estimate_tokens(TEXT)
    assert repr(counter) == "<token counter 'estimate'>"


def test_without_tiktoken_it_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert_estimates()


def test_without_a_table_it_estimates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tokenizers, "_table_folders", lambda: iter([tmp_path]))
    assert_estimates()


def test_hostile_text_is_counted(exact: TokenCounter) -> None:
    blanks = exact(" " * (10 * SLICE_CHARS) + "a")
    assert 7_000 < blanks < 9_000
    assert exact("a\ud800b") > 0
