"""Files and folders: which form they are in, what is refused and how, and how much of a file is held."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hybrid_memory.apps.transcripts import read_transcript
from hybrid_memory.errors import InvalidInputError

FORMS = ["openai", "langchain", "claude-ai", "chatgpt"]


def written(folder: Path, text: str | bytes, name: str = "chat.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def turn(text: str, role: str = "user") -> str:
    return json.dumps({"role": role, "content": text}, ensure_ascii=False)


def test_a_folder_is_all_of_its_files_by_name(tmp_path: Path) -> None:
    written(tmp_path, turn("b"), "b.jsonl")
    written(tmp_path, f"[{turn('a')}]", "deep/er/a.json")
    written(tmp_path, "not for us", "notes.txt")
    written(tmp_path, "{broken", ".hidden.json")
    found = read_transcript(tmp_path)
    assert [(transcript.name, transcript.form) for transcript in found] == [
        ("b.jsonl", "openai"),
        ("deep/er/a.json", "openai"),
    ]


def test_a_broken_line_is_named_and_so_is_the_place_in_it(tmp_path: Path) -> None:
    whole = [turn(str(number)) for number in range(5)]
    for number in range(5):
        lines = [*whole]
        lines[number] = lines[number][:-3]
        with pytest.raises(InvalidInputError, match=rf"chat\.jsonl, line {number + 1}: broken JSON: .* at character"):
            read_transcript(written(tmp_path, "\n".join(lines)))
    with pytest.raises(InvalidInputError, match="line 1: broken JSON"):
        read_transcript(written(tmp_path, '{"role": "user", "content":\n' + "\n".join(whole)))


A = b'{"role": "user", "content": "a"}'
BROKEN: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 0, "is empty"),
    "blank lines": (b"\xef\xbb\xbf\n \n", 0, "is empty"),
    "a line in another encoding": (b'{"role": "user", "content": "\xff"}\n' + A, 1, "line 1: not UTF-8"),
    "a file in another encoding": (b'[\n{"role": "user", "content": "\xff"}]\n', 0, "not UTF-8"),
    "endless nesting": (b"[" * 200_000, 0, "line 1: "),
    "an empty list": (b"[]", 0, "not a known transcript format"),
    "no messages": (b'{"messages": []}', 0, "not a known transcript format"),
    "questions": (b'{"question": "a"}\n' * 30, 0, "line 1: not a known transcript format.*openai.*langchain.*chatgpt"),
    "an unknown role": (A + b'\n{"role": "king"}', 1, "line 2: no OpenAI chat message"),
    "mixed lines": (A + b"\n[" + A + b"]\n" + A, 2, "line 2: a file holds one"),
    "a head": (b'{"id": 7}\n' + A, 1, "line 1: no OpenAI chat message: {'id': 7}"),
    "silence": (b'{"role": "user", "content": " "}', 0, "holds no messages"),
    "a call that is none": (b'{"role": "assistant", "tool_calls": ["f"]}\n' + A, 1, "line 1: a tool call .* got 'f'"),
    "a cut last line": (A + b'\n{"role": "user", "cont', 1, "line 2: broken JSON"),
    "a broken first line": (b'{"role": "us\n' + A + b"\n", 1, "line 1: broken JSON"),
    "a first message that is none": (b'[{"role": "king"}, ' + A + b"]", 1, "message 1: no"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_transcript_is_refused_with_the_reason_and_an_import_takes_the_rest(
    tmp_path: Path, case: str
) -> None:
    text, count, message = BROKEN[case]
    path, refusals = written(tmp_path, text), list[str]()
    with pytest.raises(InvalidInputError, match=rf"chat\.jsonl.*{message}"):
        read_transcript(path)
    chats = read_transcript(path, refusals=refusals)
    assert sum(len(chat.messages) for chat in chats) == count
    assert [bool(re.search(message, refusal)) for refusal in refusals][:1] == [True]


def test_an_unknown_time_is_that_of_the_conversation_and_never_newer_than_a_stated_one(tmp_path: Path) -> None:
    stated = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "timestamp": "2026-03-02T09:00:00Z"},
        {"role": "user", "content": "c"},
    ]
    chats = [stated, {"messages": stated[:1], "created_at": "2025-01-01"}, stated[:1]]
    path = written(tmp_path, "\n".join(map(json.dumps, chats)))
    times = [[f"{message.at:%Y-%m-%d}" for message in chat.messages] for chat in read_transcript(path, refusals=[])]
    assert times == [["2026-03-02"] * 3, ["2025-01-01"], ["2025-01-01"]]
    os.utime(written(tmp_path, turn("a"), "b.jsonl"), (1772442000, 1772442000))
    (chat,) = read_transcript(tmp_path / "b.jsonl", refusals=[])
    assert f"{chat.messages[0].at:%Y-%m-%d}" == "2026-03-02"


WORDS = (
    "role content tool_calls function_call messages name id tool_call_id type data kwargs lc additional_kwargs uuid "
    "timestamp output function arguments text human ai user assistant tool tool_use tool_result mapping current_node "
    "parent children author parts content_type recipient weight create_time chat_messages sender parent_message_uuid"
).split()
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS), st.text(max_size=3))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)
CALLED = {"author": {"role": "assistant"}, "recipient": "python", "content": {"text": "1"}, "weight": 1}
SEEDS: list[Any] = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "a", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
    {"type": "ai", "content": "a", "additional_kwargs": {}},
    {"type": "human", "data": {"content": "a"}},
    [
        {
            "title": "t",
            "current_node": "b",
            "mapping": {
                "a": {"message": {"author": {"role": "user"}, "content": {"parts": ["a"]}}, "parent": None},
                "b": {"message": CALLED, "parent": "a", "children": []},
            },
        }
    ],
]


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """A value of some form in which one part is something else."""
    value = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    part = value
    while True:
        key = draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        if not (isinstance(part[key], dict | list) and part[key]) or draw(st.booleans()):
            break
        part = part[key]
    part[key] = draw(VALUES)
    if isinstance(part, dict):
        part[draw(st.sampled_from(WORDS))] = draw(VALUES)
    return value


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(value={"role": "user", "content": [{"type": "text", "text": 3}, {"type": "text"}]}, form="openai")
@given(value=spoiled() | VALUES, form=st.sampled_from(["auto", *FORMS]))
def test_whatever_json_a_file_holds_it_is_read_or_refused(tmp_path: Path, value: Any, form: Any) -> None:
    path = written(tmp_path, json.dumps(value))
    try:
        found = read_transcript(path, form=form)
    except InvalidInputError as refusal:
        assert "chat.jsonl" in str(refusal)  # noqa: PT017 - either is right
    else:
        assert all(transcript.messages for transcript in found)
    refusals: list[str] = []
    assert read_transcript(path, form=form, refusals=refusals) or refusals
