"""What later words change, end or answer leaves the summary, and what takes its place stays."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hybrid_memory import Event, Line, Role
from hybrid_memory.context.summaries.anchored import Anchored
from hybrid_memory.context.summaries.lines import shown
from hybrid_memory.context.summaries.strategy import SummaryJob, SummaryRoom
from hybrid_memory.context.summary import written
from hybrid_memory.text.tokens import estimate_tokens
from tests.compression.summaries.conftest import event

ROOM = SummaryRoom(standing=900, shown=300, fresh=300, count=estimate_tokens)
FILLER = {
    False: [("The weather is lovely here.", "Enjoy the sun!"), ("I read a long book about birds.", "Nice.")],
    True: [("今天天气真不错。", "适合出去走走。"), ("我看了一本关于鸟类的书。", "听起来很有意思。")],
}


def turns(*said: str) -> list[Event]:
    """User and assistant in turn."""
    roles = (Role.ASSISTANT, Role.USER)
    return [event(position, text, roles[position % 2]) for position, text in enumerate(said, start=1)]


def summary(events: Sequence[Event], rounds: int) -> str:
    """What a prompt shows after every so many rounds were folded."""
    lines: list[Line] = []
    for start in range(0, len(events), 2 * rounds):
        lines = Anchored().extract(SummaryJob(lines, events[start : start + 2 * rounds], ROOM))
    return written(shown(lines, max_tokens=ROOM.shown, count=estimate_tokens))


CHANGES = [
    pytest.param(
        ["We'll take the red tiles for the bathroom.", "Red tiles for the bathroom it is, I'll order them tomorrow.",
         "No, let's go with blue instead.", "Blue, noted."],
        ["go with blue"], ["red"], id="another option"),
    pytest.param(
        ["Let's use MySQL for the orders service.", "MySQL is fine.",
         "On second thought, we'll use Postgres for the orders service.", "Changed."],
        ["Postgres"], ["Let's use MySQL"], id="a decision changed"),
    pytest.param(
        ["The deadline for the grant report is March 3.", "Noted.",
         "The grant report deadline was moved to March 17.", "Good."],
        ["March 17"], ["March 3."], id="a deadline moved"),
    pytest.param(
        ["We have a meeting with the architect on Tuesday at 10.", "Noted.",
         "The meeting with the architect is cancelled.", "Pity."],
        ["is cancelled"], ["Tuesday"], id="cancelled"),
    pytest.param(
        ["I need to call the plumber about the leak tomorrow.", "Don't forget.",
         "I called the plumber about the leak this morning.", "Great."],
        [], ["need to call"], id="a task done"),
    pytest.param(
        ["We still need to order the grout and pay the invoice of the electrician.", "Right.",
         "The invoice of the electrician is paid and the grout is ordered.", "Great."],
        [], ["still need"], id="two tasks done"),
    pytest.param(
        ["I love black coffee in the morning.", "Nice.",
         "I don't drink coffee any more, I prefer green tea.", "Ok."],
        ["green tea"], ["black coffee"], id="a preference changed"),
    pytest.param(
        ["Which tiles suit a small bathroom?", "Light ones with thin joints."],
        [], ["Which tiles"], id="a question answered"),
    pytest.param(
        ["我们决定浴室用红色的瓷砖。", "好的，红色瓷砖。", "不，还是换成蓝色的吧。", "好的，蓝色。"],
        ["换成蓝色"], ["决定浴室用红色"], id="换一种"),
    pytest.param(
        ["项目报告的截止日期是3月3日。", "记下了。", "项目报告的截止日期改到3月17日了。", "好的。"],
        ["3月17日"], ["3月3日"], id="截止日期"),
    pytest.param(
        ["下周二上午要和建筑师开会。", "记下了。", "和建筑师的会取消了。", "好的。"],
        ["取消了"], ["下周二"], id="取消"),
    pytest.param(
        ["明天要给水管工打电话，厨房漏水。", "好的。", "水管工的电话我已经打了。", "太好了。"],
        [], ["明天要给"], id="做完了"),
    pytest.param(
        ["我喜欢喝黑咖啡。", "不错。", "我现在不喝咖啡了，改喝绿茶。", "好的。"],
        ["绿茶"], ["黑咖啡"], id="口味变了"),
    pytest.param(
        ["小浴室用什么颜色的瓷砖合适呢？", "浅色的，缝要细。"],
        [], ["什么颜色"], id="有答案"),
]  # fmt: skip


@pytest.mark.parametrize("rounds", [1, 100])
@pytest.mark.parametrize("between", [0, 1])
@pytest.mark.parametrize(("said", "there", "gone"), CHANGES)
def test_the_superseded_goes(said: list[str], there: list[str], gone: list[str], between: int, rounds: int) -> None:
    chinese = not said[0].isascii()
    filler = [text for pair in FILLER[chinese][:between] for text in pair]
    text = summary(turns(*said[:2], *filler, *said[2:]), rounds)
    assert all(words in text for words in there), text
    assert not any(words in text for words in gone), text


STAYS = [
    pytest.param(["We need to pay the electrician's invoice by Friday.", "Noted.",
                  "The electrician's invoice is not paid yet.", "Ok."], "by Friday", id="not done"),
    pytest.param(["I need to call the plumber about the leak.", "Noted.",
                  "I called my sister about the party.", "Ok."], "plumber", id="something else done"),
    pytest.param(["We decided to paint the kitchen green.", "Nice.",
                  "Let's use oak for the garden table instead.", "Ok."], "oak", id="something else"),
    pytest.param(["The rent is due on the 5th.", "Noted.", "The concert was moved to June.", "Ok."], "rent",
                 id="another date"),
    pytest.param(["Who pays the deposit for the flat?", "I'm not sure, let me check."], "deposit", id="left open"),
    pytest.param(["周五之前要交物业费。", "好的。", "物业费还没交。", "好的。"], "周五之前", id="还没"),
    pytest.param(["明天要给水管工打电话。", "好的。", "我已经订了周末的电影票。", "好的。"], "水管工", id="别的事"),
    pytest.param(["房子的押金谁来付？", "我不确定，稍后告诉你。"], "押金", id="没答案"),
]  # fmt: skip


@pytest.mark.parametrize("rounds", [1, 100])
@pytest.mark.parametrize(("said", "there"), STAYS)
def test_what_still_holds_stays(said: list[str], there: str, rounds: int) -> None:
    text = summary(turns(*said), rounds)
    assert there in text


def test_an_open_question_goes_once_it_is_answered() -> None:
    said = ["Who pays the deposit for the flat?", "I'm not sure, let me check.", "Thanks.", "Sure."]
    answer = ["And now?", "The landlord pays the deposit for the flat."]
    assert "Who pays" in summary(turns(*said), 1)
    assert "Who pays" not in summary(turns(*said, *answer), 1)
