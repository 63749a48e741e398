from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from hybrid_memory import CompactionConfig, HybridMemory, Line, MemoryConfig, Message, Section, open_memory
from hybrid_memory.context.lines import SummaryRoom, cost
from hybrid_memory.context.strategies import SummaryJob, resolve_strategy
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.testing import ScriptedModel
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory_evaluation.methods import COMPARED
from tests.compression.summaries.conftest import span
from tests.world import assistant

STRATEGIES = {name: resolve_strategy(given) for name, given in COMPARED.items()}
ROOM = SummaryRoom(standing=600, shown=200, fresh=200, count=estimate_tokens)
FIRST = [
    "My name is Nora Winter, and I live at 12 Elm Street.", "We decided to use the blue tiles for the bathroom.",
    "记住，我对花生过敏。", "Haha, ok.", "The invoice over 1,250 euros is due on 2024-07-01.",
]  # fmt: skip
SECOND = ["下次会议在3月14日下午三点。", "I prefer the seat at the window.", "The gate code is 4711-A."]


def job(texts: list[str], standing: list[Line] | None = None, first: int = 1) -> SummaryJob:
    return SummaryJob(standing or [], span(texts, first), ROOM)


@pytest.mark.parametrize("name", STRATEGIES)
def test_without_a_model_a_summary_is_deterministic_and_names_its_turns(name: str) -> None:
    strategy = STRATEGIES[name]
    first = strategy.extract(job(FIRST))
    assert first == strategy.extract(job(FIRST))
    both = strategy.extract(job(SECOND, first, first=6))
    for lines, ids in [(first, range(1, 6)), (both, range(1, 9))]:
        assert sum(cost(line, estimate_tokens) for line in lines) <= ROOM.standing
        for line in lines:
            assert set(line.sources) <= {f"e{number}" for number in ids}
            assert 1 <= line.first <= line.last <= max(ids)


def test_anchored_leaves_standing_lines_as_they_are_and_regenerate_may_not() -> None:
    standing = [Line(Section.NOTES, "user: An old note about the roof.", ("e0",), 1, 1, 0.31)]
    anchored = STRATEGIES["anchored"].extract(job(SECOND, standing, first=6))
    assert anchored[0] is standing[0]
    tight = replace(job(SECOND, standing, first=6), room=replace(ROOM, shown=36))
    assert standing[0] not in STRATEGIES["regenerate"].extract(tight)
    answer = {"facts": [{"text": "The gate code is 4711-A.", "turns": [8]}]}
    assert standing[0] in STRATEGIES["anchored"].read(answer, job(SECOND, standing, first=6))
    (rewritten,) = STRATEGIES["regenerate"].read(answer, job(SECOND, standing, first=6))
    assert (rewritten.text, rewritten.sources) == ("The gate code is 4711-A.", ("e8",))


