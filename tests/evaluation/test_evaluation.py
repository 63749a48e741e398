import json
import random
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory_evaluation import (
    Evaluation,
    Figures,
    Judging,
    Outcome,
    Probe,
    ProbeKind,
    Prompt,
    Report,
    Setting,
    Transcript,
    read_transcript,
)
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.judging.scores import Grade, criteria, scored
from hybrid_memory_evaluation.methods import OWN, chosen_methods
from hybrid_memory_evaluation.replaying import Metered, Prompts, faults, replayed
from hybrid_memory_evaluation.report import figures
from hybrid_memory_evaluation.reporting import COSTS, KEPT, Column, html, measured
from tests.world import Page

ASKED = ("sliding-window", "anchored-alone", "none")
Options = dict[str, Any]


class Broken:
    """A method that fails while it replays."""

    name = "broken"

    def replay(self, setting: Setting) -> AbstractContextManager[Any]:
        raise RuntimeError("out of order")


@pytest.fixture(scope="module")
def options(chat: Transcript, probes: Sequence[Probe]) -> Options:
    return {"transcripts": [chat], "methods": ASKED, "max_tokens": 400, "probes": {"chat": probes}}


@pytest.fixture(scope="module")
def report(options: Options) -> Report:
    return Evaluation(**options).run()


def test_a_window_forgets_what_a_summary_keeps(report: Report) -> None:
    window, anchored, whole = report.methods
    assert window.survival == pytest.approx(1 / 3)
    assert anchored.survival == whole.survival == 1
    assert whole.ratio == pytest.approx(1, abs=0.05)
    assert anchored.ratio > 2
    assert whole.over > 0
    assert window.over == anchored.over == 0
    assert whole.prompts == window.prompts == 31


def test_the_same_run_gives_the_same_figures(options: Options, report: Report) -> None:
    again = Evaluation(**options).run()
    assert again.outcomes == report.outcomes


