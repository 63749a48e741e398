"""What is forgotten is gone: from every verb, and from every byte of the store."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Block, Event, EventKind, HybridMemory, MemoryConfig, Scope, ScopedMemory, open_memory
from hybrid_memory.context import compact
from hybrid_memory.context.queue import QueueState
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.facts import FactsProjection
from hybrid_memory.index.record import Where
from hybrid_memory.log.port import Draft
from hybrid_memory.log.views import DelegatingLog
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.store import forget
from hybrid_memory.store.erasure import STREAM_BATCH
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import FaultyEmbedder, texts
from tests.faces import Face, Open
from tests.world import cases, holding, rows

START = datetime(2024, 5, 1, 9, tzinfo=UTC)
CANARY = "zirconquokka"
CANARIES = (CANARY, "锆石短尾袋鼠")
FORMS = (*CANARIES, CANARY.upper())
NOW = START + timedelta(days=60)


@pytest.fixture
def opened(opened: Open) -> Open:
    return partial(opened, power_safe=True, token_counter=estimate_tokens, clock=lambda: NOW)


def chat(alice: ScopedMemory) -> ScopedMemory:
    """A conversation with a canary in turns, facts, a summary, notes, the ledger and a payload."""
    for number in range(12):
        alice.remember(f"Room {number} has {number + 2} chairs and a window.", at=START + timedelta(minutes=number))
    for number, word in enumerate(CANARIES):
        at = START + timedelta(hours=1 + number)
        alice.remember(f"I live in {word}. Remember that my password is {word}!", at=at)
        alice.remember(f"Noted: {word}.", role="assistant", at=at + timedelta(minutes=1))
    written = {"path": f"src/{CANARY}.py", "content": CANARY}
    alice.remember(
        [{"role": "assistant", "tool_calls": [{"name": "write_file", "arguments": written, "id": "1"}]},
         {"role": "tool", "tool_call_id": "1", "content": f"wrote {CANARY}"}], at=START + timedelta(hours=4),
    )  # fmt: skip
    alice.offload(f"A long result about {CANARY} and 锆石短尾袋鼠. " * 50)
    alice.flush()
    alice.assemble(f"What is {CANARY}?", max_tokens=600)
    alice.compact(keep=1)
    alice.remember("Thanks, that is all for today.", at=START + timedelta(hours=5))
    alice.remember("And one more room.", at=START + timedelta(hours=6))
    alice.compact(keep=1)
    alice.flush()
    return alice


def test_no_byte_of_a_canary_is_left(opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        alice = chat(memory.scoped(user="alice", session="s1"))
        assert holding(tmp_path, FORMS), "the canary was there"
        for word in CANARIES:
            receipt = alice.forget(query=word)
            assert receipt.erased["turns"] >= 2
        assert holding(tmp_path, FORMS) == [], "while the store is open"
        assert not [line for line in alice.summary() if CANARY in line.text]
        assert CANARY not in alice.summary().text
        assert not [fact for fact in alice.facts(history=True) if CANARY in fact.value]
        assert not [hit for hit in alice.recall(CANARY, k=50) if CANARY in hit.record.text]
        assert CANARY not in alice.assemble("What do you know?", max_tokens=900).text
    assert holding(tmp_path, FORMS) == [], "after closing"
    memory = opened()
    assert len(memory.scoped(user="alice", session="s1").history()) == 14
    memory.rebuild()
    assert holding(tmp_path, FORMS) == []


def test_a_dry_run_tells_and_changes_nothing(memory: HybridMemory, alice: ScopedMemory, face: Face) -> None:
    chat(alice)
    before = memory.stats()
    receipt = face(alice).forget(query=CANARY, dry_run=True)
    assert receipt.dry_run
    assert memory.stats() == before
    nothing = face(alice).forget(query="Rome")
    assert (nothing.ids, dict(nothing.erased), memory.stats().events) == ((), {}, before.events)
    done = face(alice).forget(query=CANARY)
    assert {name: done.erased[name] for name in receipt.erased} == dict(receipt.erased)
    assert done.positions == receipt.positions


def test_a_user_is_forgotten_everywhere(memory: HybridMemory, alice: ScopedMemory, tmp_path: Path, face: Face) -> None:
    chat(alice)
    memory.scoped(user="alice", agent="coder").remember(f"The {CANARY} is mine.")
    team = memory.scoped(user="bob").space("team").create()
    team.grant(user="alice", right="write")
    team.remember("Bob was here.")
    memory.scoped(user="alice").space("team").remember(f"And {CANARY} was too.")
    memory.flush()
    assert team.recall(CANARY, k=5)
    planned = face(memory).forget(user="alice", dry_run=True)
    assert holding(tmp_path, FORMS)
    assert planned.erased["turns"] == face(memory).forget(user="alice").erased["turns"]
    assert holding(tmp_path, FORMS) == []
    assert texts(team.history()) == ["Bob was here."]


def test_a_user_who_never_spoke_is_forgotten_too(alice: ScopedMemory, face: Face) -> None:
    alice.blocks(begin=[Block("plan", CANARY)])
    assert face(alice).forget(user="alice").erased == {"block events": 1}
    assert not alice.blocks()


def test_the_next_turn_is_no_longer_found_by_what_it_answered(memory: HybridMemory, alice: ScopedMemory) -> None:
    (asked,) = alice.remember(f"Do you like the {CANARY}?", role="assistant").ids
    alice.remember("Only on Sundays!")
    alice.flush()
    asks = HashingEmbedder().embed_query(CANARY)

    def likeness() -> list[float]:
        rows, present = memory._runtime.services.index.vector_rows(alice.scope, np.arange(1, 9))
        return [float(vector @ asks) for vector in rows[present]]

    assert min(likeness()) > 0, "the answer is embedded behind what it answers"
    alice.forget(ids=asked)
    alice.flush()
    assert likeness() == [0.0]


@pytest.mark.parametrize(
    "wanted",
    [{}, {"ids": "x", "query": "y"}, {"ids": []}, {"ids": "nobody"}, {"query": " "}, {"user": "bob"}, {"ids": [3]},
     {"before": datetime(2024, 1, 1)}],  # noqa: DTZ001 - naive
)  # fmt: skip
def test_what_is_not_clear_destroys_nothing(alice: ScopedMemory, wanted: dict[str, Any]) -> None:
    alice.remember("I live in Paris.")
    with pytest.raises(InvalidInputError):
        alice.forget(**wanted)
    assert len(alice.history()) == 1


@pytest.mark.parametrize(
    ("retention", "ages"),
    [({"ttl": {"turn": timedelta(days=30)}}, (60, 1)), ({"half_life": timedelta(days=10), "least": 0.1}, (60, 60))],
    ids=["time to live", "forgetting curve"],
)
def test_expired_turns_go(opened: Open, retention: dict[str, Any], ages: tuple[int, int]) -> None:
    """By age, or later the more it matters."""
    alice = opened(embedder="none", retention=retention).scoped(user="alice", session="s1")
    for age, importance, text in zip(ages, (0.0, 1.0), ("Trivial chairs.", "Vital chairs."), strict=True):
        alice.remember({"content": text, "importance": importance}, at=NOW - timedelta(days=age))
    assert texts(alice.recall("chairs", k=5)) == ["Vital chairs."]
    assert len(alice.history()) == 2
    assert alice.forget(expired=True).erased["turns"] == 1
    assert texts(alice.history()) == ["Vital chairs."]


def test_a_failing_embedder_does_not_keep_what_is_forgotten(opened: Open, tmp_path: Path) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    alice = chat(opened(embedder=embedder).scoped(user="alice", session="s1"))
    with embedder.failing(ConnectionError("offline")):
        for word in CANARIES:
            alice.forget(query=word)
    assert holding(tmp_path, FORMS) == []


TEXTS = st.lists(
    st.sampled_from(["I live in Paris.", "I love jazz.", "Nice day.", "我住在杭州。", "Call me Al."]), max_size=8
)


@given(TEXTS, st.sets(st.integers(0, 7)))
@settings(max_examples=20)
def test_what_is_left_is_as_if_the_rest_had_never_been_said(said: list[str], gone: set[int]) -> None:
    config = MemoryConfig(url="memory://", embedder="none")
    with open_memory(config) as memory, open_memory(config) as other:
        both = alice, fresh = [one.scoped(user="u", session="s") for one in (memory, other)]
        for number, text in enumerate(said):
            alice.remember(text, at=START + timedelta(days=number), id=f"m{number}")
            if number not in gone:
                fresh.remember(text, at=START + timedelta(days=number), id=f"m{number}")
        alice.flush()
        erased = [f"m{number}" for number in range(len(said)) if number in gone]
        if erased:
            alice.forget(ids=erased)
        fresh.flush()
        assert [m.id for m in alice.history()] == [m.id for m in fresh.history()]
        facts = [[(f.attribute, f.value, f.state, f.sources) for f in one.facts(history=True)] for one in both]
        assert facts[0] == facts[1]
        assert alice.profile() == fresh.profile()
        found = [sorted(hit.record.text for hit in one.recall("Paris jazz day 杭州 call", k=50)) for one in both]
        assert found[0] == found[1]


@pytest.mark.parametrize("dry_run", [True, False])
def test_words_that_other_sessions_hold_too_are_told_of(memory: HybridMemory, dry_run: bool) -> None:
    memory.scoped(user="u", session="monday").remember(["hazelnuts", "walnuts"])
    friday = memory.scoped(user="u", session="friday")
    assert friday.forget(query="hazelnuts", dry_run=dry_run).note.startswith("1 of other sessions hold these words")
    friday.remember("hazelnuts again")
    receipt = friday.forget(query="hazelnuts", dry_run=dry_run)
    assert (receipt.erased["turns"], receipt.note[:10]) == (1, "1 of other")
    assert receipt.note in repr(receipt)
    assert friday.forget(query="almonds", dry_run=dry_run).note == ""
    assert memory.scoped(user="u").forget(query="hazelnuts", dry_run=dry_run).note == ""


def test_what_is_kept_of_others_stays_when_somebody_forgets(opened: Open) -> None:
    with opened() as memory:
        alice, bob = (memory.scoped(user=name, session="s1") for name in ("alice", "bob"))
        for one in (alice, bob):
            one.remember([f"I live in {CANARY}.", *(f"Room {number} has chairs." for number in range(12))])
            one.facts()
            one.recall("chairs")
        services = memory._runtime.services
        caches: list[LruCache[Any, Any]] = [services.state(RecallProjection).answers]
        caches.append(services.state(FactsProjection).known)
        alice.forget(query=CANARY)
        hits = [cache.hits for cache in caches]
        bob.recall("chairs")
        bob.facts()
        assert all(cache.hits > before for cache, before in zip(caches, hits, strict=True))
        assert not [hit for hit in alice.recall(CANARY, k=50) if CANARY in hit.record.text]


HIDDEN = cases("forgetting.json", "hidden")


@pytest.mark.parametrize("message", HIDDEN)
@pytest.mark.parametrize("query", [CANARY, "Zircon\u00adquokka"])
def test_words_are_found_wherever_a_message_holds_them(
    alice: ScopedMemory, query: str, message: dict[str, Any]
) -> None:
    (name,) = alice.remember({"role": "user", **message}).ids
    alice.remember({"content": "Nice.", "metadata": {"place": "Rome"}})
    assert alice.forget(query=query, dry_run=True).ids == (name,)
    assert alice.forget(query=query).ids == (name,)
    assert [message.text for message in alice.history()] == ["Nice."]


@pytest.mark.parametrize("row", rows("whole_words.tsv"), ids=" ".join)
def test_words_are_whole_where_a_script_separates_them(alice: ScopedMemory, row: tuple[str, ...]) -> None:
    """The query, what goes by it, and behind the arrow what stays."""
    arrow = row.index("=>")
    query, goes, stays = row[0], row[1:arrow], list(row[arrow + 1 :])
    alice.block("notes").put("\n".join([*goes, *stays]))
    alice.remember([*goes, *stays])
    planned = alice.forget(query=query, dry_run=True)
    assert [line.partition("user: ")[2] for line in planned.turns] == [" ".join(text.split()) for text in goes]
    assert alice.forget(query=query).turns == ()
    assert texts(alice.history()) == stays
    assert alice.blocks()["notes"].value == "\n".join(stays)


def test_what_is_no_text_is_not_searched_for_words(alice: ScopedMemory) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUOKKAzircon" * 40}}
    sound = {"type": "input_audio", "input_audio": {"data": "zirconQUOKKA" * 40, "format": "wav"}}
    alice.remember({"content": [{"type": "text", "text": "Look."}, picture, sound]})
    assert alice.forget(query="quokka").ids == ()
    for nothing in ("\u200b", "\u00ad \u2060"):
        with pytest.raises(InvalidInputError):
            alice.forget(query=nothing)


def test_blocks_from_before_an_instant_go_with_the_turns(memory: HybridMemory, face: Face) -> None:
    clock = [START]
    memory._runtime.services.clock = lambda: clock[0]
    alice = memory.scoped(user="alice", session="s1")
    home = alice.block("human")
    home.put(value=f"Lives in {CANARY}.", description=f"About the {CANARY}.")
    clock[0] += timedelta(days=2)
    home.edit(append="Likes tea.")
    instant = START + timedelta(days=1)
    assert alice.forget(before=START, dry_run=True).erased == {}
    assert face(alice).forget(before=instant, dry_run=True).erased == {"changes of blocks rewritten": 2}
    face(alice).forget(before=instant)
    assert home.history()[-1].value == "Likes tea."
    assert CANARY not in json.dumps([str(block) for block in home.history()])


def test_what_came_back_is_found_by_its_words(tmp_path: Path) -> None:
    """As stores have it in which something was derived while it was forgotten."""
    with open_memory(MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="none")) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember([{"content": f"I live in {CANARY}.", "id": "told"}, "Room 1.", "Room 2.", "Room 3."])
        alice.flush()
        other = memory.scoped(user="alice", session="s2")
        other.remember(f"Where is {CANARY[:6]}?")
        other.assemble(f"Do I live in {CANARY}?", max_tokens=2000)
        alice.compact(keep=1)
        log, owner = memory._runtime.services.truth, alice.scope.owner
        derived = [event for event in log.read(owner) if event.kind in REPEATING and CANARY in str(event.payload)]
        assert {event.kind for event in derived} == REPEATING
        alice.forget(ids="told")
        for number, event in enumerate(derived):
            log.append(owner, [replace(Draft.of(event), id=f"{event.id}{number}")])
        memory.rebuild()
        assert alice.facts()
        alice.forget(query=CANARY)
        assert not [event for event in log.read(owner) if CANARY in json.dumps(event.payload)]
        assert CANARY not in str([(fact.text, fact.value) for fact in alice.facts(history=True)])
        assert not alice.recall(CANARY)
    assert holding(tmp_path, FORMS) == []


REPEATING = {EventKind.CLAIM, EventKind.RECALLED, EventKind.COMPACTION}


class Counted(DelegatingLog):
    """Counts the events that are read."""

    seen = 0
    most = 0

    def read(self, scope: Scope, **which: Any) -> list[Event]:
        events: list[Event] = super().read(scope, **which)
        self.seen += len(events)
        self.most = max(self.most, len(events))
        return events


def test_forgetting_one_turn_reads_each_fold_and_the_turns_behind_it_once() -> None:
    """Not once for each fold; and at no time more than a batch."""
    with open_memory(MemoryConfig(url="memory://", embedder="none"), token_counter=estimate_tokens) as memory:
        alice = memory.scoped(user="alice", session="s1")
        for number in range(36):
            path = f"src/{CANARY if number == 10 else 'part'}_{number}.py"
            call = {"name": "write_file", "arguments": {"path": path, "content": "x"}, "id": f"c{number}"}
            alice.remember([
                f"Write the file {number}.", {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{number}", "content": "done"},
                {"role": "assistant", "content": f"File {number} is written."},
            ])  # fmt: skip
            alice.compact(keep=1)
        services = memory._runtime.services
        total = services.truth.count(alice.scope)
        services.log = counted = Counted(services.truth)
        receipt = alice.forget(query=CANARY)
        assert receipt.erased["summaries rewritten"] > 20
        assert counted.seen < 8 * total
        kept = [QueueState.of(event) for event in counted.read(alice.scope, kinds=(EventKind.COMPACTION,))]
        assert CANARY not in str(kept)
        assert "part_30.py" in str(kept[-1].summary.artifacts)
        memory.flush()
        last = [str(message.id) for message in alice.history()][-2:]
        counted.seen = 0
        alice.forget(ids=last)
        assert counted.seen < total // 4


def test_folds_that_were_joined_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn at most once, however many folds there are."""
    monkeypatch.setattr(compact, "MAX_STRETCHES", 4)
    with open_memory(MemoryConfig(url="memory://", embedder="none"), token_counter=estimate_tokens) as memory:
        alice = memory.scoped(user="alice", session="s1")
        for number in range(24):
            name = CANARY if number == 2 else f"part_{chr(97 + number)}"  # numbers would make a series of one line
            alice.remember([f"Look at https://x.org/{name}, please.", {"role": "assistant", "content": "I did."}])
            alice.compact(keep=1)
        memory.flush()
        services = memory._runtime.services
        services.log = counted = Counted(services.truth)
        total = services.truth.count(alice.scope)
        alice.forget(query=CANARY)
        assert counted.seen < 3 * total
        kept = [QueueState.of(event) for event in counted.read(alice.scope, kinds=(EventKind.COMPACTION,))]
        assert len(kept[-1].summary.stretches) == 4
        texts = [[mention.text for mention in state.summary.artifacts.urls] for state in kept]
        assert texts[-1] == [f"https://x.org/part_{chr(97 + number)}" for number in range(23) if number != 2]


