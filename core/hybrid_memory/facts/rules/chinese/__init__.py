"""The rules for Chinese, and how to apply them."""

from __future__ import annotations

from hybrid_memory.facts.rules.chinese.clauses import clauses, person
from hybrid_memory.facts.rules.chinese.rules import RULES
from hybrid_memory.facts.rules.rule import Language
from hybrid_memory.text.patterns import lazy

CHINESE = Language(
    name="zh",
    script=lazy(r"[\u4e00-\u9fff]"),
    rules=RULES,
    clauses=clauses,
    person=person,
    correction=lazy(
        r"^(?:不对|不是|错了|说错了|我说错了|打错了|口误|更正|纠正|应该|其实|准确地说|确切地说|哦|噢|啊|，|,|"
        r"\s)*是?(?P<value>(?!我)[^，,。是不]{1,20}?)[，,]?\s*(?:而|并|可)?不是(?P<wrong>[^，,。]{1,20}?)(?:啊|哦|"
        r"呢)?$"
    ),
    contrast=lazy(r"^(?P<value>[^，,。]{1,40}?)[，,]?\s*(?:而|并|可)?不是(?P<wrong>[^，,。]{1,30}?)(?:了|啊|哦|呢)?$"),
    handover=lazy(
        r"^(?:请|麻烦|帮我|请帮我|你能|可以)*(?:把|将|对)?(?:下面|以下|下列|这段|这篇|如下)?.{0,12}(?:翻译|润色|"
        r"改写|总结|概括|校对|修改|续写|扩写|缩写|分析)"
        r"(?=.{0,30}(?:[：:]\s*$|[：:](?!\d).{8}|下面|以下|如下|这段|这篇|下文))"
    ),
)
