import json
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
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
    Probe,
    ProbeKind,
    Prompt,
    Report,
    Setting,
    Transcript,
    read_transcript,
)
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.judging.scores import Grade
from hybrid_memory_evaluation.methods import OWN, chosen_methods
from hybrid_memory_evaluation.replaying import Metered, Prompts, faults
from hybrid_memory_evaluation.reporting import COSTS, KEPT, Column, html, measured
from tests.evaluation.conftest import Scripted
from tests.world import Page, words

ASKED = ("sliding-window", "anchored-alone", "none", "anchored")
Options = dict[str, Any]


class Broken:
    """A method that fails while it replays."""

    name = "broken"

    def __init__(self, says: str = "out of order") -> None:
        self._says = says

    def replay(self, setting: Setting) -> AbstractContextManager[Any]:
        raise RuntimeError(self._says)


@pytest.fixture(scope="module")
def options(chat: Transcript, probes: Sequence[Probe]) -> Options:
    made = {"transcripts": [chat], "methods": ASKED, "probes": {"chat": probes}}
    return {**made, "max_tokens": 400, "embedder": HashingEmbedder()}


@pytest.fixture(scope="module")
def report(options: Options) -> Report:
    return Evaluation(**options).run()


def test_a_window_forgets_what_a_summary_keeps(report: Report) -> None:
    window, alone, whole, anchored = report.methods
    assert window.survival == pytest.approx(1 / 3)
    assert alone.survival == anchored.survival == whole.survival == 1
    assert whole.ratio == pytest.approx(1, abs=0.05)
    assert anchored.ratio > 2
    assert whole.over > 0
    assert window.over == anchored.over == 0
    assert whole.prompts == window.prompts == 31
    found = {(one.method, one.probe): one for one in report.outcomes}
    databases = [found[method, "database"] for method in ASKED]
    # Alone, the answer that repeats the decision has no line.
    assert [one.reach for one in databases] == [0, 0.5, 1, 1]
    assert [one.finished for one in databases] == [False, True, True, True]
    for last in (found[method, "last"] for method in ASKED):
        assert (last.survival, last.reach, last.fetched) == (1, 1, 0)


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
        ({"max_tokens": 0}, "max_tokens=0"), ({"repeats": 0}, "repeats=0"),
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

    def __init__(self, *, fails: int = 0) -> None:
        self.answers = self.grades = 0
        self._fails = fails
        self.model = Scripted(self.complete, self.structured)

    def complete(self, sent: str) -> str:
        self.answers += 1
        if self._fails:
            self._fails -= 1
            raise ModelError("overloaded")
        return "It is QX4471." if "QX4471" in sent else "I don't know."

    def structured(self, sent: str, schema: Any) -> dict[str, Any]:
        if "accuracy_factual" not in schema["properties"]:
            raise ModelError("no summaries")
        self.grades += 1
        score = 5 if '"answer": "It is QX4471."' in sent else 1
        return {name: {"reasoning": "so it is", "score": score} for name in schema["properties"]}


def test_a_model_answers_and_a_judge_grades(options: Options) -> None:
    script = Answers()
    evaluation = Evaluation(**options, model=Scripted(script.complete), judge=script.model)
    estimate = evaluation.estimate()
    made = evaluation.run()
    assert (script.answers, script.grades) == (estimate.answers, estimate.grades) == (12, 24)
    window, anchored, whole, _ = made.methods
    assert window.in_answer == 0
    assert anchored.in_answer == whole.in_answer == pytest.approx(1 / 3)
    overall = [one.scores and one.scores.overall for one in (window, anchored)]
    assert [mean and mean.mean for mean in overall] == [1, 5]
    judging = made.judging
    assert judging is not None
    assert (judging.agreement, judging.noise) == (1, 0)
    assert judging.agreed_on == 3 * 2 * 2
    assert all(len(outcome.scores) == 2 for outcome in made.outcomes)


