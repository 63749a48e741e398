"""What verbs cost in a long history: as much of the log as in a short one, and no more than a share of one input."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hybrid_memory import Event, HybridMemory, MemoryConfig, ScopedMemory, UserProfile, open_memory
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.artifacts.reading import MAX_CHANGED, read_ledger
from hybrid_memory.context.compact import MAX_STRETCHES
from hybrid_memory.context.shortening import excerpt as shortened_to
from hybrid_memory.facts.profiling import MAX_FACTS, profile_of
from hybrid_memory.facts.statements import Statements
from hybrid_memory.recall.plan import MAX_TIMES, plan
from hybrid_memory.text.asking import MAX_CHARS, about_now
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.dates import find_times
from hybrid_memory.text.sentences import excerpt
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import Clock, Line, assert_linear
from tests.world import assistant, calls, event, user

NOW = datetime(2024, 5, 1, 9, tzinfo=UTC)
KINDS = ("green", "black", "white", "cold", "sweet", "bitter", "strong", "weak", "old", "young")


class CountedLog(Line):
    """A log that counts the events that it gives out."""

    events = 0

    def read(self, *args: Any, **kwargs: Any) -> list[Event]:
        found: list[Event] = self.inner.read(*args, **kwargs)
        self.events += len(found)
        return found


@contextmanager
def grown(turns: int) -> Iterator[tuple[HybridMemory, CountedLog]]:
    """A memory with so many turns, and with as many facts, folds, blocks, notes and edits in proportion."""
    config = MemoryConfig.of({"url": "memory://", "embedder": "hashing", "compaction": {"max_tokens": 1500}})
    with open_memory(config, clock=Clock()) as memory:
        me = memory.scoped(user="u", session="s")
        for turn in range(turns):
            said = (
                f"I like {KINDS[turn % 10]} tea{turn}.",
                f"I live in City{turn % 7}.",
                f"Remind me to buy item{turn}.",
            )
            asked, answer = user(said[turn % 3], f"u{turn}"), assistant(f"Noted: {turn}.", f"a{turn}")
            me.remember([asked, answer])
            if turn % 10 == 9:
                me.assemble("What is new?")
                me.block("human").put(f"turn {turn}")
                me.mirror([asked, answer.model_copy(update={"content": "Anew."})])
        memory.flush()
        log = CountedLog(memory._runtime.services.log)
        memory._runtime.services.log = log  # type: ignore[assignment]
        yield memory, log


VERBS: dict[str, Callable[[HybridMemory, ScopedMemory], object]] = {
    "recall": lambda _, me: me.recall("coffee"),
    "facts": lambda _, me: me.facts(attribute="home"),
    "profile": lambda _, me: me.profile(),
    "assemble": lambda _, me: me.assemble(),
    "summary": lambda _, me: me.summary(),
    "blocks": lambda _, me: me.blocks(),
    "history": lambda _, me: me.history(limit=5),
    "conversation": lambda _, me: me.history(current=True, limit=5),
    "events": lambda _, me: me.events(limit=5),
    "mirror": lambda _, me: me.mirror([user("Well?", "w"), user("Well!", "x")]),
    "flush": lambda memory, _: memory.flush(),
}


ROOM = {"summary": 50}
"""The turns behind as many lines as a summary has room for."""


def test_no_verb_reads_more_of_a_longer_log() -> None:
    read: list[dict[str, int]] = []
    for turns in (90, 330):
        with grown(turns) as (memory, log):
            me = memory.scoped(user="u", session="s")
            counts = {}
            for name, verb in VERBS.items():
                several = []
                for _ in range(8 if name == "assemble" else 2):  # the queue is longest before a fold
                    me.remember("I like coffee.")
                    log.events = 0
                    verb(memory, me)
                    several.append(log.events)
                counts[name] = min(several)
            read.append(counts)
    short, long = read
    grew = {name: (short[name], long[name]) for name in VERBS if long[name] > 1.6 * short[name] + ROOM.get(name, 12)}
    assert not grew


def test_a_field_looks_at_so_many_facts() -> None:
    with open_memory("memory://", embedder="none") as memory:
        me = memory.scoped(user="u")
        me.remember("I like tea.")
        (fact,) = me.facts()
    liking = replace(fact, attribute="likes", verbatim=False)
    many = [replace(liking, id=number, value=f"tea{number}") for number in range(2 * MAX_FACTS)]
    made = profile_of(many, UserProfile)
    assert len(made.likes) == MAX_FACTS
    assert f"tea{2 * MAX_FACTS - 1}" in made.likes


PIECES = {
    "digits": "1234567890", "every": "every ", "years": "年", "days": "明天", "weeks": "上周一", "third": "三号",
    "nested": "({[", "one word": "abcdefgh", "short sentences": "Hi. ", "dotted": "a.", "dashes": "-",
    "stutter": "I am ", "names": "Anna Bob ", "quotes": "“", "me": "我", "longer stutter": "I like tea and ",
    "dates": "1月1日", "ids": "a1_",
}  # fmt: skip
READERS: dict[str, Callable[[str], object]] = {
    "times": lambda text: find_times(text, NOW),
    "plan": lambda text: plan(text, now=NOW, candidates=48),
    "now": about_now,
    "clean": clean,
    "rules": lambda text: Statements().extract([event(1, text)], []),
}


@pytest.mark.parametrize("reader", READERS)
def test_any_text_is_read_in_linear_time(reader: str) -> None:
    for piece in PIECES.values():
        assert_linear(READERS[reader], lambda size, piece=piece: (piece * size)[:size], 8_000)  # type: ignore[misc]


def test_a_long_query_is_read_at_its_ends() -> None:
    query = f"What did I say on 2024-03-01? {'and then ' * MAX_CHARS}. Who said 'the blue door' on 2024-04-01?"
    made = plan(query, now=NOW, candidates=48)
    assert [span.text for span in made.times] == ["2024-03-01", "2024-04-01"]
    assert [entity.text for entity in made.entities if entity.verbatim] == ["the blue door"]
    many = " ".join(f"2024-01-{day:02d}" for day in range(1, 31))
    assert len(plan(f"What happened on {many}?", now=NOW, candidates=48).times) == MAX_TIMES


def test_rollbacks_of_rollbacks_to_any_depth() -> None:
    with open_memory("memory://", embedder="none") as memory:
        me = memory.scoped(user="u")
        me.remember("The first word.")
        for _ in range(1200):
            (position,) = me.rollback(len(me.events(limit=1)) and me.events(limit=1)[-1].position).positions
        assert position > 1200
        assert [message.text for message in me.history()] == ["The first word."]
        me.remember("The second word.")
        me.rollback(1)
        assert [message.text for message in me.history()] == ["The first word."]


def folded(memory: HybridMemory, folds: int) -> ScopedMemory:
    """A session with so many folds, each with an edited message among its turns, and one of another session."""
    me = memory.scoped(user="u", session="s")
    me.mirror([user("Begin.", "begin")])
    for number in range(folds):
        said, answer = user(f"I wrote src/part_{number}.py.", f"u{number}"), assistant(f"Noted {number}.", f"a{number}")
        me.remember([said, answer])
        me.mirror([said, answer.model_copy(update={"content": f"Noted anew {number}."})])
        me.remember("And so on.")
        me.compact(keep=1)
    other = memory.scoped(user="u", session="other")
    other.remember(["Once.", "Twice.", "Thrice."])
    other.compact(keep=1)
    return me


def test_a_state_holds_so_many_stretches_and_edits_do_not_keep_them_from_being_joined() -> None:
    with open_memory("memory://", embedder="none") as memory:
        me = folded(memory, MAX_STRETCHES + 12)
        summary = me.summary()
        assert len(summary.stretches) == MAX_STRETCHES
        assert summary.stretches == tuple(sorted(summary.stretches))
        shown = {message.text for first, last in summary.stretches for message in me.expand(f"#{first}-{last}")}
        assert shown >= {f"Noted anew {number}." for number in range(MAX_STRETCHES + 11)}


def test_what_a_question_of_many_words_is_about_is_found_in_linear_time() -> None:
    for read in (
        lambda text: excerpt(text, terms(text), 600),
        lambda text: shortened_to(text, 300, words=terms(text), count=estimate_tokens),
    ):
        assert_linear(read, lambda size: "".join(f"I like tea{n}. " for n in range(size // 14)), 120_000)


def test_a_ledger_keeps_so_many_files_and_those_that_come_back() -> None:
    ledger = Ledger()
    numbers = [*range(MAX_CHANGED), 3, *range(MAX_CHANGED, MAX_CHANGED + 20)]
    for row in range(0, len(numbers), 60):
        written = [
            calls(f"c{number}", tool="write_file", path=f"src/f{number}.py") for number in numbers[row : row + 60]
        ]
        ledger = read_ledger([call.model_copy(update={"id": f"m{row}"}) for call in written], ledger)
    paths = [file.path for file in ledger.files]
    assert len(paths) == MAX_CHANGED
    assert "src/f3.py" in paths
    assert "src/f4.py" not in paths
    assert f"src/f{MAX_CHANGED + 19}.py" in paths


def test_an_edit_does_not_let_blocks_be_made_anew() -> None:
    with open_memory("memory://", embedder="none") as memory:
        memory.scoped(user="u", session="before").remember("I am allergic to nuts.")
        me = memory.scoped(user="u", session="s")
        said = [user("What can I cook?", "q"), assistant("Hi.", "a")]
        me.mirror(said)
        for number in range(20):
            me.block("human").put(f"text {number}")
        log = CountedLog(memory._runtime.services.log)
        memory._runtime.services.log = log  # type: ignore[assignment]
        for number in range(6):
            me.mirror([said[0], said[1].model_copy(update={"content": f"Hi {number}."})])
            assert "nuts" in str(me.assemble().messages)
            log.events = 0
            assert me.blocks()["human"].value == "text 19"
            if number:
                assert log.events < 4
