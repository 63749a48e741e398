"""Runs of coding agents: what was done comes back as calls with their results, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import Role
from hybrid_memory.apps.transcripts import read_transcript
from hybrid_memory.apps.transcripts.transcript import Transcript
from hybrid_memory.artifacts.reading import read_ledger
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.exchanges import exchanges
from tests.evaluation.conftest import lines, read_one, written

DATA = Path(__file__).with_name("data")
MINI = "mini_swe_agent.traj.json"


def changed(folder: Path, sample: str, **fields: Any) -> Transcript:
    """What is read of a sample with other values of these fields; without those that are None."""
    value = {**json.loads((DATA / sample).read_text(encoding="utf-8")), **fields}
    return read_one(written(folder, {name: part for name, part in value.items() if part is not None}, sample))


def gist(transcript: Transcript) -> list[tuple[str, str]]:
    said = transcript.messages
    return [(one.role.value, one.content if isinstance(one.content, str) else one.text) for one in said]


def commands(transcript: Transcript) -> list[Any]:
    return [call.arguments for message in transcript.messages for call in message.tool_calls]


@pytest.mark.parametrize("sample", ["claude_code.jsonl", "swe_agent.traj", "mini_swe_agent.traj.json"])
def test_every_call_of_a_run_has_its_result_right_behind_it(sample: str) -> None:
    transcript = read_one(DATA / sample)
    assert len(commands(transcript)) == 3
    assert all(exchange.complete for exchange in exchanges(transcript.messages))


def test_a_claude_code_session_is_its_main_chain_with_answers_in_one_piece() -> None:
    transcript = read_one(DATA / "claude_code.jsonl")
    assert transcript.form == "claude-code"
    assert gist(transcript) == [
        ("user", "The basket total is wrong when a coupon is used. Please find out why."),
        ("assistant", "I look at the basket and its test."),
        ("tool", "1\tdef total(items, coupon):\n2\t    return sum(items) * coupon"),
        ("tool", "FAILED tests/test_basket.py::test_coupon - assert 90 == 81"),
        ("assistant", "The coupon is a share that is kept, not one that is taken off."),
        ("tool", "The file /home/mia/shop/basket.py has been updated."),
        ("user", "And keep the price in cents."),
        ("assistant", "Done: prices stay in cents, and the test passes."),
        ("user", "Is this receipt right?"),
    ]
    asked, *_ = (message for message in transcript.messages if message.tool_calls)
    assert [(call.id, call.name) for call in asked.tool_calls] == [("toolu_1", "Read"), ("toolu_2", "Bash")]
    assert asked.at is not None
    assert asked.at.isoformat() == "2026-03-02T09:00:03.500000+00:00"
    image = transcript.messages[-1].content[0]
    assert isinstance(image, dict)
    assert image["source"]["data"] == "aGk="


def event(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def use(id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Read", "input": {"file_path": f"{id_}.py"}}


def result(id_: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": text}


QUEUED = {"type": "queued_command", "prompt": "<task-notification/>", "commandMode": "task-notification"}

CHAINS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "the latest branch of a rewound session": (
        [
            event("1", None, "user", "Paint it."),
            event("2", "1", "assistant", [{"type": "text", "text": "Red?"}]),
            event("3", "2", "user", "Yes."),
            event("4", "2", "user", "No, blue."),
            event("5", "4", "assistant", [{"type": "text", "text": "Blue it is."}]),
        ],
        ["Paint it.", "Red?", "No, blue.", "Blue it is."],
    ),
    "a result once, though a rewound branch has it as well": (
        [
            event("1", None, "assistant", [use("a")], message={"id": "m"}),
            event("2", "1", "user", [result("a", "stopped")]),
            event("3", "1", "user", [result("a", "done")]),
        ],
        ["", "done"],
    ),
    "a summary where what it stands for is not in the file": (
        [
            {"type": "system", "uuid": "b", "parentUuid": None, "logicalParentUuid": "elsewhere", "sessionId": "s"},
            event("1", "b", "user", "Summary.", isCompactSummary=True),
            event("2", "1", "user", "Go on."),
        ],
        ["Summary.", "Go on."],
    ),
    "a lost link, with the turn before": (
        [event("1", None, "user", "Hi."), event("2", "lost", "assistant", "Hello."), event("2", "1", "user", "again")],
        ["Hi.", "Hello."],
    ),
    "rows without parents": (
        [
            {key: value for key, value in event(str(row), None, "user", f"{row}.").items() if key != "parentUuid"}
            for row in range(3)
        ],
        ["0.", "1.", "2."],
    ),
    "parents that are null in every row": (
        [event(str(row), None, "user", f"{row}.") for row in range(3)],
        ["0.", "1.", "2."],
    ),
    "one row without a parent": (
        [
            event("1", None, "user", "Hi."),
            {"type": "user", "uuid": "2", "sessionId": "s", "message": {"content": "And?"}},
            event("3", "2", "assistant", "Yes."),
        ],
        ["Hi.", "And?", "Yes."],
    ),
    "a circle": ([event("1", "2", "user", "Hi."), event("2", "1", "assistant", "Hello.")], ["Hi.", "Hello."]),
    "no notification, and nothing synthetic": (
        [
            event("1", None, "user", "Hi."),
            {"type": "attachment", "uuid": "2", "parentUuid": "1", "sessionId": "s", "attachment": QUEUED},
            event("3", "2", "assistant", "Hello.", message={"id": "m"}),
            event("4", "3", "assistant", "No response requested.", message={"id": "n", "model": "<synthetic>"}),
        ],
        ["Hi.", "Hello."],
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_of_a_claude_code_session_its_main_chain_is_read(tmp_path: Path, chain: str) -> None:
    events, expected = CHAINS[chain]
    assert [text for _, text in gist(read_one(lines(tmp_path, events)))] == expected


def test_a_call_beside_the_chain_of_another_call_of_the_same_answer_is_read_with_its_result(tmp_path: Path) -> None:
    said = [
        event("1", None, "user", "Compare."),
        event("2", "1", "assistant", [use("a")], message={"id": "m"}),
        event("3", "2", "assistant", [use("b")], message={"id": "m"}),
        event("4", "3", "user", [result("b", "of b")]),
        event("5", "2", "user", [result("a", "of a")]),
        event("6", "5", "assistant", [{"type": "text", "text": "They differ."}], message={"id": "n"}),
    ]
    transcript = read_one(lines(tmp_path, said))
    assert [text for _, text in gist(transcript)] == ["Compare.", "", "of b", "of a", "They differ."]
    assert [call.id for call in transcript.messages[1].tool_calls] == ["a", "b"]


def test_a_session_of_a_subagent_alone_has_no_main_chain(tmp_path: Path) -> None:
    path = lines(tmp_path, [event("1", None, "user", "Search.", isSidechain=True)])
    with pytest.raises(InvalidInputError, match="holds no messages"):
        read_transcript(path)
    lines(tmp_path, [event("1", None, "user", "Hi.")]).rename(tmp_path / "main.jsonl")
    path.write_text(json.dumps(event("1", None, "user", "Search.", isSidechain=True)), encoding="utf-8")
    assert [transcript.name for transcript in read_transcript(tmp_path)] == ["main.jsonl"]


def test_a_turn_of_claude_code_without_a_message_is_refused_by_its_line(tmp_path: Path) -> None:
    path = lines(tmp_path, [event("1", None, "user", "Hi."), {"type": "assistant", "uuid": "2", "sessionId": "s"}])
    with pytest.raises(InvalidInputError, match=r"chat\.jsonl, line 2: an event of type 'assistant' needs"):
        read_transcript(path)


def test_actions_of_swe_agent_are_calls_and_demonstrations_are_left_out() -> None:
    transcript = read_one(DATA / "swe_agent.traj")
    assert transcript.form == "swe-agent"
    assert [role for role, _ in gist(transcript)] == "system user assistant tool assistant tool assistant tool".split()
    assert commands(transcript) == [
        {"command": "open src/units.py 10"},
        {"command": "edit 11:11\n    return miles * 1.609344\nend_of_edit"},
        {"command": "submit"},
    ]
    assert gist(transcript)[2] == ("assistant", "The factor looks wrong.")
    assert "other" not in str(gist(transcript))
    assert gist(transcript)[-1][1].startswith("diff --git")


def test_steps_of_swe_agent_are_read_where_there_is_no_history(tmp_path: Path) -> None:
    sample = json.loads((DATA / "swe_agent.traj").read_text(encoding="utf-8"))
    first, *others = sample["trajectory"]
    asked = [{**first, "query": sample["history"][:4]}, *others]
    whole = gist(read_one(DATA / "swe_agent.traj"))
    assert gist(changed(tmp_path, "swe_agent.traj", history=None, trajectory=asked)) == whole
    assert gist(changed(tmp_path, "swe_agent.traj", history=None)) == whole[2:]


def test_tool_calls_of_newer_swe_agent_keep_their_ids(tmp_path: Path) -> None:
    call = {"id": "k1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}

    history = [
        {"role": "user", "content": "List it.", "message_type": "observation"},
        {"role": "assistant", "content": "I list.", "thought": "I list.", "action": "ls", "tool_calls": [call]},
        {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["k1"]},
    ]
    transcript = changed(tmp_path, "swe_agent.traj", history=history)
    assert gist(transcript) == [("user", "List it."), ("assistant", "I list."), ("tool", "a.py")]
    assert transcript.messages[1].tool_calls[0].id == transcript.messages[2].tool_call_id == "k1"


def test_commands_of_mini_swe_agent_are_calls_and_complaints_stay_with_the_user() -> None:
    transcript = read_one(DATA / "mini_swe_agent.traj.json")
    assert transcript.form == "mini-swe-agent"
    roles = "system user assistant tool assistant user assistant tool assistant tool".split()
    assert [role for role, _ in gist(transcript)] == roles
    assert commands(transcript)[:2] == [
        {"command": "grep -n port app.py"},
        {"command": "sed -i 's/port = 80/port = 8080/' app.py"},
    ]
    assert gist(transcript)[6] == ("assistant", "THOUGHT: I change it.\n\nThat is all.")
    assert transcript.messages[2].at is not None


def test_the_ledger_of_a_run_names_the_file_that_it_changed() -> None:
    for sample, name in (("mini_swe_agent.traj.json", "app.py"), ("claude_code.jsonl", "/home/mia/shop/basket.py")):
        ledger = read_ledger(read_one(DATA / sample).messages)
        assert [file.path for file in ledger.files if file.path == name] == [name]


def test_tool_calls_of_newer_mini_swe_agent_end_with_its_submission(tmp_path: Path) -> None:
    def call(id_: str, command: str) -> dict[str, Any]:
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        return {"id": id_, "type": "function", "function": function}

    said = [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "", "tool_calls": [call("k1", "ls")], "extra": {"timestamp": 1764000000}},
        {"role": "tool", "tool_call_id": "k1", "content": "a.py", "extra": {"returncode": 0}},
        {"role": "assistant", "content": "Now.", "tool_calls": [call("k2", "echo DONE")]},
        {"role": "exit", "content": "diff --git a/a.py b/a.py", "extra": {"exit_status": "Submitted"}},
    ]
    transcript = changed(tmp_path, MINI, trajectory_format="mini-swe-agent-1.1", messages=said)
    assert [role for role, _ in gist(transcript)] == "user assistant tool assistant tool".split()
    assert [message.tool_call_id for message in transcript.messages if message.role is Role.TOOL] == ["k1", "k2"]
    assert gist(transcript)[-1][1] == "diff --git a/a.py b/a.py"


def test_a_run_of_mini_swe_agent_that_hit_its_limit_says_no_more_than_was_said(tmp_path: Path) -> None:
    begun = json.loads((DATA / MINI).read_text(encoding="utf-8"))["messages"][:2]
    transcript = changed(tmp_path, MINI, messages=[*begun, {"role": "exit", "content": "LimitsExceeded"}])
    assert [role for role, _ in gist(transcript)] == ["system", "user"]


def test_items_of_the_responses_api_in_mini_swe_agent_are_read(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I list."}]},
        {"type": "function_call", "id": "f", "call_id": "k1", "name": "bash", "arguments": '{"command": "ls"}'},
    ]

    items = [
        {"role": "user", "content": "List it."},
        {"object": "response", "id": "r", "output": output},
        {"type": "function_call_output", "call_id": "k1", "output": "a.py"},
    ]
    transcript = changed(tmp_path, MINI, messages=items)
    assert gist(transcript) == [("user", "List it."), ("assistant", "I list."), ("tool", "a.py")]
    assert transcript.messages[2].tool_call_id == transcript.messages[1].tool_calls[0].id == "k1"
