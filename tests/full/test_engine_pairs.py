"""Every log with every index does what the memory in this process does: through every verb, and over a long history."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from tests.engines.conftest import MONDAY, Clock, milvus_server, new_config, new_url, postgres_server, redis_server
from tests.engines.long.test_mixed import Teller, assert_same, counts, oracle, plain, texts
from tests.engines.long.test_mixed import test_owners_with_odd_names_see_only_their_own as odd_names
from tests.engines.long.test_mixed import test_two_memories_on_the_same_engines_stay_in_step as in_step

if TYPE_CHECKING:
    from tests.engines.conftest import Config
    from tests.faces import Face

__all__ = ["milvus_server", "new_config", "new_url", "oracle", "postgres_server", "redis_server"]

LOGS = ["memory", "sqlite", "redis", "postgres"]
INDEXES = ["memory", "sqlite", "redis", "milvus", "postgres"]
# Half of all pairs, each engine with some of the others: a log knows nothing of the index beside it.
PAIRS = [f"{log}+{index}" for row, log in enumerate(LOGS) for index in INDEXES[row % 2 :: 2]]
TURNS, SESSIONS = 480, 4
# A prompt learns the newest sentences, and leaves the others to the background: how far that is, is a matter of time.
AT_ONCE: dict[str, Any] = {"orchestration": {"background": False}, "learning": {"background": False}}
TOWNS = ["Lisbon", "Porto", "Braga", "Faro", "Évora", "Beja"]
WORDS = "tram harbour lamp violin pepper bridge window garden bicycle ferry cloud mountain river 苹果 火车 月亮".split()


@pytest.mark.parametrize("engines", PAIRS)
def test_every_verb_answers_as_in_memory(engines: str, new_config: Config, face: Face, oracle: dict[str, Any]) -> None:
    clock = Clock()
    with open_memory(new_config(engines), clock=clock) as memory:
        assert_same(Teller(memory, clock, face).play(), oracle)


@pytest.mark.parametrize("engines", [pair for pair in PAIRS if "memory" not in pair])
def test_two_memories_of_many_owners_stay_in_step(engines: str, new_config: Config) -> None:
    in_step(engines, new_config)
    odd_names(engines, new_config)


def live(memory: HybridMemory, clock: Clock) -> dict[str, Any]:
    """Months of turns in four sessions, with prompts, compaction, a rollback and forgetting; what is answered then."""
    chance = random.Random(5)  # noqa: S311 - for tests
    sessions = [memory.scoped(user="alice", session=f"s{number}") for number in range(SESSIONS)]
    answers: dict[str, Any] = {}
    for turn in range(TURNS):
        clock.now = MONDAY + timedelta(hours=5 * turn)
        # No two texts are equally near to a question, and questions have rare words: frequent ones may be left out.
        seen = " ".join(chance.choices(WORDS, k=4 + turn % 13))
        chat = sessions[turn * SESSIONS // TURNS]
        chat.remember(f"I live in {TOWNS[turn * 6 // TURNS]} and fed the cat{turn} of the {seen}. 第{turn}天喂了猫。")
        chat.remember(f"Noted, {turn}.", role="assistant")
        if turn % 50 == 49:
            answers[f"prompt {turn}"] = plain(chat.assemble(f"What did the cat{turn - 40} see?", max_tokens=1500).text)
            answers[f"found {turn}"] = hits_of(memory, f"cat{turn - 3}")
    alice = memory.scoped(user="alice")
    place = alice.events()[-1].position
    sessions[-1].remember("I live in Rome now.")
    answers["before"] = hits_of(memory, "Rome")[:1]
    sessions[-1].rollback(place)
    answers["erased"] = alice.forget(query="Braga").erased["turns"]
    answers["summaries"] = []
    for chat in sessions:
        chat.compact()
        answers["summaries"].append([(line.section, line.text) for line in chat.summary()])
    answers["history"] = texts(alice.history())
    answers["page"] = texts(sessions[1].history(limit=45))
    answers["facts"] = [(fact.attribute, fact.value) for fact in sessions[0].facts(history=True)]
    answers["past"] = hits_of(memory, "cat77 violin", at=MONDAY + timedelta(hours=5 * 100))
    for step in ("flush", "rebuild"):
        getattr(memory, step)()
        answers[f"counts after {step}"] = counts(memory.stats())
        answers[f"found after {step}"] = hits_of(memory, "cat447 第380天")
    return answers


def hits_of(memory: HybridMemory, query: str, at: Any = None) -> list[tuple[str, str, float]]:
    alice = memory.scoped(user="alice")
    hits = (alice.as_of(at) if at else alice).recall(query, k=5)
    assert {hit.note for hit in hits} <= {""}
    return [(hit.record.text, hit.record.kind.value, hit.score) for hit in hits]


@pytest.fixture(scope="module")
def lived() -> dict[str, Any]:
    """What a memory in this process answers of the long history."""
    clock = Clock()
    with open_memory(MemoryConfig.of({"url": "memory://", "embedder": "hashing", **AT_ONCE}), clock=clock) as memory:
        answers = live(memory, clock)
    assert answers["before"][0][0] == "I live in Rome now."
    assert answers["found 449"][0][0].startswith("I live in Beja and fed the cat446 ")
    assert not any("Rome" in text or "Braga" in text for text in answers["history"])
    assert answers["erased"] > 50
    assert all(answers.values())
    return answers


@pytest.mark.parametrize("engines", [pair for pair in PAIRS if pair != "memory+memory"])
def test_a_long_history_is_answered_as_in_memory(engines: str, new_config: Config, lived: dict[str, Any]) -> None:
    clock = Clock()
    with open_memory(new_config(engines, **AT_ONCE), clock=clock) as memory:
        assert_same(live(memory, clock), lived)
