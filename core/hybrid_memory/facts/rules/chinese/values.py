"""Chinese values: normalises the words that a rule matched, and rejects those of the wrong kind."""

from __future__ import annotations

import re

from hybrid_memory.facts.rules.chinese.lexicon import AILMENTS, ANIMALS, LANGUAGES, OCCUPATIONS, PLACES, either
from hybrid_memory.facts.rules.english.lexicon import TECHNOLOGY
from hybrid_memory.text.patterns import lazy
from hybrid_memory.text.speakers import COMPOUND_SURNAMES, SURNAMES

MAX_CHARS = 60
_LIST_CHARS = 9
_MAX_NAME_CHARS = 24
_MAX_TITLE_CHARS = 8
HAN = r"[\u4e00-\u9fff]"
_SIGN = rf"(?:(?![我你他她它的是和跟与在]){HAN})"
NAME = (
    r"(?!小时|小心|小学|小说|小孩|小区|小组|小猫|小狗|小姐|小朋友|老是|老师|老家|老板|老人|老公|老婆|高中|高兴|高考|"
    r"高级|高铁|高血|方便|方法|方面|文化|文学|文件|成为|成功|成绩|金融|温柔|安全|安排|安静|白天|黄色|路上|游泳|游戏|"
    r"马上|马拉松|万一|严重|关于|关系|左右|单身|单位|于是|计划|计算|许多|任何|夏天|程序|成都|贵阳|沈阳|洛阳|徐州|"
    rf"苏州|杭州|温州|江苏|江西|石家庄|武汉|翻译|常常|平时|明天|时间)(?:(?:{'|'.join(COMPOUND_SURNAMES)}|"
    rf"[{SURNAMES}]){_SIGN}{{1,2}}|[小阿老]{_SIGN}{{1,2}}|{_SIGN}{{1,6}}(?:·{_SIGN}{{1,6}})+|[A-Z][a-z]+(?: "
    r"[A-Z][a-z]+)?)"
)
QUANTITY = (
    r"(?:\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|[一二两三四五六七八九]百[一二"
    r"三四五六七八九十零]*)"
)
DATE = (
    r"(?:(?:农历|阴历|阳历)?(?:(?:19|20)\d\d\s?[年./-]\s?)?(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九正腊])\s?["
    r"月./-]\s?(?:[初]?(?:3[01]|[12]\d|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九十]{1,2}))\s?["
    r"日号]?)"
)
OCCUPATION = rf"(?:{either(OCCUPATIONS)})"

