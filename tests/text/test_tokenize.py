from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.languages import ENGLISH_STOP_WORDS, language_of
from hybrid_memory.text.tokenize import cjk_share, plain_terms, terms
from tests.world import rows

MIXED = st.text(st.sampled_from("abcXYZ é'’_-. \n\t0189猫北京搬了的ﷺ𠮷ｱ한글ß²İ\x00\u0301\ud800\"*"), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running RUNS run", "run run run"), ("moved moving moves", "move move move"),
        ("What is the name of your cat?", "name cat"), (" ".join(ENGLISH_STOP_WORDS), ""), ("的", ""),
        ("北京猫", "北京 京猫 北 京 猫"), ("用Python写3个", "用 python 写 3 个"),
        ("GPT-4 costs 30.50 EUR", "gpt 4 cost 30 50 eur"),
    ],
)  # fmt: skip
def test_terms_are_stems_pairs_characters_and_numbers_without_stop_words(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.fixture
def restless_threads() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("restless_threads")
def test_threads_do_not_stem_one_another_s_words() -> None:
    words = [
        f"{word}{number:x}{ending}"
        for number in range(400)
        for word, ending in zip(("act", "hop"), ("ations", "ing"), strict=True)
    ]
    alone = Stemmer.Stemmer("english")
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(terms, words))
    assert together == [[alone.stemWord(word)] for word in words]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ｐｙｔｈｏｎ", "python"), ("caf\u00e9", "cafe\u0301"), ("don’t panic", "don't panic"),
        ("Anna's dog", "anna dog"), ("ﬁle", "file"), ("STRASSE", "strasse"), ("snake_case", "snake case"),
    ],
)  # fmt: skip
def test_spellings_of_one_text_give_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


@given(MIXED)
def test_a_term_is_never_empty_and_needs_no_quoting(text: str) -> None:
    for term in terms(text):
        assert term
        assert re.fullmatch(r"[^\W_]+", term), term


def test_the_cjk_share_counts_words_of_both_kinds_and_no_markup() -> None:
    texts = (
        "",
        "only words here",
        "汉字六个在此 four words are here",
        "只有汉字",
        "ひらがな 한글",
        "<a b='c'>只有汉字</a>",
    )
    assert [cjk_share(text) for text in texts] == [0, 0, pytest.approx(0.5), 1, 1, 1]


@pytest.mark.parametrize(("text", "query"), rows("text/tokenize.tsv", "same word in another form"))
def test_words_of_other_languages_match_in_other_forms(text: str, query: str) -> None:
    common = set(terms(text)) & set(terms(query))
    assert common - set(text.lower().split())  # stems, not only words as they are


def test_a_query_of_one_word_matches_a_text_whose_language_shows() -> None:
    assert set(terms("gatos")) & set(terms("Me gustan los gatos de mi hermana"))
    assert "asthme" in terms("j'ai de l'asthme et c'est tout")
    assert set(terms("asthme")) <= set(terms("j'ai de l'asthme et c'est tout"))


def test_function_words_of_a_language_are_left_out_of_its_texts_only() -> None:
    assert set(terms("Wo habe ich meine Schlüssel?")) == {"schlüssel", "schlussel"}
    assert terms("die hard in las vegas")[0] == "die"
    assert terms("Miami, Los Angeles, San Diego, Las Vegas, New York")[1] == "los"


@pytest.mark.parametrize(
    "text", ["Me gustan los gatos de mi hermana", "Wo habe ich meine Schlüssel?", "我的猫 is cute"]
)
def test_plain_terms_are_those_of_any_part(text: str) -> None:
    words = text.split()
    assert set(plain_terms(text)) == {term for word in words for term in plain_terms(word)}


@pytest.mark.parametrize(("text", "language"), rows("text/tokenize.tsv", "language"))
def test_function_words_show_the_language(text: str, language: str) -> None:
    assert (language_of(text.split()) or "") == language
