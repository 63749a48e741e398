from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text.dates import find_times
from tests.doubles import assert_linear
from tests.world import column, rows

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


MARKED = [row[1:] for row in rows("text/dates.tsv") if not row[0].startswith("no time")]
"""The moment at which it is said, the words in brackets, and what they name; the kinds of the table are for people."""


@pytest.mark.parametrize(("now", "marked", "times"), MARKED)
def test_a_time_expression_names_a_range(now: str, marked: str, times: str) -> None:
    """The words between the brackets, and no others."""
    before, _, rest = marked.partition("[")
    words, _, after = rest.partition("]")
    (span,) = find_times(before + words + after, instant(now, BERLIN))
    assert (span.text, span.since, span.until) == (words, *expected(times))
    assert (span.start, span.end) == (len(before), len(before + words))


NO_TIMES = [
    *((text, NOW) for text in column("text/dates.tsv", "no time")),
    *((text, instant("2026-11-15T10", BERLIN)) for text in column("text/dates.tsv", "no time in another language")),
    ("300 years ago and in 999 decades", instant("100-01-01", BERLIN)),
]


@pytest.mark.parametrize(("text", "now"), NO_TIMES)
def test_what_is_no_time_names_none(text: str, now: datetime) -> None:
    """Nor does a word of another language, or what lies beyond the calendar."""
    assert find_times(text, now) == []


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
