"""How the user wants the assistant to work: how far it reaches, where it is shown, and what ends it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from hybrid_memory import Category, Event, HybridMemory
from hybrid_memory.facts.attributes import attribute
from hybrid_memory.facts.authority import scope_in, scope_of
from hybrid_memory.facts.fact import Claim, FactScope, Stance
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokens import estimate_tokens
from tests.faces import Open
from tests.world import rows

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


class Asked:
    """Takes every sentence for an instruction, unless it is a greeting; one that begins with "No longer" ends one."""

    name = "asked"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """A claim for each sentence."""
        return [
            Claim(
                "user", "instruction", sentence.removeprefix("No longer: "), Category.PREFERENCE, turn.position,
                stance=Stance.ENDED if sentence.startswith("No longer: ") else Stance.HOLDS, verbatim=True,
                single=attribute("instruction").single, confidence=0.9, importance=0.85,
            )
            for turn in turns
            for sentence in sentences(turn.message.text)
            if not sentence.startswith(("Hello", "你好"))
        ]  # fmt: skip


@pytest.fixture
def opened(opened: Open) -> Open:
    return partial(opened, url="memory://", embedder="none", token_counter=estimate_tokens)


@pytest.fixture
def memory(opened: Open) -> HybridMemory:
    return opened(extractor=Asked())


@pytest.mark.parametrize(("scope", "words"), rows("learning/reach.tsv"))
def test_the_words_tell_how_far_it_reaches(scope: str, words: str) -> None:
    assert scope_of(words) == scope


@pytest.mark.parametrize(("text", "value", "scope"), rows("learning/reach_of_sentences.tsv"))
def test_the_sentence_that_says_it_counts_not_the_others(text: str, value: str, scope: str) -> None:
    asked = Claim("user", "instruction", value, Category.PREFERENCE, 1)
    assert scope_in(asked, text) == scope
    assert scope_in(Claim("user", "likes", value, Category.PREFERENCE, 1), text) is FactScope.ALWAYS


def test_what_was_asked_for_this_time_is_shown_in_this_session_alone(memory: HybridMemory) -> None:
    monday, tuesday = (memory.scoped(user="mei", session=name) for name in ("monday", "tuesday"))
    monday.remember("Answer in French this time.", at=START)
    monday.remember("Cite your sources.", at=START)
    assert monday.profile().instructions == ["“Cite your sources.”", "“Answer in French this time.”"]
    assert tuesday.profile().instructions == ["“Cite your sources.”"]
    assert memory.scoped(user="mei").profile().instructions == ["“Cite your sources.”"]
    (french,) = [fact for fact in tuesday.facts() if "French" in fact.value]
    assert (french.scope, french.session) == (FactScope.SESSION, "monday")


@pytest.mark.parametrize(("ended", "left"), [("Use tabs", []), ("Use tabs this time", [("Use tabs.", "monday")])])
def test_what_ends_for_good_ends_this_time_too_and_not_the_other_way_round(
    memory: HybridMemory, ended: str, left: list[tuple[str, str]]
) -> None:
    monday, tuesday = (memory.scoped(user="mei", session=name) for name in ("monday", "tuesday"))
    monday.remember(["Use tabs.", "Use tabs this time."], at=START)
    tuesday.remember("Use tabs this time.", at=START)
    monday.remember(f"No longer: {ended}", at=START + timedelta(hours=1))
    assert [(fact.value, fact.session) for fact in monday.facts()] == [*left, ("Use tabs this time.", "tuesday")]


def test_what_holds_this_time_leaves_what_always_holds(opened: Open) -> None:
    stating = opened()
    monday, tuesday = (stating.scoped(user="mei", session=name) for name in ("monday", "tuesday"))
    monday.remember("Please always keep your answers short.", at=START)
    monday.remember("For this chat only, always answer in detail.", at=START + timedelta(hours=1))
    tuesday.remember("Hello!", at=START + timedelta(days=1))
    assert "in detail" in monday.assemble("Hello!", k=0).text
    text = tuesday.assemble("Hello!", k=0).text
    assert "answers short" in text
    assert "in detail" not in text


def test_a_prompt_without_instructions_has_records_alone(opened: Open) -> None:
    stating = opened()
    stating.scoped(user="mei", session="monday").remember("My name is Mei.", at=START)
    text = stating.scoped(user="mei", session="tuesday").assemble("Hello!").text
    assert "About the user:\n[2024-05-01] My name is Mei." in text
    assert "How the user wants you to work" not in text
