import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Message, Role
from hybrid_memory.artifacts import read_ledger, render
from hybrid_memory.artifacts.ledger import LIMITS, Ledger
from tests.doubles import assert_linear


def called(name: str, arguments: object, result: str | None = None) -> list[Message]:
    messages = [
        Message.of(
            {"role": "assistant", "tool_calls": [{"name": name, "arguments": arguments, "id": "c1"}], "id": "m1"}
        )
    ]
    return (
        messages if result is None else [*messages, Message(role=Role.TOOL, content=result, tool_call_id="c1", id="m2")]
    )


def operations(ledger: Ledger) -> dict[str, str]:
    return {state.path: str(state.operation) for state in ledger.files}


def texts(kind: str, *messages: Message) -> list[str]:
    return [mention.text for mention in getattr(read_ledger(messages), kind)]


def said(text: str, role: str = "user") -> Message:
    return Message.of({"role": role, "content": text, "id": "m"})


@pytest.mark.parametrize(
    ("name", "arguments", "result", "expected"),
    [
        ("write_file", {"path": "a.py", "content": "1"}, "ok", {"a.py": "created"}),
        ("createFile", {"filePath": "a.py"}, "ok", {"a.py": "created"}),
        ("write_file", '{"path": "a.py", "content": "1"}', "ok", {"a.py": "created"}),
        ("edit_file", {"target_file": "a.py"}, "ok", {"a.py": "modified"}),
        ("read_file", {"file_path": "a.py"}, "text", {"a.py": "read"}),
        ("summarise", {"filename": "a.pdf"}, "text", {"a.pdf": "read"}),
        ("delete_file", {"file": "a.py"}, "ok", {"a.py": "deleted"}),
        ("move_file", {"source": "a.py", "destination": "b.py"}, "ok", {"a.py": "deleted", "b.py": "renamed"}),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "1"}, "ok", {"a.py": "created"}),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, "edited", {"a.py": "modified"}),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "1", {"a.py": "read"}),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, "No replacement was performed", {}),
        ("write_file", {"path": "/etc/a"}, "Error: permission denied", {}),
        ("delete_file", {"path": "a.py"}, '{"success": false}', {}),
        ("execute_bash", {"command": "echo 1 > a.txt"}, "", {"a.txt": "created"}),
        ("bash", {"cmd": ["rm", "a.txt"]}, "", {"a.txt": "deleted"}),
        ("run_ipython", {"code": "open('a.csv', 'w')"}, "", {"a.csv": "created"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: n.py\n+1\n*** Update File: o.py\n*** End Patch"},
         "Done", {"n.py": "created", "o.py": "modified"}),
        ("list_directory", {"path": "/repo/src"}, "a.py", {}),
        ("get_user", {"user_id": "u_1"}, "{}", {}),
        ("write_file", {"path": "报告.md", "content": "一"}, "已写入", {"报告.md": "created"}),
    ],
)  # fmt: skip
def test_a_call_is_read_with_its_result(name: str, arguments: object, result: str, expected: dict[str, str]) -> None:
    assert operations(read_ledger(called(name, arguments, result))) == expected


def test_a_call_without_a_result_yet_counts_as_done() -> None:
    assert operations(read_ledger(called("write_file", {"path": "a.py"}))) == {"a.py": "created"}


def test_calls_written_as_tags_are_read() -> None:
    call = "<function=execute_bash>\n<parameter=command>\nrm a.py\n</parameter>\n</function>"
    ledger = read_ledger([said(call, "assistant"), said("EXECUTION RESULT of [execute_bash]:\n")])
    assert operations(ledger) == {"a.py": "deleted"}


def test_advice_to_a_person_is_not_an_action() -> None:
    advice = said("Run this:\n```bash\nrm -rf build.py\n```", "assistant")
    assert read_ledger([advice, said("thanks, I will")]).files == ()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("ValueError: bad 温度", ["ValueError: bad 温度"]),
        ("E   app.errors.NotFoundError: x", ["app.errors.NotFoundError: x"]), ("error[E0308]: mismatched", ["E0308"]),
        ("src/a.ts(1,2): error TS2345: no", ["TS2345"]), ("connect ECONNREFUSED 127.0.0.1:5432", ["ECONNREFUSED"]),
        ("HTTP 404 for /x", ["HTTP 404"]), ("请求失败，错误码 10086", ["错误码 10086"]),
        ("bash: foo: command not found", ["bash: foo: command not found"]),
        ("<returncode>127</returncode>\n<output>\n</output>", ["exit 127"]),
        ("except ValueError:\n    raise TypeError('x')", []),
    ],
)  # fmt: skip
def test_errors_and_their_codes_survive_literally(output: str, expected: list[str]) -> None:
    assert texts("errors", said(output, "tool")) == expected


