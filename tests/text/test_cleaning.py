from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.cleaning import clean
from tests.doubles import assert_linear

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


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("um, like, could you please book it", "could you please book it"),
        ("I I I think th-the hotel is fine", "I think the hotel is fine"),
        ("b-but I-I think w-what we have works", "but I think what we have works"),
        ("I want I want to go home", "I want to go home"), ("I'm I'm not sure", "I'm not sure"),
        ("She was um going there, um.", "She was going there."),
        ("You know, it was, like, huge", "it was huge"),
        ("What is it? Um, I see. Uh... Then go.", "What is it? I see. Then go."),
        ("okay,  um,  yes   \nthe the  end", "okay, yes\nthe end"),
        ("If you don't mind, tell me the time, please.", "If you don't mind, tell me the time, please."),
        ("嗯，就是那种，嗯，我想订酒店", "我想订酒店"), ("我我我想订酒店", "我想订酒店"),
        ("我想我想订，然后然后再说", "我想订，然后再说"), ("就是就是他", "就是他"),
        ("那个…我想去，呃，北京", "我想去，北京"), ("嗯我想去", "我想去"),
        ("麻烦你帮我订一下酒店", "麻烦你帮我订一下酒店"), ("请问一下，你在哪里", "请问一下，你在哪里"),
        ("um, one\n\n- uh, two\n  - the the three", "one\n\n- two\n  - the three"),
    ],
)  # fmt: skip
def test_what_speech_leaves_is_removed(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    "text",
    """I like jazz|it was very very good, bye bye|no no no|I know that that is so|she had had enough
what it is is unclear|I use verbs: love, like, hate|Tuesday, I mean, Wednesday|Uh oh, that hurts|uh huh
to err is human|She went to the ER|der Zug kommt um acht, er ist da|t-test, e-mail, D-Day, co-coordinate
between you and I, I think|he he he|I need a number, a drum and an umbrella|谢谢妈妈
看看，慢慢，天天，一个个，常常|他告诉我我们可以走|他问我我怎么办|他嗯了一声|这个，那个，都要|我要那个，谢谢
那个，谢谢|也就是说，他不来了|就是那种蓝色的|金额，额度|你好你好|不想麻烦你了""".replace("\n", "|").split("|"),
)
def test_what_carries_meaning_survives(text: str) -> None:
    assert clean(text) == text


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
