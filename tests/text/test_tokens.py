import json
import socket
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Message
from hybrid_memory.models.tokenizers import SLICE_CHARS, token_counter
from hybrid_memory.ports import TokenCounter
from hybrid_memory.text import tokens
from hybrid_memory.text.tokens import estimate_tokens, message_tokens, schema_tokens
from tests.world import cases, words


@pytest.mark.parametrize(
    ("text", "exact"),  # counted with o200k_base
    cases("text/tokens.json", "estimates"),
)
def test_the_estimate_is_near_in_every_script(text: str, exact: int) -> None:
    assert estimate_tokens(text) == pytest.approx(exact, rel=0.25)


def test_only_the_empty_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0
    assert [estimate_tokens(text) for text in (" ", "\n", "a", "好", "\x00", "\ud800")] == [1, 1, 1, 1, 1, 1]


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_estimate_grows_with_the_text(one: str, other: str) -> None:
    assert 0 <= estimate_tokens(one) <= 3 * len(one) + 1
    assert estimate_tokens(f"{one}\n\n{other}") >= max(estimate_tokens(one), estimate_tokens(other))


def test_a_message_costs_its_framing_its_role_and_its_words() -> None:
    assert message_tokens(Message(content="one two three"), words) == tokens.MESSAGE_TOKENS + 1 + 3
    named = Message(content="one two three", name="Ann Lee")
    assert message_tokens(named, words) == tokens.MESSAGE_TOKENS + 1 + 3 + tokens.NAME_TOKENS + 2


def test_tool_calls_count_with_their_arguments_and_ids() -> None:
    call = {"name": "find", "arguments": {"city": "New York", "days": 2}, "id": "c1"}
    asked = Message.model_validate({"role": "assistant", "tool_calls": [call]})
    written = '{"city":"New York","days":2}'
    assert message_tokens(asked, len) == tokens.MESSAGE_TOKENS + len("assistant") + len("find" + written) + len("c1")
    answer = Message.model_validate({"role": "tool", "content": "sunny", "tool_call_id": "c1"})
    assert message_tokens(answer, len) == tokens.MESSAGE_TOKENS + len("tool") + len("sunny") + len("c1")


@pytest.mark.parametrize(
    ("block", "cost"),
    [
        ({"type": "text", "text": "a b c"}, 3),
        ({"block_type": "text", "text": "a b c"}, 3),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A " * 5000}}, tokens.IMAGE_TOKENS),
        ({"type": "image", "source": {"type": "base64", "data": "A " * 5000}}, tokens.IMAGE_TOKENS),
        ({"block_type": "image", "image": "A " * 5000}, tokens.IMAGE_TOKENS),
        ({"type": "input_audio", "input_audio": {"data": "A " * 5000}}, tokens.AUDIO_TOKENS),
        ({"type": "file", "file": {"file_data": "A " * 5000}}, tokens.FILE_TOKENS),
        ({"type": "other", "value": "x y"}, 2),
        ({"type": "result", "content": [{"type": "text", "text": "a b"}, {"type": "image", "data": "A A"}]}, 3 + 765),
    ],
)
def test_a_block_counts_by_its_words_or_at_a_flat_cost(block: dict[str, object], cost: int) -> None:
    assert message_tokens(Message(content=[block]), words) == tokens.MESSAGE_TOKENS + 1 + cost


def test_schemas_count_as_compact_json() -> None:
    tools: list[dict[str, object]] = [{"name": "find", "parameters": {"type": "object"}}, {"name": "查"}]
    whole = sum(len(json.dumps(tool, separators=(",", ":"), ensure_ascii=False)) for tool in tools)
    assert schema_tokens(tools, len) == whole
    assert schema_tokens([], len) == 0


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


def test_counts_are_those_of_the_encoding_whatever_the_text(exact: TokenCounter) -> None:
    """Those that OpenAI's own tokenizer gives; special tokens are ordinary text."""
    texts = (
        "tiktoken is great!", "お誕生日おめでとう", "antidisestablishmentarianism", "2 + 2 = 4", "", "<|endoftext|>",
    )  # fmt: skip
    assert [exact(text) for text in texts] == [6, 8, 6, 7, 0, 7]
    assert repr(exact) == "<token counter 'tiktoken o200k_base'>"
    assert 7_000 < exact(" " * (10 * SLICE_CHARS) + "a") < 9_000
    assert exact("a\ud800b") > 0


@pytest.mark.parametrize("missing", ["package", "table"])
def test_without_tiktoken_or_table_it_estimates(missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if missing == "package":
        monkeypatch.setitem(sys.modules, "tiktoken", None)
    else:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        monkeypatch.setitem(sys.modules, "llama_index", None)  # which brings a table, too
    counter = token_counter()
    assert counter(TEXT) == estimate_tokens(TEXT)
    assert repr(counter) == "<token counter 'estimate'>"
