import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Message, Role
from hybrid_memory.artifacts.ledger import LIMITS, Ledger, render
from hybrid_memory.artifacts.reading import read_ledger
from tests.doubles import assert_linear
from tests.world import cases, rows

TABLE = "compression/ledger.tsv"
Turn = tuple[str, str]


def conversation(turns: list[Turn], first: int = 0) -> list[Message]:
    """Commands in code fences, each followed by its output."""
    messages = []
    for number, (command, output) in enumerate(turns, first):
        messages.append(Message(role=Role.ASSISTANT, content=f"I run:\n\n```bash\n{command}\n```", id=f"a{number}"))
        messages.append(Message(role=Role.USER, content=output, id=f"u{number}"))
    return messages


def done(output: str = "", code: int = 0) -> str:
    return f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"


def operations(ledger: Ledger) -> dict[str, str]:
    return {state.path: str(state.operation) for state in ledger.files}


def states(expected: str) -> dict[str, str]:
    """``a.py=created b.py=deleted``, as the table says it."""
    return dict(part.split("=") for part in expected.split())


def after(*commands: str) -> dict[str, str]:
    return operations(read_ledger(conversation([(command, done()) for command in commands])))


@pytest.mark.parametrize("row", rows(TABLE, "commands"), ids="|".join)
def test_a_command_does_to_files_what_a_shell_does(row: tuple[str, ...]) -> None:
    expected, *commands = row
    assert after(*commands) == states(expected)


@pytest.mark.parametrize(("expected", "command", "output"), rows(TABLE, "failed"))
def test_what_failed_or_was_never_run_is_no_change(expected: str, command: str, output: str) -> None:
    assert operations(read_ledger(conversation([(command, output)]))) == states(expected)


def test_files_are_entries_with_the_messages_they_came_from_whatever_failed_beside_them() -> None:
    ledger = read_ledger(conversation([("touch a.py", done()), ("sed -i 1d a.py", done())]))
    assert ledger.files[0].sources == ("a0", "a1")
    failed = done("rm: cannot remove 'c.py': No such file or directory", 1)
    turns = [("touch a.py b.py", done()), ("rm a.py c.py", failed)]
    assert operations(read_ledger(conversation(turns))) == {"a.py": "deleted", "b.py": "created"}
    assert after("cd /repo && sed -i 1d src/a.py", "rm src/a.py", "cat /repo/src/a.py") == {"src/a.py": "deleted"}


PATHS = st.sampled_from(["a.py", "b.py", "d/a.py", "d/b.py", "/repo/a.py"])
FORMS = """cat {0}|sed -i 1d {0}|rm {0}|cp {0} {1}|mv {0} {1}|echo 1 > {0}|echo 1 >> {0}|touch {0}|cd /repo && rm {0}
rm -rf d|git mv {0} {1}|rm -f *.py|python3 -c "open('{0}', 'w')\"""".replace("\n", "|").split("|")
spans = st.lists(
    st.builds(lambda form, path, target: (form.format(path, target), done()), st.sampled_from(FORMS), PATHS, PATHS),
    max_size=12,
)


@settings(max_examples=60)
@given(spans, st.integers(0, 12))
def test_a_continued_ledger_is_that_of_all_messages(turns: list[Turn], split: int) -> None:
    older = read_ledger(conversation(turns[:split]))
    assert read_ledger(conversation(turns[split:], split), older) == read_ledger(conversation(turns))


@settings(max_examples=30)
@given(spans, st.integers(5, 200))
def test_rendering_keeps_its_budget_and_writes_paths_literally(turns: list[Turn], limit: int) -> None:
    ledger = read_ledger(conversation(turns))
    assert Ledger.model_validate_json(ledger.model_dump_json()) == ledger
    assert len(render(ledger, max_tokens=limit, count=len)) <= limit
    everything = render(ledger, max_tokens=10**6, count=len)
    assert all(state.path in everything for state in ledger.files)


def called(name: str, arguments: object, result: str | None = None) -> list[Message]:
    messages = [
        Message.of(
            {"role": "assistant", "tool_calls": [{"name": name, "arguments": arguments, "id": "c1"}], "id": "m1"}
        )
    ]
    return (
        messages if result is None else [*messages, Message(role=Role.TOOL, content=result, tool_call_id="c1", id="m2")]
    )


def texts(kind: str, *messages: Message) -> list[str]:
    return [mention.text for mention in getattr(read_ledger(messages), kind)]


def said(text: str, role: str = "user") -> Message:
    return Message.of({"role": role, "content": text, "id": "m"})


@pytest.mark.parametrize(("name", "arguments", "result", "expected"), cases("compression/ledger.json", "calls"))
def test_a_call_is_read_with_its_result(
    name: str, arguments: object, result: str | None, expected: dict[str, str]
) -> None:
    """Without one yet it counts as done."""
    assert operations(read_ledger(called(name, arguments, result))) == expected


def test_calls_written_as_tags_are_read_and_advice_to_a_person_is_no_action() -> None:
    call = "<function=execute_bash>\n<parameter=command>\nrm a.py\n</parameter>\n</function>"
    ledger = read_ledger([said(call, "assistant"), said("EXECUTION RESULT of [execute_bash]:\n")])
    assert operations(ledger) == {"a.py": "deleted"}
    advice = said("Run this:\n```bash\nrm -rf build.py\n```", "assistant")
    assert read_ledger([advice, said("thanks, I will")]).files == ()


@pytest.mark.parametrize("row", rows(TABLE, "errors"), ids="|".join)
def test_errors_their_codes_and_those_of_test_runs_survive_literally(row: tuple[str, ...]) -> None:
    output, *expected = row
    assert texts("errors", said(output, "tool")) == expected


@pytest.mark.parametrize("row", rows(TABLE, "outcome"), ids="|".join)
def test_outcomes_of_tests_name_what_failed(row: tuple[str, ...]) -> None:
    output, outcome, *failing = row
    (run,) = read_ledger([said(output, "tool")]).tests
    assert (run.outcome, run.failing) == (outcome, tuple(failing))


@pytest.mark.parametrize("row", rows(TABLE, "ids"), ids="|".join)
def test_ids_in_results_are_found_and_ordinary_words_are_not(row: tuple[str, ...]) -> None:
    text, *expected = row
    assert texts("ids", said(text, "tool")) == expected


def test_ids_that_people_introduce_are_found_and_addresses_without_the_punctuation_around_them() -> None:
    assert set(texts("ids", said("我的订单号是 20391，工单号：AB-77x1"))) == {"20391", "AB-77x1"}
    assert texts("ids", said("my reservation HXDUBK please")) == ["HXDUBK"]
    said_so = said("见 https://example.com/a?b=1。and (http://x.org/y).")
    assert texts("urls", said_so) == ["https://example.com/a?b=1", "http://x.org/y"]


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
