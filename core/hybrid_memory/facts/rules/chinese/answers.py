"""Rules of Chinese for short answers: the question before tells what they are about."""

from __future__ import annotations

from typing import Any

from hybrid_memory.facts.rules.chinese.kinds import (
    DATE,
    QUANTITY,
    organisation,
    profession,
    quantity,
    stated_name,
    technologies,
    where,
)
from hybrid_memory.facts.rules.chinese.tastes import favourite
from hybrid_memory.facts.rules.chinese.values import phrase, things, whole
from hybrid_memory.facts.rules.rule import Pattern, Rule, Values

_LEAD = (
    r"^(?:(?:嗯+|哦|啊|呃|好的?|当然|是的?|有|有的|对|其实|目前|现在|我|我是|我的|就|应该|大概|可能|比较|最|"
    r"一直)[，,！!\s]*)*"
)


def _answer(name: str, attribute: Any, question: str, answer: str, values: Values, **more: Any) -> Rule:
    return Rule(
        f"zh: answer, {name}", attribute, Pattern(_LEAD + answer), values,
        after=Pattern(rf"(?:{question})[^。！？?!]{{0,12}}[？?]\W*$"), **{"confidence": 0.8, **more},
    )  # fmt: skip


_NO = r"(?!没|不|无|你|什么|这|那|还没|暂时)"

RULES = (
    _answer("名字", "name", r"你(?:的名字)?叫什么|怎么称呼|你的名字|贵姓|你是谁|该怎么叫你",
         rf"{_NO}(?:叫|名字是|是)?(?P<value>[^，,。！!？?]+)", stated_name, confidence=0.85),
    _answer("住处", "home", r"你(?:现在)?(?:是)?住(?:在)?(?:哪|什么地方)|你(?:现在)?在哪(?:个城市|里住|座城市)",
         rf"{_NO}(?:住在|住|在)?(?P<value>[^，,。！!？?]+)", where),
    _answer("老家", "hometown", r"你(?:是)?(?:哪里人|哪儿人|来自哪|从哪)|你(?:的)?老家在?哪|你家乡在?哪",
         rf"{_NO}(?:来自|老家在|老家是|是|在)?(?P<value>[^，,。！!？?]+?)(?:人)?(?=$|[，,。！!])", where),
    _answer("职业", "profession", r"你(?:是)?做什么(?:工作|的|职业)?|你的(?:职业|工作)是|从事什么|什么工作",
         rf"{_NO}(?:是|做|当|从事)?(?:一?[个名位])?(?P<value>[^，,。！!？?]+)", profession),
    _answer("年龄", "age", r"你(?:今年)?多大|你几岁|你的年龄", rf"(?:今年)?(?P<value>{QUANTITY}岁?)(?=$|[，,。！!了])",
         quantity, confidence=0.85),
    _answer("生日", "birthday", r"你的?生日(?:是|在)?|你(?:是)?(?:什么时候|哪天)(?:出生|过生日|生的)",
         rf"(?:生日)?(?:是)?(?P<value>{DATE})", whole, confidence=0.85),
    _answer("单位", "employer", r"你在哪(?:里|儿|家公司|个公司|个单位)?(?:工作|上班)|什么公司|哪家公司",
         rf"{_NO}(?:在)?(?P<value>[^，,。！!？?]+?)(?:工作|上班)?(?=$|[，,。！!])", organisation, confidence=0.75),
    _answer("爱好", "interest", r"(?:什么|哪些)(?:其他的?|别的)?(?:兴趣|爱好|兴趣爱好)|平时(?:都)?喜欢做(?:些)?什么|"
         r"业余时间.{0,6}做什么", rf"{_NO}(?:还|也|很|非常|比较|特别|平时|都)*(?:喜欢|爱|热爱|就是|"
         rf"是)*(?P<value>[^。！!？?]+)", things, confidence=0.7),
    _answer("最喜欢的", lambda asked: favourite(asked["kind"]), r"你最(?:喜欢|爱)(?:的|"
         r"[吃喝看听玩]的)?(?P<kind>[\u4e00-\u9fff]{1,6}?)是(?:什么|哪|谁)", rf"{_NO}(?:喜欢(?:的)?|是|爱|"
         rf"喜欢的.{{1,6}}是)*(?P<value>[^，,。！!？?]+)", things, confidence=0.75, single=True),
    _answer("过敏", "allergy", r"(?:对什么|有什么|有没有什么?).{0,6}过敏|过敏(?:的东西|史|源)?吗",
         rf"{_NO}(?:对)?(?P<value>[^，,。！!？?]+?)(?:过敏)?(?=$|[，,。！!])", things),
    _answer("技术", "technology", r"(?:什么|哪些|哪种)(?:编程)?(?:语言|框架|数据库|技术栈|技术|编辑器)",
         r"(?P<value>[^。！!？?]+)", technologies, confidence=0.75),
    _answer("忌口", "avoids", r"(?:忌口|不吃的|什么不吃|不能吃)", rf"{_NO}(?P<value>[^，,。！!？?]+)", phrase,
         confidence=0.7 ),
)  # fmt: skip
