"""Free files: written, changed, moved, taken back, and kept byte for byte."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import EventKind, HybridMemory, LearningConfig, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.adapters import File
from hybrid_memory.documents.editing import units
from hybrid_memory.errors import FileError, InvalidInputError
from tests.doubles import end_of, events_of, texts
from tests.faces import Face, Open
from tests.world import cases

TRIP = "# Trip\n\nWe go to Rome in May.\n\n- Book a hotel\n- Buy tickets\n"


@pytest.fixture
def memory(opened: Open) -> HybridMemory:
    """Learns nothing, which would make files of facts."""
    return opened(embedder="none", learning={"origins": ()})


def paths(files: list[File]) -> list[str]:
    return [f"{file.path}/" if file.folder else file.path for file in files]


@pytest.mark.parametrize(
    "text",
    [*cases("files/free.json", "texts"), TRIP, "a" * 200_000 + "\n\n" + "- b\n" * 2_000],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_written_is_read_letter_for_letter(face: Face, alice: ScopedMemory, text: str) -> None:
    files = face(alice.files())
    file = files.write("/a.md", text)
    assert files.read("/a.md") == text
    assert (file.path, file.size, file.folder, file.read_only) == ("/a.md", len(text.encode()), False, False)
    assert files.list() == [file]
    assert files.write("/a.md", text) == file
    assert len(files.history("/a.md")) == 1


@given(st.text(alphabet=" \n\r\tab-#`*1.中🎂", max_size=60))
def test_pieces_one_after_another_are_the_text(text: str) -> None:
    assert "".join(words + tail for words, tail in units(text)) == text


def test_a_list_is_cut_into_items_and_a_heading_stays_with_what_follows() -> None:
    assert [words for words, _ in units(TRIP)] == [
        "# Trip\n\nWe go to Rome in May.",
        "- Book a hotel",
        "- Buy tickets",
    ]
    fenced = "Run:\n```sh\na\n\n- b\n```\n\nThen stop."
    assert [words for words, _ in units(fenced)] == ["Run:\n```sh\na\n\n- b\n```", "Then stop."]


def test_undo_goes_back_change_by_change_and_history_keeps_all(face: Face, alice: ScopedMemory) -> None:
    files = face(alice.files())
    for text in ("one\n", "one\n\ntwo\n", "two\n"):
        files.write("/a.md", text)
    files.rename("/a.md", "/b.md")
    files.delete("/b.md")
    assert texts(alice.recall("two")) == []
    assert files.undo("/b.md") is not None
    assert texts(alice.recall("two")) == ["two"]
    assert files.undo("/b.md") is None
    assert paths(files.list()) == ["/a.md"]
    assert (files.undo("/a.md"), files.read("/a.md")) == (files.list()[0], "one\n\ntwo\n")
    assert sorted(texts(alice.recall("one two"))) == ["one", "two"]
    files.undo("/a.md")
    assert files.read("/a.md") == "one\n"
    assert texts(alice.recall("two")) == []
    assert files.undo("/a.md") is None
    with pytest.raises(FileError, match=r"'/a\.md' has no change to undo"):
        files.undo("/a.md")
    files.write("/a.md", "three")
    assert files.undo("/a.md") is None
    assert [one.text for one in files.history("/a.md") if not one.removed][:3] == ["one\n", "one\n\ntwo\n", "two\n"]


BAD_PATHS: list[tuple[Any, str]] = [
    *cases("files/free.json", "paths"),
    ("/" + "x" * 256, "255 bytes"),
    ("/" + "中" * 86, "255 bytes"),
    ("/x" * 501, "1000 characters"),
    (b"/a", "str"),
]


@pytest.mark.parametrize(("path", "told"), BAD_PATHS, ids=repr)
def test_a_path_is_checked_before_anything_changes(face: Face, alice: ScopedMemory, path: Any, told: str) -> None:
    files = face(alice.files())
    calls: list[Any] = [
        lambda: files.write(path, "x"), lambda: files.read(path), lambda: files.edit(path, "a", "b"),
        lambda: files.insert(path, 0, "b"), lambda: files.delete(path), lambda: files.rename(path, "/b"),
        lambda: files.rename("/b", path), lambda: files.history(path), lambda: files.undo(path),
        lambda: files.list(path),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(InvalidInputError, match=told):
            call()
    assert alice.events() == []


def test_what_cannot_be_a_file_is_refused(face: Face, alice: ScopedMemory) -> None:
    files = face(alice.files())
    files.write("/a/b.md", "x\n\nx")
    files.write("/d", "y")
    wrong: list[tuple[Any, str, str]] = [
        (lambda: files.write("/a", "x"), "folder", "is a folder"),
        (lambda: files.write("/", "x"), "folder", "is a folder|names a folder"),
        (lambda: files.write("/a/", "x"), "folder", "names a folder"),
        (lambda: files.write("/a/b.md/c", "x"), "path", "is a file"),
        (lambda: files.write("/c", "a\x00b"), "text", "NUL"),
        (lambda: files.write("/c", "x" * 1_000_001), "text", "1,000,000"),
        (lambda: files.read("/c"), "missing", "no file '/c'"), (lambda: files.read("/a"), "folder", "is a folder"),
        (lambda: files.edit("/a/b.md", "x", "y"), "several", "2 times .* lines 1, 3"),
        (lambda: files.edit("/a/b.md", "z", "y"), "absent", "not occur in"),
        (lambda: files.edit("/a/b.md", "", "y"), "absent", "empty"),
        (lambda: files.edit("/c", "x", "y"), "missing", "no file"),
        (lambda: files.insert("/a/b.md", 4, "y"), "line", "has 3 lines, got 4"),
        (lambda: files.insert("/c", 0, "y"), "missing", "no file"),
        (lambda: files.delete("/c"), "missing", "no file"), (lambda: files.delete("/"), "read_only", "root"),
        (lambda: files.rename("/c", "/d"), "missing", "no file"),
        (lambda: files.rename("/a", "/a/c"), "path", "cannot become"),
        (lambda: files.history("/c"), "missing", "no file"), (lambda: files.undo("/c"), "missing", "no change"),
    ]  # fmt: skip
    before = alice.events()
    for call, reason, told in wrong:
        with pytest.raises(FileError, match=told) as error:
            call()
        assert error.value.reason == reason, told
    with pytest.raises(InvalidInputError, match="str"):
        files.write("/c", b"x")  # type: ignore[arg-type]
    with pytest.raises(FileError, match="there is a file") as taken:
        files.rename("/d", "/a/b.md")
    assert taken.value.reason == "exists"
    assert alice.events() == before


def test_what_stays_is_not_written_again_and_recall_finds_what_stands(face: Face, alice: ScopedMemory) -> None:
    files = face(alice.files())
    files.write("/notes/trip.md", TRIP, origin="assistant")
    before = len(events_of(alice, EventKind.MESSAGE))
    files.edit("/notes/trip.md", "Buy tickets", "Buy cheap tickets", origin="assistant")
    assert len(events_of(alice, EventKind.MESSAGE)) == before + 1
    found = alice.recall("cheap tickets", k=1)[0].record
    assert (found.text, found.metadata["file"], found.origin) == ("- Buy cheap tickets", "/notes/trip.md", "assistant")
    assert "- Buy tickets" not in texts(alice.recall("tickets"))
    files.delete("/notes/trip.md")
    assert alice.recall("Rome tickets hotel") == []
    files.undo("/notes/trip.md")
    assert len(alice.recall("Rome tickets hotel")) == 3


def test_a_call_is_made_once_and_follows_its_source(face: Face, alice: ScopedMemory) -> None:
    said = alice.remember("My flight leaves at nine.").ids[0]
    files = face(alice.files())
    for _ in range(2):
        files.write("/a.md", "Flight: nine.\n", id="call-1", source=said)
    files.insert("/a.md", 1, "Bag: red.", id="call-2")
    files.insert("/a.md", 1, "Bag: red.", id="call-2")
    assert files.read("/a.md") == "Flight: nine.\nBag: red.\n"
    assert [one.origin for one in files.history("/a.md")] == ["assistant", "assistant"]


def test_the_past_and_a_rollback(face: Face, alice: ScopedMemory) -> None:
    files = face(alice.files())
    files.write("/a.md", "one\n")
    position = end_of(alice)
    files.write("/a.md", "two\n")
    files.write("/b.md", "b")
    then = face(alice.as_of(position).files())
    assert (then.read("/a.md"), paths(then.list()), then.list()[0].read_only) == ("one\n", ["/a.md"], True)
    with pytest.raises(InvalidInputError, match="view of the past"):
        then.write("/a.md", "three")
    alice.rollback(position)
    assert (files.read("/a.md"), paths(files.list())) == ("one\n", ["/a.md"])
    files.write("/a.md", "one\n\nfour\n")
    assert files.read("/a.md") == "one\n\nfour\n"
    files.undo("/a.md")
    assert files.read("/a.md") == "one\n"


WORDS = st.sampled_from(["a", "b c", "- d", "- e", "# f", "中文", "```", "g: h"])
TEXT = st.lists(WORDS, max_size=5).map("\n\n".join) | st.lists(WORDS, max_size=5).map("\n".join)
PATH = st.sampled_from(["/a", "/b/c", "/b/d", "/b"])
STEP = st.one_of(
    st.tuples(st.just("write"), PATH, TEXT),
    st.tuples(st.just("edit"), PATH, WORDS, WORDS),
    st.tuples(st.just("insert"), PATH, st.integers(0, 4), WORDS),
    st.tuples(st.just("delete"), PATH),
    st.tuples(st.just("rename"), PATH, PATH),
)


@given(st.lists(STEP, max_size=12))
def test_any_changes_leave_what_a_dict_would_have(steps: list[tuple[Any, ...]]) -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="none", learning=LearningConfig(origins=()))) as memory:
        ann = memory.scoped(user="ann")
        files, kept = ann.files(), dict[str, str]()
        for verb, *given_ in steps:
            try:
                wanted = _oracle(kept, verb, *given_)
            except LookupError:
                with pytest.raises(FileError):
                    getattr(files, verb)(*given_)
            else:
                getattr(files, verb)(*given_)
                kept = wanted
            assert {file.path: files.read(file.path) for file in files.list(deep=True)} == kept
            assert all(file.size == len(kept[file.path].encode()) for file in files.list(deep=True))
        found = set(texts(ann.history()))
        assert found == {words for text in kept.values() for words, _ in units(text) if words}


def _oracle(  # noqa: C901 - all that a dict needs to be a file system
    kept: dict[str, str], verb: str, path: str, *given_: Any
) -> dict[str, str]:
    """What a dict of texts is after a change; raises LookupError where that cannot be."""
    inside = [other for other in kept if other.startswith(f"{path}/")]
    if verb == "write":
        if inside or any(path.startswith(f"{other}/") for other in kept):
            raise LookupError
        return {**kept, path: given_[0]}
    if verb in ("edit", "insert") and path in kept:
        text = kept[path]
        if verb == "edit":
            if text.count(given_[0]) != 1:
                raise LookupError
            return {**kept, path: text.replace(*given_)}
        lines = text.splitlines(keepends=True)
        if given_[0] > len(lines):
            raise LookupError
        if given_[0] == len(lines) and lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        return {**kept, path: "".join([*lines[: given_[0]], given_[1] + "\n", *lines[given_[0] :]])}
    moved = [other for other in (path, *inside) if other in kept]
    if not moved or verb in ("edit", "insert"):
        raise LookupError
    rest = {other: text for other, text in kept.items() if other not in moved}
    if verb == "delete":
        return rest
    new = given_[0]
    if new == path or new.startswith(f"{path}/"):
        raise LookupError
    for other in moved:
        there = new + other[len(path) :]
        if there in kept or any(one.startswith(f"{there}/") or there.startswith(f"{one}/") for one in kept):
            raise LookupError
        rest[there] = kept[other]
    return rest


def test_what_a_file_teaches_comes_and_goes_with_its_words(face: Face, opened: Open) -> None:
    ann = opened(embedder="none", url="memory://").scoped(user="ann")
    files = face(ann.files())
    files.write("/me.md", "I am allergic to nuts.\n\nI live in Oslo.\n")
    files.edit("/me.md", "nuts", "milk")
    assert [fact.text for fact in ann.facts(attribute="allergy")] == ["I am allergic to milk."]
    files.delete("/me.md")
    assert ann.facts() == []
    files.undo("/me.md")
    assert ann.profile().home == "Oslo"