def test_a_query_reads_in_batches(memory: HybridMemory, alice: ScopedMemory) -> None:
    alice.remember([f"Room {number}." for number in range(1_200)])
    memory.flush()
    services = memory._runtime.services
    services.log = counted = Counted(services.truth)
    assert len(alice.forget(query="room 1199").ids) == 1
    assert counted.most <= STREAM_BATCH


class HeldUpError(Exception):
    """Stands for a process that is held up."""


@pytest.mark.parametrize("lands", ["upsert", "delete"])
def test_terms_of_the_next_turn_go_while_another_process_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lands: str
) -> None:
    """It has read what came at this moment, and stores it before the new terms are stored, or after these."""
    url = f"sqlite:///{tmp_path}/memory.db"
    monkeypatch.setattr(forget, "TRIES", 0)  # so nobody is waited for
    config = MemoryConfig(url=url, embedder="none")
    with open_memory(config, token_counter=estimate_tokens) as memory, open_memory(config) as other:
        alice = memory.scoped(user="alice", session="s1")
        answer = {"role": "assistant", "content": "Yes."}
        first, *_ = alice.remember([f"Is it {CANARY}?", *([answer] if lands == "upsert" else [])]).ids
        memory.flush()
        index, log, its_index = (
            memory._runtime.services.index,
            memory._runtime.services.truth,
            other._runtime.services.index,
        )
        real: dict[str, Any] = {"erase": log.erase, "upsert": index.upsert, "delete": index.delete}
        held: list[Callable[[], bool]] = []

        def stored_late(*given: Any, **named: Any) -> bool:
            held.append(partial(real["upsert"], *given, **named))
            raise HeldUpError

        def erased(*given: Any, **named: Any) -> Any:
            monkeypatch.setattr(log, "erase", real["erase"])
            other.scoped(user="alice", session="s2" if lands == "upsert" else "s1").remember(answer)
            monkeypatch.setattr(its_index, "upsert", stored_late)
            with pytest.raises(HeldUpError):
                other.flush()
            monkeypatch.undo()
            monkeypatch.setattr(index, lands, landed)
            return real["erase"](*given, **named)

        def landed(*given: Any, **named: Any) -> Any:
            monkeypatch.undo()
            assert held.pop()()
            return real[lands](*given, **named)

        monkeypatch.setattr(log, "erase", erased)
        alice.forget(ids=first)
        assert held == []
        assert index.search([CANARY], Where(alice.scope.owner), 9).ids.tolist() == []
        assert "Yes." in [hit.record.text for hit in alice.recall("yes")]


