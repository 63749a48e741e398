from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.dates import find_times
from tests.doubles import assert_linear

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 5, 20, 10, 30, tzinfo=BERLIN)
"""A Wednesday."""


def instant(written: str, zone: ZoneInfo) -> datetime:
    day, _, clock = written.partition("T")
    year, month, number = ([int(part) for part in day.split("-")] + [1, 1])[:3]
    hour, _, minute = (clock or "0").partition(":")
    return datetime(year, month, number, int(hour), int(minute or 0), tzinfo=zone)


def expected(written: str, zone: ZoneInfo = BERLIN) -> tuple[datetime, datetime]:
    """``a..b``, or a year, a month, a day, an hour (T15) or a minute (T15:30) by itself."""
    begin, _, end = written.partition("..")
    since = instant(begin, zone)
    if end:
        return since, instant(end, zone)
    if ":" in begin:
        return since, since + timedelta(minutes=1)
    if "T" in begin:
        return since, since + timedelta(hours=1)
    if begin.count("-") == 2:
        return since, instant(f"{since + timedelta(days=1):%Y-%m-%d}", zone)
    if begin.count("-") == 1:
        return since, (since + timedelta(days=31)).replace(day=1)
    return since, since.replace(year=since.year + 1)


ENGLISH = [
    ("See you [tomorrow]!", "2026-05-21"), ("[Today] was long.", "2026-05-20"),
    ("[the day after tomorrow]", "2026-05-22"), ("It came [the day before yesterday]", "2026-05-18"),
    ("[Yesterday] evening we met Ada.", "2026-05-19"),
    ("I slept badly [last night]", "2026-05-19"), ("we met [this morning]", "2026-05-20"),
    ("call me [this afternoon]", "2026-05-20"), ("[next Tuesday] works", "2026-05-26"),
    ("[next Wednesday]", "2026-05-27"), ("[next Sunday]", "2026-05-31"), ("[this Friday] at 3pm", "2026-05-22"),
    ("[this Wednesday]", "2026-05-20"), ("[last Friday]", "2026-05-15"), ("[last Wednesday]", "2026-05-13"),
    ("I will call on [Friday]", "2026-05-22"), ("On [Friday] we went out", "2026-05-15"),
    ("I moved in on [Wednesday]", "2026-05-13"), ("[Wednesday] works for me", "2026-05-27"),
    ("the [Friday of last week]", "2026-05-15"), ("[Monday] morning", "2026-05-25"),
    ("[Tuesday, May 26] at noon", "2026-05-26"), ("[Thu, 21 May]", "2026-05-21"), ("[in two weeks]", "2026-06-03"),
    ("[in 3 days] at 9 am", "2026-05-23"), ("[a week from today]", "2026-05-27"), ("[in a month]", "2026-06-20"),
    ("[in half an hour]", "2026-05-20T11:00"), ("[in an hour]", "2026-05-20T11:30..2026-05-20T12:30"),
    ("[the week before last]", "2026-05-04..2026-05-11"), ("[the month after next]", "2026-07"),
    ("[two weeks ago] I fell ill", "2026-05-04..2026-05-11"), ("[3 days ago]", "2026-05-17"),
    ("[a month ago]", "2026-04"), ("[about five years ago]", "2021"), ("[two and a half years ago]", "2023-11"),
    ("[half a year ago]", "2025-11"), ("[a few days ago]", "2026-05-15..2026-05-19"),
    ("[three weeks back] I fell ill", "2026-04-27..2026-05-04"),
    ("the [last few days]", "2026-05-15T10:30..2026-05-20T10:30"),
    ("the [past couple of weeks]", "2026-05-06T10:30..2026-05-20T10:30"), ("[a couple of months ago]", "2026-03"),
    ("the [last three months]", "2026-02-20T10:30..2026-05-20T10:30"),
    ("over the [next 2 weeks]", "2026-05-20T10:30..2026-06-03T10:30"),
    ("[the past year]", "2025-05-20T10:30..2026-05-20T10:30"), ("[last week]", "2026-05-11..2026-05-18"),
    ("[next month]", "2026-06"), ("[this year]", "2026"), ("[last quarter]", "2026-01-01..2026-04-01"),

    ("[last weekend]", "2026-05-16..2026-05-18"), ("any plans for [the weekend]?", "2026-05-23..2026-05-25"),
    ("on [May 5th] I left", "2026-05-05"), ("It is due on [May 5th]", "2027-05-05"), ("[June 1]", "2026-06-01"),
    ("What was said [on the 12th] about it?", "2026-05-12"), ("[the 5th of June, 2019]", "2019-06-05"),
    ("[5 Dec 2020]", "2020-12-05"),
    ("[on the 1st of next month]", "2026-06-01"), ("the rent is due [on the 1st].", "2026-06-01"),
    ("[in 2019]", "2019"), ("in [May 2019]", "2019-05"), ("[May of last year]", "2025-05"),
    ("I was in Rome [in March]", "2026-03"), ("We fly [in March]", "2026-03"), ("[last May]", "2025-05"),
    ("[next May]", "2027-05"), ("[this April]", "2026-04"), ("I moved [last spring]", "2025-03-01..2025-06-01"),
    ("[last winter]", "2025-12-01..2026-03-01"), ("[next winter]", "2026-12-01..2027-03-01"),
    ("in the [summer of 2018]", "2018-06-01..2018-09-01"), ("[since last May]", "2025-05-01..2026-05-20T10:30"),
    ("I have lived here [since 2019]", "2019-01-01..2026-05-20T10:30"),
    ("[late 2019]", "2019"), ("in [early June]", "2025-06"), ("[the end of next month]", "2026-06-30"),
    ("from [March to May] I lived there", "2026-03-01..2026-06-01"),
    ("from [2015 to 2018]", "2015-01-01..2019-01-01"), ("at 9:15 [tomorrow]", "2026-05-21"),
    ("[2024-02-29] 08:05", "2024-02-29"), ("[12/25/2024]", "2024-12-25"), ("[25.12.2024]", "2024-12-25"),
]  # fmt: skip

