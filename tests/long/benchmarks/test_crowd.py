from __future__ import annotations

import asyncio

from benchmarks.faults.crowd import Crowd, figures, word_of
from benchmarks.peers.texts import Clustered, Corpus
from hybrid_memory import open_memory


def test_users_talk_at_once_and_a_strangers_word_is_a_leak() -> None:
    corpus = Corpus()
    with open_memory("memory://", embedder=Clustered()) as memory:
        crowd = Crowd(memory, users=3, pause=0.01)
        crowd.fill(corpus, 5)
        asyncio.run(crowd.run(corpus, minutes=0.01))
        assert crowd.checked() == {"lost": 0, "twice": 0, "strange": 0}
        assert (crowd.leaks, crowd.errors) == ([], {})
        told = figures(crowd, 0.01)["verbs"]
        assert min(told[verb]["a second"] for verb in ("remember", "recall")) > 0
        crowd.scoped(1).remember(f"{word_of(2)} was here")
        crowd.acknowledged[0].append("never")
        assert crowd.checked() == {"lost": 1, "twice": 0, "strange": 1}
        assert crowd.leaks == [f"{word_of(1)} saw '{word_of(2)} was here'"]
