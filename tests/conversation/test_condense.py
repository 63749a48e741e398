"""Texts shortened to a budget: never above it, never half a sentence, and what matters stays."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import MemoryConfig, Message, open_memory
from hybrid_memory.context.shortening import fragments, joined
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokens import estimate_tokens
from tests.conversation.conftest import OpenWith
from tests.faces import Face, Open
from tests.world import column, words

ENGLISH, CHINESE, ONES = (column("conversation/condense.tsv", kind) for kind in ("english", "chinese", "one"))
SENTENCES = [piece for text in (*ENGLISH, *CHINESE) for piece in sentences(text)] + ONES


class Shortener:
    """A compressor that keeps every third word, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[tuple[str, int]] = []
        self._fails = fails

    def compress(self, text: str, *, max_tokens: int) -> str:
        self.asked.append((text, max_tokens))
        if self._fails:
            raise ModelError("out of memory")
        return " ".join(text.split()[::3])


@pytest.mark.parametrize(
    ("texts", "query", "answer"),
    [
        (ENGLISH, "Which room did my sister book?", "My sister booked room 12 for us."),
        (CHINESE, "我妹妹订了哪个房间？", "我妹妹订了12号房间。"),
    ],
    ids=["en", "zh"],
)
def test_sentences_with_the_answer_stay(face: Face, opened: Open, texts: list[str], query: str, answer: str) -> None:
    short = face(opened()).condense(texts, query=query, max_tokens=30)
    assert answer in short.texts[0]
    assert len(short.texts) == 2
    assert sum(short.after) <= 30 < sum(short.before)
    assert (short.how, short.note) == ("extractive", "")
    for text, left in zip(texts, short.texts, strict=True):
        order = [sentences(text).index(sentence) for sentence in sentences(left)]
        assert order == sorted(order)


def test_what_was_said_once_is_not_said_again(face: Face, opened: Open) -> None:
    texts = ["My sister lives in Lisbon.", "My sister lives in Lisbon.", "My sister has a cat and a red sofa."]
    short = face(opened()).condense(texts, query="What about my sister?", max_tokens=16)
    assert sorted(short.texts) == ["", "My sister has a cat and a red sofa.", "My sister lives in Lisbon."]


def test_lines_stay_lines_and_chinese_gets_no_blanks(face: Face, opened: Open) -> None:
    text = "# Title\n\n- red car\n- blue sofa in the room upstairs\n- red house\n"
    (left,) = face(opened()).condense([text], query="red", max_tokens=9).texts
    assert left == "- red car\n- red house"
    (left,) = face(opened()).condense(["猫在睡觉。今天下雨了，明天也会下雨。猫很老。"], query="猫", max_tokens=18).texts
    assert left == "猫在睡觉。猫很老。"


def test_a_compressor_shortens_each_text_to_its_share(face: Face, open_with: OpenWith) -> None:
    shortener = Shortener()
    short = face(open_with(compressor=shortener)).condense([*ENGLISH, " "], max_tokens=45, how="llmlingua")
    assert [text for text, _ in shortener.asked] == ENGLISH
    first, second = (room for _, room in shortener.asked)
    assert first + second <= 45
    assert first / second == pytest.approx(short.before[0] / short.before[1], rel=0.1)
    assert short.texts[0] == " ".join(ENGLISH[0].split()[::3])
    assert (short.texts[2], short.how, short.note) == ("", "llmlingua", "")


def test_a_failing_compressor_leaves_whole_sentences_and_says_so(face: Face, open_with: OpenWith) -> None:
    short = face(open_with(compressor=Shortener(fails=True))).condense(ENGLISH, max_tokens=45, how="llmlingua")
    assert short.how == "extractive"
    assert "out of memory" in short.note
    assert 0 < sum(short.after) <= 45
    assert all(sentence in ENGLISH[0] for sentence in sentences(short.texts[0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"texts": "one text"}, "Sequence"), ({"texts": [1]}, "Sequence"),
        ({"max_tokens": 0}, "max_tokens must be"), ({"query": ""}, "query is empty"),
        ({"how": "magic"}, "extractive.*llmlingua"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_condensed_is_refused(face: Face, opened: Open, options: dict[str, Any], message: str) -> None:
    asked = {"texts": ENGLISH, "max_tokens": 10, **options}
    with pytest.raises(InvalidInputError, match=message):
        face(opened()).condense(asked.pop("texts"), **asked)


COUNTERS: dict[str, Callable[[str], int]] = {
    "estimate": estimate_tokens,
    "characters": len,
    "words": words,
    "more than the parts": lambda text: len(text) ** 2 // 50,
}
MEMORIES = {
    name: open_memory(MemoryConfig(url="memory://", embedder="hashing"), token_counter=counter)
    for name, counter in COUNTERS.items()
}


def test_the_budget_holds_where_a_text_takes_more_than_its_sentences() -> None:
    sentence = "My sister booked a red car for {} o'clock."
    text = " ".join(sentence.format(hour) for hour in ("two", "six", "ten"))
    one = COUNTERS["more than the parts"](sentence.format("two"))
    short = MEMORIES["more than the parts"].condense([text], max_tokens=3 * one)
    assert short.texts == (sentence.format("two"),)


some_texts = st.lists(
    st.lists(st.tuples(st.sampled_from(SENTENCES), st.sampled_from([" ", "\n", "\n\n", ""])), max_size=6).map(
        lambda parts: "".join(sentence + gap for sentence, gap in parts)
    ),
    max_size=5,
)


@settings(max_examples=40)
@given(
    st.sampled_from(list(COUNTERS)),
    some_texts,
    st.integers(1, 120),
    st.fixed_dictionaries({"query": st.sampled_from([None, "my sister's room", "我妹妹的房间"])}),
    st.booleans(),
)
def test_never_above_the_budget_and_never_half_a_sentence(
    counter: str, texts: list[str], max_tokens: int, options: dict[str, Any], as_messages: bool
) -> None:
    given_texts = [Message(content=text) if as_messages and text.strip() else text for text in texts]
    short = MEMORIES[counter].condense(given_texts, max_tokens=max_tokens, **options)
    assert len(short.texts) == len(texts)
    assert sum(COUNTERS[counter](text) for text in short.texts if text) <= max_tokens
    assert list(short.after) == [COUNTERS[counter](text) if text else 0 for text in short.texts]
    if short.how == "extractive":
        for text, left in zip(texts, short.texts, strict=True):
            bare = left.removeprefix("user: ") if as_messages else left
            assert made_of([piece.text for piece in fragments(0, text)], bare)


def made_of(parts: list[str], text: str) -> bool:
    """Whether a text is some of these parts in their order, but for blanks."""
    wanted = "".join(text.split())
    reached = {0}
    for part in parts:
        bare = "".join(part.split())
        reached |= {at + len(bare) for at in reached if wanted.startswith(bare, at)}
    return len(wanted) in reached


@given(some_texts)
def test_all_pieces_of_a_text_are_the_text(texts: list[str]) -> None:
    for text in texts:
        assert joined(text, fragments(0, text)) == text.strip()
        # Each is a sentence, or several that something protected holds together.
        assert "".join("".join(piece.text.split()) for piece in fragments(0, text)) == "".join(text.split())


def test_a_long_address_is_shown_whole_or_not_at_all(opened: Open) -> None:
    address = "https://example.org/" + "/".join(f"part{number}" for number in range(90))
    short = opened().condense(
        [f"The audit is on 3 May. The log is at {address} for all."], query="audit", max_tokens=200
    )
    assert "3 May" in short.texts[0]
    assert "part" not in short.texts[0].replace(address, "")
