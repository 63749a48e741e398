"""Chinese values of a kind: names, places, employers, professions, quantities."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.chinese.lexicon import (
    AILMENTS,
    ANIMALS,
    BELONGINGS,
    LANGUAGES,
    OCCUPATIONS,
    PLACES,
    either,
)
from hybrid_memory.facts.rules.chinese.values import FIRST, NOTHING, tidy
from hybrid_memory.facts.rules.chinese.wording import FOREIGN, NAME
from hybrid_memory.facts.rules.english.lexicon import TECHNOLOGY
from hybrid_memory.text.speakers import SURNAMES

_MAX_NAME_CHARS = 24
_MAX_TITLE_CHARS = 8
_NAME_END = re.compile(
    r"[，,。.！!？?；;:：\s\"'(（）)、]|是|今年|来自|今天|也|在|住|刚|的|就|吧|啊|呢|哦|呀|啦|叫|很|喜欢|和|跟|，"
)
_NO_NAME = re.compile(
    r"(?:什么|啥|谁|你|您|他|她|它|我|这|那|不|了|没|车|人|名|做|作|个|一|大家|自己|醒|停|好|醒|外卖|上|来|去|起|出|"
    r"得|过|着|到|成|为|要|会|想|真|很|太|哪|怎|几|"
    r"救命|苦|板|座|卖|嚣|唤|喊|名字)"
)
_ORG_TAIL = re.compile(
    r"(?:公司|集团|医院|诊所|银行|支行|分行|学校|大学|学院|中学|小学|高中|幼儿园|研究所|研究院|实验室|工厂|厂|局|院|"
    r"部门|部|所|社|店|超市|商场|餐厅|饭店|酒店|"
    r"宾馆|咖啡馆|咖啡店|面包店|书店|图书馆|博物馆|美术馆|馆|中心|工作室|事务所|律所|律师事务所|设计院|设计公司|"
    r"出版社|报社|杂志社|电视台|电台|机场|车站|铁路局|"
    r"航空|物流|快递|农场|基金会|协会|机构|企业|国企|外企|央企|私企|民企|事业单位|政府|法院|检察院|公安局|派出所|"
    r"消防队|部队|街道办|居委会|创业公司|互联网公司|"
    r"科技|大厂|网吧|酒吧|健身房|俱乐部|剧院|剧团|乐团|球队|战队|工地|药房|药店|美容院|理发店|发廊|旅行社|证券|保险|"
    r"基金|投行|四大)$"
)
_PLACE_TAIL = re.compile(
    r"(?:省|市|县|区|州|镇|乡|村|国|岛|城|湾|路|街|巷|弄|胡同|小区|花园|家园|公寓|大厦|广场|新区|开发区|大道|"
    r"[一二三四五六\d]环|附近|旁边|郊区|市区|市中心|老城|农村|乡下|"
    r"校区|宿舍|街道|苑|府|庄|湖|山|江南|半岛|郡|里|号|楼|栋)$"
)
_NO_PLACE = re.compile(
    r"(?:我|走道|走廊|你|您|他|她|它|这|那|哪|家|一起|隔壁|[一两三四五六七八九十\d]+(?:个|楼|层|室|号|位|起|间|家|"
    r"年|栋|线)|对面|楼|旁边|附近|外面|里面|酒店|医院|宿舍|学校|公司|同|别|某|不|没|一个|很|太|"
    r"校|朋友|爸|妈|爷|奶|父母|酒|宾|新家|老家|自己|什么|公园里|地下室|城里|哪里|地球|心里)"
)
QUANTITY = (
    r"(?:\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|"
    r"[一二两三四五六七八九]百[一二三四五六七八九十零]*)"
)
DATE = (
    r"(?:(?:农历|阴历|公历|阳历)?(?:(?:19|20)\d\d\s?[年./-]\s?)?(?:1[0-2]|0?[1-9]|十[一二]?|"
    r"[一二三四五六七八九正腊])\s?[月./-]\s?(?:[初]?(?:3[01]|[12]\d|0?[1-9]|三十一?|二?十"
    r"[一二三四五六七八九]?|廿[一二三四五六七八九]?|[一二三四五六七八九十]{1,2}))\s?[日号]?)"
)
OCCUPATION = rf"(?:{either(OCCUPATIONS)})"


def stated_name(words: str) -> tuple[str, ...]:
    """A name where one must stand."""
    words = words.strip(" \"'，,：:")
    latin = re.match(r"[A-Za-z][A-Za-z'.-]*(?: [A-Z][A-Za-z'.-]*){0,2}", words)
    if latin is not None:
        return (latin[0],)
    if _NO_NAME.match(words):
        return ()
    end = _NAME_END.search(words, 1)
    words = words[: end.start()] if end else words
    return (words,) if re.fullmatch(r"[\u4e00-\u9fff]{1,4}|[\u4e00-\u9fff·]{3,14}", words) else ()


def name(words: str) -> tuple[str, ...]:
    """A name that looks like one."""
    found = re.match(NAME, words.strip())
    return (found[0],) if found else ()


def plausible_name(words: str) -> tuple[str, ...]:
    """The words, if they are a name and nothing else."""
    words = words.strip(" \"'")
    return (words,) if re.fullmatch(f"{NAME}|{FOREIGN}", words) and not re.search(r"[在到了着过的]$", words) else ()


def names(words: str) -> tuple[str, ...]:
    """The names of a list."""
    return tuple(value for part in re.split(r"[、，,和跟与]", words) for value in stated_name(part))


_COUNT = r"[0-9一二两三四五六七八九十百半几好多]+"
_AWHILE = re.compile(rf"(?<=..)(?:快|都)?(?:{_COUNT}(?:个|多)?(?:年半?|月|星期|礼拜|周|天)多?|好久|很久)$")
_WHEN = re.compile(r"(?:[月号日年周]|星期.|春天|夏天|秋天|冬天|年底|月底|周末|过年|春节)(?:初|底|中旬|份)?$")
"""Behind a place how long, and in its stead until when."""


def place(words: str) -> tuple[str, ...]:
    """A place with a name."""
    words = re.split(
        r"[，,。；;！!]|(?:已经|有|(?<!成)都|和|跟|工作|上班|读书|上学|生活|长大|这边|那边|那个|这个|的时候|附近住|"
        r"住|之后|以后|呢|了|啊|吧|呀|的(?!地))",
        words.strip(" ，,\"'"),
    )[0]
    words = re.sub(r"^(?:在|到|去|来|于|了|是)+", "", words).strip(" \"'")
    words = _AWHILE.sub("", re.sub(r"(?<=..)(?:去|来)$", "", words))
    if not words[1:] or len(words) > _MAX_NAME_CHARS or (_NO_PLACE.match(words) and words not in PLACES):
        return ()
    if _ORG_TAIL.search(words) or words.endswith(("年级", "专业", "系", "班")):
        return ()
    known = any(words.startswith(known) for known in PLACES) or _PLACE_TAIL.search(words) is not None
    return (words,) if known or re.fullmatch(r"[A-Z][A-Za-z ]+", words) else ()


def where(words: str) -> tuple[str, ...]:
    """A place where a place must stand, so that its name need not be known."""
    if found := place(words):
        return found
    words = _AWHILE.sub("", re.sub(r"^(?:在|到|去|来|于|了|是)+", "", tidy(words)))
    words = (
        re.sub(r"(?:这边|那边|那个|这个|这|那)?(?:小区|的)?$", "", words)
        if words.endswith(("小区", "的", "边"))
        else words
    )
    ok = (
        re.fullmatch(r"[\u4e00-\u9fff]{2,8}|[A-Z][A-Za-z .-]+", words)
        and not _NO_PLACE.match(words)
        and not _WHEN.search(words)
        and not NOTHING.match(words)
    )
    return (words,) if ok and not re.search(r"[了吧吗呢过着会要想很太不没]|一起|时候", words) else ()


def is_place(words: str) -> bool:
    """Whether the words are a place and no employer."""
    words = words.strip()
    plain = re.sub(r"(?:省|市|那边|这边)$", "", words)
    while plain and (found := next((known for known in PLACES if plain.startswith(known)), "")):
        plain = re.sub(r"^(?:省|市|的)", "", plain.removeprefix(found))
    return not plain or bool(re.search(r"(?:省|市|县|区|镇|村|国|州|岛)$", words) and not _ORG_TAIL.search(words))


def organisation(words: str) -> tuple[str, ...]:
    """Whom somebody works for."""
    words = re.split(r"[，,。；;！!]", words.strip(" \"'"))[0]
    words = re.sub(r"^(?:了|是|叫|在|于|于是)+", "", words)
    words = re.sub(r"(?:里面?|内|呢|啊|吧|呀|那边|这边|这家|那里|了)+$", "", words)
    words = re.sub(
        r"^(?:一家|一个|一所|这家|这个|某家)", lambda found: found[0] if found[0].startswith("一") else "", words
    )
    if not words[1:] or len(words) > _MAX_NAME_CHARS or is_place(words) or NOTHING.match(words):
        return ()
    if re.match(
        r"(?:家里?|叫|跨|一起|思考|考虑|当前|目前|行业|这里|那里|外地|外面|国外|国内|线上|工作|平时|公司$|单位$|"
        r"学校$|同一)",
        words,
    ) or re.search(r"[的了着过来去]$|一起", words):
        return ()
    named = _ORG_TAIL.search(words) or re.fullmatch(
        r"[\u4e00-\u9fff]{2,6}|[A-Za-z][\w .&-]*|[\u4e00-\u9fffA-Za-z]{2,12}", words
    )
    return (words.removeprefix("一家").removeprefix("一所").removeprefix("一个"),) if named else ()


def profession(words: str) -> tuple[str, ...]:
    """What somebody is by profession, if it is one."""
    words = FIRST.sub("", re.split(r"[，,。；;！!、]|(?<=[员师生家手])(?:和|兼|，)", words.strip())[0])
    words = re.sub(r"(?:这一?行业?的?|行业的?|的?工作的?|的)$", "", tidy(words))
    words = re.sub(r"^(?:一名|一个|一位|名|个|位|当|做|干)+", "", words)
    words = re.sub(r"^(?:很|非常|特别)?[\u4e00-\u9fff]{1,6}的(?=.{2,})", "", words)
    found = re.search(rf"{OCCUPATION}$", words)
    if found is None or re.search(r"[我你他她它这那的谢说和与或把给到让是合校]|不|没|喜欢|最|很|^[一两二三几]", words):
        return ()
    before = words[: found.start()]
    called = re.fullmatch(f"[{SURNAMES}]|{FOREIGN}", before) is not None
    return () if called or len(before) > _MAX_TITLE_CHARS else (words,)


def line_of_work(words: str) -> tuple[str, ...]:
    """What somebody works as where that must stand: 销售, 设计."""
    if found := profession(words):
        return found
    words = re.sub(r"(?:这一?行业?的?|行业的?|方面的?|相关的?|的?工作的?|的)$", "", tidy(words))
    words = re.sub(r"^(?:一名|一个|一位|名|个|位|跟|和|与)+", "", words)
    if (
        NOTHING.match(words)
        or not re.fullmatch(r"[\u4e00-\u9fffA-Za-z]{2,10}", words)
        or re.search(r"[的了过着]|什么|一[下些点]|做饭|做菜|饭$|家务|梦|爱|作业|运动|朋友|事", words)
    ):
        return ()
    return (words,)


def quantity(words: str) -> tuple[str, ...]:
    """A number with its unit."""
    return (re.sub(r"\s", "", words),)


def technologies(words: str) -> tuple[str, ...]:
    """The techniques that are named; a single letter is one only where something says so."""
    apart = re.sub(r"([\u4e00-\u9fff])", r" \1 ", words)
    found = dict.fromkeys(found[0].strip() for found in TECHNOLOGY.finditer(apart))
    return tuple(name for name in found if name[1:] or f"{name}语言" in words)


def languages(words: str) -> tuple[str, ...]:
    """The languages that are named."""
    return tuple(dict.fromkeys(re.findall(either(LANGUAGES), words)))


def ailment(words: str) -> tuple[str, ...]:
    """What troubles somebody's health."""
    return tuple(re.findall(AILMENTS, words))


def belonging(words: str) -> tuple[str, ...]:
    """What somebody owns, if it is something of lasting use."""
    found = re.match(
        rf"(?:[一两二三四五六七八九十几]|\d+)?[辆台部套只把架间栋艘顶双]?[^叫的，,]{{0,6}}?{BELONGINGS}", tidy(words)
    )
    return (found[0],) if found else ()


def pet(words: str) -> tuple[str, ...]:
    """An animal and its name: 猫 咪咪."""
    found = re.search(rf"(?P<kind>{ANIMALS})[，,]?(?:它|[他她])?(?:的?名字)?(?:叫做?|名叫|取名|是)?(?P<name>.+)", words)
    called = stated_name(found["name"]) if found else ()
    return (f"{found['kind']} {called[0]}",) if found and called else ()


def animals(words: str) -> tuple[str, ...]:
    """How many animals of which kind."""
    found = re.match(rf"(?:[一两二三四五六七八九几]|\d+)[只条匹头个].{{0,6}}?{ANIMALS}", words)
    return (found[0],) if found else ()
