"""The verbs that change what is remembered: import, export and back, forget, and the review of facts."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import MemoryConfig, Message, open_memory
from hybrid_memory.apps.cli.stores import open_store

QUICK = ("--embedder", "none")


def log(path: Path, user: str = "alice") -> list[dict[str, Any]]:
    """All that was said, with its sessions, as the log has it."""
    with open_store(str(path), read_only=True, embedder="none") as memory:
        events = memory.scoped(user=user).events(kinds=["message"])
    return [{"session": event.scope.session, **event.message.model_dump()} for event in events]


def test_a_chat_becomes_a_session_with_its_dates_speakers_and_calls(command: Any, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Bergen"}'}}
    said = [
        {"role": "user", "name": "Mia", "content": "When is high tide?", "timestamp": "2026-03-01T10:00:00Z"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "14:10"},
    ]
    chat = tmp_path / "tides.json"
    chat.write_text(json.dumps(said), encoding="utf-8")
    store = tmp_path / "new.db"
    told = command.json("import", store, chat, "-u", "alice", *QUICK)
    assert (told["messages"], told["known"], told["sessions"], told["indexed"]) == (3, 0, ["tides.json"], 3)
    first, asked, answered = log(store)
    assert (first["session"], first["name"], first["at"]) == ("tides.json", "Mia", datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert asked["tool_calls"][0]["arguments"] == {"port": "Bergen"}
    assert answered["tool_call_id"] == asked["tool_calls"][0]["id"]


def test_what_is_no_chat_or_nobodys_makes_no_store(command: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": \x1b]0;x', encoding="utf-8")
    assert command("import", tmp_path / "m.db", bad, "-u", "alice") == 2
    assert command.err.count("\n") == 1
    assert "\x1b" not in command.err
    assert command("import", tmp_path / "m.db", tmp_path / "gone.json", "-u", "alice") == 2
    assert "no such file or folder; import takes JSON and JSONL: the zip or conversations.json" in command.err
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "users.json").write_text('[{"uuid": "u"}]', encoding="utf-8")
    (folder / "conversations.json").write_text('[{"role": "user", "content": "Hi."}]', encoding="utf-8")
    assert command("import", tmp_path / "m.db", folder) == 2
    assert "FILE --user NAME" in command.err
    assert not (tmp_path / "m.db").exists()
    assert command("import", tmp_path / "m.db", folder, "-u", "alice", *QUICK) == 0, command.err
    assert command.json("history", tmp_path / "m.db", "--since", "yesterday") != []
    assert command("history", tmp_path / "m.db", "--since", "tuesday") == 2


CLAUDE = [
    {
        "uuid": "11111111-aaaa", "name": "Moving", "created_at": "2026-03-01T10:00:00Z",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "I moved to Porto.", "created_at": "2026-03-01T10:00:00Z"},
            {"uuid": "m2", "sender": "assistant", "text": "Welcome!", "created_at": "2026-03-01T10:00:05Z"},
        ],
    }
]  # fmt: skip


def zipped(path: Path, files: dict[str, str]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_the_zip_of_an_export_is_read_as_it_comes(command: Any, tmp_path: Path) -> None:
    other = {"users.json": '[{"uuid": "u"}]', "__MACOSX/._conversations.json": "x", "photo.png": "x"}
    export = zipped(tmp_path / "data.zip", {**other, "export/conversations.json": json.dumps(CLAUDE)})
    store = tmp_path / "new.db"
    read = command.json("import", store, export, "-u", "alice", *QUICK)
    assert (read["messages"], read["sessions"], read["refused"]) == (2, ["Moving (11111111)"], [])
    assert [turn["content"] for turn in log(store)] == ["I moved to Porto.", "Welcome!"]
    assert log(store)[0]["at"] == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert command.json("import", store, export, *QUICK)["known"] == 2


def test_a_zip_that_cannot_be_read_is_refused_with_what_to_do(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, export = tmp_path / "new.db", tmp_path / "data.zip"
    export.write_bytes(b"PK no zip")
    assert command("import", store, export, "-u", "alice") == 2
    assert "data.zip cannot be read as a zip archive: File is not a zip file" in command.err
    zipped(export, {"users.json": "[]"})
    assert command("import", store, export, "-u", "alice") == 2
    assert "data.zip has no file named conversations*.json" in command.err
    zipped(export, {"conversations.json": json.dumps(CLAUDE)})
    whole = export.read_bytes()
    export.write_bytes(whole.replace(whole[50:90], bytes(40), 1))
    assert command("import", store, export, "-u", "alice") == 2
    assert "data.zip/conversations.json cannot be read: " in command.err
    export.write_bytes(whole)
    monkeypatch.setattr("hybrid_memory.apps.transcripts.documents.MAX_UNPACKED", 100)
    assert command("import", store, export, "-u", "alice") == 2
    assert "data.zip unpacks to more than 100 bytes: unpack it, and give the folder" in command.err
    assert not store.exists()


def test_chats_are_imported_from_stdin(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(words: str) -> None:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(words.encode()), encoding="ascii"))

    store = tmp_path / "new.db"
    piped('{"role": "user", "content": "我搬到了杭州。"}\n')
    assert command.json("import", store, "-", "-u", "alice", *QUICK)["sessions"] == ["stdin"]
    assert [turn["content"] for turn in log(store)] == ["我搬到了杭州。"]
    assert command("export", store, "--out", tmp_path / "all.jsonl") == 0
    piped((tmp_path / "all.jsonl").read_text(encoding="utf-8"))
    assert command("import", tmp_path / "copy.db", "-", "-u", "alice", *QUICK) == 0, command.err
    assert log(tmp_path / "copy.db") == log(store)
    piped("no JSON")
    assert command("import", store, "-", "-u", "alice") == 2
    assert "hybrid-memory: stdin, line 1: broken JSON" in command.err


NAMES = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=6).filter(str.strip)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.fixed_dictionaries({"name": NAMES, "arguments": st.dictionaries(NAMES, JSON, max_size=2), "id": NAMES})
CONTENT = WORDS | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}), max_size=2)
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
SAID = st.fixed_dictionaries(
    {
        "session": st.none() | NAMES,
        "role": st.sampled_from(["user", "assistant", "system", "tool"]),
        "content": CONTENT,
        "at": TIMES,
        "tool_calls": st.lists(CALLS, max_size=2),
        "name": st.none() | NAMES,
        "tool_call_id": st.none() | NAMES,
        "importance": st.none() | st.floats(0, 1),
        "metadata": st.dictionaries(NAMES, JSON, max_size=2),
    }
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(SAID, min_size=1, max_size=8))
def test_what_is_exported_is_imported_the_same(command: Any, turns: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.db", Path(folder) / "second.db"
        with open_memory(MemoryConfig(url=f"sqlite:///{first}", embedder="none", power_safe=False)) as memory:
            memory.scoped(user="alice").remember("the first of all")
            for turn in turns:
                fields = {name: value for name, value in turn.items() if name != "session"}
                if fields["content"] and str(fields["content"]).strip():
                    memory.scoped(user="alice", session=turn["session"]).remember(Message.of(fields))
        assert command("export", first, "--out", Path(folder) / "all.jsonl") == 0, command.err
        assert command("import", second, Path(folder) / "all.jsonl", "-u", "alice", *QUICK) == 0, command.err
        assert log(second) == log(first)
        assert command("export", second, "--out", Path(folder) / "again.jsonl") == 0
        assert (Path(folder) / "again.jsonl").read_bytes() == (Path(folder) / "all.jsonl").read_bytes()


def test_an_export_that_cannot_be_written_leaves_the_old_file(command: Any, filled: Path, tmp_path: Path) -> None:
    out = tmp_path / "folder"
    out.mkdir()
    assert command("export", filled, "--out", out) == 2
    assert "cannot write" in command.err
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("folder")) == ["folder"]


def test_forget_shows_what_would_go_and_a_dry_run_leaves_it(command: Any, filled: Path) -> None:
    before = log(filled)
    assert command("forget", filled, "--query", "bergen", "--dry-run") == 0
    assert "#1 2026-03-01 10:00 user: I work as a marine biologist" in command.out
    assert "to be forgotten: 1 turn," in command.out
    assert command.json("forget", filled, "--ids", "1", "--dry-run")["dry_run"]
    assert log(filled) == before


def test_forget_does_nothing_where_nobody_can_agree(command: Any, filled: Path, typed: Callable[..., None]) -> None:
    before = log(filled)
    typed("y\n", terminal=False)
    assert command("forget", filled, "--ids", "1") == 2
    assert "give --yes" in command.err
    typed("n\n")
    assert command("forget", filled, "--ids", "1") == 0
    assert "nothing was forgotten" in command.err
    assert log(filled) == before


def test_forget_destroys_what_was_agreed_to(command: Any, filled: Path, typed: Callable[..., None]) -> None:
    typed("y\n")
    assert command("forget", filled, "--ids", "1", "--ids", "m3") == 0
    assert "forgotten" in command.out
    assert [turn["id"] for turn in log(filled)] == ["m2", "m4", "m5"]
    assert command.json("forget", filled, "--before", "2026-03-03", "--yes")["erased"]["turns"] == 1
    assert [turn["id"] for turn in log(filled)] == ["m4", "m5"]
    assert command.json("profile", filled)["fields"]["profession"] is None
    assert b"marine biologist" not in filled.read_bytes()


def test_forget_everything_is_all_of_one_user_with_every_agent(command: Any, filled: Path) -> None:
    people = [("alice", "coder"), ("carol", "coder"), ("carol", "writer"), ("bob", None)]
    with open_store(str(filled), background=False) as memory:
        for user, agent in people:
            memory.scoped(user=user, agent=agent).remember(f"of {user}")

    def left() -> set[str]:
        with open_store(str(filled), read_only=True) as memory:
            return {turn.text for user, agent in people for turn in memory.scoped(user=user, agent=agent).history()}

    # Nobody but the two agents knows her, and neither need be named.
    assert command("forget", filled, "--everything", "-u", "carol", "--yes") == 0
    assert left() == {"of alice", "of bob"}
    assert command("forget", filled, "--everything", "-u", "alice", "--yes") == 0
    assert left() == {"of bob"}
    assert log(filled) == []
    assert command("forget", filled, "--everything", "-u", "nobody", "--yes") == 0
    assert "nothing to forget" in command.out
    assert left() == {"of bob"}


def test_a_message_with_other_words_under_a_known_id_is_named_and_the_rest_imported(
    command: Any, tmp_path: Path
) -> None:
    store, chat = tmp_path / "m.db", tmp_path / "chat.jsonl"

    def imported(*texts: str) -> int:
        lines = [{"role": "user", "content": text, "id": f"m{number}"} for number, text in enumerate(texts)]
        chat.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return int(command("import", store, chat, "-u", "alice", *QUICK))

    assert imported("I live in Rome.", "Forty degrees.") == 0
    assert imported("I live in Rome.", "Fifty degrees.", "My cat is Tom.") == 2
    assert "2 turns in 1 session of user='alice', 1 of them known" in command.out
    assert "not imported: chat.jsonl: id 'm1' is already used" in command.err
    turns = command.json("history", store)
    assert [turn["content"] for turn in turns] == ["I live in Rome.", "Forty degrees.", "My cat is Tom."]


def test_a_row_of_an_export_that_lost_its_session_is_named(command: Any, tmp_path: Path) -> None:
    chat = tmp_path / "all.jsonl"
    rows: list[dict[str, Any]] = [
        {"session": "s1", "role": "user", "content": "I live in Rome."},
        {"role": "user", "content": "It rains."},
    ]
    chat.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert command("import", tmp_path / "m.db", chat, "-u", "alice", *QUICK) == 2
    assert "1 turn in 1 session" in command.out
    assert "line 2: not a message with a session" in command.err


def test_facts_are_reviewed_on_a_terminal(command: Any, filled: Path, typed: Any) -> None:
    typed("y\nx\ne\nBodø\nn\n" + "s\n" * 9)
    assert command("profile", filled, "--review") == 0
    facts = {fact["value"]: fact for fact in command.json("profile", filled, "--history")["facts"]}
    reviewed = [fact for fact in facts.values() if "settled" in fact["by"]]
    assert len(reviewed) == 4  # the corrected one stays in the history
    assert facts["Bodø"]["state"] == "current"
    assert sum(fact["state"] == "ended" for fact in reviewed) == 2
    assert command("profile", filled, "--about", "anyone") == 0
    assert re.search(r"user home +0\.90 +2026-03-05 +Oslo \(from #5\)", command.out)
    typed("q\n")
    assert command("profile", filled, "--review") == 0
    assert "0 decided" in command.out or "nothing to review" in command.out
    typed("", terminal=False)
    assert command("profile", filled, "--review") == 2
    assert "no terminal" in command.err