@pytest.mark.parametrize(
    "answer",
    [None, 3, [], {}, {"facts": []}, {"facts": [{"text": " "}]}, {"facts": 3}, {"weather": ["rain"]}, {"facts": [7]}],
)
@pytest.mark.parametrize("name", ["anchored", "regenerate"])
def test_an_answer_without_a_statement_is_refused(name: str, answer: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - what the port promises
        STRATEGIES[name].read(answer, job(SECOND))


def test_a_statement_without_turns_that_exist_stands_for_the_span() -> None:
    answer = {"facts": ["Tea at noon."], "decisions": [{"text": "Blue tiles.", "turns": [99, "x", True, 6]}]}
    lines = {line.text: line for line in STRATEGIES["anchored"].read(answer, job(SECOND, first=6))}
    assert (lines["Tea at noon."].first, lines["Tea at noon."].last) == (6, 8)
    assert lines["Tea at noon."].sources == ("e6", "e7", "e8")
    assert (lines["Blue tiles."].sources, lines["Blue tiles."].section) == (("e6",), Section.DECISIONS)


def opened(model: Any = None, **compaction: Any) -> HybridMemory:
    config = MemoryConfig(url="memory://", embedder="none", compaction=CompactionConfig(**compaction))
    return open_memory(config, language_model=model, token_counter=estimate_tokens)


@pytest.mark.parametrize("name", ["anchored", "regenerate"])
def test_anchored_shows_a_model_the_new_turns_and_keeps_the_old_lines_and_regenerate_rewrites_all(name: str) -> None:
    notes = (("Tea is in the tin.", 1), ("Milk is in the jug.", 3))
    model = ScriptedModel([{"facts": [{"text": text, "turns": [turn]}]} for text, turn in notes])
    with opened(model, strategy=STRATEGIES[name]) as memory:
        alice = memory.scoped(user="a", session="s")
        alice.remember(["The tea is in the tin.", {"role": "assistant", "content": "Good."}, "And the milk?"])
        alice.compact(keep=1)
        (old,) = alice.summary().lines
        alice.remember(["The milk is in the jug.", "Where is the cup?"])
        alice.compact(keep=1)
        first, second = (prompt[-1]["content"].casefold() for prompt in model.prompts)
        assert "tea is in the tin" in first
        assert "milk is in the jug" in second
        assert ("tea is in the tin" in second) is (name == "regenerate")
        assert alice.summary().lines[:-1] == ((old,) if name == "anchored" else ())
        assert alice.summary().lines[-1].text == "Milk is in the jug."


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_is_chosen_by_configuration_or_for_once(name: str) -> None:
    said = [*FIRST, "What now?"]
    with opened(strategy=STRATEGIES[name]) as one, opened() as other:
        summaries = []
        for memory, chosen in [(one, None), (other, STRATEGIES[name])]:
            alice = memory.scoped(user="a", session="s")
            alice.remember(said)
            assert alice.compact(strategy=chosen, keep=1).compacted == len(FIRST)
            assert alice.summary().strategy == name
            summaries.append([line.text for line in alice.summary()])
        assert summaries[0] == summaries[1]
        assert bool(summaries[0]) == (name != "window")


class Shouting:
    """A strategy of one's own, without a model."""

    name = "shouting"
    schema: Mapping[str, Any] | None = None

    def extract(self, job: SummaryJob, /) -> list[Line]:
        new = [
            Line(Section.NOTES, event.message.text.upper(), (event.id,), event.position, event.position)
            for event in job.span
        ]
        return [*job.standing, *new]

    def prompt(self, _job: SummaryJob, /) -> list[Message]:
        return []

    def read(self, answer: Any, _job: SummaryJob, /) -> list[Line]:
        raise ValueError(answer)


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that registers the strategy and a token counter."""
    entries = [
        EntryPoint("shouting", f"{__name__}:Shouting", "hybrid_memory.strategies"),
        EntryPoint("words", "tests.world:words", "hybrid_memory.token_counters"),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [one for one in entries if one.group == group])


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("given", [Shouting(), "shouting"])
def test_a_strategy_of_ones_own_compacts_when_asked_and_in_the_background(given: Any) -> None:
    with opened(strategy=given, rounds=2, keep_rounds=1, keep_least=1) as memory:
        alice = memory.scoped(user="a", session="s")
        alice.remember(["tea", "milk", "cup"])
        alice.compact(keep=2)
        assert [line.text for line in alice.summary()] == ["TEA"]
        alice.assemble("saucer", wait=False)
        alice.remember(["saucer", assistant("Here.")])
        alice.flush()
        assert [line.text for line in alice.summary()][:2] == ["TEA", "MILK"]
        assert alice.summary().strategy == "shouting"


@pytest.mark.usefixtures("_installed")
def test_a_token_counter_is_found_by_its_name() -> None:
    def with_counter(name: str) -> HybridMemory:
        return open_memory("memory://", embedder="hashing", token_counter=name)

    with with_counter("words") as memory:
        alice = memory.scoped(user="a", session="s")
        assert alice.assemble("Which of the two?").section_tokens["question"] == 4
    with pytest.raises(
        InvalidConfigError, match="unknown token counter 'letters': choose one of cl100k_base, estimate"
    ):
        with_counter("letters")


@pytest.mark.parametrize("wrong", [3, None, object()])
def test_what_is_no_strategy_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidConfigError, match="strategy"):
        CompactionConfig(strategy=wrong)
    with pytest.raises(InvalidConfigError, match="unknown strategy 'wishful': choose one of anchored"):
        opened(strategy="wishful")


def test_an_unknown_strategy_is_refused_before_anything_changes() -> None:
    with opened() as memory:
        alice = memory.scoped(user="a", session="s")
        alice.remember(["tea", "milk", "cup"])
        with pytest.raises(InvalidInputError, match="anchored"):
            alice.compact(strategy="wishful")
        assert not alice.summary()
        assert memory.stats().events == 3
