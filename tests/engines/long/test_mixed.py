"""Any log with any index does what the memory in this process does, through every verb."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory import Hit, HybridMemory, MemoryConfig, Message, ScopedMemory, Stats, Weights, open_memory
from hybrid_memory.documents.items import FindItems, GetItem, ListNamespaces, PutItem
from tests.doubles import Clock, texts
from tests.engines.conftest import MONDAY, Config
from tests.faces import Face
from tests.world import rows

# Each log and each index at least once, and the memory in this process only as a log: it is what all are compared with.
APART = ["redis+sqlite", "redis+milvus", "memory+redis", "postgres+sqlite", "sqlite+postgres"]
ENGINES = [
    *(("blocking", engines) for engines in APART),
    ("async", "redis"),
    ("async", "postgres"),
    ("async", "sqlite+milvus"),
]
NOTES = "/notes/band.md"
ODD = "a:b {c} d,爱'丽\"丝\\ *%_-@|(x)"
SAID = rows("engines/long/mixed.tsv", "said")
QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("Where do I live now?", {}), ("cat", {"k": 3}), ("豆豆是谁", {"k": 4}), ("在哪里跑步", {}),
    ('"afraid of trams"', {}), ("what is in /srv/reports/urchins-2024.pdf", {}),
    ("Oceanarim", {"k": 2, "weights": replace(Weights.plain(), vector=0)}), ("what did I say last Tuesday", {"k": 3}),
    ("cello sister", {"scope": "session"}), ("flat", {"since": MONDAY + timedelta(hours=2)}),
    ("flat", {"until": MONDAY + timedelta(minutes=30)}), ("flat", {"metadata": {"place": "Alfama: {1}"}}),
    ("flat", {"kinds": ["fact"]}), ("Do you remember my sister?", {"k": 50}),
]  # fmt: skip


class Teller:
    """Plays one script over a memory, and notes what each verb answers."""

    def __init__(self, memory: HybridMemory, clock: Clock, face: Face) -> None:
        self.memory, self.clock, self.face = memory, clock, face
        self.told: dict[str, Any] = {}

    def do(self, owner: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.face(owner), verb)(*args, **kwargs)

    def note(self, name: str, answer: Any) -> None:
        assert name not in self.told
        self.told[name] = answer

    def found(self, name: str, owner: ScopedMemory, query: str, **options: Any) -> list[Hit]:
        hits: list[Hit] = self.do(owner, "recall", query, **options)
        assert {hit.note for hit in hits} <= {""}
        self.note(name, [(hit.record.text, hit.record.kind.value, hit.score) for hit in hits])
        return hits

    def play(self) -> dict[str, Any]:
        self.say()
        self.know()
        self.condense()
        self.go_back()
        self.share()
        self.keep_items()
        self.keep_files()
        self.keep_up()
        self.forget()
        return self.told

    def say(self) -> None:
        self.alice = self.memory.scoped(tenant=ODD, user="alice", session="s1")
        self.later = self.memory.scoped(tenant=ODD, user="alice", session=f"s2 {ODD}")
        for number, (role, text) in enumerate(SAID):
            owner = self.alice if number < 8 else self.later
            self.clock.now = MONDAY + timedelta(minutes=20 * number)
            about = {"place": "Alfama: {1}"} if "Alfama" in text else {}
            said = {"role": role, "content": text, "id": f"m{number}", "metadata": about}
            self.do(owner, "remember", Message.of(said))
        again = self.do(self.later, "remember", Message.of(said))
        self.note("a repetition", again.duplicates)
        self.do(self.memory.scoped(tenant=ODD, user="bob"), "remember", "My cat is called Kitty and I live in Rome.")
        self.clock.now = MONDAY + timedelta(days=8)
        for number, (query, options) in enumerate(QUERIES):
            self.found(f"query {number}: {query}", self.later, query, **options)
        self.note("history", texts(self.do(self.alice, "history")))
        everything = self.memory.scoped(tenant=ODD, user="alice")
        self.note("all history", texts(self.do(everything, "history", limit=9)))
        self.note("history since", texts(self.do(everything, "history", since=MONDAY + timedelta(hours=2))))

    def know(self) -> None:
        facts = self.do(self.alice, "facts", history=True)
        self.note("facts", [(fact.attribute, fact.value, fact.valid_to is None) for fact in facts])
        self.note("profile", self.do(self.alice, "profile").model_dump(exclude={"sources", "history", "facts"}))
        self.found("query with facts", self.alice, "Where do I live?", k=6)

    def condense(self) -> None:
        context = self.do(self.alice, "assemble", "Where is my cat?", max_tokens=900, instructions="Be brief.")
        self.note("prompt", plain(context.text))
        self.note("folded", self.do(self.alice, "compact", keep=1).compacted)
        summary = self.do(self.alice, "summary")
        self.note("summary", [(line.section.value, line.text) for line in summary.lines])
        self.note("expanded", texts(self.do(self.alice, "expand", summary.lines[0])))
        self.note("prompt after folding", plain(self.do(self.alice, "assemble", "And Ana?", max_tokens=900).text))

    def go_back(self) -> None:
        early = self.alice.as_of(MONDAY + timedelta(minutes=90))
        self.found("as of Monday", early, "cat", k=20)
        self.note("history as of Monday", texts(self.do(early, "history")))
        before = self.memory.scoped(tenant=ODD, user="alice", session="s3")
        place = self.do(before, "remember", "A last word.", id="last").positions[-1]
        self.do(before, "remember", "I will never say that my parrot is green.", id="parrot")
        self.found("before rolling back", before, "parrot", k=1)
        self.do(before, "rollback", place)
        self.found("rolled back", before, "parrot", k=30)
        self.do(before, "rollback", MONDAY + timedelta(minutes=90))
        self.note("history rolled back", texts(self.do(self.memory.scoped(tenant=ODD, user="alice"), "history")))
        self.note("facts rolled back", len(self.do(before, "facts")))
        self.do(before, "rollback", place + 1)
        self.found("rolled forward", before, "parrot", k=1)

    def share(self) -> None:
        team = self.do(self.alice.space(ODD), "create")
        self.do(team, "grant", user="bob", right="read")
        self.do(team, "remember", "The team's parrot is called Polly.")
        bob = self.memory.scoped(tenant=ODD, user="bob")
        self.found("bob's own", bob, "parrot cat")
        self.found("bob's and the team's", bob, "parrot cat", spaces="all")

    def keep_items(self) -> None:
        items = self.memory.items("app", tenant=ODD)
        home = ("users", ODD)
        self.do(items, "batch", [PutItem(home, f"k{n}", {"n": n}, (f"blue whale {n}", "鲸鱼")) for n in range(3)])
        self.do(items, "batch", [PutItem(home, "k0", None), PutItem(home, "k1", {"n": 11}, ("red squirrel",))])
        found = self.do(items, "batch", [FindItems(query="whale"), FindItems(query="鲸鱼", prefix=("users",))])
        self.note("items", [[(item.key, item.value) for item in some] for some in found])
        self.note("item", self.do(items, "batch", [GetItem(home, "k1"), ListNamespaces()])[1:])

    def keep_files(self) -> None:
        files = self.later.files()
        self.do(files, "write", NOTES, "# Band\n\n- Ana plays the cello\n- Bo plays the 笛子\n")
        self.do(files, "insert", NOTES, 4, "- Cy plays the tuba")
        self.do(files, "edit", NOTES, "Bo plays", "Bo and Di play")
        self.do(files, "write", "/pets/猫.txt", "豆豆\r\nPixel")
        self.do(files, "rename", "/pets", "/cats")
        self.do(files, "write", "/gone.md", "A walrus plays the drums.")
        self.do(files, "delete", "/gone.md")
        self.found("the words of files", self.later, "who plays the tuba, the 笛子 or the drums", k=4)
        self.note("changes", [(one.path, one.change, one.text) for one in self.do(files, "history", NOTES)])
        self.do(files, "undo", NOTES)
        self.do(files, "undo", "/gone.md")
        self.found("the words of files after undo", self.later, "who plays the drums", k=2)
        self.note("files", self.all_files(self.later))

    def all_files(self, owner: ScopedMemory) -> dict[str, str]:
        files = owner.files()
        return {one.path: plain(self.do(files, "read", one.path)) for one in self.do(files, "list", deep=True)}

    def keep_up(self) -> None:
        self.do(self.memory, "flush")
        self.note("stats", counts(self.do(self.memory, "stats")))
        self.do(self.memory, "rebuild")
        self.note("stats after rebuilding", counts(self.do(self.memory, "stats")))
        self.found("rebuilt", self.alice, "cat 猫", k=50)
        with open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=self.clock) as copy:
            done = self.do(self.memory, "migrate", copy)
            self.note("copied", (done.owners, done.events, done.indexed))
            self.found("copy", copy.scoped(tenant=ODD, user="alice"), "cat 猫 flat", k=50)
            self.note("stats of the copy", counts(copy.stats()))
            self.note("files of the copy", self.all_files(copy.scoped(tenant=ODD, user="alice")))

    def forget(self) -> None:
        gone = self.do(self.alice, "forget", ids=["m3", "m5"])
        self.note("forgotten", dict(gone.erased))
        self.do(self.later, "forget", query="cello")
        self.found("without what is forgotten", self.alice, "Pixel cat 豆豆 cello Ana trams", k=50)
        self.note("files without it", self.all_files(self.later))
        self.note("facts without it", [(fact.attribute, fact.value) for fact in self.do(self.alice, "facts")])
        self.do(self.memory, "forget", user="bob", tenant=ODD)
        self.note("bob", texts(self.do(self.memory.scoped(tenant=ODD, user="bob"), "history")))
        self.note("last stats", counts(self.do(self.memory, "stats")))


def counts(stats: Stats) -> dict[str, int]:
    names = ("owners", "sessions", "events", "records", "vectors", "unindexed", "pending")
    assert set(names) < {part.name for part in fields(stats)}
    return {name: getattr(stats, name) for name in names}


def plain(text: str) -> str:
    """Without positions, which may have other gaps in every engine."""
    return re.sub(r"#\d+(-\d+)?", "#", text)


def assert_same(mine: dict[str, Any], oracle: dict[str, Any]) -> None:
    assert mine.keys() == oracle.keys()
    for name, answer in oracle.items():
        scored = isinstance(answer, list) and all(isinstance(row, tuple) and len(row) == 3 for row in answer)
        if scored and answer and isinstance(answer[0][2], float):
            assert [row[:2] for row in mine[name]] == [row[:2] for row in answer], name
            assert [row[2] for row in mine[name]] == pytest.approx([row[2] for row in answer], abs=1e-3), name
        else:
            assert mine[name] == answer, name


ORACLES: dict[object, dict[str, Any]] = {}


@pytest.fixture
def oracle(face: Face) -> dict[str, Any]:
    """What the memory in this process answers."""
    if face not in ORACLES:
        ORACLES[face] = told_in_memory(face)
    return ORACLES[face]


def told_in_memory(face: Face) -> dict[str, Any]:
    clock = Clock(MONDAY)
    with open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=clock) as memory:
        told = Teller(memory, clock, face).play()
    # That they agree would show little if they agreed on nothing.
    assert [name for name, answer in told.items() if not answer] == ["query 12: flat", "bob"]
    assert told["query 5: what is in /srv/reports/urchins-2024.pdf"][0][0] == SAID[8][1]
    assert told["query 6: Oceanarim"][0][0] == SAID[2][1]
    assert not any("parrot" in text for text, *_ in told["rolled back"])
    assert "parrot" in told["rolled forward"][0][0]
    assert told["files"][NOTES] == "# Band\n\n- Ana plays the cello\n- Bo plays the 笛子\n- Cy plays the tuba\n"
    assert told["files without it"][NOTES] == "- Bo plays the 笛子\n- Cy plays the tuba\n"
    assert not any("Pixel," in text or "Ana" in text for text, *_ in told["without what is forgotten"])
    return told


@pytest.mark.parametrize(("face", "engines"), ENGINES, indirect=["face"])
def test_every_verb_answers_as_in_memory(engines: str, new_config: Config, face: Face, oracle: dict[str, Any]) -> None:
    clock = Clock(MONDAY)
    with open_memory(new_config(engines), clock=clock) as memory:
        assert_same(Teller(memory, clock, face).play(), oracle)


@pytest.mark.parametrize("engines", ["redis", "redis+milvus", "sqlite+redis", "postgres", "postgres+redis"])
def test_two_memories_on_the_same_engines_stay_in_step(engines: str, new_config: Config) -> None:
    config = new_config(engines)
    with open_memory(config) as one, open_memory(config) as other:
        writer, reader = (memory.scoped(user="alice", session="s") for memory in (one, other))
        for number in range(4):
            assert not [hit for hit in reader.recall("tram", k=50) if str(number) in hit.record.text]
            writer.remember(f"Tram number {number} goes to the harbour.")
            assert reader.recall("tram", k=50)[0].record.text.endswith("harbour.")
            assert len(reader.recall("tram", k=50)) == number + 1
            writer, reader = reader, writer
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda number: (writer, reader)[number % 2].remember(f"ferry {number}"), range(24)))
            found = list(pool.map(lambda scoped: scoped.recall("ferry", k=100), (writer, reader) * 2))
        said = sorted(
            [*(f"ferry {n}" for n in range(24)), *(f"Tram number {n} goes to the harbour." for n in range(4))]
        )
        assert [sorted(hit.record.text for hit in hits) for hits in found] == [said] * 4
        one.flush()  # Milvus has no transactions: while both index, a score may be off
        told = [[(hit.record.id, hit.score) for hit in scoped.recall("a tram")] for scoped in (writer, reader)]
        assert told[0] == told[1]
        stats = counts(other.stats())
        assert (stats["records"], stats["vectors"], stats["unindexed"], stats["pending"]) == (28, 28, 0, 0)
        gone = writer.forget(query="harbour")
        assert gone.erased["turns"] == 4
        assert len(reader.recall("tram harbour ferry", k=100)) == 24