def test_a_run_is_continued(options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Evaluation(**options, model=Answers().model).run()

    first = Answers()
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
    second = Answers()
    made = Evaluation(**options, model=second.model, folder=tmp_path).run()
    assert (second.answers, second.grades) == (0, 24 - 7)
    assert made.outcomes == whole.outcomes
    assert [one.scores for one in made.methods] == [one.scores for one in whole.methods]
    third = Answers()
    Evaluation(**options, model=third.model, folder=tmp_path).run()
    assert (third.answers, third.grades) == (0, 0)


def test_missing_answers_are_reported_and_asked_for_again(options: Options, tmp_path: Path) -> None:
    script = Answers(fails=2)
    made = Evaluation(**options, model=script.model, folder=tmp_path).run()
    assert len([failure for failure in made.failures if "overloaded" in failure]) == 2
    assert sum(outcome.answer is None for outcome in made.outcomes) == 2
    again = Answers()
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


def prompt(text: str) -> Prompt:
    return Prompt([{"role": "user", "content": text}], words(text) + 1)


def test_reuse_is_the_common_beginning_of_neighbours() -> None:
    prompts = Prompts(6, words)
    for text in ("one two three four", "one two three four five six", "one two nine"):
        prompts.add(prompt(text), 0.5)
    said = prompts.as_dict()
    # "user: one two three four" is 5 words of 5; of the second's 7 tokens "user: one two " are 3.
    assert said["reuse"] == pytest.approx((5 / 5 + 3 / 7) / 2)
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


def test_a_meter_counts_calls_also_those_that_fail() -> None:
    model = Metered(Scripted(lambda _: "two words"), words)
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
PLACES = ("chat", "question", "gold", "key", "answer", "failure")


@pytest.fixture(scope="module")
def judged(options: Options, chat: Transcript) -> Report:
    """With crafted words wherever somebody else's come in."""
    name, question, gold, key, answer, failure = (f"{place} {CRAFTED}" for place in PLACES)
    probe = Probe("crafted", ProbeKind.RECALL, question, gold, (key,), ("turn-1",))
    crafted = {"transcripts": [replace(chat, name=name)], "probes": {name: [probe]}}
    models = {"model": Scripted(lambda _: answer), "judge": Answers().model}
    return Evaluation(**{**options, **crafted, **models, "methods": [*ASKED, Broken(failure)]}).run()


def in_json(values: Any, column: Column) -> Any:
    """What the JSON has for a method under the name of a column."""
    for part in column.name.split("."):
        values = None if values is None else values[part]
    return values


@pytest.mark.parametrize("name", ["report", "judged"])
def test_the_tables_have_the_numbers_of_the_json(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    report: Report = request.getfixturevalue(name)
    page = Page(html(report))
    report.save(tmp_path / "report.json")
    methods = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["methods"]
    for columns, shown in zip((KEPT, COSTS), page.tables, strict=False):
        there = [in_json(one, column) for one in methods for column in measured(columns, report)]
        assert list(map(float, shown)) == [value for value in there if value is not None]
    names = {column.name for column in measured((*KEPT, *COSTS), report)}
    assert ({"in_answer", "scores.overall.mean"} <= names) == (name == "judged")


@pytest.mark.parametrize("name", ["report", "judged"])
def test_the_page_asks_nothing_of_a_network_and_runs_nothing(name: str, request: pytest.FixtureRequest) -> None:
    text = html(request.getfixturevalue(name))
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


def test_crafted_words_of_users_and_models_stand_as_text(judged: Report) -> None:
    page = html(judged)
    text = Page(page).text
    shown = re.sub(r"[\u202e\u202c\x1b\x00]", lambda char: f"⟨U+{ord(char[0]):04X}⟩", CRAFTED)
    assert [place for place in PLACES if f"{place} {shown}" not in text] == []
    assert not set(page) & set("\u202e\u202c\x1b\x00")