CHINESE = [
    ("[明天]见", "2026-05-21"), ("[今天]很累", "2026-05-20"), ("[昨天]下雨了", "2026-05-19"),
    ("[后天]出发", "2026-05-22"), ("[大后天]", "2026-05-23"), ("[前天]我去了医院", "2026-05-18"),
    ("[大前天]", "2026-05-17"), ("[昨晚]八点", "2026-05-19"),
    ("[昨天]晚上十二点", "2026-05-19"), ("[明早]七点半", "2026-05-21"), ("[今天]下午", "2026-05-20"),
    ("[下周二]看牙医", "2026-05-26"), ("[下下周一]", "2026-06-01"),
    ("[这周五]下午三点", "2026-05-22"), ("[本周一]", "2026-05-18"), ("[上周三]", "2026-05-13"),
    ("[上上个星期天]", "2026-05-10"), ("[星期日]", "2026-05-24"), ("[礼拜三]", "2026-05-27"),
    ("[周五]我去了银行", "2026-05-15"),
    ("[周末]去爬山吧", "2026-05-23..2026-05-25"), ("[周末]去了爬山", "2026-05-16..2026-05-18"),
    ("[上个周末]", "2026-05-16..2026-05-18"), ("[下周]", "2026-05-25..2026-06-01"), ("[上个月]", "2026-04"),
    ("[上上个月]", "2026-03"), ("[本月]", "2026-05"), ("[下个季度]", "2026-07-01..2026-10-01"), ("[去年]", "2025"),
    ("[后年]", "2028"), ("[去年五月]", "2025-05"), ("[明年三月初]", "2027-03-01..2027-03-11"),
    ("[今年春天]", "2026-03-01..2026-06-01"), ("[前年冬天]", "2024-12-01..2025-03-01"),
    ("[2018年夏天]", "2018-06-01..2018-09-01"), ("[两周前]", "2026-05-04..2026-05-11"), ("[三天前]", "2026-05-17"),
    ("[半年前]我搬到上海", "2025-11"), ("[十年以前]", "2016"), ("[一年半以前]", "2024-11"),
    ("[前几天]去了趟北京", "2026-05-15..2026-05-19"), ("[这两天]没睡好过", "2026-05-15T10:30..2026-05-20T10:30"),
    ("[几天前]", "2026-05-15..2026-05-19"), ("[三天后]", "2026-05-23"), ("[两个星期之后]", "2026-06-03"),
    ("[再过两个月]", "2026-07-20"), ("[五分钟后]", "2026-05-20T10:35"), ("[一个半小时后]", "2026-05-20T12:00"),
    ("[过去三个月]", "2026-02-20T10:30..2026-05-20T10:30"), ("[最近两周]很忙", "2026-05-06T10:30..2026-05-20T10:30"),
    ("[未来三天]有雨", "2026-05-20T10:30..2026-05-23T10:30"), ("[2019年]毕业", "2019"), ("[二零一八年]", "2018"),
    ("[2019年5月5日]", "2019-05-05"), ("[98年3月]", "1998-03"), ("[2024 年 3 月 5 日]", "2024-03-05"),
    ("[5月5日]", "2027-05-05"), ("[5月5日]我去了杭州", "2026-05-05"), ("[八月十五号]晚上七点半", "2026-08-15"),
    ("[六月份]", "2025-06"), ("[下个月15号]上午十点", "2026-06-15"),
    ("[2019年底]", "2019-11-01..2020-01-01"), ("[下个月中旬]", "2026-06-11..2026-06-21"),
    ("[从去年五月起]我住在这里", "2025-05-01..2026-05-20T10:30"), ("[2019年以来]", "2019-01-01..2026-05-20T10:30"),
    ("我[2015年到2018年]在上海", "2015-01-01..2019-01-01"), ("[周五]六点", "2026-05-22"),
    ("会议改到[6月3日]了", "2026-06-03"),
]  # fmt: skip


