"""Files and folders: which form they are in, what is refused and how, and how much of a file is held."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hybrid_memory import Role
from hybrid_memory.apps.transcripts import import_transcripts, read_transcript
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


def test_a_break_in_json_over_several_lines_names_its_line(tmp_path: Path) -> None:
    text = json.dumps([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], indent=1)
    with pytest.raises(InvalidInputError, match=r"chat\.json, line 7: broken JSON"):
        read_transcript(
            written(tmp_path, text.replace('"role": "user",\n  "content": "b"', '"role" "user"'), "chat.json")
        )


REFUSED = {
    "nothing": (b"", "is empty"),
    "blank lines": (b"\xef\xbb\xbf\n \n", "is empty"),
    "a line in another encoding": (b'{"role": "user", "content": "\xff"}\n', "line 1: not UTF-8"),
    "a file in another encoding": (b'[\n{"role": "user", "content": "\xff"}]\n', "is not UTF-8"),
    "endless nesting": (b"[" * 200_000, "line 1: "),
    "an empty list": (b"[]", "not a known transcript format"),
    "no messages": (b'{"messages": []}', "not a known transcript format"),
    "questions": (
        b'{"question": "a"}\n' * 30,
        "line 1: not a known transcript format.*openai, langchain, claude-ai, chatgpt",
    ),
    "an unknown role": (b'{"role": "user", "content": "a"}\n{"role": "king"}', "line 2: no OpenAI chat message"),
    "mixed lines": (
        b'{"role": "user", "content": "a"}\n[{"role": "user", "content": "a"}]',
        "line 2: a file holds one",
    ),
    "a head": (b'{"id": 7}\n{"role": "user", "content": "a"}', "line 1: no OpenAI chat message: {'id': 7}"),
    "silence": (b'{"role": "user", "content": " "}', "holds no messages"),
    "a call that is none": (b'{"role": "assistant", "tool_calls": ["f"]}', "line 1: a tool call must be .* got 'f'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_transcript_is_refused_with_the_reason(tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(InvalidInputError, match=rf"chat\.jsonl.*{message}"):
        read_transcript(written(tmp_path, text))


PIECES: dict[str, tuple[bytes, int, str]] = {
    "a cut last line": (b'{"role": "user", "content": "a"}\n{"role": "user", "cont', 1, "line 2: broken JSON"),
    "a broken first line": (b'{"role": "us\n{"role": "user", "content": "a"}\n', 1, "line 1: broken JSON"),
    "a line in another encoding": (b'{"role": "user", "content": "\xff"}\n{"role": "user", "content": "a"}', 1, "not"),
    "a first message that is none": (b'[{"role": "king"}, {"role": "user", "content": "a"}]', 1, "message 1: no"),
    "mixed lines": (
        b'{"role": "user", "content": "a"}\n[{"role": "user", "content": "a"}]\n{"role": "user", "content": "b"}',
        2,
        "line 2: a file holds one",
    ),
    "an id that is reserved, and a call that is none": (
        b'{"role": "assistant", "tool_calls": ["f"]}\n{"role": "user", "content": "a"}', 1, "line 1: a tool call",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PIECES)
def test_an_import_takes_what_it_can_and_names_the_rest(tmp_path: Path, case: str) -> None:
    text, count, message = PIECES[case]
    refusals: list[str] = []
    (chat,) = import_transcripts(written(tmp_path, text), refusals)
    assert len(chat.messages) == count
    assert [message in refusal for refusal in refusals] == [True]


@pytest.mark.parametrize("case", REFUSED)
def test_an_import_of_what_is_no_transcript_names_it(tmp_path: Path, case: str) -> None:
    refusals: list[str] = []
    chats = import_transcripts(written(tmp_path, REFUSED[case][0]), refusals)
    assert refusals
    assert all(chat.messages for chat in chats)


def test_a_file_in_another_encoding_leaves_the_others(tmp_path: Path) -> None:
    written(tmp_path, turn("a"), "a.jsonl")
    written(tmp_path, turn("b").encode("utf-16"), "b.jsonl")
    written(tmp_path, '{"user": "mia"}', "user.json")
    refusals: list[str] = []
    assert [chat.name for chat in import_transcripts(tmp_path, refusals)] == ["a.jsonl"]
    assert ["b.jsonl" in refusals[0], "user.json" in refusals[-1]] == [True, True]


def test_an_unknown_time_is_that_of_the_conversation_and_never_newer_than_a_stated_one(tmp_path: Path) -> None:
    stated = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "timestamp": "2026-03-02T09:00:00Z"},
        {"role": "user", "content": "c"},
    ]
    chats = [stated, {"messages": stated[:1], "created_at": "2025-01-01"}, stated[:1]]
    path = written(tmp_path, "\n".join(map(json.dumps, chats)))
    times = [[f"{message.at:%Y-%m-%d}" for message in chat.messages] for chat in import_transcripts(path, [])]
    assert times == [["2026-03-02"] * 3, ["2025-01-01"], ["2025-01-01"]]
    os.utime(written(tmp_path, turn("a"), "b.jsonl"), (1772442000, 1772442000))
    (chat,) = import_transcripts(tmp_path / "b.jsonl", [])
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
                "a": {
                    "message": {"author": {"role": "user"}, "content": {"parts": ["a"]}},
                    "parent": None,
                    "children": ["b"],
                },
                "b": {
                    "message": {
                        "author": {"role": "assistant"},
                        "recipient": "python",
                        "content": {"text": "1"},
                        "weight": 1,
                    },
                    "parent": "a",
                    "children": [],
                },
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


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    assert import_transcripts(path, refusals, form=form) or refusals


def test_an_unknown_form_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="unknown format 'csv': choose auto, openai, langchain"):
        read_transcript(tmp_path, form="csv")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no such file or folder"):
        read_transcript(tmp_path / "nowhere.json")


def test_blank_lines_a_byte_order_mark_and_line_separators_inside_text_do_no_harm(tmp_path: Path) -> None:
    text = "\ufeff\n" + turn("one\u2028two") + "\r\n\n" + turn("三", "assistant") + "\n\n"
    (transcript,) = read_transcript(written(tmp_path, text))
    assert [message.text for message in transcript.messages] == ["one\u2028two", "三"]


def test_half_a_character_becomes_a_question_mark_and_a_whole_one_stays(tmp_path: Path) -> None:
    (transcript,) = read_transcript(written(tmp_path, '{"role": "user", "content": "\\ud83d\\ude00 \\ud83d"}'))
    assert transcript.messages[0].content == "😀 ?"


def test_what_says_nothing_is_left_out_but_an_empty_result_is_kept(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    chat: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "content": []},
    ]
    (transcript,) = read_transcript(written(tmp_path, json.dumps(chat)))
    assert [message.role for message in transcript.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]


def conversation_line(number: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"{number}", "trace": NOISE}]}


NOISE = "x" * 40_000


def test_a_big_file_is_never_held_beside_what_is_read_of_it(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(json.dumps(conversation_line(number)) + "\n" for number in range(250)))
    tracemalloc.start()
    try:
        found = read_transcript(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(len(transcript.messages) for transcript in found) == 250
    assert path.stat().st_size > 9_000_000
    assert peak < path.stat().st_size / 4