_END = lazy(
    r"(?:[，,]?(?:因为|由于|所以|但是|但|不过|可是|可惜|虽然|尽管|而且|并且|然后|如果|要是|的话|的时候|这样|之类|"
    r"等等|什么的|啥的)|[。！？!?；;…~～\n]|[，,](?:我|你|您|他|她|它|这|那|真|很|非常|特别|尤其|就是|感觉|觉得|希望|"
    r"请|谢谢|可以|能|会|让|每|有|是|也|都|不|只|最|更|却|还|已|一|在|从|对|给|被|把|比|到|去|又|再|好|大家|今天|"
    r"昨天|明天|现在|以后|以前|平时|有时)|——|--).*$",
    re.DOTALL,
)
_LAST = lazy(
    r"(?:[\s，,、。.!！?？:：;；\"'~～…（(]|了呢|呢|啊|呀|吧|哦|啦|嘛|哈|呗|喔|哟|(?<=.)了|而已|来着|一样|等|之类的?)+$"
)
_FIRST = lazy(
    r"^(?:[\s，,、:：\"'（(）)]|(?:是|到)(?=\S{2})|个(?![人性体别])|(?:一|某|几)(?:个|名|位|只|款|条|辆|台|部|套|"
    r"种|些|家|所|件|本|首|双|瓶|道|座|间|项|份|点儿?)(?!人|月|星期|小时)|各种(?:各样的?)?|所有的?|许多|很多|一切)+"
)
_NOTHING = lazy(
    r"(?:我|你|您|他|她|它|这|那|此|其|自己|别人|人家|大家|咱|谁|什么|啥|哪|怎|如何|为什么|多少|几|一下|一些|一点|"
    r"东西|事情|事|地方|时候|样子|感觉|意思|问题|办法|原因|人|有人|没有|没|不|很|太|真|非常|特别|最|更|越|比|跟|和|"
    r"与|把|被|让|给|对|从|向|按|得|着|过|了|吗|呢|吧|啊|但|而|就|才|又|再|要|会|能|可以|应该|必须|一起|一样|刚|已经|"
    r"正在|以下|如下|其他|另|任何|某|全部|都)"
)
_ONLY_NOTHING = lazy(rf"(?:{_NOTHING.pattern}|的)+")
_BETWEEN = lazy(
    r"[、，,/]|以及|还有|(?<=[\u4e00-\u9fffA-Za-z])(?:跟|与|及)|(?<![柔温平饱祥暖缓])和(?![平谐睦服尚解气声室弦牌田其])"
)
_CONTEXT = lazy(r"(?:吃|喝|看|听|玩|去)?(?:这|那|上次|下次|刚才|此|该|上面|前面)|.*的?[这那][个种些]$")
_VERBAL = lazy(r"[是有在被把让给]|因为|觉得|一起")
_NAME_END = lazy(r"[，,。.！!？?；;:：\s\"'(（）)、]|是|今年|来自|也|在|住|刚|的|就|吧|啊|呢|哦|呀|啦|叫|很|喜欢|和|跟")
_NO_NAME = lazy(
    r"(?:什么|啥|谁|你|您|他|她|它|我|这|那|不|了|没|车|人|名|做|作|个|一|大家|自己|醒|停|好|外卖|上|来|去|起|出|得|"
    r"过|着|到|成|为|要|会|想|真|很|太|哪|怎|几|救命|苦|卖|唤|喊)"
)
_ORGANISATION = lazy(
    r"(?:公司|集团|医院|诊所|银行|支行|学校|大学|学院|中学|小学|高中|幼儿园|研究所|研究院|实验室|厂|局|院|部门|部|所|"
    r"社|店|超市|商场|餐厅|饭店|酒店|宾馆|馆|中心|工作室|出版社|电视台|机场|车站|航空|物流|农场|基金会|协会|机构|"
    r"企业|国企|外企|私企|单位|政府|法院|派出所|科技|大厂|健身房|俱乐部|证券|保险)$"
)
_PLACE = lazy(
    r"(?:省|市|县|区|州|镇|乡|村|国|岛|城|湾|路|街|巷|胡同|小区|花园|家园|公寓|大厦|广场|[一二三四五六\d]环|附近|"
    r"农村|乡下|苑|府|庄|里|号|楼|栋)$"
)
_NO_PLACE = lazy(
    r"(?:我|你|您|他|她|它|这|那|哪|家|一起|隔壁|[一两二三四五六七八九十\d]+(?:个|楼|层|室|号|间|家|年|栋)|对面|楼|"
    r"旁边|附近|外面|里面|酒店|医院|宿舍|学校|公司|同|别|某|不|没|很|太|校|朋友|爸|妈|爷|奶|父母|新家|老家|自己|什么|"
    r"地下室|地球|心里)"
)
_AWHILE = lazy(
    r"(?<=..)(?:快|都)?(?:[0-9一二两三四五六七八九十百半几好多]+(?:个|多)?(?:年半?|月|星期|礼拜|周|天)多?|好久|很久)$"
)
_WHEN = r"(?:[月号日年周]|星期.|[春夏秋冬]天|年底|月底|周末|过年|春节)(?:初|底)?$"


