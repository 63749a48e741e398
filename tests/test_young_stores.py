"""A memory of a few days: what its first questions get, with the local embedder and every default."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import HybridMemory, ScopedMemory, open_memory
from tests.doubles import Clock, texts

DAYS = {
    "en": [
        [
            "Hey, quick intro: I'm Priya Raman, 34, product designer at a fintech called Ledgerly in Bangalore.",
            "I'm vegetarian but I do eat eggs. Arjun is lactose intolerant so no paneer at home anymore.",
            "Can you keep things in bullet points? I hate walls of text.",
            "We're flying to Lisbon on 14 March for my cousin's wedding. Booked TAP via Frankfurt, PNR is K7QX2M.",
            "btw my laptop is a MacBook Air M2 and I mostly work in Figma, a little Framer",
        ],
        [
            "Ugh. The Ledgerly reorg happened; my manager is now Tom Becker instead of Sunita.",
            "Probably 6 months of savings, so about 9 lakh rupees. I have 5 and a half right now.",
            "Meera started at Little Oaks kindergarten, pick up is 3:30 except Wednesdays when it's 12:30",
        ],
        [
            "Lisbon got cancelled - the wedding is postponed to October, TAP refunded us.",
            "Also we moved! New flat in Indiranagar, 2nd floor, 12th Main.",
            "I'm not vegetarian any more, started eating fish last month on doctor's advice because my B12 was 140.",
        ],
    ],
    "zh": [
        [
            "你好，我叫林晓雯，今年29岁，在深圳一家做无人机的公司当嵌入式工程师。",
            "我对花生和芒果过敏，点外卖的时候帮我留意一下。",
            "我男朋友叫周凯，他在广州读博，我们每个周末见面。",
            "下个月18号我要去杭州参加一个RISC-V的会议，住在西溪那边。",
        ],
        [
            "会议推迟到六月了，酒店我已经退了。",
            "最近在学吉他，每天晚上九点练半小时，老师姓黄。",
            "我换工作了，现在在大疆做飞控，还是在深圳。",
        ],
        [
            "吉他我没坚持下来，现在改跑步了，一周三次，目标是11月的深马跑进四小时。",
            "其实我不对芒果过敏，医生说只有花生。",
            "我的猫叫年糕，三岁，最近老是吐毛球。",
        ],
    ],
}
ASKED = [
    ("en", "What's my PNR?", "K7QX2M"),
    ("en", "Who is my manager?", "Tom Becker"),
    ("en", "when do I pick up Meera on Wednesday", "12:30"),
    ("en", "How much do I have in savings?", "5 and a half"),
    ("zh", "杭州的会议我住哪里", "西溪"),
    ("zh", "我的跑步目标是什么", "四小时"),
    ("zh", "吉他老师姓什么", "姓黄"),
    ("zh", "我的猫怎么了", "毛球"),
]


@pytest.fixture(scope="module")
def memories() -> Iterator[dict[str, HybridMemory]]:
    made = {}
    for language, days in DAYS.items():
        clock = Clock(datetime(2026, 2, 2, 9, tzinfo=UTC))
        made[language] = memory = open_memory("memory://", clock=clock)
        for number, said in enumerate(days):
            for text in said:
                memory.scoped(user="me", session=f"day {number}").remember(text)
                clock.now += timedelta(minutes=3)
            clock.now += timedelta(days=20)
        memory.flush(progress=False)
    yield made
    for memory in made.values():
        memory.close()


def new_chat(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="me", session="new")


@pytest.mark.parametrize(("language", "question", "answer"), ASKED)
def test_the_first_hit_is_the_answer_and_the_prompt_has_it(
    memories: dict[str, HybridMemory], language: str, question: str, answer: str
) -> None:
    chat = new_chat(memories[language])
    assert answer in texts(chat.recall(question))[0]
    assert answer in chat.assemble(question, max_tokens=1500).text


def test_a_sentence_that_shares_no_word_with_the_question_is_in_the_prompt(memories: dict[str, HybridMemory]) -> None:
    assert "New flat in Indiranagar" in new_chat(memories["en"]).assemble("where do I live?", max_tokens=1500).text


def test_what_was_said_last_comes_first(memories: dict[str, HybridMemory]) -> None:
    english, chinese = (new_chat(memories[language]).profile() for language in ("en", "zh"))
    assert english.text.index("not vegetarian any more") < english.text.index("I'm vegetarian but")
    assert "product designer" in english.text
    assert "大疆" in chinese.text
    assert chinese.text.index("只有花生") < chinese.text.index("花生和芒果")
