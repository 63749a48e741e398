"""What a turn does: whether it says nothing, and how much of it asks."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_memory.models.embedders import LocalEmbedder
from hybrid_memory.text.asking import SURE, emptiness, says_nothing, speech, tells


@pytest.mark.parametrize(
    "text", ["Alright.", "Got it, thanks!", "Good morning!", "好的，知道了。", "收到，谢谢！", "早上好", "Sounds good."]
)
def test_acknowledgements_and_greetings_say_nothing(text: str) -> None:
    assert says_nothing(text)
    assert speech([text]).empty.tolist() == [1.0]


@pytest.mark.parametrize("text", ["At half past nine.", "Blue.", "4471", "九点半。", "Dr Okafor.", "No, I moved."])
def test_a_short_answer_says_something(text: str) -> None:
    said = speech([text])
    assert (said.empty.tolist(), said.asks.tolist()) == ([0.0], [0.0])


@pytest.mark.parametrize("text", ["When shall we meet?", "会议几点开始？", "Where did you park the car?", "票多少钱？"])
def test_a_question_asks(text: str) -> None:
    assert speech([text]).asks.tolist() == [1.0]


def test_vectors_tell_of_short_turns_in_languages_that_no_rule_knows() -> None:
    embedder = LocalEmbedder()
    empty = ["Selvä juttu.", "Okej, tack så mycket!", "Dobře, rozumím.", "Rendben, köszönöm!"]
    full = ["Koodi on 4471.", "Klockan halv tio.", "Moje sestra žije v Turíně.", "A macska csak lazacot eszik."]
    vectors = embedder.embed_documents([f"<message role='user'>user: {text}</message>" for text in empty + full])
    assert tells(embedder.name)
    assert (emptiness(vectors) > SURE).tolist() == [True] * 4 + [False] * 4
    said = speech(empty + full, vectors, embedder.name)
    assert (said.empty > SURE).tolist() == [True] * 4 + [False] * 4
    assert not speech(empty, vectors[:4], "another model").empty.any()
    assert not speech([text * 9 for text in empty], vectors[:4], embedder.name).empty.any(), "what is long says much"
    assert not speech(empty, np.zeros_like(vectors[:4]), embedder.name).empty.any(), "without a vector nothing is told"
