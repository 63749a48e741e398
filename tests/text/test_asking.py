from __future__ import annotations

import pytest

from hybrid_memory.text.asking import about_before, about_now, asking_share, is_memory, questioning_share


@pytest.mark.parametrize(
    "text",
    [
        "Where did I put the garden keys?", "Tell me about the trip to Ghent.",
        "Do you remember the name of the plumber", "Recommend a restaurant near the river.",
        "我把花园的钥匙放在哪里了？", "告诉我去苏州旅行的事。", "你记得水管工的名字吗", "推荐一家河边的餐厅。",
        "Where do I live?", "What was our budget again?", "Who am I?", "我是谁？", "我住在哪里？",
    ],
)  # fmt: skip
def test_a_turn_that_asks_for_something_asks_with_all_of_it(text: str) -> None:
    assert asking_share(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "", " \n", "I went for a walk by the river.", "How are you?", "The keys hang behind the door.",
        "What is it?", "今天去河边散步。",
    ],
)  # fmt: skip
def test_a_turn_that_asks_nothing_has_no_share(text: str) -> None:
    assert asking_share(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "I went for a walk by the river today, and it was quiet there. Where are the garden keys?",
        "今天我去河边散步，那里很安静，风也不大。花园的钥匙在哪里？",
    ],
)
def test_a_question_behind_a_story_counts_by_its_length(text: str) -> None:
    assert 0.2 < asking_share(text) < 0.7


@pytest.mark.parametrize(
    ("query", "now"),
    [
        ("Where do I live now?", True), ("How many cups of coffee do I drink a day?", True),
        ("What is the current rule for names?", True), ("我现在住在哪里？", True),
        ("我喜欢什么音乐？", True), ("Where did I live before Berlin?", False),
        ("What was my previous record?", False), ("我以前住在哪里？", False),
        ("Which book did you recommend to me?", False), ("你给我推荐过哪些书？", False),
        ("When is the deadline?", True), ("截止日期是什么时候？", True), ("How old is Nora?", True),
        ("我5月3号看了什么电影？", False), ("Where does Nora live?", True),
        ("What was it before, and what is it now?", True), ("wo wohne ich jetzt", True),
        ("où est-ce que j'habite maintenant", True), ("qui était là avant ?", False), ("cosa mangio adesso", True),
    ],
)  # fmt: skip
def test_a_question_about_now_is_told_from_one_about_the_past(query: str, now: bool) -> None:
    assert about_now(query) is now


@pytest.mark.parametrize(
    ("query", "before"),
    [
        ("Who led Orion before that?", True), ("What was the original deadline?", True),
        ("Where did the shop use to be?", True), ("What is the old address, and what is it now?", False),
        ("最初的截止日期是哪天？", True), ("总部以前在哪里？", True), ("When is the deadline?", False),
        ("What do I use to clean the oven?", False), ("How old is Nora?", False),
    ],
)  # fmt: skip
def test_a_question_about_the_time_before_a_change(query: str, before: bool) -> None:
    assert about_before(query) is before


@pytest.mark.parametrize(
    "text",
    [
        "wo wohne ich jetzt", "was habe ich dir über meinen Hund gesagt", "où est-ce que je travaille", "Wer bin ich?",
        "comment s'appelle ma soeur", "dónde vivo yo ahora", "cómo se llama mi perro", "dove abito io adesso",
        "come si chiama il mio cane", "onde eu moro agora", "waar woon ik nu", "explique-moi ce que c'est",
    ],
)  # fmt: skip
def test_questions_of_other_languages_ask_without_a_mark_too(text: str) -> None:
    assert asking_share(text) == questioning_share(text) == 1
    assert not is_memory(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ich wohne in Bonn und habe einen Hund", "Je travaille à Lyon depuis mai", "Vivo en Madrid con mi gato",
        "Abito a Roma con il mio cane", "Moro em Lisboa com a minha irmã", "Come over to my place", "die hard is on",
    ],
)  # fmt: skip
def test_statements_of_other_languages_tell(text: str) -> None:
    assert asking_share(text) == questioning_share(text) == 0
    assert is_memory(text)
