import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Message, Role
from hybrid_memory.artifacts import merge, read_ledger, render
from hybrid_memory.artifacts.ledger import FileState, Ledger

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
        (["sed -i 1d a.py", "git checkout -- a.py"], {"a.py": "read"}),
        (["sed -i 1d a.py", "git restore a.py", "sed -i 1d a.py"], {"a.py": "modified"}),
        (["sed -i 1d a.py b.py", "git checkout a.py b.py"], {"a.py": "read", "b.py": "read"}),
        (["sed -i 1d a.py; touch new.py", "git reset --hard"], {"a.py": "read", "new.py": "created"}),
        (["cd src && touch a.py", "touch b.py"], {"src/a.py": "created", "b.py": "created"}),
        (["(cd src; touch a.py); touch b.py"], {"src/a.py": "created", "b.py": "created"}),
        (["for f in a.py b.py; do sed -i 1d src/$f; done"], {"src/a.py": "modified", "src/b.py": "modified"}),
        (["OUT=docs/x.md\necho 1 > $OUT"], {"docs/x.md": "created"}),
        (["touch d/a.py d/b.py c.py", "rm -rf d"],
         {"d/a.py": "deleted", "d/b.py": "deleted", "c.py": "created", "d": "deleted"}),
        (["touch t_1.py t_2.py u.py", "rm -f t_*.py"], {"t_1.py": "deleted", "t_2.py": "deleted", "u.py": "created"}),
        (["mkdir -p pkg", "mv a.py pkg"], {"a.py": "deleted", "pkg/a.py": "renamed"}),
        (["git mv old.py new.py"], {"old.py": "deleted", "new.py": "renamed"}),
        (["touch tmp.py", "mv tmp.py final.py"], {"tmp.py": "deleted", "final.py": "created"}),
        (["cat real.py", "echo 1 > real.new && mv real.new real.py"], {"real.py": "modified", "real.new": "deleted"}),
        (["cp a.py b.py"], {"a.py": "read", "b.py": "created"}),
        (["echo a.py b.py | xargs rm"], {"a.py": "deleted", "b.py": "deleted"}),
        (["touch x/a.orig", "find . -name '*.orig' -delete"], {"x/a.orig": "deleted"}),
        (['bash -c "echo 1 > in.txt"'], {"in.txt": "created"}),
        (["python3 - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('1')\nEOF"], {"a.py": "created"}),
        (["python -c \"open('b.txt', 'w').write('1')\""], {"b.txt": "created"}),
        (["cat > fix.py <<'EOF'\np = 'src/m.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nEOF", "python fix.py",
          "rm fix.py"],
         {"fix.py": "deleted", "src/m.py": "modified"}),
        (["cat > go.sh <<'EOF'\necho 1 > made.txt\nEOF\nchmod +x go.sh\n./go.sh"],
         {"go.sh": "created", "made.txt": "created"}),
        (["cat > f.patch <<'EOF'\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+b\nEOF\ngit apply f.patch"],
         {"f.patch": "created", "m.py": "modified"}),
        (["patch -p1 <<'EOF'\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+b\nEOF"], {"m.py": "modified"}),
        (["echo 1 > 报告.md"], {"报告.md": "created"}),
        (["ls > /dev/null 2>&1; echo 1 >&2"], {}),
        (["git checkout -b feature.x"], {}),
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
        ("git checkout main.v2", done("Switched to branch 'main.v2'"), {}),
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


def test_a_file_that_an_output_showed_before_was_there() -> None:
    turns = [("grep -rn main .", done("./src/app.py:3:main()")), ("cat > src/app.py <<'E'\n1\nE", done())]
    assert operations(read_ledger(conversation(turns)))["src/app.py"] == "modified"


def test_version_control_tells_the_true_state() -> None:
    status = " M a.py\n?? made.txt\n D old.py\nR  was.py -> now.py\n?? build/"
    found = operations(read_ledger(conversation([("git status --short", done(status))])))
    assert found == {
        "a.py": "modified",
        "made.txt": "created",
        "old.py": "deleted",
        "was.py": "deleted",
        "now.py": "renamed",
    }
    long = 'Changes not staged for commit:\n\tmodified:   b.py\n\nUntracked files:\n  (use "git add")\n\tc.txt\n'
    assert operations(read_ledger(conversation([("git status", done(long))]))) == {
        "b.py": "modified",
        "c.txt": "created",
    }
    diff = "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+1"
    assert operations(read_ledger(conversation([("git diff HEAD", done(diff))]))) == {"n.py": "created"}


