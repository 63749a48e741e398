import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Message, Role
from hybrid_memory.artifacts import read_ledger, render
from hybrid_memory.artifacts.ledger import Ledger

Turn = tuple[str, str]


def conversation(turns: list[Turn], first: int = 0) -> list[Message]:
    """Commands in code fences, each followed by its output."""
    messages = []
    for number, (command, output) in enumerate(turns, first):
        messages.append(
            Message(role=Role.ASSISTANT, content=f"I run this.\n\n```bash\n{command}\n```", id=f"a{number}")
        )
        messages.append(Message(role=Role.USER, content=output, id=f"u{number}"))
    return messages


def done(output: str = "", code: int = 0) -> str:
    return f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"


def operations(ledger: Ledger) -> dict[str, str]:
    return {state.path: str(state.operation) for state in ledger.files}


def after(*commands: str) -> dict[str, str]:
    return operations(read_ledger(conversation([(command, done()) for command in commands])))


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (["cat > a.py <<'EOF'\nx > y.txt\nrm z\nEOF"], {"a.py": "created"}),
        (["cat <<EOF > a.py\n1\nEOF\ncat <<'END' > b/c.py\n2\nEND"], {"a.py": "created", "b/c.py": "created"}),
        (["echo 1 > a.txt && echo 2 >> a.txt"], {"a.txt": "created"}),
        (["sed -i 's/a b/c/' src/a.py"], {"src/a.py": "modified"}),
        (["sed -i -e 's/x/y/' -e '3d' src/a.py src/b.py"], {"src/a.py": "modified", "src/b.py": "modified"}),
        (["perl -pi -e 's/x/y/' a.pl"], {"a.pl": "modified"}),
        (["make test 2>&1 | tee out/log.txt"], {"out/log.txt": "created"}),
        (["cat a.py", "cat > a.py <<EOF\n1\nEOF"], {"a.py": "modified"}),
        (["cat > a.py <<EOF\n1\nEOF", "sed -i 1d a.py"], {"a.py": "created"}),
        (["touch a.py", "rm a.py"], {"a.py": "deleted"}),
        (["cd src && touch a.py", "touch b.py"], {"src/a.py": "created", "b.py": "created"}),
        (["(cd src; touch a.py); touch b.py"], {"src/a.py": "created", "b.py": "created"}),
        (["touch d/a.py d/b.py c.py", "rm -rf d"],
         {"d/a.py": "deleted", "d/b.py": "deleted", "c.py": "created", "d": "deleted"}),
        (["touch t_1.py t_2.py u.py", "rm -f t_*.py"], {"t_1.py": "deleted", "t_2.py": "deleted", "u.py": "created"}),
        (["touch a.py", "git rm a.py"], {"a.py": "deleted"}),
        (["sed -i 1d a.py", "git rm --cached a.py"], {"a.py": "modified"}),
        (["git mv old.py new.py"], {"old.py": "deleted", "new.py": "renamed"}),
        (["touch tmp.py", "mv tmp.py final.py"], {"tmp.py": "deleted", "final.py": "created"}),
        (["cat real.py", "echo 1 > real.new && mv real.new real.py"], {"real.py": "modified", "real.new": "deleted"}),
        (["cp a.py b.py"], {"a.py": "read", "b.py": "created"}),
        (['bash -c "echo 1 > in.txt"'], {"in.txt": "created"}),
        (["python3 - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('1')\nEOF"], {"a.py": "created"}),
        (["python -c \"open('b.txt', 'w').write('1')\""], {"b.txt": "created"}),
        (["cat > fix.py <<'EOF'\np = 'src/m.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nEOF", "python fix.py",
          "rm fix.py"],
         {"fix.py": "deleted", "src/m.py": "modified"}),
        (["cat > go.sh <<'EOF'\necho 1 > made.txt\nEOF\nchmod +x go.sh\n./go.sh"],
         {"go.sh": "created", "made.txt": "created"}),
        (["patch -p1 <<'EOF'\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+b\nEOF"], {"m.py": "modified"}),
        (["echo 1 > 报告.md"], {"报告.md": "created"}),
        (["ls > /dev/null 2>&1; echo 1 >&2"], {}),
    ],
)  # fmt: skip
def test_a_command_does_to_files_what_a_shell_does(commands: list[str], expected: dict[str, str]) -> None:
    assert after(*commands) == expected


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("sed -i 1d gone.py", done("sed: can't read gone.py: No such file or directory", 2), {}),
        ("sed -i 's/(/x' a.py", done("sed: -e expression #1, char 6: unterminated `s' command", 1), {}),
        ("echo 1 > no/where.txt", done("bash: no/where.txt: No such file or directory", 1), {}),
        ("echo 1 > a.txt && pytest", done("1 failed in 0.1s", 1), {"a.txt": "created"}),
        ("pytest > log.txt", done("", 1), {"log.txt": "created"}),
        ("mv a.py b.py", done("mv: cannot stat 'a.py': No such file or directory", 1), {}),
        ("sed -i 's/(/' a.py)", done("bash: -c: line 1: syntax error near unexpected token `)'", 2), {}),
        ("python - <<'E'\nopen('a.py', 'w')\nE",
         done('Traceback (most recent call last):\n  File "<stdin>", line 1', 1), {}),
        ("touch a.py", "Please give exactly one action.", {}),
    ],
)  # fmt: skip
def test_what_failed_or_was_never_run_is_no_change(command: str, output: str, expected: dict[str, str]) -> None:
    assert operations(read_ledger(conversation([(command, output)]))) == expected


def test_a_failed_removal_of_one_file_does_not_keep_the_others() -> None:
    turns = [
        ("touch a.py b.py", done()),
        ("rm a.py c.py", done("rm: cannot remove 'c.py': No such file or directory", 1)),
    ]
    assert operations(read_ledger(conversation(turns))) == {"a.py": "deleted", "b.py": "created"}


def test_absolute_and_relative_names_of_one_file_are_one_entry() -> None:
    assert after("cd /repo && sed -i 1d src/a.py", "rm src/a.py", "cat /repo/src/a.py") == {"src/a.py": "deleted"}


def test_every_file_names_the_messages_it_came_from() -> None:
    ledger = read_ledger(conversation([("touch a.py", done()), ("sed -i 1d a.py", done())]))
    assert ledger.files[0].sources == ("a0", "a1")


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
