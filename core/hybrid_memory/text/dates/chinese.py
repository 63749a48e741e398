"""Chinese time expressions."""

from __future__ import annotations

import re
from functools import partial

from hybrid_memory.text.dates.calendar import (
    Found,
    Kind,
    Language,
    Moment,
    Range,
    Reading,
    Rule,
    Which,
    day_of,
    month_of,
    season_of,
    year_of,
)
from hybrid_memory.text.patterns import lazy

_DIGITS = {digit: value for value, digits in enumerate("〇零 一 二两 三 四 五 六 七 八 九".split()) for digit in digits}
_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_WEEKDAYS = {
    character: number for number, names in enumerate("一1 二2 三3 四4 五5 六6 日天末7".split()) for character in names
}
_UNITS = {"分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week", "星期": "week",
          "礼拜": "week", "月": "month", "季度": "quarter", "年": "year"}  # fmt: skip
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}

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
_WEEKDAY = "[周期拜][一二三四五六日天]"
_STEPS = r"(?:(?P<far>[上下])?(?P<near>(?<![早晚马])上|这|本|下)一?)"


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


def _steps(match: re.Match[str]) -> int:
    """How many units ahead 上, 这, 下 and 下下 are."""
    step = {"上": -1, "下": 1}.get(match["near"] or "", 0)
    return step * 2 if match["far"] else step


def _year_number(words: str, moment: Moment) -> int:
    steps = _YEARS.get(words)
    if steps is not None:
        return moment.now.year + steps
    number = int("".join(str(_DIGITS.get(digit, digit)) for digit in words.removesuffix("年").strip()))
    if number >= 100:  # noqa: PLR2004 - two figures
        return number
    century = moment.now.year - moment.now.year % 100
    return century + number if century + number <= moment.now.year + 10 else century + number - 100


def _weekday(match: re.Match[str], moment: Moment) -> Found | None:
    day = _WEEKDAYS[match["weekday"]]
    if match["near"]:
        return Found(Kind.WEEKDAY, moment.weekday(day, _steps(match)))
    which = Which.LAST if moment.past else Which.NEXT
    return Found(Kind.WEEKDAY, moment.pick(which, partial(moment.weekday, day)))


def _ahead(match: re.Match[str], moment: Moment) -> Found:
    return moment.ahead(_count(match), _UNITS[match["unit"]])


def _date(match: re.Match[str], moment: Moment) -> Found | None:
    month, day = _figure(match["month"]), _figure(match["day"])
    if match["year"]:
        return Found(Kind.DAY, day_of(_year_number(match["year"], moment), month, day))
    return Found(Kind.DAY, moment.pick(moment.near, lambda steps: day_of(moment.now.year + steps, month, day)))


def _month(match: re.Match[str], moment: Moment) -> Found | None:
    month = _figure(match["month"])
    if match["year"]:
        return Found(Kind.RANGE, month_of(_year_number(match["year"], moment), month))
    return Found(Kind.RANGE, moment.pick(moment.near, lambda steps: month_of(moment.now.year + steps, month)))


def _day_of_month(match: re.Match[str], moment: Moment) -> Found | None:
    day = _figure(match["day"])

    def of(steps: int) -> Range:
        first = moment.unit("month", steps)[0]
        return day_of(first.year, first.month, day)

    if match["near"]:
        return Found(Kind.DAY, of(_steps(match)))
    return Found(Kind.DAY, moment.pick(moment.near, of), weak=True)


def _season(match: re.Match[str], moment: Moment) -> Found | None:
    season = _SEASONS[match["season"]]
    if match["year"]:
        return Found(Kind.RANGE, season_of(_year_number(match["year"], moment), season))
    which = {"上": Which.LAST, "下": Which.NEXT}.get(match["near"], Which.THIS)
    return Found(Kind.RANGE, moment.pick(which, lambda steps: season_of(moment.now.year + steps, season)))


def _rule(cues: str, pattern: str, read: Reading) -> Rule:
    return Rule(tuple(cues.split()), lazy(pattern), read)


