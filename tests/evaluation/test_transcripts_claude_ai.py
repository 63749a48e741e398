"""Exports of Claude.ai."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hybrid_memory.apps.transcripts import read_transcript
from hybrid_memory_evaluation import Transcript


def said(uuid: str, text: str, sender: str = "human", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text, "citations": []}]
    at = f"2026-03-02T09:0{uuid[-1]}:00.123456Z"
    return {"uuid": uuid, "text": text, "content": content, "sender": sender, "created_at": at, "files": [], **fields}


def chat(*turns: Any, **fields: Any) -> dict[str, Any]:
    return {
        "uuid": "6f3a2b1c-0000", "name": "Trip to Rome", "created_at": "2026-03-02T08:00:00Z", "account": {"uuid": "a"},
        "chat_messages": list(turns), **fields,
    }  # fmt: skip


def read(folder: Path, *chats: Any) -> list[Transcript]:
    path = folder / "conversations.json"
    path.write_text(json.dumps(chats), encoding="utf-8")
    return read_transcript(path)


def gist(transcript: Transcript) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in transcript.messages]


def test_an_export_is_read_with_names_ids_and_times(tmp_path: Path) -> None:
    (rome,) = read(tmp_path, chat(said("m1", "Two days in Rome?"), said("m2", "See the Forum.", "assistant")), chat())
    assert (rome.form, rome.key) == ("claude-ai", "Trip to Rome (6f3a2b1c)")
    assert gist(rome) == [("user", "Two days in Rome?"), ("assistant", "See the Forum.")]
    assert [message.id for message in rome.messages] == ["m1", "m2"]
    assert str(rome.messages[0].at) == "2026-03-02 09:01:00.123456+00:00"


def test_what_is_broken_is_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    path, refusals = tmp_path / "conversations.json", []  # type: ignore[var-annotated]
    turns = [said("m1", "Rome?"), {"sender": "king"}, said("m2", "Yes.", "assistant", created_at=None), 7]
    path.write_text(json.dumps([{"name": "no messages"}, chat(*turns), "no"]), encoding="utf-8")
    (rome,) = read_transcript(path, refusals=refusals)
    assert [message.id for message in rome.messages] == ["m1", "m2"]
    assert rome.messages[1].at == rome.messages[0].at
    assert [name.split(": ")[0].partition("line 1, ")[2] for name in refusals] == [
        "conversation 1", "conversation 2, message 2", "conversation 2, message 4", "conversation 3",
    ]  # fmt: skip
