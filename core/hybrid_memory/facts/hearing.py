"""Extracts claims by the meaning of sentences, and what they change of earlier facts, calling the models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.facts import replacing
from hybrid_memory.facts.fact import Claim, FactExtractor, FactScope, Stance
from hybrid_memory.facts.instructions import scoped
from hybrid_memory.facts.sentences import pairs
from hybrid_memory.facts.sentences.changes import Earlier, candidates, changed, standing, telling
from hybrid_memory.facts.sentences.judge import Judge
from hybrid_memory.facts.sentences.judges import judge_of
from hybrid_memory.facts.sentences.reading import SentenceReader, claims_in, said_in, sure_enough
from hybrid_memory.log.event import Event
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view

EMBED_BATCH = 64
"""Sentences embedded per call, as each call has a time limit."""


async def earlier_of(run: Runner, services: Services, owner: Scope, extractor: FactExtractor) -> list[Earlier]:
    """The current facts, for an extractor that also finds what new turns change."""
    if not isinstance(extractor, SentenceReader) or services.embedder is None:
        return []
    from hybrid_memory.facts.facts import knowledge  # noqa: PLC0415 - which learns before it reads

    known = await knowledge(run, await in_view(run, services, owner))
    return standing(fact for fact in known.facts if fact.current)


async def claims_heard(
    run: Runner,
    services: Services,
    extractor: FactExtractor,
    turns: Sequence[Event],
    before: Sequence[Event],
    *,
    earlier: Sequence[Earlier],
) -> list[Claim] | None:
    """The claims of these turns' sentences, and what they change; None if there is no judge."""
    embedder = services.embedder
    if not isinstance(extractor, SentenceReader) or embedder is None:
        return None
    judge = await run.call(judge_of, embedder)
    if judge is None:
        return None
    said = said_in(turns, before)
    if not said:
        return []
    read = await run.call(extractor.placed, turns, before)
    vectors = _Vectors(run, embedder)
    rows = await vectors.of([one.asked for one in said])
    found = await run.call(claims_in, said, rows, judge, read)
    if judge.embedder != pairs.EMBEDDER:
        return [claim for claim, _ in found if sure_enough(claim)]
    told = [(scoped(claim, said[row].turn.words), said[row].text) for claim, row in found]
    await vectors.of(_compared(told, earlier))
    known, claims = list(earlier), list[Claim]()
    for claim, text in told:
        new = await _changed(run, judge, vectors, (claim, text), _near(claim, known))
        claims += new
        over = {(one.attribute, one.value) for one in new if one.stance is not Stance.HOLDS}
        known = [one for one in known if (one.attribute, one.value) not in over]
        known += standing(new) if sure_enough(claim) else []
    return claims


def _near(claim: Claim, known: Sequence[Earlier]) -> list[Earlier]:
    """The facts that a claim may change; a claim for one session or project ends nothing of wider scope."""
    near = candidates(claim, known) if claim.scope is FactScope.ALWAYS else []
    return [one for one in near if not replacing.apart(claim, one)]


def _compared(told: Sequence[tuple[Claim, str]], earlier: Sequence[Earlier]) -> list[str]:
    """The texts to embed in order to see what the claims change, collected for a single call."""
    known, texts = list(earlier), list[str]()
    for claim, text in told:
        if near := _near(claim, known):
            texts += [text, *(one.words for one in near)]
        known += standing([claim]) if sure_enough(claim) else []
    return texts


async def _changed(
    run: Runner, judge: Judge, vectors: _Vectors, told: tuple[Claim, str], near: Sequence[Earlier]
) -> list[Claim]:
    """The claim of a sentence, if it counts, and its changes."""
    (claim, text), sure = told, sure_enough(told[0])
    if not near:
        return [claim] if sure else []
    given = [pairs.Pair("", one.attribute, one.words, text) for one in near]
    rows = await vectors.of([text, *(one.earlier for one in given)])
    later = np.repeat(rows[:1], len(given), axis=0)
    inputs = await run.call(pairs.pair_inputs, judge, given, rows[1:], later)
    shares, replaces = pairs.related(pairs.shipped(), inputs), replacing.replaces_any(claim, near)
    new = list(changed(claim, near, shares)) if sure or telling(shares) or replaces else []
    # A doubtful sentence ends what it changes; by itself it counts only in the place of that.
    return [one for one in new if sure or replaces or one.stance is not Stance.HOLDS or one.single]


class _Vectors:
    """The vectors of texts, each embedded once, in as few calls as possible."""

    def __init__(self, run: Runner, embedder: Embedder) -> None:
        self._run = run
        self._embedder = embedder
        self._rows: dict[str, Floats] = {}

    async def of(self, texts: Sequence[str]) -> Floats:
        """One row per text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
        for start in range(0, len(missing), EMBED_BATCH):
            part = missing[start : start + EMBED_BATCH]
            rows = await embedding(self._run, self._embedder.embed_documents, part)
            self._rows.update(zip(part, rows, strict=True))
        return np.stack([self._rows[text] for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)