ENDS = [
    # The ends of weeks, months and years.
    ("2026-01-01T0:10", "[yesterday]", "2025-12-31"), ("2026-01-01T0:10", "[last week]", "2025-12-22..2025-12-29"),
    ("2025-12-31T23:50", "[tomorrow]", "2026-01-01"), ("2025-12-31T23:50", "[next month]", "2026-01"),
    ("2025-12-31T23:50", "[下周四]", "2026-01-08"), ("2025-12-29T9", "[this week]", "2025-12-29..2026-01-05"),
    ("2024-02-28T9", "[tomorrow]", "2024-02-29"), ("2023-02-28T9", "[明天]", "2023-03-01"),
    ("2024-01-31T9", "[in a month]", "2024-02-29"), ("2023-01-31T9", "[一个月后]", "2023-02-28"),
    ("2024-02-29T9", "[in a year]", "2025-02-28"), ("2026-05-31T9", "the [last month]", "2026-04-01..2026-05-01"),
    ("2025-03-01T9", "The next check is on [February 29]", "2028-02-29"),
    ("2025-03-01T9", "I was born on [February 29]", "2024-02-29"),
    ("2026-01-15T9", "[this winter]", "2025-12-01..2026-03-01"),
    ("2026-01-15T9", "[last winter]", "2024-12-01..2025-03-01"),
    ("2026-10-15T9", "[this winter]", "2026-12-01..2027-03-01"), ("2026-12-20T9", "[in January]", "2026-01"),
    ("2026-01-20T9", "I quit [in December]", "2025-12"), ("2026-01-20T9", "我[12月]辞职了", "2025-12"),
    ("2026-01-31T9", "on the 30th of [next month]", "2026-02"), ("2026-05-24T9", "[next Monday]", "2026-05-25"),
    ("2026-05-25T9", "[next Monday]", "2026-06-01"), ("2026-05-25T9", "[last Sunday]", "2026-05-24"),
    ("2026-05-24T9", "[下周日]", "2026-05-31"), ("2026-05-24T9", "[上周日]", "2026-05-17"),
]  # fmt: skip

