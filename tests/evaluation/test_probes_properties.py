from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.apps.evaluation.probing import MAX_PER_KIND, probes_of
from hybrid_memory.apps.evaluation.probing.probe import holds
from hybrid_memory.apps.evaluation.transcripts.transcript import Transcript

PATHS = st.sampled_from(
    ["src/app.py", "src/deep/app.py", "app.py", "docs/说明.md", "/opt/x.log", "my file.txt", "b.cfg"]
)
NAMES = st.sampled_from(
    ["Ada", "Odense", "Redis", "《三体》", "陈晓", "KD48213", "4500元", "3月5日", "the", "x", "5", "a.b@c.org"]
)
SAID = [
    "My name is {a}.", "I live in {a}.", "I moved to {a}.", "I like {a} and {b}.", "I have to call {a} tomorrow.",
    "I have called {a}.", "We decided to use {a} for {b} because {c} is too slow.",
    "Let's go with {a} instead of {b}.", "The issue is that `{a}` breaks {b} on every {c}.",
    "Which one would you like for {a} and {b}?", "My order number is {a}, see https://example.org/{b}.",
    "TODO: write to {a} about the {b}.", "请帮我订{a}，我住在{b}。", "我喜欢{a}，我对{b}过敏。",
    "我们决定用{a}代替{b}，因为{c}太贵。", "问题在于`{a}`每次都会弄坏{b}和{c}。", "提醒我去买{a}和{b}。",
    "订单号是{a}，接下来还要{b}。", "{a} weighed 12 kg when {b} met {c} at the harbour.",
]  # fmt: skip
COMMANDS = [
    "touch {p}", "rm {p}", "mv {p} {q}", "cat > {p} <<'EOF'\nx\nEOF", "sed -i s/a/b/ {p}", "python {p}",
    "python -m pytest {p} -q", "git checkout {p}",
]  # fmt: skip
OUTPUTS = [
    "", "ok", "Traceback (most recent call last):\n{a}Error: {b} is not there",
    "FAILED {p}::test_{a} - AssertionError\n=== 1 failed, 6 passed in 0.52s ===", "=== 7 passed in 0.10s ===",
    "bash: {p}: No such file or directory", '{{"order_id": "{a}7", "city": "{b}", "owner": {{"email": "{c}"}}}}',
    "<returncode>1</returncode>\n<output>\n{a}</output>",
]  # fmt: skip


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


def check(messages: list[dict[str, Any]], share: float) -> None:
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
        assert probe.found(whole) == 1.0
        for key in probe.keys:
            assert not holds(probe.question, key)
            assert any(holds(transcript.messages[row].text, key) for row in places)
    assert len({probe.id for probe in probes}) == len(probes)
    assert len({probe.question for probe in probes}) == len(probes)
    assert max(Counter(probe.kind for probe in probes).values(), default=0) <= MAX_PER_KIND
    assert probes == probes_of(Transcript.of(messages), truncated)


@settings(max_examples=25)
@given(messages=TALKS, share=st.sampled_from([0.0, 0.3, 0.6, 0.9, 1.0]))
def test_probes_are_answered_by_their_sources_and_not_by_their_question(
    messages: list[dict[str, Any]], share: float
) -> None:
    check(messages, share)


@settings(max_examples=25)
@given(messages=FREE, share=st.sampled_from([0.5, 1.0]))
def test_whatever_characters_are_said_no_probe_is_unfair(messages: list[dict[str, Any]], share: float) -> None:
    check(messages, share)
