"""Chinese time expressions."""

from __future__ import annotations

import re

from hybrid_memory.text import lazy
from hybrid_memory.text.dates.calendar import (
    SPRING,
    Language,
    Moment,
    Part,
    Range,
    Reading,
    Rule,
    Which,
    part_of,
    whole_of,
    year_of,
)

_DIGITS = {digit: value for value, digits in enumerate("〇零 一 二两 三 四 五 六 七 八 九".split()) for digit in digits}
_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_WEEKDAYS = {
    character: number for number, names in enumerate("一1 二2 三3 四4 五5 六6 日天末7".split()) for character in names
}
_UNITS = {"分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week", "星期": "week",
          "礼拜": "week", "月": "month", "季度": "quarter", "年": "year"}  # fmt: skip

_NUMBER = (
    r"(?:(?P<few>好?(?<!十)几|数)|(?:大概|大约|差不多)?(?P<number>半|\d{1,3}(?:\.5)?|[一二两三四五六七八九]?十[一二三四五六七八九]?"
    r"|[一二两三四五六七八九])[一二两三四五六七八九]?)"
)
_UNIT = r"个?(?P<half>半)?(?P<unit>分钟|小时|钟头|天|日|周|星期|礼拜|月|季度|年)(?P<more>半)?"
_YEAR = (
    r"(?P<year>(?:19|20)\d\d\s?年|[一二][〇零一二三四五六七八九]{3}年|\d\d\s?年(?=\s?(?:1[0-2]|0?[1-9])月)"
    r"|大?前年|去年|今年|本年|明年|后年)"
)
_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月份?(?![亮球饼薪票台嫂])"
_DAY = (
    r"(?P<day>3[01]|[12]\d|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九])"
    r"\s?[日号](?![线楼店院馆机门])"
)
LUNAR = lazy(  # a date of the lunar calendar, with its year
    r"(?:(?:(?:19|20)\d\d\s?|[一二][〇零一二三四五六七八九]{3}|大?前|去|今|明|后)年的?)?"
    r"(?:(?:农历|阴历|旧历)(?:[^\W\d_]?月)?[\d〇零一二三四五六七八九十正腊冬闰年月日初廿号]{0,12}"
    r"|大年(?:初[一二三四五六七八九十]|三十|夜)|(?:闰?[一二三四五六七八九十正腊冬]{1,2}月)"
    r"(?:初[一二三四五六七八九十](?![个些天次起直下分])|廿[一二三四五六七八九]?)|[正腊]月[二三]?十?[一二三四五六七八九十]?)"
)

_WEEKDAY = "[周期拜][一二三四五六日天]"
_STEPS = r"(?:(?P<far>(?<![早晚马])上{1,3}(?=上)|下{1,3}(?=下))?(?P<near>(?<![早晚马])上|这|本|下)一?)"


def _figure(words: str) -> int:
    if words.isdecimal():
        return int(words)
    tens, ten, ones = words.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0)


def _count(match: re.Match[str]) -> float | None:
    if match["few"]:
        return None
    words = match["number"]
    number = 0.5 if words == "半" else float(words) if words[0].isdecimal() else float(_figure(words))
    return number + (0.5 if match["half"] or match["more"] else 0)


def _steps(match: re.Match[str]) -> int | None:
    """How many units ahead 上, 这, 下 and 下下 are; None without one of them."""
    return {"上": -1, "下": 1}.get(match["near"], 0) * (1 + len(match["far"] or "")) if match["near"] else None


def _year(match: re.Match[str], moment: Moment) -> int | None:
    if (words := match["year"]) is None:
        return None
    if (steps := _YEARS.get(words)) is not None:
        return moment.now.year + steps
    number = int("".join(str(_DIGITS.get(digit, digit)) for digit in words.removesuffix("年").strip()))
    if number >= 100:  # noqa: PLR2004 - two figures
        return number
    century = moment.now.year - moment.now.year % 100
    return century + number if century + number <= moment.now.year + 10 else century + number - 100