def tidy(words: str) -> str:
    """The words without surrounding punctuation and trailing particles."""
    words = _LAST.sub("", _END.sub("", words.strip()))
    for mark in "\"'":
        words = words.replace(mark, "") if words.count(mark) == 1 else words
    words = words.strip(" ，,、。:：")
    return words.strip("\"'") if words[:1] == words[-1:] and words[:1] in {'"', "'"} else words


def phrase(words: str) -> tuple[str, ...]:
    """A noun or verb phrase without a leading classifier; also a single character that names a thing: 猫."""
    words = _FIRST.sub("", tidy(words))
    if re.fullmatch(r"[猫狗鱼茶酒肉雪海雨辣书花蛇鸟马糖鸡甜烟]", words):
        return (words,)
    return () if not words[1:] or len(words) > MAX_CHARS or _NOTHING.match(words) else (words,)


def whole(words: str) -> tuple[str, ...]:
    """A phrase, unchanged."""
    words = tidy(words)
    return (words,) if 1 < len(words) <= MAX_CHARS and not _ONLY_NOTHING.fullmatch(words) else ()


def things(words: str) -> tuple[str, ...]:
    """Phrases; a list of short ones is split. References known only in this conversation (那个故事) are rejected."""
    if _CONTEXT.match(words):
        return ()
    if words.startswith("《"):
        return tuple(re.findall(r"《[^》]{1,40}》", words))
    cut = _END.sub("", re.sub(r"(?<=..)的[。，\s]*$", "", words))
    parts = [part.strip() for part in _BETWEEN.split(tidy(cut)) if part.strip()]
    if len(parts) > 1 and all(len(part) <= _LIST_CHARS and not _VERBAL.search(part) for part in parts):
        return tuple(dict.fromkeys(value for part in parts for value in phrase(part)))
    return phrase(re.split(r"[，,]", cut)[0])


def stated_name(words: str) -> tuple[str, ...]:
    """A name in a position where one must be."""
    words = words.strip(" \"'，,：:")
    latin = re.match(r"[A-Za-z][A-Za-z'.-]*(?: [A-Z][A-Za-z'.-]*){0,2}", words)
    if latin is not None or _NO_NAME.match(words):
        return (latin[0],) if latin else ()
    end = _NAME_END.search(words, 1)
    words = words[: end.start()] if end else words
    return (words,) if re.fullmatch(r"[\u4e00-\u9fff]{1,4}|[\u4e00-\u9fff·]{3,14}", words) else ()


def name(words: str) -> tuple[str, ...]:
    """The words, if they are a name and nothing else."""
    words = words.strip(" \"'")
    return (words,) if re.fullmatch(NAME, words) and not re.search(r"[在到了着过的]$", words) else ()


def names(words: str) -> tuple[str, ...]:
    """The names in a list."""
    return tuple(value for part in re.split(r"[、，,和跟与]", words) for value in stated_name(part))


def place(words: str) -> tuple[str, ...]:
    """A place with a known name or ending."""
    words = re.split(
        r"[，,。；;！!]|(?:已经|有|(?<!成)都|和|跟|工作|上班|读书|上学|生活|长大|这边|那边|的时候|住|之后|以后|呢|了|啊|吧|呀|的(?!地))",
        words.strip(" ，,\"'"),
    )[0]
    words = re.sub(r"^(?:在|到|去|来|于|了|是)+", "", words).strip(" \"'")
    words = _AWHILE.sub("", re.sub(r"(?<=..)(?:去|来)$", "", words))
    if not words[1:] or len(words) > _MAX_NAME_CHARS or _NO_PLACE.match(words) or _ORGANISATION.search(words):
        return ()
    known = words.startswith(PLACES) or _PLACE.search(words) is not None
    return (words,) if known or re.fullmatch(r"[A-Z][A-Za-z ]+", words) else ()