PERIODS = [
    # A month or season alone is the last that has begun, in all tenses.
    ("2026-11-15T10", "what happened [in September]", "2026-09"),
    ("2026-11-15T10", "What's new [in November]?", "2026-11"),
    ("2026-11-15T10", "What is planned [for December]?", "2025-12"), ("2026-11-15T10", "How is [July]?", "2026-07"),
    ("2026-11-15T10", "What did I do [over the summer]?", "2026-06-01..2026-09-01"),
    ("2026-02-15T10", "What do I wear [in the winter]?", "2025-12-01..2026-03-01"),
    ("2026-02-15T10", "all we did [during the autumn]", "2025-09-01..2025-12-01"),
    ("2026-11-15T10", "[九月份]有什么变化", "2026-09"), ("2026-11-15T10", "我[十二月]要做什么", "2025-12"),
    ("2026-11-15T10", "[夏天]去了哪里", "2026-06-01..2026-09-01"), ("2026-01-15T10", "我[11月]在哪", "2025-11"),
    ("2026-02-15T10", "我[秋天]在忙什么", "2025-09-01..2025-12-01"),
    ("2026-11-15T10", "We lived there from [October to January]", "2025-10-01..2026-02-01"),
    # Since then until now.
    ("2026-11-15T10", "What is new [since September]?", "2026-09-01..2026-11-15T10"),
    ("2026-11-15T10", "[since Monday] I am a driver", "2026-11-09..2026-11-15T10"),
    ("2026-11-15T10", "Where do I run [since the summer]?", "2026-06-01..2026-11-15T10"),
    ("2026-11-15T10", "who called [since the 3rd of October]", "2026-10-03..2026-11-15T10"),
    ("2026-11-15T10", "[since the beginning of October]", "2026-10-01..2026-11-15T10"),
    ("2026-11-15T10", "[九月以来]有什么变化", "2026-09-01..2026-11-15T10"),
    ("2026-11-15T10", "[自从周一以来]", "2026-11-09..2026-11-15T10"),
    ("2026-11-15T10", "[从上个月开始]我在跑步", "2026-10-01..2026-11-15T10"),
    ("2026-11-15T10", "[九月至今]", "2026-09-01..2026-11-15T10"),
    ("2026-11-15T10", "[上周以来]", "2026-11-02..2026-11-15T10"),
    # A part of a period.
    ("2026-11-15T10", "what I did [in the first half of October]", "2026-10-01..2026-10-16"),
    ("2026-11-15T10", "[the second half of last year]", "2025-07-01..2026-01-01"),
    ("2026-11-15T10", "we met [at the end of August]", "2026-08-21..2026-09-01"),
    ("2026-11-15T10", "[the middle of June]", "2026-06-11..2026-06-21"),
    ("2026-11-15T10", "[at the beginning of 2025]", "2025-01-01..2025-03-01"),
    ("2026-11-15T10", "in [the second week of October]", "2026-10-08..2026-10-15"),
    ("2026-11-15T10", "[10月上半月]", "2026-10-01..2026-10-16"),
    ("2026-11-15T10", "[九月下旬]", "2026-09-21..2026-10-01"),
    ("2026-11-15T10", "[上半年]去了哪里", "2026-01-01..2026-07-01"),
    ("2026-11-15T10", "[去年年底]", "2025-11-01..2026-01-01"),
    ("2026-11-15T10", "[三月底到五月初]", "2026-03-21..2026-05-11"),
    ("2026-11-15T10", "[9月的最后一周]", "2026-09-24..2026-10-01"),
    ("2026-11-15T10", "[in the first two weeks of October]", "2026-10-01..2026-10-15"),
    ("2026-11-15T10", "[the last three days of October]", "2026-10-29..2026-11-01"),
    ("2026-11-15T10", "What happened between [June and August]?", "2026-06-01..2026-09-01"),
    ("2026-11-15T10", "[10月前半个月]", "2026-10-01..2026-10-16"),
    ("2026-11-15T10", "整个[夏天]", "2026-06-01..2026-09-01"),
    # What is due by a period is due on its last day.
    ("2026-03-02T10", "The report is [due by the end of the month].", "2026-03-31"),
    ("2026-03-02T10", "we launch [at the end of the year]", "2026-12-31"),
    ("2026-03-02T10", "[by the end of next week]", "2026-03-15"),
    ("2026-11-15T10", "was it [due by the end of October]?", "2026-10-31"),
    ("2026-11-15T10", "done [by March]", "2027-03"), ("2026-03-02T10", "[before the end of April]", "2025-04-30"),
    ("2026-03-02T10", "pay [by month end]", "2026-03-31"), ("2026-03-02T10", "[by the end of year]", "2026-12-31"),
    ("2026-03-02T10", "[月底]之前交报告", "2026-03-31"), ("2026-03-02T10", "[年底]上线", "2026-12-31"),
    ("2026-03-02T10", "[下个月底]", "2026-04-30"), ("2026-03-02T10", "[本月底]前", "2026-03-31"),
    ("2026-03-02T10", "[九月]前交报告", "2026-09"),
    # A named day.
    ("2026-03-02T10", "[first Tuesday of November]", "2026-11-03"),
    ("2026-03-02T10", "[a week from Friday]", "2026-03-13"),
    ("2026-03-02T10", "the party is [on the last Friday of May]", "2026-05-29"),
    ("2026-11-15T10", "We met [on the last Friday of May]", "2026-05-29"),
    ("2026-11-15T10", "[a year ago today]", "2025-11-15"),
    ("2026-11-15T10", "what I said [two weeks ago today]", "2026-11-01"),
    ("2026-11-15T10", "[today last year]", "2025-11-15"),
    ("2026-11-15T10", "[two weeks from Monday]", "2026-11-30"),
    ("2026-11-15T10", "[the first Sunday of this month]", "2026-11-01"),
    ("2026-11-15T10", "[十一月第一个星期二]", "2026-11-03"),
    ("2026-11-15T10", "去了[五月的最后一个周五]", "2026-05-29"),
    ("2026-11-15T10", "[去年今天]", "2025-11-15"), ("2026-11-15T10", "[一年前的今天]", "2025-11-15"),
    ("2026-11-15T10", "[上个月的今天]我在哪", "2026-10-15"),
    ("2026-11-15T10", "[上上周]我做了什么", "2026-10-26..2026-11-02"),
    ("2026-11-15T10", "[上上上周]", "2026-10-19..2026-10-26"), ("2026-11-15T10", "[下下周五]", "2026-11-27"),
    ("2026-11-15T10", "[上上个周末]", "2026-10-31..2026-11-02"),
    ("2026-11-15T10", "on [3.4.2026]", "2026-04-03"), ("2026-11-15T10", "[03.11.2026]", "2026-11-03"),
    ("2026-11-15T10", "[1.2.2026]", "2026-02-01"), ("2026-11-15T10", "[12.31.2025]", "2025-12-31"),
    ("2026-11-15T10", "[03/11/2026]", "2026-03-11"),
]  # fmt: skip


