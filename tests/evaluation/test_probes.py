from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Message
from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory_evaluation.probing import MAX_PER_KIND, probes_of
from hybrid_memory_evaluation.probing.probe import Probe, ProbeKind, holds
from tests.world import assistant, cases, column, user


def chat(*messages: dict[str, Any] | Message) -> Transcript:
    return Transcript.of(messages)


def told(probes: list[Probe]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(str(probe.kind), probe.question, probe.keys) for probe in probes]


CODING, CHINESE = (chat(*cases("evaluation/probes.json", name)) for name in ("coding", "chinese"))


def test_a_coding_run_is_asked_about_its_files_errors_tests_and_decisions() -> None:
    assert told(probes_of(CODING, 13)) == [
        ("artifact", "Which files that existed before were modified?", ("src/fetch.py",)),
        ("artifact", "Which files were deleted?", ("repro.py",)),
        ("artifact", "What was the outcome of the last test run?", ("1 failed", "6 passed")),
        ("recall", "What was the first error that came up?", ("TimeoutError", "read timed out after 30 seconds")),
        (
            "decision",
            "What was chosen instead of “a fixed delay”, and why?",
            ("exponential backoff", "servers throttle"),
        ),
        ("continuation", "What did the user ask for at the beginning?", ("add retries to the downloader",)),
        ("continuation", "Which tests failed in the last test run?", ("tests/test_fetch.py::test_backoff",)),
    ]


def test_a_chinese_chat_is_asked_in_chinese_about_what_still_holds() -> None:
    assert told(probes_of(CHINESE, 8)) == [
        ("recall", "用户说过：“这次旅行的预算总共是____左右。”。空白处原来是什么？", ("4500元",)),
        ("decision", "“我们决定____，因为停车费太贵”，空白处决定了什么？", ("坐高铁",)),
        ("continuation", "用户一开始想要什么？", ("规划一下五月去黄山的旅行",)),
    ]


def answers(transcript: Transcript, truncated: int, question: str) -> list[str]:
    return [probe.gold for probe in probes_of(transcript, truncated) if question in probe.question]


def test_a_decision_that_was_replaced_later_is_left_out() -> None:
    before = [user("We decided to use Redis for the session cache."), assistant("Noted.")]
    assert answers(chat(*before, user("Fine."), assistant("Good.")), 2, "session cache") != []
    replaced = chat(*before, user("We decided to use Valkey for the session cache after all."), assistant("Good."))
    assert answers(replaced, 2, "session cache") == []


@pytest.mark.parametrize("said", column("evaluation/probes.tsv", "no decision"))
def test_what_only_sounds_like_a_decision_is_none(said: str) -> None:
    talk = chat(user(said), assistant("OK."), user("OK."), assistant("OK."))
    assert [probe for probe in probes_of(talk, 2) if probe.kind is ProbeKind.DECISION] == []


PATHS = st.sampled_from(column("evaluation/probes.tsv", "paths"))
NAMES = st.sampled_from(column("evaluation/probes.tsv", "names"))
SAID = column("evaluation/probes.tsv", "said")
COMMANDS = column("evaluation/probes.tsv", "commands")
OUTPUTS = column("evaluation/probes.tsv", "outputs")


@st.composite
def spoken(draw: st.DrawFn, forms: list[str]) -> str:
    values = {name: draw(NAMES) for name in "abc"} | {name: draw(PATHS) for name in "pq"}
    return draw(st.sampled_from(forms)).format(**values)


@st.composite
def parts(draw: st.DrawFn) -> list[dict[str, Any]]:
    if draw(st.booleans()):
        text = " ".join(draw(st.lists(spoken(SAID), min_size=1, max_size=3)))
        return [{"role": draw(st.sampled_from(["user", "assistant"])), "content": text}]
    call = {"name": "bash", "arguments": {"command": draw(spoken(COMMANDS))}, "id": "call"}
    said = draw(st.one_of(st.just(""), spoken(SAID), st.just("I'll change the file that holds the limits.")))
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "content": draw(spoken(OUTPUTS)), "tool_call_id": "call"},
    ]


TALKS = st.lists(parts(), min_size=1, max_size=14).map(lambda drawn: [message for part in drawn for message in part])
FREE = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=80).filter(
            str.strip
        ),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
@given(messages=TALKS | FREE, share=st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]))
def test_probes_are_answered_by_their_sources_alone(messages: list[dict[str, Any]], share: float) -> None:
    transcript = Transcript.of(messages)
    truncated = round(share * len(transcript.messages))
    probes = probes_of(transcript, truncated)
    rows = {message.id: row for row, message in enumerate(transcript.messages)}
    whole = "\n".join(message.text for message in transcript.messages)
    for probe in probes:
        places = [rows[source] for source in probe.sources]
        assert places == sorted(set(places))
        assert places[0] < truncated
        assert probe.keys
        assert probe.share(whole) == 1.0
        for key in probe.keys:
            assert not holds(probe.question, key)
            assert any(holds(transcript.messages[row].text, key) for row in places)
    assert len({probe.id for probe in probes}) == len(probes)
    assert len({probe.question for probe in probes}) == len(probes)
    assert max(Counter(probe.kind for probe in probes).values(), default=0) <= MAX_PER_KIND
    assert probes == probes_of(Transcript.of(messages), truncated)