def _away(match: re.Match[str], moment: Moment) -> Range | None:
    if match["unit"] == "月" and "个" not in match[0] and not match["few"]:
        return None  # 九月前 is before September, 九个月前 is nine months ago
    return moment.away(_count(match), _UNITS[match["unit"]], -1 if "前" in match[0] else 1)


def _period(match: re.Match[str], moment: Moment) -> Range:
    """A month or season."""
    season, year = match.groupdict().get("season"), _year(match, moment)
    if season is not None:
        which = {"上": Which.LAST, "下": Which.NEXT, None: Which.LATEST}.get(match["near"], Which.THIS)
        return moment.period(SPRING + "春夏秋冬".index(season), year, which)
    which = Which.COMING if match["due"] is not None and not moment.past else Which.LATEST
    return moment.period(_figure(match["month"]), year, which)


def _part(match: re.Match[str], moment: Moment) -> Range:
    """月底, 年初, 上半年: of the current month or year."""
    part, unit = Part.named_by(match), "month" if "月" in match[0] else "year"
    whole = part_of(moment.unit(unit), part, last_day=not moment.past)
    begun = whole[0] <= moment.now or not moment.past
    return whole if begun else part_of(moment.unit(unit, -1), part, last_day=False)


def _same_day(match: re.Match[str], moment: Moment) -> Range:
    """去年今天, 两周前的今天, 上个月的今天."""
    if match["lastly"]:
        return moment.same_day(_YEARS[match["lastly"]], "year")
    if (steps := _steps(match)) is not None:
        return moment.same_day(steps, _UNITS[match["span"]])
    return moment.same_day(-whole_of(_count(match)), _UNITS[match["unit"]])


def _rule(cues: str, pattern: str, read: Reading, *, weekday: bool = False) -> Rule:
    return Rule(tuple(cues.split()), lazy(pattern), read, weekday)