def test_absolute_and_relative_names_of_one_file_are_one_entry() -> None:
    assert after("cd /repo && sed -i 1d src/a.py", "rm src/a.py", "cat /repo/src/a.py") == {"src/a.py": "deleted"}
    late = [
        ("touch run.py", done()),
        ("python run.py", done('  File "/home/me/p/run.py", line 1')),
        ("rm /home/me/p/run.py", done()),
    ]
    assert operations(read_ledger(conversation(late))) == {"run.py": "deleted"}


def test_every_file_names_the_messages_it_came_from() -> None:
    ledger = read_ledger(conversation([("touch a.py", done()), ("sed -i 1d a.py", done())]))
    assert ledger.files[0].sources == ("a0", "a1")


BEFORE = frozenset({"a.py", "d/a.py"})
PATHS = ["a.py", "b.py", "d/a.py", "d/b.py", "e/a.py"]
READING = ["cat {0}", "sed -i 1d {0}", "rm {0}", "cp {0} {1}", "mv {0} {1}"]
WRITING = ["echo 1 > {0}", "echo 1 >> {0}", "touch {0}", "cat > {0} <<'E'\nopen('{1}', 'w')\nE", "python {0}"]
FOLDERS = ["rm -rf d", "git reset --hard", "git checkout -- a.py", "rm -f *.py"]


def moved(form: str, path: str, target: str, files: set[str], scripts: dict[str, str]) -> set[str]:
    """The files that are there after one command."""
    gone: dict[str, set[str]] = {
        "rm {0}": {path},
        "mv {0} {1}": {path},
        "rm -rf d": {name for name in files if name.startswith("d/")},
        "rm -f *.py": {name for name in files if "/" not in name},
    }
    made: dict[str, set[str]] = {
        "mv {0} {1}": {target},
        "cp {0} {1}": {target},
        "python {0}": {scripts.get(path, path)},
        "git reset --hard": set(BEFORE),
        "git checkout -- a.py": {"a.py"},
    }
    if form.startswith("cat > "):
        scripts[path] = target
    return (files - gone.get(form, set())) | made.get(form, {path} if form in WRITING else set())


def possible(steps: list[tuple[str, str, str]]) -> list[Turn]:
    """The steps that a file system with the files of BEFORE would take, as commands that succeed."""
    files, scripts = set(BEFORE), dict[str, str]()
    turns: list[Turn] = []
    for form, path, target in steps:
        if (form in READING and path not in files) or (form == "python {0}" and path not in files & scripts.keys()):
            continue
        if form == "rm -f *.py" and not any("/" not in name for name in files):
            continue
        files = moved(form, path, target, files, scripts)
        turns.append((form.format(path, target), done()))
    return turns


spans = st.lists(
    st.tuples(st.sampled_from(READING + WRITING + FOLDERS), st.sampled_from(PATHS), st.sampled_from(PATHS)).filter(
        lambda step: step[1] != step[2]
    ),
    max_size=12,
).map(possible)


def shown(states: tuple[FileState, ...]) -> dict[str, tuple[str, bool, bool]]:
    return {state.path: (str(state.operation), state.exists, state.changed) for state in states}


@settings(max_examples=60)
@given(spans, st.integers(0, 12), st.integers(0, 12))
def test_merging_spans_is_reading_them_together_in_any_grouping(turns: list[Turn], one: int, two: int) -> None:
    first, second = sorted((one, two))
    a, b, c = (
        read_ledger(conversation(turns[start:end], start))
        for start, end in ((0, first), (first, second), (second, len(turns)))
    )
    together = shown(read_ledger(conversation(turns)).files)
    assert shown(merge(merge(a, b), c).files) == together
    assert shown(merge(a, merge(b, c)).files) == together


def test_a_folder_that_a_later_span_moves_takes_the_files_of_an_older_one_along() -> None:
    older = read_ledger(conversation([("touch d/a.py", done()), ("sed -i 1d d/b.py", done())]))
    newer = read_ledger(conversation([("mv d e", done())], 2))
    assert operations(merge(older, newer)) == {
        "d/a.py": "deleted",
        "d/b.py": "deleted",
        "e/a.py": "created",
        "e/b.py": "renamed",
    }


@settings(max_examples=30)
@given(spans)
def test_a_ledger_survives_json_and_an_empty_neighbour(turns: list[Turn]) -> None:
    ledger = read_ledger(conversation(turns))
    assert Ledger.model_validate_json(ledger.model_dump_json()) == ledger
    assert merge(Ledger(), ledger).files == ledger.files == merge(ledger, Ledger()).files


@settings(max_examples=30)
@given(spans, st.integers(5, 200))
def test_rendering_keeps_its_budget_and_writes_paths_literally(turns: list[Turn], room: int) -> None:
    ledger = read_ledger(conversation(turns))
    assert len(render(ledger, max_tokens=room, count=len)) <= room
    everything = render(ledger, max_tokens=10**6, count=len)
    assert all(state.path in everything for state in ledger.files)