def test_a_method_that_fails_is_reported_and_the_others_go_on(options: Options) -> None:
    made = Evaluation(**{**options, "methods": [Broken(), "none"]}).run()
    assert [one.method for one in made.methods] == ["none"]
    assert made.failures == ("broken on chat: RuntimeError: out of order",)
    with pytest.raises(InvalidInputError, match="out of order"):
        Evaluation(**{**options, "methods": [Broken()]}).run()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"transcripts": []}, "no transcripts"), ({"max_tokens": 100_000}, "chat fits into 100000 tokens"),
        ({"max_tokens": 0}, "max_tokens=0"), ({"repeats": 0}, "repeats=0"), ({"written": 3}, "give model="),
        ({"judge": print}, "give model="), ({"methods": ["nothing"]}, "'nothing'"),
        ({"probes": {"chat": [Probe("x", ProbeKind.RECALL, "?", "", (), ("turn-1",))]}}, "no keys"),
        ({"probes": {"chat": [Probe("x", ProbeKind.RECALL, "?", "a", ("a",), ("turn-99",))]}}, "unknown sources"),
        ({"probes": {"chat": [Probe("x", ProbeKind.RECALL, "?", "a", ("a",), ("turn-1",))] * 2}}, "the same id"),
        ({"probes": {"chat": []}}, "has nothing to ask about"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_at_once(changed: Options, told: str, options: Options, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=told):
        Evaluation(**{**options, **changed, "folder": tmp_path / "kept"})
    assert not (tmp_path / "kept").exists()


class Answers:
    """Answers from what it is shown, grades by the length of what it reads, and fails when it is told to."""

    def __init__(self, scripted: Any, fails: int = 0) -> None:
        self.answers = self.grades = self.failed = 0
        self._fails = fails
        self.model = scripted(self.complete, self.structured)

    def complete(self, sent: str) -> str:
        self.answers += 1
        if self._fails:
            self._fails -= 1
            self.failed += 1
            raise ModelError("overloaded")
        return "It is QX4471." if "QX4471" in sent else "I don't know."

    def structured(self, sent: str, schema: Any) -> dict[str, Any]:
        if "accuracy_factual" not in schema["properties"]:
            raise ModelError("no summaries")
        self.grades += 1
        score = 5 if '"answer": "It is QX4471."' in sent else 1
        return {name: {"reasoning": "so it is", "score": score} for name in schema["properties"]}


def test_a_model_answers_and_a_judge_grades(options: Options, scripted: Any) -> None:
    script = Answers(scripted)
    evaluation = Evaluation(**options, model=scripted(script.complete), judge=script.model)
    estimate = evaluation.estimate()
    made = evaluation.run()
    assert (script.answers, script.grades) == (9, 18)
    assert (estimate.answers, estimate.grades) == (9, 18)
    window, anchored, whole = made.methods
    assert window.in_answer == 0
    assert anchored.in_answer == whole.in_answer == pytest.approx(1 / 3)
    assert window.scores is not None
    assert window.scores.overall is not None
    assert window.scores.overall.mean == 1
    assert anchored.scores is not None
    assert anchored.scores.overall is not None
    assert anchored.scores.overall.mean == 5
    judging = made.judging
    assert judging is not None
    assert (judging.agreement, judging.noise) == (1, 0)
    assert judging.agreed_on == 2 * 2 * 2
    assert all(len(outcome.scores) == 2 for outcome in made.outcomes)


def test_a_run_is_continued(options: Options, scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Evaluation(**options, model=Answers(scripted).model).run()

    first = Answers(scripted)
    grade = Judge.grade

    def interrupted(judge: Judge, probe: Probe, evidence: str, answer: str) -> Grade:
        if first.grades == 7:
            raise KeyboardInterrupt
        return grade(judge, probe, evidence, answer)

    evaluation = Evaluation(**options, model=first.model, folder=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Judge, "grade", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluation.run()
    second = Answers(scripted)
    made = Evaluation(**options, model=second.model, folder=tmp_path).run()
    assert (second.answers, second.grades) == (0, 18 - 7)
    assert [(one.method, one.survival, one.in_answer, one.scores) for one in made.methods] == [
        (one.method, one.survival, one.in_answer, one.scores) for one in whole.methods
    ]
    third = Answers(scripted)
    Evaluation(**options, model=third.model, folder=tmp_path).run()
    assert (third.answers, third.grades) == (0, 0)


def test_missing_answers_are_reported_and_asked_for_again(options: Options, scripted: Any, tmp_path: Path) -> None:
    script = Answers(scripted, fails=2)
    made = Evaluation(**options, model=script.model, folder=tmp_path).run()
    assert len([failure for failure in made.failures if "overloaded" in failure]) == 2
    assert sum(outcome.answer is None for outcome in made.outcomes) == 2
    again = Answers(scripted)
    whole = Evaluation(**options, model=again.model, folder=tmp_path).run()
    assert again.answers == 2
    assert whole.failures == ()


SETTING = Setting(400, estimate_tokens, embedder=HashingEmbedder())


@pytest.mark.parametrize("name", OWN)
def test_prompts_are_valid_within_the_budget_and_asking_changes_nothing(name: str, chat: Transcript) -> None:
    with OWN[name].replay(SETTING) as replay:
        for message in chat.messages:
            replay.say(message)
        first = replay.prompt("Which locker is mine?")
        replay.prompt("What was decided?")
        again = replay.prompt("Which locker is mine?")
    assert first.messages[-1]["content"].endswith("Which locker is mine?")
    assert "That was day 27" in first.text
    assert faults(first.messages) == []
    assert first == again
    assert first.tokens <= 400 or name == "none"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none", (1.0, 1.0, True)),
        ("sliding-window", (0.0, 0.0, False)),
        ("anchored-alone", (1.0, 0.5, True)),  # the answer that repeats the decision has no line
        ("anchored", (1.0, 1.0, True)),
    ],
)
def test_what_each_keeps_of_the_beginning(
    name: str, expected: tuple[float, float, bool], chat: Transcript, probes: Sequence[Probe]
) -> None:
    found = {one["probe"]: one for one in replayed(chat, OWN[name], probes, SETTING)["results"]}
    database = found["database"]
    assert (database["survival"], database["reach"], database["finished"]) == expected
    assert found["last"]["survival"] == 1
    assert found["last"]["reach"] == 1
    assert found["last"]["fetched"] == 0


def test_an_unknown_method_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"'anchord'.*anchored.*langchain"):
        chosen_methods(["anchord"])
    with pytest.raises(InvalidInputError, match="no method is named"):
        chosen_methods([])
    assert [method.name for method in chosen_methods(["none", "anchored", "none"])] == ["none", "anchored"]


USER = {"role": "user", "content": "go"}
CALLS = {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}, {"id": "b"}]}


def result(call: str) -> dict[str, str]:
    return {"role": "tool", "content": "done", "tool_call_id": call}


def words(text: str) -> int:
    return len(text.split())


def prompt(text: str) -> Prompt:
    return Prompt([{"role": "user", "content": text}], words(text) + 1)


