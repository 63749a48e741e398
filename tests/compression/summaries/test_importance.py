from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Section
from hybrid_memory.context.summaries.importance import CRITICAL, THRESHOLD, critical, importance, judged

KEPT = [
    "My name is Nora Winter.", "Please call me Tom.", "My address is 12 Elm Street in Ghent.",
    "The phone number is 555-123-4567.", "Write to nora@example.org.",
    "The appointment with the dentist is on Monday.", "Let us meet again next week.", "See you tomorrow at nine.",
    "I prefer tea.", "I hate loud music.", "I am allergic to peanuts.", "Remember that the gate code changed.",
    "This is important: the key hangs behind the door.", "我的名字是陈小明。", "我叫李雷。", "地址是星湖街8号。",
    "我的电话是13812345678。", "邮箱写这个：chen@example.org。", "我喜欢喝茶。", "我讨厌吵闹的音乐。",
    "我的偏好是靠窗的座位。", "记住门的密码换了。", "这件事很重要。", "下次我们去爬山。", "明天九点见。",
    "我们约定在北门集合。",
]  # fmt: skip


@pytest.mark.parametrize("text", KEPT)
def test_what_must_be_kept_is_critical_in_both_languages(text: str) -> None:
    assert critical(text)
    assert importance(text) >= CRITICAL


@pytest.mark.parametrize(
    "text", ["Ok.", "How nice!", "Haha, yes.", "Thanks!", "好的。", "哈哈，是啊。", "嗯嗯", "谢谢！"]
)
def test_small_talk_is_below_the_threshold_in_both_languages(text: str) -> None:
    assert not critical(text)
    assert importance(text) < THRESHOLD


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("We decided to use the blue tiles.", Section.DECISIONS), ("我们决定用蓝色的瓷砖。", Section.DECISIONS),
        ("The deadline is on Friday.", Section.NEXT_STEPS), ("截止日期是周五。", Section.NEXT_STEPS),
        ("My name is Nora.", Section.FACTS), ("我叫小明。", Section.FACTS),
        ("Please help me with the invoice.", Section.INTENT), ("帮我写一张发票。", Section.INTENT),
        ("Which tiles fit the narrow bathroom?", Section.QUESTIONS), ("哪种瓷砖适合小浴室？", Section.QUESTIONS),
    ],
)  # fmt: skip
def test_a_sentence_goes_to_its_section_in_both_languages(text: str, section: Section) -> None:
    assert judged(text).section is section


@given(st.text(max_size=300))
def test_scores_lie_between_0_and_1(text: str) -> None:
    assert 0 <= judged(text).score <= 1
    assert 0 <= importance(text) <= 1


def test_a_cue_late_in_a_message_counts() -> None:
    assert importance(f"{'We walked along the river. ' * 40} My name is Nora.") >= CRITICAL