CHINESE = Language(
    rules=(
        _rule(
            "天 日 早 晨 晚 夜",
            r"(?<![以之目从今然最先节班课饭])(?P<day>大前|前|昨|今|明|大后|后)"
            r"(?:(?:天(?![天性才])|日(?!常|报))|(?:[早晨]|(?<!今)[晚夜])(?!餐|饭|会|报|年|期|辈|熟)[上间里]?)",
            lambda match, moment: moment.unit("day", _DAYS[match["day"]]),
        ),
        _rule(
            "周 星期 礼拜",
            rf"(?<![每一二两三四五六七八九十几\d])(?<!{_WEEKDAY}[至到~-]){_STEPS}?个?(?:周|星期|礼拜)"
            rf"(?P<weekday>[一二三四五六日天1-7])(?![次个天年遍岁]|\s?[至到~-]\s?(?:周|星期|礼拜)[一二三四五六日天])",
            lambda match, moment: moment.weekday(_WEEKDAYS[match["weekday"]], _steps(match)),
            weekday=True,
        ),
        _rule(
            "周末", rf"(?<!每)(?<!每个){_STEPS}?个?周末", lambda match, moment: moment.unit("weekend", _steps(match))
        ),
        _rule(
            "周 星期 礼拜 月 季度",
            rf"{_STEPS}个?(?P<unit>周(?![围边期全到岁折密长转老先总教同姐哥])|星期|礼拜|月(?![亮球饼光色台])|季度)",
            lambda match, moment: moment.unit(_UNITS[match["unit"]], _steps(match)),
        ),
        _rule("前", rf"{_NUMBER}{_UNIT}(?:以前|之前|前(?![面后锋排])|多前)", _away),
        _rule("过 等", rf"(?:再过|再等|(?<![\u4e00-\u9fff])过){_NUMBER}{_UNIT}(?!节)", _away),
        _rule("后", rf"{_NUMBER}{_UNIT}(?:以后|之后|后(?![来面天年]))", _away),
        _rule(
            "几天 两天",
            r"(?:(?P<before>前)|这)[几两]天",
            lambda match, moment: (
                moment.away(None, "day", -1) if match["before"] else moment.stretch(-5, "day") if moment.past else None
            ),
        ),
        _rule(
            "近 过去 未来 接下来",
            rf"(?:(?P<ahead>未来|接下来)|过去|最近|(?<![附将接])近)的?这?{_NUMBER}{_UNIT}",
            lambda match, moment: moment.stretch(
                (_count(match) or 5) * (1 if match["ahead"] else -1), _UNITS[match["unit"]]
            ),
        ),
        _rule(
            "月",
            rf"(?:{_YEAR}的?\s?)?{_MONTH}\s?{_DAY}",
            lambda match, moment: moment.date(_figure(match["month"]), _figure(match["day"]), _year(match, moment)),
        ),
        _rule(
            "月",
            rf"(?:{_YEAR}的?\s?)?(?<![\d一二两三四五六七八九十个]){_MONTH}(?P<due>(?=(?:之|以)?前(?![后半几面一两二三四五])))?",
            _period,
        ),
        _rule(
            "月",
            rf"(?:{_YEAR}的?\s?)?(?<![\d一二两三四五六七八九十个]){_MONTH}的?"
            r"(?:(?P<last>最后一?)|第?(?P<number>[一二三四五1-5]))个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])?",
            lambda match, moment: moment.nth_of(  # the first Tuesday, or the last week, of a month
                _figure(match["month"]),
                _WEEKDAYS[match["weekday"]] if match["weekday"] else "week",
                -1 if match["last"] else _figure(match["number"]) - 1,
                _year(match, moment),
            ),
        ),
        _rule(
            "月 年",
            r"(?:这个|本|今)?(?<![一-龥\d])?(?:(?<!\d)(?<![个一二三四五六七八九十去今明前后本这上下])[月年]"
            r"(?:(?P<start>初)|(?P<middle>中(?![的国]))|(?P<end>底|末(?!期|世)))|(?<![去今明前后节业婚])"
            r"(?:(?P<first>上半|前半)|(?P<second>下半|后半))个?(?:年|月)(?![后来]))",
            _part,
        ),
        _rule(
            "今天 今日",
            rf"(?:(?P<lastly>大?前年|去年)|{_STEPS}个?(?P<span>周|星期|月)|{_NUMBER}{_UNIT}(?:以前|之前|前))的?今[天日]",
            _same_day,
        ),
        _rule("年", rf"{_YEAR}(?![纪级龄会终夜货])", lambda match, moment: year_of(_year(match, moment) or 0)),
        _rule(
            "日 号",
            rf"(?:{_STEPS}个?月的?|(?<![\d一二三四五六七八九十月])(?P<weak>)){_DAY}",
            lambda match, moment: moment.day_of_month(_figure(match["day"]), _steps(match)),
        ),
        _rule(
            "春 夏 秋 冬",
            rf"(?:{_YEAR}的?|{_STEPS}个?|(?<![欢爱厌恨年的上下这本])(?<!每个))(?P<season>[春夏秋冬])[天季]",
            _period,
        ),
    ),
    link=lazy(r"[\s，、,（(]{0,2}[的在]?[）)]?"),
    to=lazy(r"\s?[到至~～—-]{1,2}\s?"),
    since=lazy(r"(?:自从?|从|打从?)$"),
    onward=lazy(r"以来|至今|到现在|起(?![床身来飞码初点先])|开始"),
    # 从 and 起 are a "since" together; 以来 and alike, and 起 itself, alone too.
    reaches=lambda before, behind: behind != "" and (before != "" or len(behind) > 1 or behind == "起"),
    part_behind=lazy(
        r"(?:的?(?:(?P<first>上半[年月]|前半个?[年月])|(?P<second>下半[年月]|后半个?[年月])|(?P<start>[年月]?初|上旬)"
        r"|(?P<middle>年中|中旬|月中)|(?P<end>[年月]?[底末]|下旬)))(?P<due>(?=之?前|以前))?"
    ),
    past=lazy(r"了(?!吗|解)|过(?![来去节年期敏程分滤生])|曾|刚|已经|以前|那时"),
    future=lazy(
        r"要(?!求|不)|(?<![开聚晚约机社])会(?![议员计])|将|打算|准备|计划|提醒|想|记得|必须|得去|预约|约好|安排|改[到成]|推迟|延期|顺延|见[!！。]?$"
    ),
)
