"""Who asks where they live wants to know it of themselves."""

from __future__ import annotations

import pytest

from hybrid_memory import open_memory
from hybrid_memory.recall.measure import demand
from tests.doubles import Deriving


@pytest.mark.parametrize("query", ["Where do I live?", "where did i work before", "我住在哪里？", "我是做什么的？"])
def test_a_question_about_oneself_is_told_from_one_about_others(query: str) -> None:
    assert demand(query).of_self


@pytest.mark.parametrize("query", ["Where does my sister live?", "我妹妹住在哪里？", "Where is it?", "我们去哪里？"])
def test_a_question_about_others_is_none_about_oneself(query: str) -> None:
    assert not demand(query).of_self


def test_what_is_known_of_the_user_is_for_a_question_about_oneself() -> None:
    derived = Deriving(("Hamburg", "user", "home", "Hamburg"), ("Graz", "Anna", "home", "Graz"))
    with open_memory("memory://", embedder="hashing", extractor=derived) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("I live in Hamburg, right by the canal, and I love it.")
        alice.remember("My sister Anna lives in Graz.")
        alice.flush(progress=False)
        asked = {
            query: {hit.record.text: hit.signals.speaker for hit in alice.recall(query, kinds=["fact"])}
            for query in ("Where do I live?", "Where does Anna live?")
        }
    mine, hers = "user lives in: Hamburg", "Anna lives in: Graz"
    assert asked["Where do I live?"][mine] > asked["Where do I live?"][hers]
    assert asked["Where does Anna live?"][mine] < asked["Where does Anna live?"][hers]
