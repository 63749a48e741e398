"""The conversations that come with the package: each is read, has its licence named, and its labels fit."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from hybrid_memory_evaluation import Probe, ProbeKind, read_transcript

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