@pytest.mark.parametrize("how", ["remember", "mirror", "another session", "a new process"])
def test_a_forgotten_message_stays_so_under_its_id(opened: Open, how: str) -> None:
    said = [{"id": f"m{row}", "content": text} for row, text in enumerate(("I live in Rome.", "My cat is Tom."))]
    memory = opened()
    ann = memory.scoped(user="ann", session="s")
    ann.remember(said)
    ann.forget(query="Rome")
    if how == "a new process":
        memory.close()
        ann = opened().scoped(user="ann", session="s")
    if how == "another session":
        ann = memory.scoped(user="ann", session="other")
    if how == "mirror":
        assert ann.mirror([*said[:1], {"id": "m2", "content": "And now?"}]) == [None, "m2"]
    else:
        receipt = ann.remember(said)
        assert (receipt.ids, receipt.forgotten) == (("m0", "m1"), ("m0",))
    assert all("Rome" not in message.text for message in ann.history())
    assert [fact.value for fact in ann.facts(attribute="home")] == []


def test_what_is_said_again_after_forgetting_is_stored(opened: Open) -> None:
    ann = opened().scoped(user="ann", session="s")
    ann.remember("I live in Rome.", id="turn-1")
    ann.forget(query="Rome")
    ann.remember("I live in Rome.")
    ann.remember("I live in Oslo.", id="turn-1")  # other words under the number of a file that has grown
    assert [message.text for message in ann.history()] == ["I live in Rome.", "I live in Oslo."]
    ann.forget(user="ann")
    assert not ann.remember("I live in Oslo.", id="turn-1").forgotten