def test_reuse_is_the_common_beginning_of_neighbours() -> None:
    prompts = Prompts(6, words)
    for text in ("one two three four", "one two three four five six", "one two nine"):
        prompts.add(prompt(text), 0.5)
    said = prompts.as_dict()
    # "user: one two three four" is 5 words of 5; of the second's 7 tokens "user: one two " are 3.
    assert said["reused"] == 5 + 3
    assert said["reuse"] == pytest.approx((5 / 5 + 3 / 7) / 2)
    assert said["tokens"] == 5 + 7 + 4
    assert said["largest"] == 7
    assert said["over"] == 1
    assert said["seconds"] == [0.5] * 3
    assert said["invalid"] == 0


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([USER], None),
        ([USER, CALLS, result("b"), result("a")], None),
        ([{"role": "system", "content": "s"}, USER], None),
        ([USER, CALLS, result("a")], "a call without its result"),
        ([USER, CALLS, result("a"), USER], "a call without its result"),
        ([USER, result("a")], "a result without its call"),
        ([USER, CALLS, result("a"), result("a"), result("b")], "a result without its call"),
        ([CALLS, result("a"), result("b")], "the first message is not the user's"),
        ([USER, {"role": "assistant", "content": "done"}], "nothing to answer"),
        ([USER | {"tool_calls": [{"id": "a"}]}, result("a")], "calls by the user"),
        ([{"role": "system", "content": "s"}], "the first message is not the user's"),
    ],
)
def test_what_a_provider_refuses(messages: list[dict[str, object]], fault: str | None) -> None:
    assert faults(messages) == ([] if fault is None else [fault])


def test_a_meter_counts_calls_also_those_that_fail(scripted: Any) -> None:
    model = Metered(scripted(lambda _: "two words"), words)
    assert model.complete([Message(content="hello there")]) == "two words"
    with pytest.raises(ModelError):
        model.structured([Message(content="hello")], {})
    assert (model.calls, model.written, model.name) == (2, 2, "scripted")
    assert model.sent == (2 + 3 + 1) + (1 + 3 + 1)  # the words, the framing and the role of each message


SAMPLES = Path(str(files("hybrid_memory_evaluation"))) / "samples"
LABELS = json.loads((SAMPLES / "companion_questions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "form", "messages"),
    [
        ("airline_service.json", "openai", 62), ("coding_run.json", "openai", 72),
        ("companion_emily_en.jsonl", "openai", 98), ("companion_frank_en.jsonl", "openai", 104),
        ("companion_manting_zh.jsonl", "openai", 98), ("companion_wangfeng_zh.jsonl", "openai", 104),
    ],
)  # fmt: skip
def test_a_sample_is_read_whole(name: str, form: str, messages: int) -> None:
    (chat,) = read_transcript(SAMPLES / name)
    assert (chat.form, len(chat.messages)) == (form, messages)
    calls = {call.id for message in chat.messages for call in message.tool_calls}
    assert calls == {message.tool_call_id for message in chat.messages if message.tool_call_id}


def test_every_sample_has_its_source_and_licence() -> None:
    page = (SAMPLES / "README.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert {
        part for row in rows for part in row.split("`")[1::2] if part.startswith(("airline", "coding", "compan"))
    } == {file.name for file in SAMPLES.iterdir() if file.name != "README.md"}
    assert all(row.rsplit("|", 2)[1].strip().startswith(("MIT, ©", "the same")) for row in rows)
    assert "Permission is hereby granted" in page


@pytest.mark.parametrize("name", LABELS)
def test_the_turns_that_a_label_names_hold_its_answer(name: str) -> None:
    (chat,) = read_transcript(SAMPLES / f"{name}.jsonl")
    texts = {message.id: message.text for message in chat.messages}
    for label in LABELS[name]:
        probe = Probe(
            label["id"], ProbeKind.RECALL, label["question"], "", tuple(label["keys"]), tuple(label["evidence"])
        )
        assert probe.share(" ".join(texts[source] for source in probe.sources)) == 1, label


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
        transcript=chat, method=method, probe=probe.id, kind=probe.kind.value, age=draw.choice([3, 30, 70, 150, 500]),
        survival=kept, reach=kept, tokens=9000 if method == "none" else 1800 + place, fetched=0 if kept == 1 else 400,
        finished=kept == 1, answer=answer, in_answer=None if answer is None else kept,
        scores=() if answer is None else several,
    )  # fmt: skip


def _figures(method: str, outcomes: list[Outcome], *, judged: bool) -> Figures:
    over = 12 if method == "none" else 0
    sizes = {"prompts": 40, "tokens": 70_000, "largest": 9000, "reused": 30_000, "reuse": 0.5}
    prompts = {**sizes, "seconds": [0.02, 0.04], "over": over, "invalid": 0}
    replay = {"prompts": prompts, "model": {"calls": 7 if judged else 0, "sent": 900, "written": 90}}
    grades = [Grade(dict(scores)) for one in outcomes for scores in one.scores]
    return figures(
        method, [replay] * len(CHATS), outcomes, history=dict.fromkeys(CHATS, 9000),
        scores=scored(grades) if judged else None,
    )  # fmt: skip


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
    shown = re.sub(r"[\u202e\u202c\x1b\x00]", lambda char: f"⟨U+{ord(char[0]):04X}⟩", CRAFTED)
    # Name of a chat, question, gold, key, answer, failure: wherever somebody else's words come in.
    assert found.text.count(shown) > 5 * len(METHODS)
    assert not set(judged_page) & set("\u202e\u202c\x1b\x00")
