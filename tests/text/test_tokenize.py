import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.sentences import blocks, sentences
from hybrid_memory.text.tokenize import (
    ENGLISH_STOP_WORDS,
    allowed_edits,
    cjk_share,
    close_terms,
    doubtful,
    language_of,
    plain_terms,
    terms,
)
from tests.doubles import assert_linear
from tests.world import column, rows

MIXED = st.text(st.sampled_from("abcXYZ é'’_-. \n\t0189猫北京搬了的ﷺ𠮷ｱ한글ß²İ\x00\u0301\ud800\"*"), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"), [*rows("text/tokenize.tsv", "terms"), (" ".join(ENGLISH_STOP_WORDS), "")]
)
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
        "", "only words here", "汉字六个在此 four words are here", "只有汉字", "ひらがな 한글", "<a b='c'>只有汉字</a>",
    )  # fmt: skip
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


BITS = st.sampled_from(
    [
        *"a|B|Dr|e.g|3.5|1|你|好|.|!|?|...|…|。|！|；|\"|“|”|「|」|'|)".split("|"),
        *"`|```|~~~| |  |\n|\t|\u3000|\r\n|\x85|：|- |1. |".split("|"),
    ]
)
PIECES = st.lists(BITS, max_size=30).map("".join)


@pytest.mark.parametrize("row", rows("text/sentences.tsv"), ids="|".join)
def test_a_line_is_cut_into_its_sentences(row: tuple[str, ...]) -> None:
    gap = " " if row[0].isascii() else ""
    assert sentences(gap.join(row)) == list(row)


def test_lines_and_list_items_are_pieces() -> None:
    assert sentences("Plan:\n1. Buy milk.\n2. Go home. Sleep.\n\n- one\n  - two") == [
        "Plan:", "1. Buy milk.", "2. Go home.", "Sleep.", "- one", "- two",
    ]  # fmt: skip


def test_a_code_block_is_one_piece() -> None:
    block = "```py\nx = 1. \n\nA. B\n  ~~~\n```"
    assert sentences(f"Look. Here.\n{block}\nSo. Yes.") == ["Look.", "Here.", block, "So.", "Yes."]
    assert sentences("a\n~~~~\nb. C\n~~~\nd") == ["a", "~~~~\nb. C\n~~~\nd"]


@settings(max_examples=100)
@given(PIECES | st.text(max_size=60))
def test_blocks_add_up_and_pieces_are_verbatim_in_order_with_only_blanks_between(text: str) -> None:
    assert "".join(block for _, block in blocks(text)) == text
    at = 0
    for piece in sentences(text):
        assert piece.strip() == piece != ""
        found = text.index(piece, at)
        assert not text[at:found].strip()
        at = found + len(piece)
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "unit",
    [
        ".", ". ", "“", "“a. ", '"', "`", "```\n", " ", "。", ".)", "a.a", "Dr. ", ".   ", ': "a."', "1. ", "。”",
        "~~~\n",
    ],
)  # fmt: skip
def test_long_repeats_take_linear_time(unit: str) -> None:
    assert_linear(sentences, lambda size: f" {unit * (size // len(unit))} x")


words = st.text("abcde", min_size=1, max_size=9)


def distance(one: str, other: str) -> int:
    """Optimal string alignment, by the textbook."""
    rows = [list(range(len(other) + 1))]
    for i, left in enumerate(one, 1):
        row = [i]
        for j, right in enumerate(other, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


@pytest.mark.parametrize(("term", "forgiven"), rows("text/tokenize.tsv", "forgiven"))
def test_longer_words_are_forgiven_more(term: str, forgiven: str) -> None:
    assert allowed_edits(term) == int(forgiven)


@given(words, st.lists(words, max_size=12), st.integers(1, 4))
def test_it_is_what_a_search_by_the_textbook_finds(term: str, vocabulary: list[str], k: int) -> None:
    near = sorted((distance(term, other), other) for other in set(vocabulary) if other[0] == term[0])
    within = [other for apart, other in near if apart <= allowed_edits(term)]
    expected = [] if term in vocabulary or not allowed_edits(term) else within[:k]
    assert close_terms(term, set(vocabulary), k) == expected


@given(st.text(), st.lists(st.text(min_size=1)))
def test_any_term_is_answered_from_the_vocabulary(term: str, vocabulary: list[str]) -> None:
    assert set(close_terms(term, vocabulary, 2)) <= set(vocabulary)


@pytest.mark.parametrize("query", column("text/tokenize.tsv", "spelt well"))
def test_what_is_a_word_is_not_taken_for_misspelt(query: str) -> None:
    assert doubtful(query) == []


def test_what_is_no_word_is_taken_for_misspelt() -> None:
    wrong = "resturant tommorow recieve marahton accomodation freind seperate enviroment"
    assert doubtful(f"Where is the {wrong}?") == terms(wrong)
