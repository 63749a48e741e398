"""Learning: what was said becomes facts, once, whoever learns and whatever fails."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.testing.models import FaultyModel, ScriptedModel
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import Deriving, events_of, wait_until
from tests.faces import Child, Face, Open

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.fixture
def opened(opened: Open) -> Open:
    """Opens memories without an embedder."""
    return partial(opened, url="memory://", embedder="none", token_counter=estimate_tokens)


def test_threads_and_processes_that_learn_at_once_lose_no_fact(opened: Open, store: str, child: Child) -> None:
    opened(url=store).close()
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda who: child("at_once.py", "learn", store, who, "5"), ["a", "b"]))
    for process in ended:
        assert process.returncode == 0, process.stderr
    crowd = opened(url=store).scoped(user="crowd")
    said = {line for process in ended for line in process.stdout.splitlines()}
    assert len(said) == 2 * 8 * 5
    assert {fact.text for fact in crowd.facts()} == said
    sources = Counter(event.payload["source"] for event in events_of(crowd, EventKind.CLAIM))
    assert set(sources.values()) == {1}, "each turn was read once"


def test_facts_can_be_chosen() -> None:
    derived = Deriving(
        ("Paris", "user", "home", "Paris"), ("nurse", "Nora", "profession", "nurse"),
        ("dentist", "Nora", "todo", "call the dentist"),
    )  # fmt: skip
    alice = open_memory(MemoryConfig(url="memory://", embedder="none"), extractor=derived).scoped(user="alice")
    alice.remember(["I live in Paris.", "My sister Nora is a nurse.", "Nora must call the dentist."])
    assert {fact.subject for fact in alice.facts()} == {"user", "Nora"}
    assert {fact.value for fact in alice.facts(subject="nora")} == {"nurse", "call the dentist"}
    assert [fact.value for fact in alice.facts(attribute="home")] == ["Paris"]
    assert [fact.attribute for fact in alice.facts(category="task")] == ["todo"]
    with pytest.raises(InvalidInputError, match="unknown category"):
        alice.facts(category="weather")
    with pytest.raises(InvalidInputError, match="subject"):
        alice.facts(subject=3)  # type: ignore[arg-type]


HABIT = {"turn": 1, "subject": "user", "attribute": "habit", "value": "runs at dawn", "stance": "holds"}


@pytest.mark.background
def test_a_model_reads_after_the_reply_once_and_off_its_path(opened: Open) -> None:
    model = ScriptedModel([{"facts": [HABIT]}])
    alice = opened(language_model=model, learning={"delay": timedelta(seconds=0.1)}).scoped(user="alice", session="s")
    alice.remember("My lungs like it best when the city sleeps, so I run at dawn.")
    alice.remember("Impressive!", role="assistant")
    wait_until(lambda: bool(alice.facts(attribute="habit")))
    (fact,) = alice.facts(attribute="habit")
    assert "model scripted" in fact.by
    assert len(model.prompts) == 1, "one call for both messages"


@pytest.mark.background
@pytest.mark.parametrize("background", [True, False])
def test_rules_read_by_themselves_after_the_reply_unless_told_not_to(opened: Open, background: bool) -> None:
    memory = opened(learning={"background": background, "delay": timedelta(seconds=0.1 if background else 0)})
    alice = memory.scoped(user="alice", session="s")
    alice.remember("I live in Paris.")
    wait_until(lambda: "indexing" in memory.stats().work.kinds and memory.stats().work.kinds["indexing"].done >= 1)
    if background:
        wait_until(lambda: len(events_of(alice, EventKind.CLAIM)) == 1)
    assert ("learning" in memory.stats().work.kinds) is background
    assert len(events_of(alice, EventKind.CLAIM)) == background


@pytest.mark.parametrize("fault", ["raises", "empty", "rubbish", "broken JSON"])
def test_a_failing_model_costs_no_fact_and_is_asked_again(opened: Open, face: Face, fault: Any) -> None:
    model = FaultyModel(fault)
    alice = opened(language_model=model, learning={"background": False}).scoped(user="alice", session="s")
    alice.remember("I live in Paris.")
    assert face(alice).flush().indexed == 1, "which goes on without the model"
    assert [fact.value for fact in alice.facts(attribute="home")] == ["Paris"]
    calls = model.calls
    face(alice).flush()
    assert model.calls > calls, "asked again"


def test_why_tells_the_whole_chain(face: Face, alice: ScopedMemory) -> None:
    alice.remember("I live in Paris.", at=START)
    alice.remember("I moved to Berlin.", at=START + timedelta(days=9))
    alice.flush()
    (fact,) = alice.facts(attribute="home")
    (hit,) = alice.recall("moved", k=1, kinds=["turn"])
    first, second = (face(alice).why(what) for what in (fact, hit))
    assert [name for name, _ in first.turns] == ["#1", "#2"]
    assert [one.value for one in first.facts] == ["Berlin", "Paris"]
    for part in ("'Berlin'", "replaced 'Paris'", "2024-05-01 09:00 user: I live in Paris.", "moved to"):
        assert part in str(first)
    assert "#2" in str(second)
    assert "'Berlin'" in str(second)
    for bad in [3, "no such thing", None]:
        with pytest.raises(InvalidInputError):
            face(alice).why(bad)  # type: ignore[arg-type]


def test_the_prompt_shows_what_was_learned_before_the_session(memory: HybridMemory) -> None:
    memory.scoped(user="alice", session="s1").remember("My name is Ann. I work at Acme.")
    later = memory.scoped(user="alice", session="s2")
    later.remember("Hello again! I also love jazz.")
    text = later.assemble("What do you know about me?", k=0, max_tokens=800).text
    assert "My name is Ann." in text
    assert text.count("jazz") == 1, "what was said in the session stands in its turn"
    assert "Acme" in later.assemble("What do you know about me?", max_tokens=800).text
    assert "Ann" not in later.assemble("What do you know about me?", k=0, max_tokens=800, profile="").text