CHINESE = Language(
    rules=(
        _rule(
            "天 日 早 晨 晚 夜",
            r"(?<![以之目从今然最先节班课饭])(?P<day>大前|前|昨|今|明|大后|后)"
            r"(?:(?:天(?![天性才])|日(?!常|报))|(?:[早晨]|(?<!今)[晚夜])(?!餐|饭|会|报|年|期|辈|熟)[上间里]?)",
            lambda match, moment: Found(Kind.DAY, moment.day(_DAYS[match["day"]])),
        ),
        _rule(
            "周 星期 礼拜",
            rf"(?<![每一二两三四五六七八九十几\d])(?<!{_WEEKDAY}[至到~-]){_STEPS}?个?(?:周|星期|礼拜)"
            rf"(?P<weekday>[一二三四五六日天1-7])(?![次个天年遍岁]|\s?[至到~-]\s?(?:周|星期|礼拜)[一二三四五六日天])",
            _weekday,
        ),
        _rule(
            "周末",
            rf"(?<!每)(?<!每个){_STEPS}?个?周末",
            lambda match, moment: Found(
                Kind.RANGE,
                moment.unit("weekend", _steps(match))
                if match["near"]
                else moment.pick(moment.near, partial(moment.unit, "weekend")),
            ),
        ),
        _rule(
            "周 星期 礼拜 月 季度",
            rf"{_STEPS}个?(?P<unit>周(?![围边期全到岁折密长转老先总教同姐哥])|星期|礼拜|月(?![亮球饼光色台])|季度)",
            lambda match, moment: Found(Kind.RANGE, moment.unit(_UNITS[match["unit"]], _steps(match))),
        ),
        _rule(
            "前",
            rf"{_NUMBER}{_UNIT}(?:以前|之前|前(?![面后锋排])|多前)",
            lambda match, moment: moment.back(_count(match), _UNITS[match["unit"]]),
        ),
        _rule("过 等", rf"(?:再过|再等|(?<![\u4e00-\u9fff])过){_NUMBER}{_UNIT}(?!节)", _ahead),
        _rule("后", rf"{_NUMBER}{_UNIT}(?:以后|之后|后(?![来面天年]))", _ahead),
        _rule(
            "几天 两天",
            r"(?:(?P<before>前)|这)[几两]天",
            lambda match, moment: (
                moment.back(None, "day")
                if match["before"]
                else Found(Kind.RANGE, moment.stretch(-5, "day"))
                if moment.past
                else None
            ),
        ),
        _rule(
            "近 过去 未来 接下来",
            rf"(?:(?P<ahead>未来|接下来)|过去|最近|(?<![附将接])近)的?这?{_NUMBER}{_UNIT}",
            lambda match, moment: Found(
                Kind.RANGE,
                moment.stretch((_count(match) or 5) * (1 if match["ahead"] else -1), _UNITS[match["unit"]]),
            ),
        ),
        _rule("月", rf"(?:{_YEAR}的?\s?)?{_MONTH}\s?{_DAY}", _date),
        _rule("月", rf"(?:{_YEAR}的?\s?)?(?<![\d一二两三四五六七八九十个]){_MONTH}", _month),
        _rule(
            "年",
            rf"{_YEAR}(?![纪级龄会终夜货])",
            lambda match, moment: Found(Kind.RANGE, year_of(_year_number(match["year"], moment))),
        ),
        _rule("日 号", rf"(?:{_STEPS}个?月的?|(?<![\d一二三四五六七八九十月])){_DAY}", _day_of_month),
        _rule("春 夏 秋 冬", rf"(?:{_YEAR}的?|{_STEPS}个?)(?P<season>[春夏秋冬])[天季]", _season),
    ),
    link=lazy(r"[\s，、,（(]{0,2}[的在]?[）)]?"),
    to=lazy(r"\s?[到至~～—-]{1,2}\s?"),
    since=lazy(r"(?:自从?|从|打从?)$"),
    onward=lazy(r"以来|至今|到现在|起(?![床身来飞码初点先])|开始"),
    # 从 and 起 are a "since" together; 以来 and alike, and 起 itself, alone too.
    reaches=lambda before, behind: behind != "" and (before != "" or len(behind) > 1 or behind == "起"),
    past=lazy(r"了(?!吗|解)|过(?![来去节年期敏程分滤生])|曾|刚|已经|以前|那时"),
    future=lazy(
        r"要(?!求|不)|(?<![开聚晚约机社])会(?![议员计])|将|打算|准备|计划|提醒|想|记得|必须|得去|预约|约好|安排|改[到成]|推迟|延期|顺延|见[!！。]?$"
    ),
)