def where(words: str) -> tuple[str, ...]:
    """A place in a position where one must be, so that its name need not be known."""
    words = _AWHILE.sub("", re.sub(r"^(?:在|到|去|来|于|了|是)+|(?:这边|那边)?的?$", "", tidy(words)))
    odd = re.search(
        rf"[了吧吗呢过着会要想很太不没]|一起|时候|^(?:{_NO_PLACE.pattern}|{_NOTHING.pattern})|{_WHEN}", words
    )
    return (words,) if re.fullmatch(r"[\u4e00-\u9fff]{2,8}|[A-Z][A-Za-z .-]+", words) and not odd else place(words)


def organisation(words: str) -> tuple[str, ...]:
    """An employer; a mere place is rejected."""
    words = re.split(r"[，,。；;！!]", words.strip(" \"'"))[0]
    words = re.sub(r"^(?:了|是|叫|在|于)+|(?:里面?|内|呢|啊|吧|呀|那边|这边|那里|了)+$", "", words)
    words = re.sub(r"^(?:一家|一个|一所|这家|某家)", "", words)
    if not words[1:] or len(words) > _MAX_NAME_CHARS or _NOTHING.match(words):
        return ()
    if not _ORGANISATION.search(words) and (words.startswith(PLACES) or _PLACE.search(words)):
        return ()
    if re.match(
        r"(?:家|跨|思考|目前|行业|外地|国外|国内|线上|平时|公司$|单位$|学校$)|.*(?:[的了着过来去]$|一起)", words
    ):
        return ()
    return (words,) if re.fullmatch(r"[\u4e00-\u9fffA-Za-z]{2,16}|[A-Za-z][\w .&-]*", words) else ()


def profession(words: str) -> tuple[str, ...]:
    """A profession, if it is one."""
    words = _FIRST.sub("", re.split(r"[，,。；;！!、]|(?<=[员师生家手])(?:和|兼)", words.strip())[0])
    words = re.sub(r"(?:行业的?|的?工作的?|的)$", "", tidy(words))
    words = re.sub(r"^(?:一?[名个位]|当|做|干)+", "", words)
    found = re.search(rf"{OCCUPATION}$", words)
    if found is None or re.search(r"[我你他她它这那的谢说和与或把给到让是]|不|没|喜欢|最|很|^[一两二三几]", words):
        return ()
    before = words[: found.start()]
    return () if re.fullmatch(f"[{SURNAMES}]", before) or len(before) > _MAX_TITLE_CHARS else (words,)


def work(words: str) -> tuple[str, ...]:
    """A kind of work in a position where one must be: 销售, 设计."""
    if found := profession(words):
        return found
    words = re.sub(r"(?:这一?行业?的?|行业的?|的?工作的?|的)$", "", tidy(words))
    odd = _NOTHING.match(words) or re.search(r"[的了过着]|什么|一[下些点]|[饭菜梦爱事]|作业|运动|朋友", words)
    return (words,) if re.fullmatch(r"[\u4e00-\u9fffA-Za-z]{2,10}", words) and not odd else ()


def technologies(words: str) -> tuple[str, ...]:
    """The technologies named; a single letter counts only with an indication."""
    apart = re.sub(r"([\u4e00-\u9fff])", r" \1 ", words)
    found = dict.fromkeys(found[0].strip() for found in TECHNOLOGY.finditer(apart))
    return tuple(name for name in found if name[1:] or f"{name}语言" in words)


def languages(words: str) -> tuple[str, ...]:
    """The languages named."""
    return tuple(dict.fromkeys(re.findall(either(LANGUAGES), words)))


def ailment(words: str) -> tuple[str, ...]:
    """A health problem."""
    return tuple(re.findall(AILMENTS, words))


def pet(words: str) -> tuple[str, ...]:
    """An animal and its name: 猫 咪咪."""
    found = re.search(rf"(?P<kind>{ANIMALS})[，,]?它?(?:的?名字)?(?:叫做?|名叫|取名|是)(?P<name>.+)", words)
    called = stated_name(found["name"]) if found else ()
    return (f"{found['kind']} {called[0]}",) if found and called else ()
