from __future__ import annotations

import pytest

from hybrid_memory import Role
from hybrid_memory.context.summaries.lines import candidates
from hybrid_memory.context.summaries.summarise import audited, critical_items, measured, unsaid
from tests.compression.summaries.conftest import event, line


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("See https://example.org/a?b=1 for it.", {"https://example.org/a?b=1"}),
        ("Write to nora.w@example.org.", {"nora.w@example.org"}),
        ("It is in src/api/server.py and README.md.", {"src/api/server.py", "README.md"}),
        ("It is due on 2024-07-01 at 14:30.", {"2024-07-01", "14:30"}),
        ("We met on March 14.", {"March 14"}),
        ("会议在3月14日下午。", {"3月14日"}),
        ("It costs $1,250 or 430 EUR, 20 % less.", {"$1,250", "430 EUR", "20 %"}),
        ("一共300元，走了5公里。", {"300元", "5公里"}),
        ("It fails with ImportError and E1234.", {"ImportError", "E1234"}),
        ("The order is ORDER-20931.", {"ORDER-20931"}),
        ("Yesterday I met Nora Winter there.", {"Nora Winter"}),
        ("我叫陈小明。", {"陈小明"}),
        ("我在看《红楼梦》。", {"《红楼梦》"}),
        ("My phone number is 555-123-4567.", {"555-123-4567"}),
        ("电话是13812345678。", {"13812345678"}),
        ("How are you today?", set()),
        ("今天天气不错。", set()),
    ],
)
def test_critical_items_are_found_in_both_languages(text: str, items: set[str]) -> None:
    found = critical_items(event(1, text))
    assert set(found) >= items
    assert bool(found) == bool(items)
    assert len(set(found)) == len(found)


def test_what_a_tool_said_and_code_are_not_looked_at() -> None:
    assert critical_items(event(1, "It costs 430 EUR.", Role.TOOL)) == ()
    assert critical_items(event(1, "```\ncosts 430 EUR\n```")) == ()


def test_each_item_is_counted_in_one_place() -> None:
    span = [event(1, "It costs 430 EUR on 2024-07-01."), event(2, "See src/api/server.py, says Nora.")]
    fresh = [line("user: it costs 430  eur.")]
    audit = audited(span, fresh, fresh, "modified src/api/server.py")
    assert (audit.compactions, audit.items, audit.lines) == (1, 4, 1)
    assert (audit.in_summary, audit.in_ledger, audit.by_handle) == (1, 1, 2)
    assert audit.survived == 0.5
    both = audit + audited([], [], [], "")
    assert (both.compactions, both.items, both.closeness) == (2, 4, audit.closeness)
    assert audited([], [], [], "").survived == 1


def test_what_is_nowhere_is_told_by_turn() -> None:
    span = [event(1, "It costs 430 EUR."), event(2, "It is due on 2024-07-01."), event(3, "Fine.")]
    assert unsaid(span, [line("430 EUR")], "") == {2: ["2024-07-01"]}
    assert unsaid(span, [line("430 EUR")], "2024-07-01") == {}


def test_closeness_is_the_share_of_the_words_that_were_said() -> None:
    span = [event(1, "I prefer tiles from Ghent."), event(2, "我喜欢厨房的蓝色窗帘。")]
    assert [found.closeness for found in measured(candidates(span, "off"), span)] == [1.0, 1.0]
    (made_up,) = measured([line("tiles of Lisbon")], span)
    assert made_up.closeness == 0.5