AUTUMN = "2026-11-15T10"
"""A Sunday."""

EUROPEAN = [
    ("Was habe ich [gestern] gemacht?", "2026-11-14"), ("[vorgestern]", "2026-11-13"),
    ("Was mache ich [morgen]?", "2026-11-16"), ("[Heute] Morgen war ich müde", "2026-11-15"),
    ("[vor drei Wochen]", "2026-10-19..2026-10-26"), ("Was war [letzten Monat]?", "2026-10"),
    ("[letzte Woche]", "2026-11-02..2026-11-09"), ("[vorletzte Woche]", "2026-10-26..2026-11-02"),
    ("Was war im [Mai]?", "2026-05"), ("Was ist [seit September] neu?", "2026-09-01..2026-11-15T10"),
    ("Wo wohne ich [seit drei Wochen]?", "2026-10-25T10..2026-11-15T10"), ("[letztes Jahr]", "2025"),
    ("Wo war ich [letzten Freitag]?", "2026-11-13"), ("Was habe ich am [Montag] gemacht?", "2026-11-09"),
    ("Wo waren wir im [letzten Sommer]?", "2026-06-01..2026-09-01"), ("am [3. November 2026]", "2026-11-03"),
    ("am [3.4.2026]", "2026-04-03"), ("[bis Ende des Monats]", "2026-11-30"),
    ("Wen trafen wir [Ende Oktober]?", "2026-10-21..2026-11-01"), ("[heute vor einem Jahr]", "2025-11-15"),
    ("in der [ersten Hälfte des Oktobers]", "2026-10-01..2026-10-16"), ("von [März bis Mai]", "2026-03-01..2026-06-01"),
    ("im [Mai letzten Jahres]", "2025-05"), ("[vor einigen Tagen]", "2026-11-10..2026-11-14"),

    ("Qu'est-ce que j'ai fait [hier] ?", "2026-11-14"), ("[hier soir]", "2026-11-14"), ("[avant-hier]", "2026-11-13"),
    ("Où est-ce que je vais [demain] ?", "2026-11-16"), ("la [semaine dernière]", "2026-11-02..2026-11-09"),
    ("[il y a deux mois]", "2026-09"), ("le [mois dernier]", "2026-10"), ("l'[année dernière]", "2025"),
    ("en [mai]", "2026-05"), ("en [mars]", "2026-03"), ("[depuis septembre]", "2026-09-01..2026-11-15T10"),
    ("[depuis trois semaines]", "2026-10-25T10..2026-11-15T10"),
    ("Où sommes-nous partis [cet été] ?", "2026-06-01..2026-09-01"),
    ("l’[été dernier]", "2026-06-01..2026-09-01"), ("ce que j'ai dit le [3 novembre]", "2026-11-03"),
    ("[début octobre]", "2026-10-01..2026-10-11"), ("à la [mi-juin]", "2026-06-11..2026-06-21"),
    ("[avant la fin du mois]", "2026-11-30"), ("[il y a un an aujourd'hui]", "2025-11-15"),
    ("[vendredi dernier]", "2026-11-13"), ("ces [trois dernières semaines]", "2026-10-25T10..2026-11-15T10"),
    ("le [03/11/2026]", "2026-11-03"), ("[mai de l'année dernière]", "2025-05"),

    ("¿Qué hice [ayer]?", "2026-11-14"), ("[anoche]", "2026-11-14"), ("[anteayer]", "2026-11-13"),
    ("[mañana] por la mañana", "2026-11-16"), ("el [mes pasado]", "2026-10"),
    ("[hace tres semanas]", "2026-10-19..2026-10-26"), ("la [semana pasada]", "2026-11-02..2026-11-09"),
    ("¿qué pasó en [mayo]?", "2026-05"), ("[desde septiembre]", "2026-09-01..2026-11-15T10"),
    ("[desde hace tres semanas]", "2026-10-25T10..2026-11-15T10"), ("el [viernes pasado]", "2026-11-13"),
    ("el [fin de semana pasado]", "2026-11-07..2026-11-09"), ("el [verano pasado]", "2026-06-01..2026-09-01"),
    ("a [finales de mes]", "2026-11-30"), ("el [3 de noviembre de 2026]", "2026-11-03"),
    ("[hoy hace un año]", "2025-11-15"),
    ("la [primera quincena de agosto]", "2026-08-01..2026-08-16"), ("de [marzo a mayo]", "2026-03-01..2026-06-01"),
    ("¿Qué hice el [lunes]?", "2026-11-09"), ("¿Qué hago el [lunes]?", "2026-11-16"), ("[en 2019]", "2019"),

    ("Cosa ho fatto [ieri]?", "2026-11-14"), ("[l'altro ieri]", "2026-11-13"), ("il [mese scorso]", "2026-10"),
    ("la [settimana scorsa]", "2026-11-02..2026-11-09"), ("[tre settimane fa]", "2026-10-19..2026-10-26"),
    ("a [maggio]", "2026-05"), ("[da settembre]", "2026-09-01..2026-11-15T10"),
    ("[da tre settimane]", "2026-10-25T10..2026-11-15T10"), ("[venerdì scorso]", "2026-11-13"),
    ("l'[anno scorso]", "2025"), ("[quest'estate]", "2026-06-01..2026-09-01"),
    ("[entro la fine del mese]", "2026-11-30"),
    ("[un anno fa oggi]", "2025-11-15"), ("lo [scorso maggio]", "2026-05"), ("Cosa ho fatto [lunedì]?", "2026-11-09"),

    ("o que eu fiz [ontem]?", "2026-11-14"), ("[anteontem]", "2026-11-13"), ("no [mês passado]", "2026-10"),
    ("na [semana passada]", "2026-11-02..2026-11-09"), ("[há duas semanas]", "2026-10-26..2026-11-02"),
    ("[duas semanas atrás]", "2026-10-26..2026-11-02"), ("em [maio]", "2026-05"),
    ("[desde setembro]", "2026-09-01..2026-11-15T10"), ("na [sexta passada]", "2026-11-13"),
    ("no [ano passado]", "2025"),
    ("[até o fim do mês]", "2026-11-30"), ("no [verão passado]", "2026-06-01..2026-09-01"),
    ("o que eu fiz em [3 de novembro]", "2026-11-03"), ("O que fiz na [segunda-feira]?", "2026-11-09"),
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Was habe ich hier gesagt?", "Wohnt Anna hier?", "J'ai été malade", "who landed on mars", "Mars",
        "a segunda vez",
        "jeden Freitag", "tous les vendredis", "chaque lundi", "me and Mai", "todos los lunes", "ogni lunedì",
        "Guten Morgen",
        "por la mañana", "Est-ce que j'ai dix-sept ans ?", "la fin du film", "Am Ende war er da",
    ],
)  # fmt: skip
def test_a_word_of_one_language_names_no_time_in_another(text: str) -> None:
    assert find_times(text, instant(AUTUMN, BERLIN)) == []


