"""Learning: what was said becomes facts, once, whoever learns and whatever fails."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory import EventKind, Explanation, HybridMemory, MemoryConfig, RecordKind, UserProfile, open_memory
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.facts.learn import Extractors
from hybrid_memory.testing.language import FaultyModel, ScriptedModel
from hybrid_memory.text.tokens import estimate_tokens
from tests.doubles import wait_until

if TYPE_CHECKING:
    from tests.conftest import Child, Face

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def opened(url: str = "memory://", language_model: Any = None, **config: Any) -> HybridMemory:
    settings: dict[str, Any] = {"embedder": "none", "power_safe": False, **config}
    return open_memory(MemoryConfig(url=url, **settings), language_model=language_model, token_counter=estimate_tokens)


def test_threads_and_processes_that_learn_at_once_lose_no_fact(tmp_path: Path, child: Child) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    opened(url).close()
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda who: child("learner.py", url, who, timeout=120), ["a", "b"]))
    for process in ended:
        assert process.returncode == 0, process.stderr
    with opened(url) as memory:
        crowd = memory.scoped(user="crowd")
        said = {f"topic{who}x{thread}x{number}" for who in "ab" for thread in range(8) for number in range(5)}
        assert {fact.value for fact in crowd.facts(attribute="likes")} == said
        claims = memory._runtime.services.log.read(crowd.scope, kinds=(EventKind.CLAIM,))
        assert set(Counter(event.payload["source"] for event in claims).values()) == {1}, "each turn was read once"


def test_a_turn_is_read_once(face: Face) -> None:
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember(["I live in Paris.", "我喜欢喝茶。"])
        assert face(alice).learn().learned == 2
        assert face(alice).learn().learned == 0
        assert len(face(alice).facts()) == 2


def test_facts_are_found_and_lead_back_to_the_turns(face: Face) -> None:
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        (told,) = alice.remember("Oh, and my sister Nora has just moved to Lisbon, by the way.").ids
        alice.flush()
        (hit,) = face(alice).recall("Nora Lisbon", kinds=["fact"], k=1)
        assert hit.record.kind is RecordKind.FACT
        assert hit.record.sources == (told,)
        assert [message.id for message in alice.expand(hit)] == [told]
        everything = face(alice).recall("Nora Lisbon", k=5)
        assert [other.record.turn for other in everything] == [hit.record.turn], "what a turn says is returned once"


def test_what_is_out_of_date_falls_back_unless_the_past_is_asked_for() -> None:
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I live in Paris.", at=START)
        alice.remember("By the way, I moved to Berlin and live in a flat there.", at=START + timedelta(days=9))
        alice.flush()
        assert "Berlin" in alice.recall("Where do I live in?", k=2)[0].record.text
        now, then = (alice.recall(query, k=5) for query in ("Where do I live in?", "Where did I live before?"))
        assert {hit.signals.current for hit in now} == {0.0, 1.0}
        assert all(hit.weights.current == 0 for hit in then)


def test_facts_can_be_chosen() -> None:
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember(["I live in Paris.", "My sister Nora is a nurse.", "I need to call the dentist."])
        assert {fact.subject for fact in alice.facts()} >= {"user", "Nora"}
        assert {fact.subject for fact in alice.facts(subject="nora")} == {"Nora"}
        assert [fact.value for fact in alice.facts(attribute="home")] == ["Paris"]
        assert [fact.attribute for fact in alice.facts(category="task")] == ["todo"]
        with pytest.raises(InvalidInputError, match="no category"):
            alice.facts(category="weather")
        with pytest.raises(InvalidInputError, match="subject"):
            alice.facts(subject=3)  # type: ignore[arg-type]


@pytest.mark.background
def test_a_model_reads_after_the_reply_once_and_off_its_path() -> None:
    answer = {
        "facts": [{"turn": 1, "subject": "user", "attribute": "habit", "value": "runs at dawn", "stance": "holds"}]
    }
    model = ScriptedModel([answer])
    with opened(language_model=model, learning={"delay": timedelta(seconds=0.1)}) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("My lungs like it best when the city sleeps, so I run at dawn.")
        alice.remember("Impressive!", role="assistant")
        wait_until(lambda: bool(alice.facts(attribute="habit")))
        (fact,) = alice.facts(attribute="habit")
        assert fact.by == ("model scripted",) or "model scripted" in fact.by
        assert len(model.prompts) == 1, "one call for both messages"


@pytest.mark.background
async def test_rules_read_by_themselves_after_the_reply() -> None:
    with opened(learning={"delay": timedelta(seconds=0.1)}) as memory:
        alice = memory.scoped(user="alice", session="s")
        await alice.aremember("I live in Paris.")
        claims = memory._runtime.services.log.read
        assert not claims(alice.scope, kinds=(EventKind.CLAIM,))
        wait_until(lambda: len(claims(alice.scope, kinds=(EventKind.CLAIM,))) == 1)


@pytest.mark.background
def test_learning_by_itself_can_be_switched_off() -> None:
    with opened(learning={"background": False, "delay": timedelta(0)}) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I live in Paris.")
        wait_until(lambda: memory._runtime.services.index.size().records == 1)
        wait_until(lambda: memory.stats().work.kinds["indexing"].done >= 1)
        assert "learning" not in memory.stats().work.kinds
        assert not memory._runtime.services.log.read(alice.scope, kinds=(EventKind.CLAIM,))


@pytest.mark.parametrize("fault", ["raises", "empty", "rubbish", "broken JSON"])
def test_a_failing_model_costs_no_fact_and_is_asked_again(fault: Any, face: Face) -> None:
    model = FaultyModel(fault)
    with opened(language_model=model, learning={"background": False}) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I live in Paris.")
        with pytest.raises(ModelError):
            face(alice).learn()
        assert [fact.value for fact in alice.facts(attribute="home")] == ["Paris"]
        calls = model.calls
        assert face(alice).flush().indexed >= 1
        assert model.calls > calls, "asked again, and indexing goes on without it"


def test_a_model_that_comes_later_reads_everything() -> None:
    answer = {
        "facts": [{"turn": 1, "subject": "user", "attribute": "habit", "value": "runs at dawn", "stance": "holds"}]
    }
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("Every day the city sleeps when I run at dawn.")
        alice.learn()
        before = alice.facts()
        memory._runtime.services.state(Extractors).reader = _reader(ScriptedModel([answer]))
        assert alice.learn().learned == 1
        assert len(alice.facts()) == len(before) + 1


def _reader(model: Any) -> Any:
    from hybrid_memory.facts.rules.bilingual import BilingualRules  # noqa: PLC0415
    from hybrid_memory.memory.opening import _reader as make  # noqa: PLC0415 - as open_memory makes it
    from hybrid_memory.models.language import as_language_model  # noqa: PLC0415

    return make(as_language_model(model, timeout=timedelta(seconds=5)), BilingualRules(), UserProfile)


def test_why_tells_the_whole_chain(face: Face) -> None:
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I live in Paris.", at=START)
        alice.remember("I moved to Berlin.", at=START + timedelta(days=9))
        alice.flush()
        (fact,) = alice.facts(attribute="home")
        (hit,) = alice.recall("moved", k=1, kinds=["turn"])
        told: list[Explanation] = [face(alice).why(what) for what in (fact, hit)]
        assert [name for name, _ in told[0].turns] == ["#1", "#2"]
        assert [one.value for one in told[0].facts] == ["Berlin", "Paris"]
        for part in ("'Berlin'", "replaced 'Paris'", "2024-05-01 09:00 user: I live in Paris.", "moved to"):
            assert part in str(told[0])
        assert "#2" in str(told[1])
        assert "'Berlin'" in str(told[1])
        for bad in (3, "no such thing", None):
            with pytest.raises(InvalidInputError):
                face(alice).why(bad)  # type: ignore[arg-type]


def test_why_explains_a_profile_field_and_a_summary_line() -> None:
    with opened() as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I work as a nurse. Remember that room 12 has 7 chairs.", at=START)
        alice.remember("Noted.", role="assistant", at=START)
        alice.remember("And now?", at=START)
        alice.compact(keep=1)
        field = alice.why("profession")
        assert "nurse" in field.about
        assert field.turns[0][0] == "#1"
        line = next(iter(alice.summary()))
        assert "#1" in [name for name, _ in alice.why(line).turns]


class Nurse(UserProfile):
    city: str | None = None
    allergies: list[str] = []  # noqa: RUF012 - pydantic copies it


def test_a_profile_of_ones_own_is_filled(face: Face) -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="none"), profile=Nurse) as memory:
        alice = memory.scoped(user="alice", session="s")
        alice.remember("I live in Paris and I'm allergic to peanuts.")
        mine = face(alice).profile(Nurse)
        assert (mine.city, mine.allergies) == ("Paris", ["peanuts"])
        assert isinstance(face(alice).profile(UserProfile), UserProfile)


def test_the_prompt_shows_what_was_learned_before_the_session() -> None:
    with opened() as memory:
        memory.scoped(user="alice", session="s1").remember("I work as a nurse.")
        later = memory.scoped(user="alice", session="s2")
        later.remember("Hello again! I also love jazz.")
        text = later.assemble("What do you know about me?", k=0, max_tokens=800).text
        assert "profession: nurse" in text
        assert text.count("jazz") == 1, "what was said in the session stands in its turn"
        assert "nurse" not in later.assemble("What do you know about me?", k=0, max_tokens=800, profile="").text


def test_redaction_reaches_log_index_and_facts() -> None:
    mail = "bob@example.com"
    kinds = ("email",)
    with opened(redaction={"kinds": kinds}) as gone, opened(redaction={"kinds": kinds, "keep_original": True}) as kept:
        for memory in (gone, kept):
            alice = memory.scoped(user="alice", session="s")
            alice.remember(f"My email is {mail}.")
            alice.flush()
            assert not [hit for hit in alice.recall("email", k=5) if mail in hit.record.text]
            assert not [fact for fact in alice.facts(history=True) if mail in fact.value]
        assert gone.scoped(user="alice").history()[0].text == "My email is [email]."
        assert kept.scoped(user="alice").history()[0].text == f"My email is {mail}."
