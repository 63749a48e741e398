from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory_evaluation import Figures, Judging, Outcome, Probe, ProbeKind, Report
from hybrid_memory_evaluation.judging.scores import Grade, criteria, scored
from hybrid_memory_evaluation.report import figures
from hybrid_memory_evaluation.reporting import COSTS, KEPT, Column, html, measured

CRAFTED = (
    "<script>document.title = 'taken over'</script><img src=//evil.test/x onerror=alert(1)> \"&amp;\" {{ 7 * 7 }} "
    "\u202egnp.exe\u202c \x1b[31mred\x00 **bold**"
)
CHATS = ("refactoring", "航班改签", CRAFTED)
METHODS = ("anchored", "compact", "window-alone", "none")


def made(*, judged: bool = False, methods: tuple[str, ...] = METHODS, say: str = "It was a TypeError.") -> Report:
    """Of three transcripts: each method keeps less than the one before; the one that keeps all breaks the budget."""
    draw = random.Random(7)  # noqa: S311 - no secret
    probes = [(chat, _probe(row, kind)) for chat in CHATS for row, kind in enumerate((*ProbeKind, *ProbeKind))]
    outcomes = {
        method: [_outcome(chat, method, probe, place, draw, answer=say if judged else None) for chat, probe in probes]
        for place, method in enumerate(methods)
    }
    return Report(
        setting=_setting(judged=judged),
        transcripts=[
            {"name": chat, "form": "openai", "messages": 90, "tokens": 9000, "truncated": 70, "probes": {"recall": 2}}
            for chat in CHATS
        ],
        probes=[{"transcript": chat, **probe.as_dict()} for chat, probe in probes],
        methods=[_figures(method, outcomes[method], judged=judged) for method in methods],
        outcomes=[one for several in outcomes.values() for one in several],
        judging=Judging("gpt-judge", 96, 5, 1, 0.8125, 40, 0.5) if judged else None,
        failures=(f"compact on {CRAFTED}: ModelError: out of time",) if judged else (),
    )


def _setting(*, judged: bool) -> dict[str, Any]:
    models = dict.fromkeys(("model", "judge"), "gpt" if judged else None)
    told = {"version": "0.8.0", "python": "3.11.2", "at": "2026-11-22T18:00:00+00:00", "max_tokens": 2000, "repeats": 2}
    return {**told, **models, "embedder": None, "seed": 0}


def _probe(row: int, kind: ProbeKind) -> Probe:
    asked, gold = (CRAFTED, CRAFTED) if row == 0 else ("用户最初订的是哪一班航班？", "东航 MU5137")
    return Probe(f"{kind}-{row}", kind, asked, gold, (gold, "TypeError"), ("turn-1",), by="ledger")


def _outcome(chat: str, method: str, probe: Probe, place: int, draw: random.Random, *, answer: str | None) -> Outcome:
    kept = 1.0 if method == "none" or draw.random() > 0.25 * place else draw.choice([0.0, 0.5])
    level = 5 if method == "none" else 4 - place
    several = tuple({one.name: float(level - repeat) for one in criteria(probe.kind)} for repeat in range(2))
    return Outcome(
        transcript=chat,
        method=method,
        probe=probe.id,
        kind=probe.kind.value,
        age=draw.choice([3, 30, 70, 150, 500]),
        survival=kept,
        reach=kept,
        tokens=9000 if method == "none" else 1800 + place,
        fetched=0 if kept == 1 else 400,
        finished=kept == 1,
        answer=answer,
        in_answer=None if answer is None else kept,
        scores=() if answer is None else several,
    )


def _figures(method: str, outcomes: list[Outcome], *, judged: bool) -> Figures:
    over = 12 if method == "none" else 0
    sizes = {"prompts": 40, "tokens": 70_000, "largest": 9000, "reused": 30_000, "reuse": 0.5}
    prompts = {**sizes, "seconds": [0.02, 0.04], "over": over, "invalid": 0}
    replay = {"prompts": prompts, "model": {"calls": 7 if judged else 0, "sent": 900, "written": 90}}
    grades = [Grade(dict(scores)) for one in outcomes for scores in one.scores]
    return figures(
        method,
        [replay] * len(CHATS),
        outcomes,
        history=dict.fromkeys(CHATS, 9000),
        scores=scored(grades) if judged else None,
    )


class Page(HTMLParser):
    """What a page holds: elements with their attributes, the text outside of styles, and data of each table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.tables: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        if tag not in {"meta", "link", "br", "img"}:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "data" and "table" in self.open:
            self.tables[-1].append(found["value"])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="module")
def judged_page() -> str:
    return html(made(judged=True, say=CRAFTED))


@pytest.fixture(scope="module")
def plain_page() -> str:
    return html(made())


def in_json(values: Any, column: Column) -> Any:
    """What the JSON has for a method under the name of a column."""
    for part in column.name.split("."):
        values = None if values is None else values[part]
    return values


@pytest.mark.parametrize("judged", [False, True])
def test_the_tables_have_the_numbers_of_the_json(judged: bool, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    page = Page(request.getfixturevalue("judged_page" if judged else "plain_page"))
    report = made(judged=judged, say=CRAFTED)
    report.save(tmp_path / "report.json")
    methods = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["methods"]
    for columns, shown in zip((KEPT, COSTS), page.tables, strict=False):
        there = [in_json(one, column) for one in methods for column in measured(columns, report)]
        assert list(map(float, shown)) == [value for value in there if value is not None]
    names = {column.name for column in measured((*KEPT, *COSTS), report)}
    assert ({"in_answer", "scores.overall.mean"} <= names) == judged


@pytest.mark.parametrize("page", ["plain_page", "judged_page"])
def test_the_page_asks_nothing_of_a_network_and_runs_nothing(page: str, request: pytest.FixtureRequest) -> None:
    text = request.getfixturevalue(page)
    found = Page(text)
    links = [
        value
        for _, attributes in found.elements
        for name, value in attributes.items()
        if name in {"src", "href", "xlink:href", "srcset", "action", "data", "poster"}
    ]
    assert links
    assert all(link.startswith("#") or link == "data:," for link in links)
    styles = " ".join([*re.findall(r"<style.*?</style>", text, re.DOTALL), *re.findall(r'style="[^"]*"', text)])
    assert "@import" not in styles
    assert set(re.findall(r"url\((.)", styles)) <= {"#"}
    assert not {"script", "img", "iframe", "object", "embed", "form"} & {tag for tag, _ in found.elements}
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    policy = next(one["content"] for _, one in found.elements if "http-equiv" in one)
    assert policy.startswith("default-src 'none';")


def test_crafted_words_of_users_and_models_stand_as_text(judged_page: str) -> None:
    found = Page(judged_page)
    shown = re.sub(r"[\u202e\u202c\x1b\x00]", lambda char: f"U+{ord(char[0]):04X}", CRAFTED)
    # Name of a chat, question, gold, key, answer, failure: wherever somebody else's words come in.
    assert found.text.count(shown) > 5 * len(METHODS)
    assert not set(judged_page) & set("\u202e\u202c\x1b\x00")