MARKED = [
    *(("2026-05-20T10:30", *case) for case in ENGLISH + CHINESE),
    *ENDS,
    *PERIODS,
    *((AUTUMN, *case) for case in EUROPEAN),
]


@pytest.mark.parametrize(("now", "marked", "times"), MARKED)
def test_a_time_expression_names_a_range(now: str, marked: str, times: str) -> None:
    """The words between the brackets, and no others."""
    before, _, rest = marked.partition("[")
    words, _, after = rest.partition("]")
    (span,) = find_times(before + words + after, instant(now, BERLIN))
    assert (span.text, span.since, span.until) == (words, *expected(times))
    assert (span.start, span.end) == (len(before), len(before + words))


@pytest.mark.parametrize(
    "text",
    [
        "May I ask you something?", "I may go", "I like pizza", "Every Friday I swim", "each Monday", "good morning",
        "I read in the evening", "on the 5th floor", "John 3:16", "at 15:30", "wake me at 8 am", "half past three",
        "at noon", "dinner tonight at 8", "今晚吃火锅", "早上六点零五分起床", "下午3点到5点", "version 2.10.2021.4",
        "she sat in the sun", "2000 people came", "I am 30 years old", "2023-02-30", "at 3 places", "I march on",
        "twice in a week", "three weeks of rain", "", "我有三点建议", "每周三开会", "一周三次", "我住在15号楼",
        "坐2号线", "今后天天锻炼", "以前天天跑步", "大年初一", "大年初二去了哪里",
        "农历八月十五", "去年农历八月十五", "八月初五", "阴历五月初五见", "腊月二十三", "去年大年三十", "我最喜欢夏天",
        "晚上一点也不困", "早上好", "下周围巾会到",
        "身上月光很亮", "三个月大", "早上周围很安静", "吃月饼", "营业时间是周一至周日", "25点", "我三十岁", "两年",
        "十几年",
    ],
)  # fmt: skip
def test_what_is_no_time_names_none(text: str) -> None:
    assert find_times(text, NOW) == []