@pytest.mark.parametrize(
    ("output", "outcome", "failing"),
    [
        ("FAILED t/a.py::test_x[1-b] - assert 0\n== 1 failed, 12 passed in 0.31s ==", "1 failed, 12 passed",
         ("t/a.py::test_x[1-b]",)),
        ("FAIL: test_y (pkg.T)\nRan 3 tests in 0.1s\n\nFAILED (failures=1)", "3 tests, FAILED (failures=1)",
         ("test_y (pkg.T)",)),
        ("  ● Cart › adds items\n\nTests:       1 failed, 5 passed, 6 total", "1 failed, 5 passed, 6 total",
         ("Cart › adds items",)),
        ("--- FAIL: TestSum (0.00s)\nFAIL\texample.com/m\t0.01s", "FAIL example.com/m", ("TestSum",)),
        ("test a::b ... FAILED\ntest result: FAILED. 3 passed; 1 failed; finished in 0.0s",
         "FAILED. 3 passed; 1 failed",
         ("a::b",)),
    ],
)  # fmt: skip
def test_outcomes_of_tests_name_what_failed(output: str, outcome: str, failing: tuple[str, ...]) -> None:
    (run,) = read_ledger([said(output, "tool")]).tests
    assert (run.outcome, run.failing) == (outcome, failing)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"reservations": ["QWERTY", "7KXY21"]}', ["7KXY21", "QWERTY"]),
        ('{"payment": "gift_card_48213", "order_id": 84731}', ["gift_card_48213", "84731"]),
        ("see PROJ-123, not UTF-8 or SHA256", ["PROJ-123"]),
        ("id 0f8fad5b-d9cb-469f-a165-70867728950e", ["0f8fad5b-d9cb-469f-a165-70867728950e"]),
        ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", ["9fceb02d0ae598e95dc970b74767f19372d61af8"]),
        ("plain words, 2024, v1.2 and 100 files", []),
    ],
)
def test_ids_in_results_are_found_and_ordinary_words_are_not(text: str, expected: list[str]) -> None:
    assert texts("ids", said(text, "tool")) == expected


def test_ids_that_people_introduce_are_found() -> None:
    assert set(texts("ids", said("我的订单号是 20391，工单号：AB-77x1"))) == {"20391", "AB-77x1"}
    assert texts("ids", said("my reservation HXDUBK please")) == ["HXDUBK"]


def test_addresses_lose_the_punctuation_around_them() -> None:
    assert texts("urls", said("见 https://example.com/a?b=1。and (http://x.org/y).")) == [
        "https://example.com/a?b=1",
        "http://x.org/y",
    ]


def test_the_newest_and_the_repeated_ids_outlive_the_rest() -> None:
    often = [Message(role=Role.TOOL, content="KEEP99", id=f"k{n}") for n in range(2)]
    many = [Message(role=Role.TOOL, content=f"NEW{n:05}", id=f"n{n}") for n in range(LIMITS["ids"] + 50)]
    ledger = read_ledger(many, read_ledger(often))
    kept = [mention.text for mention in ledger.ids]
    assert len(kept) == LIMITS["ids"]
    assert kept[0] == "KEEP99"
    assert kept[-1] == f"NEW{len(many) - 1:05}"


def test_changed_files_are_shown_last_to_go() -> None:
    messages = called("bash", {"command": "cat seen.py; sed -i 1d changed.py"}, "ValueError: no\nKXY219")
    ledger = read_ledger(messages)
    full = render(ledger, max_tokens=1000, count=len)
    assert full.splitlines() == [
        "modified: changed.py", "errors: tool: ValueError: no", "ids: KXY219", "read: seen.py",
        "commands: cat seen.py; sed -i 1d changed.py",
    ]  # fmt: skip
    assert render(ledger, max_tokens=66, count=len).splitlines() == full.splitlines()[:3]
    assert render(ledger, max_tokens=20, count=len) == "modified: changed.py"
    assert render(ledger, max_tokens=3, count=len) == ""


@settings(max_examples=100)
@given(st.text(alphabet="ab \n'\"\\$(){}<>|&;#`=*/.-", max_size=60))
def test_anything_can_stand_where_a_command_is_expected(text: str) -> None:
    read_ledger(called("bash", {"command": text or "x"}, text))


@pytest.mark.parametrize("unit", ["\n", "a.py ", "'", '"$(', "AB1-", "://", '{"id": ', "a_1", "1f", "(", "E AError: "])
def test_a_huge_output_is_read_in_linear_time(unit: str) -> None:
    def read(huge: str) -> None:
        read_ledger([*called("bash", {"command": huge[: len(huge) // 5]}, huge), said(huge)])

    assert_linear(read, lambda size: "x" + unit * (size // len(unit)), 300_000)


def test_arguments_that_are_no_json_still_name_their_file() -> None:
    broken = '{"path": "src/a.py", "content": "unfinished'
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)
    assert operations(read_ledger(called("write_file", broken, "ok"))) == {"src/a.py": "created"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "ERROR tests/test_a.py::test_x - no 'db'\nERROR tests/test_b.py\n=== 3 passed, 2 errors in 0.31s ===",
            ["ERROR tests/test_a.py::test_x - no 'db'", "ERROR tests/test_b.py"],
        ),
        ("_____ ERROR collecting tests/test_b.py _____\nnope", ["ERROR collecting tests/test_b.py"]),
        ("_____ ERROR at setup of test_x _____\nnope", ["ERROR at setup of test_x"]),
        ("ERROR: test_y (pkg.T)\nERROR: test_z (pkg.T)\nRan 3 tests in 0.1s\n\nFAILED (errors=2)",
         ["ERROR: test_y (pkg.T)", "ERROR: test_z (pkg.T)"]),
        ("./sum.go:4:9: undefined: x\nFAIL\texample.com/m [build failed]",
         ["./sum.go:4:9: undefined: x"]),
        ("panic: runtime error: index out of range [3] with length 2 [recovered]",
         ["panic: runtime error: index out of range [3] with length 2"]),
        ("thread 'a::b' panicked at src/lib.rs:3:5:\nnope", ["thread 'a::b' panicked at src/lib.rs:3:5"]),
        ("=== 12 passed in 0.31s ===\nOK, 0 errors", []),
        ("We saw 2 errors in the text.", []),
    ],
)  # fmt: skip
def test_errors_of_test_runs_are_listed(output: str, expected: list[str]) -> None:
    assert texts("errors", said(output, "tool")) == expected
