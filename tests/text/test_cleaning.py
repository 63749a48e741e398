import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.cleaning import clean
from tests.doubles import assert_linear
from tests.world import column, rows

PROTECTED = st.sampled_from(
    [
        "`um, x  y`", '"um, no  no"', "'um, the the cat'", "“嗯，  然后然后”", "「呃，我我我」", "『那个…』",
        "《就是就是》", "https://a.example/um,like,?q=uh-uh", "/srv/um/th-the.txt", "C:\\um\\er", "um@er.example",
        "main.py", "id_um_7", "1,234.50", "v1.2.3",
    ]
)  # fmt: skip
LINES = st.sampled_from(
    [
        "```sh\num, the the  x\n\n    y \n```", "    um, indented  code", "\tum, tab", '{"um,":  "the the"}',
        "| um,  | the the |", "x = um,  y", "嗯    嗯    嗯    嗯 = 1",
    ]
)  # fmt: skip
PROSE = st.sampled_from(
    [
        *"um, |uh |Um... |er, |like, |I |I'm |the |th-|you know, |I mean, |I want |please |could you please ".split(
            "|"
        ),
        *"嗯|嗯，|呃…|那个|那个，|我|我想|就是|就是说，|然后|麻烦你|请问|book it|订酒店".split("|"),
        *"，|。|, |. |? |  |\t|'|\"|`|“|”|「|—".split("|"),
        *"\n|   \n|```|\ue000|\u3000|\x0b|x||".split("|"),
    ]
)
MIXED = st.lists(PROSE | PROTECTED | LINES.map(lambda line: f"\n{line}\n"), max_size=14).map("".join)


STAYS = column("text/cleaning.tsv", "stays")


@pytest.mark.parametrize(("text", "cleaned"), [*rows("text/cleaning.tsv", "removed"), *zip(STAYS, STAYS, strict=True)])
def test_what_speech_leaves_is_removed_and_what_carries_meaning_survives(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@settings(max_examples=200)
@given(MIXED)
def test_the_result_is_no_longer_stays_so_and_is_blank_only_if_the_text_was(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert len(cleaned) <= len(text)
    assert bool(cleaned.strip()) == bool(text.strip())


WORDS = st.sampled_from(
    ["um, ", "I I ", "the the ", "th-the ", "like, ", "please ", "嗯，", "我我我想", "然后然后", "book it ", "，", ". "]
)


@settings(max_examples=120)
@given(st.tuples(*[st.lists(WORDS).map("".join)] * 3), PROTECTED, LINES)
def test_protected_spans_survive(prose: tuple[str, str, str], span: str, line: str) -> None:
    text = f"{prose[0]} {span} {prose[1]}\n{line}\n{prose[2]}x"
    cleaned = clean(text)
    assert span in cleaned
    assert f"\n{line}\n" in cleaned


@pytest.mark.parametrize(
    "unit",
    [
        "um, ", "um ", "I I ", "I want ", "嗯，", "那个", "我想", "然后", " ", "\n ", "'", "'a", '"', "`", "“", "a.",
        "   a", "please ", "\ue000",
    ],
)  # fmt: skip
def test_long_repeats_take_linear_time(unit: str) -> None:
    assert_linear(clean, lambda size: f"b {unit * (size // len(unit))}x")