def test_several_expressions_are_found_in_order() -> None:
    text = "Tomorrow I fly to Rome, 下周三 I am back, and in two weeks I start."
    assert [span.text for span in find_times(text, NOW)] == ["Tomorrow", "下周三", "in two weeks"]


def test_the_day_is_that_of_the_time_zone() -> None:
    midnight = datetime(2026, 5, 20, 23, 30, tzinfo=UTC)
    (utc,) = find_times("today", midnight)
    (tokyo,) = find_times("today", midnight.astimezone(ZoneInfo("Asia/Tokyo")))
    assert (utc.since.day, tokyo.since.day) == (20, 21)
    assert tokyo.since == datetime(2026, 5, 20, 15, tzinfo=UTC)
    assert tokyo.since.tzinfo == ZoneInfo("Asia/Tokyo")


def test_a_day_on_which_the_clocks_change_has_23_or_25_hours() -> None:
    for now, hours in (("2026-03-29T12", 23), ("2026-10-25T12", 25)):
        (span,) = find_times("today", instant(now, BERLIN))
        assert span.until.astimezone(UTC) - span.since.astimezone(UTC) == timedelta(hours=hours)


def test_dates_beyond_the_calendar_name_nothing() -> None:
    assert find_times("300 years ago and in 999 decades", instant("100-01-01", BERLIN)) == []


WORDS = st.sampled_from(
    """next last this the past every Tuesday Friday week month year May 5th 2019 31 , in two 3 days weeks ago since at
    pm 15:30 noon tomorrow evening spring from to of end a few half an hour 2024-02-29 and 明 天 后天 下 周 二 个 月
    gestern vor drei Wochen letzten Mai le dernier mois hier hace tres ayer fin de scorsa há ontem segunda
    去年 五月 前 两周 三 点 半 上午 晚上 15号 从 起 到 底 初 春天 过去 最近 。 ? \n I moved will 了 要""".split()
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=14).map("".join), st.text(max_size=40)
)
MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 1),  # noqa: DTZ001 - the zone is added
    timezones=st.sampled_from([UTC, BERLIN, ZoneInfo("America/Sao_Paulo"), ZoneInfo("Asia/Shanghai")]),
)


@given(TEXTS, MOMENTS)
@settings(max_examples=50)
def test_spans_lie_in_the_text_ascend_and_hold_time(text: str, now: datetime) -> None:
    end = 0
    for span in find_times(text, now):
        assert end <= span.start < span.end <= len(text)
        assert span.text == text[span.start : span.end]
        assert span.since.astimezone(UTC) < span.until.astimezone(UTC)
        assert span.since.tzinfo == span.until.tzinfo == now.tzinfo
        end = span.end


@pytest.mark.parametrize(
    "unit", ["at 3 ", "in two ", "一", "周一", "明天下午三点", "9", "2019-", " ", "last ", "vor drei ", "de "]
)
def test_time_grows_with_the_text_only(unit: str) -> None:
    assert_linear(lambda text: find_times(text, NOW), lambda size: unit * (size // len(unit)), 2000 * len(unit))
